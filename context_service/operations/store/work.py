"""The statements of `rules.work`."""

from __future__ import annotations

from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
OWED = SQL["owed"]
RETRY = SQL["retry"]
