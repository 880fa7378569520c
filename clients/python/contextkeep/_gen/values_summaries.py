"""Values of contextkeep/context/v1/summaries.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep.context.v1 import summaries_pb2 as pb
from contextkeep.values.base import Value, time_of



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UserContextLine(Value):
    """A line of the text about a user. Its text is a quotation."""

    # "commitment", "memory", "conversation", or "said".
    section: str = ""
    # The ref of the line in the text: `k2` for a memory, `c1` for a conversation, `c1.m4` for a message in it.
    ref: str = ""
    text: str = ""
    # The author, such as "user Ann"; "memory" for a memory. Empty: the text is a title.
    author: str = ""
    # The time of the message, or the time since which a memory holds.
    stated_at: datetime
    # The memory. Empty: the line is none.
    memory_id: str = ""
    # The context of the message, or the one that the memory names as its source.
    context_id: str = ""
    # The ref of the message in that context, such as m4.
    message_ref: str = ""

    @classmethod
    def from_proto(cls, message: pb.UserContextLine) -> UserContextLine:
        """Return the value of a message."""
        return cls(
            section=message.section,
            ref=message.ref,
            text=message.text,
            author=message.author,
            stated_at=time_of(message.stated_at),
            memory_id=message.memory_id,
            context_id=message.context_id,
            message_ref=message.message_ref,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UserContext(Value):
    """The text about a user."""

    # The text. Empty: there is nothing to quote, or nothing fits.
    text: str = ""
    # Tokens of the text, by o200k.
    tokens: int = 0
    # The lines of the text in their order, without headings.
    lines: tuple[UserContextLine, ...] = ()
    # Memories that hold and have no room.
    left_out_count: int = 0

    @classmethod
    def from_proto(cls, message: pb.GetUserContextResponse) -> UserContext:
        """Return the value of a message."""
        return cls(
            text=message.text,
            tokens=message.tokens,
            lines=tuple(map(UserContextLine.from_proto, message.lines)),
            left_out_count=message.left_out_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContextSummary(Value):
    """The text about a conversation."""

    # The text. Empty: the context has no messages, or nothing fits.
    text: str = ""
    # Tokens of the text, by o200k.
    tokens: int = 0
    # The first message that was read; between it and the others, messages may be left out.
    seq_from: int = 0
    # The last message that was read.
    seq_to: int = 0
    # Statements that hold and have no room.
    left_out_count: int = 0

    @classmethod
    def from_proto(cls, message: pb.GetContextSummaryResponse) -> ContextSummary:
        """Return the value of a message."""
        return cls(
            text=message.text,
            tokens=message.tokens,
            seq_from=message.seq_from,
            seq_to=message.seq_to,
            left_out_count=message.left_out_count,
        )
