"""Statements that wait at a lock: by them a test knows that a call has come that far."""

from __future__ import annotations

import asyncio

import psycopg

WAIT_MAX_S = 20.0  # for what takes a moment where nothing else runs; shorter than the deadlines of our clients

# In this database only: elsewhere on the server clones are made and vacuumed. And of calls only: what the services do
# in the background comes by at any time, and waits at the same locks.
_WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query !~ 'analyze_new_tables|settle_edges'
"""


async def until_waiting(superuser_url: str, count: int) -> None:
    """Wait until as many statements of calls wait at a lock."""
    async with (
        await psycopg.AsyncConnection.connect(superuser_url, autocommit=True) as connection,
        asyncio.timeout(WAIT_MAX_S),
    ):
        while await (await connection.execute(_WAITING)).fetchone() != (count,):
            await asyncio.sleep(0.01)
