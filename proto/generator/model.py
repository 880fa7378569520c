"""What the protos say, as values for the writers: services, calls, messages, fields, enums, each with its comment."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodOptions,
)
from protos import run_protoc

from contextkeep import options_pb2

_SERVICE, _MESSAGE, _ENUM, _METHOD, _FIELD, _VALUE, _NESTED, _NESTED_ENUM = 6, 4, 5, 2, 2, 2, 3, 4
_SCALARS = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in FieldDescriptorProto.Type.items()
    if name not in ("TYPE_MESSAGE", "TYPE_ENUM", "TYPE_GROUP")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a message."""

    name: str
    number: int
    scalar: str  # "string", "int64", …; empty for a message or an enum
    type_name: str  # full name of the message or enum, "contextkeep.context.v1.Memory"; empty for a scalar
    is_enum: bool
    is_repeated: bool
    is_optional: bool  # it can be absent: a message, or a scalar with `optional`
    map_of: tuple[Field, Field] | None  # key and value
    oneof: str  # empty if it is in none
    rule: options_pb2.Rule  # what its value must be in a request
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message."""

    full_name: str
    file: str
    comment: str
    fields: Sequence[Field]

    @property
    def name(self) -> str:
        """Return the name within its package."""
        return self.full_name.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Enum:
    """An enum, and its values by name with their numbers and comments."""

    full_name: str
    file: str
    comment: str
    values: Mapping[str, tuple[int, str]]

    @property
    def name(self) -> str:
        """Return the name within its package."""
        return self.full_name.rpartition(".")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rpc:
    """A call."""

    service: str  # "contextkeep.context.v1.Contexts"
    file: str
    name: str
    request: Message
    response: Message
    client_streaming: bool
    server_streaming: bool
    reads: bool
    is_idempotent: bool  # its request, or the header of its stream, has a `request_id`
    call: options_pb2.Call
    client: str  # noun and verb of the clients' method, "contexts.recall"
    comment: str

    @property
    def noun(self) -> str:
        """Return the noun of the clients' method: "contexts"."""
        return self.client.partition(".")[0]

    @property
    def verb(self) -> str:
        """Return the name of the clients' method: "recall"."""
        return self.client.partition(".")[2]


@dataclass(frozen=True, kw_only=True)
class Model:
    """All protos."""

    services: Mapping[str, str] = field(default_factory=dict)  # comments by full name
    messages: Mapping[str, Message] = field(default_factory=dict)
    enums: Mapping[str, Enum] = field(default_factory=dict)
    rpcs: Sequence[Rpc] = ()

    @cached_property
    def by_service(self) -> dict[str, list[Rpc]]:
        """Return the calls of each service, in the order of the protos."""
        return {service: [rpc for rpc in self.rpcs if rpc.service == service] for service in self.services}


def load() -> Model:
    """Read the protos."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "all.binpb")
        run_protoc(f"--descriptor_set_out={path}", "--include_source_info")
        files = FileDescriptorSet.FromString(path.read_bytes()).file
    messages = {message.full_name: message for file in files for message in _messages(file)}
    return Model(
        services={
            f"{file.package}.{service.name}": _comments(file).get((_SERVICE, number), "")
            for file in files
            for number, service in enumerate(file.service)
        },
        messages=messages,
        enums={enum.full_name: enum for file in files for enum in _enums(file)},
        rpcs=[rpc for file in files for rpc in _rpcs(file, messages)],
    )


def _rpcs(file: FileDescriptorProto, messages: Mapping[str, Message]) -> Iterator[Rpc]:
    comments = _comments(file)
    for service_number, service in enumerate(file.service):
        for number, method in enumerate(service.method):
            request = messages[method.input_type.removeprefix(".")]
            headers = [messages[item.type_name].fields for item in request.fields if item.name == "header"]
            yield Rpc(
                service=f"{file.package}.{service.name}",
                file=file.name,
                name=method.name,
                request=request,
                response=messages[method.output_type.removeprefix(".")],
                client_streaming=method.client_streaming,
                server_streaming=method.server_streaming,
                reads=method.options.idempotency_level == MethodOptions.NO_SIDE_EFFECTS,
                is_idempotent=any(
                    item.name == "request_id" for fields in (request.fields, *headers) for item in fields
                ),
                call=method.options.Extensions[options_pb2.call],
                client=method.options.Extensions[options_pb2.client],
                comment=comments.get((_SERVICE, service_number, _METHOD, number), ""),
            )


def _messages(file: FileDescriptorProto) -> Iterator[Message]:
    comments = _comments(file)

    def walk(prefix: str, place: tuple[int, ...], message: DescriptorProto) -> Iterator[Message]:
        full_name = f"{prefix}.{message.name}"
        entries = {f".{full_name}.{item.name}": item for item in message.nested_type if item.options.map_entry}
        yield Message(
            full_name=full_name,
            file=file.name,
            comment=comments.get(place, ""),
            fields=[
                _field(item, message, entries, comments.get((*place, _FIELD, number), ""))
                for number, item in enumerate(message.field)
            ],
        )
        for number, nested in enumerate(message.nested_type):
            if not nested.options.map_entry:
                yield from walk(full_name, (*place, _NESTED, number), nested)

    for number, message in enumerate(file.message_type):
        yield from walk(file.package, (_MESSAGE, number), message)


def _field(
    proto: FieldDescriptorProto, message: DescriptorProto, entries: Mapping[str, DescriptorProto], comment: str
) -> Field:
    entry = entries.get(proto.type_name)
    is_real_oneof = proto.HasField("oneof_index") and not proto.proto3_optional
    is_single_message = (
        proto.type == FieldDescriptorProto.TYPE_MESSAGE and proto.label != FieldDescriptorProto.LABEL_REPEATED
    )
    return Field(
        name=proto.name,
        number=proto.number,
        scalar=_SCALARS.get(proto.type, ""),
        type_name=proto.type_name.removeprefix("."),
        is_enum=proto.type == FieldDescriptorProto.TYPE_ENUM,
        is_repeated=proto.label == FieldDescriptorProto.LABEL_REPEATED and entry is None,
        is_optional=proto.proto3_optional or is_single_message,
        map_of=None
        if entry is None
        else (_field(entry.field[0], entry, {}, ""), _field(entry.field[1], entry, {}, "")),
        oneof=message.oneof_decl[proto.oneof_index].name if is_real_oneof else "",
        rule=proto.options.Extensions[options_pb2.rule],
        comment=comment,
    )


def _enums(file: FileDescriptorProto) -> Iterator[Enum]:
    comments = _comments(file)

    def made(prefix: str, place: tuple[int, ...], enum: EnumDescriptorProto) -> Enum:
        return Enum(
            full_name=f"{prefix}.{enum.name}",
            file=file.name,
            comment=comments.get(place, ""),
            values={
                value.name: (value.number, comments.get((*place, _VALUE, number), ""))
                for number, value in enumerate(enum.value)
            },
        )

    for number, enum in enumerate(file.enum_type):
        yield made(file.package, (_ENUM, number), enum)
    for message_number, message in enumerate(file.message_type):
        for number, enum in enumerate(message.enum_type):
            place = (_MESSAGE, message_number, _NESTED_ENUM, number)
            yield made(f"{file.package}.{message.name}", place, enum)


def _comments(file: FileDescriptorProto) -> dict[tuple[int, ...], str]:
    """Return the comment before or after each place of a file, by its path in the descriptor."""
    return {
        tuple(place.path): (place.leading_comments or place.trailing_comments).replace("\n ", "\n").strip()
        for place in file.source_code_info.location
        if place.leading_comments or place.trailing_comments
    }
