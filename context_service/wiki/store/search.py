"""The statements of `rules.search`."""

from __future__ import annotations

from context_service.retrieval.model import WIKI
from context_service.wiki.store.pages import SQL as PAGES_SQL
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__, pages=PAGES_SQL, wiki=WIKI)
SHOWN = SQL["shown"]
CITING = SQL["citing"]
