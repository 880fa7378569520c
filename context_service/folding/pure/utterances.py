"""The candidates for the assistant's last words: the newest statements and the newest plan of a window."""

from __future__ import annotations

from collections.abc import Sequence

from context_service.folding.pure.folds import FoldableBlock
from context_service.folding.pure.last_words import PLAN, STATEMENTS_MAX, Plan, Utterance
from context_service.folding.pure.summaries import LAST_WORDS, Scored, Summary
from context_service.packing.pure.steps.grades import SAID_CHARS_MAX
from context_service.packing.pure.texts.conversation import NO_BRACKETS, WHOLE, headed
from context_service.packing.pure.texts.quotation import role_in
from context_service.packing.pure.texts.units import Unit
from context_service.windows.pure.refs import refs_between

ASSISTANT = "assistant"


def utterances_of(blocks: Sequence[FoldableBlock], last_words: Sequence[Summary], plan: Plan | None) -> list[Utterance]:
    """Return the last statements and the newest plan of a window, wherever packs show them now.

    Args:
        blocks: The blocks of the window, the oldest first.
        last_words: The blocks after the state before the fold: their steps may be in summaries.
        plan: The newest call of a planning tool in the blocks, or None if they have none.
    """
    statements = [_statement(block) for block in blocks if _is_statement(block)][-STATEMENTS_MAX:]
    utterances = [*statements, *(_plan(block, plan) for block in blocks if plan and block.number == plan.number)]
    seqs = {statement.line.unit.seq for statement in statements}
    earlier = [line for block in last_words if block.level == LAST_WORDS for line in block.kept]
    of_statements = [line for line in earlier if line.unit.kind != PLAN and line.unit.seq not in seqs]
    kept = of_statements[len(of_statements) - (STATEMENTS_MAX - len(statements)) :] if of_statements else []
    if plan is None:
        kept += [line for line in earlier if line.unit.kind == PLAN]
    return [*(Utterance(number=None, is_masked=True, is_lost_in_mask=True, line=line) for line in kept), *utterances]


def newest_planning(blocks: Sequence[FoldableBlock], tools: frozenset[str]) -> FoldableBlock | None:
    """Return the newest step that calls one of some tools, or None if there is none."""
    return next((block for block in reversed(blocks) if not tools.isdisjoint(block.tools)), None)


def _is_statement(block: FoldableBlock) -> bool:
    """Return whether a block is a step in which the assistant says something."""
    is_of_assistant = role_in(block.speaker) == ASSISTANT and not block.is_appended
    return is_of_assistant and bool(block.said.strip())


def _statement(block: FoldableBlock) -> Utterance:
    """Return the statement that a block shows."""
    ref = refs_between(block.seq_from, block.seq_from)
    unit = Unit(kind=WHOLE, text=headed(ref, block.speaker, block.said), ref=ref, seq=block.seq_from, weight=0)
    return Utterance(
        number=block.number,
        is_masked=block.is_masked,
        is_lost_in_mask=len(block.said) > SAID_CHARS_MAX,
        line=Scored(unit=unit, step=block.step, is_error=False),
    )


def _plan(block: FoldableBlock, plan: Plan) -> Utterance:
    """Return the plan that a block shows."""
    about = f", calls {' '.join(plan.tool.translate(NO_BRACKETS).split())}"
    text = headed(plan.ref, block.speaker or ASSISTANT, plan.arguments_json, about=about)
    unit = Unit(kind=PLAN, text=text, ref=plan.ref, seq=block.seq_from, weight=0)
    return Utterance(
        number=block.number,
        is_masked=block.is_masked,
        is_lost_in_mask=plan.is_lost_in_mask,
        line=Scored(unit=unit, step=block.step, is_error=False),
    )
