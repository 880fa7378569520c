"""Request ids: a repeated write answers as the first time and writes nothing.

Each service has a table `request`. A write claims its id there, in its own transaction: a concurrent twin waits
on the key until the first is committed or gone. What is kept of the answer is what cannot be told from the
request again (ids, times, versions), as JSON.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID, uuid5

from psycopg.types.json import Jsonb

from contextkeep.errors import RequestIdReused
from service_runtime.ids import parse_id
from service_runtime.postgres import Row, Tenant, Transaction

KEPT = timedelta(hours=24)
FIELD = "request_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A write that must happen once."""

    request_id: UUID
    rpc: str
    fingerprint: bytes  # sha256 of the request without its id

    def key(self, bounds: str) -> UUID:
        """Return what the table knows the request by: for callers with other bounds it is another request."""
        return uuid5(self.request_id, bounds) if bounds else self.request_id


class RequestMessage(Protocol):
    """What is used of a protobuf message, so that this module imports none."""

    request_id: str

    def SerializeToString(self, *, deterministic: bool) -> bytes: ...  # noqa: D102, N802


def request_of(rpc: str, message: RequestMessage) -> Request | None:
    """Return what makes the call of `message` happen once, or None if it carries no request id.

    Raises:
        InvalidArgument: the id is not a UUID.
    """
    if not message.request_id:
        return None
    request_id = parse_id(FIELD, message.request_id)
    return Request(request_id=request_id, rpc=rpc, fingerprint=fingerprint(message))


def fingerprint(message: RequestMessage) -> bytes:
    """Return the sha256 of a message without its request id."""
    request_id = message.request_id
    message.request_id = ""  # and back: a copy of four megabytes costs more than the hash
    try:
        return hashlib.sha256(message.SerializeToString(deterministic=True)).digest()
    finally:
        message.request_id = request_id


class Requests:
    """The table `request` of one schema."""

    def __init__(self, schema: str) -> None:
        self._claim = f"""
            INSERT INTO {schema}.request (tenant_id, request_id, rpc, fingerprint, answer)
            VALUES (%s, %s, %s, %s, 'null') ON CONFLICT (tenant_id, request_id) DO NOTHING RETURNING request_id
        """  # noqa: S608 - the schema is a constant of the service
        self._read = f"""
            SELECT rpc, fingerprint, answer FROM {schema}.request WHERE tenant_id = %s AND request_id = %s
        """  # noqa: S608
        self._answer = f"""
            UPDATE {schema}.request SET answer = %s WHERE tenant_id = %s AND request_id = %s
        """  # noqa: S608
        self._sweep = f"""
            DELETE FROM {schema}.request WHERE tenant_id = %s AND created_at < now() - %s
        """  # noqa: S608

    async def claim(self, transaction: Transaction, request: Request) -> Any:
        """Claim the id for this transaction, or return the answer that was given to it before.

        Returns:
            None if the id is ours now (`answer` must follow), else the stored answer.

        Raises:
            RequestIdReused: it was used with other content or for another RPC.
        """
        tenant_id = transaction.tenant_id
        key = (tenant_id, request.key(transaction.bounds))
        if await transaction.query(self._claim, (*key, request.rpc, request.fingerprint)):
            return None
        # A statement of its own: it sees what the twin committed while we waited.
        return _same(request, await transaction.query(self._read, key))

    async def answer(self, transaction: Transaction, request: Request, answer: object) -> None:
        """Store the answer of a claimed id: JSON, not null."""
        key = request.key(transaction.bounds)
        await transaction.query(self._answer, (Jsonb(answer), transaction.tenant_id, key))

    async def answered(self, tenant: Tenant, request: Request) -> Any:
        """Return the answer of an id without claiming it, or None: for writes that begin long before their transaction.

        Raises:
            RequestIdReused: as `claim`.
        """
        rows = await tenant.query(self._read, (tenant.tenant_id, request.key(tenant.bounds)))
        return _same(request, rows) if rows else None

    async def sweep(self, tenant: Tenant) -> None:
        """Forget what is older than `KEPT`."""
        await tenant.query(self._sweep, (tenant.tenant_id, KEPT))


def _same(request: Request, rows: list[Row]) -> Any:
    (row,) = rows
    if (row.rpc, bytes(row.fingerprint)) != (request.rpc, request.fingerprint):
        raise RequestIdReused(
            "the request id was used before with other content", field=FIELD, request_id=request.request_id
        )
    return row.answer
