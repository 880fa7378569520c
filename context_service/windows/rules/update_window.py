"""Changes of a window by callers: the prompt, tools and goal; pins; the state; and the config.

A change of the prompt, the tools, the goal or the pins breaks the prefix of the packs, so the vendor's cache no longer
matches; a receipt records this. Tokens are counted before the window is locked. The change is written only if the
window has not changed meanwhile; otherwise it is computed again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from context_service.contexts.room import Log
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.kernel.tokens import TokenCounter
from context_service.packing.model import BY_CALLER, PIN, FoldAccount, Receipt
from context_service.packing.pure.state.task_state import WHOLE, Entry, render_state
from context_service.packing.pure.steps.blocks import text_pieces, tokens_of
from context_service.windows.model import Window, WindowSnapshot, window_not_found
from context_service.windows.pure import config, refs
from context_service.windows.pure.head import RENDERING, check_head, check_room, count_head
from context_service.windows.pure.patches import ENTRIES_MAX, StateStatement, entries_said, patched
from context_service.windows.pure.pins import PIN_BYTES_MAX, PINS_MAX, render_pins, said_in, speaker_in
from context_service.windows.pure.refs import Ref
from context_service.windows.rules.telemetry import Telemetry
from context_service.windows.store.windows import WindowRows
from contextkeep.errors import (
    Aborted,
    Erased,
    FoldNoProgress,
    InvalidArgument,
    LimitExceeded,
    PinNotFound,
    RefNotFound,
    WindowBehind,
    WindowClosed,
)
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_long_text, check_size
from service_runtime.values.ids import new_id

if TYPE_CHECKING:
    from context_service.folding.room import Folding
    from context_service.packing.room import ViewRows
    from context_service.usage.room import UsageRows

_COMPARING = 100  # bytes of parsing that comparing two entries costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The changed fields of a window; None leaves a field as it is.

    Attributes:
        config: The changed fields of the config: see `config.updated`.
        token_budget: The share of the model's context that a request may use; 0 resets it to its default.
        output_reservation: The tokens that are reserved for the answer; 0 resets them to their default.
    """

    system_prompt: str | None = None
    tools_json: str | None = None
    goal: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    token_budget: float | None = None
    output_reservation: int | None = None


class _Room(NamedTuple):
    """The numbers that decide, together with the window's limit, whether a change fits."""

    token_factor: float  # the factor between counted and billed tokens that the next fold will use
    state_tokens: int  # the tokens of the part of the state that each pack must show


# Writes a change of a locked window. Its result is the answer, which is stored for repeated requests.
_Write = Callable[[Transaction, Window], Awaitable[Any]]


class Editing:
    """Changes windows; each call acts for its principal.

    Args:
        rows: The store of windows.
        views: The store of the windows' shown parts and state.
        log: The contexts, whose messages the windows read.
        requests: The store of idempotency keys and their answers.
        writer_locks: Lets one writer of a window run at a time in this process.
        folding: Folds a window after a new goal.
        usage: The bills, which calibrate the counted tokens.
        nesting_max: The deepest nesting that the JSON of a window's tools may have.
        telemetry: Counts breaks of prefixes and refused changes.
        models: The names of the configured models that write segments.
    """

    def __init__(
        self,
        rows: WindowRows,
        views: ViewRows,
        *,
        log: Log,
        requests: Requests,
        writer_locks: KeyedLocks,
        folding: Folding,
        usage: UsageRows,
        nesting_max: int,
        telemetry: Telemetry,
        models: Sequence[str] = (),
    ) -> None:
        self._models = models
        self._telemetry = telemetry
        self._rows = rows
        self._views = views
        self._log = log
        self._requests = requests
        self._writer_locks = writer_locks
        self._folding = folding
        self._usage = usage
        self._nesting_max = nesting_max

    async def update(self, window_id: UUID, change: Change, *, principal: Principal, request: Request | None) -> Window:
        """Change the prompt, the tools, the goal or the config, and return the window. Equal values change nothing.

        After a new goal the window folds at once if there is something to fold, because other lines are important for
        the new goal. The answer is the window before that fold, so that a repeated call gets the same answer. A new
        config applies from the next pack on.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            BudgetTooSmall: the change does not fit together with the pins and the required part of the state.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
            Aborted: other calls changed the same rows at the same time, and no attempt succeeded.
        """
        is_new_goal = breaks = False
        settings = {**change.config, **config.budget_of(change.token_budget, change.output_reservation)}

        async def prepare(snapshot: WindowSnapshot) -> _Write:
            """Check the change against a snapshot of the window; return the function that writes it under the lock."""
            nonlocal breaks
            window = snapshot.window
            head = {name: value for name in _HEAD if (value := getattr(change, name)) is not None}
            changed_names = [name for name, value in head.items() if value != getattr(window, name)]
            breaks = bool(changed_names)
            new_window = _configure(replace(window, **head), settings)
            if new_window == window:
                return _nothing
            config.check_model(new_window.config, self._models)
            if changed_names:
                size = len(new_window.system_prompt + new_window.tools_json + new_window.goal)
                new_window = await beside_the_loop(RENDERING * size, self._count_head, new_window)
            if new_window.head_tokens > window.head_tokens or new_window.token_limit < window.token_limit:
                room = await self._room(window, principal)
                check_room(replace(new_window, token_factor=room.token_factor), state_tokens=room.state_tokens)

            async def write(transaction: Transaction, locked: Window) -> Window:
                nonlocal is_new_goal
                is_new_goal = "goal" in changed_names
                # A change of the config does not change the epoch, so it must be compared by itself.
                if locked.config_json != window.config_json:
                    raise RowsChanged
                await self._rows.configure(transaction, new_window)
                if changed_names:
                    await self._views.change_head(transaction, new_window)
                    rules = [f"{_HEAD[name]} is another one" for name in changed_names]
                    await self._account(
                        transaction, locked, "updated", new_window.head_tokens - locked.head_tokens, rules
                    )
                updated = await self._rows.lock(transaction, locked.context_id, window_id)
                if updated is None:
                    raise window_not_found(window_id)
                return updated

            return write

        principal = principal.without_admin()
        updated: Window = await self._edit(
            window_id,
            prepare,
            principal=principal,
            request=request,
            reason=lambda: "updated" if breaks else "",
        )
        if is_new_goal:
            with suppress(FoldNoProgress, WindowBehind, Aborted):  # the goal is set; a later pack folds if it must
                await self._folding.fold(window_id, principal=principal, dry_run=False, reason="goal")
        return updated

    async def pin(
        self, window_id: UUID, text: str, ref: str, *, principal: Principal, request: Request | None
    ) -> tuple[UUID, int]:
        """Pin a text, or the text that a ref names; return the id of the pin and the tokens of all pins.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            RefNotFound: the context has nothing with this ref.
            Erased: the message of the ref was retracted.
            BudgetTooSmall: the pin does not fit together with the head and the other pins.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
            Aborted: other calls changed the same rows at the same time, and no attempt succeeded.
        """
        if bool(text.strip()) == bool(ref):
            raise InvalidArgument("give either text or ref", field="text")
        target = refs.parse_ref(ref) if ref else None
        is_part = target and target.seq == target.last_seq and target.passage is None and target.file is None
        if ref and not is_part:
            raise InvalidArgument("ref must be like m37 or m37/2", field="ref")
        check_long_text("text", text, size_bytes_max=PIN_BYTES_MAX)
        pin_id = new_id()

        async def prepare(snapshot: WindowSnapshot) -> _Write:
            """Read the text of the pin and the room for it; return the function that writes the pin under the lock."""
            pin_text, speaker = await self._text_of(snapshot, target, ref, principal) if target else (text, "")
            room = await self._room(snapshot.window, principal)
            seq = target.seq if target else 0
            new = Entry(section=PIN, key=str(pin_id), text=pin_text, value="", ref=ref, seq=seq, speaker=speaker)

            async def write(transaction: Transaction, locked: Window) -> Mapping[str, Any]:
                """Write the pin, and the rendered pins with it; refuse it if the window has too many pins."""
                pins = [stored_entry.entry for stored_entry in await self._views.entries_in(transaction, locked, [PIN])]
                if len(pins) >= PINS_MAX:
                    raise LimitExceeded(
                        f"the window has {len(pins)} pins; the limit is {PINS_MAX}: remove one",
                        limit="pins",
                        limit_max=PINS_MAX,
                        value=len(pins) + 1,
                    )
                await self._views.add(
                    transaction,
                    locked,
                    [],
                    entries=[new],
                    ended={},
                    reached_seq=locked.reached_seq,
                    source=BY_CALLER,
                )
                tokens = await self._write_pins(transaction, locked, [*pins, new], "pinned", room)
                return {"pin_id": str(pin_id), "pins_tokens": tokens}

            return write

        principal = principal.without_admin()
        result = await self._edit(window_id, prepare, principal=principal, request=request, reason=lambda: "pinned")
        return UUID(result["pin_id"]), result["pins_tokens"]

    async def unpin(self, window_id: UUID, pin_id: UUID, *, principal: Principal, request: Request | None) -> int:
        """Remove a pin, and return the tokens of the remaining pins.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            PinNotFound: the window has no pin with this id.
            RequestIdReused: the request id was used before, for another request.
            Aborted: other calls changed the same rows at the same time, and no attempt succeeded.
        """

        async def prepare(snapshot: WindowSnapshot) -> _Write:
            async def write(transaction: Transaction, locked: Window) -> Mapping[str, Any]:
                pins = await self._views.entries_in(transaction, locked, [PIN])
                removed_numbers = [pin.number for pin in pins if pin.entry.key == str(pin_id)]
                if not removed_numbers:
                    raise PinNotFound(f"the window has no pin {pin_id}", pin_id=pin_id)
                await self._views.end(transaction, locked, removed_numbers)
                other_pins = [pin.entry for pin in pins if pin.number not in removed_numbers]
                return {"pins_tokens": await self._write_pins(transaction, locked, other_pins, "unpinned")}

            return write

        principal = principal.without_admin()
        result = await self._edit(window_id, prepare, principal=principal, request=request, reason=lambda: "unpinned")
        tokens: int = result["pins_tokens"]
        return tokens

    async def patch_state(
        self,
        window_id: UUID,
        statements: Sequence[StateStatement],
        removals: Sequence[StateStatement],
        *,
        principal: Principal,
        request: Request | None,
    ) -> int:
        """Set and remove entries of the state, and return how many entries changed.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            BudgetTooSmall: the part of the state that each pack must have does not fit with the new entries.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
            Aborted: other calls changed the same rows at the same time, and no attempt succeeded.
        """
        entries_said(statements, removals, last_seq=0)  # refuse a malformed request before anything is read

        async def prepare(snapshot: WindowSnapshot) -> _Write:
            """Compare the patch with the current entries; return the function that writes the changes."""
            window = snapshot.window
            entries, removed_entries = entries_said(statements, removals, last_seq=snapshot.last_seq)
            stored_entries = await self._views.entries_at(
                window,
                [*entries, *removed_entries],
                principal=principal,
                without_key={pin.section for pin in removed_entries if not pin.key},
            )
            work = len(stored_entries) * (len(entries) + len(removed_entries)) * _COMPARING
            patch = await beside_the_loop(work, patched, stored_entries, entries, removed_entries)
            if not (patch.entries or patch.ended):
                return _nothing_patched
            if any(entry.section in WHOLE for entry in patch.entries):
                stored_entries = await self._views.entries(window, principal=principal)
                now = [
                    stored_entry.entry for stored_entry in stored_entries if stored_entry.number not in patch.ended
                ] + list(patch.entries)
                needed = await beside_the_loop(_size_of(now), _tokens_needed, window, now)
                factor = await self._usage.factor(window, principal=principal)
                check_room(replace(window, token_factor=factor), state_tokens=needed)

            async def write(transaction: Transaction, locked: Window) -> Mapping[str, Any]:
                """Write the changed entries, and note that the model must be told; refuse too many of them."""
                count = await self._views.count_said(transaction, locked) + len(patch.entries)
                if count > ENTRIES_MAX:
                    raise LimitExceeded(
                        f"the window would hold {count} entries of callers; the limit is {ENTRIES_MAX}: remove some",
                        limit="entries",
                        limit_max=ENTRIES_MAX,
                        value=count,
                    )
                if not await self._views.add(
                    transaction,
                    window,
                    [],
                    entries=patch.entries,
                    ended=patch.ended,
                    reached_seq=window.reached_seq,
                    source=BY_CALLER,
                ):
                    raise RowsChanged
                await self._views.tell_later(transaction, locked)
                return {"changed_count": len(patch.entries)}

            return write

        principal = principal.without_admin()
        result = await self._edit(window_id, prepare, principal=principal, request=request)
        count: int = result["changed_count"]
        return count

    async def _edit(
        self,
        window_id: UUID,
        prepare: Callable[[WindowSnapshot], Awaitable[_Write]],
        *,
        principal: Principal,
        request: Request | None,
        reason: Callable[[], str] = str,
    ) -> Any:
        """Change a window, and return the answer of the change. A repeated request gets the first answer.

        Args:
            window_id: The window to change.
            prepare: Computes the change from a snapshot of the window before it is locked, and returns the function
                that writes the change.
            principal: The caller; it must be allowed to see the window.
            request: The idempotency key of the call; None if the caller gave none.
            reason: Returns why the written change broke the prefix; empty if it did not.
        """

        async def edited() -> Any:
            snapshot = await self._snapshot(window_id, principal)
            if snapshot.window.closed_at:
                raise WindowClosed("the window is closed", window_id=window_id)
            with self._telemetry.refusals():
                write = await prepare(snapshot)
                result = await self._write(snapshot.window, write, principal=principal, request=request)
            if broke := reason():
                self._telemetry.count_break(broke, profile=snapshot.window.profile)
            return result

        async with self._writer_locks.hold((principal.tenant_id, window_id)):
            return await until_written(edited, what="the window")

    async def _write(self, window: Window, write: _Write, *, principal: Principal, request: Request | None) -> Any:
        """Write a change under the lock of its window, and return the change's answer.

        Raises:
            RowsChanged: the window was changed or closed meanwhile.
        """

        async def work(transaction: Transaction) -> Any:
            locked = await self._rows.lock(transaction, window.context_id, window.window_id)
            if locked is None:
                raise window_not_found(window.window_id)
            if locked.epoch != window.epoch or locked.closed_at:
                raise RowsChanged
            return await write(transaction, locked)

        once = self._requests.once(request, work, about_id=window.context_id)
        return await self._log.of(principal, window.context_id).transaction(once)

    async def _snapshot(self, window_id: UUID, principal: Principal) -> WindowSnapshot:
        """Return a snapshot of a window.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
        """
        snapshot = await self._rows.snapshot(window_id, principal=principal)
        if snapshot is None:
            raise window_not_found(window_id)
        return snapshot

    def _count_head(self, new_window: Window) -> Window:
        """Check the head of a changed window, and return the window with the counted tokens of the head."""
        check_head(new_window, nesting_max=self._nesting_max)
        return count_head(new_window)

    async def _room(self, window: Window, principal: Principal) -> _Room:
        """Return the numbers that decide whether a change fits: those that the next fold would use."""
        stored_entries = [stored_entry.entry for stored_entry in await self._views.entries(window, principal=principal)]
        tokens = await beside_the_loop(_size_of(stored_entries), _tokens_needed, window, stored_entries)
        return _Room(await self._usage.factor(window, principal=principal), tokens)

    async def _text_of(self, snapshot: WindowSnapshot, target: Ref, ref: str, principal: Principal) -> tuple[str, str]:
        """Return the text that a ref names, and its speaker.

        The pin keeps the ref, so that the next pack removes the pin if the message is retracted later.
        """
        if not 0 < target.seq <= snapshot.last_seq:
            raise _no_ref(ref)
        messages = await self._log.page(
            snapshot.window.context_id,
            principal=principal,
            seq_from=target.seq,
            seq_to=target.seq,
            count=1,
            newest_first=False,
        )
        if not messages:
            raise Erased("the message that ref names was retracted", ref=ref)
        spoken_texts = said_in(messages[0], target.part)
        if spoken_texts is None:
            raise _no_ref(ref)
        if not spoken_texts:
            raise InvalidArgument("the message that ref names has no text", field="ref")
        check_size("ref", spoken_texts, size_bytes_max=PIN_BYTES_MAX)
        return spoken_texts, speaker_in(messages[0], target.part)

    async def _write_pins(
        self, transaction: Transaction, locked: Window, pins: list[Entry], reason: str, room: _Room | None = None
    ) -> int:
        """Write the pins of a locked window, and return their tokens.

        The pins must fit into `room`; without `room`, the caller has checked that they fit.
        """
        size = sum(len(pin.text) for pin in pins)
        front = await beside_the_loop(RENDERING * size, render_pins, pins, locked)
        if room:
            new_window = replace(locked, pins_tokens=front.tokens, token_factor=room.token_factor)
            check_room(new_window, state_tokens=room.state_tokens)
        await self._views.change_pins(transaction, locked, front.pieces, front.tokens)
        rules = [f"{len(pins)} texts are pinned"]
        await self._account(transaction, locked, reason, front.tokens - locked.pins_tokens, rules)
        return front.tokens

    async def _account(
        self, transaction: Transaction, locked: Window, reason: str, more_tokens: int, rules: list[str]
    ) -> None:
        """Write the receipt of a changed head. The vendor's cache must then write the whole pack again."""
        zone_tokens = await self._views.tokens_in(transaction, locked)
        before = locked.head_tokens + locked.pins_tokens + locked.state_tokens + zone_tokens
        kept_tokens = locked.head_tokens if reason in ("pinned", "unpinned") else 0
        receipt = Receipt(
            epoch=locked.epoch + 1,
            reason=reason,
            last_seq=locked.reached_seq,
            step=locked.step_count,
            tokens_before=before,
            tokens_after=before + more_tokens,
            account=FoldAccount(
                rules=rules,
                state_tokens=locked.state_tokens,
                first_change="pins" if kept_tokens else "system",
                tokens_kept=kept_tokens,
                written_again=before + more_tokens - kept_tokens,
            ),
        )
        await self._views.account(transaction, locked, receipt)


_HEAD = {"system_prompt": "the system prompt", "tools_json": "the list of tools", "goal": "the goal"}


async def _nothing(transaction: Transaction, locked: Window) -> Window:
    """Write nothing, because the request changes nothing, and return the window."""
    return locked


async def _nothing_patched(transaction: Transaction, locked: Window) -> Mapping[str, Any]:
    """Write nothing, because the patch changes no entry, and return the answer."""
    return {"changed_count": 0}


def _configure(window: Window, settings: Mapping[str, Any]) -> Window:
    """Return a window with changes of its config.

    Raises:
        InvalidArgument: a number is out of range, or two contradict each other.
    """
    fields = config.updated(window.config_json, settings)
    limit = config.limit_of(window.context_tokens, config.config_of(fields)) if settings else window.token_limit
    return replace(window, config_json=config.config_json(fields), token_limit=limit)


def _size_of(entries: Sequence[Entry]) -> int:
    """Return the cost of counting the tokens of entries, in bytes of JSON parsing, as `beside_the_loop` takes it."""
    return RENDERING * sum(len(entry.text) for entry in entries)


def _tokens_needed(window: Window, entries: Sequence[Entry]) -> int:
    """Return the tokens of the part of the state that each pack must have."""
    state = render_state([entry for entry in entries if entry.section in WHOLE], tokens_max=0, count=len)
    pieces = text_pieces(state.text, window.format)
    return tokens_of(pieces, window.format, TokenCounter(window.tokens_family).count)


def _no_ref(ref: str) -> RefNotFound:
    return RefNotFound("the context has no message with this ref", ref=ref)
