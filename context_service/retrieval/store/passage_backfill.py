"""The statements of `rules.passage_backfill`."""

from __future__ import annotations

from context_service.retrieval.store.vector_outbox import SQL as VECTOR_OUTBOX_SQL
from service_runtime.postgres import Across
from service_runtime.statements.sql_files import SqlFile

_WHY = "an operator rebuilds vectors of all users"
SQL = SqlFile.of(__file__, vector_outbox=VECTOR_OUTBOX_SQL)
LACKING = Across(
    sql=SQL["lacking"],
    contexts=True,
    subjects=True,
    why=_WHY,
)
OWE = Across(
    sql=SQL["owe"],
    contexts=True,
    subjects=True,
    why=_WHY,
)
