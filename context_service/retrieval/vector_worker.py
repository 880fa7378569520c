"""The loop of a worker that makes queued vectors; each kind of text has its own worker."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod

from context_service.kernel.llm.embeddings import EmbedderFailed
from contextkeep.errors import ContextKeepError
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work import background
from service_runtime.background_work.outbox import Outbox
from service_runtime.postgres import Database, Tenant

_log = logging.getLogger("embedding")

DELAY_S = 1.0  # how long work waits after its first failure; each further failure doubles the delay
PAUSE_S_MAX = 60.0  # the longest pause of a worker whose embedder does not answer


class Worker(ABC):
    """Makes queued vectors, tenant by tenant.

    Args:
        database: The database that holds the queue.
        topic: The topic of the queue in the outbox.
    """

    def __init__(self, database: Database, topic: str) -> None:
        self._outbox = Outbox("context", topic)
        self._rounds = Rounds(database, self.make_some, ends_at=EmbedderFailed, queue=self._outbox.queue)

    @abstractmethod
    async def make_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Make a batch of due vectors of a tenant; return how many were stored, and whether there may be more.

        Raises:
            EmbedderFailed: the embedder does not answer as it should. The claimed work is retried later.
        """

    async def keep_making(self, interval_s: float) -> None:
        """Make due vectors until cancelled, with longer and longer pauses while the embedder does not answer."""
        failures = 0
        while True:
            pause_s = interval_s
            try:
                await self._rounds.wait(interval_s)
                await self.make_due()
                failures = 0
            except EmbedderFailed as error:
                failures += 1
                pause_s = max(interval_s, error.retry_after_s, min(DELAY_S * 2.0 ** min(failures, 20), PAUSE_S_MAX))
                _log.warning("embedder failed", extra={"error": str(error), "pause_s": pause_s})
            except ContextKeepError as error:
                _log.warning("embedding failed", extra={"error": str(error)})
            except Exception:
                _log.exception("embedding failed")  # the next pass may do better
            await asyncio.sleep(background.apart(pause_s, 0.75, 1.25))

    async def make_due(self) -> int:
        """Make due vectors, a batch of each tenant in turn; return how many were stored.

        Raises:
            EmbedderFailed: the embedder does not answer as it should. The claimed work is retried later.
            Unavailable: Postgres does not answer.
        """
        return await self._rounds.run()
