"""Forms of a step: with the name of its speaker, and without its reasoning.

A vendor without a field for names gets the speaker's name in the text, as soon as a role has a second speaker. Turns
that were rendered before that get their names when the prefix of the packs breaks the next time (a fold, for example),
because adding the names earlier would invalidate the vendor's prompt cache.

Newer Claude models refuse reasoning if anything before it has changed, and accept it if all of it is left out
(https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). So for them a break of the prefix drops the
reasoning of all steps before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from context_service.kernel.rendering import Format, Turn, with_speaker
from context_service.packing.pure.steps.blocks import Block, block_of
from context_service.packing.pure.steps.step import Step
from context_service.packing.pure.texts.quotation import speaker_of
from context_service.windows.pure.refs import ref_of

_SPEAKERS_MAX = 2  # the speakers of a role that are remembered: two show that the role is shared
_ROLES = frozenset({"user", "assistant"})


@dataclass(frozen=True, slots=True)
class LaterForm:
    """The form of a block after the next break of the prefix.

    Attributes:
        block: The step, rendered in that form.
        role: The role that must have several speakers at that time for the form to be taken. If this is empty, the
            form is taken in any case.
    """

    block: Block
    role: str = ""


def with_step(speakers: Sequence[str], step: Step) -> tuple[str, ...]:
    """Return the first speakers of each role of a window, including the speaker of one more step.

    Late results of tools (`step.speaker` is set) and roles other than user and assistant do not count.
    """
    turn = step.turn
    speaker = speaker_of(turn.role, turn.name)
    if step.speaker or turn.role not in _ROLES or speaker in speakers:
        return tuple(speakers)
    of_role = [name for name in speakers if _role_of(name) == turn.role]
    return (*speakers, speaker) if len(of_role) < _SPEAKERS_MAX else tuple(speakers)


def shared_roles(speakers: Sequence[str]) -> list[str]:
    """Return the roles that have several speakers."""
    roles = [_role_of(speaker) for speaker in speakers]
    return sorted(role for role in set(roles) if roles.count(role) > 1)


def with_speaker_name(step: Step, to: Format) -> Step:
    """Return a step whose text begins with the name of its speaker, if the vendor has no field for it."""
    if step.speaker or step.turn.role not in _ROLES:
        return step
    turn = with_speaker(step.turn, to)
    refs = list(step.said_refs)
    if len(turn.parts) > len(refs):  # the name became a part of its own, before the first part without reasoning
        at = next((n for n, part in enumerate(step.turn.parts) if part.reasoning is None), len(refs))
        refs.insert(at, refs[0] if refs else ref_of(step.seqs[0], 0))
    return replace(step, turn=turn, said_refs=refs)


def without_reasoning(step: Step) -> Step:
    """Return a step without its reasoning."""
    turn = step.turn
    parts = [(part, ref) for part, ref in zip(turn.parts, step.said_refs, strict=True) if part.reasoning is None]
    if len(parts) == len(turn.parts):
        return step
    bare = Turn(turn.role, turn.name, [part for part, _ in parts], turn.calls)
    return replace(step, turn=bare, said_refs=[ref for _, ref in parts])


def later_form(
    step: Step, block: Block, to: Format, count: Callable[[str], int], *, speakers: Sequence[str], is_bound: bool
) -> LaterForm | None:
    """Return the form of a block after the next break of the prefix, or None if it stays as it is.

    Args:
        step: The step that the block shows.
        block: The block as it is now.
        to: The vendor's message format.
        count: Returns the number of tokens of a text.
        speakers: The speakers of the window up to this step.
        is_bound: The vendor refuses reasoning if anything before it has changed, so a break drops it.
    """
    if is_bound and (bare := without_reasoning(step)) is not step:
        return LaterForm(block_of(bare, to, count))
    if step.turn.role in shared_roles(speakers) or not step.turn.name:
        return None
    with_name = block_of(with_speaker_name(step, to), to, count)
    return LaterForm(with_name, step.turn.role) if with_name.pieces != block.pieces else None


def _role_of(speaker: str) -> str:
    """Return the role of a speaker: "user" for "user Ann"."""
    return speaker.partition(" ")[0]
