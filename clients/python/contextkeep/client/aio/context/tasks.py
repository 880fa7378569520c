"""Tasks of contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _context_messages as contexts
from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio._gen import tasks as gen
from contextkeep.context.v1 import tasks_pb2 as tasks_pb
from contextkeep.inputs import MessageInput
from contextkeep.values import Task, TaskState


class Tasks(gen.Tasks):
    """Tasks and their artifacts.

    A task that is of another context, or not there at all, is `TaskNotFound`. Where a `context_id` may be left out, it
    is that of the task.
    """

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
        """Begin a task of a context, and return it. Messages that name it in `task_id` belong to it.

        Args:
            context_id: Where the work is done.
            state: None: "submitted".
            status_message: What is said of the state; a text is the agent's. It comes with a state.
            reference_task_ids: Up to 100 tasks of the context, which this one builds on.
            metadata: A JSON object up to 64 KiB.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again answers the same task. None: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: there is no such context.
            ContextClosed: it is closed.
            TaskNotFound: it has not all tasks that are referred to.
            LimitExceeded: it has as many as it may have, or something is too large.
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
        response: tasks_pb.CreateTaskResponse = await self._call("CreateTask", request, timeout_s=timeout_s)
        return Task.from_proto(response.task)

    async def update(
        self,
        task_id: Id,
        *,
        state: TaskState | None = None,
        status_message: MessageInput | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_version: int = 0,
        context_id: Id | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Task:
        """Change the status of a task, its metadata, or both, and return it.

        Args:
            task_id: Which.
            state: None: the status stays as it is. Nothing goes back to "submitted".
            status_message: What is said of the state; None: nothing, whatever was said before.
            metadata: A JSON object that replaces the old one; None: it stays.
            expected_version: Change it only if it has this version. 0: any.
            context_id: None: that of the task.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. None: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            TaskNotFound: the context has none.
            TaskEnded: nothing of it changes any more.
            VersionConflict: it has another version: `version` in the metadata.
            ContextClosed: its context is closed.
        """
        status = contexts.task_status(state, status_message)
        request = tasks_pb.UpdateTaskRequest(
            context_id=messages.to_id(context_id),
            task_id=messages.to_id(task_id),
            task=tasks_pb.TaskInput(status=status, metadata_json=messages.to_object("task.metadata_json", metadata)),
            update_mask=FieldMask(
                paths=[*["status"] * (status is not None), *["metadata_json"] * (metadata is not None)]
            ),
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: tasks_pb.UpdateTaskResponse = await self._call("UpdateTask", request, timeout_s=timeout_s)
        return Task.from_proto(response.task)
