"""Writes records and blobs; `fetch.py` reads them.

A record promises its blob, so the order is always: a row that announces the bytes, the bytes, then one transaction that
makes them live and inserts the record. If anything fails in between, the sweeper finds the row.
"""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import AsyncIterable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from context_service.blobs.storage import Declared
from context_service.working_memory.pure.beginnings import Beginning
from context_service.working_memory.pure.fields import (
    CHANGEABLE,
    CONTENTS,
    TEXTS_EMBEDDED,
    FieldChecks,
    RecordInput,
    content_type_of,
    content_type_of_name,
)
from context_service.working_memory.rules.blobs import BlobWriter, WrittenBlob, upload_expired
from context_service.working_memory.rules.fetch import RecordName, record_archived, record_expired
from context_service.working_memory.rules.file_texts import owes_text
from context_service.working_memory.store.blobs import blob_rows, upload_rows
from context_service.working_memory.store.blobs.upload_rows import OpenUpload
from context_service.working_memory.store.context_files import BLOB_KEY_PREFIX, MESSAGE_FILE
from context_service.working_memory.store.record_columns import Record
from context_service.working_memory.store.records import (
    EMBEDDING_TOPIC,
    INLINE_PROVIDER,
    TEXT_TOPIC,
    RecordOrRequestExists,
    Records,
)
from context_service.working_memory.store.tenant_limits import Limits, TenantLimits
from context_service.working_memory.store.texts.passages import RecordPassages
from contextkeep.errors import InvalidArgument, LimitExceeded, RecordExists, RecordHasBlob, VersionConflict
from service_runtime.background_work.outbox import Outbox
from service_runtime.background_work.queue_room import QUEUED_MAX
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.calls import raise_if_cancelled
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.ids import new_id

MESSAGE_FILE_KEPT = timedelta(days=1)
# The fields that passages (chunks of the text, for search) copy from their record.
_PLACE = ("entity_node_id", "graph_name", "agent_bundle_id", "app_id")
_UUIDS = ("id", "entity_node_id", "context_id")
_TIMES = ("expires_at", "created_at", "updated_at")
_JSON, _TEXT, _BINARY = "application/json", "text/plain", "application/octet-stream"
_HEX = "\\x"  # prefix of bytes that Postgres writes as JSON


class WorkingMemory:
    """Writes records and blobs of all tenants; each call acts for its principal.

    Args:
        database: The database that holds the records and both work queues.
        records: The store of records.
        requests: The store of idempotency keys and their answers.
        checks: Checks the fields that a caller sends.
        writer: Writes the bytes of blobs.
        limits: The limits of tenants, such as the number of records.
        passages: The store of the records' passages.
        embeds_texts: A worker embeds each text for which the caller sends no vector.
        queued_max: The most records of a tenant that may wait for their text to be read, or for their vector.
    """

    def __init__(
        self,
        database: Database,
        *,
        records: Records,
        requests: Requests,
        checks: FieldChecks,
        writer: BlobWriter,
        limits: Limits,
        passages: RecordPassages,
        embeds_texts: bool = False,
        queued_max: int = QUEUED_MAX,
    ) -> None:
        self._database = database
        self._records = records
        self._requests = requests
        self._checks = checks
        self._writer = writer
        self._limits = limits
        self._embeds_texts = embeds_texts
        self._passages = passages
        self._outbox = Outbox("context", EMBEDDING_TOPIC, queued_max=queued_max)
        self._texts = Outbox("context", TEXT_TOPIC, queued_max=queued_max)

    async def insert(self, draft: RecordInput, *, principal: Principal, request: Request | None) -> Record:
        """Insert a record with inline content, or without content, and return it.

        Raises:
            RecordExists: the id is taken.
            RequestIdReused: an earlier request with other content had the same request id.
            InvalidArgument: a field of the draft is malformed.
            LimitExceeded: a field is too large, or the tenant has no room for the record or for its queued work.
            PermissionDenied: the draft names a graph, agent bundle or app that the principal is not bound to.
        """
        await beside_the_loop(len(draft.content_json), self._checks.check, draft, path="record")
        draft = within_bounds(draft, principal)
        record = _with_content(_new_record(draft, principal), draft)

        limits = await self._limits.of(principal)
        _check_content(limits, draft)
        tenant = self._database.of(principal)

        async def write(connection: Tenant | Transaction) -> Record:
            """Insert the record and queue its work, in the given transaction or in one statement of its own."""
            await self._take_room(connection, draft, record)
            return await self._records.insert(
                connection,
                record,
                embedding=draft.embedding,
                owes_vector=self._owes_vector(draft),
                owes_text=_owes_text(record),
                request=request,
            )

        async def take_room_and_write(transaction: Transaction) -> Record:
            await limits.take_room(transaction, records=1, size_bytes=record.size_bytes)
            return await write(transaction)

        try:
            if await limits.check_room(tenant, records=1, size_bytes=record.size_bytes):
                stored = await tenant.transaction(take_room_and_write)
            else:
                stored = await write(tenant)  # far from the limits, so a single statement is enough: one round trip
        except (RecordOrRequestExists, LimitExceeded) as error:
            stored = await self._record_of_earlier_call(principal, request, record.id, error)
        return with_content(stored, draft)

    async def update(
        self,
        record_id: UUID,
        draft: RecordInput,
        names: Sequence[str],
        *,
        principal: Principal,
        expected_version: int | None,
        request: Request | None,
    ) -> Record:
        """Change fields of a record, and return the record; it has its content only if the content changes.

        Args:
            record_id: The record to change.
            draft: The new values.
            names: The names of the fields to change; the other fields of the draft are ignored.
            principal: The caller; the record's log names it.
            expected_version: The version that the record must have; None allows any.
            request: The idempotency key of the call; None if the caller gave none.

        Raises:
            RecordNotFound: the record does not exist.
            RecordArchived: the record is archived, or it has expired and `names` does not contain `expires_at`.
            VersionConflict: the record has another version than `expected_version`.
            RecordHasBlob: `names` contains inline content, but the content of the record is a blob.
            RequestIdReused: an earlier request with other content had the same request id.
            InvalidArgument: a field is malformed, or cannot be changed.
            LimitExceeded: a field is too large, or the tenant has no room for the record or for its queued work.
            PermissionDenied: the record would move to a graph, agent bundle or app that the principal is not bound to.
        """
        _check_names(names)
        await beside_the_loop(len(draft.content_json), self._checks.check, draft, path="record", names=names)
        content_changes = not CONTENTS.isdisjoint(names)
        limits = await self._limits.of(principal)
        if content_changes:
            _check_content(limits, draft)

        async def work(transaction: Transaction) -> Record:
            """Lock the record, check that it may change, write the changed fields, and queue its text and vector."""
            record = await self._records.lock(transaction, record_id=record_id)
            if record is None:
                raise RecordName(record_id=record_id).not_found()
            if record.is_archived:
                raise record_archived(record)
            if expected_version not in (None, record.version):
                raise VersionConflict(
                    f"the record has version {record.version}, not the expected {expected_version}; read it again",
                    version=record.version,
                )
            if content_changes and record.blob_key:
                raise RecordHasBlob(
                    f"the content of record {record_id} is a blob; insert a new record instead",
                    working_memory_id=record_id,
                )
            holds_text = bool(draft.content_text)
            if "content_type" in names and not content_changes:
                holds_text = await self._records.holds_text(transaction, record_id)
            changed = _apply_draft(record, draft, names, principal)
            changed = _with_default_type(changed, draft, names, holds_text=holds_text)
            principal.check_bounds(
                graph_name=changed.graph_name, agent_bundle_id=changed.agent_bundle_id, app_id=changed.app_id
            )
            await limits.take_room(transaction, records=0, size_bytes=changed.size_bytes - record.size_bytes)
            if index_state := await self._requeue_vector(transaction, record_id, draft, names):
                changed = dataclasses.replace(changed, index_state=index_state, index_error="")
            if content_changes or _moves(record, changed):
                changed = await self._requeue_text(transaction, record, changed)
            updated = await self._records.update(
                transaction,
                changed,
                content_changes=content_changes,
                texts_change=not TEXTS_EMBEDDED.isdisjoint(names),
            )
            if updated.is_archived and "expires_at" not in names:
                raise record_expired(updated)
            if "embedding" in names:
                await self._records.put_embedding(transaction, record_id, draft.embedding)
            await self._records.append_action(
                transaction,
                record_id,
                "updated",
                principal=principal.subject,
                request_id=request.request_id if request else None,
                details={"fields": sorted(names), "version": updated.version},
            )
            return updated

        write = self._requests.once(request, work, values=_answer_of)
        stored = await self._database.of(principal).transaction(write)
        return with_content(stored, draft) if content_changes else stored

    async def upload_blob(
        self,
        draft: RecordInput,
        chunks: AsyncIterable[bytes],
        *,
        principal: Principal,
        declared: Declared,
        request: Request | None,
    ) -> Record:
        """Store a blob and insert its record.

        Args:
            draft: The record as the caller describes it.
            chunks: The bytes of the blob. They are not read if the request was answered before.
            declared: The size and hash that the bytes must have.
            principal: The caller; the record's log names it.
            request: The idempotency key of the call; None if the caller gave none.

        Raises:
            BlobTooLarge: the bytes are more than the tenant may store in one blob. Nothing is stored.
            SizeMismatch, ChecksumMismatch: the bytes do not have the declared size or hash. Nothing is stored.
            RecordExists: the id is taken.
            UploadExpired: no byte arrived for the time of the lease.
            RequestIdReused: an earlier request with other content had the same request id.
            InvalidArgument: a field of the draft is malformed.
            LimitExceeded: a field is too large, or the tenant has no room for the record or for its queued work.
            StorageFull, Unavailable: the storage provider has no room, or it or Postgres does not answer.
        """
        self.check_header(draft, path="header.record")
        draft = within_bounds(draft, principal)
        if record := await self.answered(principal, request):
            return record
        limits = await self.check_room(principal, draft, declared)
        tenant = self._database.of(principal)
        beginning = Beginning(draft)
        async with (
            aclosing(beginning.watched(chunks)) as watched,
            self._writer.written(tenant, watched, declared=declared, size_bytes_max=limits.blob_bytes_max) as written,
        ):
            return await self.publish(written, draft, text=beginning.text(), principal=principal, request=request)

    def check_header(self, draft: RecordInput, *, path: str) -> None:
        """Refuse a draft that cannot be the record of an upload.

        Args:
            draft: The record as the caller describes it.
            path: Path of the record in its request, for the error.

        Raises:
            InvalidArgument: a field is malformed, or the draft has inline content.
            LimitExceeded: a field is too large.
        """
        for name in sorted(CONTENTS):
            if getattr(draft, name):
                raise InvalidArgument(f"{path}.{name} must be empty in an upload", field=f"{path}.{name}")
        self._checks.check(draft, path=path)

    async def check_room(self, principal: Principal, draft: RecordInput, declared: Declared) -> TenantLimits:
        """Refuse an upload before its bytes arrive, if it would be refused after them; return the tenant's limits.

        Raises:
            BlobTooLarge: the declared size is larger than the tenant may store in one blob.
            LimitExceeded: the tenant has no room for the record.
            RecordExists: the id of the record is taken.
        """
        limits = await self._limits.of(principal)
        limits.check_blob(declared.size_bytes or 0)
        await limits.check_room(self._database.of(principal), records=1, size_bytes=declared.size_bytes or 0)
        if draft.id and await self._records.exists(principal, draft.id):
            raise _record_exists(draft.id)
        return limits

    async def answered(self, principal: Principal, request: Request | None) -> Record | None:
        """Return the record that an earlier call with the same request id made; None if there was none.

        Raises:
            RequestIdReused: the id was used for another request.
        """
        answer = await self._requests.answered(self._database.of(principal), request) if request else None
        return record_before(answer) if answer else None

    async def publish(
        self,
        written: WrittenBlob,
        draft: RecordInput,
        *,
        text: str | None,
        principal: Principal,
        request: Request | None,
        upload: OpenUpload | None = None,
    ) -> Record:
        """Make a written blob live and insert its record, in one transaction: the commit of an upload.

        Args:
            written: The blob, whose bytes are stored but not yet live.
            draft: The record to insert, as `within_bounds` returns it.
            text: The beginning of the blob as searchable text; None if it is not text.
            principal: The caller; the record's log names it.
            request: The idempotency key of the call; None if the caller gave none.
            upload: The resumable upload that brought the bytes; it ends with this transaction.

        Raises:
            RecordExists: the id is taken.
            UploadExpired: the lease of the blob ended, and the sweeper (background work) has begun to remove it.
            UploadNotFound, Aborted: the resumable upload was ended or changed meanwhile; see `upload_rows.end`.
        """
        record = dataclasses.replace(
            _new_record(draft, principal),
            content_type=content_type_of(draft, otherwise="application/octet-stream"),
            provider=written.provider,
            blob_key=BLOB_KEY_PREFIX + secrets.token_hex(16),
            size_bytes=written.digest.size_bytes,
            sha256=written.digest.sha256,
        )

        limits = await self._limits.of(principal)
        tenant = self._database.of(principal)

        async def work(transaction: Transaction) -> Record:
            """End the upload, check the tenant's room, make the blob live and insert the record, in this order."""
            if upload is not None:
                await upload_rows.end(transaction, upload)
            await limits.take_room(transaction, records=1, size_bytes=record.size_bytes)
            await self._take_room(transaction, draft, record, is_encoded=text is None)
            live_id = await blob_rows.publish(transaction, written.id, provider=written.provider, digest=written.digest)
            if live_id is None:
                raise upload_expired()
            inserted = await self._records.insert(
                transaction,
                record,
                blob_id=live_id,
                blob_text=text,
                embedding=draft.embedding,
                owes_vector=self._owes_vector(draft),
                owes_text=_owes_text(record, is_encoded=text is None),
                request=request,
            )
            raise_if_cancelled()
            return inserted

        try:
            return await blob_rows.publishing(tenant, work)
        except (RecordOrRequestExists, LimitExceeded) as error:
            stored = await self._record_of_earlier_call(principal, request, record.id, error)
        await blob_rows.give_up(tenant, written.id)  # a concurrent call with the same request id was faster
        return stored

    async def _take_room(
        self, connection: Tenant | Transaction, draft: RecordInput, record: Record, *, is_encoded: bool = False
    ) -> None:
        """Refuse a new record if its tenant already has too much queued work of the kinds that the record needs."""
        if self._owes_vector(draft):
            await self._outbox.take_room(connection)
        if _owes_text(record, is_encoded=is_encoded):
            await self._texts.take_room(connection)

    def _owes_vector(self, draft: RecordInput) -> bool:
        """Say whether background work must make a record's vector, because the caller has sent none."""
        return self._embeds_texts and draft.embedding is None

    async def _requeue_vector(
        self, transaction: Transaction, record_id: UUID, draft: RecordInput, names: Sequence[str]
    ) -> str:
        """Queue a new vector for a locked record whose text changes, or drop it from the queue.

        Returns:
            The new `index_state` of the record; empty if it does not change.
        """
        if "embedding" in names and not self._owes_vector(draft):
            await self._outbox.drop(transaction, record_id)
            return "NONE"
        if not self._embeds_texts:
            return ""
        if "embedding" not in names and (
            TEXTS_EMBEDDED.isdisjoint(names) or await self._records.has_vector_of_caller(transaction, record_id)
        ):
            return ""
        await self._outbox.take_room(transaction)
        await self._outbox.put(transaction, record_id)
        return "PENDING"

    async def _requeue_text(self, transaction: Transaction, record: Record, changed: Record) -> Record:
        """Remove the passages of a locked record whose content or place changes, and queue the reading of its text."""
        owes = _owes_text(changed, is_encoded=record.text_state != "NONE")  # its file is the same
        if record.text_state == "NONE" and not owes:
            return changed
        await self._passages.forget(transaction, record.id)
        if not owes:
            await self._texts.drop(transaction, record.id)
            return dataclasses.replace(changed, text_state="NONE", text_error="")
        await self._texts.take_room(transaction)
        await self._texts.put(transaction, record.id)
        return dataclasses.replace(changed, text_state="PENDING", text_error="")

    async def _record_of_earlier_call(
        self,
        principal: Principal,
        request: Request | None,
        record_id: UUID,
        error: RecordOrRequestExists | LimitExceeded,
    ) -> Record:
        """Return the record that an earlier call with the same request id made, which explains `error`.

        Raises:
            RecordExists: there was no earlier call, so the id is taken.
            LimitExceeded: there was no earlier call, so the tenant has no room.
            RequestIdReused: another request had the same request id.
        """
        if record := await self.answered(principal, request):
            return record
        if isinstance(error, LimitExceeded):
            raise error
        raise _record_exists(record_id) from None


def within_bounds(draft: RecordInput, principal: Principal) -> RecordInput:
    """Return the draft; where it names no graph, agent bundle or app, fill in those of the principal.

    Raises:
        PermissionDenied: the draft names a graph, agent bundle or app that the principal is not bound to.
    """
    draft = dataclasses.replace(
        draft,
        graph_name=draft.graph_name or principal.graph_default,
        agent_bundle_id=draft.agent_bundle_id or principal.agent_bundle_id,
        app_id=draft.app_id or principal.app_default,
    )
    principal.check_bounds(graph_name=draft.graph_name, agent_bundle_id=draft.agent_bundle_id, app_id=draft.app_id)
    return with_lease(draft)


def with_lease(draft: RecordInput) -> RecordInput:
    """Return a draft that expires within a day if it is a file for a message that is not sent yet."""
    if draft.memory_type != MESSAGE_FILE:
        return draft
    last = datetime.now(UTC) + MESSAGE_FILE_KEPT
    return dataclasses.replace(draft, expires_at=min(draft.expires_at or last, last))


def _new_record(draft: RecordInput, principal: Principal) -> Record:
    """Return the record of a draft; the database sets its times when it is stored."""
    return Record(
        id=draft.id or new_id(),
        entity_node_id=draft.entity_node_id,
        memory_type=draft.memory_type,
        subtype=draft.subtype,
        semantic_purpose=draft.semantic_purpose,
        name=draft.name,
        description=draft.description,
        reasoning=draft.reasoning,
        content_type=content_type_of(draft, otherwise=_content_type(draft)),
        metadata_json=draft.metadata_json or "{}",
        tags=draft.tags,
        graph_name=draft.graph_name,
        agent_bundle_id=draft.agent_bundle_id,
        app_id=draft.app_id,
        created_by=principal.subject,
        owner_user_id=principal.user_id,
        agent_id=principal.agent_id,
        expires_at=draft.expires_at,
        created_at=datetime.min,
        updated_at=datetime.min,
    )


def _owes_text(record: Record, *, is_encoded: bool = False) -> bool:
    """Say whether the text of a record is read and cut into passages by background work after the write.

    Args:
        record: The record.
        is_encoded: Its file is no UTF-8.
    """
    types = [record.content_type, content_type_of_name(record.name), record.memory_type]
    return owes_text(
        types, record.name, size_bytes=record.size_bytes, is_inline=not record.blob_key, is_encoded=is_encoded
    )


def _moves(record: Record, changed: Record) -> bool:
    """Tell whether a change moves a record to another node or into other bounds."""
    return any(getattr(record, name) != getattr(changed, name) for name in _PLACE)


def _check_content(limits: TenantLimits, draft: RecordInput) -> None:
    """Refuse inline content that is too large for its tenant.

    Raises:
        LimitExceeded: the content is too large.
    """
    limits.check_content("record.content_json", draft.content_json)
    limits.check_content("record.content_text", draft.content_text)


def _content_type(draft: RecordInput) -> str:
    """Return the content type of inline content for which the caller names none."""
    return _JSON if draft.content_json else _TEXT if draft.content_text else ""


def _with_content(record: Record, draft: RecordInput) -> Record:
    """Return the record with the inline content of the draft, or without content."""
    content = (draft.content_json or draft.content_text).encode()
    return dataclasses.replace(
        record,
        content_json=draft.content_json or None,
        content_text=draft.content_text or None,
        provider=INLINE_PROVIDER if content else "",
        size_bytes=len(content),
        sha256=hashlib.sha256(content).digest() if content else b"",
    )


def with_content(record: Record, draft: RecordInput) -> Record:
    """Return a stored record with the content of its draft, for the response."""
    return dataclasses.replace(record, content_json=draft.content_json or None, content_text=draft.content_text or None)


def _apply_draft(record: Record, draft: RecordInput, names: Sequence[str], principal: Principal) -> Record:
    """Return the record with the named fields of the draft; fields that the draft leaves empty get their defaults."""
    values: dict[str, Any] = {name: getattr(draft, name) for name in names if name not in {*CONTENTS, "embedding"}}
    if "metadata_json" in values:
        values["metadata_json"] = draft.metadata_json or "{}"
    if "graph_name" in values:
        values["graph_name"] = draft.graph_name or principal.graph_default
    if "agent_bundle_id" in values:
        values["agent_bundle_id"] = draft.agent_bundle_id or principal.agent_bundle_id
    if "app_id" in values:
        values["app_id"] = draft.app_id or principal.app_default
    changed = dataclasses.replace(record, **values)
    return changed if CONTENTS.isdisjoint(names) else _with_content(changed, draft)


def _with_default_type(record: Record, draft: RecordInput, names: Sequence[str], *, holds_text: bool) -> Record:
    """Return a changed record with the default content type, if the caller names none.

    Args:
        record: The record, with its other changes applied.
        draft: The record as the caller describes it.
        names: The names of the fields that change.
        holds_text: The record's inline content is text, not JSON.
    """
    if "content_type" in names:
        stays = bool(draft.content_type)
    else:  # inline JSON may have replaced text, or the reverse; a type that a caller chose stays
        stays = not (draft.content_json or draft.content_text) or record.content_type not in ("", _JSON, _TEXT)
    if stays:
        return record
    otherwise = _BINARY if record.blob_key else "" if not record.provider else _TEXT if holds_text else _JSON
    return dataclasses.replace(record, content_type=content_type_of_name(record.name) or otherwise)


def _check_names(names: Sequence[str]) -> None:
    """Check the names of fields that an update changes.

    Raises:
        InvalidArgument: there is no name, or a field of that name cannot be changed.
    """
    if not names:
        raise InvalidArgument("update_mask must name at least one field", field="update_mask")
    for name in names:
        if name not in CHANGEABLE:
            raise InvalidArgument(f"update_mask names {name[:100]!r}, which cannot be changed", field="update_mask")


def _answer_of(record: Record) -> dict[str, Any]:
    """Return the stored answer for retries, in the form that Postgres writes: the record without its content."""
    values = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    for name in CONTENTS:
        del values[name]
    for name in _UUIDS:
        values[name] = values[name] and str(values[name])
    for name in _TIMES:
        values[name] = values[name] and values[name].isoformat()
    return {**values, "sha256": _HEX + record.sha256.hex(), "tags": list(record.tags)}


def record_before(answer: dict[str, Any]) -> Record:
    """Return the record of a stored answer, without its content."""
    values = dict(answer)
    for name in _UUIDS:
        values[name] = values[name] and UUID(values[name])
    for name in _TIMES:
        values[name] = values[name] and datetime.fromisoformat(values[name]).astimezone(UTC)
    values["blob_key"] = values["blob_key"] or ""
    values["sha256"] = bytes.fromhex((values["sha256"] or "").removeprefix(_HEX))
    return Record(**{**values, "tags": tuple(values["tags"])})


def _record_exists(record_id: UUID) -> RecordExists:
    return RecordExists(f"a record with the id {record_id} exists; choose another id", working_memory_id=record_id)
