"""Begins, changes and reads tasks, and finds the context of a task."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

from context_service.contexts.model import NewestMessages, Task, TaskInput, TaskState
from context_service.contexts.pure.checks import MessageChecks, check_references, size_of
from context_service.contexts.rules.message_files import MessageFiles, Store, stored_parts
from context_service.contexts.rules.messages import files_apart, not_found
from context_service.contexts.rules.references import References, task_not_found
from context_service.contexts.store.log import Log
from context_service.contexts.store.tasks import TASKS_MAX, TaskRows
from context_service.kernel.keyed_locks import KeyedLocks
from contextkeep.errors import ContextClosed, InvalidArgument, LimitExceeded, TaskEnded, TaskNotFound, VersionConflict
from service_runtime.inputs import pages
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.ids import new_id

CHANGEABLE = frozenset({"status", "metadata_json"})
_STATUS_PATH = "task.status.message"
_T = TypeVar("_T")


class Tasks:
    """Begins, changes and reads tasks; each call acts for its principal.

    Args:
        rows: The SQL statements on tasks.
        log: The contexts of the tasks, and their messages.
        references: Checks the tasks that a task names.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        checks: Checks the sizes and forms of messages and metadata.
        files: Stores the files of status messages, and checks the records that these name.
        writer_locks: Locks by context: in this process, one call at a time changes a context.
    """

    def __init__(
        self,
        rows: TaskRows,
        *,
        log: Log,
        references: References,
        requests: Requests,
        checks: MessageChecks,
        files: MessageFiles,
        writer_locks: KeyedLocks,
    ) -> None:
        self._rows = rows
        self._log = log
        self._references = references
        self._requests = requests
        self._checks = checks
        self._files = files
        self._writer_locks = writer_locks

    async def create(
        self, context_id: UUID, draft: TaskInput, *, principal: Principal, request: Request | None
    ) -> Task:
        """Begin a task.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            ContextClosed: the context is closed.
            TaskNotFound: the context does not have all tasks that the new task names.
            RecordNotFound: the message of the task names a record that the caller may not read.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field is too large, or the context has too many tasks.
            RequestIdReused: the request id was used before, for another request.
        """
        draft = await self._checked(draft)
        draft = replace(draft, state=draft.state or TaskState.SUBMITTED)
        async with self._filed(context_id, draft, principal) as (filed, store):

            async def work(transaction: Transaction) -> Task | None:
                if filed.reference_task_ids:
                    await self._references.check(transaction, context_id, filed.reference_task_ids)
                task = await self._rows.create(transaction, context_id, new_id(), filed, created_by=principal.subject)
                if task and store:
                    await store(transaction)
                return task

            return await self.written(context_id, work, principal, request=request, refused=_too_many)

    async def update(
        self,
        context_id: UUID | None,
        task_id: UUID,
        draft: TaskInput,
        names: Sequence[str],
        *,
        expected_version: int,
        principal: Principal,
        request: Request | None,
    ) -> Task:
        """Change the fields `names` of a task.

        Args:
            context_id: The id of the context; None takes the context of the task.
            task_id: The id of the task.
            draft: The new values of the fields in `names`.
            names: The fields to change, from `CHANGEABLE`.
            expected_version: The version that the task must have; 0 accepts any.
            principal: The caller; its tenant and bounds limit the rows.
            request: The idempotency key of the call; None if the call has none.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            TaskNotFound: the context has no such task.
            ContextClosed: the context is closed.
            TaskEnded: the task has ended, so it can no longer change.
            VersionConflict: the task has another version than `expected_version`.
            RecordNotFound: the message of the task names a record that the caller may not read.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large.
            RequestIdReused: the request id was used before, for another request.
        """
        for name in names:
            if name not in CHANGEABLE:
                known = ", ".join(sorted(CHANGEABLE))
                raise InvalidArgument(f"update_mask may name {known} (got {name[:100]!r})", field="update_mask")
        if not names:
            raise InvalidArgument("update_mask must name at least one field", field="update_mask")
        if "status" in names and draft.state is None:
            raise InvalidArgument("task.status.state must be set", field="task.status.state")
        if expected_version < 0:
            raise InvalidArgument(
                f"expected_version must be 0 or more (got {expected_version})", field="expected_version"
            )
        draft = await self._checked(draft)

        def changed(task: Task, filed: TaskInput) -> TaskInput:
            """Return the new values of the locked task, or raise the error that refuses the change."""
            if expected_version not in (0, task.version):
                raise VersionConflict(
                    f"the task has version {task.version}, not the expected {expected_version}; read it again",
                    task_id=task_id,
                    version=task.version,
                )
            if task.state.is_end:
                raise _ended_error(task)
            if "status" in names and draft.state is TaskState.SUBMITTED is not task.state:
                raise InvalidArgument("a task cannot go back to the state submitted", field="task.status.state")
            status = filed if "status" in names else task
            return TaskInput(
                state=status.state,
                message=status.message,
                metadata_json=draft.metadata_json if "metadata_json" in names else task.metadata_json,
            )

        is_status = "status" in names
        stored = draft if is_status else replace(draft, message=None)
        return await self._change(
            context_id, task_id, stored, changed, is_status=is_status, principal=principal, request=request
        )

    async def cancel(
        self, context_id: UUID | None, task_id: UUID, *, principal: Principal, request: Request | None
    ) -> Task:
        """End a task as canceled. If it is canceled already, nothing changes.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            TaskNotFound: the context has no such task.
            ContextClosed: the context is closed.
            TaskEnded: the task has ended in another state.
            RequestIdReused: the request id was used before, for another request.
        """

        def changed(task: Task, filed: TaskInput) -> TaskInput | None:
            if task.state is TaskState.CANCELED:
                return None
            if task.state.is_end:
                raise _ended_error(task)
            return TaskInput(state=TaskState.CANCELED, metadata_json=task.metadata_json)

        return await self._change(
            context_id, task_id, TaskInput(), changed, is_status=True, principal=principal, request=request
        )

    async def read(
        self, context_id: UUID | None, task_id: UUID, *, principal: Principal, history_length: int | None
    ) -> tuple[Task, NewestMessages]:
        """Return a task with its newest messages; `history_length` None reads as many as fit.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            TaskNotFound: the context has no such task.
        """
        context_id = context_id or await self._references.context_of(task_id, principal=principal, reads=True)
        task = await self._read(context_id, task_id, principal)
        if history_length == 0:
            return task, NewestMessages()
        messages = await self._log.newest(context_id, principal=principal, count=history_length, task_id=task_id)
        return task, messages or NewestMessages()

    async def tasks(
        self, context_id: UUID, page: pages.PageRequest, *, principal: Principal, states: Collection[TaskState]
    ) -> tuple[list[Task], str]:
        """Return a page of the tasks of a context, the newest first, and the token of the next page.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            InvalidArgument: the page size is negative.
            InvalidPageToken: the page token is malformed, or belongs to another query.
        """
        query = ("ListTasks", principal.tenant_id, context_id, sorted(state.value for state in states))
        tasks = await self._rows.page(
            context_id,
            principal=principal,
            states=states,
            before=pages.decode_id(query, page.token),
            count=pages.page_size(page.size),
        )
        if tasks is None:
            raise not_found(context_id)
        # No task may follow: then the next page is empty.
        return tasks, pages.encode_token(query, (tasks[-1].task_id,)) if tasks else ""

    async def _change(
        self,
        context_id: UUID | None,
        task_id: UUID,
        draft: TaskInput,
        changed: Callable[[Task, TaskInput], TaskInput | None],
        *,
        is_status: bool,
        principal: Principal,
        request: Request | None,
    ) -> Task:
        """Lock a task, and write the values that `changed` returns for it; if it returns None, the task stays.

        `changed` gets the task, and the draft as it is stored. Files that only the replaced status message named are
        deleted.
        """
        owning_context_id = context_id or await self._references.context_of(task_id, principal=principal)
        async with self._filed(owning_context_id, draft, principal) as (filed, store):

            async def work(transaction: Transaction) -> Task | None:
                before = await self._lock(transaction, owning_context_id, task_id)
                if (values := changed(before, filed)) is None:
                    return before
                task = await self._rows.update(transaction, owning_context_id, task_id, values, is_status=is_status)
                if task and store:
                    await store(transaction)
                named = _records_of(before) if task and is_status else []
                if named and (lone := await self._log.lone_among(transaction, owning_context_id, named)):
                    await self._files.remove(transaction, lone, principal=principal)
                return task

            return await self.written(owning_context_id, work, principal, request=request, refused=_too_many)

    @asynccontextmanager
    async def _filed(
        self, context_id: UUID, draft: TaskInput, principal: Principal
    ) -> AsyncIterator[tuple[TaskInput, Store | None]]:
        """Yield a task as it is stored, and what stores the files of its status message; see `stored_parts`."""
        if draft.message is None:
            yield draft, None
            return
        async with stored_parts(self._files, context_id, draft.message.parts, principal=principal) as (parts, store):
            yield replace(draft, message=replace(draft.message, parts=parts)), store

    async def going_on(self, transaction: Transaction, context_id: UUID, task_id: UUID) -> None:
        """Lock a task until the transaction ends, and refuse a task that has ended.

        Raises:
            TaskNotFound: the context has no such task.
            TaskEnded: the task has ended.
        """
        task = await self._lock(transaction, context_id, task_id)
        if task.state.is_end:
            raise _ended_error(task)

    async def _lock(self, transaction: Transaction, context_id: UUID, task_id: UUID) -> Task:
        """Lock a task until the transaction ends, and return it.

        Raises:
            TaskNotFound: the context has no such task.
        """
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
        """Run a change of a context's tasks, one at a time and idempotently, and return the result of `work`.

        Args:
            context_id: The id of the task's context.
            work: The change; if it returns None, because the header was not updated, it is rolled back.
            principal: The caller; its tenant and bounds limit the rows.
            request: The idempotency key of the call; None if the call has none.
            refused: Makes the error for a rolled back change, if the context exists and is open.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            ContextClosed: the context is closed. Both errors of the context come before errors of the task.
            LimitExceeded: `work` returned None although the context is open; this is the error of `refused`.
            Also the errors of `work`.
        """

        async def whole(transaction: Transaction) -> _T:
            result = await work(transaction)
            if result is None:
                raise _Refused
            return result

        try:
            async with self._writer_locks.hold((principal.tenant_id, context_id)):
                write = self._requests.once(request, whole, about_id=context_id)
                return await self._log.of(principal, context_id).transaction(write)
        except (_Refused, TaskNotFound, TaskEnded) as error:
            context = await self._log.read(context_id, principal=principal.without_admin())
            if context is None:
                raise not_found(context_id) from None
            if context.closed_at:
                raise ContextClosed(
                    f"context {context_id} is closed; write to another one", context_id=context_id
                ) from None
            if isinstance(error, _Refused):
                raise refused() from None
            raise

    async def _read(self, context_id: UUID, task_id: UUID, principal: Principal) -> Task:
        """Return a task.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            TaskNotFound: the context has no such task.
        """
        tasks = await self._rows.read(context_id, task_id, principal=principal)
        if tasks is None:
            raise not_found(context_id)
        for task in tasks:
            return task
        raise task_not_found(task_id)

    async def _checked(self, draft: TaskInput) -> TaskInput:
        """Return a task whose files are apart from its texts, or refuse one that cannot be stored.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too large, or there are too many references.
        """
        self._checks.check_metadata("task.metadata_json", draft.metadata_json)
        check_references("task.reference_task_ids", draft.reference_task_ids)
        if draft.message is None:
            return draft
        (message,) = await files_apart([draft.message])
        size = size_of(message)
        await beside_the_loop(size, self._checks.check_message, message, size, path=_STATUS_PATH)
        return replace(draft, message=message)


class _Refused(Exception):
    """The header was not updated: the context does not exist, is closed, or has reached a limit."""


def _records_of(task: Task) -> list[UUID]:
    """Return the records that the status message of a task names as files."""
    files = [file for part in (task.message.parts if task.message else ()) for file in part.files]
    return sorted({UUID(file.working_memory_id) for file in files if file.working_memory_id})


def _too_many() -> LimitExceeded:
    """Return the error for a task above the limit of a context."""
    return LimitExceeded(
        f"a context may have up to {TASKS_MAX} tasks; begin another context",
        limit="tasks",
        limit_max=TASKS_MAX,
        value=TASKS_MAX + 1,
    )


def _ended_error(task: Task) -> TaskEnded:
    return TaskEnded(
        f"task {task.task_id} has ended as {task.state.value}", task_id=task.task_id, state=task.state.value
    )
