"""Sources: who wrote each piece of a pack, and each line of a text of the service.

Texts of the service (summaries, the state, notes, recalled passages) name the speakers of their lines. `quotation`
writes these names and the quotation marks in a form that no quoted text can imitate. So this module can parse them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from context_service.kernel.rendering import Rendered, Source
from context_service.packing.pure.steps.step import Step
from context_service.packing.pure.texts.conversation import HEADING
from context_service.packing.pure.texts.quotation import Trust, speaker_of, trust_of
from context_service.windows.pure.refs import parse_ref as refs_of
from context_service.windows.pure.refs import refs_between

CALLER = "caller"  # the speaker of entries, pins and goals that a caller set
MODEL = "model"  # the speaker of lines that a model wrote; such a line may rest on any source
# The trust in passages of these kinds, which does not depend on who sent them.
_TRUST_OF_KIND = dict.fromkeys(("file", "record", "artifact"), Trust.DOCUMENT) | {"tool result": Trust.TOOL}
# The speaker at the beginning of a line. A speaker whose text is quoted reaches up to the quotation mark, because its
# name may itself have a colon.
_LINE = re.compile(
    r"- (?:\[\w+\] |now: |no longer: |may have changed: )?"
    r"(?:(?P<quoted>(?:tool|fork|document|imported)\b.*?): «|(?P<own>(?:user|assistant|system|developer)\b[^:]*): )?"
)
# A further speaker of the same line: of a solution, of an earlier value, or of a statement that no longer holds.
_FURTHER = re.compile(r"(?: -> |; before: |; no longer: )(?P<who>(?:tool|fork|document|imported|assistant)\b[^:]*): ")
# The most trusted first: a line that rests on several speakers is trusted like the last of them.
_ORDER = (Trust.USER, Trust.ASSISTANT, Trust.IMPORTED, Trust.DOCUMENT, Trust.TOOL)
_REF = re.compile(r"\(([^()]*)\)$")
_RECALLED = re.compile(r"\[(?P<ref>[^\]]+)\] (?P<who>[^,]*?)(?:, (?P<kind>[a-z ]+))?, \d{4}-\d\d-\d\d")
_HEAD = re.compile(r"(?P<who>(?:tool|fork|document|imported)\b.*):")
_BY_MODEL = ", summarized]"


def of_step(turns: Sequence[Rendered], step: Step) -> list[Rendered]:
    """Return the pieces of a step, each with its source.

    The source of a text or a call is the speaker of the step; the source of a result is its tool.
    """
    turn = step.turn
    speaker = step.author
    refs = sorted({target.seq for ref in step.said_refs if (target := refs_of(ref))}) or [step.seqs[0]]
    own_source = Source(speaker, refs_between(refs[0], refs[-1]), trust_of(speaker).value)
    answered = [call for call in turn.calls if call.result is not None]
    calls, by_id = iter(answered), {call.id: call for call in answered}
    results = []
    for piece in turns:
        source = own_source
        if piece.is_result or piece.call_id:
            # None if an installed renderer made more results than the step has.
            call = next(calls, None) if piece.is_result else by_id.get(piece.call_id)
            name = speaker_of("tool", call.call.name if call else "", is_imported=step.is_imported)
            source = Source(name, step.result_refs.get(call.id, "") if call else "", trust_of(name).value)
        results.append(piece._replace(sources=(source,)))
    return results


def of_text(text: str) -> tuple[Source, ...]:
    """Return the sources of the lines of a text of the service: one source for each range of equal lines.

    Lines that the service itself wrote, such as titles, have no source.
    """
    line_sources = []
    lines = text.split("\n")
    # A title and the notice about quotations may stand above the first heading.
    is_conversation = any(map(HEADING.fullmatch, lines[:3]))
    sources = _of_conversation(lines) if is_conversation else _of_lines(lines)
    for source, group in groupby(enumerate(sources, 1), key=lambda line: line[1]):
        numbers = [number for number, _ in group]
        if source:
            line_sources.append(source._replace(first_line=numbers[0], last_line=numbers[-1]))
    return tuple(line_sources)


def _of_conversation(lines: Sequence[str]) -> Iterator[Source | None]:
    """Yield the source of each line of the conversation: the user whose heading is above it."""
    head = None
    for line in lines:
        if heading := HEADING.fullmatch(line):
            head = Source(heading["who"], heading["ref"] or "", trust_of(heading["who"]).value)
        yield None if heading else head


def _of_lines(lines: Sequence[str]) -> Iterator[Source | None]:
    """Yield the source of each line. A quoted line belongs to the head above it, or else to a tool."""
    is_by_model = bool(lines) and lines[0].endswith(_BY_MODEL)
    head = Source(Trust.TOOL.value, "", Trust.TOOL.value)
    for line in lines:
        if line.startswith("> "):
            yield head
        elif line.startswith("- "):
            yield _of_line(line, is_by_model=is_by_model)
        else:
            if recalled := _RECALLED.match(line):
                trust = _TRUST_OF_KIND.get(recalled["kind"], trust_of(recalled["who"]))
                head = Source(recalled["who"], recalled["ref"], trust.value)
            elif heading := _HEAD.fullmatch(line):
                head = Source(heading["who"], "", trust_of(heading["who"]).value)
            yield None


def _of_line(line: str, *, is_by_model: bool) -> Source:
    """Return the source of a line of a summary, the state or a note."""
    match, ref = _LINE.match(line), _REF.search(line)
    speaker = match and (match["quoted"] or match["own"])
    refs = ref[1] if ref else ""
    if speaker:
        trusts = map(trust_of, [speaker, *(further["who"] for further in _FURTHER.finditer(line))])
        return Source(speaker, refs, max(trusts, key=_ORDER.index).value)
    if is_by_model:  # the line may rest on the output of a tool, so it is trusted no more than that
        return Source(MODEL, refs, Trust.TOOL.value)
    # An error with its solution begins with the speaker of the error, and an entry without a speaker is the caller's.
    return Source(CALLER, refs, Trust.USER.value)
