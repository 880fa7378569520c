"""The statements of `rules.passages`."""

from __future__ import annotations

from context_service.working_memory.pure.beginnings import TEXT_CHARS_MAX
from context_service.working_memory.store.record_filters import SQL as RECORD_FILTERS_SQL
from context_service.working_memory.store.texts.passages import NODE
from service_runtime.statements.sql_files import SqlFile

FILES_COUNTED = 1_000  # records that are counted; one more means that there are more
_WHOLE_PASSAGES_MAX = 4_096  # the most passages of a record that are joined to make its text
_LOOKED_AT_MAX = 1_000  # the best passage of a record is chosen among this many passages from its beginning
SQL = SqlFile.of(
    __file__,
    files_counted=FILES_COUNTED,
    looked_at_max=_LOOKED_AT_MAX,
    node=NODE,
    record_filters=RECORD_FILTERS_SQL,
    text_chars_max=TEXT_CHARS_MAX,
    whole_passages_max=_WHOLE_PASSAGES_MAX,
)
SHOWN = SQL["shown"]
BEST_PASSAGES = SQL["best_passages"]
WHOLE = SQL["whole"]
COUNT = SQL["count"]
COUNT_OF_NODES = SQL["count_of_nodes"]
