"""The passages of a scope that may lack a vector, as the payload of the scope's outbox row says.

Passages of messages have a `seq` from 0 on and are appended. Passages of artifacts have a `seq` below 0. So a row of
the outbox has the first `seq` from which messages may lack a vector, and a range below 0 for artifacts, and the worker
reads only these. A new artifact in a long conversation does not make it read the whole conversation again.
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
