"""The statements of `upkeep.vector_backfill`."""

from __future__ import annotations

from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
COUNT = SQL["count"]
LOCK = SQL["lock"]
OWE = SQL["owe"]
