"""Requests about contexts, from Python values; as `_messages`, what cannot travel is refused here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypedDict

from contextkeep.client._messages import (
    Id,
    built,
    choice,
    ids,
    names_of,
    texts,
    to_id,
    to_json,
    to_object,
    to_timestamp,
)
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
    MessageInput,
    PartInput,
    RecallFilter,
    RecallOptions,
    StateEntryInput,
    ToolCallInput,
    ToolResultInput,
)
from contextkeep.values import Part, Reasoning
from contextkeep.values import TaskState as GivenTaskState

KeyScope = Literal["read", "write"]


_CONTENTS = ("text", "data", "working_memory_id", "url", "tool_call", "tool_result", "reasoning")


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


def context_input(said: ContextInput | None, app_id: str) -> contexts_pb.ContextInput:
    """Return the message for the fields of a new context.

    Args:
        said: None: nothing.
        app_id: The app of the client, used if the context names none.

    Raises:
        InvalidArgument: a value cannot travel.
    """
    said = ContextInput() if said is None else said
    return built(
        contexts_pb.ContextInput,
        "context",
        title=said.title,
        external_ids=_external_ids(said.external_ids),
        metadata_json=to_object("context.metadata_json", said.metadata),
        entity_node_id=to_id(said.entity_node_id),
        app_id=app_id if said.app_id is None else said.app_id,
        agent_bundle_id=said.agent_bundle_id,
        expires_at=to_timestamp("context.expires_at", said.expires_at),
        recall_profile=said.recall_profile,
    )


def context_changes(changes: ContextChanges) -> tuple[contexts_pb.ContextInput, list[str]]:
    """Return the message with the new fields of a context, and the paths of its update mask.

    Raises:
        InvalidArgument: a value cannot travel.
    """
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    mask = sorted("metadata_json" if name == "metadata" else name for name in changes)
    return context_input(ContextInput(**given, app_id=""), ""), mask


def external_id(said: ExternalId | None, *, field: str = "external_id") -> contexts_pb.ExternalId | None:
    """Return the message of an external id; None is none.

    Raises:
        InvalidArgument: it is something else, such as the bare id.
    """
    if said is None:
        return None
    if not isinstance(said, ExternalId):
        raise InvalidArgument(f"{field} is a {type(said).__name__}; an ExternalId(system, id) is wanted", field=field)
    return built(contexts_pb.ExternalId, field, system=said.system, id=said.id)


def message_input(said: MessageInput | str, *, field: str) -> message_pb.MessageInput:
    """Return the message of an input; a text is a message of a user.

    Raises:
        InvalidArgument: it is neither, a part has no content or several, or a value cannot travel.
    """
    if isinstance(said, str):
        said = MessageInput(said)
    if not isinstance(said, MessageInput):
        raise InvalidArgument(f"{field} is a {type(said).__name__}; a MessageInput or a text is wanted", field=field)
    message = built(
        message_pb.MessageInput,
        field,
        message_id=said.message_id,
        role=said.role,
        content=said.content,
        name=said.name,
        agent_id=said.agent_id,
        metadata_json=to_object(f"{field}.metadata_json", said.metadata),
        said_at=to_timestamp(f"{field}.said_at", said.said_at),
        session=said.session,
        task_id=to_id(said.task_id),
        reference_task_ids=ids(f"{field}.reference_task_ids", said.reference_task_ids),
    )
    for place, part in enumerate(_listed(said.parts, "PartInput", field=f"{field}.parts")):
        message.parts.append(_part(part, field=f"{field}.parts[{place}]"))
    return message


def message_inputs(said: Iterable[MessageInput | str]) -> list[message_pb.MessageInput]:
    """Return the messages of several inputs, in order.

    Raises:
        InvalidArgument: it is a single one, or as `message_input`.
    """
    listed = _listed(said, "MessageInput", field="messages")
    return [message_input(item, field=f"messages[{place}]") for place, item in enumerate(listed)]


def recall_for_message(said: RecallOptions | Literal[False] | None) -> contexts_pb.RecallOptions | None:
    """Return the options of recall for a message that is sent. False: nothing; None: the default of the service.

    Raises:
        InvalidArgument: it is something else, or a value cannot travel.
    """
    if said is None:
        return None
    if said is False:
        return contexts_pb.RecallOptions(off=True)
    if not isinstance(said, RecallOptions):
        raise InvalidArgument(
            f"recall is a {type(said).__name__}; RecallOptions(), False or None is wanted", field="recall"
        )
    return recall_options(said, field="recall")


def recall_options(said: RecallOptions, *, field: str = "options") -> contexts_pb.RecallOptions:
    """Return the message for the options of recall.

    Raises:
        InvalidArgument: a value cannot travel.
    """
    return built(
        contexts_pb.RecallOptions,
        field,
        tokens_max=said.tokens_max,
        items_max=said.items_max,
        profile=said.profile,
        not_after_seq=said.not_after_seq,
        filter=recall_filter(said.filter, field=f"{field}.filter"),
        with_features=said.with_features,
    )


def recall_filter(said: RecallFilter | None, *, field: str = "filter") -> contexts_pb.RecallFilter | None:
    """Return the message of a filter of passages, or None.

    Raises:
        InvalidArgument: it is something else, or a value cannot travel.
    """
    if said is None:
        return None
    if not isinstance(said, RecallFilter):
        raise InvalidArgument(f"{field} is a {type(said).__name__}; a RecallFilter is wanted", field=field)
    return built(
        contexts_pb.RecallFilter,
        field,
        roles=texts(f"{field}.roles", said.roles),
        kinds=texts(f"{field}.kinds", said.kinds),
        authors=texts(f"{field}.authors", said.authors),
        said_from=to_timestamp(f"{field}.said_from", said.said_from),
        said_to=to_timestamp(f"{field}.said_to", said.said_to),
        seq_from=said.seq_from,
        seq_to=said.seq_to,
        task_ids=ids(f"{field}.task_ids", said.task_ids),
        entity_node_ids=ids(f"{field}.entity_node_ids", said.entity_node_ids),
    )


def state_entry(said: StateEntryInput, *, field: str) -> windows_pb.StateEntryInput:
    """Return the message of an entry of the state.

    Raises:
        InvalidArgument: it is something else, or a value cannot travel.
    """
    if not isinstance(said, StateEntryInput):
        raise InvalidArgument(f"{field} has a {type(said).__name__}; a StateEntryInput is wanted", field=field)
    named = {"section": said.section, "key": said.key, "text": said.text, "value": said.value}
    return built(windows_pb.StateEntryInput, field, **named)


def state_entry_name(said: StateEntryInput, *, field: str) -> windows_pb.StateEntryName:
    """Return the message that names an entry of the state.

    Raises:
        InvalidArgument: as `state_entry`.
    """
    entry = state_entry(said, field=field)
    return windows_pb.StateEntryName(section=entry.section, key=entry.key, text=entry.text)


def task_status(
    state: GivenTaskState | None, message: MessageInput | str | None, *, field: str = "task.status"
) -> tasks_pb.TaskStatusInput | None:
    """Return the message of a status; None if there is no new status.

    Raises:
        InvalidArgument: there is no such state, a message comes without one, or a value cannot travel.
    """
    if state is None:
        if message is not None:
            raise InvalidArgument("status_message comes with a state", field=f"{field}.message")
        return None
    status = tasks_pb.TaskStatusInput(state=choice(f"{field}.state", state, names_of(tasks_pb.TaskState)))
    if message is not None:
        said = MessageInput(message, role="assistant") if isinstance(message, str) else message
        status.message.CopyFrom(message_input(said, field=f"{field}.message"))
    return status


def artifact_input(said: ArtifactInput | PartInput | str) -> artifacts_pb.ArtifactInput:
    """Return the message of an artifact; a part, or a text, is one of its own.

    Raises:
        InvalidArgument: it is neither, a part has no content or several, or a value cannot travel.
    """
    if isinstance(said, str):
        said = PartInput(text=said)
    if isinstance(said, PartInput):
        said = ArtifactInput([said])
    if not isinstance(said, ArtifactInput):
        raise InvalidArgument(f"artifact is a {type(said).__name__}; an ArtifactInput is wanted", field="artifact")
    message = built(
        artifacts_pb.ArtifactInput,
        "artifact",
        artifact_id=said.artifact_id,
        name=said.name,
        description=said.description,
        metadata_json=to_object("artifact.metadata_json", said.metadata),
    )
    for place, part in enumerate(_listed(said.parts, "PartInput", field="artifact.parts")):
        message.parts.append(_part(part, field=f"artifact.parts[{place}]"))
    return message


def _listed(values: Any, wanted: str, *, field: str) -> Iterable[Any]:
    """Return a list of inputs; a text, which is iterable too, is none.

    Raises:
        InvalidArgument: it is no list.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidArgument(f"{field} is a {type(values).__name__}; a list of {wanted} is wanted", field=field)
    return values


def _external_ids(said: Iterable[ExternalId]) -> list[contexts_pb.ExternalId]:
    field = "context.external_ids"
    listed = _listed(said, "ExternalId", field=field)
    made = (external_id(item, field=f"{field}[{place}]") for place, item in enumerate(listed))
    return [item for item in made if item is not None]


def _part(part: PartInput | Part, *, field: str) -> message_pb.Part:
    if isinstance(part, Part):
        return _read_part(part, field=field)
    if not isinstance(part, PartInput):
        raise InvalidArgument(f"{field} is a {type(part).__name__}; a PartInput is wanted", field=field)
    given = [name for name in _CONTENTS if getattr(part, name) is not None]
    if len(given) != 1:
        said = f"has {' and '.join(given)}; one of them is wanted" if given else "has no content"
        raise InvalidArgument(f"{field} {said}", field=field)
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
    return built(message_pb.ToolCall, field, id=call.id, name=call.name, arguments_json=arguments_json)


def _tool_result(result: ToolResultInput, *, field: str) -> message_pb.ToolResult:
    return built(
        message_pb.ToolResult,
        field,
        tool_call_id=result.tool_call_id,
        content_json="" if result.content is None else to_json(f"{field}.content_json", result.content),
        is_error=result.is_error,
    )


def _reasoning(block: Reasoning, *, field: str) -> message_pb.Reasoning:
    return built(
        message_pb.Reasoning,
        field,
        provider=block.provider,
        data=block.data,
        data_json=block.data_json,
        text=block.text,
    )


def _read_part(part: Part, *, field: str) -> message_pb.Part:
    """Return the message that a part was read from; its JSON stays byte for byte.

    Raises:
        InvalidArgument: The client was too old to read the content of the part.
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
            tool_call_id=result.tool_call_id, content_json=result.content_json, is_error=result.is_error
        )
    elif part.reasoning is not None:
        content = _reasoning(part.reasoning, field=f"{field}.reasoning")
    return built(
        message_pb.Part,
        field,
        **{part.kind: content},
        media_type=part.media_type,
        file_name=part.file_name,
        metadata_json=part.metadata_json,
    )
