"""The statements of `rules.record_texts`."""

from __future__ import annotations

from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
READ = SQL["read"]
