# Generated from aio/entity/changes.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Changes of graphs."""

from __future__ import annotations

from contextkeep.client.sync.client import Noun
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values import (
    ChangePage,
)


class Changes(Noun):
    """Changes of graphs."""

    def start(self, *, timeout_s: float | None = None) -> str:
        """Keep what changes from now on, and return the place from which `list` tells it.

        Whoever reads all that it wants after this, and then lists from the place, misses nothing. A repeat changes
        nothing and returns the place that is reached by then. Needs a key with the scope `admin`.

        Args:
            timeout_s: Deadline; None: the client's.

        Raises:
            PermissionDenied: the key lacks the scope; or it is bound, and nothing is kept yet.
            ChangesHeldUp: a transaction that began before is open for too long; `oldest_transaction_s` in the metadata.
        """
        answer: graph_pb.StartChangesResponse = self._call(
            "StartChanges", graph_pb.StartChangesRequest(), timeout_s=timeout_s
        )
        return answer.place

    def list(self, place: str = "", *, page_size: int = 0, timeout_s: float | None = None) -> ChangePage:
        """Return what changed behind a place: nodes and edges, in an order in which nothing late is missed.

        Keep `next_place` of the answer once its changes are dealt with, and go on from it: at once if the answer
        `has_more`, else later.

        Args:
            place: Of `start`, or of an answer before. Empty: no changes, and the place that is reached now.
            page_size: Changes at most; 0: 100.
            timeout_s: Deadline; None: the client's.

        Raises:
            ChangesNotStarted: `start` was not called, or has not answered yet.
            ChangesExpired: changes behind the place are forgotten. Take a new place, then read everything anew.
            InvalidPageToken: the place is malformed, or of another tenant.
        """
        request = graph_pb.ListChangesRequest(place=place, page_size=page_size)
        return ChangePage.from_proto(self._call("ListChanges", request, timeout_s=timeout_s))
