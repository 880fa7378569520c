"""The calls of progress that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as entity_graph_pb
from contextkeep.values import Envelope, EnvelopeType


class Progress(NamedNodes):
    """The calls of `client.progress` that are one RPC each."""

    async def list(
        self,
        node_id: Id | None = None,
        *,
        own_only: bool = False,
        types: Iterable[EnvelopeType] = (),
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[Envelope, None]:
        """Lists the envelopes of a node and of the nodes that it Calls, to any depth, in the order of `seq`.

        A node that is reached in two ways, or that calls itself in a cycle, counts once. Like a walk, the list stays in
        the node's context.

        `seq` is the order in which the server wrote. An envelope that is written during the paging may or may not
        appear.

        Args:
            node_id: The node whose timeline to read.
            own_only: List only the node's own envelopes, not those of the nodes that it Calls.
            types: Only envelopes of these types. Empty: all.
            descending: Newest first.
            page_size: Envelopes per page. 0: 100. Values above 1,000 count as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            NodeBudgetExceeded: the node Calls more than 100,000 nodes; `own_only` still lists its own envelopes.
        """
        request = entity_graph_pb.ListProgressRequest(
            node_id=await self._node_id(node_id, **named),
            own_only=own_only,
            types=messages.choices_of("types", types, entity_graph_pb.EnvelopeType),
            descending=descending,
            page_size=page_size,
        )
        while True:
            page: entity_graph_pb.ListProgressResponse = await self._call("ListProgress", request, timeout_s=timeout_s)
            for one in page.envelopes:
                yield Envelope.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def clear(
        self, node_id: Id | None = None, *, timeout_s: float | None = None, **named: Unpack[ByExternalId]
    ) -> int:
        """Deletes all envelopes of a node for good; those of the nodes that it Calls stay.

        Args:
            node_id: The node whose timeline to delete.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
        """
        request = entity_graph_pb.ClearProgressRequest(node_id=await self._node_id(node_id, **named))
        answer: entity_graph_pb.ClearProgressResponse = await self._call("ClearProgress", request, timeout_s=timeout_s)
        return answer.envelopes_deleted
