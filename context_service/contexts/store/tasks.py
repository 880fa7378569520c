"""The SQL of tasks.

A change of a task takes the next number of its context's changes, under the lock of the header. A transaction that
locks a task and the header locks the task first, also for a message to a task, whose append locks the header.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import orjson

from context_service.contexts.model import MessageInput, Task, TaskInput, TaskState
from context_service.contexts.store.log import SQL as LOG_SQL
from context_service.contexts.store.log import Log
from context_service.kernel.parts import of_json, to_json
from service_runtime.inputs.pages import PAGE_BYTES_MAX
from service_runtime.postgres import Across, Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

TASKS_MAX = 10_000  # tasks of a context

SQL = SqlFile.of(__file__, log=LOG_SQL)
_CREATE = SQL["create"]
_LOCK = SQL["lock"]
_UPDATE = SQL["update"]
_READ = SQL["read"]
_LIST = SQL["list"]
_CHANGED = SQL["changed"]
_CONTEXT_OF = SQL["context_of"]
_HOLD = SQL["hold"]


_WHY = "an administrator reads all of the tenant"
_READ_SEEN = Across(sql=_READ, administrators=True, why=_WHY)
_CHANGED_SEEN = Across(sql=_CHANGED, administrators=True, why=_WHY)
_LIST_SEEN = Across(sql=_LIST, administrators=True, why=_WHY)

_WHY_CONTEXT_OF = "it finds the context of a task"
_CONTEXT_OF_WRITTEN = Across(sql=_CONTEXT_OF, contexts=True, why=_WHY_CONTEXT_OF)
_CONTEXT_OF_READ = Across(sql=_CONTEXT_OF, contexts=True, administrators=True, why=_WHY_CONTEXT_OF)


class TaskRows:
    """The tasks of contexts.

    Args:
        database: The database that holds the tasks.
        log: The contexts of the tasks.
    """

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log

    async def create(
        self, transaction: Transaction, context_id: UUID, task_id: UUID, draft: TaskInput, *, created_by: str
    ) -> Task | None:
        """Insert a task; None if the context does not exist, is closed, or has too many tasks."""
        parameters = {
            **_parameters(transaction, context_id, task_id, draft),
            "created_by": created_by,
            "reference_task_ids": list(draft.reference_task_ids),
            "tasks_max": TASKS_MAX,
        }
        rows = await transaction.query(_CREATE, parameters)
        return _task(rows[0]) if rows else None

    async def lock(self, transaction: Transaction, context_id: UUID, task_id: UUID) -> Task | None:
        """Return a task, locked until the transaction ends; None if the context has no such task."""
        rows = await transaction.query(_LOCK, (transaction.tenant_id, context_id, task_id))
        return _task(rows[0]) if rows else None

    async def update(
        self, transaction: Transaction, context_id: UUID, task_id: UUID, draft: TaskInput, *, is_status: bool
    ) -> Task | None:
        """Write the changeable values of a locked task; None if the context does not exist or is closed.

        Args:
            transaction: The transaction that has locked the task.
            context_id: The id of the task's context.
            task_id: The id of the task.
            draft: The values of all changeable fields.
            is_status: Whether the status is new; then its time becomes now.
        """
        parameters = {**_parameters(transaction, context_id, task_id, draft), "is_status": is_status}
        rows = await transaction.query(_UPDATE, parameters)
        return _task(rows[0]) if rows else None

    async def read(self, context_id: UUID, task_id: UUID, *, principal: Principal) -> list[Task] | None:
        """Return a list with a task.

        The list is empty if the context has no such task. The result is None if there is no such context.
        """
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(_READ_SEEN, (tenant.tenant_id, context_id, task_id))
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
        """Return tasks older than the one with the id `before`, the newest first; None if there is no such context.

        The size of a page is limited; a single task may be larger.
        """
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(
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
        """Return tasks that changed after one change number and up to another, each with its newest change number."""
        tenant = self._log.of(principal, context_id)
        rows = await tenant.query(_CHANGED_SEEN, (tenant.tenant_id, context_id, after, upto, count))
        return [(row.change, _task(row)) for row in rows]

    async def context_of(self, task_id: UUID, *, principal: Principal, reads: bool) -> UUID | None:
        """Return the context of a task that the principal may write to, or read if `reads`; None if there is none."""
        tenant = self._database.of(principal)
        statement = _CONTEXT_OF_READ if reads else _CONTEXT_OF_WRITTEN
        rows = await tenant.query(statement, (tenant.tenant_id, task_id))
        return rows[0].context_id if rows else None

    async def hold(self, transaction: Transaction, context_id: UUID, task_ids: Sequence[UUID]) -> dict[UUID, TaskState]:
        """Return the states of the tasks that the context has, locked until the transaction ends."""
        rows = await transaction.query(_HOLD, (transaction.tenant_id, context_id, list(task_ids)))
        return {row.task_id: TaskState(row.state) for row in rows}


def _parameters(transaction: Transaction, context_id: UUID, task_id: UUID, draft: TaskInput) -> dict[str, Any]:
    """Return the parameters for a task and its new state."""
    assert draft.state is not None, "the rules set it"
    return {
        "tenant_id": transaction.tenant_id,
        "context_id": context_id,
        "task_id": task_id,
        "state": draft.state.value,
        "status_message": _stored_json(draft.message) if draft.message else None,
        "metadata": draft.metadata_json or "{}",
    }


_KEPT = ("message_id", "role", "content", "name", "agent_id", "metadata_json")


def _stored_json(draft: MessageInput) -> str:
    fields = {name: getattr(draft, name) for name in _KEPT}
    return orjson.dumps({**fields, "parts": to_json(draft.parts)}).decode()


def read_message(text: str) -> MessageInput:
    """Return the message of a task's status from its stored JSON text."""
    stored = orjson.loads(text)
    return MessageInput(**{**stored, "parts": of_json(stored["parts"])})


def _task(row: Row) -> Task:
    """Return the task of a row."""
    return copied(
        Task,
        row,
        state=TaskState(row.state),
        message=read_message(row.status_message) if row.status_message else None,
        metadata_json=row.metadata,
    )
