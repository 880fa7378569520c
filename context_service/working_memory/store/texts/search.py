"""The statements of `rules.search`."""

from __future__ import annotations

from context_service.kernel.embedding import EMBEDDING_DIMENSION
from context_service.working_memory.store.record_columns import READ, STORED
from context_service.working_memory.store.record_columns import SQL as RECORD_COLUMNS_SQL
from context_service.working_memory.store.record_filters import SQL as RECORD_FILTERS_SQL
from context_service.working_memory.store.texts.passages import NODE
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(
    __file__,
    embedding_dimension=EMBEDDING_DIMENSION,
    node=NODE,
    read=READ,
    record_columns=RECORD_COLUMNS_SQL,
    record_filters=RECORD_FILTERS_SQL,
    stored=STORED,
)
HAS_INDEX = SQL["has_index"]
SET_INDEXED = SQL["set_indexed"]
RECORDS = SQL["records"]
