"""How much each feature of ranking counts, and what a sum of them means: profiles, as YAML files in this folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from context_service.retrieval.pure.calibration import FALLING, PARAMETERS
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
    words_calibration: Mapping[str, float]  # the parameters of `pure.calibration` if no vectors are compared
    meaning_calibration: Mapping[str, float]  # the parameters if vectors are compared


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
    if not isinstance(document, dict) or document.keys() != {"words", "with_meaning", "calibration"}:
        raise BadProfile(f"{name} must have `words`, `with_meaning` and `calibration`, and nothing else")
    words, with_meaning = (_weights(f"{name}.{key}", document[key]) for key in ("words", "with_meaning"))
    if of_vectors := _OF_VECTORS & words.keys():
        raise BadProfile(f"{name}.words must not name {', '.join(sorted(of_vectors))}: they need vectors")
    calibration = document["calibration"]
    if not isinstance(calibration, dict) or calibration.keys() != {"words", "with_meaning"}:
        raise BadProfile(f"{name}.calibration must have `words` and `with_meaning`, and nothing else")
    return Profile(
        name=name,
        words=words,
        with_meaning=with_meaning,
        words_calibration=_parameters(f"{name}.calibration.words", calibration["words"]),
        meaning_calibration=_parameters(f"{name}.calibration.with_meaning", calibration["with_meaning"]),
    )


def _weights(path: str, document: Any) -> Mapping[str, float]:
    """Check the weights of a profile, and return them as floats.

    Raises:
        BadProfile: there is no feature, a feature is unknown, or a weight is not a finite number.
    """
    if not isinstance(document, dict) or not document:
        raise BadProfile(f"{path} must name features with their weights")
    for feature in document:
        if feature not in FEATURES:
            raise BadProfile(f"{path}: there is no feature {feature!r}; there are {', '.join(FEATURES)}")
    return _numbers(path, document)


def _parameters(path: str, document: Any) -> Mapping[str, float]:
    """Check the parameters of a calibration, and return them as floats.

    Raises:
        BadProfile: a parameter is missing or unknown, is not a finite number, or would change the order of passages.
    """
    if not isinstance(document, dict) or document.keys() != set(PARAMETERS):
        raise BadProfile(f"{path} must have {', '.join(PARAMETERS)}, and nothing else")
    parameters = _numbers(path, document)
    for name in FALLING:
        if parameters[name] < 0:
            raise BadProfile(f"{path}.{name} must not be negative (got {parameters[name]})")
    return parameters


def _numbers(path: str, document: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the values of a mapping as floats.

    Raises:
        BadProfile: a value is not a finite number.
    """
    for name, value in document.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise BadProfile(f"{path}.{name} must be a finite number (got {value!r})")
    return {name: float(value) for name, value in document.items()}
