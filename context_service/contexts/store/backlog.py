"""Metrics of all contexts: the size of the index, and the age of pending background work."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from context_service.retrieval.model import BRAIN, CONTEXT, KNOWLEDGE_BASE, OF_USERS
from context_service.retrieval.room import owing_topic
from contextkeep.errors import ContextKeepError
from service_runtime.background_work import background
from service_runtime.postgres import Across, Database
from service_runtime.statements.sql_files import SqlFile
from service_runtime.telemetry.metrics import SUBJECT_ERASURES_PENDING, Metrics

_log = logging.getLogger("standing")

INTERVAL_S = 60.0

SQL = SqlFile.of(__file__)
_INDEX = SQL["index"]
_OLDEST = Across(
    sql=SQL["oldest"],
    contexts=True,
    subjects=True,
    why="it reads ages for metrics, without their owners",
)


class IndexGauges:
    """Reads the metrics once a minute; every replica reports the same values for its database.

    Args:
        database: The database of the contexts and the index.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.index_bytes = 0.0  # size of the index of words
        self.passages = 0.0
        self.vectors_pending = 0.0  # contexts, users and bases with passages that wait for vectors
        self.vectors_pending_s = 0.0  # seconds for which the oldest passage has waited for its vector; 0 if none waits
        self.erasures_pending_s = 0.0  # seconds since the deletion of the oldest context whose rows are not all removed

        self.subjects_pending_s = 0.0  # seconds since the oldest unfinished erasure of a user began

    def show(self, metrics: Metrics) -> None:
        """Register the metrics, which report the values of the last read."""
        for name, field, meaning in (
            ("contextkeep_index_bytes", "index_bytes", "Bytes of the index of words"),
            ("contextkeep_index_passages", "passages", "Passages that the index finds, about"),
            ("contextkeep_vectors_pending", "vectors_pending", "Contexts, users and bases that wait for vectors"),
            ("contextkeep_vectors_pending_seconds", "vectors_pending_s", "Age of the oldest pending vector"),
            ("contextkeep_erasures_pending_seconds", "erasures_pending_s", "Age of the oldest unfinished erasure"),
            (SUBJECT_ERASURES_PENDING, "subjects_pending_s", "Age of the oldest unfinished erasure of a subject"),
        ):
            metrics.watch(name, meaning, partial(getattr, self, field))

    async def keep_reading(self) -> None:
        """Read until cancelled."""
        while True:
            try:
                await self.read()
            except ContextKeepError as error:
                _log.warning("index status of contexts not read", extra={"error": str(error)})
            except Exception:
                _log.exception("index status of contexts not read")  # the next time may do better
            await asyncio.sleep(background.apart(INTERVAL_S, 0.75, 1.25))

    async def read(self) -> None:
        """Read the values now.

        Raises:
            Unavailable: Postgres does not answer.
        """
        indexes = await self._database.everywhere(_INDEX)
        kinds = (CONTEXT, *OF_USERS, KNOWLEDGE_BASE, BRAIN)
        parameters = {"topics": [owing_topic(kind) for kind in kinds]}
        oldest = [
            row
            for tenant in await self._database.tenants(reachable=True)
            for row in await tenant.query(_OLDEST, {**parameters})
        ]
        self.index_bytes = sum(index.index_bytes for index in indexes)
        self.passages = sum(index.passages or 0 for index in indexes)
        self.vectors_pending = sum(row.vectors for row in oldest)
        self.vectors_pending_s = max((row.vectors_s or 0.0 for row in oldest), default=0.0)
        self.erasures_pending_s = max((row.erasures_s or 0.0 for row in oldest), default=0.0)
        self.subjects_pending_s = max((row.subjects_s or 0.0 for row in oldest), default=0.0)
