# Generated from aio/context/records.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Records of working memory."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id, RecordChanges, RecordFields
from contextkeep.client.sync.client import Client
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.values import ManifestEntity, Record, RecordAction


class RecordCalls(Client):
    """The RPCs of records."""

    def insert_wm_record(
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
        response: memory_pb.InsertWMRecordResponse = self.call("InsertWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def fetch_wm_record(
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
        response: memory_pb.FetchWMRecordResponse = self.call("FetchWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def update_wm_record(
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
            request_id: As in `insert_wm_record`.
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
        response: memory_pb.UpdateWMRecordResponse = self.call("UpdateWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def fetch_wm_records_by_entity(
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
            page: memory_pb.FetchWMRecordsByEntityResponse = self.call(
                "FetchWMRecordsByEntity", request, timeout_s=timeout_s
            )
            for record in page.records:
                yield Record.from_proto(record)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def fetch_wm_manifest(
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
        """Yield the entities below a root that have records, with these records by memory type, following the pages.

        Args:
            root_node_id: Where to begin; a node that does not exist gives its own records. Or name it by
                `external_id`.
            depth_max: 1 to 100; 0: 3.
            edge_types: Followed downwards. Empty: Contains, Owns, Calls, Produces, HasIO, HAS_CHILD, HAS_STEP.
            memory_types: One of these; this and the others as in `fetch_wm_records_by_entity`.
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
            page: memory_pb.FetchWMManifestResponse = self.call("FetchWMManifest", request, timeout_s=timeout_s)
            for entity in page.entities:
                yield ManifestEntity.from_proto(entity)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def delete_wm_record(
        self, working_memory_id: Id, *, purge: bool = False, timeout_s: float | None = None
    ) -> Record | None:
        """Archive a record and return it, or remove it for good. Again is harmless.

        An archived record is hidden until `restore_wm_record` brings it back or its retention ends.

        Args:
            working_memory_id: Which.
            purge: Remove it at once, with its bytes unless other records share them. Then there is nothing to return.
            timeout_s: Deadline; None: the client's.

        Raises:
            RecordNotFound: there never was one, or it is gone and `purge` is not set.
        """
        request = memory_pb.DeleteWMRecordRequest(working_memory_id=messages.to_id(working_memory_id), purge=purge)
        response: memory_pb.DeleteWMRecordResponse = self.call("DeleteWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record) if response.HasField("record") else None

    def restore_wm_record(self, working_memory_id: Id, *, timeout_s: float | None = None) -> Record:
        """Bring an archived or expired record back and return it. Again is harmless.

        Raises:
            RecordNotFound: there never was one, or it was purged.
        """
        request = memory_pb.RestoreWMRecordRequest(working_memory_id=messages.to_id(working_memory_id))
        response: memory_pb.RestoreWMRecordResponse = self.call("RestoreWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def list_wm_record_actions(
        self, working_memory_id: Id, *, page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[RecordAction, None, None]:
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
            page: memory_pb.ListWMRecordActionsResponse = self.call("ListWMRecordActions", request, timeout_s=timeout_s)
            for action in page.actions:
                yield RecordAction.from_proto(action)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
