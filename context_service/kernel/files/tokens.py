"""Counts the tokens of a file as the vendor of a model does. Sources are in `models.yaml`.

A fact that is unknown counts as the most that it can be, so that a budget holds. A few tokens more than the bill are
better than a request that is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, sqrt

from context_service.kernel.files.facts import FileFacts, FileKind, kind_of
from context_service.kernel.files.models import ImageFormula, MediaModel

_ANTHROPIC_PATCH, _OPENAI_PATCH, _OPENAI_TILE = 28, 32, 512
_OPENAI_FIT, _OPENAI_SHORT_SIDE = 2_048, 768
_GEMINI_TILE_TOKENS, _GEMINI_SMALL_SIDE, _GEMINI_TILE = 258, 384, 768
_CROPS_OF_SHORT_SIDE = 1.5
_CHARS_OF_TOKEN_MIN = 2  # of the text of a page; most texts have more
_AUDIO_BYTES_OF_SECOND_MIN = 750  # 6 kbit/s, the least of Opus
_PAGES_UNKNOWN = 100


def tokens_of_file(facts: FileFacts, model: MediaModel, *, size_bytes: int = 0) -> int:
    """Return the tokens of a file that is sent to a model as a file; 0 if the model does not take it.

    Args:
        facts: The facts of the file.
        model: The model that takes it.
        size_bytes: The size of the file, which bounds an unknown duration.
    """
    if not model.takes(facts):
        return 0
    kind = kind_of(facts.media_type)
    if kind is FileKind.IMAGE:
        return tokens_of_image(facts.width, facts.height, model.image)
    if kind is FileKind.PDF:
        return _tokens_of_pdf(facts, model)
    seconds = facts.duration_seconds or size_bytes / _AUDIO_BYTES_OF_SECOND_MIN
    return ceil(seconds * model.second)


def tokens_of_image(width: int, height: int, formula: ImageFormula) -> int:
    """Return the tokens of a picture; the most that there can be if a side is 0, which is unknown."""
    if not width or not height or formula.name == "fixed":
        return formula.most
    return min(_FORMULAS[formula.name](width, height, formula), formula.most)


def _tokens_of_pdf(facts: FileFacts, model: MediaModel) -> int:
    """Estimate the tokens of a PDF: each page as a picture and as text, and no more text than the file has."""
    pages = facts.page_count or model.limits.pages or _PAGES_UNKNOWN
    text = pages * model.page_text_max
    if facts.text_chars:
        text = min(text, ceil(facts.text_chars / _CHARS_OF_TOKEN_MIN))
    return pages * model.page_image + text


def _anthropic(width: int, height: int, formula: ImageFormula) -> int:
    """Count patches of 28 x 28 pixels of the largest size with the same proportions that the vendor's limits allow."""
    long, short = max(width, height), min(width, height)

    def patches(side: int) -> int:
        other = max(round(short * side / long), 1)
        return ceil(side / _ANTHROPIC_PATCH) * ceil(other / _ANTHROPIC_PATCH)

    def fits(side: int) -> bool:
        return ceil(side / _ANTHROPIC_PATCH) * _ANTHROPIC_PATCH <= formula.side and patches(side) <= formula.most

    if fits(long):
        return patches(long)
    low, high = 1, long  # `low` fits, `high` does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return patches(low)


def _patches(width: int, height: int, formula: ImageFormula) -> int:
    """Count patches of 32 x 32 pixels, after OpenAI has scaled the picture into its side and its number of patches."""
    wide, high = _within(width, height, formula.side)

    def covered(across: float, down: float) -> int:
        return ceil(across / _OPENAI_PATCH) * ceil(down / _OPENAI_PATCH)

    count = covered(wide, high)
    if formula.patches and count > formula.patches:
        shrink = sqrt(_OPENAI_PATCH**2 * formula.patches / (wide * high))
        across, down = wide * shrink / _OPENAI_PATCH, high * shrink / _OPENAI_PATCH
        shrink *= min(floor(across) / across or 1, floor(down) / down or 1)
        count = min(covered(floor(wide * shrink) or 1, floor(high * shrink) or 1), formula.patches)
    return ceil(round(count * formula.multiplier, 6))


def _tiles(width: int, height: int, formula: ImageFormula) -> int:
    """Count tiles of 512 x 512 pixels, after OpenAI has scaled the picture into 2048 x 2048 and a short side of 768."""
    wide, high = _within(width, height, _OPENAI_FIT)
    short = min(wide, high)
    if short > _OPENAI_SHORT_SIDE:
        wide, high = wide * _OPENAI_SHORT_SIDE // short, high * _OPENAI_SHORT_SIDE // short
    return formula.base + formula.tile * ceil(wide / _OPENAI_TILE) * ceil(high / _OPENAI_TILE)


def _crops(width: int, height: int, formula: ImageFormula) -> int:
    """Count the crops of a picture, whose size follows from its short side, as Gemini 2 does."""
    if width <= _GEMINI_SMALL_SIDE and height <= _GEMINI_SMALL_SIDE:
        return _GEMINI_TILE_TOKENS
    unit = max(floor(min(width, height) / _CROPS_OF_SHORT_SIDE), 1)
    return _GEMINI_TILE_TOKENS * ceil(width / unit) * ceil(height / unit)


def _within(width: int, height: int, side: int) -> tuple[int, int]:
    """Return the size of a picture that is scaled down until no side is longer than a limit."""
    long = max(width, height)
    if not side or long <= side:
        return width, height
    return max(round(width * side / long), 1), max(round(height * side / long), 1)


_FORMULAS: dict[str, Callable[[int, int, ImageFormula], int]] = {
    "anthropic": _anthropic,
    "patches": _patches,
    "tiles": _tiles,
    "crops": _crops,
}
