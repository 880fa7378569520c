# Generated from aio/_gen/records.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of records that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import working_memory_pb2 as working_memory_pb
from contextkeep.values import ManifestEntity, Record, RecordAction


class Records(Noun):
    """The calls of `client.records` that are one RPC each."""

    def get(self, working_memory_id: Id, *, include_archived: bool = False, timeout_s: float | None = None) -> Record:
        """Reads a record with its inline content.

        Args:
            include_archived: Archived and expired records, too.
            timeout_s: Deadline; None: the client's.

        Raises:
            RecordNotFound: No working memory record has this id.
            RecordArchived: The record is archived; read it with `include_archived`.
        """
        request = working_memory_pb.FetchWMRecordRequest(
            working_memory_id=messages.to_id(working_memory_id), include_archived=include_archived
        )
        answer: working_memory_pb.FetchWMRecordResponse = self._call("FetchWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(answer.record)

    def list_by_entity(
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
    ) -> Generator[Record, None, None]:
        """Lists the records of an entity, newest first.

        Args:
            entity_node_id: Required, or `external_id`. A record without an entity is found by its id.
            memory_types: Empty lists filter nothing; of several values one must match. Up to 100 values each.
            subtypes: One of these.
            semantic_purposes: One of these.
            names: One of these, exactly.
            name_prefix: The name begins with it.
            tags: All of them must be there.
            metadata_contains: A JSON object that the metadata must contain.
            include_archived: Archived and expired records, too.
            with_content: With inline content, which lists leave out otherwise.
            page_size: 0: 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another query.
            NodeNotFound: No node has this id, external id or name.
            Unavailable: A dependency, or the service itself, does not answer: `dependency` in the metadata. Try again.
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
            page: working_memory_pb.FetchWMRecordsByEntityResponse = self._call(
                "FetchWMRecordsByEntity", request, timeout_s=timeout_s
            )
            for one in page.records:
                yield Record.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def manifest(
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
    ) -> Generator[ManifestEntity, None, None]:
        """Lists the entities below a root node that have records, with these records by memory type.

        The root comes first, the others in the order of the walk (`created_at`, then the order of writing), each with
        its place in the graph. Records are counted and added up. An entity that is reached in several ways is there
        once, with the shortest. A root that is no node of the caller's gives its own records: records may be written
        before their node.

        One walk and one query a page, whatever the number of entities. Entities without records that pass the filters
        are left out, and so are archived ones unless `include_archived`; what hangs below them is not. A page ends at
        `page_size` entities or 2 MiB; if the records of its first entity do not fit, there are fewer of them than
        `record_count` says: `records.list_by_entity` lists them all.

        Args:
            root_node_id: Required, or `external_id`.
            depth_max: 1 to 100; 0: 3.
            edge_types: Followed from a node to what is below it. Empty: Contains, Owns, Calls, Produces, HasIO,
                HAS_CHILD, HAS_STEP.
            memory_types: Empty lists filter nothing; of several values one must match. Up to 100 values each.
            subtypes: One of these.
            semantic_purposes: One of these.
            names: One of these, exactly.
            name_prefix: The name begins with it.
            tags: All of them must be there.
            metadata_contains: A JSON object that the metadata must contain.
            include_archived: Archived and expired records, and those of archived nodes.
            counts_only: Leave the records out.
            records_max: Records of one entity and memory type, the newest; 0: 100. More than 1,000 counts as 1,000.
            page_size: Entities; 0: 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: of an `external_id`.
            InvalidPageToken: The page token is malformed, or belongs to another query.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            NodeBudgetExceeded: more entities than one walk visits: 100,000.
            AnswerTooLarge: an entity has records of more than 1,000 memory types.
            Unavailable: A dependency, or the service itself, does not answer: `dependency` in the metadata. Try again.
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
            page: working_memory_pb.FetchWMManifestResponse = self._call(
                "FetchWMManifest", request, timeout_s=timeout_s
            )
            for one in page.entities:
                yield ManifestEntity.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def restore(self, working_memory_id: Id, *, timeout_s: float | None = None) -> Record:
        """Brings an archived record back, and one past its `expires_at`, which is then taken away.

        Again is harmless.

        Args:
            timeout_s: Deadline; None: the client's.

        Raises:
            RecordNotFound: it never was, or it was purged.
        """
        request = working_memory_pb.RestoreWMRecordRequest(working_memory_id=messages.to_id(working_memory_id))
        answer: working_memory_pb.RestoreWMRecordResponse = self._call("RestoreWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(answer.record)

    def list_actions(
        self, working_memory_id: Id, *, page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[RecordAction, None, None]:
        """Lists what happened to a record, oldest first.

        Every change of a record is an entry, written in the transaction of the change; entries are never changed nor
        removed, and can be read when the record is purged.

        Args:
            page_size: 0: 100. More than 1,000 counts as 1,000.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            RecordNotFound: it never was.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = working_memory_pb.ListWMRecordActionsRequest(
            working_memory_id=messages.to_id(working_memory_id), page_size=page_size
        )
        while True:
            page: working_memory_pb.ListWMRecordActionsResponse = self._call(
                "ListWMRecordActions", request, timeout_s=timeout_s
            )
            for one in page.actions:
                yield RecordAction.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
