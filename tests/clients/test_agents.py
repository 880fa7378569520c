"""Agents and their templates by the Python clients."""

from __future__ import annotations

import uuid

import pytest

from contextkeep import AgentCallers, AsyncContextClient, ContextClient, ProviderNames
from contextkeep.errors import AgentNotFound, AgentTemplateInUse, AgentTemplateNotFound, ProviderNotAllowed
from tests.conftest import KEY, Addresses

FILES = ProviderNames(families=("workspace",))
CALLERS = AgentCallers(user_ids=("ada",), agent_ids=("drafter",), subjects=("crm",))


async def test_an_agent_comes_back_as_it_was_put_and_what_is_asked_for_it_is_held_to_it(stack: Addresses):
    agent_id, template_id, node_id = (str(uuid.uuid4()) for _ in range(3))
    with ContextClient(stack.context, api_key=KEY) as context:
        template = context.agent_templates.put(template_id, display_name="Reviewers", allowed=FILES)
        assert (template.allowed, template.defaults, template.version) == (FILES, None, 1)
        put = context.agents.put(
            agent_id,
            display_name="Reviewer",
            template_id=template_id,
            node_ids=[node_id],
            knowledge_bases=["laws"],
            defaults=FILES,
            callers=CALLERS,
        )
        assert (put.node_ids, put.knowledge_bases, put.allowed) == ((node_id,), ("laws",), None)
        assert context.agents.get(agent_id) == put
        assert context.agent_templates.get(template_id) == template
        assert context.query.ask("x", agent_id=agent_id).providers[0].provider_id == "workspace"

    async with AsyncContextClient(stack.context, api_key=KEY) as context:
        assert (put.defaults, put.callers) == (FILES, CALLERS)
        assert [one async for one in context.agents.list(template_id=template_id, page_size=1)] == [put]
        assert template in [one async for one in context.agent_templates.list(page_size=1)]
        assert (await context.query.get_policy(agent_id=agent_id)).agent_id == agent_id
        listed = {one.provider_id: one.is_allowed for one in await context.query.list_providers(agent_id=agent_id)}
        assert (listed["workspace"], listed["wiki"]) == (True, False)
        with pytest.raises(ProviderNotAllowed):
            await context.query.ask("x", provider_ids=["wiki"], agent_id=agent_id)
        with pytest.raises(AgentTemplateInUse):
            await context.agent_templates.delete(template_id)
        await context.agents.delete(agent_id)
        with pytest.raises(AgentNotFound):
            await context.query.ask("x", agent_id=agent_id)
        await context.agent_templates.delete(template_id)
        with pytest.raises(AgentTemplateNotFound):
            await context.agent_templates.get(template_id)


def test_a_list_that_is_empty_is_no_list_that_is_not_given(stack: Addresses):
    agent_id = str(uuid.uuid4())
    with ContextClient(stack.context, api_key=KEY) as context:
        closed = context.agents.put(agent_id, allowed=ProviderNames(), callers=AgentCallers())
        assert (closed.allowed, closed.callers) == (ProviderNames(), AgentCallers())
        assert context.query.ask("x", agent_id=agent_id).providers == ()
        opened = context.agents.put(agent_id)
        assert (opened.allowed, opened.callers, opened.version) == (None, None, 2)
        context.agents.delete(agent_id)
