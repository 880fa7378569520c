"""Templates of agents."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.client.aio.context.agents import policy_of
from contextkeep.context.v1 import agents_pb2 as agents_pb
from contextkeep.values import AgentTemplate, ProviderNames


class AgentTemplates(Noun):
    """Templates of agents."""

    async def put(
        self,
        template_id: str,
        *,
        display_name: str = "",
        node_ids: Sequence[Id] = (),
        knowledge_bases: Sequence[str] = (),
        allowed: ProviderNames | None = None,
        defaults: ProviderNames | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> AgentTemplate:
        """Write a template of agents as it is said, and return it. It holds for all that have it; see `agents.put`.

        Raises:
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        said = agents_pb.AgentTemplateInput(
            template_id=template_id,
            display_name=display_name,
            node_ids=messages.ids("node_ids", node_ids),
            knowledge_bases=messages.texts("knowledge_bases", knowledge_bases),
            policy=policy_of(allowed, defaults),
        )
        request = agents_pb.PutAgentTemplateRequest(template=said, request_id=messages.new_request_id(request_id))
        response: agents_pb.PutAgentTemplateResponse = await self._call(
            "PutAgentTemplate", request, timeout_s=timeout_s
        )
        return AgentTemplate.from_proto(response.template)

    async def get(self, template_id: str, *, timeout_s: float | None = None) -> AgentTemplate:
        """Return a template.

        Raises:
            AgentTemplateNotFound: there is none.
        """
        request = agents_pb.GetAgentTemplateRequest(template_id=template_id)
        response: agents_pb.GetAgentTemplateResponse = await self._call(
            "GetAgentTemplate", request, timeout_s=timeout_s
        )
        return AgentTemplate.from_proto(response.template)

    async def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[AgentTemplate, None]:
        """Yield the templates by id, following the pages.

        Args:
            page_size: Templates of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = agents_pb.ListAgentTemplatesRequest(page_size=page_size)
        while True:
            page: agents_pb.ListAgentTemplatesResponse = await self._call(
                "ListAgentTemplates", request, timeout_s=timeout_s
            )
            for template in page.templates:
                yield AgentTemplate.from_proto(template)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def delete(self, template_id: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Remove a template that no agent has.

        Raises:
            AgentTemplateNotFound: there is none.
            AgentTemplateInUse: an agent has it.
            PermissionDenied: the key lacks the scope admin, or is bound.
        """
        request = agents_pb.DeleteAgentTemplateRequest(
            template_id=template_id, request_id=messages.new_request_id(request_id)
        )
        await self._call("DeleteAgentTemplate", request, timeout_s=timeout_s)
