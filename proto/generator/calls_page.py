"""Write docs/calls.md: every call with what its proto states of it."""

from __future__ import annotations

from collections.abc import Iterator

from model import Model, Rpc

from contextkeep.options_pb2 import Call

_HEAD = """\
# All calls

Every RPC of both services, made from the protos by `make proto`. Over [HTTP](http.md), the path is
`/contextkeep.context.v1.Contexts/GetContext`, and so on.

- **Scope**: what the key must have. `read` includes `context:read`; no other scope includes another one.
- **Cost**: a call that is not *cheap* waits for one of `EXPENSIVE_CALLS_MAX` [turns](limits.md). It *recalls* (compares
  a text with many passages), *walks* a graph, *packs* a window, *scans* for conditions without an index, or *compiles*
  rules. A *partly* expensive call waits for a turn before the part of its work that another call does, too.
- **Whose**: whose data it touches, and so which bounds of a key hold.
- **Context key**: a key of `IssueContextKey` may call it.
- **Repeat**: *reads* changes nothing; *id*: a repeat with the same `request_id` gets the same answer; otherwise the
  call's comment in the proto says what a repeat does.
"""


def page(model: Model) -> str:
    """Return the page."""
    return "\n".join([_HEAD, *_sections(model)])


def _sections(model: Model) -> Iterator[str]:
    for service, rpcs in model.by_service.items():
        yield f"## {service.rpartition('.')[2]}\n"
        yield "| call | scope | cost | whose | context key | repeat |"
        yield "| --- | --- | --- | --- | --- | --- |"
        for rpc in rpcs:
            yield _row(rpc)
        yield ""


def _row(rpc: Rpc) -> str:
    call = rpc.call
    cells = (
        f"`{rpc.name}`",
        f"`{Call.Scope.Name(call.scope).lower().replace('_', ':')}`",
        Call.Cost.Name(call.cost).lower(),
        Call.Whose.Name(call.whose).lower(),
        "yes" if call.context_key else "",
        "reads" if rpc.reads else "id" if rpc.is_idempotent else "",
    )
    return f"| {' | '.join(cells)} |"
