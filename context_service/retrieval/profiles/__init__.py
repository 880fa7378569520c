"""How much each feature of ranking counts: profiles, as YAML files in this folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from context_service.retrieval.pure.features import FEATURES

DEFAULT, CONVERSATION = "default", "conversation"
_FOLDER = Path(__file__).parent
_OF_VECTORS = frozenset({"cos", "cosw"})


class BadProfile(ValueError):
    """The file of a ranking profile is malformed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A ranking profile: the weights of features, by their names in `features.FEATURES`, in the order of display."""

    name: str
    words: Mapping[str, float]  # the weights if no vectors are compared
    with_meaning: Mapping[str, float]  # the weights if vectors are compared


@cache
def profile(name: str) -> Profile:
    """Return a ranking profile that comes with the service.

    Raises:
        KeyError: no such profile comes with the service.
        BadProfile: the profile's file is malformed.
    """
    if name not in profile_names():
        raise KeyError(name)
    return parsed(name, yaml.safe_load((_FOLDER / f"{name}.yaml").read_text("utf-8")))


@cache
def profile_names() -> tuple[str, ...]:
    """Return the names of the profiles that come with the service."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


def parsed(name: str, document: Any) -> Profile:
    """Parse the file of a ranking profile.

    Raises:
        BadProfile: the file is malformed, or names an unknown feature.
    """
    if not isinstance(document, dict) or document.keys() != {"words", "with_meaning"}:
        raise BadProfile(f"{name} must have `words` and `with_meaning`, and nothing else")
    words, with_meaning = (_weights(f"{name}.{key}", document[key]) for key in ("words", "with_meaning"))
    if of_vectors := _OF_VECTORS & words.keys():
        raise BadProfile(f"{name}.words must not name {', '.join(sorted(of_vectors))}: they need vectors")
    return Profile(name=name, words=words, with_meaning=with_meaning)


def _weights(path: str, document: Any) -> Mapping[str, float]:
    """Check the weights of a profile, and return them as floats.

    Raises:
        BadProfile: a feature is unknown, or a weight is not a finite number.
    """
    if not isinstance(document, dict) or not document:
        raise BadProfile(f"{path} must name features with their weights")
    for feature, weight in document.items():
        if feature not in FEATURES:
            raise BadProfile(f"{path}: there is no feature {feature!r}; there are {', '.join(FEATURES)}")
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
            raise BadProfile(f"{path}.{feature} must be a finite number (got {weight!r})")
    return {feature: float(weight) for feature, weight in document.items()}
