"""CEL over JSON: expressions of users, run inside a server for many tenants.

`compile_expression` checks an expression and turns it into closures, once.
`Expression.evaluate` runs it on plain JSON values and charges each step to the
call's budget, so it ends soon with any expression and any data.
"""

from context_service.kernel.cel.budget import CallBudget, CompileBudget, CompileStopped, ExpressionLimits
from context_service.kernel.cel.compile import Fields
from context_service.kernel.cel.errors import (
    CallBudgetExceeded,
    CelError,
    EvaluationBudgetExceeded,
    EvaluationError,
    ExpressionTooLarge,
)
from context_service.kernel.cel.expression import Evaluator, Expression, ResultType, compile_expression
from context_service.kernel.cel.library.formatting import JsonWriter
from context_service.kernel.cel.parse import parse
from context_service.kernel.cel.syntax import Literal, MapLiteral, Node, elements, outcomes
from context_service.kernel.cel.times import Duration, Timestamp
from context_service.kernel.cel.values import CelType, Uint

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
    "Fields",
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
