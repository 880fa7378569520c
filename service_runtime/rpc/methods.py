"""The facts of each RPC, read from its options in the proto (`contextkeep/options.proto`), such as its scope.

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
from service_runtime.rpc.principal import Principal

_AT_ONCE = (options_pb2.Call.CHEAP, options_pb2.Call.PARTLY)
_SPEAKING = (options_pb2.Call.ADMIN, options_pb2.Call.OPERATOR)  # for a tenant, or for all


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """An RPC.

    Args:
        path: "/contextkeep.entity.v1.EntityGraph/GetNode".
        options: The options that its proto states.
        scope: The scope that a key needs: "read", "context:read".
        reads: True for an RPC that changes nothing.
        is_expensive: A call waits for one of the few turns before it begins.
        is_administrative: The audit log keeps its calls: they speak for a tenant or for all, and change or export data.
    """

    path: str
    options: options_pb2.Call
    scope: str
    reads: bool
    is_expensive: bool
    is_administrative: bool

    @property
    def name(self) -> str:
        """Return the name within the service: "GetNode"."""
        return self.path.rpartition("/")[2]


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
    reads = options.idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    return Method(
        path=path,
        options=call,
        scope=options_pb2.Call.Scope.Name(call.scope).lower().replace("_", ":"),
        reads=reads,
        is_expensive=call.cost not in _AT_ONCE,
        is_administrative=call.scope in _SPEAKING and (not reads or described.server_streaming),
    )


def admit(principal: Principal, method: Method) -> None:
    """Refuse a call that a principal may not make with any request.

    Raises:
        PermissionDenied: the principal lacks the scope, or is bound to a context, and the RPC does not know this bound.
    """
    if not principal.may(method.scope):
        raise PermissionDenied(f"the key lacks the scope {method.scope}", scope=method.scope)
    if principal.context_id and not method.options.context_key:
        raise PermissionDenied("the key is bound to a context")
