"""The statements of `rules.tenants`."""

from __future__ import annotations

from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
LIST = SQL["list"]
FIND = SQL["find"]
STORED = SQL["stored"]
SET = SQL["set"]
