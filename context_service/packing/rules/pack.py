"""The rules of packing: a window catches up with its log, folds over its high mark, and says what a model shall see.

What takes CPU is done before the window is locked, and written only if the window is what it was: of two who pack at
once one writes, and the other looks again. So a kill leaves a window that has come so far, and nothing half done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice, takewhile
from typing import Any, NamedTuple
from uuid import UUID

from context_service.checkpoints.model import BY_FOLD, BY_STEPS
from context_service.checkpoints.store import CheckpointRows
from context_service.contexts.model import Message
from context_service.contexts.room import Log
from context_service.contexts.rules.recall import (
    NOTHING_RECALLED,
    Filter,
    Recalled,
    RecalledItem,
    Recalling,
    RecallQuery,
)
from context_service.folding.pure.folds import CLOSE_STEPS, Fold, Limits, View, fold
from context_service.folding.pure.model_state import not_known
from context_service.folding.pure.prepare import Prepared, committed, prepared
from context_service.folding.pure.summaries import SEGMENT, Summary
from context_service.folding.rules.model_segments import Writing
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.kernel.parts import Part, texts_of
from context_service.kernel.rendering import Body, Rendered, Turn, empty
from context_service.kernel.tokens import TokenCounter, calibrated
from context_service.packing.model import (
    BY_CALLER,
    BY_MODEL,
    NOTE,
    RECALLED,
    STEP,
    SUMMARY,
    FoldAccount,
    FoldSummary,
    NewBlock,
    Pack,
    Prefix,
    RecallRequest,
    Receipt,
    StoredEntry,
    ViewPart,
    Zones,
    zones_by,
)
from context_service.packing.pure import prefetch
from context_service.packing.pure.blocks import Block, text_pieces, tokens_of
from context_service.packing.pure.breakpoints import Breakpoint, breakpoints
from context_service.packing.pure.catch_up import CaughtUp, PreparedStep, caught_up
from context_service.packing.pure.steps import cut
from context_service.packing.pure.task_state import Entry, StateChange, after, changes, note_of, shown
from context_service.packing.pure.turns import pieces
from context_service.packing.pure.units import Unit
from context_service.packing.rules.plugins import Extracting, Middleware, Packed, Scoring
from context_service.packing.rules.sights import KeptSights, Sight
from context_service.packing.store.views import ViewRows
from context_service.profiles.pure.profiles import Profile
from context_service.profiles.rules.learning import Learning
from context_service.profiles.rules.profiles import OwnProfiles
from context_service.usage.pure.endings import Endings
from context_service.usage.pure.prices import pays_after
from context_service.usage.store.endings import EndingRows
from context_service.usage.store.usage import UsageRows
from context_service.windows.model import SpentTokens, Window, WindowInput, WindowSnapshot, window_not_found
from context_service.windows.pure.models import LOOK_BACK_BLOCKS, model
from context_service.windows.pure.patches import is_told_once, note_of_said
from context_service.windows.pure.pins import pinned
from context_service.windows.pure.refs import refs_between
from context_service.windows.rules.telemetry import Telemetry
from context_service.windows.store.windows import WindowRows
from contextkeep.errors import (
    AnswerTooLarge,
    BudgetTooSmall,
    FoldNoProgress,
    FoldNotPrepared,
    FoldStale,
    PackVetoed,
    TokensSpent,
    WindowBehind,
    WindowClosed,
)
from service_runtime.auth import Principal
from service_runtime.calls import remaining_s
from service_runtime.documents import beside_the_loop
from service_runtime.optimistic import RowsChanged, until_written
from service_runtime.postgres import Tenant, Transaction
from service_runtime.requests import Request, Requests

PACK_BYTES_MAX = 4 * 1024 * 1024 - 64 * 1024
MESSAGES_AT_ONCE = 256  # of a transaction that catches up
READING_S_MAX = 2.0  # that reading so many takes, with a fold: with less time left, none begins
RECALLED_TOKENS, ANSWERING_TOKENS = 1_000, 4_000  # behind a step that calls for it; behind a user's question
RECALLED_SHARE, ANSWERING_SHARE = 64, 16  # and no larger part of the limit than one in so many
WRAP_UP_SHARE = 0.9  # of the tokens that packs may have together
RECALL_STEPS = 10  # it is recalled behind each step whose number this divides

_RENDERING = 24  # times as long as parsing: what is read of a log is cut, searched for lines, rendered and counted
_MESSAGE_BYTES = 200  # what a message takes beside its texts, as long as so many bytes of them
_READING = 4  # as long: what is read and joined
_HASHING = 1  # as long: what is answered
_FOLDING = 200  # bytes of parsing for each token that a fold looks through
NOTE_TOKENS = 40  # that the note on a beginning may have, in any format
_COUNTING = 40  # the same for each block of a fold that is counted
_COMMITTING = 10  # the same of one that was prepared
_SAVED_SHARE_MIN = 0.25  # of what is seen, by a fold for which only a cold cache is a reason
_PACKED_SHARE = 0.1  # of the time that a cache keeps a prompt, within which packs of the same log are as one
_RECALL_TEXT_CHARS = 2_000


_NOTHING = Prefix("", 0)


class _Entries(NamedTuple):
    """What steps say of the state: new entries, and numbers of those that end, new ones, too, with what ends them."""

    new: list[Entry]
    ended: dict[int, int]


_NO_ENTRIES = _Entries([], {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ahead:
    """A window that has read all of its log, and what it shows.

    Attributes:
        last_seq: Of the log.
        packed_seq: Of the log, when the window was packed last for a model.
        idle_s: How long ago that was; None: never.
    """

    window: Window
    sight: Sight
    waiting: Block | None
    last_seq: int
    packed_seq: int
    idle_s: float | None

    @property
    def tokens(self) -> int:
        waiting = self.waiting.tokens if self.waiting else 0
        return _front_tokens(self.window) + sum(self.sight.tokens.values()) + waiting

    @property
    def is_to_be_noted(self) -> bool:
        """Whether the next pack asks whether it is the first one of this log, and how long ago this one was."""
        if self.waiting:  # no model is asked
            return False
        if self.idle_s is None or self.packed_seq < self.last_seq:
            return True
        return 0 < _PACKED_SHARE * self.window.config.cache_ttl_s < self.idle_s


class Packs:
    """Packs windows; each call acts for its principal.

    Args:
        rows: The windows.
        views: What they show.
        log: Their contexts.
        requests: The request ids of this service.
        order: Who packs a window: of a process one at a time.
        recalling: Finds what is out of sight.
        usage: What bills taught about counts.
        kept: What was packed of late.
        checkpoints: What windows were.
        profiles: What a window keeps of its log.
        telemetry: Counts.
        endings: How steps ended.
        learning: Counts what folds take out of sight, of windows that learn.
        writing: Has a model write segments of folds that are prepared; None: there is none.
        scoring: Says what lines are worth; None: ours does.
        extracting: Says what messages say of the state; None: rules do.
        middleware: Decides on packs; None: nothing does.
    """

    def __init__(
        self,
        rows: WindowRows,
        views: ViewRows,
        *,
        log: Log,
        requests: Requests,
        writer_locks: KeyedLocks,
        recalling: Recalling,
        usage: UsageRows,
        kept: KeptSights,
        checkpoints: CheckpointRows,
        profiles: OwnProfiles,
        telemetry: Telemetry,
        endings: EndingRows,
        learning: Learning,
        writing: Writing | None = None,
        scoring: Scoring | None = None,
        extracting: Extracting | None = None,
        middleware: Middleware | None = None,
    ) -> None:
        self._middleware = middleware
        self._scoring = scoring
        self._extracting = extracting
        self._endings = endings
        self._learning = learning
        self._writing = writing
        self._profiles = profiles
        self._telemetry = telemetry
        self._rows = rows
        self._views = views
        self._usage = usage
        self._kept = kept
        self._checkpoints = checkpoints
        self._log = log
        self._requests = requests
        self._writer_locks = writer_locks
        self._recalling = recalling

    async def pack(
        self,
        window_id: UUID,
        *,
        principal: Principal,
        recalls: bool = True,
        known: Prefix = _NOTHING,
        about: RecallRequest | None = None,
    ) -> Pack:
        """Catch up with the log, fold if it must be, and return what the model shall see now.

        Args:
            window_id: Which.
            principal: Who asks.
            recalls: Append what is recalled, if the last step calls for it.
            known: What need not be answered, if it is what the pack begins with.
            about: What else is recalled, once.

        Raises:
            WindowNotFound, WindowClosed: there is no such window, or it is closed.
            WindowBehind: there was no time to read all of the log; what was read stays.
            BudgetTooSmall: the last step does not fit, masked.
            TokensSpent: with this pack the window, or the run that it is a fork of, has more tokens than may be.
            AnswerTooLarge: what fits the model fits no answer.
            PackVetoed: what the operator installed decided so.
            Aborted: others write to the window all the time.
        """
        principal = principal.without_admin()
        key = principal.tenant_id, window_id
        with self._telemetry.refusals():
            async with self._writer_locks.hold(key):  # of another replica one may be faster
                packed = partial(self._packed, window_id, principal, recalls=recalls, known=known, about=about)
                pack = await until_written(packed, what="the window")
        self._telemetry.packed(key, pack.window.epoch, asdict(pack.zones), profile=pack.window.profile)
        return pack

    async def read(self, window_id: UUID, *, principal: Principal) -> Window:
        """Catch up with the log, in the window's turn, and return the window.

        Raises:
            WindowNotFound, WindowClosed: there is no such window, or it is closed.
            WindowBehind: there was no time to read all of the log; what was read stays.
            Moved: another call wrote meanwhile.
        """
        return (await self._caught_up(window_id, principal)).window

    async def fold(self, window_id: UUID, *, principal: Principal, dry_run: bool, reason: str = "requested") -> Receipt:
        """Fold a window now, or say what a fold would do.

        Raises:
            WindowNotFound, WindowClosed: there is no such window, or it is closed.
            WindowBehind: there was no time to read all of the log; what was read stays.
            FoldNoProgress: there is nothing to fold.
            Aborted: others write to the window all the time.
        """
        principal = principal.without_admin()

        async def folded() -> Receipt:
            planned = await self._planned(await self._caught_up(window_id, principal), principal)
            if not planned.fold.changes:
                raise _no_progress()
            return planned.receipt(reason) if dry_run else await self._write(planned, reason, principal)

        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            return await until_written(folded, what="the window")

    async def prepare_fold(
        self, window_id: UUID, *, principal: Principal, expected_epoch: int | None = None
    ) -> tuple[Receipt, int]:
        """Work out a fold and keep it, and return what it does now, and the epoch as long as which it holds.

        Raises:
            WindowNotFound, WindowClosed: there is no such window, or it is closed.
            WindowBehind: there was no time to read all of the log; what was read stays.
            FoldStale: the window has another epoch than was expected.
            FoldNoProgress: there is nothing to fold.
            Aborted: others write to the window all the time.
        """
        principal = principal.without_admin()

        async def kept_fold() -> tuple[_Planned, Prepared]:
            ahead = await self._caught_up(window_id, principal)
            _check_epoch(ahead.window, expected_epoch)
            planned = await self._planned(ahead, principal)
            if not planned.fold.changes:
                raise _no_progress()
            kept = prepared(planned.before, planned.fold, last_seq=ahead.window.reached_seq)
            if not await self._views.prepare(ahead.window, kept, principal=principal):
                raise RowsChanged
            return planned, kept

        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            planned, kept = await until_written(kept_fold, what="the window")
        planned = replace(planned, prepared_seq=kept.last_seq)
        if self._writing:  # in nobody's way: packs go on meanwhile
            planned = await self._written(planned, kept, principal)
        return planned.receipt("prepared"), planned.ahead.window.epoch

    async def _written(self, planned: _Planned, kept: Prepared, principal: Principal) -> _Planned:
        """Return a fold that is prepared, with segments that a model wrote, if it did."""
        assert self._writing
        state_tokens = planned.fold.view.state
        better = await self._writing.written(
            planned.ahead.window, planned.before, kept, state_tokens=state_tokens, principal=principal
        )
        if better is None:
            return planned
        return replace(planned, fold=committed(planned.before, better, state_tokens=state_tokens))

    async def commit_fold(
        self, window_id: UUID, *, principal: Principal, request: Request | None, expected_epoch: int | None = None
    ) -> Receipt:
        """Fold a window as was prepared, with the state as it is now, and return the receipt.

        Raises:
            WindowNotFound, WindowClosed: there is no such window, or it is closed.
            WindowBehind: there was no time to read all of the log; what was read stays.
            FoldNotPrepared: no fold was prepared.
            FoldStale: the window has another epoch than was expected, or than the fold was prepared for.
            RequestIdReused: see the contract.
            Aborted: others write to the window all the time.
        """
        principal = principal.without_admin()

        async def folded() -> Receipt:
            ahead = await self._caught_up(window_id, principal)
            _check_epoch(ahead.window, expected_epoch)
            kept, epoch = await self._views.prepared(ahead.window, principal=principal)
            if epoch is None:
                raise FoldNotPrepared("no fold of the window was prepared")
            if epoch <= ahead.window.epoch:
                _check_epoch(ahead.window, epoch)
            if not kept or epoch > ahead.window.epoch:  # another replica was faster
                raise RowsChanged
            return await self._write_prepared(await self._planned(ahead, principal, kept), principal, request)

        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            return await until_written(folded, what="the window")

    async def _packed(
        self, window_id: UUID, principal: Principal, *, recalls: bool, known: Prefix, about: RecallRequest | None
    ) -> Pack:
        """Return what the model must see now, of a window that has nothing to fold or to tell.

        Raises:
            Moved: this call, or another one, folded the window or wrote to it.
        """
        ahead = await self._caught_up(window_id, principal, packs=True)
        if ahead.window.has_untold and not ahead.waiting:  # results stand right after their calls
            await self._tell(ahead.window, principal)
            raise RowsChanged
        if ahead.tokens > _limits(ahead.window).high:
            planned = await self._planned(ahead, principal)
            ahead = planned.ahead  # as bills have it that came since the last fold
            if planned.fold.changes and ahead.tokens > _limits(ahead.window).high:
                await self._write(planned, "high_mark", principal)
                raise RowsChanged
            if ahead.tokens > ahead.window.counted_limit:
                least = calibrated(ahead.tokens, ahead.window.token_factor)
                raise BudgetTooSmall(
                    f"the last step does not fit, masked: with what stands in front it has {least} tokens",
                    least=least,
                    token_limit=ahead.window.token_limit,
                )
        elif not ahead.waiting and _is_cold(ahead) and ahead.tokens > _half_way(ahead.window):
            planned = await self._planned(ahead, principal)
            if planned.saved_share >= _SAVED_SHARE_MIN:
                await self._write(planned, "cache_cold", principal)
                raise RowsChanged
        if ahead.is_to_be_noted:
            await self._rows.packed(ahead.window, last_seq=ahead.last_seq, principal=principal)
        if recalls and (block := await self._recalled(ahead, principal, about)):
            ahead = replace(ahead, sight=await self._append(ahead, block, principal))
        pack = await beside_the_loop(_HASHING * len(ahead.sight.body), _pack_of, ahead, known)
        if self._middleware and not pack.is_waiting:
            pack = await self._decided(ahead, pack, principal)
        is_counted = pack.window.config.total_tokens_max or pack.window.is_of_run
        return await self._spent(pack, principal) if is_counted else pack

    async def _decided(self, ahead: _Ahead, pack: Pack, principal: Principal) -> Pack:
        """Return a pack as the middleware changes it.

        Raises:
            PackVetoed: the middleware refused it.
            Moved: it has a note after its last step now, or another call has written.
        """
        assert self._middleware
        window = pack.window
        whole = ahead.sight.body.json.decode()
        packed = Packed(window.model, window.goal, whole, pack.zones.all, pack.step_count, pack.last_seq)
        decided = await self._middleware.decided(packed)
        if decided.veto:
            raise PackVetoed(decided.veto)
        behind = takewhile(lambda one: one.kind != STEP, reversed(ahead.sight.parts))
        if decided.note and ahead.sight.parts and not any(one.kind == NOTE for one in behind):
            size = _RENDERING * len(decided.note)
            block = await beside_the_loop(size, _appended, NOTE, window.step_count, decided.note, window)
            if ahead.tokens + block.tokens <= _limits(window).high:
                await self._append(ahead, block, principal)
                raise RowsChanged
        return replace(pack, annotations=decided.annotations)

    async def _spent(self, pack: Pack, principal: Principal) -> Pack:
        """Count the tokens of a pack, and return it: it says when few are left. One that waits asks no model.

        Raises:
            TokensSpent: it goes over what the window may have, or its run.
        """
        window, tokens = pack.window, pack.zones.all
        counted = 0 if pack.is_waiting else tokens

        async def work(transaction: Transaction) -> SpentTokens | None:
            return await self._rows.spend(transaction, window, counted, last_seq=pack.last_seq)

        spent = await self._log.of(principal, window.context_id).transaction(work)
        if spent is None:
            return pack
        if spent.is_over:
            raise TokensSpent(
                f"packs have {spent.tokens} tokens together, this one {tokens}; they may have {spent.tokens_max}",
                spent_tokens=spent.tokens,
                tokens=tokens,
                max_total_tokens=spent.tokens_max,
            )
        next_one = min(2 * tokens, window.token_limit)  # it may have a long result
        wraps_up = spent.tokens >= WRAP_UP_SHARE * spent.tokens_max or spent.tokens + next_one > spent.tokens_max
        return replace(pack, wraps_up=wraps_up)

    async def _caught_up(self, window_id: UUID, principal: Principal, *, packs: bool = False) -> _Ahead:
        """Write the steps that the log has and the window has not, and return the window then.

        Messages are cut, rendered and counted before the window is locked, those of one step or `MESSAGES_AT_ONCE` of a
        transaction. What is far behind folds on the way, so that it never holds more than it shows.

        Args:
            window_id: Which.
            principal: Who asks.
            packs: It is packed then. That is written with the steps, unless a cold cache has a say first: until then
                whoever packs the same log, another replica or a call after a kill, is to see that it is cold.

        Raises:
            WindowNotFound, WindowClosed: it is gone, or closed.
            WindowBehind: the call has no time to read all of it.
            Moved: another call wrote meanwhile.
        """
        reached_first = None
        while True:
            standing = await self._rows.standing(window_id, principal=principal)
            if standing is None:
                raise window_not_found(window_id)
            window, last_seq = standing.window, standing.last_seq
            packed_seq, idle_s = standing.packed_seq, standing.idle_s
            if window.closed_at:
                self._kept.drop((principal.tenant_id, window_id))
                raise WindowClosed("the window is closed", window_id=window_id)
            if standing.retracted_count != window.retracted_count:
                await self._begin_anew(standing, principal)
                continue
            reached_first = window.reached_seq if reached_first is None else reached_first
            if reached_first < window.reached_seq < last_seq and remaining_s() < READING_S_MAX:
                raise WindowBehind(
                    f"it has read {window.reached_seq} of the {last_seq} messages of its log; call again",
                    reached_seq=window.reached_seq,
                    last_seq=last_seq,
                )
            read, is_end = None, True
            if last_seq > window.reached_seq:
                messages = standing.following
                if not messages:
                    messages, is_end = await self._messages(window, last_seq, principal)
                size = sum(map(_size_of, messages))
                profile = await self._profiles.of(window.profile, principal=principal)
                said = await self._extracting.entries(messages) if self._extracting else None
                read = await self._profiles.beside(
                    profile, principal, _RENDERING * size, _read, window, profile, messages, is_end, last_seq, said
                )
                if read.reached_seq != window.reached_seq:
                    is_packed = packs and is_end and not read.waiting and not _is_cold(standing)
                    window = await self._add(window, read, principal, packed_seq=last_seq if is_packed else None)
                    if is_packed:
                        packed_seq, idle_s = last_seq, 0.0
            if not is_end and await self._views.tokens(window, principal=principal) <= _limits(window).high:
                continue
            ahead = _Ahead(
                window=window,
                sight=await self._sight(window, principal),
                waiting=read.waiting if read and is_end else None,
                last_seq=last_seq,
                packed_seq=packed_seq,
                idle_s=idle_s,
            )
            if is_end:
                return ahead
            with suppress(RowsChanged):
                planned = await self._planned(ahead, principal)
                if planned.fold.changes:
                    await self._write(planned, "high_mark", principal)

    async def _sight(self, window: Window, principal: Principal) -> Sight:
        """Return the part of a window that a model sees.

        Raises:
            Moved: the window shows something else meanwhile.
        """
        key = principal.tenant_id, window.window_id
        kept = self._kept.get(key, window)
        if kept and kept.block_count == window.block_count:
            return kept
        shown = await self._views.shown(window, principal=principal, number_from=kept.block_count if kept else 0)
        if shown is None or (shown.epoch, shown.block_count) != (window.epoch, window.block_count):
            raise RowsChanged
        size = sum(len(one.pieces_json) for one in shown.parts)
        if kept:
            sight = await beside_the_loop(_READING * size, kept.with_parts, shown.parts, block_count=shown.block_count)
        else:
            sight = await beside_the_loop(_READING * size, Sight.of, window, _front(window), shown.parts)
        self._kept.put(key, sight)
        return sight

    def _longer(self, sight: Sight, window: Window, blocks: Sequence[NewBlock], principal: Principal) -> Sight:
        """Return a sight with blocks that were just written behind it, and keep it."""
        pairs = [(ViewPart.of(one), one.pieces) for one in blocks]
        longer = sight.with_blocks(pairs, block_count=window.block_count + len(blocks))
        self._kept.put((principal.tenant_id, window.window_id), longer)
        return longer

    async def _messages(self, window: Window, last_seq: int, principal: Principal) -> tuple[list[Message], bool]:
        """Return what follows in the log, one whole step at least, and whether that is all of it up to `last_seq`."""
        messages: list[Message] = []
        seq_from, seq_to = window.left_out.stretch(window.reached_seq + 1, last_seq)
        while seq_from <= seq_to:
            page = await self._log.page(
                window.context_id,
                principal=principal,
                seq_from=seq_from,
                seq_to=seq_to,
                count=MESSAGES_AT_ONCE,
                newest_first=False,
            )
            if page is None:
                raise window_not_found(window.window_id)
            messages += page
            # Of none that is read all up to `seq_to` are retracted.
            seq_from, seq_to = window.left_out.stretch(page[-1].seq + 1 if page else seq_to + 1, last_seq)
            if seq_from <= seq_to and await beside_the_loop(sum(map(_size_of, messages)), _has_whole_step, messages):
                return messages, False
        return messages, True

    async def _add(self, window: Window, read: CaughtUp, principal: Principal, *, packed_seq: int | None) -> Window:
        """Write the steps that were read, and return the window then.

        Raises:
            Moved: another call has written.
        """
        said = [entry for made in read.steps for entry in made.entries]
        held = await self._views.held_of(window, said, principal=principal) if said else []
        size = sum(_MESSAGE_BYTES + sum(len(one.text) for one in made.entries) for made in read.steps)
        blocks, entries = await beside_the_loop(_RENDERING * size, _written, window, read.steps, held)
        door = self._log.of(principal, window.context_id)

        async def add(to: Tenant | Transaction) -> bool:
            return await self._views.add(
                to,
                window,
                blocks,
                entries=entries.new,
                ended=entries.ended,
                reached_seq=read.reached_seq,
                packed_seq=packed_seq,
            )

        async def add_behind_checkpoint(transaction: Transaction) -> bool:
            made = await self._checkpoints.make(transaction, window, reason=BY_STEPS)
            return made is not None and await add(transaction)

        # As the last pack had it, with what was recalled then.
        is_due = bool(blocks) and 0 < window.config.checkpoint_steps <= window.step_count - window.checkpoint_step
        if not await (door.transaction(add_behind_checkpoint) if is_due else add(door)):
            raise RowsChanged
        kept = self._kept.get((principal.tenant_id, window.window_id), window)
        if kept and kept.block_count == window.block_count:
            self._longer(kept, window, blocks, principal)
        return replace(
            window,
            reached_seq=read.reached_seq,
            checkpoint_step=window.step_count if is_due else window.checkpoint_step,
            block_count=window.block_count + len(blocks),
            step_count=window.step_count + len(read.steps),
            entry_count=window.entry_count + len(entries.new),
        )

    async def _append(self, ahead: _Ahead, block: NewBlock, principal: Principal) -> Sight:
        """Append a block after the last step, and return the part of the window that a model sees then.

        Raises:
            Moved: another call has written.
        """
        window = ahead.window
        door = self._log.of(principal, window.context_id)
        if not await self._views.add(door, window, [block], entries=[], ended={}, reached_seq=window.reached_seq):
            raise RowsChanged
        return self._longer(ahead.sight, window, [block], principal)

    async def _tell(self, window: Window, principal: Principal) -> None:
        """Append a note on what callers said of the state, if another call has not."""
        untold = await self._views.untold(window, principal=principal)
        text = note_of_said([one.entry for one in untold])
        note = await beside_the_loop(_RENDERING * len(text), _appended, NOTE, window.step_count, text, window)
        ended = {one.number: 0 for one in untold if is_told_once(one.entry)}

        async def work(transaction: Transaction) -> None:
            if await self._views.add(
                transaction,
                window,
                [note] if text else [],
                entries=[],
                ended=ended,
                reached_seq=window.reached_seq,
                source=BY_CALLER,
            ):
                await self._views.told(transaction, window)

        await self._log.of(principal, window.context_id).transaction(work)

    async def _begin_anew(self, standing: WindowSnapshot, principal: Principal) -> None:
        """Forget what was made of the log behind a message that was retracted: no pack shall have it."""
        window = standing.window

        async def work(transaction: Transaction) -> bool:
            locked = await self._rows.lock(transaction, window.context_id, window.window_id)
            if locked and locked.retracted_count == window.retracted_count:
                pins = [one.entry for one in await self._views.kept_pins(transaction, locked)]
                size = sum(len(one.text) for one in pins)
                front = await beside_the_loop(_RENDERING * size, pinned, pins, locked)
                retracted_count, place = await self._views.retracted(transaction, locked)
                await self._views.begin_anew(
                    transaction,
                    locked,
                    place,
                    retracted_count=retracted_count,
                    pins=front.pieces,
                    tokens=front.tokens,
                )
                await self._endings.forget(transaction, locked, step_to=place.step - 1 if place else 0)
                where = f"behind step {place.step - 1}" if place else "from the start"
                count = retracted_count - locked.retracted_count
                receipt = Receipt(
                    epoch=locked.epoch + 1,
                    reason="retracted",
                    last_seq=standing.last_seq,
                    step=locked.step_count,
                    tokens_before=0,
                    tokens_after=0,
                    account=FoldAccount(rules=[f"begin anew {where}: {count} were retracted"]),
                )
                await self._views.account(transaction, locked, receipt)
                return True
            return False

        if await self._log.of(principal, window.context_id).transaction(work):
            self._telemetry.broke("retracted", profile=window.profile)

    async def _planned(self, ahead: _Ahead, principal: Principal, kept: Prepared | None = None) -> _Planned:
        """Return the fold of what a window shows, by the newest factor.

        Args:
            ahead: What it shows.
            principal: Who asks.
            kept: The fold, if it was prepared.

        Raises:
            Moved: the window shows something else meanwhile.
        """
        factor = await self._usage.factor(ahead.window, principal=principal)
        window = replace(ahead.window, token_factor=factor)
        ahead = replace(ahead, window=window)
        with_units = kept is None or window.config.learning
        blocks = await self._views.blocks(window, principal=principal, with_units=with_units)
        summaries = await self._views.summaries(window, principal=principal)
        held = await self._views.held(window, principal=principal)
        state = await self._views.state_text(window, principal=principal)
        endings = await self._endings.read(window, principal=principal)
        own = await self._scoring.worth(blocks, summaries) if self._scoring and kept is None else {}
        found = await self._found(window, held, kept.entries, principal) if kept and kept.entries else _NO_ENTRIES
        work = (_COMMITTING if kept else _FOLDING) * ahead.tokens
        planned = await beside_the_loop(work, _plan, ahead, blocks, summaries, held, state, endings, own, kept, found)
        waiting = ahead.waiting.tokens if ahead.waiting else 0
        if planned.before.tokens + waiting != ahead.tokens:
            raise RowsChanged
        return planned

    async def _found(
        self, window: Window, held: Sequence[StoredEntry], entries: Sequence[Entry], principal: Principal
    ) -> _Entries:
        """Return what a model found of the state and nobody knew, and what that takes the place of."""
        ended = await self._views.superseded(window, {one.seq for one in entries}, principal=principal)
        known = [one.entry for one in held]
        new = not_known(entries, [*known, *(old for old, _ in ended)])
        now, superseded = after(sorted(known, key=_said_at), new)
        holds = {id(one) for one in now}
        new = [one for one in new if id(one) in holds]  # what was said later of the same stays
        numbers = {id(one.entry): one.number for one in held}
        return _Entries(new, {numbers[id(old)]: by.seq for old, by in superseded if id(old) in numbers})

    async def _write(self, planned: _Planned, reason: str, principal: Principal) -> Receipt:
        """Write a fold, and return its receipt.

        Raises:
            Moved: the window is another one meanwhile.
        """
        window, receipt = planned.ahead.window, planned.receipt(reason)

        async def work(transaction: Transaction) -> None:
            locked = await self._rows.lock(transaction, window.context_id, window.window_id)
            if not _is_same(locked, window):
                raise RowsChanged
            await self._write_fold(transaction, planned, receipt)

        await self._log.of(principal, window.context_id).transaction(work)
        await self._count(planned, reason, principal)
        return receipt

    async def _write_prepared(self, planned: _Planned, principal: Principal, request: Request | None) -> Receipt:
        """Write a fold that was prepared, once for a request, and return its receipt.

        Raises:
            Moved: the window is another one meanwhile.
        """
        window, receipt = planned.ahead.window, planned.receipt("prepared")

        async def work(transaction: Transaction) -> Receipt:
            locked = await self._rows.lock(transaction, window.context_id, window.window_id)
            if locked is None or not _is_same(locked, window):
                raise RowsChanged
            await self._write_fold(transaction, planned, receipt)
            return await self._views.receipt(transaction, locked, receipt.epoch)

        write = self._requests.once(request, work, about_id=window.context_id)
        written = await self._log.of(principal, window.context_id).transaction(write)
        await self._count(planned, receipt.reason, principal)
        return written

    async def _count(self, planned: _Planned, reason: str, principal: Principal) -> None:
        window = planned.ahead.window
        self._telemetry.broke(reason, profile=window.profile)
        size = _COUNTING * (len(planned.before.blocks) + len(planned.before.summaries) + len(planned.fold.worth))
        await beside_the_loop(size, self._telemetry.folded, planned.before, planned.fold)
        await self._learning.folded(window, planned.before, planned.fold, principal=principal)

    async def _write_fold(self, transaction: Transaction, planned: _Planned, receipt: Receipt) -> None:
        """Write a fold of a window that is locked."""
        window, done = planned.ahead.window, planned.fold
        before, now = planned.before.summaries, done.view.summaries
        merged_tokens = sum(one.tokens for one in planned.before.blocks if one.number in done.merged)
        to = window.format
        if window.config.checkpoint_steps:
            await self._checkpoints.make(transaction, window, reason=BY_FOLD)
        if found := planned.found.new:
            await self._views.add(
                transaction,
                window,
                [],
                entries=found,
                ended=planned.found.ended,
                reached_seq=window.reached_seq,
                source=BY_MODEL,
            )
        await self._views.write_fold(
            transaction,
            window,
            masked=sorted(done.masked),
            removed=sorted(done.merged | done.dropped),
            merged=len(done.merged),
            merged_tokens=merged_tokens,
            gone=[one for one in before if one not in now],
            made=[(one, text_pieces(one.text, to)) for one in now if one not in before],
            state=(planned.state, text_pieces(planned.state, to) if planned.state else [], done.view.state),
            receipt=receipt,
        )
        await self._checkpoints.prune(transaction, window)

    async def _recalled(self, ahead: _Ahead, principal: Principal, about: RecallRequest | None) -> NewBlock | None:
        """Return what is recalled behind the last step; None: it calls for nothing, all is in sight, or it was done."""
        window, parts = ahead.window, ahead.sight.parts
        last = parts[-1] if parts else None
        if ahead.waiting or last is None or last.kind not in (STEP, NOTE, RECALLED):
            return None
        is_recalled = any(one.kind == RECALLED for one in takewhile(lambda one: one.kind != STEP, reversed(parts)))
        if is_recalled and not (about and window.block_count == about.block_count):
            return None
        in_sight = list(takewhile(lambda one: not one.level, (one for one in reversed(parts) if one.kind == STEP)))
        if not in_sight or (len(in_sight) == ahead.sight.step_count and not window.first_number):
            return None
        step, role = in_sight[0], ahead.sight.speaker
        if role != "user" and not step.is_error and step.step_to % RECALL_STEPS and not about:
            return None
        messages = await self._log.page(
            window.context_id,
            principal=principal,
            seq_from=step.seq_from,
            seq_to=step.seq_to,
            count=MESSAGES_AT_ONCE,
            newest_first=False,
        )
        read = [one for one in messages or [] if one.seq not in window.left_out]
        text = " ".join(text for one in read for text in texts_of(one.content, one.parts))
        text = (about.text if about else text)[:_RECALL_TEXT_CHARS].strip()
        if about or (role == "user" and "?" in text):
            tokens_max = min(ANSWERING_TOKENS, window.counted_limit // ANSWERING_SHARE)
        else:
            tokens_max = min(RECALLED_TOKENS, window.counted_limit // RECALLED_SHARE)
        room = _limits(window).high - ahead.tokens
        if not text or tokens_max > room:
            return None
        out_of_sight = Filter(seq_to=min(one.seq_from for one in in_sight) - 1, left_out=window.left_out.ranges)
        asked = RecallQuery(text=text, tokens_max=tokens_max, which=out_of_sight)
        recalled = await self._recalling.recall(window.context_id, asked, principal=principal)
        items = list(recalled.items)
        said = recalled.prompt_text if items else ""
        if window.config.prefetch and role == "user" and not about:
            ahead_of_need = await self._prefetched(window, out_of_sight, items, principal)
            said = "\n\n".join(filter(None, [said, ahead_of_need.prompt_text if ahead_of_need.items else ""]))
            items += ahead_of_need.items
        # What it says may hold no longer, and nothing behind it would tell.
        if superseded := await self._views.superseded(window, {one.seq for one in items}, principal=principal):
            said = f"{said}\n\n{note_of(superseded)}"
        refs = [one.ref for one in items]
        block = replace(_appended(RECALLED, step.step_to, said, window), refs=refs)
        return block if block.tokens <= room else None

    async def _prefetched(
        self, window: Window, out_of_sight: Filter, known: Sequence[RecalledItem], principal: Principal
    ) -> Recalled:
        """Return what the things at hand were last used with, beside what is recalled anyway."""
        goals, steps = await self._views.at_hand(window, count=prefetch.STEPS, principal=principal)
        names = await beside_the_loop(sum(map(len, goals)), prefetch.at_hand, goals, steps)
        tokens_max = min(prefetch.TOKENS_MAX, window.counted_limit // prefetch.TOKENS_SHARE)
        others = replace(out_of_sight, left_out=(*out_of_sight.left_out, *((one.seq, one.seq) for one in known)))
        asked = RecallQuery(text=" ".join(names), tokens_max=tokens_max, which=others)
        if not names or not tokens_max:
            return NOTHING_RECALLED
        return await self._recalling.recall(window.context_id, asked, principal=principal)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """A fold that is worked out and not written."""

    ahead: _Ahead
    before: View
    fold: Fold
    state: str
    state_left_out: int
    state_added: Sequence[StateChange]
    state_removed: Sequence[StateChange]
    prepared_seq: int = 0
    found: _Entries = _NO_ENTRIES

    @property
    def saved_share(self) -> float:
        """How much it takes away, of what is seen."""
        return 1 - self.fold.view.tokens / self.before.tokens if self.fold.changes else 0.0

    def receipt(self, reason: str) -> Receipt:
        """Return the account of it."""
        window, now = self.ahead.window, self.fold.view
        removed = self.before.tokens - now.tokens
        zone, kept = _first_change(self.before, now)
        behind = self.before.tokens - kept
        known = set(map(id, self.before.summaries))
        return Receipt(
            epoch=window.epoch + 1,
            reason=reason,
            last_seq=window.reached_seq,
            step=window.step_count,
            tokens_before=self.before.tokens,
            tokens_after=now.tokens,
            account=FoldAccount(
                rules=self.fold.rules,
                masked_steps=sorted(one.step for one in self.before.blocks if one.number in self.fold.masked),
                merged_steps=len(self.fold.merged),
                dropped_blocks=len(self.fold.dropped),
                summaries=[
                    FoldSummary(
                        one.level,
                        one.step_from,
                        one.step_to,
                        one.seq_from,
                        one.seq_to,
                        one.tokens,
                        one.method,
                        one.verdict,
                    )
                    for one in now.summaries
                    if id(one) not in known
                ],
                state_tokens=now.state,
                state_left_out=self.state_left_out,
                state_added=self.state_added,
                state_removed=self.state_removed,
                first_change=zone,
                tokens_kept=kept,
                written_again=max(behind - removed, 0),
                # A prompt that no cache holds is written anew in any case, and then less of it.
                pays_after_steps=0 if reason == "cache_cold" else pays_after(behind, removed, window.config.prices),
                token_factor=window.token_factor,
                prepared_seq=self.prepared_seq,
            ),
        )


def body_of(window: WindowInput, seen: Sequence[Rendered]) -> bytes:
    """Return the body of a request: tools, what stands in front of all, and what is seen."""
    return _front(window).with_pieces(seen).json


def _front(window: WindowInput) -> Body:
    goal = f"# Goal\n\n{window.goal}" if window.goal else ""
    text = "\n\n".join(filter(None, [window.system_prompt, goal]))
    tools = f'"tools":{window.tools_json},' if window.tools_json else ""
    head = pieces(Turn("system", parts=[Part(text=text)]), window.format) if text else []
    return empty(window.format, tools).with_pieces(map(Rendered.of, head))


def _front_tokens(window: Window) -> int:
    return window.head_tokens + window.pins_tokens + window.state_tokens + NOTE_TOKENS


def _limits(window: Window) -> Limits:
    return Limits.of(window.counted_limit, window.config)


def _is_cold(last: WindowSnapshot | _Ahead) -> bool:
    """Say whether no vendor's cache holds a window any more, and something came since: of the same log it stays."""
    ttl_s = last.window.config.cache_ttl_s
    return last.idle_s is not None and 0 < ttl_s < last.idle_s and last.packed_seq < last.last_seq


def _half_way(window: Window) -> int:
    """Return over how many tokens a window folds whose cache is cold: half way between its marks.

    Then a fold costs nothing but detail, and one would come before long. Below it is too early: each rest would be one.
    """
    limits = _limits(window)
    return (limits.low + limits.high) // 2


def _is_same(locked: Window | None, window: Window) -> bool:
    """Say whether a window that is locked is what it was when somebody looked at it."""
    if locked is None or locked.closed_at:
        return False
    names = ("epoch", "block_count", "reached_seq", "retracted_count", "entry_count", "config_json", "token_limit")
    return all(getattr(locked, name) == getattr(window, name) for name in names)


def _appended(kind: str, step: int, text: str, window: Window) -> NewBlock:
    """Return a text of ours that stands behind a step; an empty one shows nothing."""
    made = text_pieces(text, window.format) if text else []
    tokens = tokens_of(made, window.format, TokenCounter(window.tokens_family).count)
    return NewBlock(kind=kind, step=step, seq_from=0, seq_to=0, tokens=tokens, pieces=made)


def _has_whole_step(messages: Sequence[Message]) -> bool:
    return bool(cut(messages, is_end=False).closed)


def _read(
    window: Window,
    profile: Profile,
    messages: Sequence[Message],
    is_end: bool,
    last_seq: int,
    said: Mapping[int, Sequence[Entry]] | None,
) -> CaughtUp:
    return caught_up(
        messages,
        to=window.format,
        profile=profile,
        count=TokenCounter(window.tokens_family).count,
        is_end=is_end,
        last_seq=last_seq,
        room=(window.token_limit - _front_tokens(window)) // 2,
        said=said,
    )


def _written(
    window: Window, steps: Sequence[PreparedStep], held: Sequence[StoredEntry]
) -> tuple[list[NewBlock], _Entries]:
    """Return blocks of steps and of notes on what is superseded, and what becomes of the state."""
    numbers = {id(one.entry): one.number for one in held}
    entries = [one.entry for one in held]
    blocks: list[NewBlock] = []
    new: list[Entry] = []
    ended: dict[int, int] = {}
    for step, made in enumerate(steps, window.step_count + 1):
        block, masked = made.block, made.masked
        blocks.append(
            NewBlock(
                kind=STEP,
                step=step,
                seq_from=block.seq_from,
                seq_to=block.seq_to,
                tokens=block.tokens,
                pieces=block.pieces,
                is_error=made.is_error,
                masked=(masked.pieces, masked.tokens) if masked else None,
                units=made.units,
                names=made.names,
                tools=made.tools,
            )
        )
        before, (entries, superseded) = entries, after(entries, made.entries)
        held_now = {id(one) for one in entries}
        at_once = [old for old, _ in superseded if id(old) not in numbers]  # the step said otherwise itself
        for entry in [*at_once, *entries]:
            if id(entry) not in numbers:
                numbers[id(entry)] = window.entry_count + len(new)
                new.append(entry)
        ended |= {numbers[id(one)]: block.seq_from for one in [*before, *at_once] if id(one) not in held_now}
        if superseded:
            blocks.append(_appended(NOTE, step, note_of(superseded), window))
    return blocks, _Entries(new, ended)


def _plan(
    ahead: _Ahead,
    blocks: Sequence[Any],
    summaries: Sequence[Summary],
    held: Sequence[StoredEntry],
    state_before: str,
    endings: Endings,
    own: Mapping[Unit, float],
    kept: Prepared | None,
    found: _Entries,
) -> _Planned:
    window = ahead.window
    count = TokenCounter(window.tokens_family).count
    limits = _limits(window)

    def cost(text: str) -> int:
        return tokens_of(text_pieces(text, window.format), window.format, count)

    holds = [one.entry for one in held if one.number not in found.ended]
    if found.new or any(one.source == BY_MODEL for one in held):  # of two that differ the later holds
        holds = sorted([*holds, *found.new], key=_said_at)
    state = shown(holds, tokens_max=limits.state, count=count)
    text = f"[State of the work after step {window.step_count}]\n{state.text}" if state.text else ""
    state_tokens = cost(text) if text else 0
    view = View(
        head=window.head_tokens + window.pins_tokens + NOTE_TOKENS,
        summaries=tuple(summaries),
        state=window.state_tokens,
        blocks=tuple(blocks),
    )
    if kept:
        done = committed(view, kept, state_tokens=state_tokens)
    else:
        done = fold(
            view,
            limits,
            state_tokens=state_tokens,
            goal=window.goal,
            count=count,
            cost=cost,
            weights=window.config.weights,
            endings=endings,
            own=own,
            is_close=window.step_count - window.folded_step < CLOSE_STEPS,
            waiting=ahead.waiting.tokens if ahead.waiting else 0,
        )
    added, removed = changes(state_before, text)
    return _Planned(
        ahead=ahead,
        before=view,
        fold=done,
        state=text,
        state_left_out=state.left_out,
        state_added=added,
        state_removed=removed,
        prepared_seq=kept.last_seq if kept else 0,
        found=found,
    )


def _said_at(entry: Entry) -> tuple[int, bool]:
    """Return when something was said: by a caller behind all of the log that there was."""
    return entry.seq, not entry.ref


def _check_epoch(window: Window, expected: int | None) -> None:
    """Refuse what is for another epoch of a window.

    Raises:
        FoldStale: the window has another one.
    """
    if expected is not None and expected != window.epoch:
        raise FoldStale(
            f"the window is at epoch {window.epoch}, and not {expected}: prepare another fold", epoch=window.epoch
        )


def _no_progress() -> FoldNoProgress:
    return FoldNoProgress("there is nothing to fold: what is seen is folded as far as it can be")


def _first_change(before: View, now: View) -> tuple[str, int]:
    """Return in which zone a model's cache of the prompt ends, and how many tokens are in front of that."""
    tokens = before.head
    for old, new in zip(before.summaries, now.summaries, strict=False):
        if old != new:
            return ("digests" if old.level > SEGMENT else "segments"), tokens
        tokens += old.tokens
    return "state", tokens


def _pack_of(ahead: _Ahead, known: Prefix) -> Pack:
    window, sight, waiting = ahead.window, ahead.sight, ahead.waiting
    body, note_tokens = sight.with_waiting(waiting)
    prefix, end = body.prefix, body.end
    size = len(prefix) + len(end)
    if size > PACK_BYTES_MAX:
        raise AnswerTooLarge("the pack does not fit one answer", size_bytes=size, size_bytes_max=PACK_BYTES_MAX)
    offset = known.size_bytes if _is_known(prefix, known) else 0
    # A step that waits and is cut is another one when its results are there.
    is_cut = waiting is not None and waiting.is_cut
    promised = sight.body.prefix if is_cut else prefix
    zones = zones_by(window, sight.tokens)
    zones = replace(
        zones, verbatim=zones.verbatim + (waiting.tokens if waiting else 0), notes=zones.notes + note_tokens
    )
    return Pack(
        window=window,
        messages_json=prefix[offset:] + end,
        offset_bytes=offset,
        prefix_bytes=len(promised),
        prefix_sha=hashlib.sha256(promised).hexdigest(),
        zones=zones,
        step_count=sight.step_count + (1 if waiting else 0),
        fold_eta_steps=_fold_eta(zones, sight.parts, window),
        last_seq=ahead.last_seq,
        is_waiting=waiting is not None,
        breakpoints=_breakpoints(window, sight, zones, sight.body if is_cut else body, waiting, is_cut=is_cut),
        omitted_refs=[refs_between(one.seq_from, one.seq_to) for one in sight.parts if one.kind == SUMMARY],
        recalled_refs=list(dict.fromkeys(ref for one in sight.parts for ref in one.refs)),
    )


def _breakpoints(
    window: Window, sight: Sight, zones: Zones, stays: Body, waiting: Block | None, *, is_cut: bool
) -> list[Breakpoint]:
    """Return where what stands in front ends, and all that stays of a pack until its epoch is another.

    Args:
        window: Of which model.
        sight: Without what waits.
        zones: Of all of the pack.
        stays: All that stays.
        waiting: What waits.
        is_cut: That does not stay.
    """
    front, digests, state = sight.ends
    of_digests = zones.system + zones.pins + zones.digests
    all_of_it = zones.all - (waiting.tokens if waiting and is_cut else 0)
    places = [
        Breakpoint(front, "system", zones.system),
        Breakpoint(digests, "digests", of_digests),
        Breakpoint(state, "state", of_digests + zones.segments + zones.state),
    ]
    if waiting is None and sight.last_pieces > LOOK_BACK_BLOCKS.get(window.format, sight.last_pieces):
        # The pack before ended there: it is farther back than the vendor looks.
        behind = takewhile(lambda one: one.kind != STEP, reversed(sight.parts))
        last = next(one for one in reversed(sight.parts) if one.kind == STEP)
        of_last = last.tokens + sum(one.tokens for one in behind)
        places.append(Breakpoint(sight.last_from, "verbatim", all_of_it - of_last))
    places.append(Breakpoint(stays.pointer, "verbatim", all_of_it))
    return breakpoints(places, least_tokens=model(window.model).cache_tokens_min)


def _is_known(prefix: bytes, known: Prefix) -> bool:
    """Say whether a caller has the first bytes of a prefix, and what is left begins with a character."""
    is_character = prefix[known.size_bytes : known.size_bytes + 1] < b"\x80"
    return (
        0 < known.size_bytes <= len(prefix)
        and is_character
        and hashlib.sha256(prefix[: known.size_bytes]).hexdigest() == known.sha
    )


def _fold_eta(zones: Zones, parts: Sequence[ViewPart], window: Window) -> int:
    """Return after about how many steps like the last ones the high mark is reached."""
    last = [one.tokens for one in islice((one for one in reversed(parts) if one.zone == "verbatim"), 10)]
    mean = sum(last) / len(last) if last else 0
    return int(max(_limits(window).high - zones.all, 0) / mean) if mean else 0


def _size_of(message: Message) -> int:
    return _MESSAGE_BYTES + sum(map(len, texts_of(message.content, message.parts)))
