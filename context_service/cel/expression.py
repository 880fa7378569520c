"""A compiled expression: made once, at registration, and evaluated for every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from context_service.cel.budget import CallBudget
from context_service.cel.compile import NO_FIELDS, Code, Compiler, Fields
from context_service.cel.compile_budget import CompileBudget
from context_service.cel.errors import CelError
from context_service.cel.evaluators import Evaluator, evaluator
from context_service.cel.parse import parse
from context_service.cel.syntax import Conditional, Node

# "content" is a text, or an object or a list, which become JSON, or null. Which of them, whoever reads the value sees.
ResultType = Literal["bool", "string", "list", "map", "content", "any"]
_CONTENT = ("string", "list", "map", "null_type")
_RESULTS: dict[str, type] = {"bool": bool, "string": str, "list": list, "map": dict}


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. It holds no state, so threads may share it."""

    source: str
    # What it reads: a variable's name and the fields below it, as far as they are evident.
    paths: frozenset[tuple[str, ...]]
    _code: Code = field(repr=False)
    _locals: tuple[None, ...] = field(repr=False)
    _result: type | None = field(repr=False)

    def evaluate(self, variables: Mapping[str, object], budget: CallBudget) -> object:
        """Return the value for these variables. Treat it, like them, as read only.

        Args:
            variables: JSON values and aware datetimes by name; a name left out fails
                where it is read.
            budget: The call's. Whatever the outcome, the steps are charged to it.

        Raises:
            EvaluationError: the expression fails on this data.
            EvaluationBudgetExceeded: this evaluation passed its steps or bytes.
            CallBudgetExceeded: the call passed its steps.
        """
        return self.evaluator(budget)(variables)

    def evaluator(self, budget: CallBudget) -> Evaluator:
        """Return what evaluates it for one node of a call after another, as `evaluate` does."""
        return evaluator(self._code, self._locals, self._result, budget)


def compile_expression(
    source: str,
    *,
    variables: frozenset[str],
    result: ResultType = "any",
    budget: CompileBudget | None = None,
    fields: Fields = NO_FIELDS,
) -> Expression:
    """Return `source` compiled.

    Args:
        source: The expression.
        variables: The names it may read.
        result: The type that every evaluation must give.
        budget: What it is compiled on, with others; None: alone.
        fields: Of the variables that always have the same ones.

    Raises:
        ExpressionTooLarge: `source` passes the budget.
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
    """Return `source` compiled, with all but syntax left to the evaluation.

    The specification lets an evaluator do without checks: an unknown name is then an
    error where it is evaluated, which `||` may absorb. Its test vectors need that.

    Raises:
        CelError: a syntax error.
    """
    budget = CompileBudget()
    compiler = Compiler(variables, budget, checked=False)
    code = compiler.code(parse(source, budget), {})
    return _expression(source, compiler, code, None)


def _expression(source: str, compiler: Compiler, code: Code, result: type | None) -> Expression:
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
        raise CelError(f"the result is {evident}, not {wanted}", *node.at)
