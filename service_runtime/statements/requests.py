"""Idempotency keys: a repeated write answers as the first time and writes nothing.

Each service has a table `request`. A write claims its request id there, in its own transaction: a concurrent call with
the same id waits on the key until the first transaction is committed or rolled back. The same transaction stores the
answer, so each committed write has one, even if the process dies next. The row keeps either the whole response, which
`Request.response` renders before the commit, or only the values that are not in the request (ids, times, versions).
From these `Request.replay` makes the response, which is cheaper for frequent calls. A write of several transactions
stores in the first one the values that it has then, and `complete` stores the rest. An erasure removes the answer from
the row, so that a repeat of the call gets the error ERASED.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, TypeVar
from uuid import UUID, uuid5

from psycopg.types.json import Jsonb

from contextkeep.errors import Erased, RequestIdReused
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Across, Row, Tenant, Transaction
from service_runtime.rpc.calls import current_call
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.ids import parse_id

_T = TypeVar("_T")

KEPT = timedelta(hours=24)  # how long answers are kept
SWEPT_ROWS = 5_000  # rows that one statement deletes
FIELD = "request_id"
RESPONSE = "response"  # the key of an answer with the whole response, as `unpacked` reads it
_BEGUN = "begun"  # the key of an answer whose call had more to do after the transaction that stored it

SQL = SqlFile.of(__file__, begun=_BEGUN)
ERASED = SQL["erased"]

_COMPRESSION = 1  # zlib's fastest level: most responses are small

Replay = Callable[[Any], Any | Awaitable[Any]]
Response = Callable[[Any], "ResponseMessage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An idempotent write.

    Attributes:
        response: Renders the response from the result of a rule, in the transaction of the write, and this response is
            stored. It leaves out secrets, and texts that may be erased. None stores only values that the rule names.
        replay: Makes the response from the stored answer, without reading the object. None takes the stored response.
            If both are None, the rule itself gets the stored values and continues with them.
    """

    request_id: UUID
    rpc: str
    fingerprint: bytes  # sha256 of the request without its id
    response: Response | None = field(default=None, compare=False, repr=False)
    replay: Replay | None = field(default=None, compare=False, repr=False)

    def key(self, bounds: str) -> UUID:
        """Return the key of the request's row; it differs by the caller's bounds, so that they share no answer."""
        return uuid5(self.request_id, bounds) if bounds else self.request_id


class AnsweredBefore(Exception):
    """The call was answered before. `Replays` catches this, and sends the earlier response.

    Attributes:
        answer: The answer as it is stored, from JSON.
    """

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


class RequestMessage(Protocol):
    """The methods of a protobuf message that this module uses, so that it imports none."""

    request_id: str

    def SerializeToString(self, *, deterministic: bool) -> bytes: ...  # noqa: D102, N802


class ResponseMessage(Protocol):
    """The methods that this module uses of a response that it stores."""

    def SerializeToString(self) -> bytes: ...  # noqa: D102, N802


def request_of(
    rpc: str, message: RequestMessage, *, response: Response | None = None, replay: Replay | None = None
) -> Request | None:
    """Return the idempotency key of the call of `message`, or None if it carries no request id.

    Args:
        rpc: Name of the RPC within its service.
        message: The request. It must not change any more, since its hash tells a repeat from another request.
        response: Renders the response to store; see `Request`.
        replay: Makes the response from the stored answer; see `Request`.

    Raises:
        InvalidArgument: the id is not a UUID.
    """
    if not message.request_id:
        return None
    request = Request(
        request_id=parse_id(FIELD, message.request_id),
        rpc=rpc,
        fingerprint=fingerprint(message),
        response=response,
        replay=replay,
    )
    if call := current_call.get():
        call.idempotent = request
    return request


def fingerprint(message: RequestMessage) -> bytes:
    """Return the sha256 of a message without its request id."""
    request_id = message.request_id
    message.request_id = ""  # restored below: to copy a message of four megabytes costs more than the hash
    try:
        return hashlib.sha256(message.SerializeToString(deterministic=True)).digest()
    finally:
        message.request_id = request_id


class Requests:
    """The table `request` of one schema.

    Args:
        schema: Name of the schema that has the table.
        erasures: Table of the contexts that are being erased: an answer about one of them counts as erased, even if its
            row was not blanked yet. Empty if the schema has no contexts.
    """

    def __init__(self, schema: str, *, erasures: str = "") -> None:
        is_gone = SQL.filled("is_gone", erasures=erasures) if erasures else "false"
        self._claim = SQL.filled("claim", schema=schema)
        self._read = SQL.filled("read", is_gone=is_gone, schema=schema)
        self._read_stored = Across(
            sql=self._read, contexts=True, why="an answer is read by its key; whether its context is erased says that"
        )
        self._answer = SQL.filled("answer", schema=schema)
        self._answer_about = SQL.filled("answer_about", schema=schema)
        self._complete = SQL.filled("complete", schema=schema)
        self._sweep = SQL.filled("sweep", schema=schema)

    def once(
        self,
        request: Request | None,
        work: Callable[[Transaction], Awaitable[_T]],
        *,
        about_id: UUID | None = None,
        values: Callable[[_T], Any] | None = None,
        is_whole: bool = True,
        repeated: Callable[[Any], _T] | None = None,
    ) -> Callable[[Transaction], Awaitable[_T]]:
        """Return a function that runs `work` idempotently: a repeat gets the first call's answer, and writes nothing.

        The function raises the errors of `work` and of `claim`.

        Args:
            request: The idempotency key, or None if the caller gave none; then a repeat writes again.
            work: Writes, and returns the value that the response is rendered from.
            about_id: The object that the answer is erased with; see `answer`.
            values: Returns, from the result of `work`, the values to store as JSON. If the request has a `response`,
                they are stored next to it. None stores the result itself, or the response alone.
            is_whole: False if the call has more to do; see `answer`.
            repeated: Returns the result of `work` from the answer that `claim` returns. None raises `AnsweredBefore`.
        """
        if request is None:
            return work

        async def run(transaction: Transaction) -> _T:
            answer = await self.claim(transaction, request)
            if answer is not None:
                if repeated is None:
                    raise AnsweredBefore(answer)
                return repeated(answer)
            done = await work(transaction)
            named = values(done) if values else None
            await self.answer(
                transaction,
                request,
                named if values and request.response is None else done,
                about_id=about_id,
                known=named,
                is_whole=is_whole,
            )
            return done

        return run

    async def claim(self, transaction: Transaction, request: Request) -> Any:
        """Claim the id for this transaction, or return the answer that was given to it before.

        Returns:
            None if this transaction claimed the id; then `answer` must follow. Else the stored answer, if the request
            has neither `response` nor `replay`, or if the earlier call had more to do.

        Raises:
            RequestIdReused: the id was used with other content or for another RPC.
            Erased: the call was answered, and its answer was erased since.
            AnsweredBefore: the call was answered, and `Replays` can make the response.
        """
        tenant_id = transaction.tenant_id
        key = (tenant_id, request.key(transaction.bounds))
        if await transaction.query(self._claim, (*key, request.rpc, request.fingerprint)):
            return None
            # The answer is read by a second statement. It sees the row of a concurrent call with the same id, which was
            # committed while the first statement waited for it.
        return _answer_of(request, await transaction.query(self._read, key))

    async def answer(
        self,
        transaction: Transaction,
        request: Request,
        done: object = None,
        *,
        about_id: UUID | None = None,
        known: Mapping[str, object] | None = None,
        is_whole: bool = True,
    ) -> None:
        """Store the answer of a claimed id, in the transaction that claimed it.

        Args:
            transaction: The transaction that claimed the id.
            request: The idempotency key that was claimed.
            done: The value for `response`. Without a `response`, this is stored as JSON, and is not null.
            about_id: The context, or the scope of a user's memories, with which the answer is erased.
            known: Values that are stored next to a response.
            is_whole: False if the call has more to do after this transaction, and `complete` follows. If the process is
                killed before that, a repeat of the call continues the work.
        """
        answer = done
        if request.response is not None:
            answer = {**(known or {}), RESPONSE: await _pack(request.response, done)}
            if not is_whole:
                answer[_BEGUN] = True
        key = (transaction.tenant_id, request.key(transaction.bounds))
        if about_id is None:
            await transaction.query(self._answer, (Jsonb(answer), *key))
        else:
            await transaction.query(self._answer_about, (Jsonb(answer), about_id, *key))

    async def answered(self, tenant: Tenant, request: Request) -> Any:
        """Return the stored answer of an id without claiming the id, or None if it has none.

        For calls of several transactions, which continue where a killed process stopped.

        Raises:
            RequestIdReused, Erased, AnsweredBefore: as for `claim`.
        """
        rows = await tenant.query(self._read_stored, (tenant.tenant_id, request.key(tenant.bounds)))
        return _answer_of(request, rows) if rows else None

    async def stored(self, tenant: Tenant, request: Request) -> Any:
        """Return the stored answer of an id, or None if it has none; unlike `answered`, also if it makes a response.

        Raises:
            RequestIdReused, Erased: as for `claim`.
        """
        rows = await tenant.query(self._read_stored, (tenant.tenant_id, request.key(tenant.bounds)))
        return _stored_answer(request, rows) if rows else None

    async def complete(self, tenant: Tenant, request: Request, done: object) -> None:
        """Store the response of a call that had more to do, unless a concurrent repeat has stored it already."""
        assert request.response is not None, "its first part is stored"
        answer = Jsonb({RESPONSE: await _pack(request.response, done)})
        key = (tenant.tenant_id, request.key(tenant.bounds))
        await tenant.query(self._complete, (answer, *key, request.rpc, request.fingerprint))

    async def sweep(self, tenant: Tenant) -> tuple[int, bool]:
        """Delete some of the rows older than `KEPT`; return their number, and whether there may be more."""
        named = {"tenant_id": tenant.tenant_id, "kept": KEPT, "rows": SWEPT_ROWS}
        count = len(await tenant.query(self._sweep, named))
        return count, count == SWEPT_ROWS


def answer_parameters(request: Request | None, bounds: str) -> dict[str, object]:
    """Return the parameters of a statement that stores the answer itself; each is None if the caller gave no id.

    Args:
        request: The idempotency key, or None without one.
        bounds: Bounds of the caller's `Tenant`, which are part of the key.
    """
    return {
        "request_key": request and request.key(bounds),
        "rpc": request and request.rpc,
        "fingerprint": request and request.fingerprint,
    }


def is_begun(answer: Any) -> bool:
    """Say whether a stored answer is from a call that had more to do after it stored the answer."""
    return isinstance(answer, dict) and _BEGUN in answer


def unpacked(packed: str) -> bytes:
    """Return the bytes of a serialized response from its stored text, which is compressed and base64-encoded."""
    return zlib.decompress(base64.b64decode(packed))


async def _pack(response: Response, done: Any) -> str:
    """Render the response from the result `done`, and return it as a text to store; the inverse of `unpacked`."""
    serialized = response(done).SerializeToString()
    return await beside_the_loop(len(serialized), _compressed, serialized)


def _compressed(response: bytes) -> str:
    return base64.b64encode(zlib.compress(response, _COMPRESSION)).decode()


def _answer_of(request: Request, rows: list[Row]) -> Any:
    """Return the stored answer from the row of an id.

    Raises:
        AnsweredBefore: the call had nothing more to do, and `Replays` can make its response.
        RequestIdReused, Erased: as for `_stored_answer`.
    """
    answer = _stored_answer(request, rows)
    if (request.response or request.replay) and not is_begun(answer):
        raise AnsweredBefore(answer)
    return answer


def _stored_answer(request: Request, rows: list[Row]) -> Any:
    """Return the stored answer from the row of an id.

    Raises:
        Erased: the answer was erased.
        RequestIdReused: the row is of another RPC, or of a request with other content.
    """
    (row,) = rows
    if row.is_gone or (isinstance(row.answer, dict) and row.answer.get("erased") is True):
        raise Erased("the request was answered before, and its answer was erased since", request_id=request.request_id)
    if not row.is_own or (row.rpc, bytes(row.fingerprint)) != (request.rpc, request.fingerprint):
        raise RequestIdReused(
            "request_id was used before with other content; use a new one", field=FIELD, request_id=request.request_id
        )
    return row.answer
