"""The SQL of tasks.

What changes a task takes the next number of its context's changes, under the lock of the header. Whoever locks a task
and the header locks the task first: so does a message to a task, whose append locks the header.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import orjson

from context_service.contexts.model import MessageInput, Task, TaskInput, TaskState
from context_service.contexts.store.log import ALIVE, Log
from context_service.kernel.parts import of_json, to_json
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.pages import PAGE_BYTES_MAX
from service_runtime.postgres import Across, Database, Row, Transaction

TASKS_MAX = 10_000  # of a context

_TASK = """
    t.task_id, t.context_id, t.state, t.status_message::text AS status_message, t.status_at, t.reference_task_ids,
    t.metadata::text AS metadata, t.version, t.created_by, t.created_at, t.updated_at,
    t.imported::text AS imported_json
"""

_CREATE = f"""
WITH header AS (
    UPDATE context.context
    SET task_count = task_count + 1, last_change = last_change + 1, updated_at = now()
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND closed_at IS NULL AND {ALIVE}
        AND task_count < %(tasks_max)s
    RETURNING *
)
INSERT INTO context.task AS t (
    tenant_id, context_id, task_id, ancestors, change, state, owner_user_id, app_id, agent_bundle_id, created_by,
    reference_task_ids, status_message, metadata
)
SELECT tenant_id, context_id, %(task_id)s, ancestors, last_change, %(state)s, owner_user_id, app_id, agent_bundle_id,
    %(created_by)s, %(reference_task_ids)s::uuid[], %(status_message)s::json, %(metadata)s::json
FROM header
RETURNING {_TASK}
"""  # noqa: S608 - constants

_LOCK = f"""
SELECT {_TASK} FROM context.task t WHERE t.tenant_id = %s AND t.context_id = %s AND t.task_id = %s FOR UPDATE
"""  # noqa: S608

_UPDATE = f"""
WITH header AS (
    UPDATE context.context SET last_change = last_change + 1, updated_at = now()
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND closed_at IS NULL AND {ALIVE}
    RETURNING last_change
)
UPDATE context.task t
SET change = h.last_change, version = t.version + 1, updated_at = now(), state = %(state)s,
    status_message = %(status_message)s::json, metadata = %(metadata)s::json,
    status_at = CASE WHEN %(is_status)s THEN now() ELSE t.status_at END
FROM header h
WHERE t.tenant_id = %(tenant_id)s AND t.context_id = %(context_id)s AND t.task_id = %(task_id)s
RETURNING {_TASK}
"""  # noqa: S608

# The header beside the task: without one there is a row, without a context there is none.
_READ = f"""
SELECT {_TASK}, c.closed_at
FROM (
    SELECT tenant_id, context_id, closed_at FROM context.context
    WHERE tenant_id = %s AND context_id = %s AND {ALIVE}
) c
LEFT JOIN context.task t ON t.tenant_id = c.tenant_id AND t.context_id = c.context_id AND t.task_id = %s
"""  # noqa: S608

# As many as fit the bytes of a page.
_LIST = f"""
SELECT {_TASK}, c.closed_at
FROM (
    SELECT tenant_id, context_id, closed_at FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND {ALIVE}
) c
LEFT JOIN LATERAL (
    SELECT *
    FROM (
        SELECT *, sum(size_bytes) OVER (ORDER BY task_id DESC ROWS UNBOUNDED PRECEDING) AS upto,
            row_number() OVER (ORDER BY task_id DESC) AS place
        FROM (
            SELECT *,
                1024 + octet_length(metadata::text) + coalesce(octet_length(status_message::text), 0) AS size_bytes
            FROM context.task t
            WHERE t.tenant_id = c.tenant_id AND t.context_id = c.context_id
                AND (%(before)s::uuid IS NULL OR t.task_id < %(before)s)
                AND (%(states)s::text[] IS NULL OR t.state = ANY (%(states)s))
            ORDER BY task_id DESC
            LIMIT %(count)s
        ) wanted
    ) counted
    WHERE upto <= %(bytes_max)s OR place = 1
) t ON true
ORDER BY t.task_id DESC
"""  # noqa: S608

_CHANGED = f"""
SELECT {_TASK}, t.change FROM context.task t
WHERE t.tenant_id = %s AND t.context_id = %s AND t.change > %s AND t.change <= %s
ORDER BY t.change
LIMIT %s
"""  # noqa: S608

_WHY = "an administrator reads all of the tenant"
_READ_SEEN = Across(sql=_READ, administrators=True, why=_WHY)
_CHANGED_SEEN = Across(sql=_CHANGED, administrators=True, why=_WHY)
_LIST_SEEN = Across(sql=_LIST, administrators=True, why=_WHY)

_CONTEXT_OF = """
SELECT t.context_id
FROM context.task t
JOIN context.context c ON c.tenant_id = t.tenant_id AND c.context_id = t.context_id
WHERE t.tenant_id = %s AND t.task_id = %s AND c.deleted_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > now())
"""
_WHY_CONTEXT_OF = "it finds which context is meant: that of a task"
_CONTEXT_OF_WRITTEN = Across(sql=_CONTEXT_OF, contexts=True, why=_WHY_CONTEXT_OF)
_CONTEXT_OF_READ = Across(sql=_CONTEXT_OF, contexts=True, administrators=True, why=_WHY_CONTEXT_OF)

# Until the transaction ends, none of them ends. In the order of their ids: two that hold several wait for each other.
_HOLD = """
SELECT task_id, state FROM context.task
WHERE tenant_id = %s AND context_id = %s AND task_id = ANY (%s)
ORDER BY task_id
FOR SHARE
"""


class TaskRows:
    """The tasks of contexts.

    Args:
        database: Where they are.
        log: Their contexts.
    """

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log

    async def create(
        self, transaction: Transaction, context_id: UUID, task_id: UUID, said: TaskInput, *, created_by: str
    ) -> Task | None:
        """Make a task; None: the context is not there, is closed, or has as many as it may have."""
        parameters = {
            **_parameters(transaction, context_id, task_id, said),
            "created_by": created_by,
            "reference_task_ids": list(said.reference_task_ids),
            "tasks_max": TASKS_MAX,
        }
        rows = await transaction.query(_CREATE, parameters)
        return _task(rows[0]) if rows else None

    async def lock(self, transaction: Transaction, context_id: UUID, task_id: UUID) -> Task | None:
        """Return a task, locked until the transaction ends; None: the context has none."""
        rows = await transaction.query(_LOCK, (transaction.tenant_id, context_id, task_id))
        return _task(rows[0]) if rows else None

    async def update(
        self, transaction: Transaction, context_id: UUID, task_id: UUID, said: TaskInput, *, is_status: bool
    ) -> Task | None:
        """Write what may change of a task that is locked; None: the context is not there, or closed.

        Args:
            transaction: In which it is locked.
            context_id: Of which context.
            task_id: Which task.
            said: All that may change of it.
            is_status: Its status is a new one, from now on.
        """
        parameters = {**_parameters(transaction, context_id, task_id, said), "is_status": is_status}
        rows = await transaction.query(_UPDATE, parameters)
        return _task(rows[0]) if rows else None

    async def read(self, context_id: UUID, task_id: UUID, *, principal: Principal) -> list[Task] | None:
        """Return a task, or an empty list if the context has none; None: there is no such context."""
        door = self._log.of(principal, context_id)
        rows = await door.query(_READ_SEEN, (door.tenant_id, context_id, task_id))
        return [_task(row) for row in rows if row.task_id] if rows else None

    async def page(
        self,
        context_id: UUID,
        *,
        principal: Principal,
        states: Collection[TaskState],
        before: UUID | None,
        count: int,
    ) -> list[Task] | None:
        """Return tasks, the newest first, behind the one with the id `before`; None: there is no such context.

        One comes, however large it is; else no more than a page has of bytes.
        """
        door = self._log.of(principal, context_id)
        rows = await door.query(
            _LIST_SEEN,
            {
                "context_id": context_id,
                "states": sorted(state.value for state in states) or None,
                "before": before,
                "count": count,
                "bytes_max": PAGE_BYTES_MAX,
            },
        )
        return [_task(row) for row in rows if row.task_id] if rows else None

    async def changed(
        self, context_id: UUID, *, after: int, upto: int, count: int, principal: Principal
    ) -> list[tuple[int, Task]]:
        """Return tasks that changed between two numbers, by that of the newest change."""
        door = self._log.of(principal, context_id)
        rows = await door.query(_CHANGED_SEEN, (door.tenant_id, context_id, after, upto, count))
        return [(row.change, _task(row)) for row in rows]

    async def context_of(self, task_id: UUID, *, principal: Principal, reads: bool) -> UUID | None:
        """Return the context of a task that the principal may write to, or only read; None: there is none."""
        door = self._database.of(principal)
        statement = _CONTEXT_OF_READ if reads else _CONTEXT_OF_WRITTEN
        rows = await door.query(statement, (door.tenant_id, task_id))
        return rows[0].context_id if rows else None

    async def hold(self, transaction: Transaction, context_id: UUID, task_ids: Sequence[UUID]) -> dict[UUID, TaskState]:
        """Return the states of those tasks that the context has, which stay so until the transaction ends."""
        rows = await transaction.query(_HOLD, (transaction.tenant_id, context_id, list(task_ids)))
        return {row.task_id: TaskState(row.state) for row in rows}


def _parameters(transaction: Transaction, context_id: UUID, task_id: UUID, said: TaskInput) -> dict[str, Any]:
    assert said.state is not None, "the rules know it"
    return {
        "tenant_id": transaction.tenant_id,
        "context_id": context_id,
        "task_id": task_id,
        "state": said.state.value,
        "status_message": _stored(said.message) if said.message else None,
        "metadata": said.metadata_json or "{}",
    }


_KEPT = ("message_id", "role", "content", "name", "agent_id", "metadata_json")


def _stored(said: MessageInput) -> str:
    stored = {name: getattr(said, name) for name in _KEPT}
    return orjson.dumps({**stored, "parts": to_json(said.parts)}).decode()


def read_message(text: str) -> MessageInput:
    """Return the message of a status, as it is stored."""
    stored = orjson.loads(text)
    return MessageInput(**{**stored, "parts": of_json(stored["parts"])})


def _task(row: Row) -> Task:
    return copied(
        Task,
        row,
        state=TaskState(row.state),
        message=read_message(row.status_message) if row.status_message else None,
        metadata_json=row.metadata,
    )
