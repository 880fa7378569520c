"""Working memory: the rules of writing records and blobs. `fetch.py` has those of reading.

A record promises its blob, so the order is always: a row that says that bytes are coming, the bytes, then one
transaction that makes them live and inserts the record. Whatever happens in between, the row is there for the sweeper.
"""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import AsyncIterable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
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
from context_service.working_memory.store import blob_rows, upload_rows
from context_service.working_memory.store.passages import RecordPassages
from context_service.working_memory.store.record_columns import Record
from context_service.working_memory.store.records import (
    EMBEDDING_TOPIC,
    INLINE_PROVIDER,
    TEXT_TOPIC,
    RecordOrRequestExists,
    Records,
)
from context_service.working_memory.store.tenant_limits import Limits, TenantLimits
from context_service.working_memory.store.upload_rows import OpenUpload
from contextkeep.errors import InvalidArgument, LimitExceeded, RecordExists, RecordHasBlob, VersionConflict
from service_runtime.auth import Principal
from service_runtime.calls import raise_if_cancelled
from service_runtime.documents import beside_the_loop
from service_runtime.ids import new_id
from service_runtime.outbox import Outbox
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.queue_room import QUEUED_MAX
from service_runtime.requests import Request, Requests

_BLOB_KEY_PREFIX = "blob_"
_PLACE = ("entity_node_id", "graph_name", "agent_bundle_id", "app_id")
_UUIDS = ("id", "entity_node_id", "context_id")
_TIMES = ("expires_at", "created_at", "updated_at")
_JSON, _TEXT, _BINARY = "application/json", "text/plain", "application/octet-stream"
_HEX = "\\x"  # in front of bytes that Postgres writes as JSON


class WorkingMemory:
    """Writes records and blobs of all tenants; each call acts for its principal.

    Args:
        database: Where all is.
        records: Their SQL.
        requests: The request ids of this service.
        checks: Of what callers say.
        writer: Writes new ones.
        limits: Of the tenants.
        passages: What records are found by beside their columns.
        embeds_texts: A worker makes the vectors of texts for which no caller gives one.
        queued_max: Records of a tenant that wait for their text to be read, or for their vector.
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

    async def insert(self, said: RecordInput, *, principal: Principal, request: Request | None) -> Record:
        """Insert a record with inline content, or with none.

        Raises:
            RecordExists: the id is taken.
            RequestIdReused, InvalidArgument, LimitExceeded: see the contract.
        """
        await beside_the_loop(len(said.content_json), self._checks.check, said, path="record")
        said = within_bounds(said, principal)
        record = _with_content(_new_record(said, principal), said)

        limits = await self._limits.of(principal)
        _check_content(limits, said)
        tenant = self._database.of(principal)

        async def write(door: Tenant | Transaction) -> Record:
            await self._take_room(door, said, record)
            return await self._records.insert(
                door,
                record,
                embedding=said.embedding,
                owes_vector=self._owes_vector(said),
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
                stored = await write(tenant)  # one round trip
        except (RecordOrRequestExists, LimitExceeded) as error:
            stored = await self._made_before(principal, request, record.id, error)
        return with_content(stored, said)

    async def update(
        self,
        record_id: UUID,
        said: RecordInput,
        names: Sequence[str],
        *,
        principal: Principal,
        expected_version: int | None,
        request: Request | None,
    ) -> Record:
        """Change the fields `names` of a record, and return it; with its content only if that is one of them.

        Raises:
            RecordNotFound: there is none.
            RecordArchived: it is archived, or has expired and `expires_at` is not changed.
            VersionConflict: it has another version than `expected_version`.
            RecordHasBlob: inline content for a record whose content is a blob.
            RequestIdReused, InvalidArgument, LimitExceeded: see the contract.
        """
        _check_names(names)
        await beside_the_loop(len(said.content_json), self._checks.check, said, path="record", names=names)
        content_changes = not CONTENTS.isdisjoint(names)
        limits = await self._limits.of(principal)
        if content_changes:
            _check_content(limits, said)

        async def work(transaction: Transaction) -> Record:
            record = await self._records.lock(transaction, record_id=record_id)
            if record is None:
                raise RecordName(record_id=record_id).not_found()
            if record.is_archived:
                raise record_archived(record)
            if expected_version not in (None, record.version):
                raise VersionConflict(
                    f"the record has version {record.version}, not {expected_version}", version=record.version
                )
            if content_changes and record.blob_key:
                raise RecordHasBlob("the content of this record is a blob", working_memory_id=record_id)
            holds_text = bool(said.content_text)
            if "content_type" in names and not content_changes:
                holds_text = await self._records.holds_text(transaction, record_id)
            changed = _changed(record, said, names, principal)
            changed = _retyped(changed, said, names, holds_text=holds_text)
            principal.check_bounds(
                graph_name=changed.graph_name, agent_bundle_id=changed.agent_bundle_id, app_id=changed.app_id
            )
            await limits.take_room(transaction, records=0, size_bytes=changed.size_bytes - record.size_bytes)
            if index_state := await self._index_anew(transaction, record_id, said, names):
                changed = dataclasses.replace(changed, index_state=index_state, index_error="")
            if content_changes or _moves(record, changed):
                changed = await self._text_anew(transaction, record, changed)
            updated = await self._records.update(transaction, changed, content_changes=content_changes)
            if updated.is_archived and "expires_at" not in names:
                raise record_expired(updated)
            if "embedding" in names:
                await self._records.put_embedding(transaction, record_id, said.embedding)
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
        return with_content(stored, said) if content_changes else stored

    async def upload_blob(
        self,
        said: RecordInput,
        chunks: AsyncIterable[bytes],
        *,
        principal: Principal,
        declared: Declared,
        request: Request | None,
    ) -> Record:
        """Store a blob and insert its record.

        Args:
            said: The record.
            chunks: The bytes; not read if the request was answered before.
            declared: What they must add up to.
            principal: Who uploads.
            request: Makes it happen once.

        Raises:
            BlobTooLarge, SizeMismatch, ChecksumMismatch: nothing is stored.
            RecordExists: the id is taken.
            UploadExpired: no byte came for as long as the lease lasts.
            RequestIdReused, InvalidArgument, LimitExceeded, StorageFull, Unavailable: see the contract.
        """
        self.check_header(said, path="header.record")
        said = within_bounds(said, principal)
        if record := await self.answered(principal, request):
            return record
        limits = await self.check_room(principal, said, declared)
        tenant = self._database.of(principal)
        beginning = Beginning(said)
        async with (
            aclosing(beginning.watched(chunks)) as watched,
            self._writer.written(tenant, watched, declared=declared, size_bytes_max=limits.blob_bytes_max) as written,
        ):
            return await self.publish(written, said, text=beginning.text(), principal=principal, request=request)

    def check_header(self, said: RecordInput, *, path: str) -> None:
        """Refuse what cannot be the record of an upload.

        Args:
            said: The record.
            path: Of it in its request, for the error.

        Raises:
            InvalidArgument, LimitExceeded: a field is malformed.
        """
        for name in sorted(CONTENTS):
            if getattr(said, name):
                raise InvalidArgument("an upload has no inline content", field=f"{path}.{name}")
        self._checks.check(said, path=path)

    async def check_room(self, principal: Principal, said: RecordInput, declared: Declared) -> TenantLimits:
        """Refuse an upload before its bytes come that would be refused behind them; return its tenant's limits.

        Raises:
            BlobTooLarge: it says so itself.
            LimitExceeded: the tenant has no room for it.
            RecordExists: its id is taken.
        """
        limits = await self._limits.of(principal)
        limits.check_blob(declared.size_bytes or 0)
        await limits.check_room(self._database.of(principal), records=1, size_bytes=declared.size_bytes or 0)
        if said.id and await self._records.exists(principal, said.id):
            raise _taken(said.id)
        return limits

    async def answered(self, principal: Principal, request: Request | None) -> Record | None:
        """Return the record that a request made when it came first; None if it did not yet.

        Raises:
            RequestIdReused: the id was used for something else.
        """
        answer = await self._requests.answered(self._database.of(principal), request) if request else None
        return record_before(answer) if answer else None

    async def publish(
        self,
        written: WrittenBlob,
        said: RecordInput,
        *,
        text: str | None,
        principal: Principal,
        request: Request | None,
        upload: OpenUpload | None = None,
    ) -> Record:
        """Make a written blob live and insert its record, in one transaction: the commit of an upload.

        Args:
            written: The blob.
            said: The record, `within_bounds`.
            text: What is to be found of the blob.
            principal: Who uploads.
            request: Makes it happen once.
            upload: The resumable upload that made it, which ends with this.

        Raises:
            RecordExists: the id is taken.
            UploadExpired: the sweeper has taken the blob.
            UploadNotFound, Aborted: see `upload_rows.end`.
        """
        record = dataclasses.replace(
            _new_record(said, principal),
            content_type=content_type_of(said, otherwise="application/octet-stream"),
            provider=written.provider,
            blob_key=_BLOB_KEY_PREFIX + secrets.token_hex(16),
            size_bytes=written.digest.size_bytes,
            sha256=written.digest.sha256,
        )

        limits = await self._limits.of(principal)
        tenant = self._database.of(principal)

        async def work(transaction: Transaction) -> Record:
            if upload is not None:
                await upload_rows.end(transaction, upload)
            await limits.take_room(transaction, records=1, size_bytes=record.size_bytes)
            await self._take_room(transaction, said, record)
            live_id = await blob_rows.publish(transaction, written.id, provider=written.provider, digest=written.digest)
            if live_id is None:
                raise upload_expired()
            inserted = await self._records.insert(
                transaction,
                record,
                blob_id=live_id,
                blob_text=text,
                embedding=said.embedding,
                owes_vector=self._owes_vector(said),
                owes_text=_owes_text(record),
                request=request,
            )
            raise_if_cancelled()
            return inserted

        try:
            return await blob_rows.publishing(tenant, work)
        except (RecordOrRequestExists, LimitExceeded) as error:
            stored = await self._made_before(principal, request, record.id, error)
        await blob_rows.give_up(tenant, written.id)  # a twin of this call was faster
        return stored

    async def _take_room(self, door: Tenant | Transaction, said: RecordInput, record: Record) -> None:
        """Refuse a new record if too much of its tenant waits for the background work that it needs."""
        if self._owes_vector(said):
            await self._outbox.take_room(door)
        if _owes_text(record):
            await self._texts.take_room(door)

    def _owes_vector(self, said: RecordInput) -> bool:
        return self._embeds_texts and said.embedding is None

    async def _index_anew(
        self, transaction: Transaction, record_id: UUID, said: RecordInput, names: Sequence[str]
    ) -> str:
        """Owe a vector for what a locked record will say, or owe none any more.

        Returns:
            The record's state of indexing from now on; empty if it stays.
        """
        if "embedding" in names and not self._owes_vector(said):
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

    async def _text_anew(self, transaction: Transaction, record: Record, changed: Record) -> Record:
        """Owe the passages of what a locked record will say, and where it will stand, instead of those that it has."""
        owes = _owes_text(changed)
        if record.text_state == "NONE" and not owes:
            return changed
        await self._passages.forget(transaction, record.id)
        if not owes:
            await self._texts.drop(transaction, record.id)
            return dataclasses.replace(changed, text_state="NONE", text_error="")
        await self._texts.take_room(transaction)
        await self._texts.put(transaction, record.id)
        return dataclasses.replace(changed, text_state="PENDING", text_error="")

    async def _made_before(
        self,
        principal: Principal,
        request: Request | None,
        record_id: UUID,
        error: RecordOrRequestExists | LimitExceeded,
    ) -> Record:
        """Return the record that a request made when it came first, which is why it fails now.

        Raises:
            RecordExists: it is the first time; so it was the id that was taken.
            LimitExceeded: it is the first time; so it was others that filled the room.
            RequestIdReused: see the contract.
        """
        if record := await self.answered(principal, request):
            return record
        if isinstance(error, LimitExceeded):
            raise error
        raise _taken(record_id) from None


def within_bounds(said: RecordInput, principal: Principal) -> RecordInput:
    """Return a new record with the graph, agent bundle and app that it is of: where it names none, the principal's.

    Raises:
        PermissionDenied: it names others than the principal is bound to.
    """
    said = dataclasses.replace(
        said,
        graph_name=said.graph_name or principal.graph_default,
        agent_bundle_id=said.agent_bundle_id or principal.agent_bundle_id,
        app_id=said.app_id or principal.app_default,
    )
    principal.check_bounds(graph_name=said.graph_name, agent_bundle_id=said.agent_bundle_id, app_id=said.app_id)
    return said


def _new_record(said: RecordInput, principal: Principal) -> Record:
    """Return the record that a caller describes; its times are the database's, and set when it is stored."""
    return Record(
        id=said.id or new_id(),
        entity_node_id=said.entity_node_id,
        memory_type=said.memory_type,
        subtype=said.subtype,
        semantic_purpose=said.semantic_purpose,
        name=said.name,
        description=said.description,
        reasoning=said.reasoning,
        content_type=content_type_of(said, otherwise=_content_type(said)),
        metadata_json=said.metadata_json or "{}",
        tags=said.tags,
        graph_name=said.graph_name,
        agent_bundle_id=said.agent_bundle_id,
        app_id=said.app_id,
        created_by=principal.subject,
        owner_user_id=principal.user_id,
        agent_id=principal.agent_id,
        expires_at=said.expires_at,
        created_at=datetime.min,
        updated_at=datetime.min,
    )


def _owes_text(record: Record) -> bool:
    types = [record.content_type, content_type_of_name(record.name), record.memory_type]
    return owes_text(types, record.name, size_bytes=record.size_bytes, is_inline=not record.blob_key)


def _moves(record: Record, changed: Record) -> bool:
    """Tell whether a change lets others see a record, or elsewhere."""
    return any(getattr(record, name) != getattr(changed, name) for name in _PLACE)


def _check_content(limits: TenantLimits, said: RecordInput) -> None:
    """Refuse inline content that is too large for its tenant.

    Raises:
        LimitExceeded: it is.
    """
    limits.check_content("record.content_json", said.content_json)
    limits.check_content("record.content_text", said.content_text)


def _content_type(said: RecordInput) -> str:
    """Return the content type of inline content of which nobody says another."""
    return _JSON if said.content_json else _TEXT if said.content_text else ""


def _with_content(record: Record, said: RecordInput) -> Record:
    """Return the record with the inline content that a caller says, or without any."""
    content = (said.content_json or said.content_text).encode()
    return dataclasses.replace(
        record,
        content_json=said.content_json or None,
        content_text=said.content_text or None,
        provider=INLINE_PROVIDER if content else "",
        size_bytes=len(content),
        sha256=hashlib.sha256(content).digest() if content else b"",
    )


def with_content(record: Record, said: RecordInput) -> Record:
    """Return a stored record as it is answered: with its content."""
    return dataclasses.replace(record, content_json=said.content_json or None, content_text=said.content_text or None)


def _changed(record: Record, said: RecordInput, names: Sequence[str], principal: Principal) -> Record:
    """Return the record with the named fields as the caller says them; empty ones get their defaults."""
    values: dict[str, Any] = {name: getattr(said, name) for name in names if name not in {*CONTENTS, "embedding"}}
    if "metadata_json" in values:
        values["metadata_json"] = said.metadata_json or "{}"
    if "graph_name" in values:
        values["graph_name"] = said.graph_name or principal.graph_default
    if "agent_bundle_id" in values:
        values["agent_bundle_id"] = said.agent_bundle_id or principal.agent_bundle_id
    if "app_id" in values:
        values["app_id"] = said.app_id or principal.app_default
    changed = dataclasses.replace(record, **values)
    return changed if CONTENTS.isdisjoint(names) else _with_content(changed, said)


def _retyped(record: Record, said: RecordInput, names: Sequence[str], *, holds_text: bool) -> Record:
    """Return a changed record with the content type that it has where nobody says one.

    Args:
        record: With what else has changed.
        said: What the caller says.
        names: Of the fields that change.
        holds_text: It has inline text.
    """
    if "content_type" in names:
        stays = bool(said.content_type)
    else:  # new content of the other kind
        stays = not (said.content_json or said.content_text) or record.content_type not in ("", _JSON, _TEXT)
    if stays:
        return record
    otherwise = _BINARY if record.blob_key else "" if not record.provider else _TEXT if holds_text else _JSON
    return dataclasses.replace(record, content_type=content_type_of_name(record.name) or otherwise)


def _check_names(names: Sequence[str]) -> None:
    if not names:
        raise InvalidArgument("update_mask names no field", field="update_mask")
    for name in names:
        if name not in CHANGEABLE:
            raise InvalidArgument(f"update_mask names {name[:100]!r}, which cannot be changed", field="update_mask")


def _answer_of(record: Record) -> dict[str, Any]:
    """Return what a repeated request is answered with, as Postgres writes it: the record without its content."""
    values = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    for name in CONTENTS:
        del values[name]
    for name in _UUIDS:
        values[name] = values[name] and str(values[name])
    for name in _TIMES:
        values[name] = values[name] and values[name].isoformat()
    return {**values, "sha256": _HEX + record.sha256.hex(), "tags": list(record.tags)}


def record_before(answer: dict[str, Any]) -> Record:
    """Return the record that a request was answered with, without its content."""
    values = dict(answer)
    for name in _UUIDS:
        values[name] = values[name] and UUID(values[name])
    for name in _TIMES:
        values[name] = values[name] and datetime.fromisoformat(values[name]).astimezone(UTC)
    values["blob_key"] = values["blob_key"] or ""
    values["sha256"] = bytes.fromhex((values["sha256"] or "").removeprefix(_HEX))
    return Record(**{**values, "tags": tuple(values["tags"])})


def _taken(record_id: UUID) -> RecordExists:
    return RecordExists(f"the id {record_id} is taken", working_memory_id=record_id)
