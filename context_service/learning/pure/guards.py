"""Loads `guards.yaml`: the patterns that decide which words of a message are read."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return document


def text_of(name: str) -> str:
    """Return the alternatives of a list as the text of one pattern."""
    return "|".join(_document()[name])


def guard(name: str) -> re.Pattern[str]:
    """Return the alternatives of a list as one pattern."""
    return re.compile(text_of(name), re.IGNORECASE | re.MULTILINE)


@cache
def replacements() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns of words about the user in statements of assistants, each with the user's own words for them."""
    pairs = (*_document()["asked_of_user"], *_document()["about_user"])
    return tuple((re.compile(pattern, re.IGNORECASE), first_person) for pattern, first_person in pairs)
