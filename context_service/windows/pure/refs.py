"""Refs: short names of messages and parts. A pack shows a ref where it leaves text out, and `Expand` returns the text.

`m37` is message 37, `m37/2` its second part (`m37/0` its content), `m37/2/1` the first file of the result in that part,
`m37..m58` the messages from 37 to 58. The refs of recall, `m37.0` and `a2.0`, name passages of a message and of an
artifact. `f3:m37` is message 37 of the third fork of the context, and `f3:f1:m37` a message of the first fork of that
fork.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MADE = re.compile(r"a(?P<place>[1-9][0-9]{0,17})\.(?P<passage>[0-9]{1,9})")
_FORM = re.compile(
    r"m(?P<seq>[1-9][0-9]{0,17})"
    r"(?:/(?P<part>[0-9]{1,4})(?:/(?P<file>[1-9][0-9]{0,3}))?|\.(?P<passage>[0-9]{1,9})|\.\.m(?P<last>[1-9][0-9]{0,17}))?"
)


_FORK = re.compile(r"f[1-9][0-9]{0,8}")
_FORKS_MAX = 8  # the most forks that a ref leads through, each a fork of the one before


@dataclass(frozen=True, slots=True)
class Ref:
    """A place in a log.

    Attributes:
        seq: The `seq` of the message; negative for the place of an artifact.
        last_seq: The `seq` of the last message of a range; otherwise the same.
        part: The number of the part; 0 is the content, and None is the whole message.
        passage: The number of the passage, or None if the ref names none.
        file: The number of the file of a result, or None if the ref names none.
    """

    seq: int
    last_seq: int
    part: int | None = None
    passage: int | None = None
    file: int | None = None


def ref_of(seq: int, part: int) -> str:
    """Return the ref of a part of a message."""
    return f"m{seq}/{part}"


def file_ref(result_ref: str, number: int) -> str:
    """Return the ref of a file of a result."""
    return f"{result_ref}/{number}"


def refs_between(seq_from: int, seq_to: int) -> str:
    """Return the ref of a range of messages."""
    return f"m{seq_from}" if seq_from == seq_to else f"m{seq_from}..m{seq_to}"


def fork_ref(number: int) -> str:
    """Return the ref of a fork."""
    return f"f{number}"


def is_fork(text: str) -> bool:
    """Say whether a text is the ref of a fork."""
    return bool(_FORK.fullmatch(text))


def within(fork: str, ref: str) -> str:
    """Return a ref within a fork in the form that the parent window uses: "f3:m37" for "m37" in the fork "f3"."""
    return f"{fork}:{ref}"


def path_of(text: str) -> tuple[list[int], str]:
    """Split a ref into the numbers of the forks that it leads through and the ref within the last of these forks."""
    *forks, ref = text.split(":", _FORKS_MAX)
    return ([int(fork[1:]) for fork in forks], ref) if all(map(is_fork, forks)) else ([], text)


def parse_ref(text: str) -> Ref | None:
    """Return the place that a ref names, or None if the text is not a ref. The text must not name a fork."""
    if match := _MADE.fullmatch(text):  # a passage of an artifact; a negative place tells it from a message
        return Ref(-int(match["place"]), -int(match["place"]), passage=int(match["passage"]))
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    seq = int(match["seq"])
    last_seq = int(match["last"] or seq)
    if last_seq < seq:
        return None
    part, passage, file = (int(match[name]) if match[name] else None for name in ("part", "passage", "file"))
    return Ref(seq, last_seq, part, passage, file)
