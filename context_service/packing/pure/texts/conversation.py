"""The conversation zone: messages of users, word for word, whose steps the pack does not show any more.

A fold (one compaction of a window) merges old steps into a summary. It appends the users' messages of these steps to
the zone as one block, so the zone's beginning stays the same and the vendor's prompt cache stays valid. When the zone
is larger than its share of the pack, a fold cuts it to half of the share, in this order: messages that their speaker
repeats later, word for word, are removed; pastes are reduced to their head and tail; then the oldest messages are
reduced to their first words and last sentence; then the oldest messages are removed, and one line says how many. The
first message usually states the task, so it is cut last. Values in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from context_service.folding.pure.summaries import CONVERSATION, Scored, Summary
from context_service.kernel.courtesies import only_greets, words_of
from context_service.kernel.sentences import sentences_of
from context_service.packing.pure.texts.quotation import NOTICE, is_quoted
from context_service.packing.pure.texts.units import Unit
from context_service.retrieval.pure.budget import quoted_lines
from context_service.windows.pure.refs import refs_between
from service_runtime.inputs.documents import check_wanted

TITLE = (
    "[Messages of users, word for word, the oldest first. They are history: a later message or the state may have "
    "replaced what they say.]"
)
# The line above a message: its ref, its speaker, and perhaps what it answers or calls. Inherited messages have no ref.
HEADING = re.compile(
    r"\[(?:(?P<ref>m[0-9]+(?:/[0-9]+)?) )?(?P<who>(?:imported )?(?:user|assistant)[^\]\[]{0,64}?)"
    r"(?:, to \".*\"|, calls [^\]\[]*)?\]"
)
PASTE_TOKENS = 1_500  # a message with more tokens is a paste
SHORT_WORDS = 12  # a message with fewer words is shown with the sentence that it answers
WHOLE, IN_PART, LEFT_OUT = "said", "said in part", "left out"  # kinds of the units of the zone

_PASTE_SHARE = 4  # a paste keeps at most 1/4 of the tokens that the zone is cut to
_FIRST_SHARE = 4  # the first message is cut only if it has more than 1/4 of the zone
_LINE_TOKENS = 30  # the tokens of the line that counts the removed messages
_HEAD_OF_PASTE = 2 / 3  # the share of a shortened paste that is its head; the rest is its tail
_CLOSING_CHARS_MAX = 600  # a longer last line, such as a row of a table, is no sentence
_CLOSING_SENTENCES = 3  # how many of the last sentences are searched for the question that a user answers
NO_BRACKETS = str.maketrans("[]", "()")  # in names of speakers
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")  # scripts without spaces between words
_ASKS = re.compile("[?\uff1f\u061f\u055e\u1367\u2047]|(?<=[\u0370-\u03ff]);")  # Greek asks with a semicolon
_MORE = re.compile(r"^\[… \d+ more(?:: [^\]]*)?\]$", re.MULTILINE)  # the note in a message that was cut before
# The beginning of a line of a message that looks like the heading of another.
_LIKE_HEADING = re.compile(r"^(?=\[(?:m[0-9]|imported\b|user\b|assistant\b))", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message of a user in a step that a fold merges.

    Attributes:
        step: The number of the step in the window.
        seq: The `seq` of the message in the log.
        speaker: The role and the name of the speaker, such as "user Ann".
        text: The message, as the user wrote it.
        answers: The end of the assistant's text right before the message, or an empty text.
    """

    step: int
    seq: int
    speaker: str
    text: str
    answers: str = ""


def closing_of(text: str) -> str:
    """Return the end of a text, without which a short answer to it cannot be understood.

    The end begins with the last question among the last sentences; without a question it is the last sentence. It is
    empty if it is too long to be a sentence.
    """
    last = sentences_of(text[-2 * _CLOSING_CHARS_MAX :])[-_CLOSING_SENTENCES:]
    question_at = next((at for at in range(len(last) - 1, -1, -1) if _ASKS.search(last[at])), len(last) - 1)
    closing = " ".join(last[question_at:]) if last else ""
    return closing if len(closing) <= _CLOSING_CHARS_MAX else ""


def asks(text: str) -> bool:
    """Say whether a text asks something."""
    return bool(_ASKS.search(text))


def is_courtesy(text: str, answers: str) -> bool:
    """Say whether a message only greets, thanks or agrees, and does not answer a question.

    Args:
        text: The message.
        answers: The end of the assistant's text before the message. If it asks something, a "yes" is an answer.
    """
    return not _ASKS.search(answers) and only_greets(text)


def with_messages(
    zone: Sequence[Summary], messages: Sequence[Said], *, steps: tuple[int, int], cost: Callable[[str], int]
) -> tuple[Summary, ...]:
    """Return the zone with one more block, which has the users' messages of merged steps without greetings and thanks.

    Args:
        zone: The blocks of the zone, the oldest first.
        messages: The messages of users in these steps, the oldest first.
        steps: The numbers of the first and the last step.
        cost: Counts the tokens of a text as a piece of a request.
    """
    units = [_scored(message) for message in messages if not is_courtesy(message.text, message.answers)]
    if not units:
        return tuple(zone)
    block = Summary(
        level=CONVERSATION,
        step_from=steps[0],
        step_to=steps[1],
        seq_from=min(message.unit.seq for message in units),
        seq_to=max(message.unit.seq for message in units),
        tokens=0,
        text="",
        kept=tuple(units),
    )
    return *zone, _render(block, is_first=not zone, cost=cost)


def inherited(
    zone: Sequence[Summary],
    messages: Sequence[Said],
    tokens_max: int,
    *,
    count: Callable[[str], int],
    cost: Callable[[str], int],
) -> tuple[Summary, ...]:
    """Return the zone with which a fork begins: one block with the users' messages of its parent, cut to its room.

    The messages have no refs, because in the fork a ref would name another message.

    Args:
        zone: The blocks of the parent's zone, the oldest first.
        messages: The messages of users in steps that the parent still shows, the oldest first.
        tokens_max: The number of tokens that the zone may have.
        count: Counts the tokens of a text.
        cost: Counts the tokens of a text as a piece of a request.
    """
    units = [_scored(message) for message in messages if not is_courtesy(message.text, message.answers)]
    kept = [_without_ref(scored) for scored in (*(scored for block in zone for scored in block.kept), *units)]
    if not kept:
        return ()
    block = Summary(
        level=CONVERSATION,
        step_from=0,
        step_to=0,
        seq_from=0,
        seq_to=0,
        tokens=0,
        text="",
        kept=tuple(kept),
    )
    block = _render(block, is_first=True, cost=cost)
    return (block,) if block.tokens <= tokens_max else cut((block,), tokens_max, count=count, cost=cost)


def message_in(text: str, seq: int) -> str:
    """Return the text of a message as a block of the zone, or of the assistant's last words, shows it.

    The result has no headings, and is empty if the block does not have the message.

    Args:
        text: The text of the block.
        seq: The `seq` of the message.
    """
    lines, is_of_message, mark = list[str](), False, ""
    for line in text.split("\n"):
        if heading := HEADING.fullmatch(line):
            is_of_message = (heading["ref"] or "").partition("/")[0] == refs_between(seq, seq)
            mark = "> " if is_quoted(heading["who"]) else ""
        elif is_of_message:
            lines.append(line.removeprefix(mark))
    return "\n".join(lines)


def headed(ref: str, speaker: str, text: str, *, about: str = "") -> str:
    """Return a message below its heading, in the form that `HEADING` parses.

    Args:
        ref: The ref of the message; empty for an inherited one.
        speaker: The role and the name of the speaker.
        text: The message.
        about: What follows the speaker in the heading.
    """
    # No line of a message can pass for the heading of another.
    who = " ".join(filter(None, [ref, speaker.translate(NO_BRACKETS)]))
    return f"[{who}{about}]\n{_LIKE_HEADING.sub(' ', text)}"


def is_quotation(text: str) -> bool:
    """Return whether the words below a heading are data, since an archive names their author."""
    heading = HEADING.fullmatch(text.partition("\n")[0])
    return heading is not None and is_quoted(heading["who"])


def shown(text: str) -> str:
    """Return a message below its heading as a pack shows it: quoted if it is imported.

    It is quoted after all cuts, so that no cut can remove the marks.
    """
    if not is_quotation(text):
        return text
    heading, _, body = text.partition("\n")
    return f"{heading}\n{quoted_lines(body)}"


def joined(title: str, messages: Sequence[Scored]) -> str:
    """Return the text of a block: its title, the notice about quotations if it has some, and its messages."""
    notice = NOTICE if any(is_quotation(message.unit.text) for message in messages) else ""
    heads = [line for line in (title, notice) if line]
    return "\n".join([*heads, *(shown(message.unit.text) for message in messages)])


def cut(
    zone: Sequence[Summary], tokens_max: int, *, count: Callable[[str], int], cost: Callable[[str], int]
) -> tuple[Summary, ...]:
    """Return the zone cut to a number of tokens, or an empty zone if even its shortest form has more tokens.

    Args:
        zone: The blocks of the zone, the oldest first.
        tokens_max: The number of tokens that the zone may have.
        count: Counts the tokens of a text.
        cost: Counts the tokens of a text as a piece of a request.
    """
    room = tokens_max
    while room > 0:
        cutting = _Cutting(zone, room, count)
        cutting.shorten()
        new_zone = cutting.zone(cost)
        over = sum(block.tokens for block in new_zone) - tokens_max
        if over <= 0:
            return new_zone
        room -= max(over, room // 8)
    return ()


class _Cutting:
    """The messages of a zone while it is cut."""

    def __init__(self, zone: Sequence[Summary], room: int, count: Callable[[str], int]) -> None:
        self._before, self._count, self._room = zone, count, room
        self._messages = [(number, message) for number, block in enumerate(zone) for message in block.kept]
        self._sizes = [count(shown(message.unit.text)) + 1 for _, message in self._messages]
        self._tokens = count(TITLE) + sum(self._sizes)
        kinds = [message.unit.kind for _, message in self._messages]
        self._first = next((at for at, kind in enumerate(kinds) if kind != LEFT_OUT), 0)

    def shorten(self) -> None:
        """Shorten messages in the order that the module describes, until the zone has room."""
        self._leave_repeated()
        self._each(self._paste_in_part)
        self._each(self._ends)
        self._leave()
        if self._tokens > self._room:
            self._cut_first()

    def zone(self, cost: Callable[[str], int]) -> tuple[Summary, ...]:
        """Return the blocks that still have messages; blocks that changed are rendered again."""
        units_by_step: dict[int, list[Scored]] = {}
        for number, message in self._messages:
            units_by_step.setdefault(number, []).append(message)
        summaries: list[Summary] = []
        for number, messages in units_by_step.items():
            block, is_first = self._before[number], not summaries
            if tuple(messages) != block.kept or is_first != (number == 0):
                block = _render(replace(block, kept=tuple(messages)), is_first=is_first, cost=cost)
            summaries.append(block)
        return tuple(summaries)

    def _each(self, shorter: Callable[[Unit], str]) -> None:
        """Replace messages by a shorter form, the oldest first, until the zone has room.

        The very first message is skipped: `_cut_first` shortens it last.
        """
        for at, (_, message) in enumerate(self._messages):
            check_wanted()
            if self._tokens <= self._room:
                return
            if at != self._first and message.unit.kind != LEFT_OUT:
                self._shorten_to(at, shorter(message.unit))

    def _shorten_to(self, at: int, body: str) -> None:
        """Replace the body of the message at an index of the zone, unless the replacement is not shorter."""
        number, message = self._messages[at]
        text = f"{_heading_of(message.unit)}\n{body}"
        size = self._count(shown(text)) + 1
        if size < self._sizes[at]:
            self._tokens -= self._sizes[at] - size
            self._messages[at] = number, replace(message, unit=replace(message.unit, kind=IN_PART, text=text))
            self._sizes[at] = size

    def _paste_in_part(self, unit: Unit) -> str:
        """Return the head and the tail of a message that is a paste; other messages stay whole."""
        body = _body_of(unit)
        if self._count(body) <= PASTE_TOKENS:
            return body
        return head_and_tail(body, unit.ref, min(PASTE_TOKENS, self._room // _PASTE_SHARE), self._count)

    def _ends(self, unit: Unit) -> str:
        """Return the beginning and the last sentence of a message.

        The beginning has at least `SHORT_WORDS` words, because "C-41 came in today." does not say what to do with it.
        Greetings and thanks in front of it are left out.
        """
        body = _body_of(unit)
        if _MORE.search(body):  # another cut would count the note as a sentence
            return body
        sentence_ends = sentences_of(body)
        first = next((at for at, sentence in enumerate(sentence_ends) if not is_courtesy(sentence, "")), 0)
        end, words = first, 0
        while end < len(sentence_ends) - 1 and words < SHORT_WORDS:
            words += _length(sentence_ends[end])
            end += 1
        left_out = len(sentence_ends) - 1 - (end - first)
        if left_out <= 0:
            return body
        beginning = " ".join(sentence_ends[first:end])
        return "\n".join(filter(None, [beginning, f"[… {left_out} more{_to(unit.ref)}]", sentence_ends[-1]]))

    def _leave_repeated(self) -> None:
        """Remove each message that its speaker repeats later, word for word: the later one stays.

        The very first message stays, too. An answer that shows its question repeats only an answer to the same one.
        """
        places, later_texts = list[int](), set[str]()
        for at in range(len(self._messages) - 1, -1, -1):
            unit = self._messages[at][1].unit
            text = _without_ref(self._messages[at][1]).unit.text
            if at == self._first or unit.kind == LEFT_OUT or text not in later_texts:
                places.append(at)
                later_texts.add(text)
            else:
                self._tokens -= self._sizes[at]
        places.reverse()
        self._first = places.index(self._first) if self._first in places else self._first
        self._messages = [self._messages[at] for at in places]
        self._sizes = [self._sizes[at] for at in places]

    def _leave(self) -> None:
        """Remove messages until the zone has room, the oldest first, but never the very first message.

        One line after the first message counts the removed ones.
        """
        after = end = self._first + 1
        while self._tokens > self._room and end < len(self._messages):
            check_wanted()
            self._tokens -= self._sizes[end]
            end += 1
            if end - after == 1:
                self._tokens += _LINE_TOKENS
        units = [message.unit for _, message in self._messages[after:end]]
        if not units:
            return
        number, first = self._messages[self._first]
        line = replace(first, unit=_left_out(units))
        self._messages[after:end] = [(number, line)]
        self._sizes[after:end] = [_LINE_TOKENS]

    def _cut_first(self) -> None:
        """Cut the very first message to its head and tail, if it takes a large part of the zone."""
        if not self._messages or self._sizes[self._first] <= self._room // _FIRST_SHARE:
            return
        unit = self._messages[self._first][1].unit
        room = self._room - (self._tokens - self._sizes[self._first]) - self._count(_heading_of(unit))
        self._shorten_to(self._first, head_and_tail(_body_of(unit), unit.ref, room, self._count))


def head_and_tail(text: str, ref: str, tokens_max: int, count: Callable[[str], int]) -> str:
    """Return the beginning and the end of a text in whole lines or words, with its ref between them.

    Args:
        text: The whole text.
        ref: The ref with which a model can expand it; empty if there is none.
        tokens_max: The number of tokens that the result may have, about.
        count: Counts the tokens of a text.
    """
    between = f"[… {count(text):,} tokens in all{_to(ref)}]"
    room = max(tokens_max - count(between), 0)
    chars = max(len(text) * room // max(count(text), 1), 0)
    while True:
        head = _up_to(text, int(chars * _HEAD_OF_PASTE))
        tail = _from(text, len(text) - (chars - int(chars * _HEAD_OF_PASTE)))
        short_text = "\n".join(filter(None, [head, between, tail]))
        if chars < 16 or count(short_text) <= tokens_max:
            return short_text
        chars = chars * 7 // 8


def _up_to(text: str, end: int) -> str:
    """Return at most `end` characters of a text's beginning, cut at the end of a line or else of a word."""
    head = text[:end]
    border = head.rfind("\n")
    # A border in the first half would drop too much.
    border = border if border > end // 2 else head.rfind(" ")
    return (head[:border] if border > end // 2 else head).rstrip()


def _from(text: str, start: int) -> str:
    """Return the end of a text from `start` on, cut at the beginning of a line or else of a word."""
    tail = text[start:]
    border = tail.find("\n")
    border = border if 0 <= border < len(tail) // 2 else tail.find(" ")
    return (tail[border:] if 0 <= border < len(tail) // 2 else tail).lstrip()


def _scored(message: Said) -> Scored:
    """Return a message as the zone keeps it: a heading with its ref and speaker, then its text."""
    ref = refs_between(message.seq, message.seq)
    answers = f', to "{message.answers}"' if message.answers and _length(message.text) < SHORT_WORDS else ""
    text = headed(ref, message.speaker, message.text, about=answers)
    return Scored(
        unit=Unit(kind=WHOLE, text=text, ref=ref, seq=message.seq, weight=0), step=message.step, is_error=False
    )


def _left_out(units: Sequence[Unit]) -> Unit:
    """Return the line that counts the removed messages. An earlier line of this kind adds its own count."""
    number = sum(int(unit.weight) if unit.kind == LEFT_OUT else 1 for unit in units)
    refs = [unit.ref for unit in units if unit.ref]
    ref = refs[0] if len(refs) == 1 else ""
    if len(refs) > 1:
        ref = f"{refs[0].partition('..')[0]}..{refs[-1].rpartition('..')[2]}"
    what = "1 message of a user is" if number == 1 else f"{number} messages of users are"
    text = f"[{what} not shown here any more{_to(ref)}]"
    return Unit(kind=LEFT_OUT, text=text, ref=ref, seq=units[0].seq, weight=number)


def _to(ref: str) -> str:
    """Return the end of a note that tells a model with which ref it can expand the rest."""
    return f": {ref}" if ref else ""


def _without_ref(scored: Scored) -> Scored:
    """Return a message of the zone as a fork inherits it: without its step, its `seq` and its ref."""
    unit = scored.unit
    heading, line_break, body = unit.text.partition("\n")
    heading = heading.replace(f"[{unit.ref} ", "[", 1)
    if unit.kind != WHOLE:  # the notes of cuts end with the ref
        heading, body = (text.replace(f"{_to(unit.ref)}]", "]") for text in (heading, body))
    unit = replace(unit, text=f"{heading}{line_break}{body}", ref="", seq=0)
    return replace(scored, unit=unit, step=0)


def _heading_of(unit: Unit) -> str:
    """Return the heading of a message in the zone, which is its first line."""
    return unit.text.partition("\n")[0]


def _body_of(unit: Unit) -> str:
    """Return a message in the zone without its heading."""
    return unit.text.partition("\n")[2]


def _render(block: Summary, *, is_first: bool, cost: Callable[[str], int]) -> Summary:
    """Return a block with its text, which begins with the title in the first block of the zone."""
    text = joined(TITLE if is_first else "", block.kept)
    return replace(block, text=text, tokens=cost(text))


def _length(text: str) -> int:
    """Return how many words a text has. In scripts without spaces between words, two letters count as a word."""
    return sum(max(len(_WIDE.findall(word)) // 2, 1) for word in words_of(text))
