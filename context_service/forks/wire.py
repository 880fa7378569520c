"""Forks as messages."""

from __future__ import annotations

from context_service.forks.model import Fork
from context_service.kernel.wire import times
from context_service.windows.pure.refs import fork_ref, refs_between
from contextkeep.context.v1 import context_windows_pb2 as pb


def fork_message(fork: Fork) -> pb.WindowFork:
    """Return the protobuf message of a fork."""
    return pb.WindowFork(
        ref=fork_ref(fork.number),
        context_id=str(fork.fork_context_id),
        window_id=str(fork.fork_window_id),
        created_at=times.timestamp(fork.created_at),
        merged_ref=refs_between(fork.merged_seq, fork.merged_seq) if fork.merged_seq else "",
        is_ended=fork.ended_at is not None,
    )
