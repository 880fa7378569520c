"""Records of working memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any, Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id, RecordChanges, RecordFields, SearchMode
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.values import ManifestEntity, QueryAnswer, Record, RecordAction, SearchHit


class Records(Noun):
    """Records: one by one, of an entity, by words and vectors, and by questions."""

    async def insert(
        self,
        memory_type: str,
        name: str,
        *,
        content: Any = None,
        content_json: str = "",
        content_text: str = "",
        working_memory_id: Id | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **fields: Unpack[RecordFields],
    ) -> Record:
        """Write a record with inline content, JSON or text, or with none, and return it.

        Args:
            memory_type: A `MemoryType`, or your own text.
            name: A label.
            content: Any JSON value, up to 1 MiB.
            content_json: The same as JSON text, kept byte for byte.
            content_text: Plain text instead, up to 1 MiB.
            working_memory_id: A UUID. None: the server makes one.
            request_id: A UUID. The same one again answers as the first time and writes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.
            **fields: What else there is to say: `RecordFields`.

        Raises:
            RecordExists: the id is taken.
            LimitExceeded: the content, the metadata or a text is too long.
        """
        record = messages.record_input(
            memory_type=memory_type,
            name=name,
            content=content,
            content_json=content_json,
            content_text=content_text,
            working_memory_id=working_memory_id,
            **messages.with_app(self._options.app_id, fields),
        )
        request = memory_pb.InsertWMRecordRequest(record=record, request_id=messages.new_request_id(request_id))
        response: memory_pb.InsertWMRecordResponse = await self._call("InsertWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    async def get(
        self, working_memory_id: Id, *, include_archived: bool = False, timeout_s: float | None = None
    ) -> Record:
        """Return one record with its inline content.

        Raises:
            RecordNotFound: there is none, or it is another tenant's.
            RecordArchived: it is archived, and `include_archived` is not set.
        """
        request = memory_pb.FetchWMRecordRequest(
            working_memory_id=messages.to_id(working_memory_id), include_archived=include_archived
        )
        response: memory_pb.FetchWMRecordResponse = await self._call("FetchWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    async def update(
        self,
        working_memory_id: Id,
        *,
        expected_version: int | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **changes: Unpack[RecordChanges],
    ) -> Record:
        """Change the given fields of a record and return it. Metadata is replaced, not merged.

        Args:
            working_memory_id: Which.
            expected_version: Change only this version.
            request_id: As in `insert`.
            timeout_s: Deadline; None: the client's.
            **changes: The fields of `RecordChanges` and their new values. None empties a field.

        Raises:
            RecordNotFound: there is none.
            RecordArchived: it is archived.
            RecordHasBlob: new content for a record whose content is a blob.
            VersionConflict: it has another version: `version` in the metadata.
        """
        request = memory_pb.UpdateWMRecordRequest(
            record=messages.record_input(working_memory_id=working_memory_id, **changes),
            update_mask=FieldMask(paths=messages.record_mask(changes)),
            expected_version=expected_version,
            request_id=messages.new_request_id(request_id),
        )
        response: memory_pb.UpdateWMRecordResponse = await self._call("UpdateWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    async def list_by_entity(
        self,
        entity_node_id: Id | None = None,
        *,
        memory_types: Iterable[str] = (),
        subtypes: Iterable[str] = (),
        semantic_purposes: Iterable[str] = (),
        names: Iterable[str] = (),
        name_prefix: str = "",
        tags: Iterable[str] = (),
        metadata_contains: Mapping[str, Any] | None = None,
        include_archived: bool = False,
        with_content: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[Record, None]:
        """Yield the records of an entity, newest first, following the pages.

        Args:
            entity_node_id: Which; or name it by `external_id`.
            memory_types: One of these. Empty: any; so of the next three.
            subtypes: One of these.
            semantic_purposes: One of these.
            names: One of these, exactly.
            name_prefix: The name begins with it.
            tags: All of these.
            metadata_contains: A JSON object that the metadata must contain.
            include_archived: Archived ones too.
            with_content: Inline content too, which lists else leave out.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
            **named: Its `external_id` instead: `ByExternalId`.
        """
        request = memory_pb.FetchWMRecordsByEntityRequest(
            entity_node_id=messages.given_node_id(entity_node_id, field="entity_node_id", **named),
            **named,
            memory_types=messages.texts("memory_types", memory_types),
            subtypes=messages.texts("subtypes", subtypes),
            semantic_purposes=messages.texts("semantic_purposes", semantic_purposes),
            names=messages.texts("names", names),
            name_prefix=name_prefix,
            tags=messages.texts("tags", tags),
            metadata_contains_json=messages.to_object("metadata_contains_json", metadata_contains),
            include_archived=include_archived,
            with_content=with_content,
            page_size=page_size,
        )
        while True:
            page: memory_pb.FetchWMRecordsByEntityResponse = await self._call(
                "FetchWMRecordsByEntity", request, timeout_s=timeout_s
            )
            for record in page.records:
                yield Record.from_proto(record)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def manifest(
        self,
        root_node_id: Id | None = None,
        *,
        depth_max: int = 0,
        edge_types: Iterable[str] = (),
        memory_types: Iterable[str] = (),
        subtypes: Iterable[str] = (),
        semantic_purposes: Iterable[str] = (),
        names: Iterable[str] = (),
        name_prefix: str = "",
        tags: Iterable[str] = (),
        metadata_contains: Mapping[str, Any] | None = None,
        include_archived: bool = False,
        counts_only: bool = False,
        records_max: int = 0,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> AsyncGenerator[ManifestEntity, None]:
        """Yield the entities below a root that have records, with these records by memory type, following the pages.

        Args:
            root_node_id: Where to begin; a node that does not exist gives its own records. Or name it by
                `external_id`.
            depth_max: 1 to 100; 0: 3.
            edge_types: Followed downwards. Empty: Contains, Owns, Calls, Produces, HasIO, HAS_CHILD, HAS_STEP.
            memory_types: One of these; this and the others as in `list_by_entity`.
            subtypes: One of these.
            semantic_purposes: One of these.
            names: One of these, exactly.
            name_prefix: What the name begins with.
            tags: All of these.
            metadata_contains: What the metadata contains.
            include_archived: Archived and expired records, and those of archived nodes.
            counts_only: Leave the records out.
            records_max: Records of one entity and memory type, the newest; 0: 100.
            page_size: Entities of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            NodeBudgetExceeded: there are too many entities below the root.
        """
        request = memory_pb.FetchWMManifestRequest(
            root_node_id=messages.given_node_id(root_node_id, field="root_node_id", **named),
            **named,
            depth_max=depth_max,
            edge_types=messages.texts("edge_types", edge_types),
            memory_types=messages.texts("memory_types", memory_types),
            subtypes=messages.texts("subtypes", subtypes),
            semantic_purposes=messages.texts("semantic_purposes", semantic_purposes),
            names=messages.texts("names", names),
            name_prefix=name_prefix,
            tags=messages.texts("tags", tags),
            metadata_contains_json=messages.to_object("metadata_contains_json", metadata_contains),
            include_archived=include_archived,
            counts_only=counts_only,
            records_max=records_max,
            page_size=page_size,
        )
        while True:
            page: memory_pb.FetchWMManifestResponse = await self._call("FetchWMManifest", request, timeout_s=timeout_s)
            for entity in page.entities:
                yield ManifestEntity.from_proto(entity)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def delete(
        self, working_memory_id: Id, *, purge: bool = False, timeout_s: float | None = None
    ) -> Record | None:
        """Archive a record and return it, or remove it for good. Again is harmless.

        An archived record is hidden until `restore` brings it back or its retention ends.

        Args:
            working_memory_id: Which.
            purge: Remove it at once, with its bytes unless other records share them. Then there is nothing to return.
            timeout_s: Deadline; None: the client's.

        Raises:
            RecordNotFound: there never was one, or it is gone and `purge` is not set.
        """
        request = memory_pb.DeleteWMRecordRequest(working_memory_id=messages.to_id(working_memory_id), purge=purge)
        response: memory_pb.DeleteWMRecordResponse = await self._call("DeleteWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record) if response.HasField("record") else None

    async def restore(self, working_memory_id: Id, *, timeout_s: float | None = None) -> Record:
        """Bring an archived or expired record back and return it. Again is harmless.

        Raises:
            RecordNotFound: there never was one, or it was purged.
        """
        request = memory_pb.RestoreWMRecordRequest(working_memory_id=messages.to_id(working_memory_id))
        response: memory_pb.RestoreWMRecordResponse = await self._call("RestoreWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    async def list_actions(
        self, working_memory_id: Id, *, page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncGenerator[RecordAction, None]:
        """Yield what happened to a record, oldest first, following the pages. The log outlives a purge.

        Args:
            working_memory_id: Which.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            RecordNotFound: there never was one.
        """
        request = memory_pb.ListWMRecordActionsRequest(
            working_memory_id=messages.to_id(working_memory_id), page_size=page_size
        )
        while True:
            page: memory_pb.ListWMRecordActionsResponse = await self._call(
                "ListWMRecordActions", request, timeout_s=timeout_s
            )
            for action in page.actions:
                yield RecordAction.from_proto(action)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def search(
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
            where: A condition tree, as of `query`.
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
        response: memory_pb.SearchWMRecordsResponse = await self._call("SearchWMRecords", request, timeout_s=timeout_s)
        return [SearchHit.from_proto(hit) for hit in response.hits]

    async def query(
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
        response: memory_pb.QueryWMRecordsResponse = await self._call("QueryWMRecords", request, timeout_s=timeout_s)
        return QueryAnswer.from_proto(response)
