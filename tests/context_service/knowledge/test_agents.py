"""Agents and their templates: put by administrators, and named by those who may."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from context_service.agents import rules as agents
from contextkeep.context.v1 import agent_templates_pb2 as agent_templates_pb
from contextkeep.context.v1 import agents_pb2 as pb
from contextkeep.errors import (
    AgentNotFound,
    ContextKeepError,
    InvalidArgument,
    LimitExceeded,
    PermissionDenied,
)
from service_runtime.values.ids import new_id
from tests.context_service.contexts.callers import Opened, an_id
from tests.context_service.erased import erase_subject


class Calls:
    """Calls the RPCs of agents."""

    def __init__(self, stack: Opened) -> None:
        self._stack = stack

    async def __call__(self, name: str, key: str = "admin", **fields: Any) -> Any:
        return await self._stack.caller.of(key).call(name, **fields)

    async def put(self, agent_id: str = "", *, request_id: str = "", key: str = "admin", **fields: Any) -> pb.Agent:
        said = {"agent_id": agent_id or an_id(), **fields}
        return (await self("PutAgent", key, agent=said, request_id=request_id)).agent

    async def template(self, template_id: str = "", **fields: Any) -> agent_templates_pb.AgentTemplate:
        said = {"template_id": template_id or an_id(), **fields}
        return (await self("PutAgentTemplate", template=said)).template

    async def names(self, key: str = "admin", **fields: Any) -> list[str]:
        found: list[str] = []
        token = ""
        while True:
            page = await self("ListAgents", key, page_token=token, **fields)
            found += [one.agent_id for one in page.agents]
            token = page.next_page_token
            if not token:
                return found


@pytest.fixture
def call(stack: Opened) -> Calls:
    return Calls(stack)


async def test_an_agent_is_as_it_was_put_last(call: Calls):
    template = await call.template(display_name="Reviewers", policy={"allowed": {"families": ["workspace"]}})
    node = str(new_id())
    put = await call.put(
        display_name="Reviewer",
        template_id=template.template_id,
        node_ids=[node],
        knowledge_bases=["handbook"],
        policy={"allowed": {"ids": ["workspace"]}, "defaults": {}},
        callers={"user_ids": ["ada"]},
    )
    assert put == (await call("GetAgent", agent_id=put.agent_id)).agent
    assert (put.version, list(put.node_ids), list(put.knowledge_bases)) == (1, [node], ["handbook"])
    assert put.policy.HasField("defaults") and not put.policy.defaults.ids
    assert (put.updated_by, put.template_id) == ("tests", template.template_id) or put.updated_by

    again = await call.put(put.agent_id, display_name="Another")
    assert (again.version, again.display_name, again.template_id, list(again.node_ids)) == (2, "Another", "", [])
    assert again.created_at == put.created_at and not again.policy.HasField("allowed") and not again.HasField("callers")
    got = (await call("GetAgentTemplate", "plain", template_id=template.template_id)).template
    assert got == template


async def test_only_an_administrator_without_bounds_puts_and_deletes(call: Calls):
    put = await call.put()
    template = await call.template()
    for key in ("plain", "runtime", "ada", "app", "graph", "reviewer"):
        for name, fields in (
            ("PutAgent", {"agent": {"agent_id": put.agent_id}}),
            ("DeleteAgent", {"agent_id": put.agent_id}),
            ("PutAgentTemplate", {"template": {"template_id": template.template_id}}),
            ("DeleteAgentTemplate", {"template_id": template.template_id}),
        ):
            with pytest.raises(PermissionDenied):
                await call(name, key, **fields)
    assert (await call("GetAgent", agent_id=put.agent_id)).agent == put


@pytest.mark.parametrize(
    ("callers", "may", "may_not"),
    [
        (None, [("plain", ""), ("ada", ""), ("runtime", "bob"), ("app", "")], [("reviewer", ""), ("other", "")]),
        ({}, [], [("plain", ""), ("ada", ""), ("runtime", ""), ("reviewer", ""), ("other", "")]),
        ({"user_ids": ["ada"]}, [("ada", ""), ("runtime", "ada")], [("bob", ""), ("runtime", "bob"), ("plain", "")]),
        ({"agent_ids": ["reviewer"]}, [("reviewer", "")], [("plain", ""), ("ada", ""), ("other", "")]),
        ({"user_ids": ["reviewer"], "agent_ids": ["ada"]}, [], [("reviewer", ""), ("ada", ""), ("plain", "")]),
    ],
    ids=repr,
)
async def test_who_may_not_name_an_agent_is_told_nothing_of_it(call: Calls, callers, may, may_not):
    put = await call.put(display_name="secret", callers=callers)
    never = an_id()
    for key, user in may:
        got = (await call("GetAgent", key, agent_id=put.agent_id, subject_user_id=user)).agent
        assert got.display_name == "secret"
        assert not got.HasField("callers") or key == "app"  # whose key is an administrator's, too
        assert put.agent_id in await call.names(key, subject_user_id=user)
    for key, user in may_not:
        told = []
        for agent_id in (put.agent_id, never):
            with pytest.raises(AgentNotFound) as refused:
                await call("GetAgent", key, agent_id=agent_id, subject_user_id=user)
            told.append(str(refused.value).replace(agent_id, "<id>"))
        assert told[0] == told[1]
        assert put.agent_id not in await call.names(key, subject_user_id=user)


async def test_an_administrator_who_names_a_user_sees_what_he_does(call: Calls):
    put = await call.put(callers={"user_ids": ["ada"]})
    assert (await call("GetAgent", agent_id=put.agent_id, subject_user_id="ada")).agent.agent_id == put.agent_id
    with pytest.raises(AgentNotFound):
        await call("GetAgent", agent_id=put.agent_id, subject_user_id="bob")


async def test_lists_come_in_pages_by_id(call: Calls):
    template = (await call.template()).template_id
    ids = [(await call.put(f"p{number}-{template}", template_id=template)).agent_id for number in range(5)]
    assert await call.names(template_id=template, page_size=2) == ids
    page = await call("ListAgents", template_id=template, page_size=2)
    with pytest.raises(InvalidArgument):
        await call("ListAgents", page_size=2, page_token=page.next_page_token)  # of another list
    with pytest.raises(InvalidArgument):
        await call("ListAgentTemplates", page_token=page.next_page_token)
    found = await call("ListAgentTemplates", page_size=1000)
    assert template in [one.template_id for one in found.templates]


async def test_who_puts_an_agent_and_who_deletes_its_template_take_turns(call: Calls):
    for _ in range(5):
        template = (await call.template()).template_id
        agent = an_id()
        await asyncio.gather(
            call.put(agent, template_id=template),
            call("DeleteAgentTemplate", template_id=template),
            return_exceptions=True,
        )
        there = {"agent": True, "template": True}
        for kind, name, named in (("agent", "GetAgent", agent), ("template", "GetAgentTemplate", template)):
            try:
                await call(name, **{f"{kind}_id": named})
            except ContextKeepError:
                there[kind] = False
        assert there["agent"] == there["template"]


async def test_there_are_so_many_at_most(call: Calls, monkeypatch: pytest.MonkeyPatch):
    put = await call.put()
    monkeypatch.setattr(agents, "AGENTS_MAX", len(await call.names()))
    with pytest.raises(LimitExceeded) as refused:
        await call.put()
    assert refused.value.metadata["limit"] == "agents"
    assert (await call.put(put.agent_id)).version == 2  # one that is there


async def test_a_user_who_is_erased_is_named_by_no_agent_and_no_one_else_may_name_it_for_that(
    stack: Opened, call: Calls
):
    user, other = an_id(), an_id()
    alone = await call.put(callers={"user_ids": [user]})
    beside = await call.put(callers={"user_ids": [other, user], "agent_ids": [user], "subjects": [user, "crm"]})
    everybodys = await call.put()
    of_other_tenant = await call.put(key="other", callers={"user_ids": [user]})

    for found in ({"context.agent": 2}, {}):  # the second time there is nothing left
        assert await erase_subject(stack.database, user) == found

    left = (await call("GetAgent", agent_id=beside.agent_id)).agent.callers
    assert (left.user_ids, left.agent_ids, left.subjects) == ([other], [user], ["crm"])
    left = (await call("GetAgent", agent_id=alone.agent_id)).agent
    assert left.HasField("callers") and not left.callers.user_ids
    with pytest.raises(AgentNotFound):
        await call("GetAgent", "plain", agent_id=alone.agent_id)
    assert not (await call("GetAgent", "plain", agent_id=everybodys.agent_id)).agent.HasField("callers")
    theirs = (await call("GetAgent", "other", agent_id=of_other_tenant.agent_id)).agent
    assert theirs.callers.user_ids == [user]
