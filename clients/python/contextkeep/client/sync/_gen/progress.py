# Generated from aio/_gen/progress.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of progress that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.sync.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as entity_graph_pb
from contextkeep.values import Envelope, EnvelopeType


class Progress(NamedNodes):
    """The calls of `client.progress` that are one RPC each."""

    def list(
        self,
        node_id: Id | None = None,
        *,
        own_only: bool = False,
        types: Iterable[EnvelopeType] = (),
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Generator[Envelope, None, None]:
        """Lists the envelopes of a node and of what it Calls, to any depth, in the order of `seq`.

        A node that is called in two ways, or calls itself in a circle, counts once. Like a walk, it stays in the node's
        context.

        `seq` is the server's order of writing. An envelope written while the list is paged may or may not appear.

        Args:
            own_only: Only the node's own envelopes, none of what it Calls.
            types: Empty: all.
            descending: The newest first.
            page_size: 0: 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node has this id, external id or name.
            InvalidPageToken: The page token is malformed, or belongs to another query.
            NodeBudgetExceeded: it Calls more than 100,000 nodes; `own_only` lists its own envelopes all the same.
        """
        request = entity_graph_pb.ListProgressRequest(
            node_id=self._node_id(node_id, **named),
            own_only=own_only,
            types=messages.choices_of("types", types, entity_graph_pb.EnvelopeType),
            descending=descending,
            page_size=page_size,
        )
        while True:
            page: entity_graph_pb.ListProgressResponse = self._call("ListProgress", request, timeout_s=timeout_s)
            for one in page.envelopes:
                yield Envelope.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def clear(self, node_id: Id | None = None, *, timeout_s: float | None = None, **named: Unpack[ByExternalId]) -> int:
        """Removes all envelopes of a node for good; those of what it Calls stay.

        Args:
            timeout_s: Deadline; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node has this id, external id or name.
        """
        request = entity_graph_pb.ClearProgressRequest(node_id=self._node_id(node_id, **named))
        answer: entity_graph_pb.ClearProgressResponse = self._call("ClearProgress", request, timeout_s=timeout_s)
        return answer.envelopes_deleted
