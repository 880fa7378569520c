"""By which door a case goes: each over gRPC, and so many by the other doors that each RPC answers and refuses there.

The same servicer is behind every door. What a door itself does is to read a request of an RPC, and to write its answer,
or an error by its reason; it knows nothing of the rest that a case is about. `make contract` sends all cases by all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.calls import Call
from tests.contract.python_client import takes
from tests.rpcs import Rpc

_ARE_ALL = os.environ.get("CONTRACT_BY_ALL_DOORS") == "1"


def _every(_: Any) -> bool:
    return True


def _is_unary(rpc: Rpc) -> bool:
    return not rpc.client_streaming and not rpc.server_streaming


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A way to call RPCs."""

    has: Callable[[Rpc], bool]  # the RPC
    takes: Callable[[Call], bool]  # this call of it; another one goes over gRPC


DOORS = {
    "grpc": Door(has=_every, takes=_every),
    "http": Door(has=_is_unary, takes=_every),
    "python": Door(has=_every, takes=takes),
}


def held(calls: Iterable[Call], door: str) -> set[tuple[str, str]]:
    """Return what calls hold at a door: the RPCs that answer and those that refuse; over HTTP each reason, too."""
    by = DOORS[door]
    offered = [call for call in calls if call.expects and by.has(call.rpc) and by.takes(call)]
    reasons = {(call.error, "reason") for call in offered if call.error and door == "http"}
    return {(call.rpc.name, "refusal" if call.error else "answer") for call in offered} | reasons


def by_doors(cases: Iterable[Any], calls_of: Callable[[dict[str, Any]], list[Call]]) -> list[Any]:
    """Return the parameters `stack` and `case` of a test.

    Args:
        cases: Its cases, as parameters.
        calls_of: Returns the calls of a case.
    """
    found = []
    for door in DOORS:
        seen: set[tuple[str, str]] = set()
        holds = [(case, held(calls_of(case.values[0]), door)) for case in cases]
        # The cases that hold most come first, so that few are enough.
        for case, of_case in sorted(holds, key=lambda one: -len(one[1])):
            if door == "grpc" or _ARE_ALL or of_case - seen:
                found.append(pytest.param(door, *case.values, id=f"{door}-{case.id}"))
            seen |= of_case
    return found
