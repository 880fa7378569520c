"""Budgets of compiling and evaluating expressions, so that both end early.

A step of an evaluation is worth a third of a microsecond at most: slower operations charge more of them, so an
evaluation at its limit has run for some milliseconds. Code without loops is charged as a whole before it starts; loops,
scans and builders charge in proportion to their work, always before they do it.

All of compiling is linear in the symbols of a text, which are its names, values, operators and brackets: 20 to 40 us
each, mostly in the parser. So symbols are counted as they are read, over all expressions that are compiled together.
Through its budget the compiling thread also learns that no caller waits any more, and lets other threads run: in Python
only one thread runs at a time, and the event loop would wait for each of its turns.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from context_service.kernel.cel.errors import (
    CallBudgetExceeded,
    EvaluationBudgetExceeded,
    EvaluationError,
    ExpressionTooLarge,
)
from context_service.kernel.cel.syntax import Node, Position

SCAN_CHARS = 128  # characters that a search passes in a step
COPY_CHARS = 4096  # characters that a comparison or a copy passes in a step
ABSORB_STEPS = 8  # an error raised and absorbed by && or || costs about 2 us
ITEM_BYTES = 8  # one place in a list
ENTRY_BYTES = 64  # one entry of a map
STRING_BYTES = 56  # a string besides its characters


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionLimits:
    """The limits on the length, nesting and symbols of one expression's text."""

    length_max: int = 4096  # characters
    nesting_max: int = 50  # brackets open at once; signs and negations in a row


class CallBudget:
    """The steps that all evaluations of one call share, and the limits of each.

    Belongs to one call: evaluations that share it must not run at the same
    time. An evaluation spends the call's steps, down to the floor that it sets
    when it begins; so there is nothing to settle when it ends.
    """

    __slots__ = (
        "bytes_left",
        "call_steps_left",
        "evaluation_bytes_max",
        "evaluation_steps_max",
        "nearly_spent",
        "steps_floor",
        "steps_max",
    )

    def __init__(
        self,
        *,
        steps_max: int = 50_000_000,
        evaluation_steps_max: int = 10_000,
        evaluation_bytes_max: int = 1024 * 1024,
    ) -> None:
        """Start unspent."""
        self.steps_max = steps_max
        self.evaluation_steps_max = evaluation_steps_max
        self.evaluation_bytes_max = evaluation_bytes_max
        self.call_steps_left = steps_max
        self.nearly_spent = False  # less is left than an evaluation may spend
        self.steps_floor = steps_max  # below which the evaluation that runs may not come
        self.bytes_left = 0  # bytes that the current evaluation may still use

    def unspent(self) -> CallBudget:
        """Return a full budget of the same size."""
        return CallBudget(
            steps_max=self.steps_max,
            evaluation_steps_max=self.evaluation_steps_max,
            evaluation_bytes_max=self.evaluation_bytes_max,
        )

    @property
    def steps_used(self) -> int:
        """The number of steps that the call has spent."""
        return self.steps_max - self.call_steps_left

    def resume(self, steps_left: int) -> None:
        """Continue the evaluation that began when the call had `steps_left`, so that it pays for work on its value.

        The limit on bytes is not applied again.
        """
        floor = steps_left - self.evaluation_steps_max
        self.nearly_spent = floor < 0
        self.steps_floor = max(floor, 0)

    def charge(self, steps: int) -> None:
        """Charge steps for work that is about to be done.

        Raises:
            EvaluationBudgetExceeded: the evaluation has fewer steps left.
            CallBudgetExceeded: the call has fewer steps left.
        """
        self.call_steps_left -= steps
        if self.call_steps_left < self.steps_floor:
            raise self.out_of_steps()

    def charge_scan(self, chars: int) -> None:
        """Charge steps for a search through `chars` characters; raises as `charge`."""
        if chars >= SCAN_CHARS:
            self.charge(chars // SCAN_CHARS)

    def charge_search(self, text_chars: int, part_chars: int) -> None:
        """Charge steps for a search for one text in another; raises as `charge`.

        Python searches texts below 30,000 characters in time up to the product of both
        lengths (a quarter of a nanosecond each), longer ones in linear time.
        """
        if text_chars < 64:
            return
        tried = part_chars if text_chars < 2500 else min(part_chars, 100)
        product = text_chars * tried // 1024 if text_chars < 30_000 else 0
        self.charge(text_chars // SCAN_CHARS + product)

    def charge_bytes(self, size_bytes: int) -> None:
        """Charge the bytes of a value that is about to be built.

        Raises:
            EvaluationBudgetExceeded: the evaluation has fewer bytes left.
        """
        self.bytes_left -= size_bytes
        if self.bytes_left < 0:
            maximum = self.evaluation_bytes_max
            raise EvaluationBudgetExceeded(
                f"the evaluation builds more than {maximum} bytes",
                limit="evaluation_bytes",
                maximum=maximum,
            )

    def out_of_steps(self) -> EvaluationError | CallBudgetExceeded:
        """Return the error of the budget that ran out: that of the call if it had less left than the evaluation."""
        wanted = self.steps_used
        self.call_steps_left = self.steps_floor
        if self.nearly_spent:
            return CallBudgetExceeded(
                f"the expressions of the call take more than {self.steps_max} steps together",
                maximum=self.steps_max,
                value=wanted,
            )
        maximum = self.evaluation_steps_max
        return EvaluationBudgetExceeded(
            f"the evaluation takes more than {maximum} steps",
            limit="evaluation_steps",
            maximum=maximum,
        )


_LOOK_EVERY: Final = 16  # calls of `look`: a millisecond at most
_WORK_S: Final = 0.001  # after which others have their turn
_REST_S: Final = 0.001


class CompileStopped(Exception):
    """No caller waits for the compiled expression."""


class CompileBudget:
    """The symbols that several expressions may have together. One thread spends them; any thread may stop it.

    Args:
        symbols_max: The number of symbols of all expressions together.
        expression: The limits of each single expression.
        gives_way: Whether the thread sleeps briefly as it works, so that another one, such as the event loop, can run.
    """

    def __init__(
        self,
        *,
        symbols_max: int = 10_000,
        expression: ExpressionLimits = ExpressionLimits(),  # frozen
        gives_way: bool = False,
    ) -> None:
        self.expression = expression
        self.trees: dict[str, Node] = {}  # by the text of the expression
        self._symbols_max = symbols_max
        self._symbols = 0
        self._stopped = False
        self._looks = 0
        self._rest_at = time.perf_counter() + _WORK_S if gives_way else float("inf")

    def charge(self, symbols: int, at: Position) -> None:
        """Count symbols of an expression against the limit.

        Raises:
            ExpressionTooLarge: there are too many symbols; the error has the position `at`.
            CompileStopped: no caller waits any more.
        """
        self._symbols += symbols
        if self._symbols > self._symbols_max:
            raise ExpressionTooLarge(
                f"the expressions may have up to {self._symbols_max} symbols together (got {self._symbols} or more)",
                *at,
                limit="symbols",
                maximum=self._symbols_max,
                value=self._symbols,
            )
        self.look()

    def stop(self) -> None:
        """Make the thread that compiles stop soon."""
        self._stopped = True

    def look(self) -> None:
        """Check whether compiling must stop; the compiler calls this for each small piece of work.

        Raises:
            CompileStopped: no caller waits any more.
        """
        self._looks += 1
        if self._looks % _LOOK_EVERY:
            return
        if self._stopped:
            raise CompileStopped
        if time.perf_counter() > self._rest_at:
            time.sleep(_REST_S)
            self._rest_at = time.perf_counter() + _WORK_S
