"""The state of a task, read from the log: constraints, values, decisions, questions, errors and files.

The rules of the compression profile (`profiles`) find entries in the sentences of messages; each entry has a ref to its
source. A later entry replaces an earlier one with the same key: a value is the last statement about it, and a file is
listed once.

A constraint ends only if it is clear which constraint a message lifts. Otherwise the sentence that may lift it is shown
with it, word for word, and the model that reads both decides. No entry is dropped on a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import orjson

from context_service.contexts.model import Message
from context_service.kernel.parts import ToolCall
from context_service.kernel.sentences import language_of, sentences_of
from context_service.packing.pure.state.contests import (
    contests_rule,
    names_value,
    rule_terms,
    says_other_value,
    value_terms,
)
from context_service.packing.pure.state.error_lines import error_line, names_error, resolves
from context_service.packing.pure.state.questions import is_answer, is_question
from context_service.packing.pure.texts.conversation import is_courtesy
from context_service.packing.pure.texts.quotation import attributed, with_notice
from context_service.packing.pure.texts.units import said_in
from context_service.profiles.pure.profiles import Profile
from context_service.retrieval.pure.terms import terms_of
from context_service.windows.pure.refs import ref_of
from service_runtime.inputs.documents import check_wanted

SENTENCE_CHARS_MAX = 600  # a longer sentence says too much to be one rule
# How many characters and sentences are searched at the beginning and at the end of a text. A longer text mostly quotes
# something, and the speaker's own words are at its ends.
_END_CHARS = 10_000
_SENTENCES_OF_END_MAX = 500
_MARGIN_CHARS_MIN = 60  # a line of at least this length may continue in the next line, because an editor broke it
_ENTRIES_OF_MESSAGE_MAX, _VALUES_OF_SENTENCE_MAX = 200, 8
_REPLY_CHARS_MAX = 2_000  # the first characters of a message that are searched for an answer
KEY_CHARS_MAX = 200
_PATHS_OF_CALL_MAX = 4

SUB_GOAL = "sub_goal"  # the section of the parts of a goal, which callers set; the value of an entry is its status
REPLIED = ", replied"  # ends the value of a question after a reply that did not surely answer it
SUCCESS = "success"  # a call that succeeded; its key is the call, as in errors
_SAME_CALL = "the same call succeeded"
OTHER_RULE = "other_rule"  # a rule of a speaker whose rules are not in force: see `rule_authors`
OTHER_USER = "other_user"  # the key of a reply of such a user
CONTESTED = "contested"  # a rule or value that a later statement may change; the text has both statements
# A caller removed the entry with this section and key: statements before this in the log no longer set it.
REMOVED = "removed"

# Sections that are always shown whole, in their order, with their titles.
WHOLE = {
    "goal": "Goal",
    SUB_GOAL: "Sub-goals",
    "constraint": "Constraints (if two differ, the later one holds)",
    "value": "Values now",
    CONTESTED: "May have changed (the newer statement first, then the earlier ones)",
    "progress": "Progress",
}
# Sections whose newest entries are shown, with their titles and their shares of the remaining room.
SHARES = {
    "decision": ("Decisions", 0.35),
    # The state changes only at folds. Newer steps follow it in the pack, so an assistant may have said more since then.
    "next": ("Next, as the assistant said up to this state (newer steps may stand below)", 0.10),
    OTHER_RULE: ("Rules that other people stated (not in force)", 0.10),
    "question": ("Open questions", 0.15),
    "error": ("Errors, and what helped", 0.15),
    "artifact": ("Files", 0.15),
}

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED = re.compile(r"^\s*(?:>|\|)")
_HEADING = re.compile(r"^\s*#+\s|:[\s*_]*$")
_ITEM = re.compile(r"^\s*(?:[-*•]|[0-9]{1,3}[.)])\s")
_EMPHASIS = re.compile(r"\*\*|^[^\w\"'`(<\[]+")  # Markdown's, and signs at the beginning
# Quotations within a sentence: words of another person or of a program, which must not count as the speaker's.
_CITED = re.compile(r"`[^`]+`|\"[^\"]*\s[^\"]*\"|«[^»]+»|(?<!\w)'[^']*\s[^']*'(?!\w)")
_PLAIN_QUOTES = str.maketrans("\u2019\u2018\u201c\u201d\u201e", '\'\'"""')

_NO_KEY = re.compile(
    r"^(?:(?:from (?:\w+ ){1,3}on(?:wards)?|(?:as of|starting) (?:(?:next|this) )?\w+|"
    r"the|our|my|your|a|an|this|that|new|current|correct|actual|right|latest) )+"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_KEY_SIGNS = re.compile(r"[\s_./-]+")
_CLAUSE_ENDS = re.compile(r"[.,;:!]+(?=\s|$)")
_PLEASE = frozenset({"please", "pls", "kindly"})

_NEGATIVE = re.compile(
    r"\b(?:never|no|not|avoid|without|stop|forbidden|nobody|nothing|dont|cannot)\b|n['\u2019]t\b", re.IGNORECASE
)
_BEFORE_MAX = 3  # the most earlier statements of a contested entry: a newer one may be about something else
_BEFORE = "; before: "  # in a contested entry, between the newer statement and the earlier one
_LONG_WORD = re.compile(r"\w{5,}")
_SAYS_NOTHING = frozenset(terms_of("always never please use using make sure keep everything rule from now on future"))

_PER_CENT = re.compile(r"(?<![\d.,-])(\d{1,3})(?:[.,]\d{1,3})? ?(?:%|per ?cent\b)")
_PARTS = re.compile(r"(?<![\d./,-])(\d{1,9}) ?(?:/|of|out of) ?(\d{1,9})(?![\d./,-])")
_REF_OF_LINE = re.compile(r"^- .*\((\S+)\)$")

PATH_ARGUMENTS = ("path", "file_path", "file", "filename", "file_name", "uri", "paths", "files")
_WORD_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_EDITS = re.compile(r"apply|creat|delet|edit|insert|mov|patch|remov|renam|replac|sav|updat|writ")
_EDITED = " (edited)"
_LOOKS = frozenset({"view", "read", "open", "list", "show", "get", "cat", "search"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the state of the work, such as a rule, a value or a sub-goal.

    Attributes:
        section: A section of the profiles, or `artifact`, `contested`, `OTHER_RULE`, `SUB_GOAL` or `REMOVED`. Entries
            of the sections `lifted`, `answer`, `resolution` and `reply` (all sentences of a message) are not shown:
            they only change other entries.
        key: The thing that the entry is about; a later entry of the section with the same key replaces this one. Empty
            if it is about nothing in particular. In an `error` of a tool and in `SUCCESS`, the call. In `lifted`,
            `duty` if the lifted rule was a duty, else `what`.
        text: The statement, as it was made.
        value: In `value`, the value that is set; in `contested`, the value or the rule that may have changed; in
            `lifted`, the lifted rule; in `error`, the solution, or empty while
            there is none; in `progress`, the percentage, if stated; in `artifact`, `read` or `edited`; in `question`,
            the role that asks, then `REPLIED` after a reply that may be about something else; in `SUB_GOAL`, the
            status.
        ref: The ref of the statement; empty for an entry of a caller.
        seq: The `seq` of the message; for an entry of a caller, of the last message of the log at that time.
        speaker: Who made the statement, from `quotation.speaker_of`; empty for an entry of a caller.
    """

    section: str
    key: str
    text: str
    value: str
    ref: str
    seq: int
    speaker: str = ""


class Sentence(NamedTuple):
    """A sentence. If it is an item of a list, `under` is the heading of the list, such as `Rules:`."""

    text: str
    under: str = ""


class RenderedState(NamedTuple):
    """The state as a text for a model, and the number of entries that had no room in it."""

    text: str
    left_out: int


@dataclass(frozen=True, slots=True)
class StateChange:
    """An entry that was added to the state's text or removed from it, without its words."""

    section: str
    ref: str


def entries_of(message: Message, profile: Profile) -> list[Entry]:
    """Return the entries of the state that a message makes, in its order."""
    entries: list[Entry] = []
    for spoken_text in said_in(message):
        ref = ref_of(message.seq, spoken_text.part)
        if spoken_text.role == "tool":
            if spoken_text.is_error and (line := error_line(spoken_text.text)):
                entries.append(_entry("error", line, ref, message.seq))
            continue
        if spoken_text.is_data:
            continue
        own = sentences(spoken_text.text)
        for sentence in own:
            check_wanted()
            entries += _of_sentence(sentence, spoken_text.role, ref, message.seq, profile)
        # The reply comes last, so that the statements that the rules understood take effect before guesses from it.
        if spoken_text.role in ("user", "assistant") and own:
            reply = "\n".join(sentence.text for sentence in own)[:_REPLY_CHARS_MAX]
            is_told = "answered" if any(entry.section == "answer" for entry in entries) else ""
            entries.append(_entry("reply", reply, ref, message.seq, key=spoken_text.role, value=is_told))
    for number, part in enumerate(message.parts, 1):
        if part.tool_call:
            entries += [
                _entry("artifact", f"{path} ({did})", ref_of(message.seq, number), message.seq, key=path, value=did)
                for path, did in files_in(part.tool_call)
            ]
    return entries[:_ENTRIES_OF_MESSAGE_MAX]


def is_rule(text: str, profile: Profile) -> bool:
    """Say whether a text would make or lift a rule if a user said it."""
    results = (_of_sentence(sentence, "user", "", 0, profile) for sentence in sentences(text))
    return any(entry.section in ("constraint", "lifted") for entries in results for entry in entries)


def sentences(text: str) -> list[Sentence]:
    """Return the speaker's own sentences, without code blocks, quoted lines and headings."""
    if len(text) > 2 * _END_CHARS:
        text = f"{text[:_END_CHARS]}\n{text[-_END_CHARS:]}"
    results, under, language = [], "", language_of(text)
    for line in _lines(_CODE.sub("\n", text)):
        is_item = bool(_ITEM.search(line))
        if not is_item:
            under = line.strip() if _HEADING.search(line) else ""
            if line.lstrip().startswith("#"):
                continue
        own = _ITEM.sub("", line) if is_item else line
        results += [
            Sentence(sentence.strip(" \t-*•"), under if is_item else "") for sentence in sentences_of(own, language)
        ]
    results = [result for result in results if result.text and len(result.text) <= SENTENCE_CHARS_MAX]
    if len(results) > 2 * _SENTENCES_OF_END_MAX:
        return results[:_SENTENCES_OF_END_MAX] + results[-_SENTENCES_OF_END_MAX:]
    return results


def _lines(text: str) -> list[str]:
    """Return the lines that are not quoted. Lines that an editor has broken at its margin are joined again."""
    lines = [""]
    is_wrapped = False
    for line in text.splitlines():
        if _QUOTED.search(line) or not line.strip():
            is_wrapped = False
        elif is_wrapped and not (_ITEM.search(line) or _HEADING.search(line)):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
            is_wrapped = True
        is_wrapped = is_wrapped and len(line) >= _MARGIN_CHARS_MIN and line.rstrip()[-1:] not in ".!?:;"
    return lines[1:]


def after(entries: Iterable[Entry], new_entries: Iterable[Entry]) -> tuple[list[Entry], list[tuple[Entry, Entry]]]:
    """Apply new statements to the state, and return the entries that hold then.

    The second result pairs each entry that the statements contradict with the entry that contradicts it, and each rule
    and value that they may change with the contested entry that takes its place.

    Args:
        entries: The entries that held before, in the order of the log.
        new_entries: The new statements, in the order of the log.
    """
    now: dict[tuple[str, str], Entry] = {place_of(entry): entry for entry in entries}
    superseded = []
    for entry in new_entries:
        if entry.section in ("resolution", SUCCESS):
            _resolve(now, entry)
        elif entry.section == "answer":
            _answer(now, entry)
        elif entry.section == "reply":
            _close_answered(now, entry)
            _resolve(now, entry)
            superseded += [*_contest(now, entry), *_contest_values(now, entry)]
        elif entry.section != "lifted":
            if before := _put(now, entry):
                superseded.append((before, entry))
        elif lifted := _lifted(now, entry):
            superseded.append((now.pop(place_of(lifted)), entry))
    return list(now.values()), superseded


def render_state(entries: Sequence[Entry], *, tokens_max: int, count: Callable[[str], int]) -> RenderedState:
    """Render the state as text: the sections of `WHOLE` in full, and the newest entries of the sections of `SHARES`.

    Args:
        entries: The current entries, oldest first.
        tokens_max: The tokens of the whole text. The sections of `WHOLE` are shown in full even if they exceed this.
        count: Returns the number of tokens of a text.
    """
    blocks, left_out = [], 0
    for section, title in WHOLE.items():
        lines = list(dict.fromkeys(_line(entry) for entry in entries if entry.section == section))
        if lines:
            blocks.append("\n".join([f"{title}:", *lines]))
    room = tokens_max - sum(map(count, blocks))
    for section, (title, share) in SHARES.items():
        lines, used_tokens = [], count(title) + 1
        of_section = [entry for entry in entries if entry.section == section]
        for entry in reversed(of_section):
            used_tokens += count(line := _line(entry)) + 1
            if used_tokens > room * share:
                break
            lines.append(line)
        left_out += len(of_section) - len(lines)
        if lines:
            blocks.append("\n".join([f"{title}:", *reversed(lines)]))
    return RenderedState(with_notice("\n".join(blocks)), left_out)


def changes(before: str, now: str) -> tuple[list[StateChange], list[StateChange]]:
    """Compare two texts of the state.

    Args:
        before: The earlier text.
        now: The later text.

    Returns:
        The entries that only the later text has, and the entries that only the earlier text has.
    """
    old, new = _entries_in(before), _entries_in(now)
    return [one for line, one in new.items() if line not in old], [one for line, one in old.items() if line not in new]


def note_of(superseded: Sequence[tuple[Entry, Entry | None]]) -> str:
    """Return the note that tells a model which entries no longer hold or may have changed, and the newer statements."""
    lines = []
    for old, new in superseded:
        if new and new.section == CONTESTED:
            lines.append(f"- may have changed: {new.text}")
            continue
        now = f"now: {_quotation_of(new)}; " if new else ""
        lines.append(f"- {now}no longer: {_quotation_of(old)}")
    return "\n".join(["[What has changed]", *lines])


def _of_sentence(sentence: Sentence, role: str, ref: str, seq: int, profile: Profile) -> list[Entry]:
    """Return the entries that a sentence makes: of each section, those that the first matching rule finds.

    A question makes no entries of some other sections, because it states nothing. The rules of values search the whole
    sentence, and all other rules search it without its quotations.
    """
    plain = " ".join(_EMPHASIS.sub("", sentence.text.translate(_PLAIN_QUOTES)).split())
    under = sentence.under.encode(errors="replace")
    whole, own = plain.encode(errors="replace"), _CITED.sub('"…"', plain).encode(errors="replace")
    entries: list[Entry] = []
    sections: set[str] = set()
    if role in ("user", "assistant") and is_question(plain, role):
        sections |= {"question", "decision", "next", "error", "resolution"}
        entries.append(_entry("question", sentence.text, ref, seq, value=role))
    for rule in profile.state:
        if rule.section in sections or role not in rule.roles:
            continue
        if rule.section == "error" and "resolution" in sections:  # a sentence that reports a solution is no new error
            continue
        is_value = rule.section == "value"
        if rule.under and not rule.under.is_in(under):
            continue
        for groups in rule.found_in(whole if is_value else own, count_max=_VALUES_OF_SENTENCE_MAX if is_value else 1):
            key, value = "", ""
            if is_value:
                key, value = key_of(groups.get("key", "")), groups.get("value", "").strip("\"'`").rstrip(".,;:")
                if not (key and value):
                    continue
            elif rule.section == "progress":
                value = per_cent_in(sentence.text)
            elif rule.section == "lifted":
                key = "duty" if "duty" in groups else "what"
                value = groups.get(key, "")
            sections.add(rule.section)
            if rule.section == "question":
                value = role
            entries.append(_entry(rule.section, sentence.text, ref, seq, key=key, value=value))
    return entries


def per_cent_in(text: str) -> str:
    """Return the percentage of progress that a text states ("80 %", "4 of 5") as "0" to "100"; empty if it has none."""
    if match := _PER_CENT.search(text):
        return str(int(match[1])) if int(match[1]) <= 100 else ""
    if not (match := _PARTS.search(text)):
        return ""
    count, total = int(match[1]), int(match[2])
    return str(100 * count // total) if 0 < total >= count else ""


def place_of(entry: Entry) -> tuple[str, str]:
    """Return the place of an entry in the state. A new entry with the same place replaces the old one.

    A window has one goal, one progress and one next step. Constraints and errors are the same if they have the same
    words, unless a caller gave them a key. A contested entry has the place of the rule or value that it was.
    """
    if entry.section in ("goal", "progress", "next") and not entry.key:
        return entry.section, ""
    if entry.key and not entry.ref and entry.section in ("constraint", "error"):
        return entry.section, f"of a caller: {entry.key}"
    if entry.section in ("constraint", OTHER_RULE):
        return entry.section, _place_of_rule(entry.text)
    if entry.section == CONTESTED:
        return CONTESTED, " ".join(place_of(as_stated(entry)))
    if entry.section == "error":
        return "error", " ".join(entry.text.casefold().split())
    return entry.section, entry.key or f"{entry.ref} {entry.text}"


def as_stated(current: Entry) -> Entry:
    """Return a contested entry as the rule or the value that it was; any other entry as it is."""
    if current.section != CONTESTED:
        return current
    if current.key:
        return replace(current, section="value")
    return replace(current, section="constraint", text=current.value or current.text)


def _place_of_rule(rule: str) -> str:
    """Return the words of a rule, which are equal for rules that differ only in signs and courtesy."""
    words = _CLAUSE_ENDS.sub("", rule.casefold()).split()
    return " ".join(word for word in words if word not in _PLEASE)


def _put(now: dict[tuple[str, str], Entry], entry: Entry) -> Entry | None:
    """Put an entry in its place, as the newest, and return the earlier entry if the new one contradicts it.

    An entry that is older than the entry or the removal at its place changes nothing.
    """
    place = place_of(entry)
    removal = (REMOVED, " ".join(place))
    contested = (CONTESTED, " ".join(place))
    for later in (now.get(place), now.get(removal), now.get(contested)):
        if later and _is_before(entry, later):
            return None
    now.pop(removal, None)
    now.pop(contested, None)  # a plain statement: the rule or value is certain again
    before = now.pop(place, None)
    now[place] = entry
    if before and entry.section == "constraint" and not entry.key:
        now[place] = before  # a rule that is repeated keeps its first source
    elif before and entry.ref and entry.section == "artifact" and before.text.endswith(_EDITED):
        now[place] = replace(entry, text=before.text, value=before.value)
    return before if before and _says_otherwise(before, entry) else None


def _is_before(entry: Entry, other: Entry) -> bool:
    """Say whether an entry is older than another. A caller's entry comes after all messages that existed then."""
    return (entry.seq, not entry.ref) < (other.seq, not other.ref)


def _says_otherwise(before: Entry, entry: Entry) -> bool:
    """Say whether an entry contradicts the earlier entry at its place: it sets another value or another goal."""
    if entry.section == "value":
        return before.value != entry.value
    return entry.section == "goal" and before.text.casefold().split() != entry.text.casefold().split()


def _lifted(now: dict[tuple[str, str], Entry], entry: Entry) -> Entry | None:
    """Return the constraint that an entry lifts, or None if that is not clear.

    It is clear if only one constraint has all words of the lifted rule, and these are at least half of the constraint's
    words (else the entry may lift only a part of it). "You no longer have to" lifts a duty but not a prohibition.
    """
    terms = set(terms_of(entry.value)) - _SAYS_NOTHING
    lifted_rules = []
    for current in now.values():
        if not (terms and (current.section == "constraint" or _is_rule_of_log(current))):
            continue
        rule = as_stated(current).text
        if entry.key == "duty" and bool(_NEGATIVE.search(rule)) != bool(_NEGATIVE.search(entry.value)):
            continue
        words = set(terms_of(rule)) - _SAYS_NOTHING
        if terms <= words:
            lifted_rules.append((current, 2 * len(terms) >= len(words)))
    return lifted_rules[0][0] if len(lifted_rules) == 1 and lifted_rules[0][1] else None


def _resolve(now: dict[tuple[str, str], Entry], entry: Entry) -> None:
    """Add a solution to the newest open error that it names. A statement that names no open error changes nothing.

    The success of a call is the solution of the errors of the same call.
    """
    for current in reversed([current for current in now.values() if current.section == "error" and not current.value]):
        if entry.section == SUCCESS:
            if current.ref and current.key == entry.key:
                _put_solution(now, current, entry, _SAME_CALL, shown=_SAME_CALL)
            continue
        if (resolves if entry.section == "reply" else names_error)(entry.text, current.text):
            lines = entry.text.split("\n")
            solution = next((line for line in lines if names_error(line, current.text)), lines[0])
            _put_solution(now, current, entry, solution, shown=attributed(solution, entry.speaker))
            return


def _put_solution(now: dict[tuple[str, str], Entry], error: Entry, by: Entry, solution: str, *, shown: str) -> None:
    """Replace an error by the error with its solution. Both parts name their speakers."""
    del now[place_of(error)]
    both = f"{_quotation_of(error)} -> {shown}"
    helped = replace(error, text=both, value=solution, ref=by.ref, seq=by.seq, speaker="")
    now[place_of(helped)] = helped


def _answer(now: dict[tuple[str, str], Entry], entry: Entry) -> None:
    """Close the question that shares the most words with an answer; of several such questions the newest."""
    terms = set(terms_of(entry.text))
    shared = {
        place: len(terms & set(terms_of(question.text)))
        for place, question in now.items()
        if question.section == "question"
    }
    if shared:
        del now[[place for place in shared if shared[place] == max(shared.values())][-1]]


def _close_answered(now: dict[tuple[str, str], Entry], entry: Entry) -> None:
    """Close the questions of the other side's last message with questions, if a reply surely answers them.

    Questions that stay open are marked: a later reply to them must have their words.
    """
    if entry.value:  # the message has an entry `answer`, which has closed its question already
        return
    questions = [current for current in now.values() if _is_asked_of(entry, current)]
    last = max((current.seq for current in questions), default=0)
    for current in questions:
        is_first = not current.value.endswith(REPLIED)
        if current.seq == last and is_answer(current.text, entry.text, is_first=is_first):
            del now[place_of(current)]
        elif is_first and not is_courtesy(entry.text, ""):
            now[place_of(current)] = replace(current, value=current.value + REPLIED)


def _is_asked_of(reply: Entry, current: Entry) -> bool:
    """Return whether an entry is a question that a message of the log asked, and the other side replies to."""
    if current.section != "question" or not current.ref or current.seq >= reply.seq:
        return False
    role = "user" if reply.key == OTHER_USER else reply.key
    return current.value.removesuffix(REPLIED) not in ("", role)


def _contest(now: dict[tuple[str, str], Entry], reply: Entry) -> Iterator[tuple[Entry, Entry]]:
    """Move the rules that a later message of a user may change to the section `CONTESTED`, after the user's words.

    Rules that a caller set through the API stay: only the caller or a clear statement changes them.

    Yields:
        The rules that stood in the state as if they held, each with its contested entry.
    """
    if reply.key != "user":
        return
    rules = [current for current in now.values() if _is_rule_of_log(current) and current.seq < reply.seq]
    # A sentence that became another entry, such as a value, contests no rule.
    own = {current.text: current.section for current in now.values() if current.seq == reply.seq}
    candidates = [text for text in reply.text.split("\n") if own.get(text, "constraint") == "constraint"]
    names = [value_terms(current.key) for current in now.values() if rules and _may_be_contested(current, reply.key)]
    sentences = [(text, rule_terms(text), text in own) for text in candidates if rules and not _sets_value(text, names)]
    for current in rules:
        check_wanted()
        if newer := _newer_rule(current, sentences):
            contested = _put_contested(now, current, newer, reply)
            if current.section != CONTESTED:
                yield current, contested


def _sets_value(sentence: str, names: Sequence[frozenset[str]]) -> bool:
    """Return whether a sentence has a number and the whole name of a value: it is about this value, and about no rule.

    A name of one word does not count, because a rule may be about the same thing.
    """
    if not any(map(str.isdigit, sentence)):
        return False
    terms = frozenset(terms_of(sentence))
    return any(len(name) > 1 and names_value(name, terms) for name in names)


def _is_rule_of_log(current: Entry) -> bool:
    """Return whether an entry is a rule that a message made, or such a rule that may have changed."""
    return bool(current.ref) and (current.section == "constraint" or (current.section == CONTESTED and not current.key))


def _newer_rule(current: Entry, sentences: Iterable[tuple[str, frozenset[str], bool]]) -> str:
    """Return the first sentence that may change a rule, or an empty text if no sentence may.

    Args:
        current: The rule, or the rule with the statements that may have changed it.
        sentences: The sentences, each with its words and whether it is itself a rule.
    """
    terms = rule_terms(as_stated(current).text)
    for sentence, words, is_rule in sentences:
        is_same = _place_of_rule(sentence) == _place_of_rule(as_stated(current).text)
        if not is_same and contests_rule(terms, sentence, words, is_rule=is_rule):
            return sentence
    return ""


def _contest_values(now: dict[tuple[str, str], Entry], reply: Entry) -> Iterator[tuple[Entry, Entry]]:
    """Put values among the contested entries, after a later sentence about the same thing with another value.

    People set a value again in other words than rules know: "Ann wants the renewal limit at 3". So a value whose name
    stands in a later sentence with another value is not shown as current any more. The number may also stand in the
    sentence that follows. Users contest all values, and assistants those of assistants.

    Yields:
        The values that stood in the state as current, each with its contested entry.
    """
    values = [current for current in now.values() if _may_be_contested(current, reply.key) and current.seq < reply.seq]
    own = {current.text for current in now.values() if current.section == "value" and current.seq == reply.seq}
    lines = reply.text.split("\n") if values else []
    sentences = [
        (sentence, frozenset(terms_of(first)))
        for first, following in pairwise([*lines, ""])
        if (sentence := _with_number(first, following, own))
    ]
    for current in values:
        check_wanted()
        name = value_terms(current.key)
        newer = [
            sentence
            for sentence, terms in sentences
            if names_value(name, terms) and (current.section == CONTESTED or says_other_value(current.value, sentence))
        ]
        if newer:
            contested = _put_contested(now, current, newer[-1], reply)
            if current.section != CONTESTED:
                yield current, contested


def _with_number(sentence: str, following: str, values: Collection[str]) -> str:
    """Return a sentence that may set a value, with the sentence after it if only that has a number.

    It is empty for a question, and for a sentence that is an entry of its own.
    """
    if sentence in values or sentence.endswith("?"):
        return ""
    has_number = any(map(str.isdigit, sentence))
    is_next = any(map(str.isdigit, following)) and following not in values and not following.endswith("?")
    return f"{sentence} {following}" if is_next and not has_number else sentence


def _may_be_contested(current: Entry, role: str) -> bool:
    """Return whether a message of a role may contest an entry: it is a value that the log set."""
    is_value = bool(current.ref and current.key) and current.section in ("value", CONTESTED)
    return is_value and (role in ("user", OTHER_USER) or (current.speaker or current.text).startswith(role))


def _put_contested(now: dict[tuple[str, str], Entry], current: Entry, newer: str, by: Entry) -> Entry:
    """Replace an entry by a contested one: the newer statement, then those before. Each names its speaker.

    Of a rule the first statement stays, too.
    """
    before = current.text.split(_BEFORE) if current.section == CONTESTED else [_quotation_of(current)]
    newer = attributed(newer, by.speaker)
    before = [statement for statement in before if statement.rpartition(" (")[0] != newer]  # said again
    kept = before[:_BEFORE_MAX] if current.key else [*before[:-1][: _BEFORE_MAX - 1], *before[-1:]]
    text = _BEFORE.join([f"{newer} ({by.ref})", *kept])
    now.pop(place_of(current), None)
    value = current.text if current.section == "constraint" else current.value
    contested = replace(current, section=CONTESTED, text=text, value=value, ref=by.ref, seq=by.seq, speaker="")
    now[place_of(contested)] = contested
    return contested


def _line(entry: Entry) -> str:
    """Return an entry as a line of the state's text."""
    status = f"[{entry.value}] " if entry.section == SUB_GOAL else ""
    return f"- {status}{_quotation_of(entry)}"


def _quotation_of(entry: Entry) -> str:
    """Return the text of an entry with its speaker and its ref. The text of a contested rule has both already."""
    text = attributed(entry.text, entry.speaker)
    return f"{text} ({entry.ref})" if entry.ref and entry.section != CONTESTED else text


def _entries_in(text: str) -> dict[tuple[str, str], StateChange]:
    """Return the entries of a state text, keyed by section and line."""
    sections = {
        f"{title}:": name for name, title in [*WHOLE.items(), *((section, SHARES[section][0]) for section in SHARES)]
    }
    texts, section = {}, ""
    for line in text.split("\n"):
        section = sections.get(line, section)
        if section and line.startswith("- "):
            ref = _REF_OF_LINE.search(line)
            texts[section, line] = StateChange(section, ref[1] if ref else "")
    return texts


def key_of(text: str) -> str:
    """Return a key that is equal for all spellings of a name: `the staging port`, `stagingPort`, `STAGING_PORT`."""
    words = _KEY_SIGNS.sub(" ", _CAMEL.sub(" ", text).casefold()).strip()
    return _NO_KEY.sub("", words)[:KEY_CHARS_MAX]


def _entry(section: str, text: str, ref: str, seq: int, *, key: str = "", value: str = "") -> Entry:
    return Entry(section=section, key=key, text=text, value=value, ref=ref, seq=seq)


def call_arguments(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call; empty if they are not a JSON object."""
    try:
        fields = orjson.loads(call.arguments_json or "{}")
        fields = orjson.loads(fields) if isinstance(fields, str) else fields
    except orjson.JSONDecodeError:
        return {}
    return fields if isinstance(fields, dict) else {}


def files_in(call: ToolCall) -> list[tuple[str, str]]:
    """Return the paths of the files that a call of a tool names, each with "edited" or "read".

    The name of the tool says whether it edits, such as `write_file`, unless its argument `command` only looks.
    """
    fields = call_arguments(call)
    words = [word.lower() for word in _WORD_OF_NAME.findall(call.name)]
    does_edit = any(map(_EDITS.match, words)) and fields.get("command") not in _LOOKS
    did = "edited" if does_edit else "read"
    paths = [value for name in PATH_ARGUMENTS for value in _several(fields.get(name))]
    return [(path, did) for path in dict.fromkeys(paths) if path][:_PATHS_OF_CALL_MAX]


def is_edited(entry: Entry) -> bool:
    """Return whether an entry is about a file that was edited."""
    return entry.section == "artifact" and entry.text.endswith(_EDITED)


def _several(value: object) -> list[str]:
    """Return an argument, a text or a list, as a list of the texts that can be paths."""
    several = value if isinstance(value, list) else [value]
    return [
        summary
        for summary in several
        if isinstance(summary, str) and len(summary) <= KEY_CHARS_MAX and summary.isprintable()
    ]
