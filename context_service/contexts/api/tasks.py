"""The proto service `Tasks`: parse, one call, render."""

from __future__ import annotations

from context_service.contexts.model import Task, TaskInput, TaskState
from context_service.contexts.rules.artifacts import Artifacts
from context_service.contexts.rules.tasks import Tasks
from context_service.contexts.wire.messages import fill as fill_message
from context_service.contexts.wire.requests import ids_of, messages_of, principal_of
from context_service.contexts.wire.tasks import STATE_NAME, artifact_of, task_of
from contextkeep.context.v1 import tasks_pb2 as pb
from contextkeep.context.v1 import tasks_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.inputs.pages import PageRequest
from service_runtime.statements.requests import request_of
from service_runtime.values.ids import parse_id, parse_optional_id


class TasksServicer(tasks_pb2_grpc.TasksServicer):
    """Answers the RPCs of `Tasks`."""

    def __init__(self, tasks: Tasks, artifacts: Artifacts) -> None:
        self._tasks = tasks
        self._artifacts = artifacts

    async def CreateTask(self, request: pb.CreateTaskRequest, context: object) -> pb.CreateTaskResponse:
        """Begin a task."""
        draft = await _input(request.task)  # first: it takes the secrets out of the request

        def response(task: Task) -> pb.CreateTaskResponse:
            return pb.CreateTaskResponse(task=task_of(task))

        task = await self._tasks.create(
            parse_id("context_id", request.context_id),
            draft,
            principal=principal_of(request.subject_user_id),
            request=request_of("CreateTask", request, response=response),
        )
        return response(task)

    async def UpdateTask(self, request: pb.UpdateTaskRequest, context: object) -> pb.UpdateTaskResponse:
        """Change a task."""
        draft = await _input(request.task)

        def response(task: Task) -> pb.UpdateTaskResponse:
            return pb.UpdateTaskResponse(task=task_of(task))

        task = await self._tasks.update(
            parse_optional_id("context_id", request.context_id),
            parse_id("task_id", request.task_id),
            draft,
            tuple(dict.fromkeys(request.update_mask.paths)),
            expected_version=request.expected_version,
            principal=principal_of(request.subject_user_id),
            request=request_of("UpdateTask", request, response=response),
        )
        return response(task)

    async def GetTask(self, request: pb.GetTaskRequest, context: object) -> pb.GetTaskResponse:
        """Read a task and its newest messages."""
        history_length = request.history_length if request.HasField("history_length") else None
        if history_length is not None and history_length < 0:
            raise InvalidArgument(f"history_length must be 0 or more (got {history_length})", field="history_length")
        task, newest = await self._tasks.read(
            parse_optional_id("context_id", request.context_id),
            parse_id("task_id", request.task_id),
            principal=principal_of(request.subject_user_id),
            history_length=history_length,
        )
        artifacts = await self._artifacts.of_task(
            task.context_id, task.task_id, principal=principal_of(request.subject_user_id)
        )
        response = pb.GetTaskResponse(
            task=task_of(task), artifacts=map(artifact_of, artifacts), history_is_partial=newest.is_partial
        )
        for message in newest.messages:
            fill_message(response.history.add(), message)
        return response

    async def ListTasks(self, request: pb.ListTasksRequest, context: object) -> pb.ListTasksResponse:
        """List the tasks of a context."""
        tasks, next_page_token = await self._tasks.tasks(
            parse_id("context_id", request.context_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
            states={_state(f"states[{place}]", state) for place, state in enumerate(request.states)},
        )
        return pb.ListTasksResponse(tasks=map(task_of, tasks), next_page_token=next_page_token)

    async def CancelTask(self, request: pb.CancelTaskRequest, context: object) -> pb.CancelTaskResponse:
        """End a task as canceled."""

        def response(task: Task) -> pb.CancelTaskResponse:
            return pb.CancelTaskResponse(task=task_of(task))

        task = await self._tasks.cancel(
            parse_optional_id("context_id", request.context_id),
            parse_id("task_id", request.task_id),
            principal=principal_of(request.subject_user_id),
            request=request_of("CancelTask", request, response=response),
        )
        return response(task)


async def _input(draft: pb.TaskInput) -> TaskInput:
    """Return the draft of a task, and remove the secrets from the request."""
    status, message = draft.status, None
    if status.HasField("message"):
        (message,) = await messages_of({"task.status.message": status.message})
    return TaskInput(
        state=_state("task.status.state", status.state) if status.state else None,
        message=message,
        reference_task_ids=ids_of("task.reference_task_ids", draft.reference_task_ids),
        metadata_json=draft.metadata_json,
    )


def _state(field: str, number: int) -> TaskState:
    """Return a state; raises InvalidArgument for an unset state, and for one of a newer client."""
    for state in TaskState:
        if pb.TaskState.Value(STATE_NAME(state.name)) == number:
            return state
    names = ", ".join(STATE_NAME(state.name) for state in TaskState)
    raise InvalidArgument(f"{field} must be one of {names} (got {number})", field=field)
