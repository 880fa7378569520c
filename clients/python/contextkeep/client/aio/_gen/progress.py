"""The calls of progress that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, GivenEnvelopeStatus, GivenEnvelopeType, Id, NOT_GIVEN, NotGiven
from contextkeep.client.aio.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as entity_graph_pb
from contextkeep.values import Envelope
from contextkeep.values.progress import AppendedEnvelope


class Progress(NamedNodes):
    """Timelines of nodes."""

    async def append(
        self,
        node_id: Id | None = None,
        type: GivenEnvelopeType = "message",
        *,
        status: GivenEnvelopeStatus = "",
        sub_type: str = "",
        message: str = "",
        value: Any | NotGiven = NOT_GIVEN,
        error: Any | NotGiven = NOT_GIVEN,
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AppendedEnvelope:
        """Append an envelope to the timeline of a node.

        It changes nothing else. To change the node's status, use `graph.update_node_status`, which also appends the
        STATUS envelope.

        Args:
            node_id: The node to append to.
            type: The type of the envelope. Required.
            status: The state of the work. None: the envelope does not report one.
            sub_type: A type of the app's own; "return" marks the result. Up to 128 characters.
            message: A line of text. Up to 64 KiB.
            value: A value: any JSON, up to 1 MiB. Empty: none.
            error: An error: any JSON, up to 1 MiB. Empty: none.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            LimitExceeded: the message is over 64 KiB, or a document over 1 MiB.
        """
        request = entity_graph_pb.AppendProgressRequest(
            node_id=await self._node_id(node_id, **named),
            type=messages.choice_of("type", type, entity_graph_pb.EnvelopeType),
            status=messages.choice_of("status", status, entity_graph_pb.EnvelopeStatus),
            sub_type=sub_type,
            message=message,
            value_json=None if value is NOT_GIVEN else messages.to_json("value_json", value),
            error_json=None if error is NOT_GIVEN else messages.to_json("error_json", error),
            request_id=messages.new_request_id(request_id),
        )
        answer: entity_graph_pb.AppendProgressResponse = await self._call(
            "AppendProgress", request, timeout_s=timeout_s
        )
        return AppendedEnvelope.from_proto(answer)

    async def list(
        self,
        node_id: Id | None = None,
        *,
        own_only: bool = False,
        types: Iterable[GivenEnvelopeType] = (),
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[Envelope, None]:
        """List the envelopes of a node and of the nodes that it Calls, to any depth, in the order of `seq`.

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
            types=[
                messages.choice_of(f"types[{index}]", item, entity_graph_pb.EnvelopeType)
                for index, item in enumerate(types)
            ],
            descending=descending,
            page_size=page_size,
        )
        while True:
            page: entity_graph_pb.ListProgressResponse = await self._call("ListProgress", request, timeout_s=timeout_s)
            for item in page.envelopes:
                yield Envelope.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def clear(
        self, node_id: Id | None = None, *, timeout_s: float | None = None, **named: Unpack[ByExternalId]
    ) -> int:
        """Delete all envelopes of a node for good; those of the nodes that it Calls stay.

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
