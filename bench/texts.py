"""Messages in words that compress like words: those of our documentation."""

from __future__ import annotations

from bench.document import DOCUMENT


def messages(count: int, size_bytes: int) -> list[str]:
    """Return a number of messages of a number of bytes each, no two alike."""
    pages = [page.read_text(encoding="utf-8") for page in sorted(DOCUMENT.parent.glob("*.md"))]
    text = " ".join(" ".join(pages).split()).encode("ascii", "ignore").decode()
    starts = (number * 397 % (len(text) - size_bytes) for number in range(count))
    return [f"{number} {text[start : start + size_bytes]}"[:size_bytes] for number, start in enumerate(starts)]
