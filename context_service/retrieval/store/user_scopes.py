"""The owners of scopes that belong to users, for the check of the index."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from context_service.retrieval.model import PassageScope
from context_service.retrieval.store.feeds import Owners
from service_runtime.postgres import Across, Transaction
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)


def users_of(
    table: str, *, scope_kind: str, things: str, lock: Callable[[Transaction, PassageScope], Awaitable[object]]
) -> Owners:
    """Return the owners of scopes in a table that has `tenant_id`, `scope_id` and `owner_user_id`.

    Args:
        table: The name of the table.
        scope_kind: The kind of the scopes.
        things: What the rows of the table are, for the reason in the log of the operator's access.
        lock: Locks a scope for its writers; see `Owners`.
    """
    why = f"an operator compares the index of all {things} with what they say: it reads whose there are"

    def of_all(sql: str) -> Across:
        return Across(sql=sql, subjects=True, why=why)

    return Owners(
        scope_of=lambda scope_id: PassageScope(kind=scope_kind, id=scope_id),
        count=of_all(SQL.filled("count", table=table)),
        page=of_all(SQL.filled("page", table=table)),
        owned=of_all(SQL.filled("owned", table=table)),
        lock=lock,
    )
