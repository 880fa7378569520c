"""Which passages of a scope may lack a vector: what the scope's row of the outbox says.

Passages are written behind the last ones (`seq` from 0 on: messages) or somewhere before all of them (below zero: what
tasks made). So a row says from which `seq` on, and between which two below zero: whoever makes vectors looks at nothing
else. An artifact in a long conversation lets nobody look at the conversation again.
"""

from __future__ import annotations

from service_runtime.sql_files import SqlFile

SQL = SqlFile.of(__file__)
PLACES = SQL["places"]
IS_OWED = SQL["is_owed"]
FIRST = SQL["first"]
OF_PASSAGES = SQL["of_passages"]
TOGETHER = SQL["together"]
BEHIND = SQL["behind"]


def owing_topic(kind: str) -> str:
    """Return the topic of the outbox under which vectors of scopes of a kind are owed."""
    return f"vectors of {kind}"
