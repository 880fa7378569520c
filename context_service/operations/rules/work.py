"""What is owed behind calls, of all tenants together, and trying again what has failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from context_service.operations.rules.operators import everywhere
from service_runtime.auth import Principal
from service_runtime.checks import check_text
from service_runtime.postgres import Database, Row
from service_runtime.sql_files import SqlFile

_KIND_CHARS_MAX = 100

SQL = SqlFile.of(__file__)
_OWED = SQL["owed"]
_RETRY = SQL["retry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedWork:
    """What is owed of a kind in a database."""

    database: str  # its name; empty: the home database
    kind: str
    owed: int
    failed: int  # of it: what was tried and is tried again
    oldest_at: datetime
    last_error: str  # of one of those that failed


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedWork:
    """What is owed, by kind and database."""

    work: Sequence[OwedWork]
    databases_away: Sequence[str]  # that did not answer: of these it is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """How much is tried again."""

    count: int
    databases_away: Sequence[str]  # that did not answer: of these it is nothing


class Work:
    """The work in the background, of all tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def owed(self, *, principal: Principal) -> QueuedWork:
        """Return what is owed.

        Raises:
            PermissionDenied: the principal is no operator's key.
        """
        answers = await everywhere(self._database, principal, _OWED)
        work = [OwedWork(database=name, **row._asdict()) for name, rows in answers.items() for row in rows or ()]
        work.sort(key=lambda one: (one.kind, one.database))
        return QueuedWork(work=work, databases_away=_away(answers))

    async def retry(self, kind: str, *, principal: Principal) -> Retried:
        """Let what has failed of a kind be tried again now, 10,000 of each database at most.

        Raises:
            PermissionDenied: the principal is no operator's key.
            InvalidArgument: no kind is named.
        """
        check_text("kind", kind, chars_max=_KIND_CHARS_MAX, required=True)
        answers = await everywhere(self._database, principal, _RETRY, {"kind": kind})
        count = sum([row.retried for rows in answers.values() for row in rows or ()])
        return Retried(count=count, databases_away=_away(answers))


def _away(answers: Mapping[str, Sequence[Row] | None]) -> list[str]:
    return [name for name, rows in answers.items() if rows is None]
