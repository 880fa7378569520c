"""The calls of tools that are one RPC each, made by `make proto`."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import tools_pb2 as tools_pb
from contextkeep.values import Resource, Tool


class Tools(Noun):
    """Tools for models."""

    async def list(self, *, read_only: bool = False, timeout_s: float | None = None) -> builtins.list[Tool]:
        """List the tools that the caller's key may call, by name.

        Args:
            read_only: Leave out tools that write.
            timeout_s: Deadline in seconds. None means the client's.
        """
        request = tools_pb.ListToolsRequest(read_only=read_only)
        answer: tools_pb.ListToolsResponse = await self._call("ListTools", request, timeout_s=timeout_s)
        return [Tool.from_proto(item) for item in answer.tools]

    async def list_resources(
        self,
        entity_node_id: Id | None = None,
        *,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[Resource, None]:
        """List the working memory records of an entity as resources, newest first.

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
            for item in page.resources:
                yield Resource.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def execute(
        self,
        tool_name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        entity_node_id: Id | None = None,
        read_only: bool = False,
        subject_user_id: str = "",
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Any:
        """Call a tool.

        Every tool needs the scope `read`; a tool that writes also needs the scope `write`.

        Args:
            tool_name: Name of the tool, as in `tools.list`.
            arguments: A JSON object of up to 3 MiB. Empty means no arguments.
            entity_node_id: The current entity: the tool works on it if its arguments name no other.
            read_only: Refuse the call if the tool writes.
            subject_user_id: The user for whom a key without a user calls, as in Contexts. It needs the scope `delegate`
                (`PermissionDenied` without it). It is not an argument of tools: the caller decides whose contexts a
                model works with, not the model.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            ToolNotFound: No tool has this name.
            InvalidArgument: the arguments do not match the tool's schema; `violations` has the fields.
            NodeNotFound: of an `external_id`.
            PermissionDenied: the key lacks the tool's scope, or tools that write are switched off.
            AnswerTooLarge: The response does not fit into one message.
        """
        request = tools_pb.ExecuteToolRequest(
            tool_name=tool_name,
            arguments_json=messages.to_object("arguments_json", arguments),
            entity_node_id=messages.to_id(entity_node_id),
            read_only=read_only,
            subject_user_id=subject_user_id,
            **named,
        )
        answer: tools_pb.ExecuteToolResponse = await self._call(
            "ExecuteTool", request, timeout_s=timeout_s, may_repeat=read_only
        )
        return messages.parsed(answer.result_json)
