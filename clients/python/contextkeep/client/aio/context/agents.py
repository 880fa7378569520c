"""Agents that can be asked for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import agents_pb2 as agents_pb
from contextkeep.values import Agent, AgentCallers, ProviderNames


class Agents(Noun):
    """Agents. An agent that the caller may not name is reported like one that does not exist."""

    async def put(
        self,
        agent_id: str,
        *,
        display_name: str = "",
        template_id: str = "",
        node_ids: Sequence[Id] = (),
        knowledge_bases: Sequence[str] = (),
        allowed: ProviderNames | None = None,
        defaults: ProviderNames | None = None,
        callers: AgentCallers | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Agent:
        """Write an agent as it is said, whether there was one or not, and return it.

        Args:
            agent_id: Your own id, up to 128 characters.
            display_name: Up to 200 characters.
            template_id: Says what the agent does not say. Empty: none.
            node_ids: Below which its files are, up to 20.
            knowledge_bases: Names, up to 100.
            allowed: Whom it may ask. None: whom its template and the tenant let it ask.
            defaults: Who is asked where a question selects none. None: as the template has it, else the tenant.
            callers: Who may name it. None: everybody of the tenant but other agents.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            AgentTemplateNotFound: there is no such template.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        said = agents_pb.AgentInput(
            agent_id=agent_id,
            display_name=display_name,
            template_id=template_id,
            node_ids=messages.ids("node_ids", node_ids),
            knowledge_bases=messages.texts("knowledge_bases", knowledge_bases),
            policy=policy_of(allowed, defaults),
            callers=None
            if callers is None
            else agents_pb.AgentCallers(
                user_ids=callers.user_ids, agent_ids=callers.agent_ids, subjects=callers.subjects
            ),
        )
        request = agents_pb.PutAgentRequest(agent=said, request_id=messages.new_request_id(request_id))
        response: agents_pb.PutAgentResponse = await self._call("PutAgent", request, timeout_s=timeout_s)
        return Agent.from_proto(response.agent)

    async def get(self, agent_id: str, *, subject_user_id: str = "", timeout_s: float | None = None) -> Agent:
        """Return an agent.

        Raises:
            AgentNotFound: there is none that you may name.
        """
        request = agents_pb.GetAgentRequest(agent_id=agent_id, subject_user_id=subject_user_id)
        response: agents_pb.GetAgentResponse = await self._call("GetAgent", request, timeout_s=timeout_s)
        return Agent.from_proto(response.agent)

    async def list(
        self,
        *,
        template_id: str = "",
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[Agent, None]:
        """Yield the agents that you may name, by id, following the pages.

        Args:
            template_id: Only those of this template. Empty: all.
            subject_user_id: For which user a key without one calls.
            page_size: Agents of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = agents_pb.ListAgentsRequest(
            template_id=template_id, subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: agents_pb.ListAgentsResponse = await self._call("ListAgents", request, timeout_s=timeout_s)
            for agent in page.agents:
                yield Agent.from_proto(agent)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def delete(self, agent_id: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Remove an agent; its files stay.

        Raises:
            AgentNotFound: there is none.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        request = agents_pb.DeleteAgentRequest(agent_id=agent_id, request_id=messages.new_request_id(request_id))
        await self._call("DeleteAgent", request, timeout_s=timeout_s)


def policy_of(allowed: ProviderNames | None, defaults: ProviderNames | None) -> agents_pb.AgentPolicy:
    """Return what an agent or a template says of whom it may ask."""
    return agents_pb.AgentPolicy(allowed=_names(allowed), defaults=_names(defaults))


def _names(names: ProviderNames | None) -> agents_pb.ProviderNames | None:
    return None if names is None else agents_pb.ProviderNames(ids=names.ids, families=names.families)
