"""Messages that rules gave."""

from __future__ import annotations

from typing import NamedTuple

from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.values.messages import ChatMessage


class GivenMessage(NamedTuple):
    """A message, and the rule that gave it."""

    message: ChatMessage
    rule: str  # "rules.messages[0]", as if the rules had no shorthands

    @classmethod
    def from_proto(cls, message: history_pb.GivenMessage) -> GivenMessage:
        """Return the value of a message."""
        return cls(ChatMessage.from_proto(message.message), message.rule)
