# Generated from aio/context/records.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Records of working memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id, RecordChanges, RecordFields
from contextkeep.client.sync._gen import records as gen
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.values import Record, SearchHit, SearchMode


class Records(gen.Records):
    """Records: one by one, of an entity, by words and vectors, and by questions."""

    def insert(
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
        """Write a record, and return it. Its inline content is JSON or a text, or is left out.

        Args:
            memory_type: A `MemoryType`, or your own text.
            name: A label.
            content: Any JSON value, up to 1 MiB.
            content_json: The same as JSON text, kept byte for byte.
            content_text: Plain text instead, up to 1 MiB.
            working_memory_id: A UUID. By default the server creates one.
            request_id: A UUID. A repeat with the same one writes nothing and gets the first answer. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.
            **fields: Further fields of the record: `RecordFields`.

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
        response: memory_pb.InsertWMRecordResponse = self._call("InsertWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def update(
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
            working_memory_id: The record.
            expected_version: Change only this version.
            request_id: As in `insert`.
            timeout_s: Deadline in seconds. None means the client's.
            **changes: The fields of `RecordChanges` and their new values. None empties a field.

        Raises:
            RecordNotFound: the record does not exist.
            RecordArchived: the record is archived.
            RecordHasBlob: new content for a record whose content is a blob.
            VersionConflict: the record has another version: `version` in the metadata.
        """
        request = memory_pb.UpdateWMRecordRequest(
            record=messages.record_input(working_memory_id=working_memory_id, **changes),
            update_mask=FieldMask(paths=messages.record_mask(changes)),
            expected_version=expected_version,
            request_id=messages.new_request_id(request_id),
        )
        response: memory_pb.UpdateWMRecordResponse = self._call("UpdateWMRecord", request, timeout_s=timeout_s)
        return Record.from_proto(response.record)

    def search(
        self,
        text: str = "",
        *,
        embedding: Sequence[float] | None = None,
        embedding_model: str = "",
        mode: SearchMode | None = None,
        entity_node_ids: Iterable[Id] = (),
        memory_types: Iterable[str] = (),
        graph_name: str = "",
        agent_bundle_id: str = "",
        app_id: str = "",
        where: Mapping[str, Any] | None = None,
        include_archived: bool = False,
        limit: int = 0,
        offset: int = 0,
        with_content: bool = False,
        timeout_s: float | None = None,
    ) -> list[SearchHit]:
        """Find records of all entities by their words, by a vector, or by both. The best record comes first.

        Args:
            text: Words in name, description, inline content and text files. A record must contain all of them;
                "or", quotes and minus as in a web search. Names are also found by the beginnings of their words.
            embedding: 1,536 values, of the same model as those of the records. None: the service computes it from the
                text if the `mode` needs one and the service has an embedder.
            embedding_model: Compare only with embeddings of this model. Empty: with all.
            mode: "text", "vector" or "fused". Empty: the one that fits the given text and embedding.
            entity_node_ids: Return only records of these nodes.
            memory_types: Return only records of these types.
            graph_name: Return only records of this graph. Empty, here and in the next two, means all: the client's
                `app_id` is not used.
            agent_bundle_id: Return only records of this bundle.
            app_id: Return only records of this app.
            where: A condition tree, as in `query`.
            include_archived: Return archived and expired records, too.
            limit: Maximum number of records, up to 100. 0 means 10.
            offset: Skip this many of the best records, up to 10,000.
            with_content: Return inline contents too.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: the vector has another dimension, or the condition is malformed.
            SliceTooLarge: there are more than 50,000 vectors to compare with; add a filter.
        """
        request = memory_pb.SearchWMRecordsRequest(
            text=text,
            embedding=None if embedding is None else memory_pb.Embedding(values=embedding, model=embedding_model),
            mode=messages.choice_of("mode", mode, memory_pb.SearchMode),
            entity_node_ids=messages.ids("entity_node_ids", entity_node_ids),
            memory_types=messages.texts("memory_types", memory_types),
            graph_name=graph_name,
            agent_bundle_id=agent_bundle_id,
            app_id=app_id,
            where_json=messages.to_object("where_json", where),
            include_archived=include_archived,
            limit=limit,
            offset=offset,
            with_content=with_content,
        )
        response: memory_pb.SearchWMRecordsResponse = self._call("SearchWMRecords", request, timeout_s=timeout_s)
        return [SearchHit.from_proto(hit) for hit in response.hits]
