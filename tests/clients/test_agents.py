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
        template = context.put_agent_template(template_id, display_name="Reviewers", allowed=FILES)
        assert (template.allowed, template.defaults, template.version) == (FILES, None, 1)
        put = context.put_agent(
            agent_id,
            display_name="Reviewer",
            template_id=template_id,
            node_ids=[node_id],
            knowledge_bases=["laws"],
            defaults=FILES,
            callers=CALLERS,
        )
        assert (put.node_ids, put.knowledge_bases, put.allowed) == ((node_id,), ("laws",), None)
        assert context.get_agent(agent_id) == put
        assert context.get_agent_template(template_id) == template
        assert context.query_context("x", agent_id=agent_id).providers[0].provider_id == "workspace"

    async with AsyncContextClient(stack.context, api_key=KEY) as context:
        assert (put.defaults, put.callers) == (FILES, CALLERS)
        assert [one async for one in context.list_agents(template_id=template_id, page_size=1)] == [put]
        assert template in [one async for one in context.list_agent_templates(page_size=1)]
        assert (await context.get_query_policy(agent_id=agent_id)).agent_id == agent_id
        listed = {one.provider_id: one.is_allowed for one in await context.list_context_providers(agent_id=agent_id)}
        assert (listed["workspace"], listed["wiki"]) == (True, False)
        with pytest.raises(ProviderNotAllowed):
            await context.query_context("x", provider_ids=["wiki"], agent_id=agent_id)
        with pytest.raises(AgentTemplateInUse):
            await context.delete_agent_template(template_id)
        await context.delete_agent(agent_id)
        with pytest.raises(AgentNotFound):
            await context.query_context("x", agent_id=agent_id)
        await context.delete_agent_template(template_id)
        with pytest.raises(AgentTemplateNotFound):
            await context.get_agent_template(template_id)


def test_a_list_that_is_empty_is_no_list_that_is_not_given(stack: Addresses):
    agent_id = str(uuid.uuid4())
    with ContextClient(stack.context, api_key=KEY) as context:
        closed = context.put_agent(agent_id, allowed=ProviderNames(), callers=AgentCallers())
        assert (closed.allowed, closed.callers) == (ProviderNames(), AgentCallers())
        assert context.query_context("x", agent_id=agent_id).providers == ()
        opened = context.put_agent(agent_id)
        assert (opened.allowed, opened.callers, opened.version) == (None, None, 2)
        context.delete_agent(agent_id)
