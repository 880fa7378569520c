"""The names that providers allow for a container or bucket, so that a wrong name is refused at the start."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contextkeep.errors import ProviderNotConfigured


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRule:
    """The rule of a provider for names."""

    provider: str
    what: str  # "the container of Azure"
    pattern: re.Pattern[str]
    rule: str  # the same as the pattern, for the operator

    def check(self, name: str, *, variable: str) -> None:
        """Refuse a name that the provider would refuse.

        Raises:
            ProviderNotConfigured: the name breaks the rule, which the error shows.
        """
        if not self.pattern.fullmatch(name):
            raise ProviderNotConfigured(
                f"{variable}={name} is not a valid name of {self.what}: {self.rule}", provider=self.provider
            )


AZURE_CONTAINER = NameRule(
    provider="azure",
    what="a container of Azure",
    pattern=re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]"),
    rule="3 to 63 lower-case letters, digits and single hyphens; the first and the last a letter or digit",
)
AZURE_ACCOUNT = NameRule(
    provider="azure",
    what="a storage account of Azure",
    pattern=re.compile(r"[a-z0-9]{3,24}"),
    rule="3 to 24 lower-case letters and digits",
)
S3_BUCKET = NameRule(
    provider="s3",
    what="a bucket of S3",
    pattern=re.compile(r"(?!.*\.\.)(?!\d+\.\d+\.\d+\.\d+$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"),
    rule="3 to 63 lower-case letters, digits, hyphens and single dots; the first and the last a letter or digit; "
    "no IP address",
)
GCS_BUCKET = NameRule(
    provider="gcs",
    what="a bucket of GCS",
    pattern=re.compile(
        r"(?=.{3,222}$)(?!goog)(?!\d+\.\d+\.\d+\.\d+$)"
        r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9_-])?(?:\.[a-z0-9_-]{1,63})*(?<=[a-z0-9])"
    ),
    rule="3 to 63 lower-case letters, digits, hyphens, underscores and dots (222 with dots, 63 between them); "
    "the first and the last a letter or digit; no IP address, and not goog at the start",
)
