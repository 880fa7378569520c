"""Requests from Python values: JSON to text, times to timestamps, ids to text.

A value that cannot be sent is refused here, with the error and the field name that the server would give.
"""

from __future__ import annotations

import functools
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from types import SimpleNamespace
from typing import Any, Literal, TypedDict, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep import options_pb2
from contextkeep.client._unsendable import check_text
from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.context.v1 import compiled_pages_pb2 as compiled_pages_pb
from contextkeep.context.v1 import definitions_pb2 as definitions_pb
from contextkeep.context.v1 import knowledge_bases_pb2 as bases_pb
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.errors import InvalidArgument
from contextkeep.ids import new_id
from contextkeep.inputs import ConnectedTo, EdgeInput, NodeInput, SampleNode
from contextkeep.slips import meant
from contextkeep.values import BlobEntry, Direction, EnvelopeStatus, EnvelopeType, Node, Record

M = TypeVar("M", bound=Message)
_T = TypeVar("_T")
Id = str | uuid.UUID
Role = Literal["user", "assistant", "system", "tool"]

# The values that callers may give: also in upper case, as FireFoundry writes them.
GivenEnvelopeType = EnvelopeType | Literal["STATUS", "MESSAGE", "ERROR", "BOT_PROGRESS", "VALUE", "WAITING"]
GivenEnvelopeStatus = EnvelopeStatus | Literal["", "STARTED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"]

# Names a blob: by a record, by a record's id, or by the blob's key.
BlobName = Id | Record | BlobEntry

ROLES: dict[str, str] = {role: role for role in ("user", "assistant", "system", "tool")}


class NotGiven(Enum):
    """Marks an argument that was not given, where None means JSON's null."""

    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN = NotGiven.NOT_GIVEN

_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_encoded_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # takes half the time
_TEXT = FieldDescriptor.TYPE_STRING
_NODE_TEXTS = (
    "external_id",
    "graph_name",
    "agent_bundle_id",
    "general_type_name",
    "specific_type_name",
    "name",
    "status",
)
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)


class BlobNameFields(TypedDict, total=False):
    """The fields of a request that name a blob: one of them."""

    working_memory_id: str
    blob_key: str


class ByExternalId(TypedDict, total=False):
    """Names a node by the caller's own id, in the place of its id."""

    external_id: str
    graph_name: str  # graph to look the external id up in; empty for "default"


class RecordFields(TypedDict, total=False):
    """Fields of a working memory record, besides its content, its name and its memory type."""

    entity_node_id: Id | None  # need not exist yet
    subtype: str
    semantic_purpose: str
    description: str
    reasoning: str
    content_type: str  # empty: guessed from the name
    metadata: Mapping[str, Any] | None  # up to 64 KiB of JSON
    tags: Sequence[str]
    graph_name: str  # empty: "default"
    agent_bundle_id: str
    app_id: str  # not given: the client's
    expires_at: datetime | None  # aware
    embedding: Sequence[float] | None  # 1,536 values, made by the caller from the record's text
    embedding_model: str


class LimitChanges(TypedDict, total=False):
    """Limits of a tenant; None restores the limit of the settings."""

    records_max: int | None
    bytes_max: int | None
    blob_bytes_max: int | None
    content_bytes_max: int | None


class RecordChanges(RecordFields, total=False):
    """The fields that `records.update` can change; fields that are not given stay."""

    memory_type: str
    name: str
    content: Any  # any JSON value
    content_json: str  # the same as JSON text, kept byte for byte
    content_text: str  # plain text instead


def to_json(field: str, value: object) -> str:
    """Return the JSON text of a value.

    Raises:
        InvalidArgument: the value contains NaN, infinity, a lone surrogate, itself, or a type that JSON does not have.
    """
    try:
        if _is_ascii(value):
            return _encoded_ascii(value)
        text = _encoded(value)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"{field} cannot be written as JSON: {error}", field=field) from None
    return text


def _is_ascii(value: object) -> bool:
    """Say whether a value is a dict of ASCII texts only, as many messages are: such a dict is encoded faster."""
    if not isinstance(value, dict):
        return False
    for name, text in value.items():
        if type(name) is not str or type(text) is not str or not name.isascii() or not text.isascii():
            return False
    return True


def to_object(field: str, value: Mapping[str, Any] | None) -> str:
    """Return the JSON text of an object; for None an empty text, which the server reads as an empty object.

    Raises:
        InvalidArgument: `value` is not a mapping, or `to_json` refuses it.
    """
    if value is None:
        return ""
    if isinstance(value, dict):
        return to_json(field, value)
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"{field} must be a dict, for a JSON object (got {type(value).__name__})", field=field)
    return to_json(field, dict(value))


def to_timestamp(field: str, value: datetime | None) -> Timestamp | None:
    """Return the timestamp of an aware datetime, or None for None.

    Raises:
        InvalidArgument: as for `given_timestamp`.
    """
    return None if value is None else given_timestamp(field, value)


def given_timestamp(field: str, value: datetime) -> Timestamp:
    """Return the timestamp of an aware datetime.

    Raises:
        InvalidArgument: `value` is not a datetime, has no time zone, or is out of range.
    """
    if not isinstance(value, datetime):
        raise InvalidArgument(
            f"{field} must be a datetime with a zone, such as datetime.now(UTC) + timedelta(days=1) (got {value!r})",
            field=field,
        )
    if value.tzinfo is None:
        raise InvalidArgument(f"{field} has no time zone; use datetime.now(UTC) or .replace(tzinfo=...)", field=field)
    timestamp = Timestamp()
    try:
        timestamp.FromDatetime(value)
    except (OverflowError, ValueError) as error:
        raise InvalidArgument(f"{field} is {value}, which is no time in UTC: {error}", field=field) from None
    return timestamp


def to_id(value: object) -> str:
    """Return an `Id` as text, or an empty text for None.

    Raises:
        InvalidArgument: `value` is neither a text nor a UUID.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, uuid.UUID):
        return str(value)
    named = next((f": give its {name}" for name in ("working_memory_id", "id") if hasattr(value, name)), "")
    raise InvalidArgument(f"an id is a text or a UUID, not {type(value).__name__}{named}")


def given_node_id(node_id: object, external_id: str = "", graph_name: str = "", *, field: str = "node_id") -> str:
    """Return the id of a node as text; an empty text if the caller names the node by its external id.

    Raises:
        InvalidArgument: both ids are given or none, or a graph is given without an external id.
    """
    if (node_id is None) == (not external_id):
        text = "not both" if external_id else "one of them is needed"
        raise InvalidArgument(f"give {field} or external_id; {text}", field=field)
    if graph_name and not external_id:
        raise InvalidArgument(
            "graph_name needs external_id: it is the graph in which an external_id is looked up", field="graph_name"
        )
    return to_id(node_id)


def built(kind: type[M], place: str, **fields: Any) -> M:
    """Return a message with these fields.

    Args:
        kind: Class of the message.
        place: Path of the message in its request, for errors.
        **fields: Values of the fields.

    Raises:
        InvalidArgument: a field has a value of another type, such as a number instead of a text, or a text that cannot
            be sent.
    """
    try:
        return kind(**fields)
    except UnicodeEncodeError:
        for name, value in fields.items():
            check_text(f"{place}.{name}", value)
        raise
    except TypeError:
        for name, value in fields.items():
            try:
                kind(**{name: value})
            except TypeError as error:
                is_text = kind.DESCRIPTOR.fields_by_name[name].type == _TEXT
                problem = "must be a text" if is_text else f"is not valid: {error}"
                path = f"{place}.{name}"
                raise InvalidArgument(f"{path} {problem} (got {type(value).__name__})", field=path) from None
        raise


def converted(kind: type[M], place: str, value: object, **given: Any) -> M:
    """Return a message with the attributes of a value that have the names of its fields.

    The field tells how: `metadata_json` is the JSON of `metadata`; times, ids, lists and names of enums are converted.
    `given` has the fields that are messages, and those that need another conversion.

    Args:
        kind: Class of the message.
        place: Path of the message in its request, for errors.
        value: The caller's value. An attribute that it lacks stays unset.
        **given: Values of fields that are not taken from `value`.

    Raises:
        InvalidArgument: an attribute cannot be sent.
    """
    for name, (attribute, convert) in _conversions(kind.DESCRIPTOR).items():
        if name not in given and hasattr(value, attribute):
            given[name] = convert(f"{place}.{name}", getattr(value, attribute))
    return built(kind, place, **given)


@functools.cache
def _conversions(descriptor: Any) -> Mapping[str, tuple[str, Callable[[str, Any], Any]]]:
    """Return for each field of a message the attribute that it is taken from, and what converts it."""
    conversions: dict[str, tuple[str, Callable[[str, Any], Any]]] = {}
    for field in descriptor.fields:
        convert: Callable[[str, Any], Any] = _unchanged
        if field.message_type is not None:
            if field.message_type.full_name != Timestamp.DESCRIPTOR.full_name:
                continue
            convert = to_timestamp
        elif field.enum_type is not None:
            convert = functools.partial(choice_of, enum=EnumTypeWrapper(field.enum_type))
        elif field.name.endswith("_json"):
            convert = to_object
        elif field.name.endswith(("_id", "_ids")) and field.GetOptions().Extensions[options_pb2.rule].id:
            convert = ids if field.is_repeated else _one_id
        elif field.is_repeated:
            convert = texts
        conversions[field.name] = (field.name.removesuffix("_json"), convert)
    return conversions


def _unchanged(_: str, value: object) -> object:
    return value


def _one_id(_: str, value: object) -> str:
    return to_id(value)


def new_request_id(request_id: Id | None) -> str:
    """Return the caller's request id, or a new one, so that each write has an id and can be repeated safely."""
    return str(uuid.uuid4() if request_id is None else request_id)


def fill_node(message: graph_pb.NodeInput, node: NodeInput, *, field: str = "node") -> None:
    """Set the fields of a new node.

    `graph.write` does this a thousand times. So unset fields must cost nothing, and values are checked only if protobuf
    refuses one.
    """
    try:
        _fill_node(message, node, field)
    except (TypeError, UnicodeEncodeError):
        built(graph_pb.NodeInput, field, **{name: getattr(node, name) for name in _NODE_TEXTS})
        raise


def _fill_node(message: graph_pb.NodeInput, node: NodeInput, field: str) -> None:
    """Set the fields of a new node that are not empty; protobuf raises an error for a value of a wrong type."""
    message.id = to_id(node.id)
    if node.external_id:
        message.external_id = node.external_id
    if node.graph_name:
        message.graph_name = node.graph_name
    if node.agent_bundle_id:
        message.agent_bundle_id = node.agent_bundle_id
    if node.general_type_name:
        message.general_type_name = node.general_type_name
    if node.specific_type_name:
        message.specific_type_name = node.specific_type_name
    if node.name:
        message.name = node.name
    if node.status:
        message.status = node.status
    if node.data is not None:
        message.data_json = to_object(f"{field}.data_json", node.data)
    if node.created_at is not None:
        message.created_at.MergeFrom(given_timestamp(f"{field}.created_at", node.created_at))


def fill_edge(message: graph_pb.EdgeInput, edge: EdgeInput, *, field: str = "edge") -> None:
    """Set the fields of a new edge."""
    message.id = to_id(edge.id)
    message.from_node_id = to_id(edge.from_node_id)
    message.to_node_id = to_id(edge.to_node_id)
    try:
        if edge.graph_name:
            message.graph_name = edge.graph_name
        if edge.edge_type:
            message.edge_type = edge.edge_type
    except (TypeError, UnicodeEncodeError):
        built(graph_pb.EdgeInput, field, graph_name=edge.graph_name, edge_type=edge.edge_type)
        raise
    if edge.data is not None:
        message.data_json = to_object(f"{field}.data_json", edge.data)
    if edge.created_at is not None:
        message.created_at.MergeFrom(given_timestamp(f"{field}.created_at", edge.created_at))


def appended_message(
    session_id: str,
    role: str,
    content: str,
    *,
    create_as: str,
    graph_name: str,
    data: Mapping[str, Any] | None,
    created_at: datetime | None,
    request_id: Id | None,
) -> graph_pb.WriteGraphRequest:
    """Return the request that writes a message below its session: its last node is the message, its edge joins both.

    Args:
        session_id: Id of the session's node; empty with `create_as`.
        role: One of `ROLES`.
        content: Text of the message, which must not be empty.
        create_as: External id of a session that is written first, unless it exists. Empty writes no session.
        graph_name: Graph of the session and the message.
        data: Fields of the message's data, besides role and content.
        created_at: Time of the message.
        request_id: Idempotency key. The ids of the rows are derived from it, so that a repeat by another process writes
            the same rows.

    Raises:
        InvalidArgument: the session's id, the role or the content is wrong, or a value cannot be sent.
    """
    if not create_as and not _UUID.fullmatch(session_id):
        raise InvalidArgument(
            f"session is {session_id!r}, not a UUID; your own id of it is its external_id", field="session"
        )
    role = choice("role", role, ROLES)
    if not isinstance(content, str) or not content:
        raise InvalidArgument(
            "content must be a text that is not empty: a history leaves out empty messages", field="content"
        )
    request = graph_pb.WriteGraphRequest(request_id=new_request_id(request_id))
    if create_as:
        request.on_existing = graph_pb.ON_EXISTING_SKIP
        session_id = row_id(request_id, "session")
        session = NodeInput("Session", id=session_id, external_id=create_as, graph_name=graph_name)
        fill_node(request.nodes.add(), session, field="nodes[0]")
    message = NodeInput(
        "Message",
        id=row_id(request_id, "message"),
        graph_name=graph_name,
        data={**(data or {}), "role": role, "content": content},
        created_at=created_at,
    )
    fill_node(request.nodes.add(), message, field=f"nodes[{len(request.nodes) - 1}]")
    edge = EdgeInput(session_id, message.id, "Contains", id=row_id(request_id, "edge"), graph_name=graph_name)
    fill_edge(request.edges.add(), edge)
    return request


def row_id(request_id: Id | None, row: str) -> str:
    """Return an id for a row: derived from the request id and the name of the row, or random without a request id.

    Raises:
        InvalidArgument: the request id is not a UUID.
    """
    if request_id is None:
        return new_id()
    try:
        return str(uuid.uuid5(uuid.UUID(str(request_id)), row))
    except ValueError:
        raise InvalidArgument(f"request_id is {str(request_id)!r}, not a UUID", field="request_id") from None


def choice(field: str, value: str, choices: Mapping[str, Any]) -> Any:
    """Return the value of a name in `choices`; the name may be in upper or lower case.

    Raises:
        InvalidArgument: the name is not one of `choices`.
    """
    try:
        return choices[value.lower()]
    except (KeyError, AttributeError):
        raise InvalidArgument(f"{field} is {value!r}, not one of {', '.join(choices)}", field=field) from None


def choice_of(field: str, value: str | None, enum: Any) -> Any:
    """Return the number of a name of an enum; None for None or an empty text.

    Args:
        field: The field's path, for the error.
        value: The name without the enum's prefix, in any case: "deep" of `QUERY_DEPTH_DEEP`.
        enum: The generated enum.

    Raises:
        InvalidArgument: the enum has no such name.
    """
    return choice(field, value, names_of(enum)) if value else None


def choices_of(field: str, values: Iterable[str], enum: Any) -> list[Any]:
    """Return the numbers of several names of an enum.

    Raises:
        InvalidArgument: the enum does not have one of the names, or `values` is a single text.
    """
    return [choice(field, value, names_of(enum)) for value in texts(field, values)]


@functools.cache
def names_of(enum: Any) -> Mapping[str, int]:
    """Return the numbers of an enum by their names in lower case without prefix; the unspecified value is left out."""
    unspecified, *values = enum.items()
    prefix = unspecified[0].removesuffix("UNSPECIFIED")
    return {name.removeprefix(prefix).lower(): number for name, number in values}


def given(field: str, value: _T | None) -> _T:
    """Return an argument that must be given.

    Raises:
        InvalidArgument: the argument is None.
    """
    if value is None:
        raise InvalidArgument(f"{field} is required", field=field)
    return value


def mask(**changes: Any) -> FieldMask:
    """Return the mask of the fields that change: those with a value."""
    return FieldMask(paths=[name for name, value in changes.items() if value is not None])


def parsed(text: str) -> Any:
    """Return the value of a JSON text."""
    return json.loads(text)


def data_update(replace: bool) -> Any:
    """Return how data changes: replaced, or by a JSON merge patch."""
    return graph_pb.DATA_UPDATE_REPLACE if replace else graph_pb.DATA_UPDATE_MERGE_PATCH


def query_orders(field: str, columns: Iterable[str]) -> list[memory_pb.QueryOrder]:
    """Return the messages of columns to sort by; "-column" sorts in descending order.

    Raises:
        InvalidArgument: the value is a single text, or not a list.
    """
    return [
        memory_pb.QueryOrder(column=column.removeprefix("-"), descending=column.startswith("-"))
        for column in texts(field, columns)
    ]


def bedrock_base(bedrock_id: str, region: str) -> bases_pb.BedrockKnowledgeBase | None:
    """Return the message of a knowledge base of Amazon Bedrock; None if neither its id nor its region is given."""
    if not bedrock_id and not region:
        return None
    return bases_pb.BedrockKnowledgeBase(knowledge_base_id=bedrock_id, region=region)


def texts(field: str, values: Iterable[str]) -> list[str]:
    """Return a list of texts; a single text is refused, although it is iterable.

    Raises:
        InvalidArgument: `values` is a text, or is not iterable.
    """
    if isinstance(values, str):
        raise InvalidArgument(f"{field} must be a list of texts (got one text)", field=field)
    if not isinstance(values, Iterable):
        raise InvalidArgument(f"{field} must be a list of texts (got {values!r})", field=field)
    return [str(value) for value in values]


def ids(field: str, values: Iterable[Id]) -> list[str]:
    """Return a list of ids as texts.

    Raises:
        InvalidArgument: `values` is a single id, or an item is not an id.
    """
    if isinstance(values, str | uuid.UUID):
        raise InvalidArgument(f"{field} must be a list of ids (got one id)", field=field)
    return [to_id(value) for value in values]


def vector(field: str, values: Iterable[float]) -> list[float]:
    """Return the values of a vector.

    Raises:
        InvalidArgument: a value is not a number.
    """
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"{field} must be a list of numbers: {error}", field=field) from None


def traverse_request(
    start: Id | Iterable[Id],
    *,
    edge_types: Iterable[str],
    direction: Direction,
    depth_max: int,
    node_types: Iterable[str],
    include_archived: bool,
    include_start: bool,
    include_io: bool,
    order_path: str,
    descending: bool,
    limit: int,
    after: graph_pb.TraversePosition | None,
    page_token: str,
    node_budget: int,
    columns: Iterable[graph_pb.TraverseColumn],
) -> graph_pb.TraverseRequest:
    """Return the request of a walk; the arguments are those of `traverse`."""
    starts = start if isinstance(start, Iterable) and not isinstance(start, str) else [start]
    return graph_pb.TraverseRequest(
        start_node_ids=[to_id(node_id) for node_id in starts],
        edge_types=texts("edge_types", edge_types),
        direction=choice_of("direction", direction, graph_pb.Direction),
        depth_max=depth_max,
        node_types=texts("node_types", node_types),
        include_archived=include_archived,
        include_start=include_start,
        include_io=include_io,
        order_path=order_path,
        descending=descending,
        limit=limit,
        after=after,
        page_token=page_token,
        node_budget=node_budget,
        columns=columns,
    )


def position(node: Node) -> graph_pb.TraversePosition:
    """Return the place of a node in the order of `created_at`, then `seq`."""
    return graph_pb.TraversePosition(created_at=to_timestamp("after", node.created_at), seq=node.seq)


def node_filter(
    condition: Mapping[str, Any] | None,
    *,
    contains: Mapping[str, Any] | None,
    json_path: str,
    connected_to: ConnectedTo | None,
    agent_bundle_id: str,
    graph_name: str,
    include_archived: bool,
) -> graph_pb.NodeFilter:
    """Return the message of a filter of nodes; the arguments are those of `graph.search`."""
    connected = None
    if connected_to is not None:
        connected = converted(graph_pb.ConnectedTo, "filter.connected_to", connected_to)
    return graph_pb.NodeFilter(
        graph_name=graph_name,
        condition_json=to_object("filter.condition_json", condition),
        contains_json=to_object("filter.contains_json", contains),
        json_path=json_path,
        connected_to=connected,
        agent_bundle_id=agent_bundle_id,
        include_archived=include_archived,
    )


def record_input(
    *,
    content: Any = None,
    content_json: str = "",
    content_text: str = "",
    embedding: Sequence[float] | None = None,
    embedding_model: str = "",
    **fields: Any,
) -> memory_pb.WMRecordInput:
    """Return the message of a record; the arguments are its id and the fields of `RecordChanges`.

    Raises:
        InvalidArgument: content is given twice, or a value cannot be sent.
        TypeError: a record has no such field.
    """
    if content is not None and content_json:
        raise InvalidArgument("give content or content_json, not both", field="record.content_json")
    if content_text and (content is not None or content_json):
        raise InvalidArgument("give content_text or JSON, not both", field="record.content_text")
    if unknown := fields.keys() - {
        attribute for attribute, _ in _conversions(memory_pb.WMRecordInput.DESCRIPTOR).values()
    }:
        raise TypeError(f"a record has no field {min(unknown)!r}")
    result = None
    if embedding is not None:
        result = memory_pb.Embedding(values=vector("record.embedding", embedding), model=embedding_model)
    return converted(
        memory_pb.WMRecordInput,
        "record",
        SimpleNamespace(**fields),
        content_json=content_json if content is None else to_json("record.content_json", content),
        content_text=content_text,
        embedding=result,
    )


def with_app(app_id: str, fields: RecordFields) -> RecordFields:
    """Return the fields of a record with `app_id` as its app, unless they name an app."""
    return {"app_id": app_id, **fields}


def record_mask(changes: Iterable[str]) -> list[str]:
    """Return the paths of an update mask for the given fields of `RecordChanges`."""
    paths = {"metadata": "metadata_json", "content": "content_json", "embedding_model": "embedding"}
    return sorted({paths.get(change, change) for change in changes})


def mapping_rules(rules: Mapping[str, Any]) -> history_pb.MappingRules:
    """Return the message of a mapping's rules.

    Raises:
        InvalidArgument: a rule has no such field, or a value of another type.
    """
    _check_form("rules", history_pb.MappingRules.DESCRIPTOR, rules)
    try:
        return ParseDict(dict(rules), history_pb.MappingRules())
    except (ParseError, TypeError, ValueError) as error:
        raise InvalidArgument(f"rules cannot be read: {error}", field="rules") from None


def definition_rules(rules: Mapping[str, Any]) -> definitions_pb.DefinitionRules:
    """Return the message of a definition's rules. In rules, the kind of a facet is a word, such as "operational".

    Raises:
        InvalidArgument: the rules have an unknown field, or a value of another type.
    """
    _check_form("rules", definitions_pb.DefinitionRules.DESCRIPTOR, rules)
    values = dict(rules)
    if values.get("facets"):
        values["facets"] = [{**item, "kind": _facet_kind(place, item)} for place, item in enumerate(values["facets"])]
    try:
        return ParseDict(values, definitions_pb.DefinitionRules())
    except (ParseError, TypeError, ValueError) as error:
        raise InvalidArgument(f"rules cannot be read: {error}", field="rules") from None


def _facet_kind(place: int, facet: Mapping[str, Any]) -> int:
    return int(choice(f"rules.facets[{place}].kind", facet.get("kind", ""), names_of(compiled_pages_pb.FacetKind)))


def _check_form(place: str, descriptor: Any, value: object) -> None:
    """Check that rules have the form of their message; protobuf's own errors would not name the place.

    Args:
        place: Path of the value, for errors.
        descriptor: Descriptor of the message.
        value: The rules, or a part of them.

    Raises:
        InvalidArgument: the value is not an object, has an unknown field, or has another type than the list, object or
            text that its field takes.
    """
    if not isinstance(value, Mapping):
        raise InvalidArgument(f"{place} is an object, not {type(value).__name__}", field=place)
    names = [field.name for field in descriptor.fields]
    fields = {key: field for field in descriptor.fields for key in (field.name, field.json_name)}
    for key, item in value.items():
        if key not in fields:
            raise InvalidArgument(
                f"{place} has no field {key!r}, only {', '.join(names)}{meant(key, names)}", field=f"{place}.{key}"
            )
        field = fields[key]
        where = f"{place}.{field.name}"
        if field.message_type and field.message_type.GetOptions().map_entry:
            if not isinstance(item, Mapping):
                raise InvalidArgument(f"{where} is an object, not {type(item).__name__}", field=where)
        elif field.is_repeated:
            if not isinstance(item, list):
                wanted = f"as in [{json.dumps(item)}]" if isinstance(item, str) else f"not {type(item).__name__}"
                raise InvalidArgument(f"{where} is a list, {wanted}", field=where)
            for index, entry in enumerate(item if field.message_type else ()):
                _check_form(f"{where}[{index}]", field.message_type, entry)
        elif field.message_type and item is not None:
            _check_form(where, field.message_type, item)
        elif field.type == field.TYPE_STRING and not isinstance(item, str | None):
            raise InvalidArgument(f"{where} is a text, not {type(item).__name__}", field=where)


def sample_node(field: str, node: SampleNode) -> history_pb.SampleNode:
    """Return the message of a node to try rules on."""
    io = dict(node.io or {})
    sides = {
        f"{side}_json": to_json(f"{field}.{side}_json", io.pop(side)) for side in ("input", "output") if side in io
    }
    if io:
        raise InvalidArgument(f"{field}.io must have only the keys input and output", field=f"{field}.io")
    lists = {
        f"{name}_json": "" if value is None else to_json(f"{field}.{name}_json", value)
        for name, value in (("edges", node.edges), ("path", node.path))
    }
    return converted(history_pb.SampleNode, field, node, **sides, **lists)


def blob_name(blob: BlobName) -> BlobNameFields:
    """Return the fields of a request that name a blob: a text that is a UUID is a record's id, any other a blob key.

    Raises:
        InvalidArgument: the name is empty, or of another type.
    """
    if isinstance(blob, Record | BlobEntry):
        return {"working_memory_id": blob.working_memory_id}
    text = to_id(blob)
    if not text:
        raise InvalidArgument("give a working memory id or a blob key", field="working_memory_id")
    return {"working_memory_id": text} if _UUID.fullmatch(text) else {"blob_key": text}
