"""The texts by which a memory is found, and the key of its statement. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime

from context_service.memories.model import Experience, Memory, MemoryKind
from context_service.retrieval.model import Passage
from context_service.retrieval.pure.facts import fact_of
from context_service.retrieval.pure.text_pieces import TextPiece, pieces

_BETWEEN_WORDS = re.compile(r"[\W_]+")
_BETWEEN = "\x1f"  # a separator that occurs in no word


def pieces_of(text: str, key: str, experience: Experience | None, *, count: Callable[[str], int]) -> list[TextPiece]:
    """Return the pieces that index a memory: its text, with the words of its key."""
    said = [text, *((experience.goal, experience.outcome) if experience else ())]
    return list(pieces("\n\n".join(filter(None, said)), count=count, name=_BETWEEN_WORDS.sub(" ", key).strip()))


def indexed_text(memory: Memory) -> str:
    """Return all indexed text of a memory, as one text."""
    experience = (memory.experience.goal, memory.experience.outcome) if memory.experience else ()
    return "\n".join(filter(None, (_BETWEEN_WORDS.sub(" ", memory.key), memory.text, *experience)))


def placed(pieces: Sequence[TextPiece], *, seq: int, kind: MemoryKind, happened_at: datetime) -> list[Passage]:
    """Return the passages of a memory. Each memory is a document of its own in the user's scope."""
    return [
        Passage(
            seq=seq,
            ordinal=ordinal,
            session=seq,
            text=piece.text,
            terms=piece.terms,
            kind=kind.value,
            said_at=happened_at,
            is_said=False,
            marks=piece.marks,
        )
        for ordinal, piece in enumerate(pieces)
    ]


def same_text(text: str, other: str) -> bool:
    """Say whether two texts are the same sentence, whatever their case, spaces and final punctuation."""
    return _plain(text) == _plain(other)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(" .!,;\"'\u201c\u201d\u201e\u00ab\u00bb")


def statement_of(text: str, experience: Experience | None) -> bytes:
    """Return a hash that is equal for memories that say the same, even in different words."""
    said = [text, *((experience.goal, experience.outcome) if experience else ())]
    # A text that is too short to be a fact counts by its words.
    facts = [_BETWEEN.join(fact_of(text)) or _plain(text) for text in said]
    return hashlib.sha256("\n".join(facts).encode(errors="surrogatepass")).digest()
