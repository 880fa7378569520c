"""The statements of `rules.file_texts`."""

from __future__ import annotations

from context_service.working_memory.store.texts.passages import SQL as PASSAGES_SQL
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, passages=PASSAGES_SQL)
LOCK = SQL["lock"]
NODE = SQL["node"]
PUT = SQL["put"]
TELL = SQL["tell"]
