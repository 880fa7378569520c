"""The statements of `rules.index_state`."""

from __future__ import annotations

from context_service.retrieval.room import VECTOR_OUTBOX_SQL
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, vector_outbox=VECTOR_OUTBOX_SQL)
OWED_FROM = SQL["owed_from"]
STATE = SQL["state"]
