"""Policies by hand, for searches: no expression of a caller runs on a row that the caller may not see.

An expression can reveal a row by more than its result: by an error that only some values raise, or by its time. With
row-level security Postgres keeps this order itself, but uses no index for jsonb, texts and vectors then. So searches
read views of the tables' owner, to which no policy applies. Their conditions repeat the policies, but to the planner
they are conditions like all others, which it runs in any order that is cheap. CASE keeps the order, the one expression
for which Postgres promises it: first the view's own column "may the caller see this row", then the caller's condition.

Conditions outside of the CASE are for indexes, and use the operators of `EXEMPT` only.
"""

from __future__ import annotations

# The operators that may run on any row, and why each of them tells nothing: it raises on no stored value, whatever it
# is compared with, and takes a time that depends on sizes. A test runs each over every kind of value, and holds the
# statements to this list.
EXEMPT = {
    "=": "leakproof for texts, ids, times and booleans; a whole number and a decimal are compared as decimals",
    "= ANY": "the same for each of a list",
    "<>": "of texts and lists: compares bytes",
    "<": "of times: compares two integers",
    "<=": "of times: compares two integers",
    ">": "of times: compares two integers",
    ">=": "of times: compares two integers",
    "&&": "of lists of one type: compares bytes, element by element",
    "@>": "of jsonb: compares keys and scalars; documents are no deeper than the stack allows; of lists of numbers: "
    "compares numbers",
    "@@": "of jsonb, with a path that `entity_service.pure.json_paths` made: compares keys and scalars",
    "<=>": "inside an index of vectors with one dimension",
    "IS": "looks only whether a value is null",
    "AND": "no operator of values",
    "OR": "no operator of values",
}


def guarded(policy: str, exact: str, *, index: str = "") -> str:
    """Return a condition that runs on no row that the policy hides.

    Args:
        policy: Column or expression that is true of the rows that the caller may see.
        exact: SQL of the caller's own condition.
        index: SQL that `exact` implies, with operators of `EXEMPT` only, for an index to serve; empty for none.
    """
    if exact == index:
        return exact
    checked = f"CASE WHEN {policy} THEN {exact} ELSE false END"
    return f"({index} AND {checked})" if index else f"({checked})"
