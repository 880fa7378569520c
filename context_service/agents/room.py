"""Composes the room agents: returns its servicers and the rules that others use."""

from __future__ import annotations

from functools import partial

from context_service.agents.api import AgentsServicer, AgentTemplatesServicer
from context_service.agents.rules import ID_CHARS_MAX, Agents, no_agent
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from contextkeep.context.v1.agent_templates_pb2_grpc import add_AgentTemplatesServicer_to_server
from contextkeep.context.v1.agents_pb2_grpc import add_AgentsServicer_to_server
from service_runtime.grpc_server.server import Service

# What other rooms use.
__all__ = [
    "ID_CHARS_MAX",
    "Agents",
    "agents_of",
    "no_agent",
]


def agents_of(deps: Dependencies) -> tuple[Room[AgentsServicer], Agents, Agents]:
    """Return the servicers, the rules of agents and the rules of templates."""
    agents = Agents(deps.database, requests=REQUESTS)
    templates = Agents(deps.database, requests=REQUESTS, is_template=True)
    servicer = AgentsServicer(agents)
    service = Service(
        full_name="contextkeep.context.v1.Agents",
        add=partial(add_AgentsServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    templates_service = Service(
        full_name="contextkeep.context.v1.AgentTemplates",
        add=partial(add_AgentTemplatesServicer_to_server, AgentTemplatesServicer(templates)),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service, [templates_service]), agents, templates
