"""The values of packs: blocks, shown parts, entries of the state, receipts, zones and the pack itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from context_service.folding.pure.summaries import BY_RULES, SEGMENT
from context_service.kernel.files.limits import NO_FILES, FileUse
from context_service.kernel.rendering import PlacedFile, Rendered, Span
from context_service.packing.pure.body.breakpoints import Breakpoint
from context_service.packing.pure.state.task_state import (
    Entry,
    StateChange,
)
from context_service.packing.pure.steps.forms import LaterForm
from context_service.packing.pure.texts.tallies import ToolUse
from context_service.packing.pure.texts.units import Unit
from context_service.windows.model import Window
from context_service.windows.pure.pieces import parsed_pieces
from service_runtime.values.copying import fields_of

STEP, RECALLED, NOTE, NOTICE = "step", "recalled", "note", "notice"  # kinds of blocks
SUMMARY, CONVERSATION, LAST_WORDS = "summary", "conversation", "last_words"  # kinds of parts before the steps
BY_RULE, BY_MODEL, BY_CALLER = "rule", "model", "caller"  # sources of entries
PIN = "pin"  # the section of pins; the key of a pin is its id


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBlock:
    """A block to append to a window.

    Attributes:
        kind: What the block is: `STEP`, `RECALLED`, `NOTE`, or `NOTICE` for the notice before a fold.
        step: The number of the step, from 1. A block of another kind has the number of the step before it.
        seq_from: The `seq` of the first message of a step.
        seq_to: The `seq` of the last message of a step.
        masked: The pieces of the step with its tool results cleared, and their tokens; None if that saves too little.
        speaker: The role and the name of the speaker of a step.
        said: See `FoldableBlock`.
        refs: The refs of the passages that the block recalls.
        later: The form of the block after the next break of the prefix, or None if it is the same.
        files: What the files of the block use of the vendor's limits.
        masked_files: The same while the block is masked.
    """

    kind: str
    step: int
    seq_from: int
    seq_to: int
    tokens: int
    pieces: Sequence[Rendered]
    is_error: bool = False
    masked: tuple[Sequence[Rendered], int] | None = None
    units: Sequence[Unit] = ()
    names: Iterable[str] = ()
    tools: Sequence[ToolUse] = ()
    refs: Sequence[str] = ()
    later: LaterForm | None = None
    speaker: str = ""
    said: str = ""
    files: FileUse = NO_FILES
    masked_files: FileUse = NO_FILES


class ViewPart(NamedTuple):
    """A part of a pack: a summary, a block of messages (`CONVERSATION`, `LAST_WORDS`), or a block of the steps."""

    kind: str  # the kind of the block, `SUMMARY`, `CONVERSATION` or `LAST_WORDS`
    level: int  # the level of a summary; for a block 0, or 1 if it is masked
    step_from: int
    step_to: int
    seq_from: int
    seq_to: int
    tokens: int
    is_error: bool
    pieces_json: str  # as stored, and parsed only when needed, because parsing many of them takes time
    refs: Sequence[str] = ()  # the passages that the block recalls
    method: str = ""  # how a summary was made; empty for blocks
    verdict: str = ""  # the result of the checks of a model's summary; empty for blocks
    files: FileUse = NO_FILES  # of the form that is shown

    @classmethod
    def of(cls, block: NewBlock) -> ViewPart:
        """Return the part for a block that was just written, without its pieces."""
        place = block.step, block.step, block.seq_from, block.seq_to
        return cls(
            block.kind, 0, *place, block.tokens, block.is_error, pieces_json="", refs=tuple(block.refs)
        )._replace(files=block.files)

    @property
    def pieces(self) -> list[Rendered]:
        """The rendered pieces."""
        return parsed_pieces(self.pieces_json)

    @property
    def is_before_steps(self) -> bool:
        """Whether the part comes before the steps of a pack."""
        return self.kind in (SUMMARY, CONVERSATION, LAST_WORDS)

    @property
    def zone(self) -> str:
        """The zone of a pack that the part belongs to."""
        if self.kind == SUMMARY:
            return "segments" if self.level == SEGMENT else "digests"
        if self.kind == LAST_WORDS:
            return "state"
        if self.kind == STEP:
            return "masked" if self.level else "verbatim"
        return NOTE if self.kind == NOTICE else self.kind


class ShownView(NamedTuple):
    """The parts of a window in their order, without head and state.

    The epoch and the number of blocks say to which version of the window they belong.
    """

    epoch: int
    block_count: int
    parts: list[ViewPart]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry:
    """An entry of the state, as stored."""

    number: int
    entry: Entry
    source: str
    created_at: datetime


class StateUpdate(NamedTuple):
    """Changes of the state: new entries, and the numbers of entries that end.

    Attributes:
        new: New entries, including those that a later statement of the same update ends.
        ended: Numbers of entries that end, each with the `seq` of the message that ends it.
    """

    new: list[Entry]
    ended: dict[int, int]


NO_STATE_UPDATE = StateUpdate([], {})


@dataclass(frozen=True, slots=True)
class FoldSummary:
    """A summary in a receipt: the steps that it covers, and its tokens."""

    level: int
    step_from: int
    step_to: int
    seq_from: int
    seq_to: int
    tokens: int
    method: str = BY_RULES
    verdict: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldAccount:
    """The details of a receipt.

    Attributes:
        rules: The rules that the fold applied, as sentences.
        masked_steps: Numbers of the steps that it masked.
        merged_steps: The number of steps that it merged into summaries.
        dropped_blocks: The number of notes and recalled blocks that it dropped.
        summaries: The summaries that the fold made.
        state_left_out: The number of entries for which the state had no room.
        state_added: Entries that the state shows now and did not show before.
        state_removed: Entries that the state no longer shows. Their texts are in the log, as long as it has them.
        first_change: The zone in which the prefix breaks.
        state_tokens: The tokens of the state's text.
        tokens_kept: The tokens before the break.
        written_again: Tokens after the break, which the vendor's cache must write again.
        pays_after_steps: After this number of steps the smaller prompt has saved the cost of writing them again. -1
            means never.
        token_factor: From this fold on, counted tokens times this are the most that a vendor is expected to bill. 0 if
            this was no fold.
        prepared_seq: The last message that the window had read when the fold was prepared. 0 if it was not prepared.
        checkpoint: The number of the checkpoint of a rollback. 0 if this was no rollback.
        block_count: After a rollback, the number of blocks of the window.
        left_out: Ranges of messages that are left out from now on: first and last `seq` of each.
        steps_left_out: The number of steps that the window no longer has.
    """

    rules: Sequence[str] = ()
    masked_steps: Sequence[int] = ()
    merged_steps: int = 0
    dropped_blocks: int = 0
    summaries: Sequence[FoldSummary] = ()
    state_tokens: int = 0
    state_left_out: int = 0
    state_added: Sequence[StateChange] = ()
    state_removed: Sequence[StateChange] = ()
    first_change: str = ""
    tokens_kept: int = 0
    written_again: int = 0
    pays_after_steps: int = -1
    token_factor: float = 0.0
    prepared_seq: int = 0
    checkpoint: int = 0
    block_count: int = 0
    left_out: Sequence[Sequence[int]] = ()
    steps_left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The account of one break of the prefix: a change after which packs no longer repeat the bytes of earlier packs.

    Attributes:
        epoch: The number of the epoch that the break began.
        reason: `high_mark`, `files`, `cache_cold`, `requested`, `goal`, `prepared`, `updated`, `pinned`, `unpinned`,
            `retracted` or `rolled_back`.
        last_seq: The `seq` of the last message that the break takes into account.
        step: The number of steps that the window had.
        tokens_before: The tokens of the pack before the break; 0 if they were not counted.
        tokens_after: The tokens of the pack after the break; 0 if they were not counted.
        account: The details of a fold or a rollback.
    """

    epoch: int
    reason: str
    last_seq: int
    step: int
    tokens_before: int
    tokens_after: int
    account: FoldAccount
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Zones:
    """The tokens of a pack by zone. The first zones change least often."""

    system: int = 0
    pins: int = 0
    conversation: int = 0
    digests: int = 0
    segments: int = 0
    state: int = 0
    masked: int = 0
    verbatim: int = 0
    recalled: int = 0
    notes: int = 0

    @property
    def all(self) -> int:
        """The tokens of the whole pack, over all zones."""
        return sum(fields_of(self).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """The messages for the next call of the model.

    Attributes:
        window: The window, as it was packed.
        messages_json: The body of a request, without its first `offset_bytes`, which the caller already has.
        prefix_bytes: The number of first bytes that the next pack repeats, until the window has a new epoch.
        prefix_sha: The SHA-256 of these bytes, in hexadecimal.
        step_count: The number of steps in the pack, verbatim or masked.
        fold_eta_steps: The estimated number of steps until the next fold.
        last_seq: The newest message of the log that was read.
        is_waiting: The last step of the pack waits for results of tools.
        breakpoints: Positions for the markers of a vendor's prompt cache.
        wraps_up: The window's limit of tokens over all packs is nearly reached, so the agent should finish its work.
        omitted_refs: Refs of the messages that the pack shows only in excerpts.
        recalled_refs: Refs of the recalled passages in their order, each once.
        annotations: The annotations that the middleware added.
        spans: Who wrote each piece of the pack, or lines of it, in their order, without the first `known_span_count`.
        known_span_count: The number of spans of the pieces that the caller already has.
        is_catching_up: The window reads a long log in the background, and the pack has its newest steps alone.
        files: The files whose bytes `messages_json` lacks, with their positions in the whole body.
    """

    window: Window
    messages_json: bytes
    offset_bytes: int
    prefix_bytes: int
    prefix_sha: str
    zones: Zones
    step_count: int
    fold_eta_steps: int
    last_seq: int
    is_waiting: bool
    breakpoints: Sequence[Breakpoint] = ()
    wraps_up: bool = False
    omitted_refs: Sequence[str] = ()
    recalled_refs: Sequence[str] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    spans: Sequence[Span] = ()
    known_span_count: int = 0
    is_catching_up: bool = False
    files: Sequence[PlacedFile] = ()


class Prefix(NamedTuple):
    """The first bytes of a pack that the caller already has."""

    sha: str  # SHA-256, in hexadecimal
    size_bytes: int


class RecallRequest(NamedTuple):
    """A recall that a caller wants after the last step, whether or not the step calls for one."""

    text: str
    # The window's number of blocks when the recall was requested. If the window has more, the recall was done already.
    block_count: int


def zones_of(window: Window, parts: Sequence[ViewPart]) -> Zones:
    """Return the tokens of the shown parts of a window by zone, without those of a step that waits for results."""
    return zones_by(window, tokens_by_zone(parts))


def zones_by(window: Window, tokens: Mapping[str, int]) -> Zones:
    """Return the tokens of a window by zone: those of its head, and the given tokens of its parts."""
    return Zones(
        system=window.head_tokens,
        pins=window.pins_tokens,
        conversation=tokens.get(CONVERSATION, 0),
        digests=tokens.get("digests", 0),
        segments=tokens.get("segments", 0),
        state=window.state_tokens + tokens.get("state", 0),
        masked=tokens.get("masked", 0),
        verbatim=tokens.get("verbatim", 0),
        recalled=tokens.get(RECALLED, 0),
        notes=tokens.get(NOTE, 0),
    )


def tokens_by_zone(parts: Sequence[ViewPart], before: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the tokens of parts by zone, added to those of `before`."""
    tokens = dict(before or {})
    for part in parts:
        tokens[part.zone] = tokens.get(part.zone, 0) + part.tokens
    return tokens
