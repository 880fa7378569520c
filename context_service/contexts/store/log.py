"""The SQL of contexts: headers, and the log of their messages.

An append is one statement, in one round trip: it takes the next places of the context, writes the messages and their
passages, and stores the answer to the request. Messages that name tasks or records need further statements in the same
transaction. A duplicate message id, request id or unique external id fails the whole statement on a constraint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import pairwise
from typing import Any
from uuid import UUID

import orjson
import psycopg

from context_service.contexts.model import (
    Context,
    ContextFilter,
    ContextInput,
    ExternalId,
    Message,
    NewestMessages,
    NewMessage,
    Retracted,
    Sent,
)
from context_service.contexts.pure.passages import placed
from context_service.contexts.store import pointed_records
from context_service.kernel.parts import Part, of_json, to_json
from context_service.retrieval.model import CONTEXT, PassageScope
from context_service.retrieval.room import PASSAGES_SQL, Passages, portions, putting, putting_bytes
from service_runtime.background_work.queue_room import QUEUED_MAX
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.inputs.pages import PAGE_BYTES_MAX, PAGE_SIZE_MAX
from service_runtime.postgres import Across, Database, Row, Tenant, TextArray, Transaction, json_rows
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, answer_parameters
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied, fields_of

SESSION_GAP = timedelta(hours=4)  # after a longer pause a message begins a session, unless its sender names one
SEQ_MAX = 2**63 - 1
AGENTS_MAX = 100  # the most agents that the header of a context lists
_PARTS_CHARACTERS_AT_ONCE = 32 * 1024  # of stored parts, parsed in milliseconds; then other calls get a turn


BELOW_MAX = 1_000  # the most descendants (forks of forks) of a context that one statement closes
SQL = SqlFile.of(__file__, below_max=BELOW_MAX, passages=PASSAGES_SQL)
ALIVE = SQL["alive"]
_WRITE = SQL["write"]
_MORE = SQL["more"]
_WRITTEN = SQL["written"]
_BEGIN = SQL["begin"]
_APPEND = SQL["append"]
_READ = SQL["read"]
_LOCK = SQL["lock"]
_HOLD = SQL["hold"]
_KNOWN = SQL["known"]
_LIST = SQL["list"]
_LIST_NAMED = SQL["list_named"]
_IDS = SQL["ids"]
_IDS_BEGINNING = SQL["ids_beginning"]
_UPDATE = SQL["update"]
_CLOSE_BELOW = SQL["close_below"]
_CLOSE = SQL["close"]
_PAGE = SQL["page"]
_PAGE_NEWEST_FIRST = SQL["page_newest_first"]
_PAGE_OF_TASK = SQL["page_of_task"]
_MESSAGE = SQL["message"]
_RETRACT = SQL["retract"]
_LONE_FILES = SQL["lone_files"]
_LONE_AMONG = SQL["lone_among"]
_RETRACTED = SQL["retracted"]


_READ_SEEN = Across(sql=_READ, administrators=True, why="an administrator reads all of the tenant")

_FIND_ONLY = Across(
    sql=SQL["find_only"],
    contexts=True,
    why="it finds which context is meant: that of an owner and an external id",
)

_RELEASE_EXPIRED = Across(
    sql=SQL["release_expired"],
    contexts=True,
    why="it finds which context is meant: that of an owner and an external id",
)


_WHY_LISTS = "it lists the headers of all contexts that the principal sees"
_LIST_SEEN = Across(sql=_LIST, contexts=True, administrators=True, why=_WHY_LISTS)
_LIST_NAMED_SEEN = Across(sql=_LIST_NAMED, contexts=True, administrators=True, why=_WHY_LISTS)


_CLOSE_BELOW_SEEN = Across(
    sql=_CLOSE_BELOW, contexts=True, why="a context that is named closes those with it that were forked from it"
)


# Messages `m` in one column, for statements that read a few messages with other rows: see `messages_of`.
MESSAGES_JSON = """
json_agg(json_build_array(
    m.message_id, m.seq, m.role, m.content, m.parts::text, m.name, m.agent_id, m.metadata::text, m.created_at,
    m.said_at, m.tokens, m.task_id, m.reference_task_ids, m.is_imported
) ORDER BY m.seq)::text
"""

_WHY = "an administrator reads all of the tenant"
_PAGE_SEEN = Across(sql=_PAGE, administrators=True, why=_WHY)
_PAGE_NEWEST_FIRST_SEEN = Across(sql=_PAGE_NEWEST_FIRST, administrators=True, why=_WHY)
_PAGE_OF_TASK_SEEN = Across(sql=_PAGE_OF_TASK, administrators=True, why=_WHY)

_MESSAGE_SEEN = Across(sql=_MESSAGE, administrators=True, why=_WHY)


_RETRACTED_SEEN = Across(sql=_RETRACTED, administrators=True, why=_WHY)


# Callbacks in the transaction of a write: one runs before it and may refuse it, the other runs after it.
Hold = Callable[[Transaction], Awaitable[None]]
Then = Callable[[Transaction, Sequence[Sent]], Awaitable[None]]


class Taken(Enum):
    """The unique constraint that refused a write."""

    MESSAGE = "message_id"
    REQUEST = "request_pkey"
    ONLY = "context_only"


class AlreadyThere(Exception):
    """A unique constraint refused a write; nothing was written."""

    def __init__(self, taken: Taken) -> None:
        super().__init__(taken)
        self.taken = taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A message that is already in the log."""

    sent: Sent
    sha256: bytes


class Log:
    """Contexts and their messages.

    Args:
        database: The database that holds the contexts and messages.
        passages: The search index, which gets the passages of new messages.
        queued_max: The limit for a tenant's records that wait to be read because messages or artifacts name them.
        learning_default: How the service learns from contexts without any setting: "off", "rules" or "model".
        learning_idle_s: How long a context must be idle before it is learned from.
    """

    def __init__(
        self,
        database: Database,
        passages: Passages,
        *,
        queued_max: int = QUEUED_MAX,
        learning_default: str = "off",
        learning_idle_s: float = 300.0,
    ) -> None:
        self._room_for_records = pointed_records.queue_of_pointed_records(queued_max)
        self._database = database
        self._passages = passages
        self._learning = {"learning_default": learning_default, "learning_idle": timedelta(seconds=learning_idle_s)}
        puts = passages.puts(CONTEXT)
        writing = f"{_WRITE}, {puts} {_WRITTEN}"
        self._beginning, self._appending = f"{_BEGIN}{writing}", f"{_APPEND}{writing}"
        self._putting_more = f"{_MORE}, {puts} SELECT"

    def of(self, principal: Principal, context_id: UUID) -> Tenant:
        """Return the connection that limits statements to the rows of a context that a principal may see."""
        return self._database.of(principal, context_id=context_id)

    async def take_room_for_records(self, tenant_id: UUID, parts: Sequence[Part]) -> None:
        """Check the queue limit for the records that parts point at, before the parts are written.

        Raises:
            LimitExceeded: too many such records of the tenant wait to be read.
        """
        if pointed := pointed_records.pointed_in(parts):
            await self._room_for_records.take(self._database.tenant(tenant_id), items=len(pointed))

    async def begin(
        self,
        context_id: UUID,
        draft: ContextInput,
        messages: Sequence[NewMessage],
        *,
        principal: Principal,
        only: ExternalId | None = None,
        parent: Context | None = None,
        hold: Hold | None = None,
        then: Then | None = None,
        files: Hold | None = None,
        request: Request | None,
    ) -> list[Sent]:
        """Insert a context with its first messages.

        Args:
            context_id: The id of the new context.
            draft: The header of the new context.
            messages: The first messages; at least one.
            principal: The caller, whose user and bounds become those of the context.
            only: The external id for which the owner may have only this context.
            parent: The context from which the new one is forked; the new context gets its owner.
            hold: Runs before the insert, in the same transaction; its errors are raised.
            then: Runs after the insert, in the same transaction.
            files: Inserts the files that the messages name, in the same transaction.
            request: The idempotency key of the call; None if the call has none.

        Raises:
            AlreadyThere: the owner has a context for the external id already, or the request was answered before.
        """
        parameters = {
            **_header_parameters(draft),
            "app_id": draft.app_id,
            "agent_bundle_id": draft.agent_bundle_id,
            "owner_user_id": parent.owner_user_id if parent else principal.user_id,
            "created_by": principal.subject,
            "ancestors": list(parent.ancestors) if parent else [],
            "only_system": only and only.system,
            "only_id": only and only.id,
            "created": True,
            "known": "[]",
        }
        tenant = self.of(principal, context_id)
        return await self._write(
            tenant,
            self._beginning,
            context_id,
            messages,
            parameters,
            hold=hold,
            then=then,
            files=files,
            request=request,
        )

    async def append(
        self,
        context_id: UUID,
        messages: Sequence[NewMessage],
        *,
        known: Iterable[Known],
        hold: Hold | None = None,
        then: Then | None = None,
        files: Hold | None = None,
        principal: Principal,
        request: Request | None,
    ) -> list[Sent]:
        """Append messages, in one statement; an empty result means that the context does not exist or is closed.

        Args:
            context_id: The id of the context.
            messages: The messages to append; at least one.
            known: Other messages of the request, which are in the log already: its stored answer names them, too.
            hold: Runs before the append, in the same transaction; its errors are raised.
            then: Runs after the append, in the same transaction, unless none were written.
            files: Inserts the files that the messages name, in the same transaction, unless none were written.
            principal: The caller; its tenant and bounds limit the rows.
            request: The idempotency key of the call; None if the call has none.

        Raises:
            AlreadyThere: one of the messages is in the log already, or the request was answered before.
        """
        tenant = self.of(principal, context_id)
        there = sorted([item.sent.seq, item.sent.message_id, item.sent.created_at, item.sent.tokens] for item in known)
        answered = [[message_id, seq, created_at, tokens] for seq, message_id, created_at, tokens in there]
        parameters = {"created": False, "known": orjson.dumps(answered).decode()}
        return await self._write(
            tenant,
            self._appending,
            context_id,
            messages,
            parameters,
            hold=hold,
            then=then,
            files=files,
            request=request,
        )

    async def _write(
        self,
        tenant: Tenant,
        statement: str,
        context_id: UUID,
        messages: Sequence[NewMessage],
        parameters: dict[str, Any],
        *,
        hold: Hold | None = None,
        then: Then | None = None,
        files: Hold | None = None,
        request: Request | None,
    ) -> list[Sent]:
        """Write messages with the statement of `begin` or `append`; return the written ones, with ids and places.

        A transaction is only used if more than one statement is needed: for `hold`, `then` or `files`, for a message
        with very many passages, or for parts that name records. The order is `hold`, the statement, `files`, further
        passages, the queue of named records, `then`.

        Raises:
            AlreadyThere: a unique constraint refused the write.
        """
        size_bytes = sum(message.size_bytes + putting_bytes(message.passages) for message in messages)
        draft, more = await beside_the_loop(size_bytes, _log_parameters, context_id, messages)
        named = {"tenant_id": tenant.tenant_id, "context_id": context_id}
        parameters = {
            **parameters,
            **draft,
            **named,
            "agents_max": AGENTS_MAX,
            "gap": SESSION_GAP,
            **self._learning,
            **answer_parameters(request, tenant.bounds),
        }

        pointed = {message.draft.message_id: pointed_records.pointed_in(message.draft.parts) for message in messages}
        await self.take_room_for_records(tenant.tenant_id, [part for item in messages for part in item.draft.parts])

        async def work(transaction: Transaction) -> list[Row]:
            if hold:
                await hold(transaction)
            rows = await transaction.query(statement, parameters)
            if rows:
                if files:
                    await files(transaction)
                for portion in more:
                    put = {**portion, **named, "seq_before": rows[0].seq - 1}
                    await transaction.query(self._putting_more, put)
                by_seq = {row.seq: pointed.get(row.message_id, {}) for row in rows}
                await pointed_records.owe(transaction, context_id, rows[0], by_seq)
                if then:
                    await then(transaction, [_sent_message(row) for row in rows])
            return rows

        try:
            if hold or then or more or files or any(pointed.values()):
                rows = await tenant.transaction(work)
            else:
                rows = await tenant.query(statement, parameters)
        except psycopg.errors.UniqueViolation as error:
            raise AlreadyThere(Taken(error.diag.constraint_name)) from error
        return [_sent_message(row) for row in rows]

    async def find_only(self, only: ExternalId, draft: ContextInput, *, principal: Principal) -> UUID | None:
        """Return the only context of the principal's user for an external id, in the app and bundle of the draft."""
        tenant = self._database.of(principal)
        rows = await tenant.query(_FIND_ONLY, _only_parameters(tenant, only, draft, principal))
        return rows[0].context_id if rows else None

    async def release_expired(self, only: ExternalId, draft: ContextInput, *, principal: Principal) -> None:
        """Release the external id of the context of `find_only`, if that context has expired."""
        tenant = self._database.of(principal)
        await tenant.query(_RELEASE_EXPIRED, _only_parameters(tenant, only, draft, principal))

    async def known(self, context_id: UUID, message_ids: Sequence[str], *, principal: Principal) -> dict[str, Known]:
        """Return the messages with some ids, including retracted ones."""
        tenant = self.of(principal, context_id)
        rows = await tenant.query(_KNOWN, (tenant.tenant_id, context_id, list(message_ids)))
        return {row.message_id: Known(sent=_sent_message(row), sha256=bytes(row.content_sha256)) for row in rows}

    async def known_of(self, transaction: Transaction, context_id: UUID, message_ids: Sequence[str]) -> set[str]:
        """Return which of some ids are in the log, within a transaction."""
        rows = await transaction.query(_KNOWN, (transaction.tenant_id, context_id, list(message_ids)))
        return {row.message_id for row in rows}

    async def read(self, context_id: UUID, *, principal: Principal) -> Context | None:
        """Return the header of a context; None if the principal sees no such context."""
        tenant = self.of(principal, context_id)
        rows = await tenant.query(_READ_SEEN, (tenant.tenant_id, context_id))
        return context_of(rows[0]) if rows else None

    async def lock(self, transaction: Transaction, context_id: UUID) -> Context | None:
        """Lock a context until the transaction ends, and return its header; None if there is no such context."""
        rows = await transaction.query(_LOCK, (transaction.tenant_id, context_id))
        return context_of(rows[0]) if rows else None

    async def hold(self, transaction: Transaction, context_id: UUID) -> bool:
        """Lock a context against removal until the transaction ends, and return whether it exists."""
        return bool(await transaction.query(_HOLD, (transaction.tenant_id, context_id)))

    async def headers(
        self, which: ContextFilter, *, principal: Principal, after: tuple[datetime, UUID] | None, count: int
    ) -> list[Context]:
        """Return contexts, the newest first, that are older than the context with the time and the id `after`."""
        statement = _LIST_NAMED_SEEN if which.external_id else _LIST_SEEN
        tenant = self._database.of(principal)
        rows = await tenant.query(statement, {**filter_parameters(which, after=after), "count": count})
        return [context_of(row) for row in rows]

    async def update(self, transaction: Transaction, context_id: UUID, draft: ContextInput) -> Context:
        """Write the changeable fields of a locked header."""
        parameters = {**_header_parameters(draft), "context_id": context_id}
        (row,) = await transaction.query(_UPDATE, parameters)
        return context_of(row)

    async def close(self, transaction: Transaction, context_id: UUID) -> Context:
        """Close a locked context, and return it."""
        (row,) = await transaction.query(_CLOSE, (transaction.tenant_id, context_id))
        return context_of(row)

    async def close_below(self, context_id: UUID, *, principal: Principal) -> None:
        """Close all descendants of a closed context."""
        tenant = self.of(principal, context_id)
        parameters = {"context_id": context_id}
        while len(await tenant.query(_CLOSE_BELOW_SEEN, parameters)) == BELOW_MAX:
            pass

    async def page(
        self,
        context_id: UUID,
        *,
        principal: Principal,
        seq_from: int,
        seq_to: int,
        count: int,
        newest_first: bool,
        task_id: UUID | None = None,
        bytes_max: int = PAGE_BYTES_MAX,
    ) -> list[Message] | None:
        """Return messages between two places, `count` and `bytes_max` at most; None if there is no such context.

        A single message may be larger than `bytes_max`.

        Args:
            context_id: The id of the context.
            principal: The caller; its tenant and bounds limit the rows.
            seq_from: The `seq` of the first message of the range.
            seq_to: The `seq` of the last message of the range.
            count: The number of messages to return at most.
            newest_first: The order; must be true with `task_id`.
            task_id: Return only messages of this task; None returns all.
            bytes_max: The limit for the sizes of all returned messages together.
        """
        if task_id:
            statement = _PAGE_OF_TASK_SEEN
        elif newest_first:
            statement = _PAGE_NEWEST_FIRST_SEEN
        else:
            statement = _PAGE_SEEN
        parameters = {
            "context_id": context_id,
            "seq_from": seq_from,
            "seq_to": seq_to,
            "count": count,
            "bytes_max": bytes_max,
            "task_id": task_id,
        }
        rows = await self.of(principal, context_id).query(statement, parameters)
        return await messages_in(rows) if rows else None

    async def newest(
        self, context_id: UUID, *, principal: Principal, count: int | None, task_id: UUID | None = None
    ) -> NewestMessages | None:
        """Return the newest messages; None if there is no such context.

        Args:
            context_id: The id of the context.
            principal: The caller; its tenant and bounds limit the rows.
            count: The number of messages to return at most; None returns as many as fit into a page.
            task_id: Return only messages of this task; None returns all.
        """
        parameters = {
            "context_id": context_id,
            "seq_from": 1,
            "seq_to": SEQ_MAX,
            # A message more than a page holds shows whether older ones are left out.
            "count": min(count or SEQ_MAX, PAGE_SIZE_MAX + 1),
            "bytes_max": PAGE_BYTES_MAX,
            "task_id": task_id,
        }
        statement = _PAGE_OF_TASK_SEEN if task_id else _PAGE_NEWEST_FIRST_SEEN
        rows = await self.of(principal, context_id).query(statement, parameters)
        if not rows:
            return None
        messages = (await messages_in(rows))[:PAGE_SIZE_MAX]
        return NewestMessages(messages=messages[::-1], is_partial=len(messages) < (rows[0].wanted_count or 0))

    async def message_ids(self, context_id: UUID, seqs: Sequence[int], *, principal: Principal) -> dict[int, str]:
        """Return the ids of messages by their places, without retracted ones."""
        tenant = self.of(principal, context_id)
        draft = {"context_id": context_id, "seqs": list(seqs)}
        rows = await tenant.query(_IDS, draft)
        return {row.seq: row.message_id for row in rows}

    async def ids_beginning(
        self, context_id: UUID, prefixes: Sequence[str], *, principal: Principal
    ) -> dict[str, bool]:
        """Return the message ids that begin with a prefix and a digit, and whether each message is retracted."""
        tenant = self.of(principal, context_id)
        parameters = {"context_id": context_id, "prefixes": TextArray(prefixes)}
        return {row.message_id: row.is_retracted for row in await tenant.query(_IDS_BEGINNING, parameters)}

    async def message(self, context_id: UUID, message_id: str, *, principal: Principal) -> list[Message] | None:
        """Return a message; an empty list if there is none or it is retracted; None if there is no such context."""
        tenant = self.of(principal, context_id)
        rows = await tenant.query(_MESSAGE_SEEN, (tenant.tenant_id, context_id, message_id))
        return await messages_in(rows) if rows else None

    async def retracted(
        self, context_id: UUID, *, after: int, upto: int, count: int, principal: Principal
    ) -> list[tuple[int, Retracted]]:
        """Return the retractions after one change number and up to another, each with its number.

        The messages that one call retracted have the same number.
        """
        tenant = self.of(principal, context_id)
        rows = await tenant.query(_RETRACTED_SEEN, (tenant.tenant_id, context_id, after, upto, count))
        return [(row.change, Retracted(seqs=tuple(row.seqs), message_ids=tuple(row.message_ids))) for row in rows]

    async def retract(self, transaction: Transaction, context_id: UUID, message_ids: Sequence[str]) -> list[int]:
        """Hide messages of a locked context, and return the places of those that were visible."""
        parameters = {"context_id": context_id, "message_ids": list(message_ids)}
        seqs = [row.seq for row in await transaction.query(_RETRACT, parameters)]
        await self._passages.remove(transaction, PassageScope.of_context(context_id), seqs)
        return seqs

    async def lone_files(self, transaction: Transaction, context_id: UUID, seqs: Sequence[int]) -> list[UUID]:
        """Return the files of a context that only these messages named, which are retracted."""
        return [row.id for row in await transaction.query(_LONE_FILES, {"context_id": context_id, "seqs": list(seqs)})]

    async def lone_among(self, transaction: Transaction, context_id: UUID, record_ids: Sequence[UUID]) -> list[UUID]:
        """Return those of some records that are files of a context, and that nothing in it names any more."""
        parameters = {"context_id": context_id, "ids": list(record_ids)}
        return [row.id for row in await transaction.query(_LONE_AMONG, parameters)]


def _log_parameters(
    context_id: UUID, messages: Sequence[NewMessage]
) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Return the parameters of the statement for messages and their first passages, and of statements for the others.

    A passage has the number of its message in the request, because the `seq` of the message is not known yet.
    """
    scope = PassageScope.of_context(context_id)
    passages = [
        # The session of the first messages depends on the header.
        placed(item, message.draft, seq=number, ordinal=ordinal, session=0, said_at=message.said_at)
        for number, message in enumerate(messages, start=1)
        for ordinal, item in enumerate(message.passages)
    ]
    first, *more = [putting(scope, portion) for portion in portions(passages)] or [putting(scope, ())]
    return {**_message_parameters(messages), **first}, more


def _only_parameters(tenant: Tenant, only: ExternalId, draft: ContextInput, principal: Principal) -> dict[str, Any]:
    """Return the parameters that find the one open context with an external id, for the same user, app and bundle."""
    return {
        "tenant_id": tenant.tenant_id,
        "owner_user_id": principal.user_id,
        "app_id": draft.app_id,
        "agent_bundle_id": draft.agent_bundle_id,
        "system": only.system,
        "id": only.id,
    }


def _header_parameters(draft: ContextInput) -> dict[str, Any]:
    """Return the parameters of the columns of a context that callers set."""
    ids = [{"system": item.system, "id": item.id} for item in draft.external_ids]
    return {
        "title": draft.title,
        "external_ids": orjson.dumps(ids).decode(),
        "context_metadata": draft.metadata_json,
        "entity_node_id": draft.entity_node_id,
        "expires_at": draft.expires_at,
        "recall_profile": draft.recall_profile,
        "models": draft.models,
        "is_findable": draft.is_findable,
        "learning": draft.learning,
    }


def _message_parameters(messages: Sequence[NewMessage]) -> dict[str, Any]:
    """Return the parameters of the insert: the message rows, and the values that update the header.

    The header counts sessions and tokens, and remembers the times of the first and the last message.
    """
    draft = [message.draft for message in messages]
    named = [place for place, item in enumerate(draft, start=1) if item.session]
    sessions = _sessions(messages)
    return {
        "count": len(messages),
        "agent_ids": TextArray(dict.fromkeys(item.agent_id for item in draft if item.agent_id)),
        "messages": json_rows(_row(message, session) for message, session in zip(messages, sessions, strict=True)),
        "session_count": sessions[-1],
        "token_count": sum(message.tokens for message in messages),
        "first_said_at": messages[0].said_at,
        "last_said_at": messages[-1].said_at,
        "first_named": named[0] if named else len(messages) + 1,
        "first_name": draft[named[0] - 1].session if named else None,
        "last_name": draft[named[-1] - 1].session if named else "",
    }


def _row(message: NewMessage, session: int) -> dict[str, object]:
    """Return the row of a message, as JSON for the insert; `session` counts from the session of the first message."""
    draft = message.draft
    return {
        "message_id": draft.message_id,
        "role": draft.role,
        "name": draft.name,
        "agent_id": draft.agent_id,
        "content": draft.content,
        "content_sha256": f"\\x{message.sha256.hex()}",
        "parts": orjson.Fragment(to_json(draft.parts)) if draft.parts else None,
        "metadata": draft.metadata_json or None,  # a text: byte for byte, with the spaces around it
        "said_at": message.said_at,
        "session": session,
        "tokens": message.tokens,
        "size_bytes": message.size_bytes,
        "task_id": draft.task_id,
        "reference_task_ids": draft.reference_task_ids or None,
        "is_imported": draft.is_imported,
    }


def _sessions(messages: Sequence[NewMessage]) -> list[int]:
    """Return for each message how many sessions have begun since the first message of the request.

    Whether the first message begins a session depends on the header, which only the statement reads. The same holds for
    the first message that names its session. So neither is counted here.
    """
    sessions, name = [0], messages[0].draft.session
    now = datetime.now(UTC)  # the time of messages without a time of their own: exact enough for pauses of hours
    for before, message in pairwise(messages):
        if named := message.draft.session:
            begins = bool(name) and named != name
            name = named
        else:
            begins = (message.said_at or now) - (before.said_at or now) > SESSION_GAP
        sessions.append(sessions[-1] + begins)
    return sessions


def filter_parameters(which: ContextFilter, *, after: tuple[datetime, UUID] | None) -> dict[str, Any]:
    """Return the parameters of the SQL fragment `filtered`; `after` is the last context of the page before."""
    return {
        **fields_of(which),
        "after_at": after and after[0],
        "after_id": after and after[1],
        "metadata": which.metadata_contains_json,
        "system": which.external_id and which.external_id.system,
        "id": which.external_id and which.external_id.id,
    }


def context_of(row: Row) -> Context:
    """Return the context of a row."""
    return copied(
        Context,
        row,
        external_ids=tuple(ExternalId(**item) for item in orjson.loads(row.external_ids)),
        metadata_json=row.metadata,
    )


async def messages_in(rows: Iterable[Row]) -> list[Message]:
    """Return the messages in rows; for thousands of parts, yield to the event loop in between."""
    messages: list[Message] = []
    length = 0
    for row in rows:
        if row.seq is None:
            continue
        messages.append(_message(row))
        length += len(row.parts or "")
        if length > _PARTS_CHARACTERS_AT_ONCE:
            await asyncio.sleep(0)
            length = 0
    return messages


def _message(row: Row) -> Message:
    """Return the message of a row."""
    return copied(
        Message,
        row,
        parts=of_json(row.parts) if row.parts else (),
        metadata_json=row.metadata or "",
        reference_task_ids=tuple(row.reference_task_ids or ()),
    )


def messages_of(text: str) -> list[Message]:
    """Return the messages of a JSON text that the SQL fragment `MESSAGES_JSON` selects."""
    messages = []
    for *first, name, agent_id, metadata, created_at, said_at, tokens, task_id, tasks, is_imported in orjson.loads(
        text
    ):
        message_id, seq, role, content, parts = first
        statement = Message(
            message_id=message_id,
            seq=seq,
            role=role,
            content=content,
            parts=of_json(parts) if parts else (),
            name=name,
            agent_id=agent_id,
            metadata_json=metadata or "",
            created_at=datetime.fromisoformat(created_at),
            said_at=datetime.fromisoformat(said_at),
            tokens=tokens,
            task_id=task_id and UUID(task_id),
            reference_task_ids=tuple(map(UUID, tasks or ())),
            is_imported=is_imported,
        )
        messages.append(statement)
    return messages


def _sent_message(row: Row) -> Sent:
    return copied(Sent, row)
