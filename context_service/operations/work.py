"""What is owed behind calls, of all tenants together, and trying again what has failed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from context_service.operations.operators import key_of
from service_runtime.auth import Principal
from service_runtime.documents import check_text
from service_runtime.postgres import Database

_KIND_CHARS_MAX = 100

_OWED = "SELECT kind, owed, failed, oldest_at, last_error FROM context.owed_work(%(asking_id)s) ORDER BY kind"
_RETRY = "SELECT context.retry_work(%(asking_id)s, %(kind)s) AS retried"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedWork:
    """What is owed of a kind."""

    kind: str
    owed: int
    failed: int  # of it: what was tried and is tried again
    oldest_at: datetime
    last_error: str  # of one of those that failed


class Work:
    """The work in the background, of all tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def owed(self, *, principal: Principal) -> list[OwedWork]:
        """Return what is owed, by kind.

        Raises:
            PermissionDenied: the principal is no operator's key.
        """
        rows = await self._database.of(principal).at_home().query(_OWED, {"asking_id": key_of(principal)})
        return [OwedWork(**row._asdict()) for row in rows]

    async def retry(self, kind: str, *, principal: Principal) -> int:
        """Let what has failed of a kind be tried again now, 10,000 at most, and return how much it is.

        Raises:
            PermissionDenied: the principal is no operator's key.
            InvalidArgument: no kind is named.
        """
        check_text("kind", kind, chars_max=_KIND_CHARS_MAX, required=True)
        parameters = {"asking_id": key_of(principal), "kind": kind}
        (row,) = await self._database.of(principal).at_home().query(_RETRY, parameters)
        retried: int = row.retried
        return retried
