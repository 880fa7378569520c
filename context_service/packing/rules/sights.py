"""What a model sees of a window, joined once: a pack is the one before with more behind it.

So what was read and joined is kept, and of the next pack only what is new is read. A sight depends on nothing but the
window's epoch and how many blocks it has: whoever reads all anew gets the same bytes. That there is a window, that the
principal sees it, and which epoch and blocks it has, Postgres says at each call: what is kept only spares reading.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from context_service.kernel.rendering import BEGINNING, Body, Format, Rendered, needs_beginning
from context_service.kernel.tokens import TokenCounter
from context_service.packing.model import STEP, SUMMARY, ViewPart, tokens_by_zone
from context_service.packing.pure.blocks import Block, text_pieces, tokens_of
from context_service.windows.model import Window
from service_runtime.places import Shares

KEPT_S = 600.0  # since it was packed: what is erased meanwhile does not stay for long
_PART_BYTES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a model sees in front of the step that waits. It does not change: `with_blocks` returns a longer one.

    Attributes:
        epoch: Of the window; `block_count` likewise.
        body: All of it.
        parts: Summaries and blocks, in their order; `tokens` by zone, and `step_count`, are theirs.
        speaker: The role of the first piece of the last step.
        note_tokens: Of the note that it begins with the assistant, for vendors who want a user first.
        is_bare: Nothing is seen yet but the system's: what comes first may need that note.
        ends: Where what stands in front of all ends in the body, then pins and digests, then the state.
        last_from: Where what stands in front of the last step ends; `last_pieces` stand behind that.
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
    ends: tuple[str, str, str] = ("", "", "")
    last_from: str = ""
    last_pieces: int = 0

    @classmethod
    def of(cls, window: Window, front: Body, parts: Sequence[ViewPart]) -> Sight:
        """Return what is seen of a window.

        Args:
            window: With its pins and its state.
            front: What stands in front of all.
            parts: All that it shows.
        """
        summaries = [one for one in parts if one.kind == SUMMARY]
        digest_count = sum(one.zone == "digests" for one in summaries)  # they are the oldest
        digests = [piece for one in summaries[:digest_count] for piece in one.pieces]
        segments = [piece for one in summaries[digest_count:] for piece in one.pieces]
        with_digests = front.with_pieces([*window.pins_pieces, *digests])
        begun = with_digests.with_pieces([*segments, *window.state_pieces])
        bare = cls(
            epoch=window.epoch,
            block_count=0,
            format=window.format,
            tokens_family=window.tokens_family,
            body=begun,
            parts=tuple(one._replace(pieces_json="") for one in summaries),
            tokens=tokens_by_zone(summaries),
            is_bare=not (window.pins_pieces or summaries or window.state_pieces),
            ends=(front.pointer, with_digests.pointer, begun.pointer),
        )
        return bare.with_parts([one for one in parts if one.kind != SUMMARY], block_count=window.block_count)

    def with_parts(self, parts: Sequence[ViewPart], *, block_count: int) -> Sight:
        """Return what is seen with blocks behind it that were read; `with_blocks` otherwise."""
        blocks = [(one._replace(pieces_json=""), one.pieces) for one in parts]
        return self.with_blocks(blocks, block_count=block_count)

    def with_blocks(self, blocks: Sequence[tuple[ViewPart, Sequence[Rendered]]], *, block_count: int) -> Sight:
        """Return what is seen with blocks behind it.

        Args:
            blocks: In their order, each with its pieces.
            block_count: Of the window then.
        """
        if not blocks:
            return self
        rendered = [pieces for _, pieces in blocks]
        steps = [pieces for one, pieces in blocks if one.kind == STEP]
        first = next((pieces for pieces in rendered if pieces), [])  # of blocks before it a vendor takes nothing
        body, note_tokens = self._begun(first)
        last = max((number for number, (one, _) in enumerate(blocks) if one.kind == STEP), default=None)
        last_from, last_pieces = self.last_from, self.last_pieces
        if last is not None:
            body = body.with_pieces(piece for pieces in rendered[:last] for piece in pieces)
            last_from, last_pieces = body.pointer, 0
        behind = [piece for pieces in rendered[last or 0 :] for piece in pieces]
        return replace(
            self,
            block_count=block_count,
            body=body.with_pieces(behind),
            last_from=last_from,
            last_pieces=last_pieces + len(behind),
            parts=(*self.parts, *(one for one, _ in blocks)),
            tokens=tokens_by_zone([one for one, _ in blocks], self.tokens),
            step_count=self.step_count + len(steps),
            speaker=(steps[-1][0].role if steps[-1] else "") if steps else self.speaker,
            note_tokens=note_tokens,
            is_bare=self.is_bare and not first,
        )

    def with_waiting(self, waiting: Block | None) -> tuple[Body, int]:
        """Return the body with the step that waits, if there is one, and the tokens of the note in it."""
        if waiting is None:
            return self.body, self.note_tokens
        body, note_tokens = self._begun(waiting.pieces)
        return body.with_pieces(waiting.pieces), note_tokens

    def _begun(self, first: Sequence[Rendered]) -> tuple[Body, int]:
        """Return the body in front of what comes now, and the tokens of the note in it."""
        if not self.is_bare or not needs_beginning(first):
            return self.body, self.note_tokens
        note = text_pieces(BEGINNING, self.format)
        return self.body.with_pieces(note), tokens_of(note, self.format, TokenCounter(self.tokens_family).count)

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes."""
        return len(self.body) + _PART_BYTES * len(self.parts)


class KeptSights:
    """The sights of windows that were packed of late, by tenant and window.

    Args:
        bytes_max: Of all of them; 0 keeps none. Those that were packed longest ago go first.
        shares: A tenant's is its most: whatever it packs, others' are kept.
        clock: Seconds.
    """

    def __init__(self, *, bytes_max: int, shares: Shares, clock: Callable[[], float] = time.monotonic) -> None:
        self._bytes_max = bytes_max
        self._tenant_max = int(bytes_max * shares.of_tenant)
        self._clock = clock
        self._kept: OrderedDict[tuple[UUID, Hashable], tuple[Sight, float]] = OrderedDict()
        self._bytes = 0
        self._of_tenant: Counter[UUID] = Counter()

    def get(self, key: tuple[UUID, Hashable], window: Window) -> Sight | None:
        """Return a sight that a window begins with: of its epoch, and of its first blocks; None: none is kept."""
        sight, _ = self._kept.get(key, (None, 0.0))
        if sight and sight.epoch == window.epoch and sight.block_count <= window.block_count:
            return sight
        return None

    def put(self, key: tuple[UUID, Hashable], sight: Sight) -> None:
        """Keep a sight, instead of the one before."""
        self.drop(key)
        self._kept[key] = sight, self._clock()
        self._bytes += sight.size_bytes
        tenant_id = key[0]
        self._of_tenant[tenant_id] += sight.size_bytes
        while self._of_tenant[tenant_id] > self._tenant_max:
            self.drop(next(one for one in self._kept if one[0] == tenant_id))
        while self._kept:
            oldest, (_, since) = next(iter(self._kept.items()))
            if self._bytes <= self._bytes_max and self._clock() - since <= KEPT_S:
                return
            self.drop(oldest)

    def drop(self, key: tuple[UUID, Hashable]) -> None:
        """Forget a window."""
        sight, _ = self._kept.pop(key, (None, 0.0))
        if sight:
            self._bytes -= sight.size_bytes
            self._of_tenant[key[0]] -= sight.size_bytes
            if not self._of_tenant[key[0]]:
                del self._of_tenant[key[0]]
