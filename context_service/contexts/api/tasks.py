"""The RPCs of `Contexts` about tasks and what they make: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import cast

from context_service.contexts.model import (
    Artifact,
    ArtifactInput,
    Context,
    Message,
    MessageInput,
    Retracted,
    Task,
    TaskInput,
    TaskState,
)
from context_service.contexts.rules.artifacts import Artifacts, named
from context_service.contexts.rules.tasks import Tasks
from context_service.contexts.rules.watch import Happened, Watching
from context_service.contexts.wire.headers import header_of
from context_service.contexts.wire.requests import check_same_caller, ids_of, messages_of, parts_of, principal_of
from context_service.history.wire import messages as message_wire
from context_service.kernel.wire import times
from context_service.kernel.wire.imported import imported_of
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import contexts_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime import calls
from service_runtime.auth import Authenticator
from service_runtime.copying import copied
from service_runtime.ids import parse_id, parse_optional_id
from service_runtime.pages import PageRequest
from service_runtime.requests import request_of


class TasksServicer(contexts_pb2_grpc.ContextsServicer):
    """The part of the servicer that is about tasks and their artifacts."""

    def __init__(self, tasks: Tasks, artifacts: Artifacts, watching: Watching, callers: Authenticator) -> None:
        self._tasks = tasks
        self._artifacts = artifacts
        self._watching = watching
        self._callers = callers

    async def CreateTask(self, request: pb.CreateTaskRequest, context: object) -> pb.CreateTaskResponse:
        """Begin a task."""
        said = await _input(request.task)  # first: it takes the secrets out of the request

        def response(task: Task) -> pb.CreateTaskResponse:
            return pb.CreateTaskResponse(task=_task(task))

        task = await self._tasks.create(
            parse_id("context_id", request.context_id),
            said,
            principal=principal_of(request.subject_user_id),
            request=request_of("CreateTask", request, response=response),
        )
        return response(task)

    async def UpdateTask(self, request: pb.UpdateTaskRequest, context: object) -> pb.UpdateTaskResponse:
        """Change a task."""
        said = await _input(request.task)

        def response(task: Task) -> pb.UpdateTaskResponse:
            return pb.UpdateTaskResponse(task=_task(task))

        task = await self._tasks.update(
            parse_optional_id("context_id", request.context_id),
            parse_id("task_id", request.task_id),
            said,
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
            raise InvalidArgument("history_length is negative", field="history_length")
        task, messages = await self._tasks.read(
            parse_optional_id("context_id", request.context_id),
            parse_id("task_id", request.task_id),
            principal=principal_of(request.subject_user_id),
            history_length=history_length,
        )
        artifacts = await self._artifacts.of_task(
            task.context_id, task.task_id, principal=principal_of(request.subject_user_id)
        )
        response = pb.GetTaskResponse(task=_task(task), artifacts=map(_artifact, artifacts))
        for message in messages:
            message_wire.fill_of_context(response.history.add(), message)
        return response

    async def ListTasks(self, request: pb.ListTasksRequest, context: object) -> pb.ListTasksResponse:
        """List the tasks of a context."""
        found, next_page_token = await self._tasks.tasks(
            parse_id("context_id", request.context_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
            states={_known_state(f"states[{place}]", state) for place, state in enumerate(request.states)},
        )
        return pb.ListTasksResponse(tasks=map(_task, found), next_page_token=next_page_token)

    async def CancelTask(self, request: pb.CancelTaskRequest, context: object) -> pb.CancelTaskResponse:
        """End a task as canceled."""

        def response(task: Task) -> pb.CancelTaskResponse:
            return pb.CancelTaskResponse(task=_task(task))

        task = await self._tasks.cancel(
            parse_optional_id("context_id", request.context_id),
            parse_id("task_id", request.task_id),
            principal=principal_of(request.subject_user_id),
            request=request_of("CancelTask", request, response=response),
        )
        return response(task)

    async def PutArtifact(self, request: pb.PutArtifactRequest, context: object) -> pb.PutArtifactResponse:
        """Write a version of an artifact, or a chunk of one."""
        parts, redacted = await parts_of(request.artifact.parts)  # first: it takes the secrets out of the request
        said = request.artifact

        def response(artifact: Artifact) -> pb.PutArtifactResponse:
            return pb.PutArtifactResponse(artifact=_artifact(artifact), redacted_parts=redacted)

        artifact = await self._artifacts.put(
            parse_optional_id("context_id", request.context_id),
            parse_id("task_id", request.task_id),
            copied(
                ArtifactInput,
                said,
                artifact_id=named(said.artifact_id),
                parts=parts,
                append=request.append,
                is_last=request.last_chunk,
            ),
            principal=principal_of(request.subject_user_id),
            request=request_of("PutArtifact", request, response=response),
        )
        return response(artifact)

    async def GetArtifact(self, request: pb.GetArtifactRequest, context: object) -> pb.GetArtifactResponse:
        """Read a version of an artifact."""
        principal = principal_of(request.subject_user_id)
        if request.ref:
            if request.task_id or request.artifact_id or request.version:
                raise InvalidArgument("ref names the artifact: nothing else does beside it", field="ref")
            context_id = parse_id("context_id", request.context_id)
            artifact = await self._artifacts.quoted(context_id, request.ref, principal=principal)
        else:
            artifact = await self._artifacts.read(
                parse_optional_id("context_id", request.context_id),
                parse_id("task_id", request.task_id),
                request.artifact_id,
                version=request.version,
                principal=principal,
            )
        response = pb.GetArtifactResponse(artifact=_artifact(artifact))
        response.artifact.metadata_json = artifact.metadata_json
        for part in artifact.parts:
            message_wire.fill_part(response.artifact.parts.add(), part)
        return response

    async def WatchContext(
        self, request: pb.WatchContextRequest, context: object
    ) -> AsyncIterator[pb.WatchContextResponse]:
        """Tell what happens in a context."""
        calls.leave_place()  # watches have places of their own
        happened = self._watching.watch(
            parse_id("context_id", request.context_id),
            seq_from=request.seq_from,
            change_after=request.change_after,
            until_now=request.until_now,
            principal=principal_of(request.subject_user_id),
            check=partial(check_same_caller, self._callers),
        )
        async with aclosing(happened):
            async for one in happened:
                yield _happened(one)


_NAME = "TASK_STATE_{}".format


async def _input(said: pb.TaskInput) -> TaskInput:
    """Return what is said of a task, and take the secrets out of the request."""
    status, message = said.status, None
    if status.HasField("message"):
        (message,) = await messages_of({"task.status.message": status.message})
    return TaskInput(
        state=_known_state("task.status.state", status.state) if status.state else None,
        message=message,
        reference_task_ids=ids_of("task.reference_task_ids", said.reference_task_ids),
        metadata_json=said.metadata_json,
    )


def _known_state(field: str, number: int) -> TaskState:
    """Return a state; raises InvalidArgument for one of a newer client, and for none."""
    for state in TaskState:
        if pb.TaskState.Value(_NAME(state.name)) == number:
            return state
    raise InvalidArgument(f"{field} is no state: {number}", field=field)


def _task(task: Task) -> pb.Task:
    status = pb.TaskStatus(
        state=cast("pb.TaskState", pb.TaskState.Value(_NAME(task.state.name))), time=times.timestamp(task.status_at)
    )
    if task.message:
        _fill(status, task.message)
    return copied(pb.Task, task, status=status, imported=imported_of(task.imported_json))


def _happened(one: Happened) -> pb.WatchContextResponse:
    response = pb.WatchContextResponse(seq_from=one.seq_from, change_after=one.change_after)
    if isinstance(one.what, Message):
        message_wire.fill_of_context(response.message, one.what)
    elif isinstance(one.what, Task):
        response.task.CopyFrom(_task(one.what))
    elif isinstance(one.what, Artifact):
        response.artifact.CopyFrom(_artifact(one.what))
    elif isinstance(one.what, Retracted):
        response.retracted.seqs.extend(one.what.seqs)
        response.retracted.message_ids.extend(one.what.message_ids)
    elif isinstance(one.what, Context):
        response.context.CopyFrom(header_of(one.what))
    return response


def _artifact(artifact: Artifact) -> pb.Artifact:
    """Return an artifact without its parts and metadata."""
    return copied(pb.Artifact, artifact, imported=imported_of(artifact.imported_json), parts=None, metadata_json=None)


def _fill(status: pb.TaskStatus, said: MessageInput) -> None:
    message = status.message
    message.message_id = said.message_id
    message.role = said.role
    message.content = said.content
    message.name = said.name
    message.agent_id = said.agent_id
    message.metadata_json = said.metadata_json
    for part in said.parts:
        message_wire.fill_part(message.parts.add(), part)
