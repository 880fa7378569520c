"""The statements of `rules.holds`."""

from __future__ import annotations

from service_runtime.postgres import Across
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
PUT = SQL["put"]
COUNT = SQL["count"]
COUNTING = SQL["counting"]
DELETE = SQL["delete"]
LIST = SQL["list"]
IS_THERE = Across(
    sql=SQL["is_there"],
    contexts=True,
    subjects=True,
    why="an administrator may hold contexts of any owner",
)
AGAINST = Across(
    sql=SQL["against"],
    contexts=True,
    subjects=True,
    why="a subject is erased with all that is the subject's, for an administrator",
)
