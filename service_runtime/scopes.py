"""Which scope a call needs: read off the proto, so that a new RPC cannot be forgotten.

An RPC that the proto marks `NO_SIDE_EFFECTS` needs `read`; what destroys more than it can bring back needs `admin`;
any other needs `write`. What an RPC does may depend on its request: then it needs `read`, and asks for more itself.
"""

from __future__ import annotations

from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import MethodOptions

SCOPES = ("read", "write", "admin")

_ADMIN = frozenset({"DeleteNode"})
_BY_REQUEST = frozenset({"ExecuteTool"})  # see `calls.require`


def scope_of(method: str) -> str:
    """Return the scope that a call needs.

    Args:
        method: "/contextkeep.entity.v1.EntityGraph/GetNode", of a proto that is loaded.

    Raises:
        KeyError: no proto has it.
    """
    service, _, name = method.removeprefix("/").partition("/")
    rpc = descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
    if name in _ADMIN:
        return "admin"
    if name in _BY_REQUEST:
        return "read"
    reads = rpc.GetOptions().idempotency_level == MethodOptions.NO_SIDE_EFFECTS
    return "read" if reads else "write"
