"""A process that turns large JSON into messages and back: Python's reader of it takes seconds for a MiB of `{}`.

It is told the protos first, then pieces of work, one after the other; it ends with its standard input. It imports
nothing of ours, so that it is there in a tenth of a second.
"""

from __future__ import annotations

import signal
import struct
import sys
from typing import IO, Any

import orjson
from google.protobuf import descriptor_pool, json_format
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message_factory import GetMessageClass

READ, WRITE = 0, 1  # JSON to protobuf, protobuf to JSON
WORK = struct.Struct("!BHI")  # one of them, and the bytes of a message's name and of what it is made of, which follow
DONE = struct.Struct("!?I")  # whether it was made, and the bytes of it, or of what is wrong with the JSON; they follow
LENGTH = struct.Struct("!I")  # of the protos, which follow

_WRONG_BYTES_MAX = 500  # of a reason: it may quote the JSON


class WrongJson(Exception):
    """The JSON is none of its message; the text says why."""


def read(message_class: Any, text: bytes) -> Any:
    """Return the message that JSON says.

    Raises:
        WrongJson: it says none.
    """
    if not text.lstrip(b" \t\r\n").startswith(b"{"):  # the reader takes an empty list for a message, too
        raise WrongJson("it is no JSON object")
    try:
        return json_format.Parse(text.decode(), message_class())
    except UnicodeDecodeError:
        raise WrongJson("it is not UTF-8") from None
    except RecursionError:
        raise WrongJson("it nests too deeply") from None
    except (json_format.ParseError, ValueError) as error:  # a number of thousands of digits is a ValueError
        reason = str(error).partition("\n")[0].partition(" Available Fields")[0]
        raise WrongJson(reason.encode(errors="replace")[:_WRONG_BYTES_MAX].decode(errors="ignore")) from None


def write(message: Any) -> bytes:
    """Return a message as JSON."""
    return orjson.dumps(json_format.MessageToDict(message))


def main() -> None:
    """Do the work that standard input asks for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends us
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    pool = descriptor_pool.DescriptorPool()
    (size,) = LENGTH.unpack(_exactly(incoming, LENGTH.size))
    for file in FileDescriptorSet.FromString(_exactly(incoming, size)).file:
        pool.Add(file)
    while head := incoming.read(WORK.size):
        kind, name_size, size = WORK.unpack(head)
        message_class = GetMessageClass(pool.FindMessageTypeByName(_exactly(incoming, name_size).decode()))
        given = _exactly(incoming, size)
        try:
            if kind == READ:
                made = read(message_class, given).SerializeToString()
            else:
                made = write(message_class.FromString(given))
            done = True
        except WrongJson as wrong:
            made, done = str(wrong).encode(), False
        outgoing.write(DONE.pack(done, len(made)) + made)
        outgoing.flush()


def _exactly(incoming: IO[bytes], size: int) -> bytes:
    data = incoming.read(size)
    if len(data) != size:
        sys.exit()  # who asked is gone
    return data


if __name__ == "__main__":
    main()
