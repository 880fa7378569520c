# Generated from aio/context/tools.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Tools for models, and records as resources."""

from __future__ import annotations

import builtins
import json
from collections.abc import Generator, Mapping
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import tools_pb2
from contextkeep.values import Resource, Tool


class Tools(Noun):
    """Tools for models, and records as resources."""

    def list(self, *, read_only: bool = False, timeout_s: float | None = None) -> builtins.list[Tool]:
        """Return the tools that the caller's key may call: what a model can be offered.

        Args:
            read_only: Leave out those that write.
            timeout_s: Deadline; None: the client's.
        """
        request = tools_pb2.ListToolsRequest(read_only=read_only)
        response: tools_pb2.ListToolsResponse = self._call("ListTools", request, timeout_s=timeout_s)
        return [Tool.from_proto(tool) for tool in response.tools]

    def list_resources(
        self,
        entity_node_id: Id | None = None,
        *,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Generator[Resource, None, None]:
        """Yield the records of an entity as resources, newest first, following the pages.

        Args:
            entity_node_id: Which; or name it by `external_id`.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
            **named: Its `external_id` instead: `ByExternalId`.
        """
        request = tools_pb2.ListResourcesRequest(
            entity_node_id=messages.given_node_id(entity_node_id, field="entity_node_id", **named),
            page_size=page_size,
            **named,
        )
        while True:
            page: tools_pb2.ListResourcesResponse = self._call("ListResources", request, timeout_s=timeout_s)
            for resource in page.resources:
                yield Resource.from_proto(resource)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def execute(
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
        """Call a tool and return its result, a JSON object.

        Args:
            tool_name: As `list` has it.
            arguments: What its schema says.
            entity_node_id: What it works on if the arguments name no entity.
            read_only: Refuse a tool that writes. Only such a call is tried again when the service does not answer.
            subject_user_id: For which user a key without one calls: whose contexts the tool works with.
            timeout_s: Deadline; None: the client's.
            **named: The entity's `external_id` instead: `ByExternalId`.

        Raises:
            ToolNotFound: there is none of this name.
            InvalidArgument: the arguments are not what the tool's schema says.
            PermissionDenied: the key may not call it, or it writes and may not; or it may not call for that user.
        """
        request = tools_pb2.ExecuteToolRequest(
            tool_name=tool_name,
            arguments_json=messages.to_object("arguments_json", arguments),
            entity_node_id="" if entity_node_id is None else messages.to_id(entity_node_id),
            read_only=read_only,
            subject_user_id=subject_user_id,
            **named,
        )
        response: tools_pb2.ExecuteToolResponse = self._call(
            "ExecuteTool", request, timeout_s=timeout_s, may_repeat=read_only
        )
        return json.loads(response.result_json)
