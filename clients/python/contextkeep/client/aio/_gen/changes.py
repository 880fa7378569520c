"""The calls of changes that are one RPC each, made by `make proto`."""

from __future__ import annotations


from contextkeep.client.aio.client import Noun
from contextkeep.entity.v1 import entity_graph_pb2 as entity_graph_pb


class Changes(Noun):
    """The calls of `client.changes` that are one RPC each."""

    async def start(self, *, timeout_s: float | None = None) -> str:
        """Starts the change log of the tenant, and answers the current place in it for `changes.list`.

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
        answer: entity_graph_pb.StartChangesResponse = await self._call("StartChanges", request, timeout_s=timeout_s)
        return answer.place
