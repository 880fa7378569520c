"""The tasks that messages and other tasks name: each is of the context, or it is not there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from context_service.contexts.model import MessageInput
from context_service.contexts.store.log import Hold
from context_service.contexts.store.tasks import TaskRows
from contextkeep.errors import TaskEnded, TaskNotFound
from service_runtime.auth import Principal
from service_runtime.postgres import Transaction


class References:
    """Looks after what is named. A task of another context, of another caller, and one that never was are all alike.

    Args:
        rows: The tasks.
    """

    def __init__(self, rows: TaskRows) -> None:
        self._rows = rows

    async def context_of(self, task_id: UUID, *, principal: Principal, reads: bool = False) -> UUID:
        """Return the context of a task that is named alone.

        Args:
            task_id: Which.
            principal: Who names it.
            reads: An administrator only reads it: of any user.

        Raises:
            TaskNotFound: there is none for the principal.
        """
        context_id = await self._rows.context_of(task_id, principal=principal, reads=reads)
        if context_id is None:
            raise task_not_found(task_id)
        return context_id

    async def context_meant(self, messages: Sequence[MessageInput], *, principal: Principal) -> UUID | None:
        """Return the context of the first task that messages belong to; None: they belong to none.

        Raises:
            TaskNotFound: there is no such task.
        """
        for said in messages:
            if said.task_id:
                return await self.context_of(said.task_id, principal=principal)
        return None

    def hold(self, context_id: UUID, messages: Sequence[MessageInput]) -> Hold | None:
        """Return what comes before the append of messages: the tasks that they name are there, and go on.

        Of messages that name none there is nothing, so that they pay for none.
        """
        named = named_by(messages)
        if not named:
            return None

        async def hold(transaction: Transaction) -> None:
            """Raises: TaskNotFound: one of them is not there. TaskEnded: a message belongs to one that has ended."""
            await self.check(
                transaction, context_id, named, going_on={said.task_id for said in messages if said.task_id}
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
        """Refuse tasks that a context does not have, or of some that have ended, until the transaction ends.

        Raises:
            TaskNotFound: one of them is not there.
            TaskEnded: one of `going_on` has ended.
        """
        states = await self._rows.hold(transaction, context_id, named)
        for task_id in named:
            if task_id not in states:
                raise task_not_found(task_id)
        for task_id in going_on:
            if states[task_id].is_end:
                raise TaskEnded("the task has ended", task_id=task_id, state=states[task_id].value)


def named_by(messages: Sequence[MessageInput]) -> list[UUID]:
    """Return the tasks that messages belong to or refer to, each once."""
    named = (task_id for said in messages for task_id in (said.task_id, *said.reference_task_ids))
    return list(dict.fromkeys(task_id for task_id in named if task_id))


def task_not_found(task_id: UUID) -> TaskNotFound:
    """Return the one answer to any task that is not of the context."""
    return TaskNotFound("the context has no such task", task_id=task_id)
