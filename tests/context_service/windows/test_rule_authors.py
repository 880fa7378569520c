"""Rule authors: of several users of a context, whose rules are in force."""

from __future__ import annotations

from typing import Any

import pytest

from context_service.packing.pure.state.rule_authors import is_rule_author
from contextkeep.errors import ContextKeepError, LimitExceeded
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import opened, packed, said

ANNS, BOS = "Never restart the broker during the day.", "Jamais de tutoiement, please always write formally."
LIFTS = "You no longer need to never restart the broker during the day, restarting is fine."


async def rules(caller: Caller, **fields: Any) -> dict[str, list[str]]:
    """Return the rules of a window in which Ann speaks first, and Bo states a rule and lifts Ann's."""
    context_id = await said(caller, "", {"content": ANNS, "name": "Ann"})
    window = await opened(caller, context_id, **fields)
    await packed(caller, window)
    await said(caller, context_id, {"content": BOS, "name": "Bo"}, {"content": LIFTS, "name": "Bo"})
    await packed(caller, window)
    entries = (await caller.call("GetState", window_id=window.window_id)).entries
    return {
        section: [f"{entry.speaker}: {entry.text}" for entry in entries if entry.section == section]
        for section in ("constraint", "other_rule", "contested")
    }


async def test_by_default_the_rules_of_the_first_user_are_in_force_and_others_neither_make_nor_lift_one(caller: Caller):
    assert await rules(caller) == {
        "constraint": [f"user Ann: {ANNS}"],
        "other_rule": [f"user Bo: {BOS}"],
        "contested": [],
    }


@pytest.mark.parametrize("authors", [["Ann", "Bo"], ["user"]])
async def test_rules_of_every_named_author_are_in_force(caller: Caller, authors: list[str]):
    found = await rules(caller, config={"rule_authors": authors})

    assert found["constraint"] == [f"user Bo: {BOS}"]
    assert found["other_rule"] == []


async def test_a_fold_lists_the_rules_of_others_apart_with_their_speaker(caller: Caller):
    filler = [{"content": f"Sheet {n}: " + "lorem ipsum " * 150, "role": "assistant"} for n in range(60)]
    context_id = await said(caller, "", {"content": ANNS, "name": "Ann"}, {"content": BOS, "name": "Bo"}, *filler)
    window = await opened(caller, context_id, 16_000)

    body = (await packed(caller, window)).messages_json

    in_force, _, others = body.partition("Rules that other people stated (not in force):")
    assert f"- user Ann: {ANNS} (m1/0)" in in_force
    assert f"- user Bo: {BOS} (m2/0)" in others
    assert f"- user Bo: {BOS}" not in in_force


async def test_an_author_without_a_name_is_refused(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello"})

    with pytest.raises(ContextKeepError) as refused:
        await opened(caller, context_id, config={"rule_authors": ["Ann", ""]})

    assert "rule_authors[1]" in str(refused.value)


async def test_more_authors_than_a_window_may_have_are_refused(caller: Caller):
    context_id = await said(caller, "", {"content": "Hello"})
    await opened(caller, context_id, config={"rule_authors": [f"user {number}" for number in range(20)]})

    with pytest.raises(LimitExceeded) as refused:
        await opened(caller, context_id, config={"rule_authors": [f"user {number}" for number in range(21)]})

    assert refused.value.metadata["limit_max"] == "20"


@pytest.mark.parametrize(
    ("speaker", "authors", "is_author"),
    [
        ("user", ["first_user"], True),
        ("user Ann", ["first_user"], True),
        ("user Bo", ["first_user"], False),
        ("user system", ["system"], True),  # a name is a name: callers who authenticate users choose names
        ("system", ["first_user"], False),
        ("system", ["system", "first_user"], True),
    ],
)
def test_an_author_is_named_by_role_by_name_or_as_the_first_user(speaker: str, authors: list[str], is_author: bool):
    first = ["user"] if speaker == "user" else ["assistant", "user Ann", "user Bo"]

    assert is_rule_author(speaker, authors=authors, speakers=first) == is_author
