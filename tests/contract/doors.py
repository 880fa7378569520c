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


def held(calls: Iterable[Call], door: str, *, takes: Callable[[Call], bool] | None = None) -> set[tuple[str, str]]:
    """Return what calls hold at a door: the RPCs that answer and those that refuse; over HTTP each reason, too.

    Args:
        calls: The calls.
        door: Its name.
        takes: Says whether the door takes a call; without it, the door says so itself.
    """
    by = DOORS[door]
    offered = [call for call in calls if call.expects and by.has(call.rpc) and (takes or by.takes)(call)]
    reasons = {(call.error, "reason") for call in offered if call.error and door == "http"}
    return {(call.rpc.name, "refusal" if call.error else "answer") for call in offered} | reasons


def by_doors(cases: Iterable[Any], calls_of: Callable[[dict[str, Any]], list[Call]]) -> list[Any]:
    """Return the parameters `stack` and `case` of a test.

    Args:
        cases: Its cases, as parameters.
        calls_of: Returns the calls of a case.
    """
    found = []
    called = [(case, calls_of(case.values[0])) for case in cases]
    for door in DOORS:
        seen: set[tuple[str, str]] = set()
        may_hold = [(case, calls, held(calls, door, takes=_every)) for case, calls in called]
        # The cases that may hold most come first, so that few are enough. Whether a door takes a call is asked of few:
        # to find that out makes the messages of the call, and each worker finds it out.
        for case, calls, at_most in sorted(may_hold, key=lambda one: -len(one[2])):
            of_case = held(calls, door) if at_most - seen else set()
            if door == "grpc" or _ARE_ALL or of_case - seen:
                found.append(pytest.param(door, *case.values, id=f"{door}-{case.id}"))
            seen |= of_case
    return found
