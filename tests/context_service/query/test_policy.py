"""Who may be asked, and where: what a tenant says of providers is held by the service, over gRPC and over MCP alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from context_service.query.rules.cache import FRESH_S, STANDS_IN_S, Remembered
from contextkeep import AsyncEntityClient
from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.errors import InvalidArgument, NotFound, Unavailable
from service_runtime.rpc.principal import ApiKeys
from service_runtime.values.ids import new_id
from tests.clients.stack import running
from tests.context_service.contexts.callers import KEYS, Caller
from tests.context_service.query.conftest import Asker, World, over_grpc, over_mcp
from tests.context_service.query.test_query import RENEWAL, only, states, statuses, written
from tests.fakes import context_providers as stubs
from tests.fakes.context_providers import installed
from tests.ports import free_port

FIELDS = ["enabled", "is_default", "deadline_ms"]


async def say(world: World, provider_id: str, key: str = "admin", **fields: Any) -> pb.ProviderSetting:
    said = {"request_id": fields.pop("request_id", ""), "reset": fields.pop("reset", [])}
    setting = pb.ProviderSetting(provider_id=provider_id, **fields)
    answer = await world.opened.caller.of(key).UpdateProviderSetting(setting=setting, **said)
    return answer.setting


@pytest.fixture(autouse=True)
async def as_they_were(world: World) -> AsyncIterator[None]:
    yield
    for provider_id in ("fast", "slow", "team"):
        await say(world, provider_id, reset=FIELDS)
    await say(world, "workspace", reset=[*FIELDS, "workspace"])


async def test_a_disabled_provider_is_skipped_where_it_is_named_and_asked_nowhere(world: World, ask: Asker):
    await say(world, "fast", enabled=False)
    before = stubs.Fast.began

    assert states(await ask.query(query=RENEWAL)) == {
        "memory": "skipped",
        "team": "ok",
        "wiki": "skipped",
        "brain": "skipped",
        "knowledge-base": "skipped",
        "workspace": "ok",
    }
    answer = await only(ask, "fast", "team")
    assert states(answer) == {"fast": "skipped", "team": "ok"}
    assert statuses(answer)["fast"]["reason"] == "it is disabled"
    answer = await ask.query(query=RENEWAL, providers={"families": ["external"]})
    assert states(answer)["fast"] == "skipped"
    assert stubs.Fast.began == before
    told = {one["provider_id"]: one for one in (await ask.providers())["providers"]}
    assert not told["fast"].get("is_enabled") and not told["fast"].get("is_default")
    assert told["team"]["is_enabled"]

    await say(world, "fast", enabled=True)
    assert states(await ask.query(query=RENEWAL))["fast"] == "ok"


async def test_what_is_for_a_disabled_provider_is_skipped_with_it(world: World, ask: Asker):
    await say(world, "workspace", enabled=False)
    options = {"workspace": {"node_ids": [str(new_id())]}}
    assert states(await ask.query(query=RENEWAL, provider_options=options))["workspace"] == "skipped"


async def test_defaults_are_the_tenants(world: World, ask: Asker):
    await say(world, "fast", is_default=False)
    await say(world, "empty", is_default=True)
    try:
        assert states(await ask.query(query=RENEWAL)) == {
            "empty": "ok",
            "memory": "skipped",
            "team": "ok",
            "wiki": "skipped",
            "brain": "skipped",
            "knowledge-base": "skipped",
            "workspace": "ok",
        }
    finally:
        await say(world, "empty", reset=["is_default"])
    assert states(await only(ask, "fast")) == {"fast": "ok"}


async def test_a_provider_of_the_team_is_not_shown_to_a_personal_question_that_does_not_name_it(
    world: World, ask: Asker
):
    await say(world, "team", is_default=True)
    assert "team" not in states(await ask.query("ada", query=RENEWAL, scope="personal"))
    answer = await only(ask, "team", key="ada", scope="personal")
    assert (states(answer), statuses(answer)["team"]["reason"]) == ({"team": "skipped"}, "it has only TEAM hits")


async def test_a_provider_has_the_time_that_the_tenant_gives_it(world: World, ask: Asker):
    await say(world, "slow", deadline_ms=50)
    answer = await only(ask, "slow")
    assert states(answer) == {"slow": "timeout"}
    assert statuses(answer)["slow"].get("duration_ms", 0) < 1_500  # of the 2,500 that it had


async def test_what_is_said_is_kept_field_by_field_and_taken_back_by_name(world: World):
    await say(world, "fast", enabled=False, deadline_ms=900)
    said = await say(world, "fast", is_default=False)
    assert (said.enabled, said.is_default, said.deadline_ms) == (False, False, 900)
    said = await say(world, "fast", enabled=True, reset=["deadline_ms", "is_default"])
    assert said.enabled and not said.HasField("deadline_ms") and not said.HasField("is_default")


async def test_a_disabled_provider_cannot_be_made_a_default(world: World):
    with pytest.raises(InvalidArgument) as refused:
        await say(world, "fast", enabled=False, is_default=True)
    assert [violation.field for violation in refused.value.violations] == ["setting.is_default"]


async def test_two_who_say_different_things_at_once_are_both_heard(world: World):
    await asyncio.gather(*(say(world, "fast", **one) for one in ({"is_default": False}, {"deadline_ms": 700}) * 5))
    policy = await world.opened.caller.of("plain").GetQueryPolicy()
    (fast,) = (one for one in policy.providers if one.provider_id == "fast")
    assert (fast.is_default, fast.deadline_ms, fast.setting.deadline_ms) == (False, 700, 700)


async def test_what_one_tenant_says_is_nothing_to_another(world: World, ask: Asker):
    await say(world, "fast", enabled=False)
    assert states(await ask.query("other", query=RENEWAL))["fast"] == "ok"
    await say(world, "fast", "other", deadline_ms=600)
    policy = await world.opened.caller.of("admin").GetQueryPolicy()
    (fast,) = (one for one in policy.providers if one.provider_id == "fast")
    assert not fast.is_enabled and not fast.setting.HasField("deadline_ms")


async def test_it_holds_for_keys_with_bounds(world: World, ask: Asker):
    await say(world, "fast", enabled=False)
    for key in ("app", "graph"):
        assert states(await only(ask, "fast", key=key)) == {"fast": "skipped"}


async def test_it_holds_at_another_replica_and_after_a_restart(world: World, tmp_path: Path):
    await say(world, "fast", enabled=False, deadline_ms=321)
    port = free_port()
    with installed(tmp_path / "packages"):
        async with (
            running(world.opened.urls.service, tmp_path / "blobs", callers=ApiKeys(KEYS), mcp_port=port) as addresses,
            grpc.aio.insecure_channel(addresses.context) as channel,
        ):
            there = replace(
                world,
                opened=replace(world.opened, caller=Caller(channel)),
                mcp_urls={"mcp": f"http://127.0.0.1:{port}/mcp/query"},
            )
            for ask in (over_grpc(there), over_mcp(there)):
                asked = states(await ask.query(query=RENEWAL))
                assert set(asked) == {"brain", "knowledge-base", "memory", "team", "wiki", "workspace"}
                assert states(await only(ask, "fast")) == {"fast": "skipped"}
            policy = await Caller(channel).GetQueryPolicy()
    (fast,) = (one for one in policy.providers if one.provider_id == "fast")
    assert (fast.is_enabled, fast.deadline_ms) == (False, 321)


# Where the workspace is searched.


async def node_below(world: World, *parents: str) -> str:
    async with AsyncEntityClient(world.opened.addresses.entity, api_key="plain") as entity:
        node = await entity.graph.create_node("Folder", name="folder")
        for parent in parents:
            await entity.graph.create_edge(parent, node.id, "Contains")
    return str(node.id)


async def test_the_tenants_nodes_and_all_below_them_are_searched_and_the_status_says_so(world: World, ask: Asker):
    word = f"astrolabe{ask.transport}"
    top = await node_below(world)
    below = await node_below(world, await node_below(world, top))
    await written(world, f"The {word} of the top.", name="top.md", node=top)
    await written(world, f"The {word} far below.", name="below.md", node=below)
    await written(world, f"The {word} elsewhere.", name="elsewhere.md")
    await say(world, "workspace", workspace=pb.WorkspaceOptions(node_ids=[top]))

    answer = await only(ask, "workspace", query=f"Where is the {word}?")
    assert {one["title"] for one in answer["hits"]} == {"top.md", "below.md"}
    assert statuses(answer)["workspace"]["target"] == "tenant, records of 3 nodes: 2 files"
    elsewhere = {"workspace": {"node_ids": [below]}}
    answer = await only(ask, "workspace", query=f"Where is the {word}?", provider_options=elsewhere)
    assert [one["title"] for one in answer["hits"]] == ["below.md"]

    policy = await world.opened.caller.of("plain").GetQueryPolicy()
    assert (policy.target.whose, list(policy.target.node_ids)) == ("tenant", [top])
    await say(world, "workspace", workspace=pb.WorkspaceOptions())
    answer = await only(ask, "workspace", query=f"Where is the {word}?")
    assert len(answer["hits"]) == 3
    assert not (await world.opened.caller.of("admin").GetQueryPolicy()).HasField("target")


async def test_a_node_that_is_not_in_the_graph_yet_has_its_own_records(world: World, ask: Asker):
    node = str(new_id())
    await written(world, f"The sextant {ask.transport} is early.", name="early.md", node=node)
    await say(world, "workspace", workspace=pb.WorkspaceOptions(node_ids=[node]))
    answer = await only(ask, "workspace", query=f"sextant {ask.transport}")
    assert [one["title"] for one in answer["hits"]] == ["early.md"]


async def test_the_list_says_which_is_disabled_to_models_too(world: World):
    await say(world, "fast", enabled=False)
    text = await over_mcp(world).list_text()
    (line,) = (one for one in text.splitlines() if one.startswith("- fast "))
    assert line.endswith("; disabled")


# What is read for every question is remembered for a moment.


async def test_what_is_known_stands_in_for_a_source_that_does_not_answer_but_not_for_one_that_refuses():
    remembered: Remembered[str, int] = Remembered()
    reads: list[int | Exception] = [1, Unavailable("gone"), NotFound("never was")]

    async def read() -> int:
        value = reads.pop(0)
        if isinstance(value, Exception):
            raise value
        return value

    assert [await remembered.get("a", read), await remembered.get("a", read)] == [1, 1]
    assert len(reads) == 2  # a fresh one is not read again
    assert remembered.fresh("a") == 1
    at, value = remembered._kept["a"]
    remembered._kept["a"] = at - FRESH_S, value
    for key in ("a", "b"):  # one that is no longer fresh is no more at hand than one that never was read
        with pytest.raises(KeyError):
            remembered.fresh(key)
    assert await remembered.get("a", read) == 1
    with pytest.raises(NotFound):
        await remembered.get("a", read)
    remembered._kept["a"] = at - STANDS_IN_S, value
    reads.append(Unavailable("gone"))
    with pytest.raises(Unavailable):
        await remembered.get("a", read)


async def test_what_was_read_before_a_change_is_not_kept_behind_it():
    remembered: Remembered[str, int] = Remembered()

    async def slow() -> int:
        remembered.forget()  # a change comes while it is read
        return 1

    async def after() -> int:
        return 2

    assert [await remembered.get("a", slow), await remembered.get("a", after)] == [1, 2]
