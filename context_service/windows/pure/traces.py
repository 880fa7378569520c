"""Where messages are in the packs of a window: all forms of a message, and the lines that they show.

At first packs show a message verbatim. A fold (one compaction) may clear its tool results; later folds may merge its
step into a segment, the segment into a digest, and the digest into deeper ones. Each form begins with the epoch of a
break of the packs' prefix, and ends with the epoch of another break.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from context_service.contexts.model import Message
from context_service.folding.pure.summaries import CONVERSATION as OF_CONVERSATION
from context_service.folding.pure.summaries import LAST_WORDS as OF_LAST_WORDS
from context_service.folding.pure.summaries import SEGMENT
from context_service.packing.model import CONVERSATION, LAST_WORDS, NOTE, PIN, RECALLED, STEP
from context_service.packing.pure.texts.conversation import message_in
from context_service.packing.pure.texts.units import said_in
from context_service.windows.pure import refs
from context_service.windows.pure.pieces import parsed_pieces
from service_runtime.inputs.documents import check_wanted

VERBATIM, CLEARED, A_SEGMENT, A_DIGEST = "verbatim", "cleared", "segment", "digest"
_OF_MESSAGES = {OF_CONVERSATION: CONVERSATION, OF_LAST_WORDS: LAST_WORDS}  # blocks of whole messages, by level
LEFT_OUT, UNREAD = "left_out", "unread"
LINES_MAX, LINE_CHARS_MAX = 50, 500
_ZONES = {LAST_WORDS: "state", CLEARED: "masked", A_SEGMENT: "segments", A_DIGEST: "digests"}
_CUT_CHARS_MIN = 60  # if a form shows at least this many characters of a line's beginning, it shows the line cut
_ANYWHERE_CHARS_MIN = 25  # a shorter line counts as shown only if it is a whole line of the form
_REFS_AT_END = re.compile(r"\(([^()]*)\)\s*$")
_BECOME_SEGMENT = re.compile(r"steps ([0-9]+) to ([0-9]+) become a segment")
_MARKS = "-… "


class BlockForm(NamedTuple):
    """A stored block that shows a message now, or showed it in earlier packs."""

    number: int
    kind: str
    step: int
    seq_from: int
    seq_to: int
    is_masked: bool
    masked_epoch: int | None
    epoch_to: int | None
    pieces: str
    masked: str
    refs: str


class SummaryForm(NamedTuple):
    """A stored summary that stands for a message now, or stood for it in earlier packs."""

    level: int
    step_from: int
    step_to: int
    seq_from: int
    seq_to: int
    epoch_from: int
    epoch_to: int | None
    text: str


class ShownEntry(NamedTuple):
    """An entry of the state, or a pin, whose source is a message."""

    section: str
    text: str
    ref: str
    seq: int


class ShownLine(NamedTuple):
    """A line of a message that a pack shows."""

    zone: str
    ref: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A form of a message in packs.

    Attributes:
        place: `VERBATIM`, `CONVERSATION`, `CLEARED`, `A_SEGMENT`, `A_DIGEST`, `LAST_WORDS`, or the kind of another
            block.
        epoch_from: The first epoch in which packs had the form; 0 if the message was appended in this form.
        epoch_to: The first epoch in which packs no longer had it, or None if the current pack has it.
        text: All texts of the form; None if they are no longer known.
    """

    place: str
    step_from: int
    step_to: int
    epoch_from: int
    epoch_to: int | None
    text: str | None

    @property
    def zone(self) -> str:
        """The zone of a pack that has the form."""
        return _ZONES.get(self.place, self.place)


class Original(NamedTuple):
    """A text of a message, with its ref."""

    ref: str
    text: str


def originals_of(message: Message, part: int | None) -> list[Original]:
    """Return the texts of a message, or of one of its parts."""
    spoken_texts = (spoken_text for spoken_text in said_in(message) if part in (None, spoken_text.part))
    return [Original(refs.ref_of(message.seq, spoken_text.part), spoken_text.text) for spoken_text in spoken_texts]


def folded_text(text: str) -> str:
    """Return a text in the form in which texts are compared: without case, with one space between words."""
    return " ".join(text.casefold().split())


def forms_of(seq: int, blocks: Sequence[BlockForm], summaries: Sequence[SummaryForm]) -> list[Form]:
    """Return the stored forms of a message, the most verbatim first."""
    around = [block for block in blocks if block.seq_from <= seq <= block.seq_to]
    forms: list[Form] = []
    for kind in dict.fromkeys(block.kind for block in around if block.kind not in (RECALLED, NOTE)):
        # A user may speak while a tool runs. Then the range of the tool's step also covers the user's message, which
        # belongs to the step that begins last.
        block = max((block for block in around if block.kind == kind), key=lambda block: (block.seq_from, block.number))
        forms += _forms_of_block(block)
    forms += [
        Form(place=RECALLED, step_from=block.step, step_to=block.step, epoch_from=0, epoch_to=block.epoch_to,
             text=texts_in(block.pieces))
        for block in blocks
        if block.kind == RECALLED and any(_names(ref, seq) for ref in block.refs.split())
    ]  # fmt: skip
    over = [summary for summary in summaries if summary.seq_from <= seq <= summary.seq_to]
    forms += [
        Form(place=_OF_MESSAGES[block.level], step_from=block.step_from, step_to=block.step_to,
             epoch_from=block.epoch_from, epoch_to=block.epoch_to, text=text)
        for block in over
        if block.level in _OF_MESSAGES and (text := message_in(block.text, seq))
    ]  # fmt: skip
    over = [summary for summary in over if summary.level >= SEGMENT]
    for level in sorted({summary.level for summary in over}):
        summary = max((form for form in over if form.level == level), key=lambda form: (form.seq_from, form.step_from))
        place = A_SEGMENT if level == SEGMENT else A_DIGEST
        text = "\n".join(line for line in summary.text.split("\n") if _names_of_line(line, seq))
        forms.append(
            Form(
                place=place,
                step_from=summary.step_from,
                step_to=summary.step_to,
                epoch_from=summary.epoch_from,
                epoch_to=summary.epoch_to,
                text=text,
            )
        )
    return forms


def _forms_of_block(block: BlockForm) -> Iterator[Form]:
    """Yield the verbatim form of a block, and the cleared one if a fold cleared it."""
    place = VERBATIM if block.kind == STEP else block.kind
    cleared_in = block.masked_epoch if block.is_masked else None
    yield Form(
        place=place,
        step_from=block.step,
        step_to=block.step,
        epoch_from=0,
        epoch_to=block.epoch_to if cleared_in is None else cleared_in,
        text=texts_in(block.pieces),
    )
    if cleared_in is not None:
        yield Form(
            place=CLEARED,
            step_from=block.step,
            step_to=block.step,
            epoch_from=cleared_in,
            epoch_to=block.epoch_to,
            text=texts_in(block.masked),
        )


def place_of(forms: Iterable[Form]) -> Form | None:
    """Return the form in which the current pack shows a message: the most verbatim one, or None if there is none.

    Forms that repeat a message elsewhere in the pack do not count.
    """
    return next((form for form in forms if form.epoch_to is None and form.place not in (RECALLED, LAST_WORDS)), None)


def texts_in(pieces_json: str) -> str:
    """Return all texts of rendered pieces, whatever the vendor's format is."""
    texts: list[str] = []
    for piece in parsed_pieces(pieces_json or "[]"):
        check_wanted()
        waiting: list[Any] = [orjson.loads(piece.json)]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, dict | list):
                waiting.extend(reversed(list(value.values()) if isinstance(value, dict) else value))
    return "\n".join(texts)


def shown_lines(originals: Sequence[Original], form: Form) -> tuple[list[ShownLine], bool]:
    """Return the lines of a message that a form shows, and whether these are all lines of the message."""
    text = form.text or ""
    if form.place in (A_SEGMENT, A_DIGEST):
        lines = [_of_summary(line, form.zone) for line in text.split("\n") if line]
        whole = folded_text(text)
        return lines, bool(originals) and all(folded_text(original.text) in whole for original in originals)
    whole = folded_text(text)
    view_lines = {folded_text(line.lstrip(_MARKS)) for line in text.split("\n")}
    lines, is_whole = [], True
    for original in originals:
        for line in filter(str.strip, original.text.split("\n")):
            check_wanted()
            visible = _visible_part(line, whole, view_lines)
            is_whole &= visible == line
            if visible:
                lines.append(ShownLine(form.zone, original.ref, visible[:LINE_CHARS_MAX]))
    return lines, is_whole


def entry_lines(entries: Sequence[ShownEntry], state_text: str) -> list[ShownLine]:
    """Return the entries of a message that the state shows, and its pins."""
    state = folded_text(state_text)
    return [
        ShownLine("pins" if entry.section == PIN else "state", entry.ref, entry.text[:LINE_CHARS_MAX])
        for entry in entries
        if entry.section == PIN or folded_text(entry.text) in state
    ]


def _visible_part(line: str, whole: str, view_lines: set[str]) -> str:
    """Return a line if a text shows it, its beginning if the text shows only that, or else an empty text."""
    line_text = folded_text(line)
    if line_text in view_lines or (len(line_text) >= _ANYWHERE_CHARS_MIN and line_text in whole):
        return line
    if len(line_text) <= _CUT_CHARS_MIN or line_text[:_CUT_CHARS_MIN] not in whole:
        return ""
    least, most = _CUT_CHARS_MIN, len(line_text)
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if line_text[:middle] in whole else (least, middle - 1)
    return f"{line.strip()[:least]} …"


def _of_summary(line: str, zone: str) -> ShownLine:
    """Return a line of a summary without its mark and its refs."""
    at_end = _REFS_AT_END.search(line)
    text = line[: at_end.start()] if at_end else line
    return ShownLine(zone, at_end[1] if at_end else "", text.lstrip(_MARKS).rstrip()[:LINE_CHARS_MAX])


def _names_of_line(line: str, seq: int) -> bool:
    """Return whether the refs at the end of a summary's line name a message."""
    at_end = _REFS_AT_END.search(line)
    return bool(at_end) and any(_names(ref, seq) for ref in re.split(r"[,;\s]+", at_end[1] if at_end else ""))


def _names(ref: str, seq: int) -> bool:
    """Return whether a ref names a message, alone or in a range."""
    target = refs.parse_ref(ref)
    return target is not None and target.seq <= seq <= target.last_seq


def rule_of(rules: Sequence[str], form: Form) -> str:
    """Return the rule of a receipt that made a form, or an empty text if no rule names it."""
    # The rule may name fewer steps than the form, because a segment without lines is joined with its neighbour.
    if form.place == A_SEGMENT:
        return next((rule for rule in rules if _covers(rule, form)), "")
    names = {
        CLEARED: (f"mask step {form.step_from} of ", "mask all but "),
        A_DIGEST: ("digests become one", "become"),
    }.get(form.place, (form.place,))
    for name in names:
        for rule in rules:
            if name in rule and (form.place != A_DIGEST or "digest" in rule):
                return rule
    return ""


def _covers(rule: str, form: Form) -> bool:
    """Return whether a rule made a segment of some steps of a form."""
    match = _BECOME_SEGMENT.match(rule)
    return match is not None and int(match[1]) <= form.step_to and form.step_from <= int(match[2])
