"""The passages of a scope that may lack a vector, as the payload of the scope's outbox row says.

Passages of messages are appended (`seq` from 0 on), and those of artifacts are written before all of them (below zero).
So a row has the first `seq` to read, and a range below zero, and the worker reads nothing else. An artifact in a long
conversation does not make it read the conversation again.
"""

from __future__ import annotations

from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
PLACES = SQL["places"]
IS_OWED = SQL["is_owed"]
FIRST = SQL["first"]
OF_PASSAGES = SQL["of_passages"]
TOGETHER = SQL["together"]
REST = SQL["rest"]


def owing_topic(kind: str) -> str:
    """Return the outbox topic for the vectors of scopes of a kind."""
    return f"vectors of {kind}"
