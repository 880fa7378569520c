"""The contexts that a search over several contexts may find: their counts of passages, headers and message ids."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context_service.context_settings.room import CONTEXT_SETTINGS_SQL
from context_service.contexts.model import Context, ContextFilter, Message
from context_service.contexts.store.log import AGENTS_MAX, context_of, filter_parameters, messages_in
from context_service.contexts.store.log import SQL as LOG_SQL
from context_service.retrieval.pure.rows import Totals
from service_runtime.postgres import Across, Database
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

SQL = SqlFile.of(__file__, log=LOG_SQL, settings=CONTEXT_SETTINGS_SQL)

_WHY = "a search over the caller's findable contexts; row-level security holds its user and its bounds"


def _across(name: str) -> Across:
    return Across(sql=SQL[name], contexts=True, why=_WHY)


_OF_NOBODY, _OF_USER, _OF_EXTERNAL_ID = _across("of_nobody"), _across("of_user"), _across("of_external_id")
_HEADERS, _MESSAGE_IDS = _across("headers"), _across("message_ids")
_MESSAGES_OF_USERS = _across("messages_of_users")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A context that a search may find."""

    context_id: UUID
    created_at: datetime
    totals: Totals


class FindableContexts:
    """Reads contexts for searches over several of them.

    Args:
        database: The database that holds the contexts.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def candidates(
        self, which: ContextFilter, *, after: tuple[datetime, UUID] | None, count: int, principal: Principal
    ) -> list[Candidate]:
        """Return the contexts of the principal's user that pass a filter, newest first.

        A principal without a user gets contexts that have no owner.

        Args:
            which: The filter; its owner is the principal's user.
            after: Time and id of a context; only older ones are returned. None begins with the newest.
            count: The largest number of contexts.
            principal: The caller; its tenant and bounds limit the rows.
        """
        owned = _OF_USER if principal.user_id else _OF_NOBODY
        statement = _OF_EXTERNAL_ID if which.external_id else owned
        parameters = {**filter_parameters(which, after=after), "count": count, "agents_max": AGENTS_MAX}
        rows = await self._database.of(principal).query(statement, parameters, ad_hoc=True)
        return [
            Candidate(
                context_id=row.context_id,
                created_at=row.created_at,
                totals=copied(Totals, row, first_seq=0, last_seq=0, authors=frozenset()),
            )
            for row in rows
        ]

    async def headers(self, ids: Collection[UUID], *, principal: Principal) -> dict[UUID, Context]:
        """Return the headers of contexts by their ids, without those that were deleted or have expired."""
        rows = await self._database.of(principal).query(_HEADERS, {"ids": list(ids)})
        return {row.context_id: context_of(row) for row in rows}

    async def message_ids(
        self, places: Sequence[tuple[UUID, int]], *, principal: Principal
    ) -> dict[tuple[UUID, int], str]:
        """Return the ids of messages by context and `seq`, without retracted ones."""
        parameters = {"ids": [context_id for context_id, _ in places], "seqs": [seq for _, seq in places]}
        rows = await self._database.of(principal).query(_MESSAGE_IDS, parameters)
        return {(row.context_id, row.seq): row.message_id for row in rows}

    async def messages_of_users(
        self, ids: Sequence[UUID], *, count: int, bytes_max: int, principal: Principal
    ) -> list[tuple[UUID, Message]]:
        """Return the newest messages of users in contexts, with the contexts.

        Args:
            ids: The contexts. If not all messages fit, those of the first contexts are returned.
            count: The largest number of messages.
            bytes_max: The largest size of all messages together.
            principal: The caller; its tenant and bounds limit the rows.
        """
        parameters = {"ids": list(ids), "count": count, "bytes_max": bytes_max}
        rows = await self._database.of(principal).query(_MESSAGES_OF_USERS, parameters)
        return list(zip([row.context_id for row in rows], await messages_in(rows), strict=True))
