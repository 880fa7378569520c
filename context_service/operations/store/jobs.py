"""The statements of `rules.jobs`."""

from __future__ import annotations

from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
START = SQL["start"]
TELL = SQL["tell"]
END = SQL["end"]
READ = SQL["read"]
LIST = SQL["list"]
