"""A tool as data: its name, its RPC, its arguments with the fields that they fill, and how its answer is shortened.

`Tool.call` handles all tools alike: it fills the request, calls the servicer, which checks it as any request, and turns
the response into a document that fits a model. An error names the argument as the model wrote it. A few tools need more
than one RPC; they have a function of their own (`Tool.own`) and use the same parts. The tools of `/mcp/query` are rows
of the same type; its server sends their requests itself.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import orjson
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, create_model

from context_service.contexts.api.artifacts import ArtifactsServicer
from context_service.contexts.api.contexts import ContextsServicer
from context_service.history.api import ChatHistoryServicer
from context_service.kernel.graph import EntityGraph
from context_service.mcp.answers import ARGUMENTS, Document, first_rows, fitting_page, plain
from context_service.memories.api import MemoriesServicer
from context_service.packing.api import PackingServicer
from context_service.summaries.api import SummariesServicer
from context_service.windows.api import WindowsServicer
from context_service.working_memory.api.records import WorkingMemoryServicer
from contextkeep.errors import ContextKeepError, FieldViolation, InvalidArgument
from service_runtime.rpc import calls
from service_runtime.rpc.methods import Method, method_of
from service_runtime.statements import replays

_VIOLATIONS_MAX = 20  # the most problems of arguments that an error lists
# Fields of requests that the connection sets. No tool has an argument for them, because a model must not choose the
# user or the agent whose data it reads.
_SUBJECT, _AGENT = "subject_user_id", "agent_id"
_JSON = "_json"
# Keys of a JSON schema that are left out, because a model does not need them to call a tool.
_NEEDLESS = {"title", "default", "additionalProperties", "minimum", "minLength", "maxItems"}
_QUERY_FORM = '{"select": ["name", "metadata.topic"], "where": {"memory_type": "data/json"}, "limit": 10}'
_TYPES: dict[int, type] = {
    FieldDescriptor.TYPE_STRING: str,
    FieldDescriptor.TYPE_BOOL: bool,
    FieldDescriptor.TYPE_INT32: int,
    FieldDescriptor.TYPE_INT64: int,
}


class Arguments(BaseModel):
    """The arguments of a tool."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """How an argument of a tool is described to a model, and which field of the request it fills.

    Attributes:
        path: The field of the request that it fills, such as "options.filter.roles". Empty: the field of its own name;
            if there is none, the tool's own function reads it.
        description: The text that tells a model what the argument is for; empty if its name says it.
        type: The type of its JSON value; None takes the type of the field that it fills.
        is_required: The model must give the argument.
        default: The value if a model leaves the argument out; None takes the empty value of its type.
        is_entity: The argument names a node; if a model leaves it out, the current entity is meant.
        limits: Limits of the value, by pydantic's names: `ge`, `le`, `min_length`, `max_length`.
    """

    path: str = ""
    description: str = ""
    type: Any = None
    is_required: bool = False
    default: Any = None
    is_entity: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)


# Arguments of many tools. The instructions of the MCP server explain them once.
ENTITY = Argument(is_entity=True)
PAGE_TOKEN = Argument(type=str)
REQUEST_ID = Argument(type=str)


def page_size(default: int) -> Argument:
    """Return the argument for the number of rows of a page; an answer has fewer if the rows are large."""
    return Argument(
        type=Annotated[int, WithJsonSchema({"type": "integer"})], default=default, limits={"ge": 1, "le": 200}
    )


def limit(default: int, most: int) -> Argument:
    """Return the argument for the number of rows."""
    return Argument(default=default, limits={"ge": 1, "le": most})


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The servicers that tools call, and the limits of the tools' answers."""

    memory: WorkingMemoryServicer
    history: ChatHistoryServicer
    contexts: ContextsServicer
    artifacts: ArtifactsServicer
    windows: WindowsServicer
    packing: PackingServicer
    memories: MemoriesServicer
    summaries: SummariesServicer
    graph: EntityGraph
    answer_bytes_max: int

    def of(self, service: str) -> Any:
        """Return the servicer of a proto service, named like "contextkeep.context.v1.Contexts"."""
        name = service.rpartition(".")[2]
        parameters = {
            "WorkingMemory": self.memory,
            "ChatHistory": self.history,
            "Windows": self.windows,
            "Packing": self.packing,
            "Memories": self.memories,
            "Summaries": self.summaries,
        }
        return parameters.get(name, self.contexts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The facts of a call that the connection sets, so that the model cannot choose them."""

    current_entity: str = ""  # the node that is meant if a model names none; empty if there is none
    subject_user_id: str = ""  # the user whose data is meant; empty means the key's user, if it has one
    agent_id: str = ""  # the agent that calls; empty means the key's agent, if it has one

    def entity(self, entity_node_id: str) -> str:
        """Return the entity that the call is about.

        Raises:
            InvalidArgument: neither the arguments nor the connection name one.
        """
        entity = entity_node_id or self.current_entity
        if not entity:
            raise InvalidArgument(
                "entity_node_id is required: there is no current entity", field=f"{ARGUMENTS}.entity_node_id"
            )
        return entity


@dataclass(frozen=True, slots=True, kw_only=True)
class Use(Surroundings):
    """One call of a tool: the services it may use, and the facts that the connection sets."""

    services: Services


Own = Callable[["Tool", Use, Any], Awaitable[Document]]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool: how it is described to a model, and the RPC that does its work.

    Attributes:
        name: The name by which a model calls the tool.
        context_type: "WM", "History", "Context", "Memory" or "RAG".
        rpc: The path of the RPC that the tool calls: a call needs the RPC's scope and counts in its queue.
        description: The text that tells a model when to use the tool.
        arguments: The arguments of the tool, by their names.
        rows: The list of the answer that is cut to the size that a model can read; empty if the answer is short.
        fixed: Fields of the request that no argument fills, with their values.
        shape: Makes the tool's answer from the RPC's response; by default it keeps all fields.
        outputs: The properties of the answer in its JSON schema, in addition to `rows`.
        own: The function that does the work of a tool that is more than one RPC.
        destructive: A call may delete or overwrite something.
        idempotent: A second call with the same arguments changes nothing more.
    """

    name: str
    context_type: str
    rpc: str
    description: str
    arguments: Mapping[str, Argument]
    rows: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    shape: Callable[[Any], Awaitable[Document]] = plain
    outputs: Sequence[str] = ()
    own: Own | None = None
    destructive: bool = False
    idempotent: bool = True

    @cached_property
    def method(self) -> Method:
        """Return the RPC that the tool calls."""
        return method_of(self.rpc)

    @cached_property
    def scope(self) -> str:
        """Return the scope that an API key needs for this tool."""
        return self.method.scope

    @cached_property
    def model(self) -> type[Arguments]:
        """Return the arguments as a pydantic model that checks them."""
        fields: dict[str, Any] = {}
        for name, argument in self.arguments.items():
            kind = argument.type or _type_of(self._field(name))
            default = _default_of(kind) if argument.default is None else argument.default
            default = ... if argument.is_required else default
            fields[name] = (kind, Field(default, description=argument.description or None, **argument.limits))
        return create_model(self.name, __base__=Arguments, **fields)

    @cached_property
    def input_schema_json(self) -> str:
        """Return the JSON schema of the arguments."""
        return orjson.dumps(compact(self.model.model_json_schema())).decode()

    @cached_property
    def output_schema_json(self) -> str:
        """Return the JSON schema of the answer: only the fields that are always present, not the fields of rows."""
        properties: Document = {name: {} for name in self.outputs}
        if self.rows:
            properties = {self.rows: {"type": "array"}, **properties}
        return orjson.dumps({"type": "object", "properties": properties}).decode()

    def parse(self, arguments: dict[str, Any]) -> Arguments:
        """Return the arguments, checked against the schema.

        Raises:
            InvalidArgument: the arguments do not fit the schema.
        """
        if "sql" in arguments:
            raise InvalidArgument(
                f"no tool takes SQL; call wm_query, with arguments such as {_QUERY_FORM}",
                field=f"{ARGUMENTS}.sql",
            )
        checked: Arguments = parsed(self.model, self.name, arguments)
        return checked

    async def call(self, use: Use, arguments: Any) -> Document:
        """Run the tool, and return its answer.

        Raises:
            ContextKeepError: the error of the RPC, which names the model's argument instead of the RPC's field.
        """
        try:
            return await (
                self.own(self, use, arguments)
                if self.own
                else self.answer(use, self.request(use, arguments), arguments)
            )
        except ContextKeepError as error:
            raise self.about_arguments(error) from error

    def request(self, surroundings: Surroundings, arguments: Any) -> Any:
        """Return the request of the RPC, filled with the arguments and with the facts that the connection sets."""
        request: Any = GetMessageClass(self._descriptor.input_type)(**self.fixed)
        for of_connection in (_SUBJECT, _AGENT):
            if of_connection in request.DESCRIPTOR.fields_by_name:
                setattr(request, of_connection, getattr(surroundings, of_connection))
        for name, argument in self.arguments.items():
            if (described := self._field(name)) is None:
                continue
            value = getattr(arguments, name)
            value = surroundings.entity(value) if argument.is_entity else value
            # A zero that differs from the default is sent only where the field can tell it from an absent one.
            if value or (argument.default and described.has_presence):
                _fill(request, self._path(name), described, value)
        return request

    async def answer(self, use: Use, request: Any, arguments: Any) -> Document:
        """Call the RPC with a request, and return the answer in a form that a model can read."""
        bytes_max = use.services.answer_bytes_max
        if not self.rows:
            return await self.shape(await self._call(use, request))
        if "page_size" not in self.arguments:
            document = {self.rows: [], **await self.shape(await self._call(use, request))}
            return await first_rows(document, self.rows, bytes_max=bytes_max)

        async def read(page_size: int) -> tuple[Document, int]:
            """Read a page of the given size; return the answer and the number of rows in it."""
            request.page_size = page_size
            page = {self.rows: [], **await self.shape(await self._call(use, request))}
            return page, len(page[self.rows])

        return await fitting_page(read, page_size=arguments.page_size, bytes_max=bytes_max)

    async def _call(self, use: Use, request: Any) -> Any:
        """Call the RPC of the tool, at the Entity Service if it is one of its RPCs, and return the response.

        A call that writes is idempotent by its request id, as over gRPC, and the audit log gets its ids.
        """
        service = self.rpc[1:].rpartition("/")[0]
        if service.startswith("contextkeep.entity."):
            return await use.services.graph.call(self.method.name, request)
        behaviour = getattr(use.services.of(service), self.method.name)
        if self.method.reads:
            return await behaviour(request, None)
        calls.comes_down_to(request)
        response = await replays.answered(service, behaviour, request)
        calls.comes_down_to(request, response)
        return response

    @cached_property
    def _descriptor(self) -> Any:
        service, _, name = self.rpc[1:].rpartition("/")
        return descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]

    def _path(self, name: str) -> str:
        return self.arguments[name].path or name

    def _field(self, name: str) -> FieldDescriptor | None:
        """Return the request field that an argument fills, or None if the tool's own function reads the argument."""
        *parents, last = self._path(name).split(".")
        message = self._descriptor.input_type
        for parent in parents:
            message = message.fields_by_name[parent].message_type
        document: FieldDescriptor | None = message.fields_by_name.get(last)
        return document

    def about_arguments(self, error: ContextKeepError) -> ContextKeepError:
        """Return an error that names the arguments instead of the fields that they fill."""
        arguments = {self._path(name): name for name in self.arguments}
        violations = tuple(
            replace(violation, field=_argument(violation.field, arguments)) for violation in error.violations
        )
        renamed = copy.copy(error)
        renamed.violations = violations
        for path, name in arguments.items():
            if path != name:
                renamed.message = renamed.message.replace(path, name)
                renamed.metadata = {key: name if value == path else value for key, value in renamed.metadata.items()}
        renamed.args = (renamed.message,)
        return renamed


def _argument(path: str, arguments: Mapping[str, str]) -> str:
    """Return the argument path for a field path; a field that no argument fills keeps its path."""
    if path.startswith(ARGUMENTS):
        return path
    for of_field, name in arguments.items():
        rest = path.removeprefix(of_field)
        if path.startswith(of_field) and rest[:1] in ("", ".", "["):
            return f"{ARGUMENTS}.{name}{rest}"
    return path


def _fill(request: Message, path: str, described: FieldDescriptor, value: Any) -> None:
    """Set the field of a request at a path to a value; fields whose names end in `_json` get the value as JSON text."""
    *parents, last = path.split(".")
    target: Any = request
    for parent in parents:
        target = getattr(target, parent)
    if last.endswith(_JSON):
        setattr(target, last, orjson.dumps(value).decode())
    elif not described.is_repeated:
        _set(target, path, described, value)
    elif described.message_type is not None:
        for item in value:
            getattr(target, last).add(**item.model_dump())
    else:
        getattr(target, last).extend([value] if isinstance(value, str) else value)


def _set(target: Any, path: str, described: FieldDescriptor, value: Any) -> None:
    """Set one field of a message to the value of an argument."""
    name = described.name
    if isinstance(value, BaseModel):  # present in the request, even if it is empty
        message = getattr(target, name)
        message.SetInParent()
        for inner in type(value).model_fields:
            if getattr(value, inner):
                _fill(message, inner, message.DESCRIPTOR.fields_by_name[inner], getattr(value, inner))
        return
    try:
        if isinstance(value, datetime):
            timestamp = Timestamp()
            timestamp.FromDatetime(value)
            getattr(target, name).CopyFrom(timestamp)
        elif described.enum_type is not None:
            setattr(target, name, _enum_number(described.enum_type, value))
        else:
            setattr(target, name, value)
    except (OverflowError, ValueError):  # it does not fit into 32 or 64 bits, or is before the year 1
        raise InvalidArgument(f"{path} is out of range", field=path) from None


def _enum_number(described: EnumDescriptor, name: str) -> int:
    """Return the number of an enum value by the last part of its name: "deep" is QUERY_DEPTH_DEEP."""
    for value in described.values:
        if value.name.endswith(f"_{name.upper()}"):
            return int(value.number)
    raise ValueError(name)


def _default_of(kind: Any) -> Any:
    """Return the value of an argument that a model leaves out: None if its type allows None, else its empty value."""
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return None if NoneType in get_args(bare) else kind()


def _type_of(described: FieldDescriptor | None) -> Any:
    """Return the Python type of an argument that fills a field of a request."""
    assert described is not None, "an argument that fills no field says its type"
    if described.name.endswith(_JSON):
        return dict[str, Any]
    kind = _TYPES[described.type]
    return list[kind] if described.is_repeated else kind  # type: ignore[valid-type]


def parsed(model: type[Arguments], name: str, arguments: dict[str, Any]) -> Any:
    """Return the checked arguments of a tool.

    Raises:
        InvalidArgument: some arguments do not fit the schema; the error names each.
    """
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        violations = [
            FieldViolation(".".join((ARGUMENTS, *map(str, detail["loc"])))[:200], detail["msg"])
            for detail in error.errors(include_url=False, include_context=False, include_input=False)[:_VIOLATIONS_MAX]
        ]
        summary = "; ".join(
            f"{violation.field.removeprefix(ARGUMENTS + '.')}: {violation.description}" for violation in violations
        )
        raise InvalidArgument(f"the arguments of {name} are not valid: {summary}", violations=violations) from None


def compact(schema: Any) -> Any:
    """Return a JSON schema without the parts that a model does not need: each word costs tokens in every call.

    Left out are titles, defaults, least values and the refusal of further properties. Arguments are still checked by
    the whole schema, so errors name the fault.
    """
    definitions = schema.pop("$defs", {})

    def walk(value: Any) -> Any:
        """Return a part of the schema with references replaced by their definitions, and without needless keys."""
        if isinstance(value, list):
            return [walk(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            value = {**definitions[value["$ref"].rpartition("/")[2]], **value}
            del value["$ref"]
        if "properties" in value:
            value = {**value, "properties": {name: walk(item) for name, item in value["properties"].items()}}
        else:
            value = {name: walk(item) for name, item in value.items()}
        return {name: item for name, item in value.items() if name not in _NEEDLESS}

    compacted: dict[str, Any] = walk(schema)
    compacted.pop("description", None)
    return compacted
