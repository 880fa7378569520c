"""Tokens of files: as the vendors publish them, and never more than the most."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.kernel.files.facts import FileFacts
from context_service.kernel.files.models import media_model
from context_service.kernel.files.tokens import tokens_of_file
from context_service.kernel.rendering.formats import Format

_PAGE = Path(__file__).parents[4] / "docs" / "files-and-models.md"
_ROW = re.compile(r"\| `(?P<model>[^`]+)` \| (?P<file>[^|]+) \| (?P<published>[\d,]+) \| (?P<ours>[\d,]+) \|")
_MODELS = [
    "claude-opus-5",
    "claude-haiku-4-5",
    "gpt-4o",
    "gpt-5",
    "gpt-5.4",
    "gpt-5.5",
    "gpt-6",
    "gpt-4o-mini",
    "o4-mini",
    "gemini-2.5-pro",
    "gemini-3-pro",
    "unknown",
]


def _image(width: int, height: int) -> FileFacts:
    return FileFacts(media_type="image/png", width=width, height=height)


def _facts_of_words(text: str) -> FileFacts:
    """Return the facts that a cell of the table gives in words."""
    if size := re.search(r"(\d+) x (\d+)", text):
        return _image(int(size[1]), int(size[2]))
    count = int(re.search(r"\d+", text)[0])
    if "page" in text:
        return FileFacts(media_type="application/pdf", page_count=count)
    return FileFacts(media_type="audio/mpeg", duration_seconds=count)


def _rows() -> list[tuple[str, str, int, int]]:
    rows = [row.groups() for row in _ROW.finditer(_PAGE.read_text())]
    return [(model, text, *(int(n.replace(",", "")) for n in numbers)) for model, text, *numbers in rows]


@pytest.mark.parametrize(("model", "text", "published", "ours"), _rows())
def test_tokens_are_those_that_the_vendor_publishes(model, text, published, ours):
    counted = tokens_of_file(_facts_of_words(text), media_model(model, Format.OPENAI))
    assert counted == ours
    assert abs(counted - published) <= 0.02 * published


def test_the_page_compares_every_vendor():
    assert len(_rows()) >= 15
    assert {model.partition("-")[0] for model, *_ in _rows()} == {"claude", "gpt", "gemini", "o4"}


@given(st.sampled_from(_MODELS), st.integers(1, 120_000), st.integers(1, 120_000))
def test_a_picture_has_tokens_and_at_most_those_of_one_of_unknown_size(name, width, height):
    model = media_model(name, Format.OPENAI)
    assert 0 < tokens_of_file(_image(width, height), model) <= tokens_of_file(_image(0, 0), model)


@given(st.sampled_from(_MODELS), st.integers(1, 9_000), st.integers(1, 9_000))
def test_a_turned_picture_counts_about_the_same(name, width, height):
    """By rounding, a patch of a side may differ."""
    model = media_model(name, Format.OPENAI)
    one, other = (tokens_of_file(_image(*size), model) for size in ((width, height), (height, width)))
    assert abs(one - other) <= max(3, 0.05 * one)


def test_a_model_without_eyes_or_ears_counts_no_file():
    assert tokens_of_file(_image(800, 600), media_model("gpt-3.5-turbo", Format.OPENAI)) == 0
    assert tokens_of_file(_image(800, 600), media_model("deepseek-chat", Format.OPENAI)) == 0
    recording = FileFacts(media_type="audio/wav", duration_seconds=60)
    assert tokens_of_file(recording, media_model("claude-opus-5", Format.ANTHROPIC)) == 0
    assert tokens_of_file(recording, media_model("gpt-audio", Format.OPENAI)) == 600


def test_what_is_unknown_counts_as_the_most():
    assert (
        tokens_of_file(FileFacts(media_type="application/pdf"), media_model("gemini-3-pro", Format.GEMINI)) == 560_000
    )
    recording = FileFacts(media_type="audio/ogg")
    assert tokens_of_file(recording, media_model("gemini-3-pro", Format.GEMINI), size_bytes=75_000) == 3_200


def test_the_text_of_pages_counts_by_its_characters_up_to_what_a_page_may_have():
    model = media_model("claude-opus-5", Format.ANTHROPIC)
    scanned = FileFacts(media_type="application/pdf", page_count=2, text_chars=1)
    written = FileFacts(media_type="application/pdf", page_count=2, text_chars=4_000)
    assert tokens_of_file(scanned, model) == 2 * 1_568 + 1
    assert tokens_of_file(written, model) == 2 * 1_568 + 2_000
    assert tokens_of_file(FileFacts(media_type="application/pdf", page_count=2), model) == 2 * 4_568


def test_an_unknown_model_of_a_format_counts_like_the_most_expensive_of_its_vendor():
    assert tokens_of_file(_image(0, 0), media_model("our-own", Format.ANTHROPIC)) == 4_784
    assert tokens_of_file(_image(1_920, 1_080), media_model("anthropic/claude-haiku-4-5", Format.OPENAI)) == 1_560
