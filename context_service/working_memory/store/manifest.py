"""The statements of `rules.manifest`."""

from __future__ import annotations

from context_service.working_memory.store.record_columns import SIZE, STORED
from context_service.working_memory.store.record_filters import SQL as RECORD_FILTERS_SQL
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, record_filters=RECORD_FILTERS_SQL, size=SIZE, stored=STORED)
MANIFEST = SQL["manifest"]
