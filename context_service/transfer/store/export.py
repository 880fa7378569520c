"""The statements of `rules.export`."""

from __future__ import annotations

from context_service.transfer.store.rows import ALL
from service_runtime.postgres import Across
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
BEGUN = SQL["begun"]
FILES = SQL["files"]
FILE = Across(
    sql=SQL["file"],
    contexts=True,
    subjects=True,
    why=ALL.why,
)
WINDOWS_NOW = SQL["windows_now"]
RECORDS_OF = SQL["records_of"]
RECORDS_OF_USER = SQL["records_of_user"]
TREE = Across(
    sql=SQL["tree"],
    contexts=True,
    subjects=True,
    why=ALL.why,
)
