"""Rule authors: the speakers whose rules are in force.

A context can have many users, and a rule of one of them need not bind the agent. So rules of other users are quoted in
the state with their speaker, in a section of their own, and neither lift nor contest rules that are in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from context_service.packing.pure.state.task_state import OTHER_RULE, OTHER_USER, Entry
from context_service.packing.pure.texts.quotation import Trust
from context_service.windows.pure.config import FIRST_USER


def is_rule_author(speaker: str, *, authors: Sequence[str], speakers: Sequence[str]) -> bool:
    """Return whether rules of a speaker are in force.

    Args:
        speaker: The role and the name of the speaker, such as "user Ann".
        authors: Roles, names of users, and `FIRST_USER`.
        speakers: The first speakers of each role in the context.
    """
    role, _, name = speaker.partition(" ")
    if role == Trust.IMPORTED.value:  # an archive names the author, and nothing confirms it
        return False
    if role in authors or name in authors:
        return True
    first = next((other for other in speakers if other.partition(" ")[0] == "user"), speaker)
    return FIRST_USER in authors and speaker == first


def by_authors(entries: Iterable[Entry], *, authors: Sequence[str], speakers: Sequence[str]) -> Iterator[Entry]:
    """Yield the entries of a message as the state takes them: rules of other speakers are not in force.

    Args:
        entries: The entries, each with its speaker.
        authors: As in `is_rule_author`.
        speakers: As in `is_rule_author`, including the speaker of the message.
    """
    for entry in entries:
        is_of_rules = entry.section in ("constraint", "lifted", "reply") and entry.key != "assistant"
        if not is_of_rules or is_rule_author(entry.speaker, authors=authors, speakers=speakers):
            yield entry
        elif entry.section == "constraint":
            yield replace(entry, section=OTHER_RULE)
        elif entry.section == "reply":
            yield replace(entry, key=OTHER_USER)
