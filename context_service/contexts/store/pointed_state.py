"""The statements of `rules.pointed_state`."""

from __future__ import annotations

from service_runtime.postgres import Across
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
STATE = SQL["state"]
WITHOUT_TEXT = SQL["without_text"]
OWED_FROM = Across(
    sql=SQL["owed_from"],
    contexts=True,
    subjects=True,
    why="the waiting caller was let into the context before; the result is only a place in its log",
)
