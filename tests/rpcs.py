"""Every RPC of every proto, found by reflection: a test that walks them meets a new one the day it is added."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

import contextkeep
from contextkeep import options_pb2
from contextkeep.options_pb2 import Call

PACKAGE = Path(contextkeep.__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Rpc:
    """One RPC."""

    name: str  # "GetNode"
    service: str  # "contextkeep.entity.v1.EntityGraph"
    request: type[Message]
    response: type[Message]
    client_streaming: bool
    server_streaming: bool
    reads: bool  # it has no side effects
    options: Call = dataclasses.field(compare=False)  # a message has no hash
    client: str  # noun and verb of the clients' method, "windows.pack"

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"

    @property
    def process(self) -> str:
        """Which of our servers answers it: "entity" or "context"."""
        return self.service.split(".")[1]

    def __str__(self) -> str:
        return self.name


def all_rpcs() -> list[Rpc]:
    """Return the RPCs of all generated modules, in the order of modules and protos."""
    found = []
    for path in sorted(PACKAGE.rglob("*_pb2.py")):
        module = importlib.import_module(".".join(["contextkeep", *path.relative_to(PACKAGE).with_suffix("").parts]))
        for service in module.DESCRIPTOR.services_by_name.values():
            found += [
                Rpc(
                    name=method.name,
                    service=service.full_name,
                    request=GetMessageClass(method.input_type),
                    response=GetMessageClass(method.output_type),
                    client_streaming=method.client_streaming,
                    server_streaming=method.server_streaming,
                    reads=method.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS,
                    options=method.GetOptions().Extensions[options_pb2.call],
                    client=method.GetOptions().Extensions[options_pb2.client],
                )
                for method in service.methods
            ]
    return found


@functools.cache
def all_stubs() -> dict[str, Any]:
    """Return the generated stub of each service, by the service's full name."""
    found = {}
    for path in sorted(PACKAGE.rglob("v1/*_pb2_grpc.py")):
        module = importlib.import_module(".".join(["contextkeep", *path.relative_to(PACKAGE).with_suffix("").parts]))
        package = ".".join(module.__name__.split(".")[:-1])
        for name, stub in vars(module).items():
            if name.endswith("Stub"):
                found[f"{package}.{name.removesuffix('Stub')}"] = stub
    return found


def fields(descriptor: Descriptor, path: tuple[FieldDescriptor, ...] = ()) -> Iterator[tuple[FieldDescriptor, ...]]:
    """Yield the path of every field of a message, those of its messages too; one that holds itself is not entered."""
    for field in descriptor.fields:
        here = (*path, field)
        yield here
        entered = {descriptor.full_name} | {one.containing_type.full_name for one in path}
        if field.message_type is not None and field.message_type.full_name not in entered:
            yield from fields(field.message_type, here)


def dotted(path: tuple[FieldDescriptor, ...]) -> str:
    """Return the path of a field as errors name it: "header.request_id"."""
    return ".".join(field.name for field in path)


def by_kind(rpcs: Iterable[Rpc]) -> list[Rpc]:
    """Return the RPC with the largest request of each kind of handler: streams, read or write, server."""
    kinds: dict[tuple[object, ...], Rpc] = {}
    for rpc in sorted(rpcs, key=lambda rpc: -len(list(fields(rpc.request.DESCRIPTOR)))):
        kinds.setdefault((rpc.client_streaming, rpc.server_streaming, rpc.reads, rpc.process), rpc)
    return list(kinds.values())
