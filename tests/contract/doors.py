"""By which door a case goes: each over gRPC; over HTTP the first of each RPC that answers, and of each reason.

Behind the door of HTTP is the same servicer. What the door itself does is to read a request of an RPC, and to write its
answer, or an error by its reason; it knows nothing of the rest that a case is about. `make contract` sends all by both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.contract.calls import Call

_ARE_ALL = os.environ.get("CONTRACT_BY_BOTH_DOORS") == "1"


def by_doors(cases: Iterable[Any], calls_of: Callable[[dict[str, Any]], list[Call]]) -> list[Any]:
    """Return the parameters `stack` and `case` of a test.

    Args:
        cases: Its cases, as parameters.
        calls_of: Returns the calls of a case.
    """
    found: list[Any] = []
    seen: set[str] = set()
    for case in cases:
        (said,) = case.values
        made = {call.error or call.rpc.name for call in calls_of(said)}
        doors = ["grpc", "http"] if _ARE_ALL or made - seen else ["grpc"]
        seen |= made
        found += [pytest.param(door, said, id=f"{door}-{case.id}") for door in doors]
    return found
