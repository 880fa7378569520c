"""The statements of `upkeep.text_backfill`."""

from __future__ import annotations

from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
PAGE = SQL["page"]
LOCK = SQL["lock"]
OWE = SQL["owe"]
