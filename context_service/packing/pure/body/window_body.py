"""The body of a window's packs, joined once: each pack is the earlier pack with more blocks at its end.

A body depends only on the epoch of the window (the number of breaks of its prefix) and on its number of blocks, so
each replica that reads the window gets the same bytes. The body begins with the zones in the order of `ZONES`; the
blocks follow, and a step that waits for results comes last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from context_service.kernel.files.limits import NO_FILES, FileUse
from context_service.kernel.rendering import BEGINNING, Body, Format, Rendered, needs_beginning
from context_service.kernel.tokens import TokenCounter
from context_service.packing.model import STEP, ViewPart, tokens_by_zone
from context_service.packing.pure.body.zones import ZONES
from context_service.packing.pure.steps.blocks import Block, text_pieces, tokens_of
from context_service.windows.model import Window

_PART_BYTES = 300  # the approximate memory of a part without its pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowBody:
    """The body of a window's packs, without a step that waits for results.

    It never changes: `with_blocks` returns another body.

    Attributes:
        epoch: The epoch of the window that the body belongs to.
        block_count: The number of blocks that the window has with these.
        body: The body of the request.
        parts: Summaries and blocks, in their order.
        tokens: The tokens of the parts, by zone.
        step_count: The number of steps among the parts.
        speaker: The role of the first piece of the last step.
        note_tokens: The tokens of the note for vendors whose requests must begin with a user's message; 0 if the body
            has no such note.
        is_bare: The body has only system prompts so far, so the next piece may need that note before it.
        ends: For each zone after which a cache can end, its name and its last piece as a JSON Pointer.
        last_from: The last piece before the last step, as a JSON Pointer.
        last_pieces: The number of pieces after `last_from`.
        files: What the files of the parts use of the vendor's limits.
    """

    epoch: int
    block_count: int
    format: Format
    tokens_family: str
    body: Body
    parts: tuple[ViewPart, ...] = ()
    tokens: Mapping[str, int] = field(default_factory=dict)
    step_count: int = 0
    speaker: str = ""
    note_tokens: int = 0
    is_bare: bool = False
    ends: tuple[tuple[str, str], ...] = ()
    last_from: str = ""
    last_pieces: int = 0
    files: FileUse = NO_FILES

    @classmethod
    def of(cls, window: Window, front: Body, parts: Sequence[ViewPart]) -> WindowBody:
        """Build the body of a window from its stored parts.

        Args:
            window: The window, with its pins and its state.
            front: The tools, the system prompt and the goal.
            parts: All parts that the window shows.
        """
        summaries = [part for part in parts if part.is_before_steps]
        body, is_bare, ends = front, True, [("system", front.pointer)]
        for zone in ZONES:
            pieces = zone.pieces(window, summaries)
            body, is_bare = body.with_pieces(pieces), is_bare and not pieces
            if zone.ends_cache:
                ends.append((zone.name, body.pointer))
        bare = cls(
            epoch=window.epoch,
            block_count=0,
            format=window.format,
            tokens_family=window.tokens_family,
            body=body,
            parts=tuple(part._replace(pieces_json="") for part in summaries),
            tokens=tokens_by_zone(summaries),
            is_bare=is_bare,
            ends=tuple(ends),
        )
        return bare.with_parts([part for part in parts if not part.is_before_steps], block_count=window.block_count)

    def with_parts(self, parts: Sequence[ViewPart], *, block_count: int) -> WindowBody:
        """Return the body with more blocks, which were read from the store."""
        blocks = [(part._replace(pieces_json=""), part.pieces) for part in parts]
        return self.with_blocks(blocks, block_count=block_count)

    def with_blocks(self, blocks: Sequence[tuple[ViewPart, Sequence[Rendered]]], *, block_count: int) -> WindowBody:
        """Return the body with more blocks at its end.

        Args:
            blocks: The blocks in their order, each with its pieces.
            block_count: The number of blocks that the window has with them.
        """
        if not blocks:
            return self
        turns = [pieces for _, pieces in blocks]
        steps = [pieces for part, pieces in blocks if part.kind == STEP]
        first = next((pieces for pieces in turns if pieces), [])  # empty blocks add nothing to the request
        body, note_tokens = self._body_before(first)
        last = max((number for number, (part, _) in enumerate(blocks) if part.kind == STEP), default=None)
        last_from, last_pieces = self.last_from, self.last_pieces
        if last is not None:
            body = body.with_pieces(piece for pieces in turns[:last] for piece in pieces)
            last_from, last_pieces = body.pointer, 0
        after = [piece for pieces in turns[last or 0 :] for piece in pieces]
        return replace(
            self,
            block_count=block_count,
            body=body.with_pieces(after),
            last_from=last_from,
            last_pieces=last_pieces + len(after),
            parts=(*self.parts, *(part for part, _ in blocks)),
            tokens=tokens_by_zone([part for part, _ in blocks], self.tokens),
            step_count=self.step_count + len(steps),
            speaker=(steps[-1][0].role if steps[-1] else "") if steps else self.speaker,
            note_tokens=note_tokens,
            is_bare=self.is_bare and not first,
            files=reduce(FileUse.plus, (part.files for part, _ in blocks), self.files),
        )

    def with_waiting(self, waiting: Block | None) -> tuple[Body, int]:
        """Return the body with the step that waits for results, if there is one, and the tokens of the note in it."""
        if waiting is None:
            return self.body, self.note_tokens
        body, note_tokens = self._body_before(waiting.pieces)
        return body.with_pieces(waiting.pieces), note_tokens

    def _body_before(self, first: Sequence[Rendered]) -> tuple[Body, int]:
        """Return the body to which the pieces `first` can be added, and the tokens of the note at its beginning.

        If the body has only system prompts and the pieces do not begin with a user's message, the note is added.
        """
        if not self.is_bare or not needs_beginning(first):
            return self.body, self.note_tokens
        note = text_pieces(BEGINNING, self.format)
        return self.body.with_pieces(note), tokens_of(note, self.format, TokenCounter(self.tokens_family).count)

    @property
    def size_bytes(self) -> int:
        """The approximate memory that the body takes, in bytes."""
        return len(self.body) + _PART_BYTES * len(self.parts)
