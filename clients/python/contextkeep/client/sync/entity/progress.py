# Generated from aio/entity/progress.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Timelines: the progress of a node and of those that it Calls."""

from __future__ import annotations

from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import NOT_GIVEN, ByExternalId, GivenEnvelopeStatus, GivenEnvelopeType, Id, NotGiven
from contextkeep.client.sync._gen import progress as gen
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values import AppendedEnvelope


class Progress(gen.Progress):
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
            timeout_s: Deadline in seconds. None means the client's.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is none.
        """
        request = graph_pb.AppendProgressRequest(
            node_id=self._node_id(node_id, **named),
            type=messages.choice_of("type", type, graph_pb.EnvelopeType),
            status=messages.choice_of("status", status, graph_pb.EnvelopeStatus),
            sub_type=sub_type,
            message=message,
            value_json="" if value is NOT_GIVEN else messages.to_json("value_json", value),
            error_json="" if error is NOT_GIVEN else messages.to_json("error_json", error),
            request_id=messages.new_request_id(request_id),
        )
        response: graph_pb.AppendProgressResponse = self._call("AppendProgress", request, timeout_s=timeout_s)
        return AppendedEnvelope.from_proto(response)
