"""Forgetting the request ids that are old enough, one tenant at a time."""

from __future__ import annotations

import asyncio
import logging

from contextkeep.errors import ContextKeepError
from service_runtime.auth.tenants import Rounds
from service_runtime.postgres import Database
from service_runtime.statements.requests import Requests

_log = logging.getLogger("sweep")

INTERVAL_S = 600.0


class RequestSweep:
    """Sweeps the table `request` of one schema. Replicas may all do it: deleting twice is deleting once."""

    def __init__(self, database: Database, requests: Requests) -> None:
        self._rounds = Rounds(database, requests.sweep)

    async def once(self) -> None:
        """Sweep every tenant; a failure is logged, and the next round tries again."""
        try:
            await self._rounds.run()
        except ContextKeepError as error:
            _log.warning("sweep of request ids failed", extra={"error": str(error)})

    async def keep_sweeping(self) -> None:
        """Sweep now and then, until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            await self.once()
