"""A process that turns large JSON into messages and back: Python's reader of it takes seconds for a MiB of `{}`.

It reads the protos first and says that it is ready; then it does pieces of work, one after the other, and ends with its
standard input. It imports nothing of ours, so that it starts in a tenth of a second.
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
# A piece of work: its kind, the seconds of CPU that it may take (0 sets no limit), and the sizes of the message's name
# and of its content, which follow.
WORK = struct.Struct("!BfHI")
DONE = struct.Struct("!BI")  # how the work ended, and the size of the message, or of the reason, which follow
MADE, WRONG, TOO_LONG = 0, 1, 2
LENGTH = struct.Struct("!I")  # size of the protos, which follow
READY = b"+"  # written once the protos are read

_WRONG_BYTES_MAX = 500  # most bytes of a reason: it may quote the JSON


class _TooLong(BaseException):
    """The work took all of its CPU time. The readers in between catch an `Exception`."""


class WrongJson(Exception):
    """The JSON does not fit its message; the text says why."""


def read(message_class: Any, text: bytes) -> Any:
    """Return the message that a JSON text describes.

    Raises:
        WrongJson: the text is not JSON of this message.
    """
    if not text.lstrip(b" \t\r\n").startswith(b"{"):  # the reader takes an empty list for a message, too
        raise WrongJson("it is not a JSON object")
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
    """Read pieces of work from standard input until it ends, and write the result of each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends us
    signal.signal(signal.SIGPROF, _cut)
    incoming, outgoing = sys.stdin.buffer, sys.stdout.buffer
    pool = descriptor_pool.DescriptorPool()
    (size,) = LENGTH.unpack(_exactly(incoming, LENGTH.size))
    for file in FileDescriptorSet.FromString(_exactly(incoming, size)).file:
        pool.Add(file)
    outgoing.write(READY)
    outgoing.flush()
    while head := incoming.read(WORK.size):
        kind, cpu_s_max, name_size, size = WORK.unpack(head)
        message_class = GetMessageClass(pool.FindMessageTypeByName(_exactly(incoming, name_size).decode()))
        payload = _exactly(incoming, size)
        try:
            signal.setitimer(signal.ITIMER_PROF, cpu_s_max)
            if kind == READ:
                answer = read(message_class, payload).SerializeToString()
            else:
                answer = write(message_class.FromString(payload))
            signal.setitimer(signal.ITIMER_PROF, 0)
            ended = MADE
        except WrongJson as wrong:
            answer, ended = str(wrong).encode(), WRONG
        except _TooLong:
            answer, ended = b"", TOO_LONG
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        outgoing.write(DONE.pack(ended, len(answer)) + answer)
        outgoing.flush()


def _cut(number: int, frame: object) -> None:
    raise _TooLong


def _exactly(incoming: IO[bytes], size: int) -> bytes:
    """Read exactly this many bytes; end the process if the service has closed the pipe."""
    data = incoming.read(size)
    if len(data) != size:
        sys.exit()  # the service that asked is gone
    return data


if __name__ == "__main__":
    main()
