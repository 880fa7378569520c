"""The proto services `Agents` and `AgentTemplates`: parse, one call, render."""

from __future__ import annotations

from context_service.agents.model import Agent, AgentInput, Callers, ProviderNames
from context_service.agents.rules import Agents
from context_service.contexts.wire.requests import ids_of, principal_of
from context_service.kernel.wire import times
from context_service.kernel.wire.imported import imported_of
from contextkeep.context.v1 import agent_templates_pb2 as templates_pb
from contextkeep.context.v1 import agent_templates_pb2_grpc, agents_pb2_grpc
from contextkeep.context.v1 import agents_pb2 as pb
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied


class AgentsServicer(agents_pb2_grpc.AgentsServicer):
    """Answers the RPCs of `Agents`."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    async def PutAgent(self, request: pb.PutAgentRequest, context: object) -> pb.PutAgentResponse:
        """Create or replace an agent."""

        def response(agent: Agent) -> pb.PutAgentResponse:
            return pb.PutAgentResponse(agent=_agent(agent, with_callers=True))

        agent_input = request.agent
        agent = await self._agents.put(
            copied(
                AgentInput,
                agent_input,
                node_ids=ids_of("agent.node_ids", agent_input.node_ids),
                allowed=_names(agent_input.policy, "allowed"),
                defaults=_names(agent_input.policy, "defaults"),
                callers=_callers(agent_input.callers) if agent_input.HasField("callers") else None,
            ),
            principal=calls.principal(),
            request=request_of("PutAgent", request, response=response),
        )
        return response(agent)

    async def GetAgent(self, request: pb.GetAgentRequest, context: object) -> pb.GetAgentResponse:
        """Read an agent."""
        principal = principal_of(request.subject_user_id)
        agent = await self._agents.get(request.agent_id, principal=principal)
        return pb.GetAgentResponse(agent=_agent(agent, with_callers=principal.sees_all_users))

    async def ListAgents(self, request: pb.ListAgentsRequest, context: object) -> pb.ListAgentsResponse:
        """List agents."""
        principal = principal_of(request.subject_user_id)
        page = PageRequest(size=request.page_size, token=request.page_token)
        agents, token = await self._agents.page(page, template_id=request.template_id, principal=principal)
        return pb.ListAgentsResponse(
            agents=[_agent(agent, with_callers=principal.sees_all_users) for agent in agents], next_page_token=token
        )

    async def DeleteAgent(self, request: pb.DeleteAgentRequest, context: object) -> pb.DeleteAgentResponse:
        """Remove an agent."""
        write_request = request_of("DeleteAgent", request, response=lambda _: pb.DeleteAgentResponse())
        await self._agents.delete(request.agent_id, principal=calls.principal(), request=write_request)
        return pb.DeleteAgentResponse()


class AgentTemplatesServicer(agent_templates_pb2_grpc.AgentTemplatesServicer):
    """Answers the RPCs of `AgentTemplates`."""

    def __init__(self, templates: Agents) -> None:
        self._templates = templates

    async def PutAgentTemplate(
        self, request: templates_pb.PutAgentTemplateRequest, context: object
    ) -> templates_pb.PutAgentTemplateResponse:
        """Create or replace a template of agents."""

        def response(template: Agent) -> templates_pb.PutAgentTemplateResponse:
            return templates_pb.PutAgentTemplateResponse(template=_template(template))

        template_input = request.template
        template = await self._templates.put(
            AgentInput(
                agent_id=template_input.template_id,
                display_name=template_input.display_name,
                node_ids=ids_of("template.node_ids", template_input.node_ids),
                knowledge_bases=tuple(template_input.knowledge_bases),
                allowed=_names(template_input.policy, "allowed"),
                defaults=_names(template_input.policy, "defaults"),
            ),
            principal=calls.principal(),
            request=request_of("PutAgentTemplate", request, response=response),
        )
        return response(template)

    async def GetAgentTemplate(
        self, request: templates_pb.GetAgentTemplateRequest, context: object
    ) -> templates_pb.GetAgentTemplateResponse:
        """Read a template of agents."""
        template = await self._templates.get(request.template_id, principal=calls.principal())
        return templates_pb.GetAgentTemplateResponse(template=_template(template))

    async def ListAgentTemplates(
        self, request: templates_pb.ListAgentTemplatesRequest, context: object
    ) -> templates_pb.ListAgentTemplatesResponse:
        """List templates of agents."""
        page = PageRequest(size=request.page_size, token=request.page_token)
        templates, token = await self._templates.page(page, principal=calls.principal())
        return templates_pb.ListAgentTemplatesResponse(templates=map(_template, templates), next_page_token=token)

    async def DeleteAgentTemplate(
        self, request: templates_pb.DeleteAgentTemplateRequest, context: object
    ) -> templates_pb.DeleteAgentTemplateResponse:
        """Remove a template of agents."""
        write_request = request_of(
            "DeleteAgentTemplate", request, response=lambda _: templates_pb.DeleteAgentTemplateResponse()
        )
        await self._templates.delete(request.template_id, principal=calls.principal(), request=write_request)
        return templates_pb.DeleteAgentTemplateResponse()


def _names(policy: pb.AgentPolicy, field: str) -> ProviderNames | None:
    """Return the providers that a field of a policy names, or None if the field is not set."""
    if not policy.HasField(field):
        return None
    names: pb.ProviderNames = getattr(policy, field)
    return ProviderNames(ids=tuple(names.ids), families=tuple(names.families))


def _callers(callers: pb.AgentCallers) -> Callers:
    return copied(Callers, callers)


def _policy(agent_input: AgentInput) -> pb.AgentPolicy:
    """Return the policy of an agent as protobuf."""

    def names(provider_names: ProviderNames | None) -> pb.ProviderNames | None:
        return (
            None
            if provider_names is None
            else pb.ProviderNames(ids=provider_names.ids, families=provider_names.families)
        )

    return pb.AgentPolicy(allowed=names(agent_input.allowed), defaults=names(agent_input.defaults))


def _agent(agent: Agent, *, with_callers: bool) -> pb.Agent:
    """Return the protobuf message of an agent."""
    content, callers = agent.content, agent.content.callers if with_callers else None
    return copied(
        pb.Agent,
        content,
        policy=_policy(content),
        callers=copied(pb.AgentCallers, callers) if callers else None,
        version=agent.version,
        created_at=times.timestamp(agent.created_at),
        updated_at=times.timestamp(agent.updated_at),
        updated_by=agent.updated_by,
        imported=imported_of(agent.imported_json),
    )


def _template(template: Agent) -> templates_pb.AgentTemplate:
    """Return the protobuf message of a template."""
    content = template.content
    return copied(
        templates_pb.AgentTemplate,
        template,
        template_id=content.agent_id,
        display_name=content.display_name,
        node_ids=map(str, content.node_ids),
        knowledge_bases=content.knowledge_bases,
        policy=_policy(content),
        imported=imported_of(template.imported_json),
    )
