"""Requests about contexts, from Python values. Values that cannot be sent are refused here, as in `_messages`."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from mimetypes import guess_type
from pathlib import Path
from typing import Any, Literal, TypedDict

from contextkeep.client._batches import REQUEST_BYTES_MAX
from contextkeep.client._messages import Id, built, choice, converted, names_of, row_id, to_id, to_json, to_object
from contextkeep.context.v1 import artifacts_pb2 as artifacts_pb
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.context.v1 import message_pb2 as message_pb
from contextkeep.context.v1 import tasks_pb2 as tasks_pb
from contextkeep.errors import InvalidArgument
from contextkeep.inputs import (
    ArtifactInput,
    ContextInput,
    ExternalId,
    FileData,
    FileInput,
    MessageInput,
    PartInput,
    RecallFilter,
    RecallOptions,
    StateEntryInput,
    ToolCallInput,
    ToolResultInput,
)
from contextkeep.values import File, LearningMode, ModelUse, Part, Reasoning
from contextkeep.values import TaskState as GivenTaskState

KeyScope = Literal["read", "write"]


_ID_BYTES = 64  # of the id that takes the place of the bytes of a file
_CONTENTS = ("text", "data", "working_memory_id", "url", "tool_call", "tool_result", "reasoning", "file")


class ContextChanges(TypedDict, total=False):
    """The fields that `contexts.update` can change, each as a whole.

    None empties a field; fields that are not given stay.
    """

    title: str | None
    external_ids: Iterable[ExternalId] | None
    metadata: Mapping[str, Any] | None
    entity_node_id: Id | None
    expires_at: datetime | None  # aware
    recall_profile: str | None
    models: ModelUse | None
    is_findable: bool | None
    learning: LearningMode | None


def context_input(context: ContextInput | None, app_id: str) -> contexts_pb.ContextInput:
    """Return the message for the fields of a new context.

    Args:
        context: The fields; None for a context without any.
        app_id: The app of the client, used if the context names none.

    Raises:
        InvalidArgument: a value cannot be sent.
    """
    context = ContextInput() if context is None else context
    app_id = app_id if context.app_id is None else context.app_id
    external_ids = _external_ids(context.external_ids)
    return converted(contexts_pb.ContextInput, "context", context, external_ids=external_ids, app_id=app_id)


def context_changes(changes: ContextChanges) -> tuple[contexts_pb.ContextInput, list[str]]:
    """Return the message with the new fields of a context, and the paths of its update mask.

    Raises:
        InvalidArgument: a value cannot be sent.
    """
    values: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    mask = sorted("metadata_json" if name == "metadata" else name for name in changes)
    return context_input(ContextInput(**values, app_id=""), ""), mask


def external_id(item: ExternalId | None, *, field: str = "external_id") -> contexts_pb.ExternalId | None:
    """Return the message of an external id, or None for None.

    Raises:
        InvalidArgument: `item` is not an `ExternalId`, such as a plain text.
    """
    if item is None:
        return None
    if not isinstance(item, ExternalId):
        raise InvalidArgument(f"{field} must be an ExternalId(system, id) (got {type(item).__name__})", field=field)
    return converted(contexts_pb.ExternalId, field, item)


def message_input(item: MessageInput | str, *, field: str) -> message_pb.MessageInput:
    """Return the message of an input; a plain text becomes a message of a user.

    Raises:
        InvalidArgument: `item` is neither a `MessageInput` nor a text, a part has no content or several, or a value
            cannot be sent.
    """
    if isinstance(item, str):
        item = MessageInput(item)
    if not isinstance(item, MessageInput):
        raise InvalidArgument(f"{field} must be a MessageInput or a text (got {type(item).__name__})", field=field)
    message = converted(message_pb.MessageInput, field, item)
    for place, part in enumerate(_list_of(item.parts, "PartInput", field=f"{field}.parts")):
        message.parts.append(_part(part, field=f"{field}.parts[{place}]"))
    return message


def message_inputs(messages: Iterable[MessageInput | str]) -> list[message_pb.MessageInput]:
    """Return the messages of several inputs, in order.

    Raises:
        InvalidArgument: `messages` is a single message and no list, or an item is refused by `message_input`.
    """
    items = _list_of(messages, "MessageInput", field="messages")
    return [message_input(item, field=f"messages[{place}]") for place, item in enumerate(items)]


def recall_for_message(options: RecallOptions | Literal[False] | None) -> contexts_pb.RecallOptions | None:
    """Return the options of recall for a message to send: False recalls nothing, None takes the service's default.

    Raises:
        InvalidArgument: `options` has another type, or a value cannot be sent.
    """
    if options is None:
        return None
    if options is False:
        return contexts_pb.RecallOptions(off=True)
    if not isinstance(options, RecallOptions):
        raise InvalidArgument(
            f"recall must be RecallOptions(), False or None (got {type(options).__name__})", field="recall"
        )
    return recall_options(options, field="recall")


def recall_options(options: RecallOptions, *, field: str = "options") -> contexts_pb.RecallOptions:
    """Return the message for the options of recall.

    Raises:
        InvalidArgument: a value cannot be sent.
    """
    filter_ = recall_filter(options.filter, field=f"{field}.filter")
    return converted(contexts_pb.RecallOptions, field, options, filter=filter_)


def recall_filter(filter_: RecallFilter | None, *, field: str = "filter") -> contexts_pb.RecallFilter | None:
    """Return the message of a filter of passages (chunks of messages), or None for None.

    Raises:
        InvalidArgument: `filter_` is not a `RecallFilter`, or a value cannot be sent.
    """
    if filter_ is None:
        return None
    if not isinstance(filter_, RecallFilter):
        raise InvalidArgument(f"{field} must be a RecallFilter (got {type(filter_).__name__})", field=field)
    return converted(contexts_pb.RecallFilter, field, filter_)


def state_entry(entry: StateEntryInput, *, field: str) -> windows_pb.StateEntryInput:
    """Return the message of an entry of a window's state.

    Raises:
        InvalidArgument: `entry` is not a `StateEntryInput`, or a value cannot be sent.
    """
    if not isinstance(entry, StateEntryInput):
        raise InvalidArgument(f"{field} must be a StateEntryInput (got {type(entry).__name__})", field=field)
    return converted(windows_pb.StateEntryInput, field, entry)


def state_entry_name(item: StateEntryInput, *, field: str) -> windows_pb.StateEntryName:
    """Return the message that names an entry of a window's state.

    Raises:
        InvalidArgument: as for `state_entry`.
    """
    return converted(windows_pb.StateEntryName, field, state_entry(item, field=field))


def task_status(
    state: GivenTaskState | None, message: MessageInput | str | None, *, field: str = "task.status"
) -> tasks_pb.TaskStatusInput | None:
    """Return the message of a task's new status; None if `state` is None, which changes nothing.

    Raises:
        InvalidArgument: the state is unknown, a message is given without a state, or a value cannot be sent.
    """
    if state is None:
        if message is not None:
            raise InvalidArgument("status_message comes with a state", field=f"{field}.message")
        return None
    status = tasks_pb.TaskStatusInput(state=choice(f"{field}.state", state, names_of(tasks_pb.TaskState)))
    if message is not None:
        result = MessageInput(message, role="assistant") if isinstance(message, str) else message
        status.message.CopyFrom(message_input(result, field=f"{field}.message"))
    return status


def artifact_input(artifact: ArtifactInput | PartInput | str) -> artifacts_pb.ArtifactInput:
    """Return the message of an artifact; a single part, or a text, becomes an artifact with one part.

    Raises:
        InvalidArgument: `artifact` has another type, a part has no content or several, or a value cannot be sent.
    """
    if isinstance(artifact, str):
        artifact = PartInput(text=artifact)
    if isinstance(artifact, PartInput):
        artifact = ArtifactInput([artifact])
    if not isinstance(artifact, ArtifactInput):
        raise InvalidArgument(f"artifact must be an ArtifactInput (got {type(artifact).__name__})", field="artifact")
    message = converted(artifacts_pb.ArtifactInput, "artifact", artifact)
    for place, part in enumerate(_list_of(artifact.parts, "PartInput", field="artifact.parts")):
        message.parts.append(_part(part, field=f"artifact.parts[{place}]"))
    return message


def _list_of(values: Any, wanted: str, *, field: str) -> Iterable[Any]:
    """Return a list of inputs unchanged. A text is refused, although it is iterable.

    Args:
        values: The list, as the caller gave it.
        wanted: Name of the type of its items, for the error.
        field: Path of the field, for the error.

    Raises:
        InvalidArgument: `values` is not iterable, or is a text.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{field} must be a list of {wanted} (got {type(values).__name__})", field=field)
    return values


def _external_ids(external_ids: Iterable[ExternalId]) -> list[contexts_pb.ExternalId]:
    """Return external ids as protobuf."""
    field = "context.external_ids"
    items = _list_of(external_ids, "ExternalId", field=field)
    result = (external_id(item, field=f"{field}[{place}]") for place, item in enumerate(items))
    return [item for item in result if item is not None]


def _part(part: PartInput | Part, *, field: str) -> message_pb.Part:
    """Convert a part to protobuf: a `PartInput`, or a `Part` that was read from the service.

    Raises:
        InvalidArgument: `part` is of neither type, has no content or several, or a value cannot be sent.
    """
    if isinstance(part, Part):
        return _read_part(part, field=field)
    if not isinstance(part, PartInput):
        raise InvalidArgument(f"{field} must be a PartInput (got {type(part).__name__})", field=field)
    contents = [name for name in _CONTENTS if getattr(part, name) is not None]
    if len(contents) != 1:
        problem = f"has {' and '.join(contents)}; set only one of them" if contents else "has no content"
        raise InvalidArgument(f"{field} {problem}", field=field)
    content: dict[str, Any] = {}
    if part.text is not None:
        content["text"] = part.text
    elif part.data is not None:
        content["data_json"] = to_json(f"{field}.data_json", part.data)
    elif part.working_memory_id is not None:
        content["working_memory_id"] = to_id(part.working_memory_id)
    elif part.url is not None:
        content["url"] = part.url
    elif part.tool_call is not None:
        content["tool_call"] = _tool_call(part.tool_call, field=f"{field}.tool_call")
    elif part.tool_result is not None:
        content["tool_result"] = _tool_result(part.tool_result, field=f"{field}.tool_result")
    elif part.reasoning is not None:
        content["reasoning"] = _reasoning(part.reasoning, field=f"{field}.reasoning")
    elif part.file is not None:
        content["file"] = _file(part.file, field=f"{field}.file")
    return built(
        message_pb.Part,
        field,
        **content,
        media_type=part.media_type,
        file_name=part.file_name,
        metadata_json=to_object(f"{field}.metadata_json", part.metadata),
    )


def _tool_call(call: ToolCallInput, *, field: str) -> message_pb.ToolCall:
    arguments = call.arguments
    arguments_json = arguments if isinstance(arguments, str) else to_object(f"{field}.arguments_json", arguments)
    return converted(message_pb.ToolCall, field, call, arguments_json=arguments_json)


def _tool_result(result: ToolResultInput, *, field: str) -> message_pb.ToolResult:
    """Return the result of a tool call as protobuf; `field` names it in errors."""
    content_json = "" if result.content is None else to_json(f"{field}.content_json", result.content)
    files = _files(result.files, field=f"{field}.files")
    return converted(message_pb.ToolResult, field, result, content_json=content_json, files=files)


def _files(files: Iterable[FileInput | File | FileData | str], *, field: str) -> list[message_pb.File]:
    return [_file(file, field=f"{field}[{place}]") for place, file in enumerate(files)]


def _file(file: FileInput | File | FileData | str, *, field: str) -> message_pb.File:
    """Return the message of a file, which the caller made or read from another message.

    Raises:
        InvalidArgument: `file` has another type, or no source or several, or a value cannot be sent.
        OSError: a path cannot be read.
    """
    if isinstance(file, str):
        is_address = file[:8].lower().startswith(("http://", "https://", "data:"))
        file = FileInput(url=file) if is_address else FileInput(data=Path(file))
    elif not isinstance(file, FileInput | File):
        file = FileInput(data=file)
    sources: dict[str, Any] = {}
    name, media_type = file.name, file.media_type
    if isinstance(file, FileInput) and file.data is not None:
        sources["data"], own_name, own_type = _bytes_of(file.data, field=f"{field}.data")
        name, media_type = name or own_name, media_type or own_type
    if file.url:
        sources["url"] = file.url
    if file.working_memory_id:
        sources["working_memory_id"] = to_id(file.working_memory_id)
    if len(sources) != 1:
        text = f"{field} must have one of data, url and working_memory_id (got {' and '.join(sources) or 'none'})"
        raise InvalidArgument(text, field=field)
    return built(message_pb.File, field, **sources, media_type=media_type, name=name, alt=file.alt)


def _bytes_of(data: FileData, *, field: str) -> tuple[bytes, str, str]:
    """Return the bytes of a file, and the name and the media type that its source gives; they may be empty.

    Raises:
        InvalidArgument: `data` has another type.
        OSError: a path cannot be read.
    """
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data), "", ""
    if isinstance(data, os.PathLike):
        path = Path(data)
        return path.read_bytes(), path.name[-200:], guess_type(path.name)[0] or ""
    if hasattr(data, "save") and hasattr(data, "format"):
        image_format = data.format if data.format in ("JPEG", "GIF", "WEBP") else "PNG"
        encoded = io.BytesIO()
        data.save(encoded, format=image_format)
        return encoded.getvalue(), "", f"image/{image_format.lower()}"
    text = f"{field} must be bytes, a path or an image of Pillow (got {type(data).__name__})"
    raise InvalidArgument(text, field=field)


def files_to_upload(request: Any) -> list[tuple[str, message_pb.File]]:
    """Return the files of a request that must be uploaded first because it is too large, the largest ones.

    Each comes with the request id of its upload: a request that is sent again uploads and names the same records.
    """
    surplus = request.ByteSize() - REQUEST_BYTES_MAX
    if surplus <= 0:
        return []
    files = [file for part in _parts_of(request) for file in (*part.tool_result.files, part.file) if file.data]
    chosen: list[tuple[str, message_pb.File]] = []
    for file in sorted(files, key=lambda file: len(file.data), reverse=True):
        if surplus <= 0:
            break
        chosen.append((row_id(request.request_id or None, f"file {len(chosen)}"), file))
        surplus -= len(file.data) - _ID_BYTES
    return chosen


def _parts_of(request: Any) -> list[message_pb.Part]:
    """Return the parts of a request that may have the bytes of files."""
    match request:
        case contexts_pb.SendMessageRequest():
            return list(request.message.parts)
        case contexts_pb.AppendMessagesRequest():
            return [part for message in request.messages for part in message.parts]
        case artifacts_pb.PutArtifactRequest():
            return list(request.artifact.parts)
        case tasks_pb.CreateTaskRequest() | tasks_pb.UpdateTaskRequest():
            return list(request.task.status.message.parts)
    return []


def _reasoning(block: Reasoning, *, field: str) -> message_pb.Reasoning:
    """Return a reasoning block of a model as protobuf; `field` names it in errors."""
    return built(
        message_pb.Reasoning,
        field,
        provider=block.provider,
        data=block.data,
        data_json=block.data_json,
        text=block.text,
    )


def _read_part(part: Part, *, field: str) -> message_pb.Part:
    """Return the message that a part was read from; its JSON is sent unchanged, byte for byte.

    Raises:
        InvalidArgument: the part has a kind of content that this version of the client does not know.
    """
    if not part.kind:
        raise InvalidArgument(f"{field} has no content that this client knows", field=field)
    content: Any = getattr(part, part.kind)
    if part.tool_call is not None:
        call = part.tool_call
        content = message_pb.ToolCall(id=call.id, name=call.name, arguments_json=call.arguments_json)
    elif part.tool_result is not None:
        result = part.tool_result
        content = message_pb.ToolResult(
            tool_call_id=result.tool_call_id,
            content_json=result.content_json,
            is_error=result.is_error,
            files=[_file(file, field=f"{field}.tool_result.files[{place}]") for place, file in enumerate(result.files)],
        )
    elif part.reasoning is not None:
        content = _reasoning(part.reasoning, field=f"{field}.reasoning")
    elif part.file is not None:
        content = _file(part.file, field=f"{field}.file")
    return built(
        message_pb.Part,
        field,
        **{part.kind: content},
        media_type=part.media_type,
        file_name=part.file_name,
        metadata_json=part.metadata_json,
    )
