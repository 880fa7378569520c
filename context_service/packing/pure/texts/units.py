"""Units: lines of a log's messages that a summary may quote word for word, each with its ref.

A summary is a choice of units and adds no words of its own, so each statement in it has a source in the log.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from context_service.contexts.model import Message
from context_service.kernel.rendering.turns import result_text
from context_service.packing.pure.texts.quotation import CONTROLS, speaker_of
from context_service.profiles.pure.profiles import LineRule, Pattern, Profile
from context_service.windows.pure.refs import ref_of
from service_runtime.inputs.documents import check_wanted

UNIT_CHARS_MAX = 240  # the most characters of a unit
UNITS_OF_MESSAGE_MAX = 16
TEXT_BYTES_MAX = 1024 * 1024  # only these first bytes of a text are searched
MATCHES_MAX = 1_000  # the most matches of a rule in a text: further matches are more of the same
NAMES_MAX = 40  # the most names that are taken from a text
_END_BYTES = 8_192  # in a text with too many matches, the matches in these last bytes are found, too
TOTAL, _TOTAL_WEIGHT = "total", 0.5  # the kind of last lines of lists
_ROWS = 4  # the lines above a total that are compared with it
_NUMBER = re.compile(r"[0-9]+(?:[.,:/-][0-9]+)*")
_WORDS = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)*")
STATEMENT, _STATEMENT_WEIGHT = "statement", 0.9  # the kind of lines of messages that end an assistant's turn
_LINE = Pattern(r"[^\n]*\pL[^\n]*")
_UNITS_OF_KIND_MAX = 6  # the most units of a kind from one text
_NAMED_CHARS = 65_536  # only these first characters of a text are searched for names

_NO_TOOLS: Mapping[str, str] = {}
_CUT_WITHIN = 80  # a unit is cut at a space within this many characters before its end
# Names of things: numbers of tickets and orders, people with a title, paths, dotted, snake-case and camel-case names.
_NAME = Pattern(
    r"\b(?:[A-Z]{2,10}-[0-9]+|[A-Z]-[0-9]{3,})(?:-[0-9]+)*\b|"
    r"\b(?i:order|ticket|invoice|case|customer|account|contract|rma)(?: (?i:no\.?|number))? ?#?[0-9][0-9-]{2,}\b"
    r"|\b(?:Mrs?|Ms|Dr|Prof|Herr|Frau|Mme|Sra?)\.? \p{Lu}[\pL'-]+|(?:[\pL\pN_.-]*/)+[\pL\pN_.-]+|"
    r"[\pL\pN_]+(?:\.[\pL\pN_]+)+|[A-Za-z]+(?:_\w+)+"
    r"|\b[a-z]+[A-Z]\w+\b|\b[A-Z]\w+[A-Z]\w*\b|#[0-9]+"
)
_NO_NAME = re.compile(
    r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|PASS|PASSED|FAIL|FAILED|SKIPPED|TODO|OK|HTTP|"
    r"GET|POST|PUT|"
    r"PATCH|DELETE|UTC|(?:AES|GMT|ISO|MD|RFC|SHA|UTC|UTF)-\d+)|(?:self|this|cls|super)\..*|[\d.,:/-]*\d[\d.,:/-]*[a-z%]{0,2}"
)
# A word of letters only, with no sign or digit next to it: names and numbers do not match.
_WORD_OF_FORM = re.compile(r"(?<![^\s(\"'])[^\W\d_]+(?=[\s.,:;!?)\"']|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A line of a message that a summary or a mask may keep.

    Attributes:
        kind: The kind of the line, as the profile names it.
        text: The line; a long line is cut at a word.
        ref: The ref of the part that has the line.
        weight: The weight of the kind in the profile, 0 to 1. Many lines of a kind in one output weigh less each.
        speaker: Who said it, from `quotation.speaker_of`.
    """

    kind: str
    text: str
    ref: str
    seq: int
    weight: float
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class SpokenText:
    """A text of a message, with its speaker and its part; `is_data` marks JSON that was sent and not spoken."""

    role: str
    text: str
    part: int
    is_error: bool = False
    is_data: bool = False
    speaker: str = ""


def said_in(message: Message, tools: Mapping[str, str] = _NO_TOOLS) -> Iterator[SpokenText]:
    """Yield the texts of a message: its content, and the texts, data and tool results of its parts.

    Args:
        message: The message.
        tools: The names of the tools whose results the message has, by the refs of the results. A result that is not
            in it gets the name of the message, if the message is a tool's.
    """
    is_imported = message.is_imported
    speaker = speaker_of(message.role, message.name, is_imported=is_imported)
    of_message = message.name if message.role == "tool" else ""
    if message.role == "tool":
        speaker = speaker_of("tool", tools.get(ref_of(message.seq, 0), of_message), is_imported=is_imported)
    if message.content:
        yield SpokenText(message.role, message.content, 0, speaker=speaker)
    for number, part in enumerate(message.parts, 1):
        if part.tool_result:
            text = result_text(part.tool_result.content_json)
            by = speaker_of("tool", tools.get(ref_of(message.seq, number), of_message), is_imported=is_imported)
            yield SpokenText("tool", text, number, part.tool_result.is_error, speaker=by)
        elif part.text:
            yield SpokenText(message.role, part.text, number, speaker=speaker)
        elif part.data_json:
            yield SpokenText(message.role, part.data_json, number, is_data=True, speaker=speaker)


def own_texts(message: Message) -> list[str]:
    """Return the texts that the author of a message said, without data, files and results of tools."""
    return [said.text for said in said_in(message) if said.role == message.role and not said.is_data]


def units_of(message: Message, profile: Profile, tools: Mapping[str, str] = _NO_TOOLS) -> list[Unit]:
    """Return the units of a message in their order, at most `UNITS_OF_MESSAGE_MAX`, those with the greatest weight.

    Args:
        message: The message.
        profile: The compression profile, whose rules find the lines.
        tools: As in `said_in`.
    """
    by_text: dict[str, tuple[tuple[int, int], Unit]] = {}
    for spoken_text in said_in(message, tools):
        check_wanted()
        data = spoken_text.text.encode(errors="replace")[:TEXT_BYTES_MAX]
        low = [rule.line for rule in profile.low if spoken_text.role in rule.roles]
        for rule in profile.high:
            if spoken_text.role not in rule.roles:
                continue
            count, lines = 0, lines_of(rule, data)
            weight = rule.weight / math.sqrt(len(lines) or 1) if spoken_text.role == "tool" else rule.weight
            for start, line in _from_both_ends(lines):
                text = _text(line)
                if not text or any(pattern.is_in(line) for pattern in low):
                    continue
                if text not in by_text or by_text[text][1].weight < weight:
                    ref = ref_of(message.seq, spoken_text.part)
                    unit = Unit(
                        kind=rule.kind, text=text, ref=ref, seq=message.seq, weight=weight, speaker=spoken_text.speaker
                    )
                    by_text[text] = (spoken_text.part, start), unit
                count += 1
                if count == _UNITS_OF_KIND_MAX:
                    break
        total = _total(spoken_text, message)
        if total and total.text not in by_text and not any(pattern.is_in(total.text.encode()) for pattern in low):
            by_text[total.text] = (spoken_text.part, len(spoken_text.text)), total
    for place, unit in _statements(message, profile):
        if unit.text not in by_text or by_text[unit.text][1].weight < unit.weight:
            by_text[unit.text] = place, unit
    best = sorted(by_text.values(), key=lambda item: (-item[1].weight, item[0]))[:UNITS_OF_MESSAGE_MAX]
    return [unit for _, unit in sorted(best, key=lambda item: item[0])]


def _statements(message: Message, profile: Profile) -> Iterator[tuple[tuple[int, int], Unit]]:
    """Yield the first and the last lines of an assistant's message that calls no tool, each with its place.

    Such a message ends a turn: it concludes, asks, decides or says what comes next. The words beside a call only
    announce it.
    """
    if message.role != "assistant" or any(part.tool_call for part in message.parts):
        return
    low = [rule.line for rule in profile.low if message.role in rule.roles]
    for spoken_text in said_in(message):
        data = spoken_text.text.encode(errors="replace")[:TEXT_BYTES_MAX]
        spans = _LINE.spans(data, count_max=MATCHES_MAX)
        lines = [(start, data[start:end]) for start, end in spans]
        for start, line in [] if spoken_text.is_data else list(_from_both_ends(lines))[:_UNITS_OF_KIND_MAX]:
            text = _text(line)
            if text and not any(pattern.is_in(line) for pattern in low):
                unit = Unit(
                    kind=STATEMENT,
                    text=text,
                    ref=ref_of(message.seq, spoken_text.part),
                    seq=message.seq,
                    weight=_STATEMENT_WEIGHT,
                    speaker=spoken_text.speaker,
                )
                yield (spoken_text.part, start), unit


def _total(spoken_text: SpokenText, message: Message) -> Unit | None:
    """Return the last line of a tool's list if it is not a row of the list, or None.

    The rows of a list have one shape: words and numbers between the same signs. A last line of another shape, with a
    word and a number, says what the list comes to: "69 of 872 open messages are older than 48 h".
    """
    if spoken_text.role != "tool":
        return None
    lines = spoken_text.text[-_END_BYTES:].rstrip().split("\n")[-_ROWS - 1 :]
    shapes = [shape_of(line) for line in lines]
    rows = shapes[:-1]
    if len(rows) < _ROWS or max(map(rows.count, rows)) < _ROWS - 1 or shapes[-1] in rows:
        return None
    text = _text(lines[-1].encode(errors="replace"))
    if not (text and _NUMBER.search(text) and _WORDS.search(text)):
        return None
    ref = ref_of(message.seq, spoken_text.part)
    return Unit(kind=TOTAL, text=text, ref=ref, seq=message.seq, weight=_TOTAL_WEIGHT, speaker=spoken_text.speaker)


def shape_of(line: str) -> str:
    """Return the shape of a line: each number and each run of words is one letter, and the other signs stay."""
    return _WORDS.sub("a", _NUMBER.sub("0", line.rstrip()))


def kinds_in(texts: Iterable[SpokenText], profile: Profile) -> set[str]:
    """Return the kinds of all units that the profile's rules find in texts."""
    kinds: set[str] = set()
    for text in texts:
        data = text.text.encode(errors="replace")[:TEXT_BYTES_MAX]
        low = [rule.line for rule in profile.low if text.role in rule.roles]
        for rule in profile.high:
            if text.role not in rule.roles or rule.kind in kinds:
                continue
            lines = lines_of(rule, data)
            if any(_text(line) and not any(pattern.is_in(line) for pattern in low) for _, line in lines):
                kinds.add(rule.kind)
    return kinds


def lines_of(rule: LineRule, data: bytes) -> list[tuple[int, bytes]]:
    """Return the lines of a text that a rule matches, each with the position of its first byte.

    If more than `MATCHES_MAX` lines match, only the first ones and those at the end of the text are returned.
    """
    spans = rule.lines.spans(data, count_max=MATCHES_MAX)
    if len(spans) == MATCHES_MAX:
        at = data.find(b"\n", max(spans[-1][1], len(data) - _END_BYTES)) + 1 or len(data)
        spans += [(at + begin, at + end) for begin, end in rule.lines.spans(data[at:], count_max=_END_BYTES)]
    lines = []
    for begin, end in spans:
        start = data.rfind(b"\n", begin, end) + 1 or begin  # the match may include empty lines before the line
        lines.append((start, data[start:end]))
    return lines


def names_of(text: str) -> set[str]:
    """Return the names in a text: of files, identifiers, tickets, orders and people, at most the first `NAMES_MAX`.

    Log levels, numbers and attributes such as `self.invoice` do not count as names.
    """
    data = text[:_NAMED_CHARS].encode(errors="replace")
    names = (data[start:end].decode(errors="replace") for start, end in _NAME.spans(data, count_max=NAMES_MAX))
    return {name for name in names if not _NO_NAME.fullmatch(name)}


def form_of(text: str) -> str:
    """Return a line without names and numbers, in lower case.

    Two lines that say the same about different things have the same form.
    """
    check_wanted()
    return " ".join(_WORD_OF_FORM.findall(text.casefold()))


def names_in(message: Message) -> set[str]:
    """Return the names in a message, including those in the arguments of its calls."""
    names = {name for spoken_text in said_in(message) for name in names_of(spoken_text.text)}
    for part in message.parts:
        if part.tool_call:
            names |= names_of(part.tool_call.arguments_json)
    return names


def _from_both_ends(lines: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield the first line, the last, the second, the last but one and so on.

    The important lines of an output are at its ends, and callers stop after some lines.
    """
    for number in range((len(lines) + 1) // 2):
        yield lines[number]
        if number != len(lines) - 1 - number:
            yield lines[-1 - number]


def _text(line: bytes) -> str:
    """Return a line as the text of a unit, cut at a space if it is long; empty if a long line has no space there."""
    text = line[: 8 * UNIT_CHARS_MAX].decode(errors="ignore").translate(CONTROLS).strip()
    if len(text) <= UNIT_CHARS_MAX:
        return text
    space = text.rfind(" ", UNIT_CHARS_MAX - _CUT_WITHIN, UNIT_CHARS_MAX)
    return f"{text[:space].rstrip()} …" if space > 0 else ""
