"""Renders packs, their parts, receipts and entries of the state as protobuf messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from context_service.checkpoints.pure.left_out import LeftOut
from context_service.folding.pure.summaries import SEGMENT
from context_service.kernel.rendering import Span
from context_service.kernel.tokens import calibrated
from context_service.kernel.wire import times
from context_service.kernel.wire.files import body_files
from context_service.packing.model import SUMMARY, Pack, Receipt, StoredEntry, Zones
from context_service.packing.pure.body.pack_id import PackId
from context_service.windows.pure.refs import refs_between
from contextkeep.context.v1 import context_windows_pb2 as pb
from service_runtime.values.copying import copied

if TYPE_CHECKING:
    from context_service.windows.room import Explained, MessageTrace, TracedBreak


def pack_response(pack: Pack) -> pb.PackResponse:
    """Return the protobuf answer of `Pack`."""
    window = pack.window
    tokens = pack.zones.all
    response = copied(
        pb.PackResponse,
        pack,
        pack_id=str(PackId.of(pack)),
        messages_json=pack.messages_json,
        tokens=tokens,
        tokens_by_zone=zones_message(pack.zones),
        omitted=pb.PackOmissions(step_count=window.first_number, tokens=window.left_out_tokens, refs=pack.omitted_refs),
        epoch=window.epoch,
        wrap_up=pack.wraps_up,
        calibrated_tokens=calibrated(tokens, window.token_factor),
        breakpoints=[pb.CacheBreakpoint(**breakpoint._asdict()) for breakpoint in pack.breakpoints],
        spans=(),
        files=body_files(pack.files),
    )
    response.MergeFromString(b"".join([span.written or _written(span) for span in pack.spans]))
    return response


def _written(span: Span) -> bytes:
    """Write a span as a field of `PackResponse`, and keep it: the next packs of the window have the same span."""
    message = pb.PackSpan(pointer=span.pointer, **span.source._asdict())
    span.written = pb.PackResponse(spans=[message]).SerializeToString()
    return span.written


def zones_message(zones: Zones) -> pb.PackZones:
    """Return tokens by zone as a protobuf message."""
    return copied(pb.PackZones, zones, note=zones.notes)


def entry_message(stored_entry: StoredEntry) -> pb.StateEntry:
    """Return an entry of the state as a protobuf message."""
    return pb.StateEntry(
        section=stored_entry.entry.section,
        key=stored_entry.entry.key,
        text=stored_entry.entry.text,
        value=stored_entry.entry.value,
        ref=stored_entry.entry.ref,
        speaker=stored_entry.entry.speaker,
        created_at=times.timestamp(stored_entry.created_at),
        source=stored_entry.source,
    )


def receipt_messages(receipts: Sequence[Receipt]) -> list[pb.FoldReceipt]:
    """Return receipts as protobuf messages."""
    return list(map(receipt_message, receipts))


def receipt_message(receipt: Receipt) -> pb.FoldReceipt:
    """Return a receipt as a protobuf message."""
    account = receipt.account
    return copied(
        pb.FoldReceipt,
        account,
        epoch=receipt.epoch,
        reason=receipt.reason,
        created_at=times.timestamp(receipt.created_at) if receipt.created_at else None,
        last_seq=receipt.last_seq,
        step_count=receipt.step,
        tokens_before=receipt.tokens_before,
        tokens_after=receipt.tokens_after,
        merged_step_count=account.merged_steps,
        dropped_count=account.dropped_blocks,
        summaries=[
            copied(
                pb.PackPart,
                summary,
                zone="segments" if summary.level == SEGMENT else "digests",
                ref=refs_between(summary.seq_from, summary.seq_to),
            )
            for summary in account.summaries
        ],
        state_left_out_count=account.state_left_out,
        state_added=[pb.StateChange(section=change.section, ref=change.ref) for change in account.state_added],
        state_removed=[pb.StateChange(section=change.section, ref=change.ref) for change in account.state_removed],
        tokens_written_again=account.written_again,
        prepared_last_seq=account.prepared_seq,
        left_out_refs=LeftOut(tuple((first, last) for first, last in account.left_out)).refs,
        left_out_step_count=account.steps_left_out,
    )


def explain_response(explained: Explained) -> pb.ExplainPackResponse:
    """Return the protobuf answer of `ExplainPack`."""
    return pb.ExplainPackResponse(
        parts=_parts(explained), tokens_by_zone=zones_message(explained.zones), epoch=explained.window.epoch
    )


def _parts(explained: Explained) -> Iterator[pb.PackPart]:
    """Yield the parts of an explained pack as protobuf messages, in the order of the pack.

    Pins and state are not among `explained.parts`: the pins come first, and the state right before the first step.
    """
    if explained.window.pins_tokens:
        yield pb.PackPart(zone="pins", tokens=explained.window.pins_tokens)
    state = explained.window.state_tokens
    for part in explained.parts:
        if not part.is_before_steps and state:
            yield pb.PackPart(zone="state", tokens=state)
            state = 0
        yield copied(
            pb.PackPart,
            part,
            level=part.level if part.kind == SUMMARY else 0,
            ref=refs_between(part.seq_from, part.seq_to) if part.seq_from else "",
        )


def trace_response(trace: MessageTrace) -> pb.TraceMessageResponse:
    """Return the protobuf answer of `TraceMessage`."""
    sentence = trace.sentence
    return copied(
        pb.TraceMessageResponse,
        trace,
        messages=[
            copied(
                pb.TracedMessage,
                message,
                since=_break_message(message.since),
                lines=[pb.ShownLine(**line._asdict()) for line in message.lines],
            )
            for message in trace.messages
        ],
        sentence=copied(pb.TracedSentence, sentence, removed_by=_break_message(sentence.removed_by))
        if sentence
        else None,
    )


def _break_message(traced: TracedBreak | None) -> pb.TracedBreak | None:
    return copied(pb.TracedBreak, traced) if traced else None
