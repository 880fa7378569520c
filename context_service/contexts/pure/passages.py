"""Passages of messages and artifacts: the parts of texts that search finds, cut before the message is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from context_service.contexts.model import MessageInput, PassageText
from context_service.kernel.parts import Part
from context_service.retrieval.model import Passage
from context_service.retrieval.pure.marks import imported
from context_service.retrieval.pure.part_texts import PartText, part_text
from context_service.retrieval.pure.text_pieces import pieces
from service_runtime.values.copying import copied

_SAID_BY = frozenset({"user", "assistant"})  # roles whose passages are neighbours of each other
_SAID = frozenset({"text", "data"})


def passages_of(draft: MessageInput, *, count: Callable[[str], int]) -> tuple[PassageText, ...]:
    """Return the passages of a message, in order; `count` counts the tokens of a text.

    Each passage can be found by the author's name. Repeated passages are kept once.
    """
    passages = []
    seen: set[tuple[str, ...]] = set()
    for number, whole in _texts(draft):
        for piece in pieces(whole.text, count=count, name=draft.name):
            key = (whole.kind, *piece.terms)
            if key not in seen:
                seen.add(key)
                is_said = draft.role in _SAID_BY and whole.kind in _SAID
                passages.append(PassageText(part=number, kind=whole.kind, is_said=is_said, **piece._asdict()))
    return tuple(passages)


def passages_of_artifact(
    name: str, description: str, parts: Sequence[Part], *, parts_before: int = 0, count: Callable[[str], int]
) -> tuple[PassageText, ...]:
    """Return the passages of an artifact, in order: part by part, so that chunks give the same passages as the whole.

    Args:
        name: The artifact's name. It is part of each passage, so that each can be found by it.
        description: The artifact's description, which becomes the first passage.
        parts: All parts of the artifact, or the parts of one chunk.
        parts_before: The number of parts in earlier chunks; above 0, the description was already written.
        count: A function that counts the tokens of a text.
    """
    texts = [] if parts_before or not description else [(0, PartText("text", description))]
    texts += [(number, of) for number, part in enumerate(parts, parts_before + 1) if (of := part_text(part))]
    return tuple(
        PassageText(part=number, kind="artifact", is_said=False, **piece._asdict())
        for number, whole in texts
        for piece in pieces(whole.text, count=count, name=name)
    )


def placed(
    passage_text: PassageText, draft: MessageInput, *, seq: int, ordinal: int, session: int, said_at: datetime | None
) -> Passage:
    """Return a passage of a message at its place in the log."""
    return copied(
        Passage,
        passage_text,
        marks=imported(passage_text.marks) if draft.is_imported else passage_text.marks,
        seq=seq,
        ordinal=ordinal,
        session=session,
        said_at=said_at,
        role=draft.role,
        author=draft.name,
        task_id=draft.task_id,
        numbers=None,
        source_id=None,
    )


def _texts(draft: MessageInput) -> Iterator[tuple[int, PartText]]:
    """Yield the searchable texts of a message, each with the number of its part; the content has the number 0."""
    if draft.content and not draft.content.isspace():
        yield 0, PartText("text", draft.content)
    for number, part in enumerate(draft.parts, start=1):
        if text := part_text(part):
            yield number, text
