"""The statements of `rules.search`."""

from __future__ import annotations

from context_service.compiled_pages.store.pages import SQL as PAGES_SQL
from context_service.retrieval.model import BRAIN
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, brain=BRAIN, pages=PAGES_SQL)
SHOWN = SQL["shown"]
COUNT = SQL["count"]
WHOLE = SQL["whole"]
