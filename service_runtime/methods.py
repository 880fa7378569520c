"""The facts of each RPC, read from its options in the proto (`contextkeep/options.proto`), and who may call it.

A new RPC cannot be forgotten here: every table of RPCs is derived, and an RPC without options stops the service.
`delegate` is the scope of no RPC: a key that has it may name the user for whom a call is (`Principal.acting_for`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import MethodOptions

from contextkeep import options_pb2
from contextkeep.errors import PermissionDenied
from service_runtime.auth import Principal

_AT_ONCE = (options_pb2.Call.CHEAP, options_pb2.Call.PARTLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """An RPC.

    Args:
        path: "/contextkeep.entity.v1.EntityGraph/GetNode".
        options: The facts that its proto states.
        reads: It changes nothing.
        answers_stream: Its answer is a stream.
    """

    path: str
    options: options_pb2.Call
    reads: bool
    answers_stream: bool

    @property
    def name(self) -> str:
        """Return the name within the service: "GetNode"."""
        return self.path.rpartition("/")[2]

    @property
    def scope(self) -> str:
        """Return the scope that a key needs: "read", "context:read"."""
        return options_pb2.Call.Scope.Name(self.options.scope).lower().replace("_", ":")

    @property
    def is_expensive(self) -> bool:
        """Say whether a call waits for one of the few turns before it begins."""
        return self.options.cost not in _AT_ONCE

    @property
    def is_administrative(self) -> bool:
        """Say whether the audit log keeps its calls: they speak for a tenant or for all, and change or export data."""
        speaks = self.options.scope in (options_pb2.Call.ADMIN, options_pb2.Call.OPERATOR)
        return speaks and (not self.reads or self.answers_stream)


@cache
def method_of(path: str) -> Method:
    """Return the RPC of a path.

    Raises:
        KeyError: no loaded proto has it.
        ValueError: its proto does not state its scope, cost, and whose data it touches.
    """
    service, _, name = path.removeprefix("/").partition("/")
    described = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    options = described.GetOptions()
    call: options_pb2.Call = options.Extensions[options_pb2.call]  # type: ignore[index]  # the stub calls it a descriptor
    if not (call.scope and call.cost and call.whose):
        raise ValueError(f"{path} needs `option (contextkeep.call)` with scope, cost and whose")
    return Method(
        path=path,
        options=call,
        reads=options.idempotency_level == MethodOptions.NO_SIDE_EFFECTS,
        answers_stream=described.server_streaming,
    )


def admit(principal: Principal, method: Method) -> None:
    """Refuse a call that a principal may not make, whatever it asks for.

    Raises:
        PermissionDenied: the principal lacks the scope, or is bound to a context, and the RPC does not know this bound.
    """
    if not principal.may(method.scope):
        raise PermissionDenied(f"the key lacks the scope {method.scope}", scope=method.scope)
    if principal.context_id and not method.options.context_key:
        raise PermissionDenied("the key is bound to a context")
