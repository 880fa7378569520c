"""The calls of records that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import working_memory_pb2 as working_memory_pb
from contextkeep.values import ManifestEntity, Record, RecordAction
from contextkeep.values.records import QueryAnswer


class Records(Noun):
    """The calls of `client.records` that are one RPC each."""

    async def get(
        self, working_memory_id: Id, *, include_archived: bool = False, timeout_s: float | None = None
    ) -> Record:
        """Read a record with its inline content.

        Args:
            working_memory_id: The record to read.
            include_archived: Also read archived and expired records.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            RecordNotFound: No working memory record that the caller may see has this id.
            RecordArchived: The record is archived.
        """
        request = working_memory_pb.FetchWMRecordRequest(
            working_memory_id=messages.to_id(working_memory_id), include_archived=include_archived
        )
        answer: working_memory_pb.FetchWMRecordResponse = await self._call(
            "FetchWMRecord", request, timeout_s=timeout_s
        )
        return Record.from_proto(answer.record)

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
        """List the records of an entity, newest first.

        Args:
            entity_node_id: The node whose records to list. Required, or `external_id`. A record without an entity is in
                no list of an entity; read it by its id.
            memory_types: Only records with one of these memory types, up to 100. Empty: all.
            subtypes: Only records with one of these subtypes, up to 100. Empty: all.
            semantic_purposes: Only records with one of these purposes, up to 100. Empty: all.
            names: Only records with exactly one of these names, up to 100. Empty: all.
            name_prefix: Only records whose name begins with this text.
            tags: Only records that have all of these tags, up to 100. Empty: all.
            metadata_contains: Only records whose metadata contain this JSON object.
            include_archived: Include archived and expired records.
            with_content: Include inline content, which lists leave out otherwise.
            page_size: Records per page. 0: 100. Values above 1,000 count as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            NodeNotFound: no node has this `external_id`.
            Unavailable: the Entity Service does not answer; only with an `external_id`.
        """
        request = working_memory_pb.FetchWMRecordsByEntityRequest(
            entity_node_id=messages.given_node_id(entity_node_id, field="entity_node_id", **named),
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
            **named,
        )
        while True:
            page: working_memory_pb.FetchWMRecordsByEntityResponse = await self._call(
                "FetchWMRecordsByEntity", request, timeout_s=timeout_s
            )
            for item in page.records:
                yield Record.from_proto(item)
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
        """List the entities below a root node that have records, with their records by memory type.

        The root comes first, then the others in the order of the walk (`created_at`, then the order of writing), each
        with its path in the graph. The groups have the number of records and their total size. An entity that the walk
        reaches in several ways appears once, with the shortest path. If the root is not a node that the caller sees,
        the answer has the records of the root only, because records may be written before their node.

        Each page costs one walk and one query, whatever the number of entities. Entities without matching records are
        left out, and so are archived entities unless `include_archived`; the entities below them are not. A page ends
        at `page_size` entities or 2 MiB. If the records of its first entity do not fit, the page has fewer records than
        `record_count`: `records.list_by_entity` lists all of them.

        Args:
            root_node_id: The node to start from. Required, or `external_id`.
            depth_max: Maximum depth, from 1 to 100. 0: 3.
            edge_types: Types of the edges to follow from a node to the nodes below it. Empty: Contains, Owns, Calls,
                Produces, HasIO, HAS_CHILD, HAS_STEP.
            memory_types: Only records with one of these memory types, up to 100. Empty: all.
            subtypes: Only records with one of these subtypes, up to 100. Empty: all.
            semantic_purposes: Only records with one of these purposes, up to 100. Empty: all.
            names: Only records with exactly one of these names, up to 100. Empty: all.
            name_prefix: Only records whose name begins with this text.
            tags: Only records that have all of these tags, up to 100. Empty: all.
            metadata_contains: Only records whose metadata contain this JSON object.
            include_archived: Include archived and expired records, and records of archived nodes.
            counts_only: Leave out the records; answer only their numbers and sizes.
            records_max: Records to return for each entity and memory type, newest first. 0: 100. Values above 1,000
                count as 1,000.
            page_size: Entities per page. 0: 100. Values above 1,000 count as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: no node has this `external_id`.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            LimitExceeded: A value exceeds a limit.
            NodeBudgetExceeded: the walk would visit more than 100,000 entities.
            AnswerTooLarge: an entity has records of more than 1,000 memory types.
            Unavailable: The service, or a dependency of it, does not answer.
        """
        request = working_memory_pb.FetchWMManifestRequest(
            root_node_id=messages.given_node_id(root_node_id, field="root_node_id", **named),
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
            **named,
        )
        while True:
            page: working_memory_pb.FetchWMManifestResponse = await self._call(
                "FetchWMManifest", request, timeout_s=timeout_s
            )
            for item in page.entities:
                yield ManifestEntity.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def query(
        self,
        select: Iterable[str],
        *,
        where: Mapping[str, Any] | None = None,
        group_by: Iterable[str] = (),
        order_by: Iterable[str] = (),
        limit: int = 0,
        include_archived: bool = False,
        offset: int = 0,
        timeout_s: float | None = None,
    ) -> QueryAnswer:
        """Answer a structured query over the tenant's records, of all entities.

        A query has columns, a condition, groups, an order and a limit; it is not SQL. The service runs it as one read-
        only statement, within the deadline of the call.

        A column is one of these. A field of WMRecord by its name in this proto, except `content_json` and
        `content_text`; `status` is "active" or "archived", `index_state` "none", "pending", "indexed" or "failed".
        `metadata`, or a path into it (`metadata.a.b`; a number selects an element of a list). `count(*)`, or `count`,
        `sum`, `avg`, `min` or `max` of one of those: `max(created_at)`. `sum` and `avg` take numbers; `min` and `max`
        also take texts and times. For a path, they use the values of the type that fits (numbers before texts). `count`
        of a column counts the rows that have a value; an empty text or list is none.

        `where_json` is a condition tree: {"memory_type": "file", "metadata.score": {"$gte": 0.5}, "$or": [{...},
        {...}]}. Operators: $eq (also a bare value), $ne, $gt, $gte, $lt, $lte, $in, $nin, $like, $ilike (% and _,
        backslash escapes), $exists, $not; $and and $or join conditions; several fields in one object must all match. A
        missing value equals nothing, so $ne, $nin and $not are true for it. null means "missing" for a field, and
        JSON's null in the metadata. A value whose type differs from that of a field is an error; in the metadata it is
        unequal, and neither less nor greater. Times are RFC 3339 texts. `tags` matches if one of the tags does. A
        condition has at most 64 KiB, 200 comparisons and 16 levels.

        Args:
            select: The columns to return, at most 50. Required.
            where: Only records that match this condition tree. Empty: all records.
            group_by: Fields and paths to group by, at most 50. With groups or an aggregate, every other column of
                `select` and `order_by` must be one of these.
            order_by: Columns to sort by; `-column` sorts in descending order. Texts sort by code points; for a path,
                numbers come before texts; missing values come last. Empty: newest first, or groups by their values.
            limit: Rows to return. 0: 100. Values above 1,000 count as 1,000.
            include_archived: Include archived and expired records.
            offset: Skip this many rows, up to 1,000,000, for the next page. Rows that were written or deleted in
                between move the others: a condition on the column of the order is a more stable page.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: the violation names the path, such as `where_json.$and[1].name.$in`.
            LimitExceeded: A value exceeds a limit.
            AnswerTooLarge: over 3 MiB: select fewer columns, or set a lower limit.
        """
        request = working_memory_pb.QueryWMRecordsRequest(
            select=messages.texts("select", select),
            where_json=messages.to_object("where_json", where),
            group_by=messages.texts("group_by", group_by),
            order_by=messages.query_orders("order_by", order_by),
            limit=limit,
            include_archived=include_archived,
            offset=offset,
        )
        answer: working_memory_pb.QueryWMRecordsResponse = await self._call(
            "QueryWMRecords", request, timeout_s=timeout_s
        )
        return QueryAnswer.from_proto(answer)

    async def delete(
        self, working_memory_id: Id, *, purge: bool = False, timeout_s: float | None = None
    ) -> Record | None:
        """Archive a record: lists leave it out, and reads without `include_archived` fail with `RecordArchived`.

        `records.restore` restores it until its retention ends (a setting; default: 30 days after it was archived or
        expired). Then, or at once with `purge`, the service deletes it for good. It deletes the bytes after its grace
        period (7 days), if no other record shares them. The log of the record stays.

        A repeat is harmless: an archived record stays as it is, and the purge of a purged record is no error.

        Args:
            working_memory_id: The record to archive or purge.
            purge: Delete it for good, archived or not.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            RecordNotFound: No working memory record that the caller may see has this id.
        """
        request = working_memory_pb.DeleteWMRecordRequest(
            working_memory_id=messages.to_id(working_memory_id), purge=purge
        )
        answer: working_memory_pb.DeleteWMRecordResponse = await self._call(
            "DeleteWMRecord", request, timeout_s=timeout_s
        )
        return Record.from_proto(answer.record) if answer.HasField("record") else None

    async def restore(self, working_memory_id: Id, *, timeout_s: float | None = None) -> Record:
        """Restore an archived record, or one past its `expires_at`, which the call removes.

        A repeat is harmless.

        Args:
            working_memory_id: The record to restore.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            RecordNotFound: it never existed, or it was purged.
        """
        request = working_memory_pb.RestoreWMRecordRequest(working_memory_id=messages.to_id(working_memory_id))
        answer: working_memory_pb.RestoreWMRecordResponse = await self._call(
            "RestoreWMRecord", request, timeout_s=timeout_s
        )
        return Record.from_proto(answer.record)

    async def list_actions(
        self, working_memory_id: Id, *, page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncGenerator[RecordAction, None]:
        """List the log of a record, oldest first.

        Every change of a record writes an entry in the same transaction. Entries are never changed or deleted, and stay
        readable after a purge of the record.

        Args:
            working_memory_id: The record whose log to list.
            page_size: Entries per page. 0: 100. Values above 1,000 count as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            RecordNotFound: it never existed.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = working_memory_pb.ListWMRecordActionsRequest(
            working_memory_id=messages.to_id(working_memory_id), page_size=page_size
        )
        while True:
            page: working_memory_pb.ListWMRecordActionsResponse = await self._call(
                "ListWMRecordActions", request, timeout_s=timeout_s
            )
            for item in page.actions:
                yield RecordAction.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
