"""Checks the tasks that messages and other tasks name: they must belong to the same context."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from context_service.contexts.model import MessageInput
from context_service.contexts.store.log import Hold
from context_service.contexts.store.tasks import TaskRows
from contextkeep.errors import TaskEnded, TaskNotFound
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal


class References:
    """Checks references to tasks. A task of another context or caller gives the same error as one that never existed.

    Args:
        rows: The SQL statements on tasks.
    """

    def __init__(self, rows: TaskRows) -> None:
        self._rows = rows

    async def context_of(self, task_id: UUID, *, principal: Principal, reads: bool = False) -> UUID:
        """Return the context of a task that is named alone.

        Args:
            task_id: The id of the task.
            principal: The caller; its tenant and bounds limit the rows.
            reads: The call only reads, so an administrator may read tasks of any user.

        Raises:
            TaskNotFound: the principal sees no such task.
        """
        context_id = await self._rows.context_of(task_id, principal=principal, reads=reads)
        if context_id is None:
            raise task_not_found(task_id)
        return context_id

    async def context_meant(self, messages: Sequence[MessageInput], *, principal: Principal) -> UUID | None:
        """Return the context of the first task that messages belong to; None if they belong to none.

        Raises:
            TaskNotFound: there is no such task.
        """
        for draft in messages:
            if draft.task_id:
                return await self.context_of(draft.task_id, principal=principal)
        return None

    def hold(self, context_id: UUID, messages: Sequence[MessageInput]) -> Hold | None:
        """Return the check that runs before an append: the tasks that messages name exist, and have not ended.

        Returns None for messages that name no task, so that they do not pay for the check.
        """
        named = named_by(messages)
        if not named:
            return None

        async def hold(transaction: Transaction) -> None:
            """Check the named tasks, and lock them until the transaction ends.

            Raises:
                TaskNotFound: a task does not exist.
                TaskEnded: a message belongs to a task that has ended.
            """
            await self.check(
                transaction, context_id, named, going_on={draft.task_id for draft in messages if draft.task_id}
            )

        return hold

    async def check(
        self,
        transaction: Transaction,
        context_id: UUID,
        named: Sequence[UUID],
        *,
        going_on: Collection[UUID] = (),
    ) -> None:
        """Refuse tasks that a context does not have, or that have ended, and lock them until the transaction ends.

        Raises:
            TaskNotFound: one of the tasks does not exist in the context.
            TaskEnded: one of the tasks in `going_on` has ended.
        """
        states = await self._rows.hold(transaction, context_id, named)
        for task_id in named:
            if task_id not in states:
                raise task_not_found(task_id)
        for task_id in going_on:
            if states[task_id].is_end:
                raise TaskEnded(f"task {task_id} has ended", task_id=task_id, state=states[task_id].value)


def named_by(messages: Sequence[MessageInput]) -> list[UUID]:
    """Return the tasks that messages belong to or refer to, without duplicates."""
    named = (task_id for draft in messages for task_id in (draft.task_id, *draft.reference_task_ids))
    return list(dict.fromkeys(task_id for task_id in named if task_id))


def task_not_found(task_id: UUID) -> TaskNotFound:
    """Return the error for any task that the context does not have."""
    return TaskNotFound(f"the context has no task {task_id}", task_id=task_id)
