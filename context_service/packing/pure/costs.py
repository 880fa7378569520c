"""The cost of work on a window. Work that costs much runs off the event loop (`beside_the_loop`).

The unit of cost is the time that parsing one byte of JSON takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from context_service.contexts.model import Message
from context_service.kernel.parts import texts_of

RENDERING = 24  # for each byte that is cut into steps, searched for lines, rendered and counted
JOINING = 4  # for each byte that is read and joined
HASHING = 1  # for each byte that is answered
MESSAGE_BYTES = 200  # a message costs this much in addition to its texts


def size_of(messages: Sequence[Message]) -> int:
    """Return the size of messages in bytes, by which their processing time is estimated."""
    return sum(MESSAGE_BYTES + sum(map(len, texts_of(message.content, message.parts))) for message in messages)
