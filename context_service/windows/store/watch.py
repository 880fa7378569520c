"""The SQL statements of `windows.rules.watch`, which streams the changes of windows."""

from __future__ import annotations

from context_service.contexts.room import LOG_SQL
from service_runtime.postgres import Across
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, log=LOG_SQL)
MARKS = Across(
    sql=SQL["marks"],
    contexts=True,
    subjects=True,
    why="it tells watchers that there is more, and nothing of it: they read it behind their own walls",
)
