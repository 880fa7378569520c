"""What is known of models: what they take, whose tokenizer counts, and whose messages they want.

The longest beginning of a model's name that is in `models.yaml` says it, so dated versions are known with their model.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from context_service.kernel.rendering import Format
from context_service.kernel.tokens import FAMILIES
from context_service.windows.pure.config import CACHE_TTL_S

CACHE_TOKENS_MIN = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What is known of a model.

    Attributes:
        context_tokens: What it takes, with its answer; 0: nobody knows.
        family: Of tokenizers, of `tokens.FAMILIES`.
        format: Whose messages it wants.
        cache_ttl_s: How long its vendor's cache keeps a prompt that nobody sends, in most cases.
        cache_tokens_min: The least that it keeps.
    """

    context_tokens: int = 0
    family: str = "o200k"
    format: Format = Format.OPENAI
    cache_ttl_s: int = CACHE_TTL_S
    cache_tokens_min: int = CACHE_TOKENS_MIN


# From a place that is marked, a vendor looks for what it has so many blocks back. Where nothing is marked it finds all.
LOOK_BACK_BLOCKS = {Format.ANTHROPIC: 20}


def model(name: str) -> Model:
    """Return what is known of a model; of an unknown one, what most others want."""
    known = _known()
    found = max((item for item in known if name.startswith(item)), key=len, default=None)
    return known[found] if found else Model()


@cache
def _known() -> dict[str, Model]:
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
    """Return what a model is known by where no text of a caller may stay."""
    return hashlib.sha256(model.encode()).digest()
