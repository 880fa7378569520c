"""The statements of `rules.retention`."""

from __future__ import annotations

from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
LOCK_DUE_RECORDS = SQL["lock_due_records"]
PURGE_RECORDS = SQL["purge_records"]
LET_GO = SQL["let_go"]
