"""The calls of tools that are one RPC each, made by `make proto`."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator
from typing import Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import tools_pb2 as tools_pb
from contextkeep.values import Resource, Tool


class Tools(Noun):
    """The calls of `client.tools` that are one RPC each."""

    async def list(self, *, read_only: bool = False, timeout_s: float | None = None) -> builtins.list[Tool]:
        """Lists the tools that the caller's key may call, by name.

        Args:
            read_only: Leave out tools that write.
            timeout_s: Deadline in seconds. None means the client's.
        """
        request = tools_pb.ListToolsRequest(read_only=read_only)
        answer: tools_pb.ListToolsResponse = await self._call("ListTools", request, timeout_s=timeout_s)
        return [Tool.from_proto(one) for one in answer.tools]

    async def list_resources(
        self,
        entity_node_id: Id | None = None,
        *,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[Resource, None]:
        """Lists the working memory records of an entity as resources, newest first.

        The tool `wm_read` reads their text.

        Args:
            entity_node_id: Required, unless `external_id` is set.
            page_size: 0 means 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            NodeNotFound: No node that the caller may see has this id, external id or name.
            Unavailable: The service, or a dependency of it, does not answer.
        """
        request = tools_pb.ListResourcesRequest(
            entity_node_id=messages.given_node_id(entity_node_id, field="entity_node_id", **named),
            page_size=page_size,
            **named,
        )
        while True:
            page: tools_pb.ListResourcesResponse = await self._call("ListResources", request, timeout_s=timeout_s)
            for one in page.resources:
                yield Resource.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
