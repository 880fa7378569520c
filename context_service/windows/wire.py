"""Renders windows, their state and their events as protobuf messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from google.protobuf.message import Message

from context_service.kernel.rendering import Format
from context_service.kernel.tokens import is_exact
from context_service.kernel.wire import times
from context_service.kernel.wire.imported import imported_of
from context_service.packing.model import BY_RULE, Receipt, StoredEntry
from context_service.packing.pure.texts.tallies import ENTITY, TOOL, Tally, kind_of
from context_service.packing.wire import entry_message, receipt_message
from context_service.windows.model import Window
from context_service.windows.pure.config import Config
from context_service.windows.pure.refs import refs_between
from context_service.windows.rules.explain import State
from context_service.windows.rules.watch import WindowEvent
from contextkeep.context.v1 import chat_history_pb2
from contextkeep.context.v1 import context_windows_pb2 as pb
from service_runtime.values.copying import copied

_FORMATS = {
    Format.OPENAI: chat_history_pb2.MESSAGE_FORMAT_OPENAI,
    Format.OPENAI_RESPONSES: chat_history_pb2.MESSAGE_FORMAT_OPENAI_RESPONSES,
    Format.ANTHROPIC: chat_history_pb2.MESSAGE_FORMAT_ANTHROPIC,
    Format.GEMINI: chat_history_pb2.MESSAGE_FORMAT_GEMINI,
}


def window_message(window: Window) -> pb.Window:
    """Return a window as a protobuf message."""
    return copied(
        pb.Window,
        window,
        format=_FORMATS[window.format],
        left_out_count=window.first_number,
        is_closed=window.closed_at is not None,
        compression_profile=window.profile,
        config=config_message(window.config),
        tokens_are_estimated=not is_exact(window.tokens_family),
        left_out_refs=window.left_out.refs,
        imported=imported_of(window.imported_json),
    )


def config_message(config: Config) -> pb.WindowConfig:
    """Return a config as a protobuf message."""
    return copied(
        pb.WindowConfig,
        config,
        importance_weights=pb.ImportanceWeights(**asdict(config.weights)),
        tier_ratios=pb.TierRatios(**asdict(config.shares)),
        summarize_every_n_steps=config.segment_steps,
        prices=pb.TokenPrices(**asdict(config.prices)),
        max_total_tokens=config.total_tokens_max,
        checkpoint_every_n_steps=config.checkpoint_steps,
    )


def set_fields(message: Message) -> dict[str, Any]:
    """Return the fields that are set in a message, by name."""
    return {
        field.name: set_fields(value)
        if isinstance(value, Message)
        else value
        if isinstance(value, (str, bytes, int, float))
        else list(value)
        for field, value in message.ListFields()
    }


def tally_messages(state: State) -> Iterator[pb.StateEntry]:
    """Yield the counts of tools and entities as entries of the state."""
    for section, of in ((TOOL, state.tallies.tools), (ENTITY, state.tallies.entities)):
        for name, tally in of.items():
            yield pb.StateEntry(
                section=section,
                key=name,
                text=_times_said(section, name, tally),
                value=kind_of(name) if section == ENTITY else "",
                ref=refs_between(tally.seq, tally.seq),
                created_at=times.timestamp(state.window.updated_at),
                source=BY_RULE,
                count=tally.count,
                failure_count=tally.failures,
                last_step=tally.step,
            )


def _times_said(section: str, name: str, tally: Tally) -> str:
    """Return a count as text, such as "run_tests (3 calls, 1 failed)"."""
    if section == ENTITY:
        return f"{name} ({_several(tally.count, 'step')})"
    return f"{name} ({_several(tally.count, 'call')}, {tally.failures} failed)"


def _several(count: int, of: str) -> str:
    return f"{count} {of}" if count == 1 else f"{count} {of}s"


def event_response(happened: WindowEvent) -> pb.WatchWindowResponse:
    """Return the answer of `WatchWindow` for an event."""
    response = pb.WatchWindowResponse(epoch_after=happened.place.epoch_after, entry_from=happened.place.entry_from)
    match happened.what:
        case Receipt() as receipt:
            response.broken.CopyFrom(receipt_message(receipt))
        case StoredEntry() as held:
            response.entry.CopyFrom(entry_message(held))
        case Window() as window:
            response.window.CopyFrom(window_message(window))
        case None:
            pass
    return response
