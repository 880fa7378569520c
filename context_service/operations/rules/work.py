"""The work that calls have queued, of all tenants together, and the retry of failed work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from context_service.operations.rules.operators import everywhere
from context_service.operations.store.work import OWED, RETRY
from service_runtime.postgres import Database, Row
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_text

_KIND_CHARS_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedWork:
    """The queued work of a kind in a database."""

    database: str  # the name of the database; empty for the home database
    kind: str
    owed: int
    failed: int  # the number of these items that were attempted at least once and wait for a retry
    oldest_at: datetime
    last_error: str  # the last error of one of the failed items


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedWork:
    """The queued work, by kind and database."""

    work: Sequence[OwedWork]
    databases_away: Sequence[str]  # databases that did not answer, so that their work is unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """The number of items that are retried."""

    count: int
    databases_away: Sequence[str]  # databases that did not answer, so that none of their work is retried


class Work:
    """Lists and retries the background work of all tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def queued_work(self, *, principal: Principal) -> QueuedWork:
        """Return how much background work is queued, by kind and database.

        Raises:
            PermissionDenied: the principal is not a key of an operator.
        """
        answers = await everywhere(self._database, principal, OWED)
        work = [OwedWork(database=name, **row._asdict()) for name, rows in answers.items() for row in rows or ()]
        work.sort(key=lambda item: (item.kind, item.database))
        return QueuedWork(work=work, databases_away=_away(answers))

    async def retry(self, kind: str, *, principal: Principal) -> Retried:
        """Make failed items of a kind due now, up to 10,000 in each database.

        Raises:
            PermissionDenied: the principal is not a key of an operator.
            InvalidArgument: no kind is named.
        """
        check_text("kind", kind, chars_max=_KIND_CHARS_MAX, required=True)
        answers = await everywhere(self._database, principal, RETRY, {"kind": kind})
        count = sum([row.retried for rows in answers.values() for row in rows or ()])
        return Retried(count=count, databases_away=_away(answers))


def _away(answers: Mapping[str, Sequence[Row] | None]) -> list[str]:
    return [name for name, rows in answers.items() if rows is None]
