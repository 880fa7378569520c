"""The calls of agent_templates that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import agent_templates_pb2 as agent_templates_pb, agents_pb2 as agents_pb
from contextkeep.values import AgentTemplate, ProviderNames


class AgentTemplates(Noun):
    """Templates of agents."""

    async def put(
        self,
        template_id: str,
        *,
        display_name: str = "",
        node_ids: Iterable[Id] = (),
        knowledge_bases: Iterable[str] = (),
        allowed: ProviderNames | None = None,
        defaults: ProviderNames | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> AgentTemplate:
        """Create a template of agents, or replace it.

        The change takes effect at once for all agents that use the template. Needs the scope `admin`.

        Args:
            template_id: The caller's own id of the template: 1 to 128 characters.
            display_name: As in AgentInput.
            node_ids: As in AgentInput.
            knowledge_bases: As in AgentInput.
            allowed: The allowed providers. None: no restriction by this policy. Given but empty: none is allowed.
            defaults: The allowed providers to query if a question selects none. None: those of the template, else those
                of the tenant.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            LimitExceeded: limit `templates`: 1,000 per tenant.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = agent_templates_pb.PutAgentTemplateRequest(
            template=agent_templates_pb.AgentTemplateInput(
                template_id=template_id,
                display_name=display_name,
                node_ids=messages.ids("template.node_ids", node_ids),
                knowledge_bases=messages.texts("template.knowledge_bases", knowledge_bases),
                policy=agents_pb.AgentPolicy(
                    allowed=None if allowed is None else allowed.to_proto(),
                    defaults=None if defaults is None else defaults.to_proto(),
                ),
            ),
            request_id=messages.new_request_id(request_id),
        )
        answer: agent_templates_pb.PutAgentTemplateResponse = await self._call(
            "PutAgentTemplate", request, timeout_s=timeout_s
        )
        return AgentTemplate.from_proto(answer.template)

    async def get(self, template_id: str, *, timeout_s: float | None = None) -> AgentTemplate:
        """Read a template.

        Args:
            template_id: The template to read.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            AgentTemplateNotFound: No agent template has this id.
        """
        request = agent_templates_pb.GetAgentTemplateRequest(template_id=template_id)
        answer: agent_templates_pb.GetAgentTemplateResponse = await self._call(
            "GetAgentTemplate", request, timeout_s=timeout_s
        )
        return AgentTemplate.from_proto(answer.template)

    async def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[AgentTemplate, None]:
        """List the templates by id.

        Args:
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = agent_templates_pb.ListAgentTemplatesRequest(page_size=page_size)
        while True:
            page: agent_templates_pb.ListAgentTemplatesResponse = await self._call(
                "ListAgentTemplates", request, timeout_s=timeout_s
            )
            for item in page.templates:
                yield AgentTemplate.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def delete(self, template_id: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Delete a template that no agent uses.

        Needs the scope `admin`.

        Args:
            template_id: The template to delete.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            AgentTemplateNotFound: No agent template has this id.
            AgentTemplateInUse: Agents use the template, so it cannot be deleted.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = agent_templates_pb.DeleteAgentTemplateRequest(
            template_id=template_id, request_id=messages.new_request_id(request_id)
        )
        await self._call("DeleteAgentTemplate", request, timeout_s=timeout_s)
