"""Tools for models, and records as resources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio._gen import tools as gen
from contextkeep.context.v1 import tools_pb2


class Tools(gen.Tools):
    """Tools for models, and records as resources."""

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
        """Call a tool and return its result, a JSON object.

        Args:
            tool_name: As `list` has it.
            arguments: What its schema says.
            entity_node_id: What it works on if the arguments name no entity.
            read_only: Refuse a tool that writes. Only such a call is tried again when the service does not answer.
            subject_user_id: For which user a key without one calls: whose contexts the tool works with.
            timeout_s: Deadline in seconds. None means the client's.
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
        response: tools_pb2.ExecuteToolResponse = await self._call(
            "ExecuteTool", request, timeout_s=timeout_s, may_repeat=read_only
        )
        return json.loads(response.result_json)
