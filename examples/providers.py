"""Providers of context query, as an operator's package has them: one that answers, one that is down, one too slow.

`make demo CHAPTER=query` installs them by the entry points below.
"""

from __future__ import annotations

import asyncio
import socket
from datetime import UTC, datetime

from context_service.query.providers import Answered, Hit, ProviderInfo, ProviderQuery, QueryScope
from service_runtime.rpc.principal import Principal

ENTRY_POINTS = """\
[contextkeep.context_providers]
tickets = providers:Tickets
crm = providers:Crm
archive = providers:Archive
"""
_TICKETS = {
    "T-17": "Dr. Weiss asks for the x-ray of the chest by Friday.",
    "T-18": "The cough syrup is sold out.",
    "T-19": "The patient is allergic to penicillin.",
}


class Tickets:
    """Tickets of a help desk, in memory."""

    info = ProviderInfo(id="tickets", family="tickets", display_name="Help desk", scopes=frozenset({QueryScope.TEAM}))

    async def search(self, query: ProviderQuery, principal: Principal) -> Answered:
        """Return all of them: the service scores them by their texts."""
        hits = [
            Hit(source_id=key, title=key, snippet=text, score=1234.0, as_of=datetime(2026, 3, 1, tzinfo=UTC))
            for key, text in _TICKETS.items()
        ]
        return Answered(hits=hits, target="open tickets", mode="all")


class Crm:
    """Its server is down: no process listens at the port."""

    info = ProviderInfo(id="crm", family="crm", display_name="Customer records")

    async def search(self, query: ProviderQuery, principal: Principal) -> Answered:
        """Try to connect."""
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            await asyncio.open_connection(*unused.getsockname())
        return Answered()


class Archive:
    """Too slow for its half second."""

    info = ProviderInfo(id="archive", family="archive", display_name="Paper archive", deadline_s=0.5)

    async def search(self, query: ProviderQuery, principal: Principal) -> Answered:
        """Climb down into the basement."""
        await asyncio.sleep(60)
        return Answered()
