"""Asking for an agent: its policy holds and its files are searched, over gRPC and over MCP, whatever its model says."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.context.v1.context_query_pb2_grpc import ContextQueryStub
from contextkeep.errors import AgentNotFound, ContextKeepError
from service_runtime.values.ids import new_id
from tests.context_service.contexts.callers import an_id
from tests.context_service.query.conftest import Asker, Refused, World, connected, over_mcp
from tests.context_service.query.test_policy import node_below, say
from tests.context_service.query.test_query import RENEWAL, only, states, statuses, written
from tests.errors import raised
from tests.fakes import context_providers as stubs

ADMIN = (("authorization", "Bearer admin"),)
DEFAULTS = {
    "brain",
    "fast",
    "knowledge-base",
    "memory",
    "team",
    "wiki",
    "workspace",
}  # asked where nobody says anything


async def put(world: World, agent_id: str = "", **fields: Any) -> str:
    said = {"agent_id": agent_id or an_id(), **fields}
    await world.opened.caller.of("admin").PutAgent(agent=said)
    return str(said["agent_id"])


async def template(world: World, **fields: Any) -> str:
    said = {"template_id": an_id(), **fields}
    await world.opened.caller.of("admin").PutAgentTemplate(template=said)
    return str(said["template_id"])


async def titles(ask: Asker, agent: str, query: str, **fields: Any) -> set[str]:
    answer = await only(ask, "workspace", query=query, agent=agent, **fields)
    assert states(answer) == {"workspace": "ok"}
    return {one["title"] for one in answer.get("hits", [])}


# Where its files are.


async def test_a_file_of_one_agent_is_found_for_it_and_not_for_another(world: World, ask: Asker):
    word = f"theodolite{ask.transport}"
    node_a, node_b = await node_below(world), await node_below(world)
    a, b = await put(world, node_ids=[node_a]), await put(world, node_ids=[node_b])
    below = await node_below(world, node_a)
    await written(world, f"A {word} of A.", name="a.md", node=below)
    await written(world, f"A {word} of B.", name="b.md", node=node_b)

    assert await titles(ask, a, word) == {"a.md"}
    assert await titles(ask, b, word) == {"b.md"}
    answer = await only(ask, "workspace", query=word, agent=a)
    assert answer["asked"]["agent_id"] == a
    assert statuses(answer)["workspace"]["target"] == f"agent {a}, records of 2 nodes: 1 file"

    # A model that names what is another's is told so, and gets nothing of it.
    options = {"workspace": {"node_ids": [node_b]}}
    answer = await only(ask, "workspace", query=word, agent=a, provider_options=options)
    assert (states(answer), answer.get("hits", [])) == ({"workspace": "skipped"}, [])
    assert statuses(answer)["workspace"]["reason"] == f"not below the nodes of agent {a}: {node_b}"
    options = {"workspace": {"node_ids": [node_b, below]}}
    answer = await only(ask, "workspace", query=word, agent=a, provider_options=options)
    assert (states(answer), [one["title"] for one in answer["hits"]]) == ({"workspace": "stale"}, ["a.md"])
    assert node_b in statuses(answer)["workspace"]["reason"]


async def test_an_agent_without_a_node_has_its_templates_else_the_tenants_else_none(world: World, ask: Asker):
    word = f"heliograph{ask.transport}"
    nodes = [await node_below(world) for _ in range(3)]
    for node, name in zip(nodes, ("agent.md", "template.md", "tenant.md"), strict=True):
        await written(world, f"A {word}.", name=name, node=node)
    with_node = await template(world, node_ids=[nodes[1]])
    agents = [
        await put(world, template_id=with_node, node_ids=[nodes[0]]),
        await put(world, template_id=with_node),
        await put(world, template_id=await template(world)),
    ]
    answer = await only(ask, "workspace", query=word, agent=agents[2])
    assert (states(answer), answer.get("hits", [])) == ({"workspace": "skipped"}, [])
    assert "no node is attached" in statuses(answer)["workspace"]["reason"]
    await say(world, "workspace", workspace=pb.WorkspaceOptions(node_ids=[nodes[2]]))
    try:
        found = [await titles(ask, agent, word) for agent in agents]
        answer = await only(ask, "workspace", query=word, agent=agents[2])
    finally:
        await say(world, "workspace", reset=["workspace"])
    assert found == [{"agent.md"}, {"template.md"}, {"tenant.md"}]
    assert statuses(answer)["workspace"]["target"] == "tenant, records of a node: 1 file"


# Whom it may ask.


async def test_what_an_agent_may_not_ask_is_refused_by_name_and_not_asked(world: World, ask: Asker):
    agent = await put(world, policy={"allowed": {"ids": ["fast"], "families": ["brain"]}})
    before = stubs.TeamOnly.began
    for selection, field, name in (
        ({"ids": ["fast", "team"]}, "providers.ids[1]", "team"),
        ({"families": ["workspace"]}, "providers.families[0]", "workspace"),
    ):
        with pytest.raises(Refused) as told:
            await ask.query(query=RENEWAL, providers=selection, agent=agent)
        assert (told.value.reason, told.value.fields) == ("PROVIDER_NOT_ALLOWED", [field])
        assert name in told.value.message and f"agent {agent}" in told.value.message
    with pytest.raises(Refused) as told:
        await ask.query(query=RENEWAL, context_ids=[str(new_id())], agent=agent)
    assert (told.value.reason, told.value.fields) == ("PROVIDER_NOT_ALLOWED", ["context_ids"])

    assert states(await ask.query(query=RENEWAL, agent=agent)) == {"brain": "skipped", "fast": "ok"}
    answer = await ask.query(query=RENEWAL, providers={"families": ["external", "brain"]}, agent=agent)
    assert states(answer) == {"brain": "skipped", "expands": "ok", "fast": "ok"}
    assert stubs.TeamOnly.began == before
    listed = {one["provider_id"]: one for one in (await ask.providers(agent=agent))["providers"]}
    assert [name for name, one in listed.items() if one.get("is_allowed")] == ["brain", "expands", "fast"]
    assert not listed["team"].get("is_default")


async def test_a_template_takes_away_and_an_agent_gives_nothing_back(world: World, ask: Asker):
    only_two = await template(world, policy={"allowed": {"ids": ["fast", "team"]}, "defaults": {"ids": ["team"]}})
    wide = await put(world, template_id=only_two, policy={"allowed": {"ids": ["fast", "empty"]}})
    plain = await put(world, template_id=only_two)
    assert states(await ask.query(query=RENEWAL, agent=plain)) == {"team": "ok"}
    with pytest.raises(Refused) as told:
        await only(ask, "empty", agent=wide)
    assert "template" in told.value.message
    assert states(await ask.query(query=RENEWAL, agent=wide)) == {}
    assert states(await only(ask, "fast", agent=wide)) == {"fast": "ok"}
    nothing = await put(world, policy={"allowed": {}})
    assert states(await ask.query(query=RENEWAL, agent=nothing)) == {}


async def test_defaults_are_the_agents_and_what_the_tenant_disables_is_none_of_them(world: World, ask: Asker):
    agent = await put(world, policy={"defaults": {"ids": ["empty", "fast"]}})
    assert states(await ask.query(query=RENEWAL, agent=agent)) == {"empty": "ok", "fast": "ok"}
    await say(world, "fast", enabled=False)
    try:
        assert states(await ask.query(query=RENEWAL, agent=agent)) == {"empty": "ok"}
        assert states(await only(ask, "fast", agent=agent)) == {"fast": "skipped"}
    finally:
        await say(world, "fast", reset=["enabled"])


async def test_what_is_put_holds_at_once(world: World, ask: Asker):
    narrow = {"allowed": {"ids": ["fast"]}}
    its_template = await template(world)
    agent = await put(world, template_id=its_template)
    assert set(states(await ask.query(query=RENEWAL, agent=agent))) == DEFAULTS
    await put(world, agent, template_id=its_template, policy=narrow)
    assert states(await ask.query(query=RENEWAL, agent=agent)) == {"fast": "ok"}
    await put(world, agent, template_id=its_template)
    await world.opened.caller.of("admin").PutAgentTemplate(template={"template_id": its_template, "policy": narrow})
    assert states(await ask.query(query=RENEWAL, agent=agent)) == {"fast": "ok"}


# Who may name it.


async def test_an_agent_that_may_not_be_named_is_as_one_that_is_not_there(world: World, ask: Asker):
    before = stubs.Fast.began
    hidden = await put(world, callers={"user_ids": ["ada"]}, policy={"allowed": {"ids": ["fast"]}})
    never = an_id()
    for key in ("bob", "plain", "other", "reviewer"):
        told = []
        for agent in (hidden, never):
            with pytest.raises(Refused) as answered:
                await ask.query(key, query=RENEWAL, agent=agent)
            told.append((answered.value.reason, answered.value.fields, answered.value.message.replace(agent, "<id>")))
            with pytest.raises(Refused):
                await ask.providers(key, agent)
        assert told[0] == told[1] and told[0][0] == "AGENT_NOT_FOUND"
    assert stubs.Fast.began == before
    assert states(await ask.query("ada", query=RENEWAL, agent=hidden)) == {"fast": "ok"}
    assert states(await ask.query("runtime", query=RENEWAL, agent=hidden, user="ada")) == {"fast": "ok"}
    with pytest.raises(Refused):
        await ask.query("runtime", query=RENEWAL, agent=hidden, user="bob")


async def test_the_credentials_agent_is_meant_and_held_to_and_names_no_other_that_does_not_list_it(
    world: World, ask: Asker
):
    wide = await put(world)
    answer = await ask.query("reviewer", query=RENEWAL)  # nobody put it: a label of the key
    assert "agent_id" not in answer["asked"] and set(states(answer)) == DEFAULTS
    await put(world, "reviewer", policy={"allowed": {"ids": ["fast"]}})
    try:
        answer = await ask.query("reviewer", query=RENEWAL)
        assert (states(answer), answer["asked"]["agent_id"]) == ({"fast": "ok"}, "reviewer")
        with pytest.raises(Refused) as told:
            await only(ask, "team", key="reviewer")
        assert told.value.reason == "PROVIDER_NOT_ALLOWED"
        with pytest.raises(Refused) as told:
            await ask.query("reviewer", query=RENEWAL, agent=wide)
        assert told.value.reason == "AGENT_NOT_FOUND"
        await put(world, wide, callers={"agent_ids": ["reviewer"]})
        assert set(states(await ask.query("reviewer", query=RENEWAL, agent=wide))) == DEFAULTS
    finally:
        await world.opened.caller.of("admin").DeleteAgent(agent_id="reviewer")


async def test_no_argument_of_a_model_names_an_agent(world: World):
    agent = await put(world)
    with pytest.raises(Refused) as told:
        await over_mcp(world).query(query=RENEWAL, agent_id=agent)
    assert told.value.fields == ["agent_id"]


# What holds, told.


async def test_the_policy_says_who_refuses_and_where_files_are(world: World):
    node = str(new_id())
    its_template = await template(world, node_ids=[node], policy={"allowed": {"families": ["workspace", "external"]}})
    agent = await put(world, template_id=its_template, policy={"allowed": {"ids": ["workspace", "expands"]}})
    policy = await world.opened.caller.of("plain").GetQueryPolicy(agent_id=agent)
    assert (policy.agent_id, policy.template_id) == (agent, its_template)
    assert (policy.target.whose, list(policy.target.node_ids)) == (f"template {its_template}", [node])
    refused_by = {one.provider_id: one.refused_by for one in policy.providers}
    assert (refused_by["workspace"], refused_by["fast"]) == ("", f"agent {agent}")
    assert refused_by["expands"] == f"template {its_template}"
    assert [one.provider_id for one in policy.providers if one.is_allowed] == ["workspace"]


async def test_a_tool_for_a_family_is_listed_where_the_policy_has_it_and_asks_it_alone(world: World):
    base = ["list_context_providers", "query_context"]
    agent = await put(world)
    without = await put(world, policy={"allowed": {"families": ["workspace"]}})

    async def tools(agent: str) -> dict[str, Any]:
        async with connected(world, "plain", agent=agent) as client:
            return {one.name: one for one in (await client.list_tools()).tools}

    there = await tools(agent)
    assert sorted(there) == sorted([*base, "query_brain_context", "query_memory_context", "query_wiki_context"])
    assert "first" in str(there["query_brain_context"].description)
    assert all(one.annotations.read_only_hint for one in there.values())
    assert sorted(await tools(without)) == sorted(await tools("")) == base
    assert sorted(await tools(an_id())) == base

    async with connected(world, "plain", agent=agent) as client:
        answer = (await client.call_tool("query_brain_context", {"query": RENEWAL})).structured_content
        assert states(answer) == {"brain": "skipped", "expands": "ok"}
        result = await client.call_tool("query_brain_context", {"query": RENEWAL, "providers": {"ids": ["fast"]}})
        assert result.is_error and "providers" in result.content[0].text
    async with connected(world, "plain", agent=without) as client:
        result = await client.call_tool("query_brain_context", {"query": RENEWAL})
        assert result.is_error and "PROVIDER_NOT_ALLOWED" in result.content[0].text


# However it is asked.


async def asked_stream(world: World, agent: str, **fields: Any) -> list[pb.StreamQueryContextResponse]:
    events: list[pb.StreamQueryContextResponse] = []
    request = pb.QueryContextRequest(query=RENEWAL, agent_id=agent, **fields)
    metadata = (("authorization", "Bearer ada"),)
    try:
        async for event in ContextQueryStub(world.opened.caller.channel).StreamQueryContext(request, metadata=metadata):
            events.append(event)
    except grpc.aio.AioRpcError as error:
        assert events == [], "it is refused before the first message"
        raise raised(error) from None
    return events


async def test_a_stream_is_held_to_the_agents_policy_and_refused_before_its_first_message(world: World):
    agent = await put(world, policy={"allowed": {"ids": ["fast"]}})
    *told, last = await asked_stream(world, agent)
    assert [one.provider.status.provider_id for one in told] == ["fast"]
    assert [one.provider_id for one in last.answer.providers] == ["fast"]
    assert last.answer.asked.agent_id == agent

    began = stubs.Fast.began, stubs.TeamOnly.began
    with pytest.raises(ContextKeepError) as refused:
        await asked_stream(world, agent, providers=pb.ProviderSelection(ids=["fast", "team"]))
    assert refused.value.reason == "PROVIDER_NOT_ALLOWED"
    for unnamed in (await put(world, callers={"user_ids": ["bob"]}), an_id()):
        with pytest.raises(ContextKeepError) as refused:
            await asked_stream(world, unnamed)
        assert refused.value.reason == "AGENT_NOT_FOUND"
    assert (stubs.Fast.began, stubs.TeamOnly.began) == began


async def test_a_test_of_sources_keeps_its_agent_and_asks_for_it_again(world: World):
    caller = world.opened.caller.of("admin")
    agent = await put(world, policy={"allowed": {"ids": ["fast"]}})
    first = (await caller.RunSourceTest(question={"query": RENEWAL, "agent_id": agent})).test
    assert (first.question.agent_id, first.answer.asked.agent_id) == (agent, agent)
    assert [one.provider_id for one in first.answer.providers] == ["fast"]

    await put(world, agent, policy={"allowed": {"ids": ["empty"]}, "defaults": {"ids": ["empty"]}})
    again = (await caller.RunSourceTest(replay_of=first.test_id)).test
    assert (again.question.agent_id, again.answer.asked.agent_id) == (agent, agent)
    assert [one.provider_id for one in again.answer.providers] == ["empty"]
    assert (await caller.GetSourceTest(test_id=first.test_id)).test == first

    await caller.DeleteAgent(agent_id=agent)
    with pytest.raises(AgentNotFound):
        await caller.RunSourceTest(replay_of=first.test_id)
