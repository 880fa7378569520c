"""What callers say of the state of the work, beside what rules read in the log. Values in, values out.

An entry takes the place of what was said before of the same, by whomever, and gives way to what the log says later. So
it keeps how far the log was then. What a caller removes stays removed when the log is read again: a `REMOVED` entry
says so. A model is told of all of it at once, in a note behind the last step; the next fold writes the state anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_service.packing.model import BY_CALLER, StoredEntry
from context_service.packing.pure.task_state import (
    KEY_CHARS_MAX,
    REMOVED,
    SUB_GOAL,
    Entry,
    after,
    key_of,
    per_cent_in,
    place_of,
)
from context_service.profiles.pure.profiles import SECTIONS
from contextkeep.errors import InvalidArgument
from service_runtime.checks import check_text, limit_exceeded

ENTRIES_MAX = 500  # of callers, that a window holds
CHANGES_MAX = 100  # of a call
TEXT_CHARS_MAX = 2_000
STATUSES = ("open", "done", "dropped")  # of sub-goals

SAID = frozenset(SECTIONS) - {"lifted", "answer", "resolution"} | {"artifact", SUB_GOAL}  # sections of callers
_ONE = frozenset({"goal", "progress"})  # there is one at a time, which has no key
_OF_RULES = _ONE | {"value", "artifact"}  # sections where rules have the places of callers
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # an entry is one line of what a model reads
_HEAD = "[The caller says, and it holds from here on, whatever was said of the same before]"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateStatement:
    """What a caller says of one thing, as it came; to remove it, its section and key, or its text if it has none."""

    section: str
    key: str = ""
    text: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """What becomes of the state.

    Attributes:
        entries: New ones.
        ended: Numbers of those that hold no longer; no message ended them.
    """

    entries: Sequence[Entry]
    ended: Mapping[int, int]


def entries_said(
    said: Sequence[StateStatement], removed: Sequence[StateStatement], *, last_seq: int
) -> tuple[list[Entry], list[Entry]]:
    """Return what a caller sets as entries, and what he removes as such that stand in the same places.

    Args:
        said: To be set.
        removed: To be removed.
        last_seq: Of the log, when he says it.

    Raises:
        InvalidArgument: an entry is none; the violation names its field.
        LimitExceeded: there are too many, or one is too long.
    """
    count = len(said) + len(removed)
    if count > CHANGES_MAX:
        raise limit_exceeded("set", count, CHANGES_MAX, "items, with those of remove")
    entries = [_entry(one, f"set[{number}]", last_seq) for number, one in enumerate(said)]
    return entries, [_entry(one, f"remove[{number}]", last_seq, is_removed=True) for number, one in enumerate(removed)]


def patched(held: Sequence[StoredEntry], entries: Sequence[Entry], removed: Sequence[Entry]) -> Patched:
    """Return what becomes of the state: what is removed goes first.

    Args:
        held: What holds in the places of the others, and what is removed there.
        entries: As a caller says them.
        removed: Likewise.
    """
    set_places = {place_of(entry) for entry in entries}
    left = {id(stored): stored for stored in held}
    gone: list[Entry] = []
    for removal in removed:
        there = next((other for other in left.values() if _is_meant(removal, other.entry)), None)
        if there and place_of(there.entry) not in set_places:
            del left[id(there)]
            gone.append(_removal(there, removal.seq))
    said = [entry for entry in entries if not any(_is_same(entry, other.entry) for other in left.values())]
    now, _ = after([stored.entry for stored in left.values()], [*said, *gone])
    kept = {id(entry) for entry in now}
    known = {id(stored.entry) for stored in held}
    return Patched(
        entries=[entry for entry in now if id(entry) not in known],
        ended={stored.number: 0 for stored in held if id(stored.entry) not in kept},
    )


def note_of_said(entries: Sequence[Entry]) -> str:
    """Return what tells a model what callers said since it was told last; empty: nothing that holds."""
    lines = [f"- no longer: {entry.text}" if entry.section == REMOVED else f"- {_line(entry)}" for entry in entries]
    return "\n".join([_HEAD, *lines]) if lines else ""


def is_told_once(entry: Entry) -> bool:
    """Say whether an entry is done with when a model was told: nothing can bring back what it removed."""
    return entry.section == REMOVED and not entry.value


def _entry(said: StateStatement, field: str, last_seq: int, *, is_removed: bool = False) -> Entry:
    if said.section not in SAID:
        said_ones = ", ".join(sorted(SAID))
        raise InvalidArgument(f"section is none that callers say: {said_ones}", field=f"{field}.section")
    for name, text, chars_max in (
        ("key", said.key, KEY_CHARS_MAX),
        ("text", said.text, TEXT_CHARS_MAX),
        ("value", said.value, TEXT_CHARS_MAX),
    ):
        check_text(f"{field}.{name}", text, chars_max=chars_max)
        if _CONTROL.search(text):
            raise InvalidArgument("an entry is one line, without control characters", field=f"{field}.{name}")
    text, value = said.text.strip(), said.value.strip()
    key = key_of(said.key) if said.section == "value" else said.key.strip()
    if said.section in _ONE:
        if key:
            raise InvalidArgument(f"there is one {said.section}, and it has no key", field=f"{field}.key")
    elif not key and not (is_removed and text):
        raise InvalidArgument("a key says what it is of, and what takes its place later", field=f"{field}.key")
    if is_removed:
        return Entry(section=said.section, key=key, text=text, value="", ref="", seq=last_seq)
    if said.section == SUB_GOAL:
        value = value or STATUSES[0]
        if value not in STATUSES:
            raise InvalidArgument(f"the value of a sub-goal is one of {', '.join(STATUSES)}", field=f"{field}.value")
    if said.section == "progress":
        value = value or per_cent_in(text)
        if value and not (value.isascii() and value.isdecimal() and int(value) <= 100):
            raise InvalidArgument("the value of progress is its per cent: 0 to 100", field=f"{field}.value")
    if said.section == "value" and not value:
        raise InvalidArgument("it is set to nothing: remove it", field=f"{field}.value")
    if said.section == "value" and not text:
        text = f"{said.key.strip()}: {value}"
    if not text:
        raise InvalidArgument("text is required", field=f"{field}.text")
    return Entry(section=said.section, key=key, text=text, value=value, ref="", seq=last_seq)


def _is_same(entry: Entry, held: Entry) -> bool:
    """Say whether a caller has said the same before."""
    names = ("section", "key", "text", "value", "ref")
    return all(getattr(entry, name) == getattr(held, name) for name in names)


def _line(entry: Entry) -> str:
    word = entry.section.replace("_", "-")
    status = f" ({entry.value})" if entry.section == SUB_GOAL else ""
    return f"{word}{status}: {entry.text}"


def _is_meant(one: Entry, held: Entry) -> bool:
    """Say whether an entry is the one to be removed: by its key, or, if it has none, by its text."""
    if one.section != held.section:
        return False
    return place_of(one) == place_of(held) if one.key or one.section in _ONE else not held.key and held.text == one.text


def _removal(held: StoredEntry, seq: int) -> Entry:
    """Return what says that an entry was removed, when the log was so long."""
    # What rules may read again stays removed; of the rest a model is told once.
    stays = held.source != BY_CALLER or held.entry.section in _OF_RULES
    key = " ".join(place_of(held.entry))
    return Entry(section=REMOVED, key=key, text=_line(held.entry), value="stays" if stays else "", ref="", seq=seq)
