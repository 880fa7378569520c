"""Entries of the state that callers set, in addition to those that rules read from the log. Values in, values out.

An entry replaces earlier statements about the same thing, whatever their source, and statements in later messages
replace it in turn. So an entry stores the last message of the log at the time of the call. An entry that a caller
removes must stay removed when the log is read again, so an entry of the section `REMOVED` records the removal. A note
after the last step tells the model about the change at once; the next fold writes the text of the state again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_service.packing.model import BY_CALLER, StoredEntry
from context_service.packing.pure.state.task_state import (
    CONTESTED,
    KEY_CHARS_MAX,
    OTHER_RULE,
    REMOVED,
    SUB_GOAL,
    Entry,
    after,
    as_stated,
    key_of,
    per_cent_in,
    place_of,
)
from context_service.profiles.pure.profiles import SECTIONS
from contextkeep.errors import InvalidArgument
from service_runtime.values.checks import check_text, limit_exceeded

ENTRIES_MAX = 500  # the most current entries of callers in a window
CHANGES_MAX = 100  # the most entries that one call sets and removes
TEXT_CHARS_MAX = 2_000
STATUSES = ("open", "done", "dropped")  # of sub-goals

SAID = frozenset(SECTIONS) - {"lifted", "answer", "resolution"} | {"artifact", SUB_GOAL}  # sections of callers
_REMOVABLE = SAID | {CONTESTED, OTHER_RULE}  # sections whose entries callers may remove
_ONE = frozenset({"goal", "progress"})  # sections with one entry at a time, which has no key
_OF_RULES = _ONE | {"value", "artifact"}  # sections in which an entry of a rule may replace an entry of a caller
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # an entry is one line of the state
_HEAD = "[The caller says, and it holds from here on, whatever was said of the same before]"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateStatement:
    """An entry that a caller sets or removes, unchecked.

    To remove an entry, give its section and key; without a key, its text.
    """

    section: str
    key: str = ""
    text: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """The changes that a caller's patch makes to the state.

    Attributes:
        entries: New entries, in the order of the patch.
        ended: Numbers of entries that no longer hold; a caller ended them, not a message.
    """

    entries: Sequence[Entry]
    ended: Mapping[int, int]


def entries_said(
    statements: Sequence[StateStatement], removals: Sequence[StateStatement], *, last_seq: int
) -> tuple[list[Entry], list[Entry]]:
    """Check the entries that a caller sets and those that it removes, and return both in their stored form.

    Args:
        statements: The entries that the caller sets.
        removals: The entries that the caller removes, by key or by text.
        last_seq: The last message of the log at this time.

    Raises:
        InvalidArgument: an entry is invalid; the violation names its field.
        LimitExceeded: there are too many entries, or one is too long.
    """
    count = len(statements) + len(removals)
    if count > CHANGES_MAX:
        raise limit_exceeded("set", count, CHANGES_MAX, "items, with those of remove")
    entries = [_entry(item, f"set[{number}]", last_seq) for number, item in enumerate(statements)]
    return entries, [
        _entry(item, f"remove[{number}]", last_seq, is_removed=True) for number, item in enumerate(removals)
    ]


def patched(stored_entries: Sequence[StoredEntry], entries: Sequence[Entry], removals: Sequence[Entry]) -> Patched:
    """Return how the state changes; removals are applied before new entries.

    Args:
        stored_entries: The current entries with the same keys as the patch, and earlier removals of such entries.
        entries: The entries that the caller sets, checked.
        removals: The entries that the caller removes, checked.
    """
    set_places = {place_of(entry) for entry in entries}
    current = {id(stored_entry): stored_entry for stored_entry in stored_entries}
    removed_entries: list[Entry] = []
    for removal in removals:
        there = next((other for other in current.values() if _is_meant(removal, other.entry)), None)
        if there and place_of(there.entry) not in set_places:
            del current[id(there)]
            removed_entries.append(_removal(there, removal.seq))
    new_entries = [entry for entry in entries if not any(_is_same(entry, other.entry) for other in current.values())]
    now, _ = after([stored_entry.entry for stored_entry in current.values()], [*new_entries, *removed_entries])
    ids_after = {id(entry) for entry in now}
    ids_before = {id(stored_entry.entry) for stored_entry in stored_entries}
    return Patched(
        entries=[entry for entry in now if id(entry) not in ids_before],
        ended={stored_entry.number: 0 for stored_entry in stored_entries if id(stored_entry.entry) not in ids_after},
    )


def note_of_said(entries: Sequence[Entry]) -> str:
    """Return the note that tells the model about callers' changes of the state; empty without entries."""
    lines = [f"- no longer: {entry.text}" if entry.section == REMOVED else f"- {_line(entry)}" for entry in entries]
    return "\n".join([_HEAD, *lines]) if lines else ""


def is_told_once(entry: Entry) -> bool:
    """Say whether an entry is needed only until a note has told the model about it.

    This is a removal of an entry that no message of the log can restore.
    """
    return entry.section == REMOVED and not entry.value


def _entry(statement: StateStatement, field: str, last_seq: int, *, is_removed: bool = False) -> Entry:
    """Check an entry that a caller sets or removes, and return it in its stored form.

    The key of a value is normalized. A missing status, percentage or text is derived from the other fields.

    Args:
        statement: The entry as the caller sent it.
        field: Path of the entry in the request, for errors.
        last_seq: The last message of the log at this time. The entry holds from there on.
        is_removed: The entry is to be removed, so its section and its key or text suffice.

    Raises:
        InvalidArgument: a field is malformed; the error names the field.
        LimitExceeded: a field is too long; the error names the field.
    """
    allowed = _REMOVABLE if is_removed else SAID
    if statement.section not in allowed:
        said_ones = ", ".join(sorted(allowed))
        raise InvalidArgument(
            f"section must be one of {said_ones} (got {statement.section[:100]!r})", field=f"{field}.section"
        )
    for name, text, chars_max in (
        ("key", statement.key, KEY_CHARS_MAX),
        ("text", statement.text, TEXT_CHARS_MAX),
        ("value", statement.value, TEXT_CHARS_MAX),
    ):
        check_text(f"{field}.{name}", text, chars_max=chars_max)
        if _CONTROL.search(text):
            raise InvalidArgument(f"{name} must be one line without control characters", field=f"{field}.{name}")
    text, value = statement.text.strip(), statement.value.strip()
    key = key_of(statement.key) if statement.section in ("value", CONTESTED) else statement.key.strip()
    if statement.section in _ONE:
        if key:
            raise InvalidArgument(f"key must be empty: a window has only one {statement.section}", field=f"{field}.key")
    elif not key and not (is_removed and text):
        raise InvalidArgument(
            "key is required: a later entry with the same key replaces this one", field=f"{field}.key"
        )
    if is_removed:
        return Entry(section=statement.section, key=key, text=text, value="", ref="", seq=last_seq)
    if statement.section == SUB_GOAL:
        value = value or STATUSES[0]
        if value not in STATUSES:
            raise InvalidArgument(
                f"value of a sub-goal must be one of {', '.join(STATUSES)} (got {value[:100]!r})",
                field=f"{field}.value",
            )
    if statement.section == "progress":
        value = value or per_cent_in(text)
        if value and not (value.isascii() and value.isdecimal() and int(value) <= 100):
            raise InvalidArgument(
                f"value of progress must be a percentage from 0 to 100 (got {value[:100]!r})", field=f"{field}.value"
            )
    if statement.section == "value" and not value:
        raise InvalidArgument("value must not be empty; to remove the entry, name it in remove", field=f"{field}.value")
    if statement.section == "value" and not text:
        text = f"{statement.key.strip()}: {value}"
    if not text:
        raise InvalidArgument("text is required", field=f"{field}.text")
    return Entry(section=statement.section, key=key, text=text, value=value, ref="", seq=last_seq)


def _is_same(entry: Entry, current: Entry) -> bool:
    """Say whether a caller has already set the same entry."""
    names = ("section", "key", "text", "value", "ref")
    return all(getattr(entry, name) == getattr(current, name) for name in names)


def _line(entry: Entry) -> str:
    """Return an entry as a line of the note, such as "sub-goal (open): write the tests"."""
    word = "may have changed" if entry.section == CONTESTED else entry.section.replace("_", "-")
    status = f" ({entry.value})" if entry.section == SUB_GOAL else ""
    return f"{word}{status}: {entry.text}"


def _is_meant(named_entry: Entry, current: Entry) -> bool:
    """Say whether a current entry is the entry that a caller wants to remove.

    It is if both have the same key or, if the caller gave no key, the same text. A rule or value that may have changed
    can also be named as it was stated.
    """
    if current.section == CONTESTED and named_entry.section != CONTESTED:
        current = as_stated(current)
    if named_entry.section != current.section:
        return False
    if named_entry.key or named_entry.section in _ONE:
        return place_of(named_entry) == place_of(current)
    return current.text == named_entry.text and (not current.key or bool(current.ref))


def _removal(stored_entry: StoredEntry, seq: int) -> Entry:
    """Return the entry that records the removal of an entry, with the log's last `seq` at that time."""
    # If rules may read the removed entry from the log again, the record must stay. Otherwise it is needed only until
    # the model is told.
    original = as_stated(stored_entry.entry)
    stays = stored_entry.source != BY_CALLER or original.section in _OF_RULES
    return Entry(
        section=REMOVED,
        key=" ".join(place_of(original)),
        text=_line(stored_entry.entry),
        value="stays" if stays else "",
        ref="",
        seq=seq,
    )
