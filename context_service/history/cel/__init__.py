"""CEL over JSON: expressions of users, run inside a server for many tenants.

`compile_expression` checks an expression and turns it into closures, once.
`Expression.evaluate` runs it on plain JSON values and charges what it does to
the call's budget, so it ends soon whatever the expression and the data are.
"""

from context_service.history.cel.budget import CallBudget, ExpressionLimits
from context_service.history.cel.compile_budget import CompileBudget, CompileStopped
from context_service.history.cel.errors import (
    CallBudgetExceeded,
    CelError,
    EvaluationBudgetExceeded,
    EvaluationError,
    ExpressionTooLarge,
)
from context_service.history.cel.evaluators import Evaluator
from context_service.history.cel.expression import Expression, ResultType, compile_expression
from context_service.history.cel.json_values import JsonWriter
from context_service.history.cel.outcomes import elements, outcomes
from context_service.history.cel.parse import parse
from context_service.history.cel.syntax import Literal, MapLiteral, Node
from context_service.history.cel.times import Duration, Timestamp
from context_service.history.cel.values import CelType, Uint

__all__ = [
    "CallBudget",
    "CallBudgetExceeded",
    "CelError",
    "CelType",
    "CompileBudget",
    "CompileStopped",
    "Duration",
    "EvaluationBudgetExceeded",
    "EvaluationError",
    "Evaluator",
    "Expression",
    "ExpressionLimits",
    "ExpressionTooLarge",
    "JsonWriter",
    "Literal",
    "MapLiteral",
    "Node",
    "ResultType",
    "Timestamp",
    "Uint",
    "compile_expression",
    "elements",
    "outcomes",
    "parse",
]
