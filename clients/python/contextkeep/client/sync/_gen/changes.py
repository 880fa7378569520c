# Generated from aio/_gen/changes.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of changes that are one RPC each, made by `make proto`."""

from __future__ import annotations

from contextkeep.client.sync.client import Noun
from contextkeep.entity.v1 import entity_graph_pb2 as entity_graph_pb
from contextkeep.values.graphs import ChangePage


class Changes(Noun):
    """Changes of graphs."""

    def start(self, *, timeout_s: float | None = None) -> str:
        """Start the change log of the tenant, and answer the current place in it for `changes.list`.

        A caller that reads everything after this answer, and then lists from the place, misses nothing. A repeat
        changes nothing and answers the place that the log has reached. Before the first call, writes of the tenant log
        no changes and cost nothing extra. Needs the scope `admin`.

        Args:
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            PermissionDenied: the key is bound, and the log has not started yet.
            ChangesHeldUp: an earlier transaction of any tenant has been open for over five seconds: retry after it
                ends; metadata `oldest_transaction_s`.
        """
        request = entity_graph_pb.StartChangesRequest()
        answer: entity_graph_pb.StartChangesResponse = self._call("StartChanges", request, timeout_s=timeout_s)
        return answer.place

    def list(self, place: str = "", *, page_size: int = 0, timeout_s: float | None = None) -> ChangePage:
        """List the changes after a place: nodes and edges that any call wrote, changed, archived, restored or deleted.

        Setting a node's input or output counts as a change of the node; envelopes and embeddings do not.

        The order is that of the transactions that wrote them, up to the oldest transaction that still runs. So no late
        commit is missed, but a long write delays all later changes. A node or edge may appear again without a change;
        on one page it appears once, with the kind of its last change. A change says which row to read again, not its
        old content. If a node is CHANGED and reading it answers `NotFound`, a REMOVED follows.

        The log keeps changes for 7 days, and up to 1,000,000 per tenant, unless the settings say otherwise. Places
        survive restarts, and every key of the tenant may use them. A bound key sees only the changes within its bounds;
        for an edge, both nodes count.

        After a restore, a failover, or a move of the tenant to another database, the log starts again by itself: older
        places are then `ChangesExpired`.

        Args:
            place: The place of `changes.start`, or the `next_place` of an answer. Empty: answer no changes, only the
                current place.
            page_size: Changes per page. 0: 100. Values above 1,000 count as 1,000.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ChangesNotStarted: `changes.start` was not called, or it waits for an earlier transaction.
            ChangesExpired: changes after the place are deleted, or the place is from before a restore: take a new
                place, then read everything again.
            InvalidPageToken: `place`.
        """
        request = entity_graph_pb.ListChangesRequest(place=place, page_size=page_size)
        answer: entity_graph_pb.ListChangesResponse = self._call("ListChanges", request, timeout_s=timeout_s)
        return ChangePage.from_proto(answer)
