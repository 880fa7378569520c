"""Rebuilds the index of words while it is read and written, for an operator, as the owner of the tables.

A GIN index keeps the pages of passages that were deleted. Its size levels off (docs/benchmarks.md, "The index of
words"), and a rebuild makes it small again.
"""

from __future__ import annotations

from dataclasses import dataclass

from service_runtime.postgres.administration import administering
from service_runtime.statements.sql_files import SqlFile

_INDEX = "context.passage_terms"
SQL = SqlFile.of(__file__)
_LEFT = SQL["left"]
_SIZE = SQL["size"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexed:
    """The size of the index of words before and after a rebuild, and the number of passages."""

    passages: int  # live ones
    bytes_before: int
    bytes_after: int

    @property
    def bytes_a_passage(self) -> float:
        """The bytes that the index takes now for each passage."""
        return self.bytes_after / self.passages if self.passages else 0.0


def reindex(admin_url: str) -> Reindexed:
    """Rebuild the index of words. Readers and writers go on; they wait only for each other's transactions.

    Args:
        admin_url: The URL with which the role that owns the tables connects.

    Raises:
        CannotAdminister: the role may not administer the tables; see `administering`.
    """
    with administering(admin_url, autocommit=True) as connection:

        def number(statement: str, *parameters: str) -> int:
            (row,) = connection.execute(statement.encode(), parameters).fetchall()
            return int(row[0])

        for (name,) in connection.execute(_LEFT).fetchall():
            connection.execute(f"DROP INDEX CONCURRENTLY {name}".encode())
        bytes_before = number(_SIZE, _INDEX)
        connection.execute(f"REINDEX INDEX CONCURRENTLY {_INDEX}".encode())
        return Reindexed(
            passages=number("SELECT count(*) FROM context.passage"),
            bytes_before=bytes_before,
            bytes_after=number(_SIZE, _INDEX),
        )
