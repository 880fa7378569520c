"""Catching up: turn messages of a context's log into steps of a window. Values in, values out.

The functions need much CPU, so callers run them off the event loop.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from context_service.contexts.model import Message
from context_service.folding.pure.folds import USER
from context_service.kernel.files.models import MediaModel, media_model
from context_service.kernel.rendering import Format
from context_service.kernel.rendering.turns import inline_file, media_type_of, part_text
from context_service.packing.pure.state.calls import with_calls
from context_service.packing.pure.state.rule_authors import by_authors
from context_service.packing.pure.state.task_state import WHOLE, Entry, entries_of
from context_service.packing.pure.steps.blocks import Block, block_of
from context_service.packing.pure.steps.forms import (
    LaterForm,
    later_form,
    shared_roles,
    with_speaker_name,
    with_step,
    without_reasoning,
)
from context_service.packing.pure.steps.grades import fit_step, mask_step
from context_service.packing.pure.steps.step import Step, cut
from context_service.packing.pure.steps.step_files import use_of_turn, with_files_of
from context_service.packing.pure.texts.quotation import role_in, speaker_of
from context_service.packing.pure.texts.tallies import ToolUse, nodes_in, uses_of
from context_service.packing.pure.texts.units import Unit, names_in, said_in, units_of
from context_service.profiles.pure.profiles import Profile
from context_service.windows.pure.config import RULE_AUTHORS
from context_service.windows.pure.refs import ref_of

_PLAN_WEIGHT = 0.3  # of a line that only announces the next step
_WRITTEN_WEIGHT = 0.6  # the weight of a written file, compared with units of the profile
_WORD, _GAPS = re.compile(r"\w"), re.compile(r"…[… ]*")
_AROUND_RESULT = 60  # the most tokens that a result takes in addition to its text


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStep:
    """A step of a window, with everything that is computed from it once.

    Attributes:
        block: The step, rendered for a model.
        masked: The step with its tool results cleared, rendered, or None if clearing them saves too little.
        units: The lines of the step that a summary may quote.
        names: The names of things that the step mentions.
        tools: The names of the tools that it called, and how often.
        entries: The entries that the step adds to the state, which lists rules, goals, values and so on.
        role: The role of the step's turn, such as "user".
        speaker: The role and the name of the speaker, such as "user Ann". The role is "tool" if the step is a result
            that came late.
        said: See `FoldableBlock`.
        is_error: A call of the step ended with an error.
        later: The form of the step after the next break of the prefix, or None if it is the same.
    """

    block: Block
    mask: Block | None
    units: tuple[Unit, ...]
    names: frozenset[str]
    tools: Sequence[ToolUse]
    entries: tuple[Entry, ...]
    role: str
    speaker: str
    is_error: bool
    said: str = ""
    later: LaterForm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUp:
    """The steps that messages of a log were cut into.

    Attributes:
        steps: The closed steps, ready to be appended.
        waiting: The step that waits for results, or None if the log does not end with such a step.
        reached_seq: The `seq` up to which the window has read: all messages up to this one are in `steps` or earlier.
        speakers: The first speakers of each role of the window, including those of `steps`.
    """

    steps: Sequence[PreparedStep]
    waiting: Block | None
    reached_seq: int
    speakers: tuple[str, ...] = ()


def caught_up(
    messages: Sequence[Message],
    *,
    to: Format,
    profile: Profile,
    count: Callable[[str], int],
    is_end: bool,
    last_seq: int,
    media: MediaModel | None = None,
    room: int = sys.maxsize,
    entries_by_seq: Mapping[int, Sequence[Entry]] | None = None,
    speakers: Sequence[str] = (),
    bound_seq: int | None = None,
    rule_authors: Sequence[str] = RULE_AUTHORS,
) -> CaughtUp:
    """Cut messages into steps, and compute what a window stores of each step.

    Args:
        messages: The next messages of the log; the first begins a step.
        to: The message format of the window's packs.
        profile: The compression profile of the window.
        count: Returns the number of tokens of a text.
        is_end: No more messages follow these in the log.
        last_seq: The `seq` of the last message of the log.
        media: What the model of the window takes of files; None for an unknown model of the format.
        room: The most tokens of a step that waits for results. The files of a step may have half as many.
        entries_by_seq: The entries that an extractor found, by the messages' `seq`; None if rules read the messages.
        speakers: The first speakers of each role that the window has read.
        bound_seq: For a model that refuses reasoning if anything before it has changed, the last message before the
            last change; None for other models.
        rule_authors: The speakers whose rules are in force, as in `is_rule_author`.
    """
    result, media = cut(messages, is_end=is_end), media or media_model("", to)
    by_seq = {message.seq: message for message in messages}
    steps = []
    for step in result.closed:
        # A message can belong to two steps. Popping it gives its units and entries to the first of them only.
        of_step = [message for seq in step.seqs if (message := by_seq.pop(seq, None))]
        speakers = with_step(speakers, step)
        sent_step = with_files_of(_as_sent(step, to, speakers, bound_seq), media, tokens_max=room // 2)
        prepared_step = _prepare_step(
            sent_step, of_step, to, profile, count, entries_by_seq, is_bound=bound_seq is not None, media=media
        )
        prepared_step = replace(
            prepared_step,
            said=_words_of(step, prepared_step.speaker),  # from `step`: `sent_step` may begin with the speaker's name
            entries=tuple(by_authors(prepared_step.entries, authors=rule_authors, speakers=speakers)),
        )
        steps.append(
            _with_later(prepared_step, sent_step, to, count, speakers=speakers, is_bound=bound_seq is not None)
        )
    if result.next_seq is not None:
        reached_seq = result.next_seq - 1
    else:
        reached_seq = last_seq if is_end or not messages else messages[-1].seq
    waiting = None
    if result.open:
        speakers_then = with_step(speakers, result.open)
        sent_step = with_files_of(_as_sent(result.open, to, speakers_then, bound_seq), media, tokens_max=room // 2)
        waiting = replace(_waiting(sent_step, to, profile, count, room), files=use_of_turn(sent_step.turn, media))
    return CaughtUp(steps=steps, waiting=waiting, reached_seq=reached_seq, speakers=tuple(speakers))


def _as_sent(step: Step, to: Format, speakers: Sequence[str], bound_seq: int | None) -> Step:
    """Return a step as the vendor gets it.

    The text begins with the speaker's name if several speakers share the role. Reasoning up to `bound_seq` is left
    out, because the vendor would refuse it.
    """
    if bound_seq is not None and step.seqs[0] <= bound_seq:
        step = without_reasoning(step)
    return with_speaker_name(step, to) if step.turn.role in shared_roles(speakers) else step


def _with_later(
    prepared_step: PreparedStep,
    step: Step,
    to: Format,
    count: Callable[[str], int],
    *,
    speakers: Sequence[str],
    is_bound: bool,
) -> PreparedStep:
    """Return a prepared step together with its form after the next break of the prefix.

    The block counts the tokens of the larger form, so that the later form also has room.
    """
    later = later_form(step, prepared_step.block, to, count, speakers=speakers, is_bound=is_bound)
    if later is None:
        return prepared_step
    tokens = max(prepared_step.block.tokens, later.block.tokens)
    return replace(prepared_step, block=replace(prepared_step.block, tokens=tokens), later=later)


def _waiting(step: Step, to: Format, profile: Profile, count: Callable[[str], int], room: int) -> Block:
    """Render a step that waits for results.

    Results are shown whole, in their order, until the room is used up; the results after that are shortened. So a
    result that comes later does not change how earlier ones are shown.
    """
    block = block_of(step, to, count)
    around = _AROUND_RESULT * len(step.turn.calls)
    if block.tokens + around <= room:
        return block
    bare = [replace(call, result=None) for call in step.turn.calls]
    used_tokens = block_of(replace(step, turn=replace(step.turn, calls=bare)), to, count).tokens + around
    if used_tokens > room:  # the step has no room even without any result, so all of its texts are shortened
        return replace(fit_step(step, room, to=to, profile=profile, count=count), is_cut=True)
    later = set()
    for call in step.turn.calls:
        if call.result:
            used_tokens += count(orjson.dumps(call.result.text).decode())
            used_tokens += sum(file.tokens for file in call.result.files)
        if used_tokens > room:
            later.add(call.id)
    short_block = fit_step(step, room, to=to, profile=profile, count=count, only=later)
    return replace(short_block, is_cut=short_block.pieces != block.pieces)


def _prepare_step(
    step: Step,
    messages: Sequence[Message],
    to: Format,
    profile: Profile,
    count: Callable[[str], int],
    entries_by_seq: Mapping[int, Sequence[Entry]] | None,
    *,
    is_bound: bool,
    media: MediaModel,
) -> PreparedStep:
    """Compute what a window stores of a closed step.

    Args:
        step: The closed step.
        messages: The messages of the step, without those that belong to an earlier step, too.
        to: The message format of the window's packs.
        profile: The compression profile of the window.
        count: Returns the number of tokens of a text.
        entries_by_seq: The entries that an extractor found, by the messages' `seq`; None if rules read the messages.
        is_bound: The model accepts reasoning only while the messages before it stay as they were. So the masked form
            of the step, which comes with a change, has no reasoning.
        media: What the model takes of files.
    """
    units = [unit for message in messages for unit in units_of(message, profile, _tools_of(step))]
    entries = entries_of_step(step, messages, profile, entries_by_seq)
    block = replace(block_of(step, to, count), files=use_of_turn(step.turn, media))
    masked_turn = mask_step(without_reasoning(step) if is_bound else step, units, profile, count)
    masked_block = None
    if masked_turn:
        masked_block = block_of(replace(step, turn=masked_turn), to, count)
        masked_block = replace(masked_block, files=use_of_turn(masked_turn, media))
    return PreparedStep(
        block=block,
        mask=masked_block if masked_block and masked_block.tokens < block.tokens else None,
        units=tuple(_summarized(units, entries, messages)),
        names=frozenset(name for message in messages for name in names_in(message) | nodes_in(message)),
        tools=uses_of(step.turn.calls),
        entries=tuple(entries),
        role=step.turn.role,
        speaker=step.author,
        is_error=any(call.result is not None and call.result.is_error for call in step.turn.calls),
    )


def entries_of_step(
    step: Step,
    messages: Sequence[Message],
    profile: Profile,
    entries_by_seq: Mapping[int, Sequence[Entry]] | None = None,
) -> list[Entry]:
    """Return the entries of the state that the messages of a step make; the arguments are those of `_prepare`."""
    tools = _tools_of(step)
    entries = [
        entry
        for message in messages
        for entry in _attributed(
            entries_of(message, profile) if entries_by_seq is None else entries_by_seq.get(message.seq, ()),
            message,
            tools,
        )
    ]
    return list(with_calls(entries, step, frozenset(message.seq for message in messages)))


def _tools_of(step: Step) -> dict[str, str]:
    """Return the names of the tools that a step called, by the refs of their results."""
    calls = step.turn.calls
    return {step.result_refs[call.id]: call.call.name for call in calls if call.id in step.result_refs}


def _attributed(entries: Sequence[Entry], message: Message, tools: Mapping[str, str]) -> Sequence[Entry]:
    """Return the entries of the state that a message makes, each with its speaker.

    An entry from a part without text, such as a call of a tool, gets the speaker of the message.
    """
    if not entries:
        return entries
    speakers = {ref_of(message.seq, spoken_text.part): spoken_text.speaker for spoken_text in said_in(message, tools)}
    otherwise = speaker_of(message.role, message.name, is_imported=message.is_imported)
    return [replace(entry, speaker=speakers.get(entry.ref, otherwise)) for entry in entries]


def _words_of(step: Step, speaker: str) -> str:
    """Return the words of a step that packs show after a fold.

    For a user this is the whole text, with a note in place of each inline file. For an assistant it is the text, of
    which packs repeat the last after a fold. For other speakers it is empty.
    """
    role = role_in(speaker)
    if role == "assistant":
        return "\n".join(part.text for part in step.turn.parts if part.text)
    if role != USER:
        return ""
    return "\n\n".join(
        f"[{media_type_of(part) or 'file'}: {ref}]"
        if part.url is not None and inline_file(part.url)
        else part_text(part)
        for part, ref in zip(step.turn.parts, step.said_refs, strict=True)
        if part.reasoning is None
    )


def _without(unit: Unit, whole_entries: Sequence[Entry]) -> Unit | None:
    """Return a unit without the texts that the state shows, or None if no word is left."""
    text = unit.text
    for entry in whole_entries:
        if entry.ref == unit.ref:
            text = text.replace(entry.text, "…")
    if text == unit.text:
        return unit
    text = _GAPS.sub("… ", text).strip("… ")
    return replace(unit, text=text) if _WORD.search(text) else None


def _as_plan(unit: Unit) -> Unit:
    """Return a line that only announces the next step: the next plan replaces it, so summaries need it least."""
    return replace(unit, weight=min(unit.weight, _PLAN_WEIGHT))


def _summarized(units: Sequence[Unit], entries: Sequence[Entry], messages: Sequence[Message]) -> list[Unit]:
    """Return the lines that a summary may quote, and a line for each file that a call wrote.

    Texts that the state shows whole, such as rules and values, are left out: the state shows them as long as they
    hold, and after that a summary that quotes them would mislead. Texts of users are left out, too, because the
    conversation zone has them.
    """
    whole_entries = [entry for entry in entries if entry.section in WHOLE]
    of_users = {
        ref_of(message.seq, spoken_text.part)
        for message in messages
        for spoken_text in said_in(message)
        if spoken_text.role == USER
    }
    other_units = [rest for unit in units if unit.ref not in of_users and (rest := _without(unit, whole_entries))]
    plans = {(entry.ref, entry.text) for entry in entries if entry.section == "next"}
    other_units = [_as_plan(unit) if (unit.ref, unit.text) in plans else unit for unit in other_units]
    names = {
        ref_of(message.seq, number): part.tool_call.name
        for message in messages
        for number, part in enumerate(message.parts, 1)
        if part.tool_call
    }
    whole_units = [
        entry
        for entry in entries
        if entry.section == "artifact" and entry.text.endswith("(edited)") and entry.ref in names
    ]
    other_units += [
        Unit(
            kind="artifact",
            text=f"{names[entry.ref]} {entry.key}",
            ref=entry.ref,
            seq=entry.seq,
            weight=_WRITTEN_WEIGHT,
            speaker=entry.speaker,
        )
        for entry in whole_units
    ]
    return other_units
