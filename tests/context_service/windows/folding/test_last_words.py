"""After a fold packs still have the assistant's last two statements and its newest plan, word for word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from context_service.contexts.model import Message
from context_service.folding.pure.folds import FoldableBlock, Limits, View, fold
from context_service.folding.pure.importance import Weights
from context_service.folding.pure.last_words import SHARE, LastWords, Plan
from context_service.folding.pure.utterances import newest_planning, utterances_of
from context_service.kernel.rendering import Format
from context_service.packing.pure.steps.catch_up import caught_up
from context_service.packing.pure.steps.grades import SAID_CHARS_MAX
from context_service.packing.pure.texts.sources import of_text
from context_service.profiles.pure.profiles import profile
from tests.context_service.windows.messages import answered, called, message

LIMIT = 4_000
PLANNING = profile("general").planning_tools
LISTING = "\n".join(f"drwxr-x--- {n} staff staff 4096 backup-{n}" for n in range(40))


def count(text: str) -> int:
    return len(text) // 4 + 1


def blocks_of(log: Sequence[Message]) -> list[FoldableBlock]:
    """Return the steps of a log as folds see them."""
    steps = caught_up(
        log, to=Format.OPENAI, profile=profile("general"), count=count, is_end=True, last_seq=log[-1].seq
    ).steps
    return [
        FoldableBlock(
            number=number,
            step=number,
            seq_from=step.block.seq_from,
            seq_to=step.block.seq_to,
            tokens=step.block.tokens,
            masked_tokens=step.mask.tokens if step.mask else step.block.tokens,
            tools=tuple(use.name for use in step.tools),
            speaker=step.speaker,
            said=step.said,
        )
        for number, step in enumerate(steps)
    ]


def log_of(turns: Sequence[str | dict[str, str]]) -> list[Message]:
    """Return a log: a text is a statement of the assistant, "" a look at a folder, and a dictionary a plan."""
    log = [message("user", "Räum die Backups auf, aber lösch nichts von diesem Jahr.", seq=1)]
    for turn in turns:
        seq, call_id = len(log) + 1, f"c{len(log)}"
        if isinstance(turn, dict):
            log += [called("TodoWrite", turn, call_id=call_id, seq=seq), answered("ok", call_id=call_id, seq=seq + 1)]
        elif turn:
            log.append(message("assistant", turn, seq=seq))
        else:
            log += [
                called("list_folder", {"path": f"/srv/{seq}"}, call_id=call_id, seq=seq),
                answered(LISTING, call_id=call_id, seq=seq + 1),
            ]
    return log


def plan_in(blocks: Sequence[FoldableBlock], log: Sequence[Message]) -> Plan | None:
    """Return the newest plan of some blocks, as the service reads it from the log."""
    block = newest_planning(blocks, PLANNING)
    if block is None:
        return None
    (part,) = log[block.seq_from - 1].parts
    assert part.tool_call
    return Plan(block.number, part.tool_call.name, part.tool_call.arguments_json, f"m{block.seq_from}/1", False)


def run(log: Sequence[Message]) -> list[View]:
    """Add steps one by one, fold where a window folds, and return the view after each step."""
    view, views, limits = View(head=20), list[View](), Limits.of(LIMIT)
    for block in blocks_of(log):
        view = replace(view, blocks=(*view.blocks, block))
        if view.tokens > limits.high:
            utterances = utterances_of(view.blocks, view.last_words, plan_in(view.blocks, log))
            last_words = LastWords(utterances, tokens_max=math.floor(SHARE * LIMIT), count=count, cost=count)
            view = fold(
                view,
                limits,
                state_tokens=0,
                goal="",
                count=count,
                cost=count,
                weights=Weights(),
                last_words=[last_words],
            ).view
        views.append(view)
    return views


def shown(view: View, log: Sequence[Message]) -> str:
    """Return the texts and calls of the assistant that a view shows in full."""
    found = [block.text for block in view.last_words]
    for block in view.blocks:
        said = log[block.seq_from - 1]
        if not block.is_masked or len(said.content) <= SAID_CHARS_MAX:
            found += [said.content, *(part.tool_call.arguments_json for part in said.parts if part.tool_call)]
    return "\n".join(found)


statements = st.builds(
    lambda number, words: f"Finding {number}: {words}",
    st.integers(1, 10**6),
    st.text("aé語 ,.!\n[]m1\"'", max_size=250),
)
plans = st.builds(lambda number: {"todos": f"plan {number}"}, st.integers(1, 10**6))
turns = st.lists(statements | plans | st.just("") | st.just("") | st.just(""), min_size=15, max_size=60)


@given(turns=turns)
def test_the_last_two_statements_and_the_newest_plan_are_in_every_pack(turns: list[str | dict[str, str]]):
    log = log_of(turns)
    for view in run(log):
        last = max((block.seq_to for block in view.blocks), default=0)
        spoken = [one.content for one in log[:last] if one.role == "assistant" and one.content.strip()][-2:]
        planned = [
            part.tool_call.arguments_json
            for one in log[:last]
            for part in one.parts
            if part.tool_call and part.tool_call.name in PLANNING
        ][-1:]
        text = shown(view, log).replace("\n ", "\n")
        for one in [*spoken, *planned]:
            assert one.replace("\n ", "\n") in text
        assert sum(block.tokens for block in view.last_words) <= SHARE * LIMIT
        assert len(view.last_words) <= 1


@given(turns=turns)
def test_a_text_that_a_step_still_shows_is_not_repeated(turns: list[str | dict[str, str]]):
    log = log_of(turns)
    for view in run(log):
        in_view = {block.step for block in view.blocks}
        repeated = {line.step for block in view.last_words for line in block.kept}
        masked = {block.step for block in view.blocks if block.is_masked and len(block.said) > SAID_CHARS_MAX}
        newest_in_view = [block for block in view.blocks if block.said and block.speaker == "assistant"]
        if len(newest_in_view) >= 2 and not masked and any(not PLANNING.isdisjoint(b.tools) for b in view.blocks):
            assert not repeated & in_view


def test_a_long_statement_gives_way_to_the_plan_and_is_cut_to_head_and_tail():
    report = "Report. " + " ".join(f"Volume {n} holds {n * 7} old snapshots." for n in range(400)) + " End of report."
    log = log_of([report, {"todos": "1. list, 2. ask Ida, 3. move"}, *[""] * 60])
    (block,) = run(log)[-1].last_words
    assert '{"todos":"1. list, 2. ask Ida, 3. move"}' in block.text
    assert "[m2 assistant]\nReport. Volume 0" in block.text
    assert block.text.count("End of report.") == 1
    assert "tokens in all: m2]" in block.text
    assert block.tokens <= SHARE * LIMIT


def test_the_lines_of_the_last_words_are_the_assistants():
    log = log_of(["I moved three folders.", {"todos": "ask Ida"}, *[""] * 60])
    (block,) = run(log)[-1].last_words
    sources = of_text(block.text)
    assert [(source.author, source.ref, source.trust) for source in sources] == [
        ("assistant", "m2", "assistant"),
        ("assistant", "m3/1", "assistant"),
    ]
