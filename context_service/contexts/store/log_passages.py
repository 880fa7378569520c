"""The log as the source of its index: each message with the passages that it is found by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from context_service.contexts.model import MessageInput
from context_service.contexts.pure.passages import passages_of, placed
from context_service.kernel.parts import of_json
from context_service.retrieval.model import CONTEXT, Audience, PassageScope
from context_service.retrieval.pure.part_texts import KINDS, RECORD
from context_service.retrieval.room import IndexedText, Owners, PassageFeed
from service_runtime.inputs.pages import PAGE_BYTES_MAX
from service_runtime.postgres import Across, Row, Transaction
from service_runtime.statements.sql_files import SqlFile

_MESSAGES = 500  # messages of one page

SQL = SqlFile.of(__file__)
_LOCK = SQL["lock"]
_ROWS = SQL["rows"]


def _of_all(sql: str) -> Across:
    why = "an operator compares the index of all contexts with their logs: it reads headers, and no messages"
    return Across(sql=sql, contexts=True, subjects=True, why=why)


async def _lock(transaction: Transaction, scope: PassageScope) -> None:
    await transaction.query(_LOCK, (transaction.tenant_id, scope.id))


CONTEXTS = Owners(
    scope_of=PassageScope.of_context,
    count=_of_all(SQL["contexts"]),
    page=_of_all("""
        SELECT context_id, owner_user_id
        FROM context.context
        WHERE tenant_id = %(tenant_id)s AND deleted_at IS NULL AND context_id > %(after)s
            AND (%(only)s::uuid IS NULL OR context_id = %(only)s)
        ORDER BY context_id
        LIMIT %(count)s
    """),
    owned=_of_all(
        "SELECT context_id FROM context.context WHERE tenant_id = %(tenant_id)s AND context_id = ANY (%(ids)s)"
    ),
    lock=_lock,
)


def log_source(count_tokens: Callable[[str], int]) -> PassageFeed:
    """Return the feed that gives the index the passages of each message.

    Args:
        count_tokens: Counts the tokens of a text, as the writers of messages count them.
    """

    async def origin(scope: PassageScope, rows: Sequence[Row]) -> IndexedText:
        (row,) = rows
        message = MessageInput(
            message_id=row.message_id,
            role=row.role,
            name=row.name,
            content=row.content,
            parts=of_json(row.parts) if row.parts else (),
            task_id=row.task_id,
            is_imported=row.is_imported,
        )
        passages = [
            placed(text, message, seq=row.seq, ordinal=ordinal, session=row.session, said_at=row.said_at)
            for ordinal, text in enumerate(passages_of(message, count=count_tokens))
        ]
        return IndexedText(seq=row.seq, audience=audience_of(row), passages=passages, is_gone=row.is_gone)

    return PassageFeed(
        scope_kind=CONTEXT,
        kinds=frozenset(KINDS) - {RECORD},
        owners=CONTEXTS,
        rows=_ROWS,
        limits={"count": _MESSAGES, "bytes_max": PAGE_BYTES_MAX},
        origin=origin,
        has_header=True,
        says=True,
    )


def audience_of(row: Row) -> Audience:
    """Return the audience of the passages of a context, from its header."""
    return Audience(
        owner_user_id=row.owner_user_id,
        ancestors=tuple(row.ancestors),
        agent_bundle_id=row.agent_bundle_id,
        app_id=row.app_id,
    )
