"""Known models: the size of their context, their tokenizer, and the format of their messages.

A model gets the values of the longest name in `models.yaml` with which its name begins. So dated versions of a model
have the values of the model.
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
# Claude models that accept their earlier reasoning even if messages before it have changed. Some of them require it
# before the last tool calls.
_TAKES_REASONING = re.compile(r"claude-(?:instant|2|3|[a-z]+-[34])\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The values of a model.

    Attributes:
        context_tokens: The size of its context, with its answer. 0 if it is unknown.
        family: The family of its tokenizer, of `tokens.FAMILIES`.
        format: The format of its messages.
        cache_ttl_s: Seconds for which its vendor's cache keeps an unused prompt, in most cases.
        cache_tokens_min: The fewest tokens of a prompt that the cache keeps.
    """

    context_tokens: int = 0
    family: str = "o200k"
    format: Format = Format.OPENAI
    cache_ttl_s: int = CACHE_TTL_S
    cache_tokens_min: int = CACHE_TOKENS_MIN


# How many blocks a vendor looks back from a cache marker for a cached prefix. A vendor that is not listed needs no
# markers, and finds any prefix.
LOOK_BACK_BLOCKS = {Format.ANTHROPIC: 20}


def binds_reasoning(name: str, to: Format) -> bool:
    """Return whether a model refuses its earlier reasoning if anything before it has changed.

    Unknown Claude models are assumed to refuse it.
    """
    return to is Format.ANTHROPIC and not _TAKES_REASONING.search(name)


def model(name: str) -> Model:
    """Return the known values of a model, such as its context size. An unknown model gets the defaults of `Model`."""
    all_models = _read_models()
    best_match = max((item for item in all_models if name.startswith(item)), key=len, default=None)
    return all_models[best_match] if best_match else Model()


@cache
def _read_models() -> dict[str, Model]:
    """Read `models.yaml`, and return the values of each model by its name, with the values of its vendor."""
    table = yaml.safe_load(files("context_service.windows.pure").joinpath("models.yaml").read_text())
    results = {}
    for vendor in table.values():
        family, to = vendor["tokens_family"], Format(vendor["format"])
        assert family in FAMILIES, family
        ttl_s = vendor.get("cache_ttl_s", CACHE_TTL_S)
        least = vendor.get("cache_tokens_min", {})
        for name, context_tokens in vendor["models"].items():
            results[name] = Model(
                context_tokens=context_tokens,
                family=family,
                format=to,
                cache_ttl_s=ttl_s,
                cache_tokens_min=least.get(name, CACHE_TOKENS_MIN),
            )
    return results


def model_sha(model: str) -> bytes:
    """Return a hash of a model's name, for tables that may not store texts of callers."""
    return hashlib.sha256(model.encode()).digest()
