# Generated from aio/_gen/agents.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of agents that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import agents_pb2 as agents_pb
from contextkeep.values import Agent, AgentCallers, ProviderNames


class Agents(Noun):
    """Agents. An agent that the caller may not name is reported like one that does not exist."""

    def put(
        self,
        agent_id: str,
        *,
        display_name: str = "",
        template_id: str = "",
        node_ids: Iterable[Id] = (),
        knowledge_bases: Iterable[str] = (),
        allowed: ProviderNames | None = None,
        defaults: ProviderNames | None = None,
        callers: AgentCallers | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Agent:
        """Create an agent, or replace it.

        Needs the scope `admin`, because an agent must not decide which providers it may query.

        Args:
            agent_id: The caller's own id of the agent: 1 to 128 characters.
            display_name: A name for people; up to 200 characters.
            template_id: The agent's template. It supplies the fields that the agent leaves empty. Empty: none.
            node_ids: Nodes of the graph, up to 20. The agent's files are the records of these nodes and of all nodes
                below them. The nodes need not exist yet. Empty: those of the template, else those of the tenant's
                settings of the provider `workspace`.
            knowledge_bases: Names of knowledge bases, up to 100 of up to 200 characters each.
            allowed: The allowed providers. None: no restriction by this policy. Given but empty: none is allowed.
            defaults: The allowed providers to query if a question selects none. None: those of the template, else those
                of the tenant.
            callers: Who may pass the agent in `agent_id`, in addition to administrators and the agent's own credential.
                None: all callers of the tenant except other agents. Given but empty: no other caller. This widens no
                access: a call in the name of the agent reads only what its caller may read.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            AgentTemplateNotFound: No agent template has this id.
            LimitExceeded: limit `agents`: 10,000 per tenant.
            PermissionDenied: the scope is missing; the key is bound.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = agents_pb.PutAgentRequest(
            agent=agents_pb.AgentInput(
                agent_id=agent_id,
                display_name=display_name,
                template_id=template_id,
                node_ids=messages.ids("agent.node_ids", node_ids),
                knowledge_bases=messages.texts("agent.knowledge_bases", knowledge_bases),
                policy=agents_pb.AgentPolicy(
                    allowed=None if allowed is None else allowed.to_proto(),
                    defaults=None if defaults is None else defaults.to_proto(),
                ),
                callers=None if callers is None else callers.to_proto(),
            ),
            request_id=messages.new_request_id(request_id),
        )
        answer: agents_pb.PutAgentResponse = self._call("PutAgent", request, timeout_s=timeout_s)
        return Agent.from_proto(answer.agent)

    def get(self, agent_id: str, *, subject_user_id: str = "", timeout_s: float | None = None) -> Agent:
        """Read an agent that the caller may name.

        Args:
            agent_id: The agent to read.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            AgentNotFound: no such agent, or the caller may not name it.
        """
        request = agents_pb.GetAgentRequest(agent_id=agent_id, subject_user_id=subject_user_id)
        answer: agents_pb.GetAgentResponse = self._call("GetAgent", request, timeout_s=timeout_s)
        return Agent.from_proto(answer.agent)

    def list(
        self, *, template_id: str = "", subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[Agent, None, None]:
        """List the agents that the caller may name, by id.

        Args:
            template_id: Only agents of this template. Empty: all.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = agents_pb.ListAgentsRequest(
            template_id=template_id, page_size=page_size, subject_user_id=subject_user_id
        )
        while True:
            page: agents_pb.ListAgentsResponse = self._call("ListAgents", request, timeout_s=timeout_s)
            for item in page.agents:
                yield Agent.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def delete(self, agent_id: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Delete an agent.

        Its files stay. Needs the scope `admin`.

        Args:
            agent_id: The agent to delete.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            AgentNotFound: No agent that the caller may ask for has this id.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = agents_pb.DeleteAgentRequest(agent_id=agent_id, request_id=messages.new_request_id(request_id))
        self._call("DeleteAgent", request, timeout_s=timeout_s)
