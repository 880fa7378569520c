"""The provider `memory`, over gRPC and over MCP alike: a user's memories one by one, or as one statement."""

from __future__ import annotations

from typing import Any

import pytest

from contextkeep.context.v1 import context_query_pb2 as pb
from tests.context_service.contexts.callers import an_id
from tests.context_service.query.conftest import Asker, World
from tests.context_service.query.test_policy import say
from tests.context_service.query.test_query import only, states, statuses
from tests.context_service.query.test_wiki import mode, remembered, retain

TEXTS = ("Acme pays late.", "Zeta pays late, too.")


async def known(world: World) -> tuple[str, list[str]]:
    """Return a user, and the ids of the memories of it."""
    user = an_id()
    return user, [(await retain(world, user, text)).memory_id for text in TEXTS]


async def test_recalled_they_are_a_hit_each_and_reflected_they_are_one_that_names_them(world: World, ask: Asker):
    user, ids = await known(world)
    recalled = await remembered(ask, user, provider_options=mode("recall"))
    reflected = await remembered(ask, user, provider_options=mode("reflect"))
    assert {one["ref"] for one in recalled["hits"]} == {f"memory:{one}" for one in ids}
    assert {one["snippet"] for one in recalled["hits"]} == set(TEXTS)
    (statement,) = reflected["hits"]
    assert sorted(statement["metadata"]["memory_ids"].split(",")) == sorted(ids)
    assert all(text.removesuffix(".") in statement["snippet"] for text in TEXTS)
    assert [statuses(one)["memory"]["mode"] for one in (recalled, reflected)] == ["RECALL (words)", "REFLECT (words)"]
    assert [statuses(one)["memory"]["hit_count"] for one in (recalled, reflected)] == [2, 1]


async def test_who_asks_for_no_mode_is_told_which_one_it_was(world: World, ask: Asker):
    user, _ = await known(world)
    answer = await remembered(ask, user)
    assert (len(answer["hits"]), statuses(answer)["memory"]["mode"]) == (1, "REFLECT (words)")
    assert "memory_query_mode" not in answer["asked"]


async def test_the_tenant_says_what_is_made_of_them_unless_the_question_does(world: World, ask: Asker):
    user, _ = await known(world)
    recall = pb.MemoryOptions(query_mode=pb.MEMORY_QUERY_MODE_RECALL)
    assert (await say(world, "memory", memory=recall)).memory == recall
    try:
        by_default = await remembered(ask, user)
        asked_for = await remembered(ask, user, provider_options=mode("reflect"))
    finally:
        assert not (await say(world, "memory", reset=["memory"])).HasField("memory")
    assert (len(by_default["hits"]), statuses(by_default)["memory"]["mode"]) == (2, "RECALL (words)")
    assert (len(asked_for["hits"]), statuses(asked_for)["memory"]["mode"]) == (1, "REFLECT (words)")
    assert statuses(await remembered(ask, user))["memory"]["mode"] == "REFLECT (words)"


@pytest.mark.parametrize("depth", ["quick", "deep"])
@pytest.mark.parametrize("name", ["recall", "reflect"])
async def test_a_question_of_the_team_is_told_nothing_that_a_user_is_remembered_by(
    world: World, ask: Asker, name: str, depth: str
):
    user, (memory_id, _) = await known(world)
    fields: dict[str, Any] = {"user": user, "scope": "team", "depth": depth, "explain": True}
    answer = await only(
        ask, "memory", query="Who pays late?", key="runtime", expand_refs=[f"memory:{memory_id}"],
        provider_options=mode(name), **fields,
    )  # fmt: skip
    assert (states(answer), statuses(answer)["memory"]["reason"]) == (
        {"memory": "skipped"},
        "it has only PERSONAL hits",
    )
    by_default = await ask.query("runtime", query="Who pays late?", **fields)
    assert "memory" not in states(by_default)
    assert not any(text in str(one) for text in TEXTS for one in (answer, by_default))


async def test_memories_are_their_users_alone(world: World, ask: Asker):
    user, _ = await known(world)
    for key, who in (("runtime", an_id()), ("ada", ""), ("plain", ""), ("other", "")):
        answer = await only(ask, "memory", query="Who pays late?", key=key, user=who)
        assert not answer.get("hits")
    assert [one["scope"] for one in (await remembered(ask, user))["hits"]] == ["personal"]
