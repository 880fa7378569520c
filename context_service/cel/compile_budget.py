"""What compiling expressions may cost, and how it ends early.

All of it is linear in the symbols of a text, which are its names, values, operators and brackets: 20 to 40 us each, of
which the parser takes most. So symbols are counted as they are read, over all expressions that are compiled together.
A budget is also where the thread that compiles looks whether anybody still waits for it, and gives way to others: in
Python only one thread runs at a time, and the event loop would wait for each of its turns.
"""

from __future__ import annotations

import time
from typing import Final

from context_service.cel.budget import ExpressionLimits
from context_service.cel.errors import ExpressionTooLarge
from context_service.cel.syntax import Node, Position

_LOOK_EVERY: Final = 16  # calls of `look`: a millisecond at most
_WORK_S: Final = 0.001  # after which others have their turn
_REST_S: Final = 0.001


class CompileStopped(Exception):
    """Nobody waits for what is compiled."""


class CompileBudget:
    """The symbols that some expressions have together. One thread spends it; any may stop it.

    Args:
        symbols_max: How many.
        expression: What each of them may have.
        gives_way: Whether another thread waits for its turn whenever this one works, as an event loop does.
    """

    def __init__(
        self,
        *,
        symbols_max: int = 10_000,
        expression: ExpressionLimits = ExpressionLimits(),  # noqa: B008  # frozen
        gives_way: bool = False,
    ) -> None:
        self.expression = expression
        self.trees: dict[str, Node] = {}  # of what was read, by its text
        self._symbols_max = symbols_max
        self._symbols = 0
        self._stopped = False
        self._looks = 0
        self._rest_at = time.perf_counter() + _WORK_S if gives_way else float("inf")

    def charge(self, symbols: int, at: Position) -> None:
        """Count symbols.

        Raises:
            ExpressionTooLarge: there are too many; it names the place `at`.
            CompileStopped: nobody waits any more.
        """
        self._symbols += symbols
        if self._symbols > self._symbols_max:
            raise ExpressionTooLarge(
                f"the expressions have more than {self._symbols_max} symbols together",
                *at,
                limit="symbols",
                maximum=self._symbols_max,
                value=self._symbols,
            )
        self.look()

    def stop(self) -> None:
        """Have the thread that works on it stop soon."""
        self._stopped = True

    def look(self) -> None:
        """Look whether to go on; whoever works calls it for each small piece of work.

        Raises:
            CompileStopped: nobody waits any more.
        """
        self._looks += 1
        if self._looks % _LOOK_EVERY:
            return
        if self._stopped:
            raise CompileStopped
        if time.perf_counter() > self._rest_at:
            time.sleep(_REST_S)
            self._rest_at = time.perf_counter() + _WORK_S
