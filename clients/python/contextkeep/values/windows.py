"""Answers about windows that are made of several messages."""

from __future__ import annotations

from dataclasses import dataclass, replace

from contextkeep._gen.values_context_windows import FoldReceipt, Pack, RolledBack, Window, WindowFork
from contextkeep._gen.values_contexts import ContextKey
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.values.base import Value, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recovered(Value):
    """The pack to retry with, after an invalid response."""

    pack: Pack
    rolled_back: RolledBack | None = None  # None: it was done before

    @classmethod
    def from_proto(cls, recovered: windows_pb.ReportResponseResponse) -> Recovered:
        """Return the value of a message."""
        done = RolledBack(
            receipt=FoldReceipt.from_proto(recovered.receipt),
            left_out_message_ids=tuple(recovered.left_out_message_ids),
            left_out_message_count=recovered.left_out_message_count,
        )
        return cls(pack=Pack.from_proto(recovered.pack), rolled_back=done if recovered.HasField("receipt") else None)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Forked(Value):
    """A window of its own for a part of the work. Its key is shown once, and not when this is printed."""

    window: Window
    ref: str  # such as "f3": what its refs begin with, where it was forked
    key: ContextKey | None = None  # None: the caller's is of a context itself, and reaches it

    @classmethod
    def from_proto(cls, forked: windows_pb.ForkWindowResponse) -> Forked:
        """Return the value of an answer."""
        key = ContextKey(key=forked.key, expires_at=time_of(forked.key_expires_at)) if forked.key else None
        return cls(window=Window.from_proto(forked.window), ref=forked.ref, key=key)


def window_with_forks(answer: windows_pb.GetWindowResponse) -> Window:
    """Return a window with its forks."""
    return replace(Window.from_proto(answer.window), forks=tuple(map(WindowFork.from_proto, answer.forks)))


def pack_of(message: windows_pb.PackResponse, since: Pack | None) -> Pack:
    """Return the value of a message that leaves out the first bytes of `since`."""
    pack = Pack.from_proto(message)
    if since is None or not message.offset_bytes:
        return pack
    known = since.messages_json.encode()[: message.offset_bytes].decode()
    spans = (*since.spans[: message.known_span_count], *pack.spans)
    return replace(pack, messages_json=known + pack.messages_json, spans=spans, known_span_count=0)
