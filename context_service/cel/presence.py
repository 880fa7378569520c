"""Which fields of a map are there: `has(entity.data.a) && !has(entity.data.b)` as one closure.

Most rules ask this of every node. The map is read once and no part of the test is called; whatever is not as it should
be is left to the ordinary closure, which says what is wrong, and charges for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from context_service.cel.paths import Env, Path, Run

_PLAIN_KEYS = 2  # a variable and one field: `entity.data`


class Presence(NamedTuple):
    """Of the map at a path, which fields are to be there (True) and which are not (False)."""

    path: Path
    wanted: tuple[tuple[str, bool], ...]

    def tester(self, ordinary: Run) -> Run:
        """Return the closure that tests it; `ordinary` does the same for what is no map, too."""
        slot, (first, second), _ = self.path
        wanted = self.wanted

        def test(env: Env) -> bool:
            try:
                fields = env[slot][first][second]
            except (KeyError, TypeError):
                return bool(ordinary(env))
            if type(fields) is not dict:
                return bool(ordinary(env))
            for field, there in wanted:  # noqa: SIM110  # all() takes three times as long
                if (field in fields) is not there:
                    return False
            return True

        return test


def presence(path: Path | None, field: str) -> Presence | None:
    """Return the test of one field; None for a path that it is not made for, as below."""
    return Presence(path, ((field, True),)) if path and len(path.keys) == _PLAIN_KEYS else None


def negated(test: Presence | None) -> Presence | None:
    """Return the opposite of the test of one field."""
    if test is None or len(test.wanted) > 1:
        return None
    ((field, there),) = test.wanted
    return Presence(test.path, ((field, not there),))


def joined(tests: Sequence[Presence | None]) -> Presence | None:
    """Return all tests as one, if they are of the same map."""
    first, *others = tests
    if first is None or any(test is None or test.path[:2] != first.path[:2] for test in others):
        return None
    return Presence(first.path, tuple(pair for test in tests if test for pair in test.wanted))
