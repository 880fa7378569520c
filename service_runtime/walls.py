"""The wall in front of what a caller asks: no expression of a caller runs on a row that the caller may not see.

An expression can tell of a row by more than its result: by an error that only some values raise, or by its time. Below
row-level security Postgres keeps this order itself, but uses no index for jsonb, texts and vectors there. So searches
read views of the owner's, below no policy: their conditions are the policies', and to the planner they are conditions
like all others, to be asked in whatever order is cheap. There the order is kept by CASE, the one expression of which
Postgres promises it: first the view's own answer to "may the caller see this row", then what the caller asks.

What stands outside of the CASE is for indexes, and made of the operators of `EXEMPT` alone.
"""

from __future__ import annotations

# The operators that may run on any row, and why each of them tells nothing: it raises on no stored value, whatever it
# is compared with, and takes a time that depends on sizes. A test runs each over every kind of value, and holds the
# statements to this list.
EXEMPT = {
    "=": "leakproof for texts, ids, times and booleans; a whole number beside a decimal is widened, which all fit",
    "= ANY": "the same for each of a list",
    "<>": "of texts and lists: compares bytes",
    "<": "of times: compares two integers",
    "<=": "of times: compares two integers",
    ">": "of times: compares two integers",
    ">=": "of times: compares two integers",
    "&&": "of lists of one type: compares bytes, element by element",
    "@>": "of jsonb: compares keys and scalars; documents are no deeper than the stack allows",
    "@@": "of words, with a query that Postgres made: compares words; of jsonb, with a path that "
    "`entity_service.pure.json_paths` made: compares keys and scalars",
    "<=>": "inside an index of vectors, all of which have one dimension",
    "IS": "looks at nothing but whether a value is there",
    "AND": "no operator of values",
    "OR": "no operator of values",
}


def behind(wall: str, exact: str, *, index: str = "") -> str:
    """Return a condition that runs on no row before the wall has let it through.

    Args:
        wall: Column or expression that is true of the rows that the caller may see.
        exact: SQL, true of the rows that are meant.
        index: SQL that `exact` implies, of exempt operators only: what an index may serve. Empty: none.
    """
    if exact == index:
        return exact
    walled = f"CASE WHEN {wall} THEN {exact} ELSE false END"
    return f"({index} AND {walled})" if index else f"({walled})"
