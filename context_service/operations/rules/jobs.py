"""Jobs: work that an operator starts and looks after, while the process that took the call does it.

How far one is stands in its row, written once a second: any replica shows it. One whose process says nothing any more
is over, and can be started again; sweeps and checks take up nothing that others have begun.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from context_service.operations.rules.operators import check_operator
from contextkeep.errors import ContextKeepError, InvalidArgument, JobNotFound, JobRunning
from service_runtime import background, pages
from service_runtime.auth import Principal
from service_runtime.calls import current_call
from service_runtime.ids import new_id
from service_runtime.pages import PageRequest
from service_runtime.postgres import Database, Tenant
from service_runtime.sql_files import SqlFile

_log = logging.getLogger("jobs")

TOLD_S = 1.0  # between two words of how far it is
SILENT_S = 60.0  # behind the last of which its process is gone
_KEPT = 1000  # of a tenant, the newest

Progress = dict[str, Any]
Tell = Callable[[Progress], None]
Kind = Callable[
    [Mapping[str, bool], Tell], Awaitable[Progress]
]  # does it as it is asked to, and returns what came of it

SQL = SqlFile.of(__file__)
_START = SQL["start"]
_TELL = SQL["tell"]
_END = SQL["end"]
_READ = SQL["read"]
_LIST = SQL["list"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job, as far as it is."""

    id: UUID
    kind: str
    state: str  # "RUNNING", "DONE", "FAILED", or "LOST": its process is gone
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    started_by: str
    error: str
    options: Mapping[str, bool]
    progress: Progress


class Jobs:
    """Starts jobs in this process, one of a kind at a time, and shows those of all.

    Args:
        database: Where their rows are.
        kinds: What there is to start.
    """

    def __init__(self, database: Database, kinds: Mapping[str, Kind]) -> None:
        self._database = database
        self._kinds = kinds
        self._running: dict[str, UUID] = {}  # until its end is told: who reads of it may start the next one
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let jobs run for the block; those that do at its end are cancelled, and lost."""
        try:
            yield
        finally:
            await asyncio.gather(*map(background.ended, self._tasks))

    async def start(self, kind: str, options: Mapping[str, bool], *, principal: Principal) -> Job:
        """Start a job, and return it.

        Raises:
            PermissionDenied: the principal is no operator's key.
            InvalidArgument: there is no such kind.
            JobRunning: one of the kind runs here.
        """
        await check_operator(self._database, principal)
        if kind not in self._kinds:
            raise InvalidArgument("there is no such kind of job", field="kind")
        if kind in self._running:
            raise JobRunning("a job of this kind runs", job_id=self._running[kind])
        door, job_id = self._database.of(principal), new_id()
        named = {"tenant_id": principal.tenant_id, "id": job_id}
        held = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(kind, options, door, named, held))
        self._running[kind] = job_id
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            said = {"kind": kind, "started_by": principal.subject, "options": orjson.dumps(dict(options)).decode()}
            await door.query(_START, {**named, **said, "kept": _KEPT})
        except BaseException:
            del self._running[kind]
            task.cancel()
            raise
        held.set_result(None)
        return await self.get(job_id, principal=principal)

    async def get(self, job_id: UUID, *, principal: Principal) -> Job:
        """Return a job.

        Raises:
            PermissionDenied: the principal is no operator's key.
            JobNotFound: there is none that an operator of this tenant started.
        """
        await check_operator(self._database, principal)
        named = {"id": job_id, "silent_s": SILENT_S}
        for row in await self._database.of(principal).query(_READ, named):
            return Job(**row._asdict())
        raise JobNotFound("there is no such job", job_id=job_id)

    async def page(self, page: PageRequest, *, principal: Principal) -> tuple[list[Job], str]:
        """Return a page of the jobs of the operators of a tenant, the newest first, and the token of the next one.

        Raises:
            PermissionDenied: the principal is no operator's key.
            InvalidArgument, InvalidPageToken: see the contract.
        """
        await check_operator(self._database, principal)
        query = ("ListJobs", principal.tenant_id)
        before_id = pages.decode_id(query, page.token)
        count = pages.page_size(page.size)
        named = {"silent_s": SILENT_S, "before_id": before_id, "count": count + 1}
        rows = await self._database.of(principal).query(_LIST, named)
        return pages.cut(query, [Job(**row._asdict()) for row in rows], count, key=lambda job: (job.id,))

    async def _run(
        self, kind: str, options: Mapping[str, bool], door: Tenant, named: dict[str, Any], held: asyncio.Future[None]
    ) -> None:
        current_call.set(None)  # whose deadline ends no job
        await held  # until its row is there
        said: list[Progress] = [{}]
        telling = asyncio.create_task(self._keep_telling(door, named, said))
        state, error, done = "FAILED", "", None
        try:
            done = await self._kinds[kind](options, lambda progress: said.__setitem__(0, progress))
            state = "DONE"
        except ContextKeepError as failure:
            error = failure.message
        except Exception:
            _log.exception("job failed", extra={"job_id": named["id"], "kind": kind})
            error = "the log says what went wrong"
        finally:
            await background.ended(telling)  # what it says last is not said behind the end
            self._running.pop(kind, None)
        progress = None if done is None else orjson.dumps(done).decode()
        try:
            await door.query(_END, {**named, "progress": progress, "state": state, "error": error})
        except ContextKeepError as failure:
            _log.warning("end of a job not told", extra={"job_id": named["id"], "error": str(failure)})

    async def _keep_telling(self, door: Tenant, named: dict[str, Any], said: list[Progress]) -> None:
        while True:
            await asyncio.sleep(TOLD_S)
            try:
                await door.query(_TELL, {**named, "progress": orjson.dumps(said[0]).decode()})
            except ContextKeepError as failure:
                _log.warning("progress of a job not told", extra={"job_id": named["id"], "error": str(failure)})
