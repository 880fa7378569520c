"""Agents and templates through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import uuid

import grpc
import pytest

from contextkeep.context.v1 import agents_pb2 as pb
from contextkeep.context.v1.knowledge_pb2_grpc import KnowledgeStub
from tests.conftest import METADATA
from tests.errors import raised

STUB = KnowledgeStub


@pytest.fixture
def template(grpc_stub) -> pb.AgentTemplate:
    allowed = pb.ProviderNames(families=["workspace"])
    said = pb.AgentTemplateInput(template_id=f"t{uuid.uuid4().hex}", policy=pb.AgentPolicy(allowed=allowed))
    return grpc_stub.PutAgentTemplate(pb.PutAgentTemplateRequest(template=said), metadata=METADATA).template


@pytest.fixture
def agent(grpc_stub, template) -> pb.Agent:
    said = pb.AgentInput(agent_id=f"a{uuid.uuid4().hex}", template_id=template.template_id)
    return grpc_stub.PutAgent(pb.PutAgentRequest(agent=said), metadata=METADATA).agent


def refusal(call, request) -> str:
    with pytest.raises(grpc.RpcError) as refused:
        call(request, metadata=METADATA)
    return raised(refused.value).reason


def test_PutAgent_counts_how_often_it_was_put(grpc_stub, agent, template):
    assert (agent.version, agent.template_id) == (1, template.template_id)
    said = pb.AgentInput(agent_id=agent.agent_id, display_name="Reviewer")
    again = grpc_stub.PutAgent(pb.PutAgentRequest(agent=said), metadata=METADATA).agent
    assert (again.version, again.display_name, again.template_id) == (2, "Reviewer", "")


def test_GetAgent_answers_it_as_it_was_put(grpc_stub, agent):
    assert grpc_stub.GetAgent(pb.GetAgentRequest(agent_id=agent.agent_id), metadata=METADATA).agent == agent
    assert refusal(grpc_stub.GetAgent, pb.GetAgentRequest(agent_id="nobody")) == "AGENT_NOT_FOUND"


def test_ListAgents_answers_those_of_a_template(grpc_stub, agent):
    listing = pb.ListAgentsRequest(template_id=agent.template_id)
    assert list(grpc_stub.ListAgents(listing, metadata=METADATA).agents) == [agent]


def test_DeleteAgent_removes_it(grpc_stub, agent):
    request = pb.DeleteAgentRequest(agent_id=agent.agent_id)
    grpc_stub.DeleteAgent(request, metadata=METADATA)
    assert refusal(grpc_stub.DeleteAgent, request) == "AGENT_NOT_FOUND"


def test_PutAgentTemplate_counts_how_often_it_was_put(grpc_stub, template):
    said = pb.AgentTemplateInput(template_id=template.template_id)
    again = grpc_stub.PutAgentTemplate(pb.PutAgentTemplateRequest(template=said), metadata=METADATA).template
    assert (template.version, again.version, again.policy.HasField("allowed")) == (1, 2, False)


def test_GetAgentTemplate_answers_it_as_it_was_put(grpc_stub, template):
    request = pb.GetAgentTemplateRequest(template_id=template.template_id)
    assert grpc_stub.GetAgentTemplate(request, metadata=METADATA).template == template


def test_ListAgentTemplates_answers_them_in_pages(grpc_stub, template):
    listing = pb.ListAgentTemplatesRequest(page_size=1)
    found = []
    while True:
        page = grpc_stub.ListAgentTemplates(listing, metadata=METADATA)
        found += [one.template_id for one in page.templates]
        if not page.next_page_token:
            break
        listing.page_token = page.next_page_token
    assert found.count(template.template_id) == 1
    assert len(page.templates) <= 1


def test_DeleteAgentTemplate_waits_until_no_agent_has_it(grpc_stub, agent, template):
    request = pb.DeleteAgentTemplateRequest(template_id=template.template_id)
    assert refusal(grpc_stub.DeleteAgentTemplate, request) == "AGENT_TEMPLATE_IN_USE"
    grpc_stub.DeleteAgent(pb.DeleteAgentRequest(agent_id=agent.agent_id), metadata=METADATA)
    grpc_stub.DeleteAgentTemplate(request, metadata=METADATA)
    assert refusal(grpc_stub.DeleteAgentTemplate, request) == "AGENT_TEMPLATE_NOT_FOUND"
