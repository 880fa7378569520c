"""A compiled expression: made once, at registration, and evaluated for every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from context_service.kernel.cel.budget import CallBudget, CompileBudget
from context_service.kernel.cel.compile import NO_FIELDS, Code, Compiler, Fields
from context_service.kernel.cel.errors import CelError, EvaluationBudgetExceeded, EvaluationError
from context_service.kernel.cel.parse import parse
from context_service.kernel.cel.paths import VARIABLES, Path, Presence
from context_service.kernel.cel.syntax import Conditional, Node
from context_service.kernel.cel.values import type_name

# "content" is a text, null, or an object or list, which become JSON. The reader of the value checks its type.
ResultType = Literal["bool", "string", "list", "map", "content", "any"]
_CONTENT = ("string", "list", "map", "null_type")
_RESULTS: dict[str, type] = {"bool": bool, "string": str, "list": list, "map": dict}


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. It holds no state, so threads may share it."""

    source: str
    # The fields that it reads: a variable's name and the fields below it, as far as the text shows them.
    paths: frozenset[tuple[str, ...]]
    _code: Code = field(repr=False)
    _locals: tuple[None, ...] = field(repr=False)
    _result: type | None = field(repr=False)

    def evaluate(self, variables: Mapping[str, object], budget: CallBudget) -> object:
        """Return the value for these variables. Treat it, like them, as read only.

        Args:
            variables: JSON values and aware datetimes by name; a missing name is an error when it is read.
            budget: The budget of the call. Steps are charged to it even if the evaluation fails.

        Raises:
            EvaluationError: the expression fails on this data.
            EvaluationBudgetExceeded: this evaluation exceeded its steps or bytes.
            CallBudgetExceeded: the call exceeded its steps.
        """
        return self.evaluator(budget)(variables)

    def evaluator(self, budget: CallBudget) -> Evaluator:
        """Return a function that evaluates the expression for one node after another of a call; see `evaluate`."""
        return evaluator(self._code, self._locals, self._result, budget)


def compile_expression(
    source: str,
    *,
    variables: frozenset[str],
    result: ResultType = "any",
    budget: CompileBudget | None = None,
    fields: Fields = NO_FIELDS,
) -> Expression:
    """Compile the text of an expression.

    Args:
        source: The text of the expression.
        variables: The names of the variables that it may read.
        result: The type that every evaluation must give.
        budget: The budget of all expressions that are compiled together; None makes one for this expression.
        fields: The names of the fields, for variables that always have the same fields.

    Raises:
        ExpressionTooLarge: `source` exceeds the budget.
        CompileStopped: the budget was stopped.
        CelError: a syntax error, an unknown variable, field or function, a wrong number of
            arguments, or a result that is evidently of another type.
    """
    budget = budget or CompileBudget()
    tree = parse(source, budget)
    compiler = Compiler(variables, budget, checked=True, fields=fields)
    code = compiler.code(tree, {})
    if result == "any":
        return _expression(source, compiler, code, None)
    if result == "content":
        _check_result(compiler, tree, _CONTENT, "a text, an object or a list")
        return _expression(source, compiler, code, None)
    _check_result(compiler, tree, (result,), result)
    return _expression(source, compiler, code, _RESULTS[result])


def compile_unchecked(source: str, *, variables: frozenset[str]) -> Expression:
    """Compile the text of an expression, and check only its syntax.

    The specification lets an evaluator do without checks: an unknown name is then an
    error where it is evaluated, which `||` may absorb. Its test vectors need that.

    Raises:
        CelError: the expression has a syntax error.
    """
    budget = CompileBudget()
    compiler = Compiler(variables, budget, checked=False)
    code = compiler.code(parse(source, budget), {})
    return _expression(source, compiler, code, None)


def _expression(source: str, compiler: Compiler, code: Code, result: type | None) -> Expression:
    """Return the expression that a compiler has made of a source. `result` is the type that each result must have."""
    return Expression(
        source=source,
        paths=compiler.paths,
        _code=code,
        _locals=(None,) * compiler.locals_count,
        _result=result,
    )


def _check_result(compiler: Compiler, node: Node, types: Sequence[str], wanted: str) -> None:
    """Refuse a result that is evidently of none of these types, in any branch."""
    if isinstance(node, Conditional):
        for _, then in node.branches:
            _check_result(compiler, then, types, wanted)
        _check_result(compiler, node.otherwise, types, wanted)
        return
    evident = compiler.types[id(node)]
    if evident is not None and evident not in types:
        raise CelError(f"the result must be {wanted} (got {evident})", *node.at)


# The evaluators of an expression for one node after another of a call. `_general` makes the one for any expression: it
# begins an evaluation on the call's budget and runs the code. Most expressions of a mapping are a constant, a path, or
# a test for fields. Each of these has a faster closure for the usual case: the data have the expected form and there
# are enough steps. In any other case, the closure calls it.

Evaluator = Callable[[Mapping[str, Any]], object]


def evaluator(code: Code, names: tuple[None, ...], result_type: type | None, budget: CallBudget) -> Evaluator:
    """Return a function that evaluates an expression with the fastest of three methods.

    Args:
        code: The compiled expression.
        names: An empty slot for each name that the macros of the expression bind.
        result_type: The type that its value must have, or None for any.
        budget: The budget of the call. Steps are charged to it even if the evaluation fails.
    """
    if code.constant:
        value = code.value
        return lambda variables: value
    evaluate = _general(code, names, result_type, budget)
    if code.cost <= budget.evaluation_steps_max:
        if code.path and code.path.slot == VARIABLES:
            return _path(code.path, code.cost, result_type, budget, evaluate)
        if code.presence and code.presence.path.slot == VARIABLES:
            return _presence(code.presence, code.cost, budget, evaluate)
    return evaluate


def _general(code: Code, names: tuple[None, ...], result_type: type | None, budget: CallBudget) -> Evaluator:
    """Return the general evaluator, which runs the closure of the whole expression.

    It charges the known cost first, limits the steps and bytes of the evaluation, and checks the type of the result.
    """
    run, known_steps = code.run, code.cost
    steps_max, bytes_max = budget.evaluation_steps_max, budget.evaluation_bytes_max

    def evaluate(variables: Mapping[str, Any]) -> object:
        # The steps of all evaluations of a call are shared; each evaluation has the same number of bytes.
        steps_left = budget.call_steps_left
        floor = steps_left - steps_max
        if floor < 0:
            floor = 0
            budget.nearly_spent = True
        budget.steps_floor = floor
        budget.bytes_left = bytes_max
        steps_left -= known_steps
        budget.call_steps_left = steps_left
        if steps_left < floor:
            raise budget.out_of_steps()
        try:
            value = run([budget, variables, *names])
        except RecursionError:
            raise EvaluationBudgetExceeded(
                "the evaluation is nested too deeply", limit="evaluation_depth", maximum=100
            ) from None
        if result_type is not None and type(value) is not result_type:
            raise EvaluationError(f"the result must be {type_name(result_type())} (got {type_name(value)})")
        return value

    return evaluate


def _path(path: Path, cost: int, result_type: type | None, budget: CallBudget, evaluate: Evaluator) -> Evaluator:
    """Return a fast evaluator for an expression that is only a chain of fields.

    If the simple look-up fails in any way, it leaves the work to `evaluate`, which gives the exact error.
    """
    keys = path.keys

    def read(variables: Mapping[str, Any]) -> object:
        left = budget.call_steps_left - cost
        value: Any = variables
        try:
            for key in keys:
                value = value[key]
        except (KeyError, TypeError):
            return evaluate(variables)
        kind = type(value)
        if (
            left < 0 or (kind is not result_type and result_type is not None) or kind is int
        ):  # an int may be too large for one
            return evaluate(variables)
        budget.call_steps_left = left
        return value

    return read


def _presence(presence: Presence, cost: int, budget: CallBudget, evaluate: Evaluator) -> Evaluator:
    """Return a fast evaluator for an expression that only tests for fields of one map.

    If the map cannot be read, it leaves the work to `evaluate`, which gives the exact error.
    """
    (first, second), wanted = presence.path.keys, presence.wanted

    def test(variables: Mapping[str, Any]) -> object:
        left = budget.call_steps_left - cost
        try:
            fields = variables[first][second]
        except (KeyError, TypeError):
            return evaluate(variables)
        if left < 0 or type(fields) is not dict:
            return evaluate(variables)
        budget.call_steps_left = left
        for name, there in wanted:  # noqa: SIM110  # all() takes three times as long
            if (name in fields) is not there:
                return False
        return True

    return test
