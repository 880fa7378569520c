"""Agents and their templates by the Python clients."""

from __future__ import annotations

import uuid

from contextkeep import AgentCallers, ContextClient, ProviderNames
from tests.conftest import KEY, Addresses


def test_a_list_that_is_empty_is_no_list_that_is_not_given(stack: Addresses):
    agent_id = str(uuid.uuid4())
    with ContextClient(stack.context, api_key=KEY) as context:
        closed = context.agents.put(agent_id, allowed=ProviderNames(), callers=AgentCallers())
        assert (closed.allowed, closed.callers) == (ProviderNames(), AgentCallers())
        assert context.query.ask("x", agent_id=agent_id).providers == ()
        opened = context.agents.put(agent_id)
        assert (opened.allowed, opened.callers, opened.version) == (None, None, 2)
        context.agents.delete(agent_id)
