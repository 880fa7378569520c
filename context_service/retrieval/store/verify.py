"""The statements of `rules.verify`."""

from __future__ import annotations

from context_service.retrieval.store.passages import SQL as PASSAGES_SQL
from service_runtime.postgres import Across
from service_runtime.statements.sql_files import SqlFile

_COLUMNS = (
    *("seq", "ordinal", "session", "said_at", "part", "place", "length_before", "marks", "kind", "role", "author"),
    *("task_id", "source_id", "context_id", "owner_user_id", "graph_name", "agent_bundle_id", "app_id", "ancestors"),
    *("terms", "text"),
)
_NAMED_COLUMNS = ", ".join(_COLUMNS)
SQL = SqlFile.of(__file__, named_columns=_NAMED_COLUMNS, passages=PASSAGES_SQL)
ROWS = SQL["rows"]
NOBODYS = SQL["nobodys"]
DELETE = SQL["delete"]
INSERT = SQL["insert"]
PUT_TERMS = SQL["put_terms"]
SESSIONS = SQL["sessions"]
PUT_SESSIONS = SQL["put_sessions"]
DELETE_SESSIONS = SQL["delete_sessions"]
COUNT_SESSIONS = SQL["count_sessions"]
MEND_SESSIONS = SQL["mend_sessions"]
COUNT_TOTALS = SQL["count_totals"]
MEND_TOTALS = SQL["mend_totals"]
_WHY_OTHERS = "an operator counts or removes rows of a wrong owner, and reads no text"
COUNT_OTHERS = Across(
    sql=SQL["count_others"],
    contexts=True,
    subjects=True,
    why=_WHY_OTHERS,
)
REMOVE_OTHERS = Across(
    sql=SQL["remove_others"],
    contexts=True,
    subjects=True,
    why=_WHY_OTHERS,
)


def _scopes_of(table: str) -> Across:
    """Return the statement that reads the scopes of a table, for all contexts and users."""
    return Across(
        sql=SQL.filled("scopes_of", table=table),
        contexts=True,
        subjects=True,
        why="an operator looks for scopes without an owner: it reads their ids",
    )


LISTED = tuple(_scopes_of(table) for table in ("context.passage", "context.passage_session", "context.passage_scope"))
