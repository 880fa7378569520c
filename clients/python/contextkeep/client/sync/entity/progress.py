# Generated from aio/entity/progress.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Timelines: the progress of a node and of those that it Calls."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import NOT_GIVEN, ByExternalId, GivenEnvelopeStatus, GivenEnvelopeType, Id, NotGiven
from contextkeep.client.sync.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values import AppendedEnvelope, Envelope


class Progress(NamedNodes):
    """Timelines."""

    def append(
        self,
        node_id: Id | None = None,
        type: GivenEnvelopeType = "message",
        *,
        message: str = "",
        status: GivenEnvelopeStatus = "",
        sub_type: str = "",
        value: Any | NotGiven = NOT_GIVEN,
        error: Any | NotGiven = NOT_GIVEN,
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AppendedEnvelope:
        """Append an envelope to a node's timeline and return its place in it.

        Args:
            node_id: Which; or name it by `external_id`.
            type: "status", "message", "error", "bot_progress", "value" or "waiting", in any case.
            message: A line for people; up to 64 KiB.
            status: "started", "running", "completed", "failed", "cancelled", or nothing. The node's own status stays:
                `graph.update_node_status` changes that.
            sub_type: "return" marks the result; others are your own.
            value: Any JSON value, up to 1 MiB; None is null.
            error: The same.
            request_id: As in `graph.create_node`.
            timeout_s: Deadline; None: the client's.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is none.
        """
        request = graph_pb.AppendProgressRequest(
            node_id=self._node_id(node_id, **named),
            type=messages.choice("type", type, messages.ENVELOPE_TYPES),
            status=messages.choice("status", status, messages.ENVELOPE_STATUSES),
            sub_type=sub_type,
            message=message,
            value_json="" if value is NOT_GIVEN else messages.to_json("value_json", value),
            error_json="" if error is NOT_GIVEN else messages.to_json("error_json", error),
            request_id=messages.new_request_id(request_id),
        )
        response: graph_pb.AppendProgressResponse = self._call("AppendProgress", request, timeout_s=timeout_s)
        return AppendedEnvelope.from_proto(response)

    def list(
        self,
        node_id: Id | None = None,
        *,
        own_only: bool = False,
        types: Iterable[GivenEnvelopeType] = (),
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Generator[Envelope, None, None]:
        """Yield the envelopes of a node and of what it Calls, to any depth, oldest first, following the pages.

        Args:
            node_id: Which; or name it by `external_id`.
            own_only: Only the node's own, none of what it Calls.
            types: Empty: all.
            descending: The newest first.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is none.
            NodeBudgetExceeded: it Calls more than 100,000 nodes.
        """
        request = graph_pb.ListProgressRequest(
            node_id=self._node_id(node_id, **named),
            own_only=own_only,
            types=[messages.choice("types", one, messages.ENVELOPE_TYPES) for one in messages.texts("types", types)],
            descending=descending,
            page_size=page_size,
        )
        while True:
            page: graph_pb.ListProgressResponse = self._call("ListProgress", request, timeout_s=timeout_s)
            for envelope in page.envelopes:
                yield Envelope.from_proto(envelope)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def clear(self, node_id: Id | None = None, *, timeout_s: float | None = None, **named: Unpack[ByExternalId]) -> int:
        """Remove all envelopes of a node for good, and return how many; those of what it Calls stay.

        Raises:
            NodeNotFound: there is none.
        """
        request = graph_pb.ClearProgressRequest(node_id=self._node_id(node_id, **named))
        response: graph_pb.ClearProgressResponse = self._call("ClearProgress", request, timeout_s=timeout_s)
        return response.envelopes_deleted
