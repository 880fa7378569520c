"""TraceMessage: find where packs show messages, which break of the prefix put them there, and when a text left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from context_service.contexts.model import Message
from context_service.contexts.room import Log
from context_service.folding.pure.summaries import SEGMENT
from context_service.kernel.files.models import media_model
from context_service.kernel.tokens import TokenCounter
from context_service.packing.model import LAST_WORDS
from context_service.packing.pure.costs import RENDERING, size_of
from context_service.packing.pure.steps.catch_up import caught_up
from context_service.profiles.pure.profiles import Profile
from context_service.windows.model import Window, window_not_found
from context_service.windows.pure import refs, traces
from context_service.windows.pure.pieces import pieces_json
from context_service.windows.pure.refs import Ref
from context_service.windows.pure.traces import BlockForm, Form, ShownEntry, ShownLine, SummaryForm
from context_service.windows.store.traces import BreakRow, TraceRows
from context_service.windows.store.windows import WindowRows
from contextkeep.errors import Erased, InvalidArgument, RefNotFound
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_text

if TYPE_CHECKING:
    from context_service.packing.room import ViewRows
    from context_service.profiles.room import OwnProfiles

MESSAGES_MAX = 200  # the most messages of an answer
TEXT_CHARS_MAX = 2_000
_COMPARING = 8  # times the cost of parsing: each text is compared with each form
_SEGMENT_MESSAGES_MAX = 500  # the most messages that are read to render the cleared form of an old step again


class TracedBreak(NamedTuple):
    """A break of the prefix that changed where a message is."""

    epoch: int
    reason: str
    rule: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedMessage:
    """Where a message is now: see the proto."""

    ref: str
    place: str
    step_from: int = 0
    step_to: int = 0
    since: TracedBreak | None = None
    is_whole: bool = False
    lines: Sequence[ShownLine] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedSentence:
    """When packs showed a text last: see the proto."""

    ref: str
    is_shown: bool
    last_epoch: int
    removed_by: TracedBreak | None
    is_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTrace:
    """Where the messages of a ref are."""

    messages: Sequence[TracedMessage]
    sentence: TracedSentence | None
    next_ref: str
    epoch: int


class _Views(NamedTuple):
    """The stored parts that show messages, or showed them."""

    blocks: list[BlockForm]
    summaries: list[SummaryForm]
    entries: list[ShownEntry]
    state_text: str


class _Traced(NamedTuple):
    """A message with its forms, and the lines that the current pack shows."""

    message: Message
    forms: list[Form]
    place: Form | None
    lines: list[ShownLine]
    is_whole: bool


class _Last(NamedTuple):
    """The last time that packs showed a text of a message."""

    traced: _Traced
    epoch_to: int | None  # the first epoch whose packs do not show the text; None if the current pack shows it
    is_exact: bool


class Tracing:
    """Traces messages; each call acts for its principal.

    Args:
        rows: The store of windows.
        views: The store of the windows' state.
        traces: The store of the forms of messages.
        log: The contexts, which hold the messages.
        profiles: The compression profiles of windows, to make a cleared form again.
    """

    def __init__(
        self, rows: WindowRows, views: ViewRows, trace_rows: TraceRows, *, log: Log, profiles: OwnProfiles
    ) -> None:
        self._rows = rows
        self._views = views
        self._traces = trace_rows
        self._log = log
        self._profiles = profiles

    async def trace(self, window_id: UUID, ref: str, text: str, *, principal: Principal) -> MessageTrace:
        """Return where the messages of a ref are, and when packs showed a text of them last.

        Raises:
            WindowNotFound: the window does not exist.
            InvalidArgument: `ref` is not a ref of messages.
            LimitExceeded: the text is too long.
            RefNotFound: the context has no such message.
            Erased: all messages of the ref were retracted.
        """
        principal = principal.without_admin()
        check_text("text", text, chars_max=TEXT_CHARS_MAX)
        target = refs.parse_ref(ref)
        if target is None or target.seq < 0:
            raise InvalidArgument("ref must be like m37, m37/2 or m37..m58, a message of this context", field="ref")
        window = await self._rows.find(window_id, principal=principal)
        messages = await self._messages(window, target, ref, principal)
        views = await self._read(window, messages, principal)
        size = _size_of(messages, views)
        traced = await beside_the_loop(
            _COMPARING * size, _trace_messages, messages, target, traces.folded_text(text), views
        )
        last = None
        if text:
            traced = [await self._with_earlier_forms(window, item, views, principal) for item in traced]
            last = await beside_the_loop(_COMPARING * size, _last_of, traced, traces.folded_text(text))
        breaks = await self._breaks(window, traced, last, principal)
        next_ref = ""
        if messages[-1].seq < target.last_seq and len(messages) == MESSAGES_MAX:
            next_ref = refs.refs_between(messages[-1].seq + 1, target.last_seq)
        return MessageTrace(
            messages=[_message(window, item, breaks) for item in traced],
            sentence=_sentence(window, last, breaks) if last else None,
            next_ref=next_ref,
            epoch=window.epoch,
        )

    async def _messages(self, window: Window, target: Ref, ref: str, principal: Principal) -> list[Message]:
        """Return the messages of a ref, without retracted ones.

        Raises:
            RefNotFound: the context has no such message.
            Erased: all messages of the ref were retracted.
        """
        context = await self._log.read(window.context_id, principal=principal)
        if context is None:
            raise window_not_found(window.window_id)
        if not target.seq <= target.last_seq <= context.last_seq:
            raise RefNotFound("the context has no message with this ref", ref=ref)
        messages = await self._log.page(
            window.context_id,
            principal=principal,
            seq_from=target.seq,
            seq_to=target.last_seq,
            count=MESSAGES_MAX,
            newest_first=False,
        )
        if not messages:
            raise Erased("the messages that ref names were retracted", ref=ref)
        if target.part is not None and target.part > len(messages[0].parts):
            raise RefNotFound("the message has no such part", ref=ref)
        return messages

    async def _read(self, window: Window, messages: Sequence[Message], principal: Principal) -> _Views:
        """Read all stored parts that are about some messages."""
        seqs = messages[0].seq, messages[-1].seq
        return _Views(
            blocks=await self._traces.blocks(window, seqs, principal=principal),
            summaries=await self._traces.summaries(window, seqs, principal=principal),
            entries=await self._traces.entries(window, seqs, principal=principal),
            state_text=await self._views.state_text(window, principal=principal),
        )

    async def _with_earlier_forms(
        self, window: Window, traced: _Traced, views: _Views, principal: Principal
    ) -> _Traced:
        """Return a message with the forms that it had before it became part of a segment.

        If the rows of these forms are gone, the forms are rendered again from the log.
        """
        if any(form.place == traces.VERBATIM for form in traced.forms):
            return traced
        seq = traced.message.seq
        over = [row for row in views.summaries if row.level == SEGMENT and row.seq_from <= seq <= row.seq_to]
        if not over:
            return traced
        segment = max(over, key=lambda row: row.seq_from)
        step, cleared = await self._cleared_form(window, segment, seq, principal)
        cleared_in = None
        if step:
            cleared_in = await self._traces.masked_in(
                window, step, before_epoch=segment.epoch_from, principal=principal
            )
        form = Form(
            place=traces.VERBATIM,
            step_from=step,
            step_to=step,
            epoch_from=0,
            epoch_to=cleared_in or segment.epoch_from,
            text="" if step else None,  # None if the form is no longer known
        )
        earlier = [form]
        if cleared_in:
            as_cleared = replace(form, place=traces.CLEARED, epoch_from=cleared_in, epoch_to=segment.epoch_from)
            earlier.append(replace(as_cleared, text=cleared))
        return traced._replace(forms=[*earlier, *traced.forms])

    async def _cleared_form(
        self, window: Window, segment: SummaryForm, seq: int, principal: Principal
    ) -> tuple[int, str | None]:
        """Return the number of a message's step in a segment, and the texts of its cleared form.

        The number is 0 if it cannot be found, because the log no longer has all messages of the segment's steps.
        """
        page = await self._log.page(
            window.context_id,
            principal=principal,
            seq_from=segment.seq_from,
            seq_to=segment.seq_to,
            count=_SEGMENT_MESSAGES_MAX,
            newest_first=False,
        )
        messages = [message for message in page or () if message.seq not in window.left_out]
        profile = await self._profiles.of(window.profile, principal=principal)
        return await self._profiles.beside(
            profile, principal, RENDERING * size_of(messages), _cleared_of, window, profile, messages, segment, seq
        )

    async def _breaks(
        self, window: Window, traced: Sequence[_Traced], last: _Last | None, principal: Principal
    ) -> dict[int, BreakRow]:
        """Return the breaks that the answer names, by epoch."""
        epochs = {item.place.epoch_from for item in traced if item.place}
        if last and last.epoch_to:
            epochs.add(last.epoch_to)
        are_left_out = any(item.message.seq in window.left_out for item in traced)
        rows = await self._traces.breaks(window, epochs, with_rollbacks=are_left_out, principal=principal)
        return {row.epoch: row for row in rows}


def _size_of(messages: Sequence[Message], views: _Views) -> int:
    """Return the size of the texts that a trace compares, in bytes."""
    return (
        size_of(messages)
        + sum(len(block.pieces) + len(block.masked) for block in views.blocks)
        + sum(len(summary.text) for summary in views.summaries)
        + len(views.state_text)
    )


def _trace_messages(messages: Sequence[Message], target: Ref, text: str, views: _Views) -> list[_Traced]:
    """Return the messages that contain a text, with their forms. If the text is empty, all messages are returned."""
    traces_found = []
    for message in messages:
        originals = traces.originals_of(message, target.part)
        if text and not any(text in traces.folded_text(original.text) for original in originals):
            continue
        forms = traces.forms_of(message.seq, views.blocks, views.summaries)
        place, lines, is_whole = traces.place_of(forms), [], False
        if place and place.place == traces.VERBATIM:
            is_whole = True
        else:
            for form in forms:
                if form.epoch_to is None:
                    lines_shown, has_all = traces.shown_lines(originals, form)
                    lines += lines_shown
                    is_whole |= has_all and (form is place or form.place == LAST_WORDS)
            own = [entry for entry in views.entries if entry.seq == message.seq]
            lines += traces.entry_lines(own, views.state_text)
        traces_found.append(_Traced(message, forms, place, lines[: traces.LINES_MAX], is_whole))
    return traces_found


def _cleared_of(
    window: Window, profile: Profile, messages: Sequence[Message], segment: SummaryForm, seq: int
) -> tuple[int, str | None]:
    """Return the number of a step in a segment, and its cleared form, made again from the messages."""
    count = TokenCounter(window.tokens_family).count
    caught = caught_up(
        messages,
        to=window.format,
        profile=profile,
        count=count,
        is_end=True,
        last_seq=segment.seq_to,
        media=media_model(window.model, window.format),
    )
    if len(caught.steps) != segment.step_to - segment.step_from + 1:
        return 0, None
    around = [at for at, step in enumerate(caught.steps) if step.block.seq_from <= seq <= step.block.seq_to]
    if not around:
        return 0, None
    at = max(around, key=lambda at: caught.steps[at].block.seq_from)
    mask = caught.steps[at].mask
    return segment.step_from + at, traces.texts_in(pieces_json(mask.pieces)) if mask else None


def _last_of(traced: Sequence[_Traced], text: str) -> _Last | None:
    """Return the message whose text packs showed last; None if no message has the text."""
    last_form = None
    for item in traced:
        last = _last_shown(item, text)
        if last_form is None or _later(last, last_form):
            last_form = last
    return last_form


def _later(last: _Last, other: _Last) -> bool:
    """Return whether packs showed the first text longer than the second one."""
    return other.epoch_to is not None and (last.epoch_to is None or last.epoch_to > other.epoch_to)


def _last_shown(traced: _Traced, text: str) -> _Last:
    """Return when packs showed a text of a message last; epoch 0 if no pack did."""
    if any(text in traces.folded_text(line.text) for line in traced.lines):
        return _Last(traced, None, True)
    ends: list[int] = []
    unknown: list[int] = []
    for form in traced.forms:
        if form.place == traces.VERBATIM or text in traces.folded_text(form.text or ""):
            if form.epoch_to is None:
                return _Last(traced, None, True)
            (unknown if form.text is None else ends).append(form.epoch_to)
        elif form.text is None and form.epoch_to is not None:
            unknown.append(form.epoch_to)
    end = max([*ends, *unknown], default=0)
    return _Last(traced, end, not unknown or end > max(unknown))


def _message(window: Window, traced: _Traced, breaks: dict[int, BreakRow]) -> TracedMessage:
    """Return where a message is."""
    seq = traced.message.seq
    ref = refs.refs_between(seq, seq)
    if traced.place is None:
        if seq in window.left_out:
            return TracedMessage(ref=ref, place=traces.LEFT_OUT, since=_rollback_of(seq, breaks.values()))
        return TracedMessage(ref=ref, place=traces.UNREAD if seq > window.reached_seq else traces.LEFT_OUT)
    place = traced.place
    row = breaks.get(place.epoch_from)
    return TracedMessage(
        ref=ref,
        place=place.place,
        step_from=place.step_from,
        step_to=place.step_to,
        since=_break_of(row, place) if row else None,
        is_whole=traced.is_whole,
        lines=traced.lines,
    )


def _sentence(window: Window, last: _Last, breaks: dict[int, BreakRow]) -> TracedSentence:
    """Return when packs showed a text last."""
    seq, end = last.traced.message.seq, last.epoch_to
    ref = refs.refs_between(seq, seq)
    if end is None:
        return TracedSentence(ref=ref, is_shown=True, last_epoch=window.epoch, removed_by=None, is_exact=True)
    if not end:  # no known form of the message shows the text
        rollback = _rollback_of(seq, breaks.values())
        last_epoch = rollback.epoch - 1 if rollback else -1
        is_exact = seq > window.reached_seq
        return TracedSentence(ref=ref, is_shown=False, last_epoch=last_epoch, removed_by=rollback, is_exact=is_exact)
    row = breaks.get(end)
    following = next((form for form in last.traced.forms if form.epoch_from == end), None)
    removed_by = TracedBreak(row.epoch, row.reason, "", row.created_at) if row else None
    if row and following:
        removed_by = _break_of(row, following)
    return TracedSentence(ref=ref, is_shown=False, last_epoch=end - 1, removed_by=removed_by, is_exact=last.is_exact)


def _break_of(row: BreakRow, form: Form) -> TracedBreak:
    return TracedBreak(row.epoch, row.reason, traces.rule_of(row.rules, form), row.created_at)


def _rollback_of(seq: int, breaks: Iterable[BreakRow]) -> TracedBreak | None:
    """Return the rollback that left a message out, or None."""
    for row in breaks:
        if any(first <= seq <= last for first, last in row.left_out):
            return TracedBreak(row.epoch, row.reason, "", row.created_at)
    return None
