"""The calls of tasks that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any

from contextkeep.client import _context_messages as contexts, _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import tasks_pb2 as tasks_pb
from contextkeep.inputs import MessageInput
from contextkeep.values import Task, TaskState
from contextkeep.values.tasks import TaskHistory


class Tasks(Noun):
    """Tasks of contexts. Without a `context_id`, a method uses the context of the task."""

    async def create(
        self,
        context_id: Id,
        *,
        state: TaskState | None = None,
        status_message: MessageInput | str | None = None,
        reference_task_ids: Iterable[Id] = (),
        metadata: Mapping[str, Any] | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Task:
        """Create a task in a context: work with a state, and messages that name it.

        To continue an ended task, create a new one in the same context and name the old task in `reference_task_ids`.

        Args:
            state: None means TASK_STATE_SUBMITTED, for a new task.
            status_message: The service keeps its content, parts, name, agent_id, message_id and metadata_json. Secrets
                are removed, as in messages. None means no message.
            reference_task_ids: Up to 100 tasks of its context. Only for a new task.
            metadata: A JSON object up to 64 KiB. Empty means {}.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            ContextClosed: The context is closed or past its lifetime, and takes no more messages.
            TaskNotFound: of `reference_task_ids`.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            RecordNotFound: a part of the status names a record that the caller cannot read.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            LimitExceeded: A value exceeds a limit.
        """
        request = tasks_pb.CreateTaskRequest(
            context_id=messages.to_id(context_id),
            task=tasks_pb.TaskInput(
                status=contexts.task_status(state, status_message),
                reference_task_ids=messages.ids("task.reference_task_ids", reference_task_ids),
                metadata_json=messages.to_object("task.metadata_json", metadata),
            ),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: tasks_pb.CreateTaskResponse = await self._call("CreateTask", request, timeout_s=timeout_s)
        return Task.from_proto(answer.task)

    async def update(
        self,
        task_id: Id,
        *,
        context_id: Id | None = None,
        state: TaskState | None = None,
        status_message: MessageInput | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_version: int = 0,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Task:
        """Replace the fields of a task that `update_mask` names: status, metadata_json.

        An ended task does not change. No task returns to TASK_STATE_SUBMITTED; every other change of state is allowed.

        Args:
            context_id: Empty means the context of the task.
            state: None means TASK_STATE_SUBMITTED, for a new task.
            status_message: The service keeps its content, parts, name, agent_id, message_id and metadata_json. Secrets
                are removed, as in messages. None means no message.
            metadata: A JSON object up to 64 KiB. Empty means {}.
            expected_version: The version that the task must have. 0 means any version.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            TaskNotFound: The context has no task with this id.
            TaskEnded: The task has ended and cannot change.
            ContextClosed: The context is closed or past its lifetime, and takes no more messages.
            VersionConflict: The stored version is not `expected_version`. Nothing was written.
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            RecordNotFound: a part of the status names a record that the caller cannot read.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            LimitExceeded: A value exceeds a limit.
        """
        request = tasks_pb.UpdateTaskRequest(
            context_id=messages.to_id(context_id),
            task_id=messages.to_id(task_id),
            task=tasks_pb.TaskInput(
                status=contexts.task_status(state, status_message),
                metadata_json=messages.to_object("task.metadata_json", metadata),
            ),
            update_mask=messages.mask(status=state, metadata_json=metadata),
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: tasks_pb.UpdateTaskResponse = await self._call("UpdateTask", request, timeout_s=timeout_s)
        return Task.from_proto(answer.task)

    async def get(
        self,
        task_id: Id,
        *,
        context_id: Id | None = None,
        history_length: int | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> TaskHistory:
        """Read a task with its newest messages, sorted oldest first.

        Args:
            history_length: Return at most this many of its newest messages. None means as many as fit in 2 MiB; 0 means
                none.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            TaskNotFound: The context has no task with this id.
        """
        request = tasks_pb.GetTaskRequest(
            context_id=messages.to_id(context_id),
            task_id=messages.to_id(task_id),
            history_length=history_length,
            subject_user_id=subject_user_id,
        )
        answer: tasks_pb.GetTaskResponse = await self._call("GetTask", request, timeout_s=timeout_s)
        return TaskHistory.from_proto(answer)

    async def list(
        self,
        context_id: Id,
        *,
        states: Iterable[TaskState] = (),
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[Task, None]:
        """List the tasks of a context, newest first.

        Args:
            states: Tasks in one of these states. Empty means all states.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = tasks_pb.ListTasksRequest(
            context_id=messages.to_id(context_id),
            states=messages.choices_of("states", states, tasks_pb.TaskState),
            subject_user_id=subject_user_id,
            page_size=page_size,
        )
        while True:
            page: tasks_pb.ListTasksResponse = await self._call("ListTasks", request, timeout_s=timeout_s)
            for item in page.tasks:
                yield Task.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def cancel(
        self,
        task_id: Id,
        *,
        context_id: Id | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Task:
        """End a task as TASK_STATE_CANCELED.

        Canceling a canceled task changes nothing. The agent that works on the task is not notified: it reads the state
        with `tasks.get`.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            TaskNotFound: The context has no task with this id.
            TaskEnded: the task ended in another state.
            ContextClosed: The context is closed or past its lifetime, and takes no more messages.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = tasks_pb.CancelTaskRequest(
            context_id=messages.to_id(context_id),
            task_id=messages.to_id(task_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: tasks_pb.CancelTaskResponse = await self._call("CancelTask", request, timeout_s=timeout_s)
        return Task.from_proto(answer.task)
