"""Records of all entities: by words and vectors, and by questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id, SearchMode
from contextkeep.client.aio.client import AsyncClient
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.values import QueryAnswer, SearchHit


class SearchCalls(AsyncClient):
    """The RPCs that find records."""

    async def search_wm_records(
        self,
        text: str = "",
        *,
        embedding: Sequence[float] | None = None,
        embedding_model: str = "",
        mode: SearchMode = "",
        entity_node_ids: Iterable[Id] = (),
        memory_types: Iterable[str] = (),
        graph_name: str = "",
        agent_bundle_id: str = "",
        app_id: str = "",
        where: Mapping[str, Any] | None = None,
        include_archived: bool = False,
        limit: int = 0,
        with_content: bool = False,
        timeout_s: float | None = None,
    ) -> list[SearchHit]:
        """Find records of all entities by their words, by a vector, or by both; the best first.

        Args:
            text: Words in name, description, inline content and files that are text, all of which a record must have;
                "or", quotes and minus as in a web search. Names are also found by the beginnings of their words.
            embedding: 1,536 values, of the same model as the records'. With a `mode` that needs one, None is that of
                the text, where the service has an embedder.
            embedding_model: Compare only with embeddings of this model. Empty: with all.
            mode: "text", "vector" or "fused". Empty: by what is given.
            entity_node_ids: Records of one of these.
            memory_types: One of these.
            graph_name: Empty: all; so are the next two. Unlike in other methods, the client's `app_id` filters nothing.
            agent_bundle_id: Of this bundle.
            app_id: Of this app.
            where: A condition tree, as of `query_wm_records`.
            include_archived: Archived and expired records too.
            limit: Records; 0: 10, at most 100.
            with_content: Return inline contents too.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: the vector has another dimension, or the condition is none.
            SliceTooLarge: there are more than 50,000 vectors to compare with; add a filter.
        """
        request = memory_pb.SearchWMRecordsRequest(
            text=text,
            embedding=None if embedding is None else memory_pb.Embedding(values=embedding, model=embedding_model),
            mode=messages.choice("mode", mode, messages.SEARCH_MODES),
            entity_node_ids=messages.ids("entity_node_ids", entity_node_ids),
            memory_types=messages.texts("memory_types", memory_types),
            graph_name=graph_name,
            agent_bundle_id=agent_bundle_id,
            app_id=app_id,
            where_json=messages.to_object("where_json", where),
            include_archived=include_archived,
            limit=limit,
            with_content=with_content,
        )
        response: memory_pb.SearchWMRecordsResponse = await self.call("SearchWMRecords", request, timeout_s=timeout_s)
        return [SearchHit.from_proto(hit) for hit in response.hits]

    async def query_wm_records(
        self,
        select: Iterable[str],
        *,
        where: Mapping[str, Any] | None = None,
        group_by: Iterable[str] = (),
        order_by: Iterable[str] = (),
        limit: int = 0,
        include_archived: bool = False,
        timeout_s: float | None = None,
    ) -> QueryAnswer:
        """Answer a question about the records of all entities.

        Args:
            select: Columns: fields of `Record`, `metadata` and paths into it ("metadata.a.b"), `count(*)`, and `count`,
                `sum`, `avg`, `min` and `max` of one of those: "max(created_at)".
            where: A condition tree, such as `{"memory_type": "file", "metadata.score": {"$gte": 0.5}}`. Operators: `$eq
                $ne $gt $gte $lt $lte $in $nin $like $ilike $exists $and $or $not`.
            group_by: Fields and paths; every other column is an aggregate or one of them.
            order_by: Columns; one that begins with "-" has the largest first. Empty: newest first.
            limit: Rows; 0: 100, at most 1,000.
            include_archived: Archived and expired records too.
            timeout_s: Deadline; None: the client's.

        Raises:
            InvalidArgument: there is no such column or operator; the field violation names the place.
            AnswerTooLarge: the rows are over 3 MiB.
        """
        request = memory_pb.QueryWMRecordsRequest(
            select=messages.texts("select", select),
            where_json=messages.to_object("where_json", where),
            group_by=messages.texts("group_by", group_by),
            order_by=[
                memory_pb.QueryOrder(column=key.removeprefix("-"), descending=key.startswith("-"))
                for key in messages.texts("order_by", order_by)
            ],
            limit=limit,
            include_archived=include_archived,
        )
        response: memory_pb.QueryWMRecordsResponse = await self.call("QueryWMRecords", request, timeout_s=timeout_s)
        return QueryAnswer.from_proto(response)
