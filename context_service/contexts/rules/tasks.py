"""The rules of tasks: what may change of one, and which context a call about one means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

from context_service.contexts.model import Message, Task, TaskInput, TaskState
from context_service.contexts.pure.checks import MessageChecks, check_references, size_of
from context_service.contexts.rules.messages import CheckRecord, not_found, records_of
from context_service.contexts.rules.references import References, task_not_found
from context_service.contexts.store.log import Log
from context_service.contexts.store.tasks import TASKS_MAX, TaskRows
from context_service.kernel.keyed_locks import KeyedLocks
from contextkeep.errors import ContextClosed, InvalidArgument, LimitExceeded, TaskEnded, TaskNotFound, VersionConflict
from service_runtime import pages
from service_runtime.auth import Principal
from service_runtime.documents import beside_the_loop
from service_runtime.ids import new_id
from service_runtime.postgres import Transaction
from service_runtime.requests import Request, Requests

CHANGEABLE = frozenset({"status", "metadata_json"})
_STATUS_PATH = "task.status.message"
_T = TypeVar("_T")


class Tasks:
    """Begins, changes and reads tasks; each call acts for its principal.

    Args:
        rows: Where they are.
        log: Their contexts and messages.
        references: Of the tasks that they name.
        requests: The request ids of this service.
        checks: Of what callers say.
        check_record: Of a record that a part names.
        order: The writers of a context.
    """

    def __init__(
        self,
        rows: TaskRows,
        *,
        log: Log,
        references: References,
        requests: Requests,
        checks: MessageChecks,
        check_record: CheckRecord,
        writer_locks: KeyedLocks,
    ) -> None:
        self._rows = rows
        self._log = log
        self._references = references
        self._requests = requests
        self._checks = checks
        self._check_record = check_record
        self._writer_locks = writer_locks

    async def create(self, context_id: UUID, said: TaskInput, *, principal: Principal, request: Request | None) -> Task:
        """Begin a task.

        Raises:
            ContextNotFound: there is no such context.
            ContextClosed: it is closed.
            TaskNotFound: it has not all tasks that the new one names.
            RecordNotFound, InvalidArgument, LimitExceeded, RequestIdReused: see the contract.
        """
        await self._check(said)
        await self._check_records(said, principal)
        said = replace(said, state=said.state or TaskState.SUBMITTED)

        async def work(transaction: Transaction) -> Task | None:
            if said.reference_task_ids:
                await self._references.check(transaction, context_id, said.reference_task_ids)
            return await self._rows.create(transaction, context_id, new_id(), said, created_by=principal.subject)

        return await self.written(context_id, work, principal, request=request, refused=_too_many)

    async def update(
        self,
        context_id: UUID | None,
        task_id: UUID,
        said: TaskInput,
        names: Sequence[str],
        *,
        expected_version: int,
        principal: Principal,
        request: Request | None,
    ) -> Task:
        """Change the fields `names` of a task.

        Args:
            context_id: None: that of the task.
            task_id: Which.
            said: What they shall be.
            names: Of `CHANGEABLE`.
            expected_version: That it must have; 0: any.
            principal: Who changes it.
            request: Makes it happen once.

        Raises:
            ContextNotFound, TaskNotFound: there is no such context, or no such task in it.
            ContextClosed, TaskEnded: nothing changes any more.
            VersionConflict: it has another version.
            RecordNotFound, InvalidArgument, LimitExceeded, RequestIdReused: see the contract.
        """
        for name in names:
            if name not in CHANGEABLE:
                raise InvalidArgument(f"{name} cannot change", field="update_mask")
        if not names:
            raise InvalidArgument("update_mask names no field", field="update_mask")
        if "status" in names and said.state is None:
            raise InvalidArgument("task.status.state is not set", field="task.status.state")
        if expected_version < 0:
            raise InvalidArgument("expected_version is negative", field="expected_version")
        await self._check(said)

        def changed(task: Task) -> TaskInput:
            if expected_version not in (0, task.version):
                raise VersionConflict("the task has another version", task_id=task_id, version=task.version)
            if task.state.is_end:
                raise _ended(task)
            if "status" in names and said.state is TaskState.SUBMITTED is not task.state:
                raise InvalidArgument("a task does not go back to submitted", field="task.status.state")
            status = said if "status" in names else task
            return TaskInput(
                state=status.state,
                message=status.message,
                metadata_json=said.metadata_json if "metadata_json" in names else task.metadata_json,
            )

        is_status = "status" in names
        return await self._change(
            context_id, task_id, said, changed, is_status=is_status, principal=principal, request=request
        )

    async def cancel(
        self, context_id: UUID | None, task_id: UUID, *, principal: Principal, request: Request | None
    ) -> Task:
        """End a task as canceled; again is harmless.

        Raises:
            ContextNotFound, TaskNotFound: there is no such context, or no such task in it.
            ContextClosed: the context is closed.
            TaskEnded: it ended otherwise.
            RequestIdReused: see the contract.
        """

        def changed(task: Task) -> TaskInput | None:
            if task.state is TaskState.CANCELED:
                return None
            if task.state.is_end:
                raise _ended(task)
            return TaskInput(state=TaskState.CANCELED, metadata_json=task.metadata_json)

        return await self._change(
            context_id, task_id, TaskInput(), changed, is_status=True, principal=principal, request=request
        )

    async def read(
        self, context_id: UUID | None, task_id: UUID, *, principal: Principal, history_length: int | None
    ) -> tuple[Task, list[Message]]:
        """Return a task with its newest messages, oldest of them first; as many as fit, for None.

        Raises:
            ContextNotFound, TaskNotFound: there is no such context, or no such task in it.
        """
        context_id = context_id or await self._references.context_of(task_id, principal=principal, reads=True)
        task = await self._read(context_id, task_id, principal)
        if history_length == 0:
            return task, []
        messages = await self._log.newest(context_id, principal=principal, count=history_length, task_id=task_id)
        return task, messages or []

    async def tasks(
        self, context_id: UUID, page: pages.PageRequest, *, principal: Principal, states: Collection[TaskState]
    ) -> tuple[list[Task], str]:
        """Return a page of the tasks of a context, the newest first, and the token of the next page.

        Raises:
            ContextNotFound: there is no such context.
            InvalidArgument, InvalidPageToken: see the contract.
        """
        query = ("ListTasks", principal.tenant_id, context_id, sorted(state.value for state in states))
        found = await self._rows.page(
            context_id,
            principal=principal,
            states=states,
            before=pages.decode_id(query, page.token),
            count=pages.page_size(page.size),
        )
        if found is None:
            raise not_found(context_id)
        # There may be nothing behind it: then the next page is empty.
        return found, pages.encode_token(query, (found[-1].task_id,)) if found else ""

    async def _change(
        self,
        context_id: UUID | None,
        task_id: UUID,
        said: TaskInput,
        changed: Callable[[Task], TaskInput | None],
        *,
        is_status: bool,
        principal: Principal,
        request: Request | None,
    ) -> Task:
        """Change a task that is locked, to what `changed` makes of it and of what is said; None: it stays as it is."""
        await self._check_records(said, principal)
        meant = context_id or await self._references.context_of(task_id, principal=principal)

        async def work(transaction: Transaction) -> Task | None:
            task: Task | None = await self._locked(transaction, meant, task_id)
            if task and (shall_be := changed(task)) is not None:
                task = await self._rows.update(transaction, meant, task_id, shall_be, is_status=is_status)
            return task

        return await self.written(meant, work, principal, request=request, refused=_too_many)

    async def going_on(self, transaction: Transaction, context_id: UUID, task_id: UUID) -> None:
        """Keep a task from changing until the transaction ends, and refuse one that has ended.

        Raises:
            TaskNotFound: the context has none.
            TaskEnded: nothing of it changes any more.
        """
        task = await self._locked(transaction, context_id, task_id)
        if task.state.is_end:
            raise _ended(task)

    async def _locked(self, transaction: Transaction, context_id: UUID, task_id: UUID) -> Task:
        task = await self._rows.lock(transaction, context_id, task_id)
        if task is None:
            raise task_not_found(task_id)
        return task

    async def written(
        self,
        context_id: UUID,
        work: Callable[[Transaction], Awaitable[_T | None]],
        principal: Principal,
        *,
        request: Request | None,
        refused: Callable[[], LimitExceeded],
    ) -> _T:
        """Do what changes something of a context's tasks, in its turn and once, and return what `work` does.

        Args:
            context_id: Which.
            work: Returns None, and all of it is undone, if the header would not have it.
            principal: Who writes.
            request: Makes it happen once.
            refused: What was wrong then, if the context is there and open.

        Raises:
            ContextNotFound, ContextClosed: what is wrong with the context comes before what is wrong with the task.
            LimitExceeded: that of `refused`; and the errors of `work`.
        """

        async def whole(transaction: Transaction) -> _T:
            made = await work(transaction)
            if made is None:
                raise _Refused
            return made

        try:
            async with self._writer_locks.hold((principal.tenant_id, context_id)):
                write = self._requests.once(request, whole, about_id=context_id)
                return await self._log.of(principal, context_id).transaction(write)
        except (_Refused, TaskNotFound, TaskEnded) as error:
            context = await self._log.read(context_id, principal=principal.without_admin())
            if context is None:
                raise not_found(context_id) from None
            if context.closed_at:
                raise ContextClosed("the context is closed", context_id=context_id) from None
            if isinstance(error, _Refused):
                raise refused() from None
            raise

    async def _read(self, context_id: UUID, task_id: UUID, principal: Principal) -> Task:
        found = await self._rows.read(context_id, task_id, principal=principal)
        if found is None:
            raise not_found(context_id)
        for task in found:
            return task
        raise task_not_found(task_id)

    async def _check_records(self, said: TaskInput, principal: Principal) -> None:
        for record_id in records_of([said.message] if said.message else []):
            await self._check_record(record_id, principal)

    async def _check(self, said: TaskInput) -> None:
        self._checks.check_metadata("task.metadata_json", said.metadata_json)
        check_references("task.reference_task_ids", said.reference_task_ids)
        if said.message:
            size = size_of(said.message)
            await beside_the_loop(size, self._checks.check_message, said.message, size, path=_STATUS_PATH)


class _Refused(Exception):
    """The header was not changed: it is not there, closed, or at its limit."""


def _too_many() -> LimitExceeded:
    return LimitExceeded(
        f"the context has {TASKS_MAX} tasks, as many as it may have",
        limit="tasks",
        limit_max=TASKS_MAX,
        value=TASKS_MAX + 1,
    )


def _ended(task: Task) -> TaskEnded:
    return TaskEnded("the task has ended", task_id=task.task_id, state=task.state.value)
