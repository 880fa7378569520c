"""Known models: the size of their context, their tokenizer, and the format of their messages.

The longest prefix of a model's name in `models.yaml` counts, so that dated versions are known with their model.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from context_service.kernel.rendering import Format
from context_service.kernel.tokens import FAMILIES
from context_service.windows.pure.config import CACHE_TTL_S

CACHE_TOKENS_MIN = 1_024
# Claude models that take reasoning back whatever is before it. Some want it in front of the last calls.
_TAKES_REASONING = re.compile(r"claude-(?:instant|2|3|[a-z]+-[34])\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The values of a model.

    Attributes:
        context_tokens: The size of its context, with its answer. 0 if it is unknown.
        family: The family of its tokenizer, of `tokens.FAMILIES`.
        format: The format of its messages.
        cache_ttl_s: Seconds for which its vendor's cache keeps an unused prompt, in most cases.
        cache_tokens_min: The least tokens that the cache keeps.
    """

    context_tokens: int = 0
    family: str = "o200k"
    format: Format = Format.OPENAI
    cache_ttl_s: int = CACHE_TTL_S
    cache_tokens_min: int = CACHE_TOKENS_MIN


# From a marked place, a vendor looks back this many blocks for a cached prefix. Without markers it finds all.
LOOK_BACK_BLOCKS = {Format.ANTHROPIC: 20}


def binds_reasoning(name: str, to: Format) -> bool:
    """Return whether a model refuses its reasoning if anything before it has changed; unknown Claude models do."""
    return to is Format.ANTHROPIC and not _TAKES_REASONING.search(name)


def model(name: str) -> Model:
    """Return the known values of a model, such as its context size; for an unknown model, common values."""
    known = _known()
    found = max((item for item in known if name.startswith(item)), key=len, default=None)
    return known[found] if found else Model()


@cache
def _known() -> dict[str, Model]:
    """Read `models.yaml`, and return the values of each model by its name; a vendor's values hold for its models."""
    table = yaml.safe_load(files("context_service.windows.pure").joinpath("models.yaml").read_text())
    made = {}
    for vendor in table.values():
        family, to = vendor["tokens_family"], Format(vendor["format"])
        assert family in FAMILIES, family
        ttl_s = vendor.get("cache_ttl_s", CACHE_TTL_S)
        least = vendor.get("cache_tokens_min", {})
        for name, context_tokens in vendor["models"].items():
            made[name] = Model(
                context_tokens=context_tokens,
                family=family,
                format=to,
                cache_ttl_s=ttl_s,
                cache_tokens_min=least.get(name, CACHE_TOKENS_MIN),
            )
    return made


def model_sha(model: str) -> bytes:
    """Return a hash that stands for a model's name where no text of a caller may be stored."""
    return hashlib.sha256(model.encode()).digest()
