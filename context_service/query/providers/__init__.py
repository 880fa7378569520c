"""The protocol of a provider: one searchable thing. An operator adds one by a package with an entry point.

The package has an entry point in the group `contextkeep.context_providers`: a callable without arguments that returns
a `Provider`. If the provider is also an asynchronous context manager, the service enters it at start and leaves it at
shutdown. Our own providers act with the caller's principal, under the policies of the database. An installed provider
runs with the rights of the service, so the operator must trust its code; its answers are checked like any text from
outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from context_service.query.model import BOTH, DEADLINE_S_MAX, Answered, Expanded, Hit, ProviderQuery, QueryScope, State
from context_service.query.pure.provider_table import Expanding, Provider, ProviderEntry, ProviderInfo, ProviderInvalid

# The names that a package with a provider may import from here.
__all__ = [
    "BOTH",
    "Answered",
    "Expanded",
    "Expanding",
    "Hit",
    "Provider",
    "ProviderInfo",
    "ProviderQuery",
    "QueryScope",
    "State",
]

GROUP = "contextkeep.context_providers"

_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
_DISPLAY_CHARS_MAX = 100


def native(provider: Provider, *, trust: int, waits: bool = False) -> ProviderEntry:
    """Return the table row of a provider that comes with the service."""
    return ProviderEntry(provider=provider, info=provider.info, is_installed=False, trust=trust, waits=waits)


def installed() -> list[ProviderEntry]:
    """Return the table rows of the installed providers.

    Raises:
        ProviderInvalid: a provider cannot be created, or does not describe itself.
    """
    return [
        _create(entry_point)
        for entry_point in sorted(
            entry_points(group=GROUP), key=lambda entry_point: (entry_point.name, entry_point.value)
        )
    ]


def _create(entry_point: EntryPoint) -> ProviderEntry:
    """Create the provider of an entry point, check how it describes itself, and return its table row.

    Raises:
        ProviderInvalid: the provider cannot be created, or does not describe itself as the protocol requires.
    """
    name = f"the context provider {entry_point.name!r} ({entry_point.value})"
    try:
        factory: Callable[[], object] = entry_point.load()
        provider = factory()
        # `info` is read only here, so that a provider cannot change it while queries run.
        info: object = getattr(provider, "info", None)
    except Exception as error:
        raise ProviderInvalid(f"{name} cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(provider, Provider) or type(info) is not ProviderInfo:
        raise ProviderInvalid(f"{name} is not a context provider: it needs `info`, a ProviderInfo, and `search`")
    _check(name, info)
    return ProviderEntry(provider=provider, info=info, is_installed=True, trust=1, waits=True)


def _check(name: str, info: ProviderInfo) -> None:
    """Check how a provider describes itself.

    Raises:
        ProviderInvalid: a field of `info` is malformed.
    """
    for what, text in (("id", info.id), ("family", info.family)):
        if type(text) is not str or not _NAME.fullmatch(text):
            raise ProviderInvalid(
                f"{name}: its {what} must have only lowercase letters, digits and hyphens, 63 at most"
            )
    if type(info.display_name) is not str or not 0 < len(info.display_name.strip()) <= _DISPLAY_CHARS_MAX:
        raise ProviderInvalid(f"{name}: its display_name must have 1 to {_DISPLAY_CHARS_MAX} characters")
    if not isinstance(info.scopes, frozenset) or not info.scopes or not info.scopes <= BOTH:
        raise ProviderInvalid(f"{name}: its scopes must be a frozenset of at least one QueryScope")
    if info.deadline_s is not None and not 0 < info.deadline_s <= DEADLINE_S_MAX:
        raise ProviderInvalid(
            f"{name}: its deadline_s must be above 0 and at most {DEADLINE_S_MAX:g} (got {info.deadline_s:g})"
        )
