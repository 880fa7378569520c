"""Messages of a conversation, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id, Role
from contextkeep.client.aio.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values import AppendedMessage


class Messages(NamedNodes):
    """Messages that `history.stream` reads with the built-in mapping: nodes below the node of a session."""

    async def append_message(
        self,
        session: Id | None = None,
        role: Role | Literal[""] = "",
        content: str = "",
        *,
        external_id: str = "",
        graph_name: str = "",
        create: bool = False,
        data: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> AppendedMessage:
        """Write a message of a conversation: a node "Message", and the edge "Contains" from the session to it.

        Both are written, or neither; a retried call appends the message once. If one call begins after another has
        returned, its message is the later one.

        Args:
            session: The conversation's node; or name it by `external_id`.
            role: "user", "assistant", "system" or "tool".
            content: The text.
            external_id: Your own id of the conversation. Without `create` a separate call looks it up first.
            graph_name: The session's graph. Empty: "default".
            create: Create the node of the `external_id`, a "Session", if it does not exist. Callers that do so at the
                same time get the same node.
            data: More fields of the message's data, next to role and content, for mappings of your own.
            created_at: Aware; for imports and replays. Messages are read in this order. Default: the server's time.
            request_id: As in `create_node`.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            NodeNotFound: there is no such session.
            InvalidArgument: the role is unknown, the content is empty, or the session is in another graph.
            LimitExceeded: the content and the data have more than 1 MiB together.
        """
        session_id = messages.given_node_id(session, external_id, field="session")
        if external_id and not create:
            session_id = await self._node_id(None, external_id=external_id, graph_name=graph_name)
        request = messages.appended_message(
            session_id,
            role,
            content,
            create_as=external_id if create else "",
            graph_name=graph_name,
            data=data,
            created_at=created_at,
            request_id=request_id,
        )
        response: graph_pb.WriteGraphResponse = await self._call("WriteGraph", request, timeout_s=timeout_s)
        return AppendedMessage.from_proto(session_id, response)
