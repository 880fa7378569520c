"""The statements of `rules.watch`."""

from __future__ import annotations

from context_service.contexts.store.log import SQL as LOG_SQL
from service_runtime.postgres import Across
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, log=LOG_SQL)
MARKS = Across(
    sql=SQL["marks"],
    contexts=True,
    subjects=True,
    why="it only tells watchers that there is more: they read the events under their own policies",
)
