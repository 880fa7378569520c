"""The calls of changes that are one RPC each, made by `make proto`."""

from __future__ import annotations


from contextkeep.client.aio.client import Noun
from contextkeep.entity.v1 import entity_graph_pb2 as entity_graph_pb


class Changes(Noun):
    """The calls of `client.changes` that are one RPC each."""

    async def start(self, *, timeout_s: float | None = None) -> str:
        """Keeps the tenant's changes from now on, for `changes.list`, and answers the place to read them from.

        A caller that reads everything after this answer, and then lists from the place, misses nothing. A repeat
        changes nothing and answers the place that is reached by then. Until a tenant calls this, its writes keep
        nothing, and cost what they did. Needs the scope `admin`.

        Args:
            timeout_s: Deadline; None: the client's.

        Raises:
            PermissionDenied: the key is bound, and changes are not kept yet.
            ChangesHeldUp: a transaction that began before, of any tenant, has been open for over five seconds: try
                again after it; `oldest_transaction_s` in the metadata.
        """
        request = entity_graph_pb.StartChangesRequest()
        answer: entity_graph_pb.StartChangesResponse = await self._call("StartChanges", request, timeout_s=timeout_s)
        return answer.place
