"""What a message is found by: its passages, cut and stemmed before the message is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from context_service.contexts.model import MessageInput, PassageText
from context_service.kernel.parts import Part
from context_service.retrieval.model import Passage
from context_service.retrieval.pure.part_texts import PartText, part_text
from context_service.retrieval.pure.text_pieces import pieces
from service_runtime.copying import copied

_SAID_BY = frozenset({"user", "assistant"})  # whose passages are neighbours of each other
_SAID = frozenset({"text", "data"})


def passages_of(said: MessageInput, *, count: Callable[[str], int]) -> tuple[PassageText, ...]:
    """Return the passages of a message, in its order; `count` counts the tokens of a text.

    The author's name is found with each of them. What a message says again and again is found once.
    """
    found = []
    seen: set[tuple[str, ...]] = set()
    for number, whole in _texts(said):
        for piece in pieces(whole.text, count=count, name=said.name):
            key = (whole.kind, *piece.terms)
            if key not in seen:
                seen.add(key)
                is_said = said.role in _SAID_BY and whole.kind in _SAID
                found.append(PassageText(part=number, kind=whole.kind, is_said=is_said, **piece._asdict()))
    return tuple(found)


def passages_of_artifact(
    name: str, description: str, parts: Sequence[Part], *, parts_before: int = 0, count: Callable[[str], int]
) -> tuple[PassageText, ...]:
    """Return the passages of an artifact, in its order: part by part, so that chunks give what the whole does.

    Args:
        name: Found with each passage, as an author's is of a message.
        description: Where it begins.
        parts: All, or those of a chunk.
        parts_before: That came in earlier chunks, which had the description.
        count: Counts the tokens of a text.
    """
    texts = [] if parts_before or not description else [(0, PartText("text", description))]
    texts += [(number, of) for number, part in enumerate(parts, parts_before + 1) if (of := part_text(part))]
    return tuple(
        PassageText(part=number, kind="artifact", is_said=False, **piece._asdict())
        for number, whole in texts
        for piece in pieces(whole.text, count=count, name=name)
    )


def placed(
    one: PassageText, said: MessageInput, *, seq: int, ordinal: int, session: int, said_at: datetime | None
) -> Passage:
    """Return a passage of a message where it stands."""
    return copied(
        Passage,
        one,
        seq=seq,
        ordinal=ordinal,
        session=session,
        said_at=said_at,
        role=said.role,
        author=said.name,
        task_id=said.task_id,
        numbers=None,
        source_id=None,
    )


def _texts(said: MessageInput) -> Iterator[tuple[int, PartText]]:
    if said.content and not said.content.isspace():
        yield 0, PartText("text", said.content)
    for number, part in enumerate(said.parts, start=1):
        if text := part_text(part):
            yield number, text
