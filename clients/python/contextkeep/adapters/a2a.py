"""A task store for agents that the A2A SDK serves: their contexts and tasks are kept here.

    store = ContextTaskStore("clerk", AsyncContextClient())
    handler = DefaultRequestHandler(
        agent_executor, store, agent_card, request_context_builder=store.request_context_builder()
    )

The service chooses the ids of the contexts that clients see. Messages and artifacts are stored as ours, so that recall
finds them; other fields of A2A are stored as metadata, so that they come back unchanged.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Literal
from uuid import UUID, uuid5

from a2a.server.agent_execution import RequestContext, SimpleRequestContextBuilder
from a2a.server.context import ServerCallContext
from a2a.server.tasks import TaskStore
from a2a.types.a2a_pb2 import Artifact, ListTasksRequest, ListTasksResponse, Message, Role, SendMessageRequest, Task
from a2a.types.a2a_pb2 import TaskState as TheirState
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict

from contextkeep.adapters._files import entity_of
from contextkeep.adapters._media import Contents, FileCache, contents_in, with_bytes, without_bytes
from contextkeep.adapters._originals import has_secret, is_storable, readable, restored_json, stored_json
from contextkeep.adapters._pieces import NOT_FOUND, Block, Pieces, foreign_texts, is_redacted
from contextkeep.adapters._threads import joined
from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.errors import ContextNotFound, InvalidArgument, RecordExists, RecordNotFound, TaskNotFound
from contextkeep.inputs import ArtifactInput, ContextInput, ExternalId, FileInput, MessageInput, PartInput
from contextkeep.memory_types import MemoryType
from contextkeep.values import Artifact as OurArtifact
from contextkeep.values import ChatMessage, Part, TaskState
from contextkeep.values import Task as OurTask

SYSTEM = "a2a"  # the system of the external id of a context that a client named: agent, user and its name of it
OWNER_SYSTEM = "a2a-user"  # the system of an external id that all contexts of one user of an agent have
_KEY = "a2a"  # key in the metadata, for fields of A2A that our messages, tasks and artifacts do not have
_BEGUN = "begun"  # marks the message that creates a context, and is retracted immediately
_STATES: dict[int, TaskState] = {
    TheirState.TASK_STATE_SUBMITTED: "submitted",
    TheirState.TASK_STATE_WORKING: "working",
    TheirState.TASK_STATE_INPUT_REQUIRED: "input_required",
    TheirState.TASK_STATE_AUTH_REQUIRED: "auth_required",
    TheirState.TASK_STATE_COMPLETED: "completed",
    TheirState.TASK_STATE_FAILED: "failed",
    TheirState.TASK_STATE_CANCELED: "canceled",
    TheirState.TASK_STATE_REJECTED: "rejected",
}
_OF_OTHERS = {"has_data": True}  # the rest of a part with JSON data, also of one that another program wrote
_ENDS = ("completed", "failed", "canceled", "rejected")
_PAGE_SIZE_DEFAULT = 50  # tasks in an answer, if the request does not say
_REMEMBERED_MAX = 1_000  # tasks that are remembered, so that they need not be read before they are written
_WHOLE = "whole"  # key of a part of an artifact that the service cannot store as it is
_WHOLE_BYTES_MAX = 16 * 1024  # of such a part in the metadata; a larger one is a file
_NAME_CHARS_MAX = 200  # characters of an artifact's name
_DESCRIPTION_CHARS_MAX = 1_000


def user_name_of(context: ServerCallContext) -> str:
    """Return the user of a task: the user of the call, or "" for an anonymous call."""
    return str(context.user.user_name)


class ContextTaskStore(TaskStore):
    """A task store of the A2A SDK that keeps tasks as tasks of contexts. Each user of an agent sees its own tasks."""

    def __init__(
        self,
        agent: str,
        client: AsyncContextClient,
        *,
        owner_resolver: Callable[[ServerCallContext], str] = user_name_of,
    ) -> None:
        """Take the name of the agent whose tasks are stored, and a client.

        Args:
            agent: The caller's own name for the agent; another agent has other tasks.
            client: Client of the Context Service; the caller closes it.
            owner_resolver: Returns the user who owns the tasks of a call, as for the SDK's own stores.
        """
        self._agent = agent
        self._client = client
        self._owner_of = owner_resolver
        self._files = FileCache(client)
        self._remembered: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def request_context_builder(self) -> SimpleRequestContextBuilder:
        """Return the builder that makes the SDK's handler create contexts here, with ids of the service."""
        return _RequestContextBuilder(self)

    async def begin_context(self, context: ServerCallContext) -> str:
        """Create a context for the user of a call, and return its id."""
        owner = self._owner_of(context)
        begun = MessageInput(role="system", parts=[PartInput(data={}, metadata=NOT_FOUND)], metadata={_KEY: _BEGUN})
        receipt = await self._client.contexts.send(begun, context=self._about(owner), recall=False)
        await self._client.contexts.retract_messages(receipt.context_id, [receipt.message_id])
        return receipt.context_id

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Store the changes of a task: its new messages, new parts of its artifacts, and its status."""
        owner = self._owner_of(context)
        kept = self._remembered.get((owner, task.id)) or await self._read(task.id, owner)
        if kept is None:
            kept = await self._create(task, owner)
        known = {item.message_id for item in kept.task.history}
        items = [
            _message_input(item, kept.our_id, place)
            for place, item in enumerate(task.history)
            if not item.message_id or item.message_id not in known
        ]
        if items:
            await self._client.contexts.append(items, kept.context_id)
        before = {item.artifact_id: item for item in kept.task.artifacts}
        for artifact in task.artifacts:
            await self._put(artifact, before.get(artifact.artifact_id), kept)
        # The status is written last: the service refuses changes of a task that has ended.
        if task.status != kept.task.status or task.metadata != kept.task.metadata:
            await self._client.tasks.update(
                kept.our_id,
                **_status_of(task, is_new=False),
                metadata={_KEY: stored_json(_about(task))},
                context_id=kept.context_id,
            )
        copied = Task()
        copied.CopyFrom(task)
        self._remember(owner, dataclasses.replace(kept, task=copied))

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        """Return a task with its messages and artifacts; None if the user has none with this id."""
        owner = self._owner_of(context)
        kept = await self._read(task_id, owner)
        if kept is None:
            return None
        self._remember(owner, kept)
        copied = Task()
        copied.CopyFrom(kept.task)
        return copied

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return a page of the caller's tasks, most recently changed first."""
        owner = self._owner_of(context)
        our_ids = await self._ids_by_task(owner)
        items: list[tuple[int, str]] = []
        for context_id in await self._contexts(params.context_id, owner):
            try:
                async for task in self._client.tasks.list(context_id):
                    a2a_task = restored_json(task.metadata.get(_KEY)) or {}
                    if our_ids.get(a2a_task.get("id", "")) != task.task_id:
                        continue
                    status = ParseDict(a2a_task, Task()).status
                    changed_ns = status.timestamp.ToNanoseconds() if status.HasField("timestamp") else -1
                    if params.HasField("status_timestamp_after") and (
                        changed_ns < 0 or changed_ns < params.status_timestamp_after.ToNanoseconds()
                    ):
                        continue
                    if not params.status or status.state == params.status:
                        items.append((changed_ns, a2a_task["id"]))
            except ContextNotFound:
                continue  # deleted meanwhile
        items.sort(reverse=True)
        remaining = [item for item in items if item < _place_of(params.page_token)] if params.page_token else items
        page_size = params.page_size or _PAGE_SIZE_DEFAULT
        page = remaining[:page_size]
        tasks = [kept.task for _, task_id in page if (kept := await self._read(task_id, owner))]
        return ListTasksResponse(
            tasks=tasks,
            total_size=len(items),
            page_size=page_size,
            next_page_token=_token_of(page[-1]) if len(remaining) > len(page) else "",
        )

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Delete a task: its id is not found any more, and its messages are hidden."""
        owner = self._owner_of(context)
        self._remembered.pop((owner, task_id), None)
        try:
            record = await self._client.records.get(self._record_id(owner, task_id))
        except RecordNotFound:
            return
        where = record.content
        try:
            history = (await self._client.tasks.get(where["task_id"], context_id=where["context_id"])).messages
            if history:
                await self._client.contexts.retract_messages(where["context_id"], [item.message_id for item in history])
        except (TaskNotFound, ContextNotFound):
            pass  # it went with its context
        await self._client.records.delete(record.working_memory_id, purge=True)

    async def context_of(self, task_id: str, context: ServerCallContext) -> str | None:
        """Return the id of a task's context, as clients know it; None if the user has no such task."""
        kept = await self._read(task_id, self._owner_of(context))
        return None if kept is None else str(kept.task.context_id)

    async def _create(self, task: Task, owner: str) -> _Kept:
        """Create a task and the record that maps its A2A id to ours, and return the stored state of the task.

        If another call has created it meanwhile, return that one.
        """
        context_id = await self._context_for(task.context_id, owner)
        has_ended = _STATES.get(task.status.state) in _ENDS  # then `save` writes the status last
        # The request id is derived from the task's id. So if two calls create a task at the same time, there is one.
        result = await self._client.tasks.create(
            context_id,
            **({} if has_ended else _status_of(task, is_new=True)),
            metadata={_KEY: stored_json(_about(task))},
            request_id=self._record_id(owner, task.id),
        )
        try:
            await self._client.records.insert(
                MemoryType.JSON,
                task.id,
                content={"context_id": context_id, "task_id": result.task_id},
                working_memory_id=self._record_id(owner, task.id),
                entity_node_id=self._entity(owner),
                semantic_purpose="task",
            )
        except RecordExists:
            kept = await self._read(task.id, owner)
            if kept is not None:
                return kept
            raise
        known = Task(id=task.id, context_id=task.context_id, metadata=task.metadata)
        if not has_ended:
            known.status.CopyFrom(task.status)
        return _Kept(task=known, our_id=result.task_id, context_id=context_id)

    async def _read(self, task_id: str, owner: str) -> _Kept | None:
        """Return the stored state of a task, with messages and artifacts; None if the user has no such task."""
        try:
            where = (await self._client.records.get(self._record_id(owner, task_id))).content
            result = await self._client.tasks.get(where["task_id"], context_id=where["context_id"])
            artifacts = [
                await self._client.artifacts.get(artifact.task_id, artifact.artifact_id, context_id=artifact.context_id)
                for artifact in result.artifacts
            ]
        except (RecordNotFound, TaskNotFound, ContextNotFound):
            return None
        parts = [part for message in result.messages for part in message.parts]
        parts += [part for artifact in artifacts for part in artifact.parts]
        task = _task_of(result.task, result.messages, artifacts, await self._files.contents_of_parts(parts))
        return _Kept(task=task, our_id=result.task.task_id, context_id=result.task.context_id)

    async def _put(self, artifact: Artifact, before: Artifact | None, kept: _Kept) -> None:
        """Store an artifact. If only parts were added to the stored one, append these parts."""
        if artifact == before:
            return
        known = 0 if before is None else len(before.parts)
        is_longer = before is not None and _header(before) == _header(artifact)
        is_longer = is_longer and list(artifact.parts)[:known] == list(before.parts if before else ())
        result = await self._artifact_input(artifact, first=known if is_longer else 0)
        await self._client.artifacts.put(kept.our_id, result, append=is_longer, context_id=kept.context_id)

    async def _artifact_input(self, artifact: Artifact, *, first: int) -> ArtifactInput:
        """Convert an A2A artifact from part `first` on; A2A's fields that our parts lack go into their metadata."""
        parts = [await self._artifact_part(MessageToDict(item)) for item in artifact.parts[first:]]
        if not parts:
            parts = [PartInput(data={}, metadata=NOT_FOUND | {_KEY: None})]  # our artifacts need at least one part
        return ArtifactInput(
            parts,
            artifact_id=artifact.artifact_id,
            name=readable(artifact.name[:_NAME_CHARS_MAX]),
            description=readable(artifact.description[:_DESCRIPTION_CHARS_MAX]),
            metadata={_KEY: stored_json(_header(artifact))},
        )

    async def _artifact_part(self, block: Block) -> PartInput:
        """Return our part for a part of an artifact.

        Its file is uploaded first: parts of artifacts name records. So is a whole part that the service cannot store.
        """
        if has_secret(block):
            part, rest = _piece(readable(block))
            return dataclasses.replace(part, metadata={**(part.metadata or {}), _KEY: rest})
        bare, files = without_bytes(block)
        if len(files) == 1 and is_storable(bare):
            return PartInput(file=await self._uploaded(files[0]), metadata={_KEY: bare})
        if is_storable(block):
            part, rest = _piece(block)
            return dataclasses.replace(part, metadata={**(part.metadata or {}), _KEY: rest})
        data = json.dumps(block).encode()
        if len(data) <= _WHOLE_BYTES_MAX:
            part, _ = _piece(readable(block))
            return dataclasses.replace(part, metadata={**(part.metadata or {}), _KEY: {_WHOLE: stored_json(block)}})
        file = FileInput(data=data, media_type="application/json", name="part.json")
        return PartInput(file=await self._uploaded(file), metadata={_KEY: {_WHOLE: None}})

    async def _uploaded(self, file: FileInput) -> FileInput:
        """Store the bytes of a file, and return the file with the id of its record."""
        assert isinstance(file.data, bytes), "its base64 was decoded"
        record = await self._client.blobs.upload(file.data, name=file.name or "file", content_type=file.media_type)
        return FileInput(working_memory_id=record.working_memory_id, media_type=file.media_type, name=file.name)

    async def _context_for(self, context_id: str, owner: str) -> str:
        """Return the id of the context that a client names, and create the context if it is new."""
        existing_ids = await self._contexts(context_id, owner)
        if existing_ids:
            return existing_ids[0]
        # The service creates a context with its first message; it has no content, so it is hidden at once.
        first = MessageInput(role="system", parts=[PartInput(data={}, metadata=NOT_FOUND)], metadata={_KEY: _BEGUN})
        receipt = await self._client.contexts.send(
            first, get_or_create=self._name(context_id, owner), context=self._about(owner), recall=False
        )
        await self._client.contexts.retract_messages(receipt.context_id, [receipt.message_id])
        return receipt.context_id

    async def _contexts(self, context_id: str, owner: str) -> _Ids:
        """Return the ids of all contexts of a user, or only of the one that `context_id` names.

        `context_id` may be an id of the service or a client's own name. The id of a context of another agent or user is
        treated as a name, even if the key could read that context.
        """
        if not context_id:
            contexts = self._client.contexts.get_by_external_id(self._owner(owner), page_size=500)
            return [item.context_id async for item in contexts]
        try:
            context = (await self._client.contexts.get(context_id, history_length=0)).context
            if self._owner(owner) in context.external_ids:
                return [context.context_id]
        except (ContextNotFound, InvalidArgument):
            pass
        contexts = self._client.contexts.get_by_external_id(self._name(context_id, owner))
        return [item.context_id async for item in contexts]

    async def _ids_by_task(self, owner: str) -> dict[str, str]:
        """Return our ids of a user's tasks, by their A2A ids."""
        records = self._client.records.list_by_entity(
            self._entity(owner), semantic_purposes=["task"], with_content=True, page_size=1_000
        )
        return {record.name: record.content["task_id"] async for record in records}

    def _remember(self, owner: str, kept: _Kept) -> None:
        """Cache the stored state of a task, and drop the tasks that were used longest ago."""
        self._remembered[owner, kept.task.id] = kept
        self._remembered.move_to_end((owner, kept.task.id))
        while len(self._remembered) > _REMEMBERED_MAX:
            self._remembered.popitem(last=False)

    def _about(self, owner: str) -> ContextInput:
        return ContextInput(external_ids=[self._owner(owner)])

    def _owner(self, owner: str) -> ExternalId:
        return ExternalId(OWNER_SYSTEM, joined(self._agent, owner))

    def _name(self, context_id: str, owner: str) -> ExternalId:
        return ExternalId(SYSTEM, joined(self._agent, owner, context_id))

    def _entity(self, owner: str) -> str:
        return entity_of(joined(self._agent, owner), system=OWNER_SYSTEM)

    def _record_id(self, owner: str, task_id: str) -> UUID:
        return uuid5(UUID(self._entity(owner)), task_id)


_Ids = list[str]  # a name of its own, since `list` is a method within the class


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The stored state of a task."""

    task: Task
    our_id: str  # id of the task in the service
    context_id: str  # id of the context in the service; the task has the client's name for it


class _RequestContextBuilder(SimpleRequestContextBuilder):
    """Creates a context for a message that names none, so that the service chooses its id."""

    def __init__(self, store: ContextTaskStore) -> None:
        super().__init__(should_populate_referred_tasks=True, task_store=store)
        self._store = store

    async def build(
        self,
        context: ServerCallContext,
        params: SendMessageRequest | None = None,
        task_id: str | None = None,
        context_id: str | None = None,
        task: Task | None = None,
    ) -> RequestContext:
        """Build the context of a request as the SDK does, but create a context first if the message names none."""
        if params is not None and not (context_id or params.message.context_id):
            known = await self._store.context_of(task_id, context) if task_id else None
            context_id = known or await self._store.begin_context(context)
        return await super().build(context, params, task_id, context_id, task)


def _status_of(task: Task, *, is_new: bool) -> dict[str, Any]:
    """Return the arguments `state` and `status_message` of `tasks.update` and `tasks.create` for a task's status."""
    state = _STATES.get(task.status.state, "submitted")
    if state == "submitted" and not is_new:
        state = "working"  # our tasks cannot return to "submitted"
    result = _message_input(task.status.message, None, 0) if task.status.HasField("message") else None
    return {"state": state, "status_message": result}


def _about(task: Task) -> dict[str, Any]:
    """Return the fields of a task for the metadata: all but its messages and artifacts, which are stored separately."""
    values: dict[str, Any] = MessageToDict(task)
    values.pop("history", None)
    values.pop("artifacts", None)
    values.get("status", {}).pop("message", None)
    return values


def _task_of(
    task: OurTask, history: Iterable[ChatMessage], artifacts: Iterable[OurArtifact], contents: Contents
) -> Task:
    """Return the A2A task of one of our tasks, with its messages and artifacts."""
    result: Task = ParseDict(restored_json(task.metadata[_KEY]), Task())
    for message in history:
        result.history.append(_message_of(message, result, contents))
    for artifact in artifacts:
        result.artifacts.append(_artifact_of(artifact, contents))
    if task.status_message is not None:
        result.status.message.CopyFrom(_message_of(task.status_message, result, contents))
    return result


def _message_input(message: Message, task_id: str | None, place: int) -> MessageInput:
    """Return our message for a message of A2A.

    Args:
        message: The message.
        task_id: Our id of its task; None for the message of a status.
        place: Its position in the task's history, which identifies it if it has no id.
    """
    values: dict[str, Any] = MessageToDict(message)
    blocks = values.pop("parts", [])
    role: Literal["user", "assistant"] = "user" if message.role == Role.ROLE_USER else "assistant"
    if task_id is None:  # the message of a status is not stored in the context's log: it needs no id, and has no files
        return _STATUS_WORDS.message(values, blocks, role=role)
    result = _WORDS.message(values, blocks, role=role)
    # The id begins with the task's: another task may have a message with the same id.
    ours = f"{task_id}/{message.message_id or place}"[:200]
    return dataclasses.replace(result, message_id=ours, task_id=task_id)


def _message_of(message: ChatMessage, task: Task, contents: Contents) -> Message:
    """Return the A2A message of one of our messages, unchanged if this adapter wrote it."""
    result = _WORDS.rest(message, contents)
    if result is None:  # another program wrote it
        role = "ROLE_USER" if message.role == "user" else "ROLE_AGENT"
        result = {"messageId": message.message_id, "role": role, "contextId": task.context_id, "taskId": task.id}
        return ParseDict(result | {"parts": [{"text": foreign_texts(message)}]}, Message())
    return ParseDict(result | {"parts": _WORDS.blocks(message, contents)}, Message())


def _header(artifact: Artifact) -> dict[str, Any]:
    values: dict[str, Any] = MessageToDict(artifact)
    values.pop("parts", None)
    return values


def _artifact_of(artifact: OurArtifact, contents: Contents) -> Artifact:
    """Return the A2A artifact of an artifact of the service."""
    result = restored_json(artifact.metadata.get(_KEY))
    if not isinstance(result, dict):  # another program wrote it
        result = {"artifactId": artifact.artifact_id, "name": artifact.name, "description": artifact.description}
    lefts = [(part, part.metadata.get(_KEY, _OF_OTHERS)) for part in artifact.parts]
    blocks = [_artifact_block(part, left, contents) for part, left in lefts if left is not None]
    return ParseDict(result | {"parts": blocks}, Artifact())


def _artifact_block(part: Part, left: Block, contents: Contents) -> Block:
    """Return the part of an A2A artifact that `_artifact_part` converted."""
    files = contents_in(part, contents)
    if _WHOLE in left:
        block: Block = json.loads(files[0] or b'{"text": ""}') if files else restored_json(left[_WHOLE])
        return block
    return dict(with_bytes(left, files)) if part.kind == "file" else _block(part, left)


def _piece(block: Block) -> tuple[PartInput, Block]:
    """Return our part for a part of A2A, and the rest of that part. The metadata are kept: they may mark a secret."""
    metadata: Block = block.get("metadata", {})
    match block:
        case {"text": str(text)} if text:
            del block["text"]
            return PartInput(text=text, metadata=metadata), block
        case {"url": str(url)} if url and not url.startswith("data:"):
            del block["url"]
            return PartInput(url=url, media_type=block.get("mediaType", ""), metadata=metadata), block
        case {"data": data} if data is not None:
            del block["data"]
            return PartInput(data=data, metadata=metadata), {**block, **_OF_OTHERS}
    return PartInput(data=block, metadata=metadata | NOT_FOUND), {}


def _block(part: Part, left: Block) -> Block:
    """Return the A2A part of one of our parts, from `_piece` or from another program, and its rest."""
    if is_redacted(part):
        return {"text": "[redacted]"}
    if part.kind == "text":
        return {**left, "text": part.text}
    if part.kind == "url":
        return {**left, "url": part.url}
    if part.kind == "data_json":
        rest = {key: value for key, value in left.items() if key != "has_data"}
        return {**rest, "data": part.data} if "has_data" in left else part.data
    return {"text": ""}


_WORDS = Pieces(_KEY, part_of=_piece, block_of=_block, has_files=True)
_STATUS_WORDS = Pieces(_KEY, part_of=_piece, block_of=_block)


def _token_of(place: tuple[int, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _place_of(token: str) -> tuple[int, str]:
    """Return the position of the task after which a page begins: when it changed, and its id.

    Raises:
        InvalidParamsError: the token is malformed.
    """
    try:
        changed, task_id = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, TypeError, binascii.Error) as error:
        raise InvalidParamsError(f"Invalid page token: {token}") from error
    if not isinstance(changed, int) or not isinstance(task_id, str):
        raise InvalidParamsError(f"Invalid page token: {token}")
    return changed, task_id
