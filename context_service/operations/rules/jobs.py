"""Jobs: work that an operator starts and watches, and that the process which took the call does.

The progress of a job is written to its row once a second, so any replica can show it. A job whose process has stopped
writing is lost, and can be started again; sweeps and checks do not take over jobs of other processes.
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
from context_service.operations.store.jobs import END, LIST, READ, START, TELL
from contextkeep.errors import ContextKeepError, InvalidArgument, JobNotFound, JobRunning
from service_runtime.background_work import background
from service_runtime.inputs import pages
from service_runtime.inputs.pages import PageRequest
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.calls import current_call
from service_runtime.rpc.principal import Principal
from service_runtime.values.ids import new_id

_log = logging.getLogger("jobs")

TOLD_S = 1.0  # between two writes of the progress
SILENT_S = 60.0  # without a write: the process is considered gone
_KEPT = 1000  # only the newest jobs of a tenant are kept

Progress = dict[str, Any]
Tell = Callable[[Progress], None]
Kind = Callable[
    [Mapping[str, bool], Tell], Awaitable[Progress]
]  # runs the job with its options, and returns the result


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job and its progress."""

    id: UUID
    kind: str
    state: str  # "RUNNING", "DONE", "FAILED", or "LOST" if its process is gone
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    started_by: str
    error: str
    options: Mapping[str, bool]
    progress: Progress


class Jobs:
    """Starts jobs in this process, one of each kind at a time, and shows the jobs of all processes.

    Args:
        database: The database that holds the rows of jobs.
        kinds: The function that runs a job, by the name of the job's kind.
    """

    def __init__(self, database: Database, kinds: Mapping[str, Kind]) -> None:
        self._database = database
        self._kinds = kinds
        self._running: dict[str, UUID] = {}  # by kind: the job that is running; another one may not start meanwhile
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let jobs run during the block. At its end running jobs are cancelled, and no process resumes them."""
        try:
            yield
        finally:
            await asyncio.gather(*map(background.ended, self._tasks))

    async def start(self, kind: str, options: Mapping[str, bool], *, principal: Principal) -> Job:
        """Start a job, and return it.

        Raises:
            PermissionDenied: the principal is not a key of an operator.
            InvalidArgument: there is no kind of job with this name.
            JobRunning: a job of this kind is running in this process.
        """
        await check_operator(self._database, principal)
        if kind not in self._kinds:
            raise InvalidArgument(f"kind must be one of {', '.join(self._kinds)}", field="kind")
        if kind in self._running:
            raise JobRunning("a job of this kind is running; wait until it ends", job_id=self._running[kind])
        tenant, job_id = self._database.of(principal), new_id()
        parameters = {"tenant_id": principal.tenant_id, "id": job_id}
        row_written = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(kind, options, tenant, parameters, row_written))
        self._running[kind] = job_id
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            values = {"kind": kind, "started_by": principal.subject, "options": orjson.dumps(dict(options)).decode()}
            await tenant.query(START, {**parameters, **values, "kept": _KEPT})
        except BaseException:
            del self._running[kind]
            task.cancel()
            raise
        row_written.set_result(None)
        return await self.get(job_id, principal=principal)

    async def get(self, job_id: UUID, *, principal: Principal) -> Job:
        """Return a job.

        Raises:
            PermissionDenied: the principal is not a key of an operator.
            JobNotFound: no operator of this tenant started such a job.
        """
        await check_operator(self._database, principal)
        parameters = {"id": job_id, "silent_s": SILENT_S}
        for row in await self._database.of(principal).query(READ, parameters):
            return Job(**row._asdict())
        raise JobNotFound(f"job {job_id} does not exist", job_id=job_id)

    async def page(self, page: PageRequest, *, principal: Principal) -> tuple[list[Job], str]:
        """Return a page of the jobs of the operators of a tenant, the newest first, and the token of the next one.

        Raises:
            PermissionDenied: the principal is not a key of an operator.
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        await check_operator(self._database, principal)
        query = ("ListJobs", principal.tenant_id)
        before_id = pages.decode_id(query, page.token)
        count = pages.page_size(page.size)
        parameters = {"silent_s": SILENT_S, "before_id": before_id, "count": count + 1}
        rows = await self._database.of(principal).query(LIST, parameters)
        return pages.cut(query, [Job(**row._asdict()) for row in rows], count, key=lambda job: (job.id,))

    async def _run(
        self,
        kind: str,
        options: Mapping[str, bool],
        tenant: Tenant,
        parameters: dict[str, Any],
        row_written: asyncio.Future[None],
    ) -> None:
        """Run a job, and write its progress and its end to its row.

        The row is written by the caller of `start`, so this waits for it first. Errors are stored with the job, not
        raised.
        """
        current_call.set(None)  # the deadline of the call must not end the job
        await row_written  # wait until the row of the job exists
        progress_box: list[Progress] = [{}]
        telling = asyncio.create_task(self._keep_telling(tenant, parameters, progress_box))
        state, error, done = "FAILED", "", None
        try:
            done = await self._kinds[kind](options, lambda progress: progress_box.__setitem__(0, progress))
            state = "DONE"
        except ContextKeepError as failure:
            error = failure.message
        except Exception:
            _log.exception("job failed", extra={"job_id": parameters["id"], "kind": kind})
            error = "unexpected error: see the log of the service"
        finally:
            await background.ended(telling)  # so that no progress is written after the end
            self._running.pop(kind, None)
        progress = None if done is None else orjson.dumps(done).decode()
        try:
            await tenant.query(END, {**parameters, "progress": progress, "state": state, "error": error})
        except ContextKeepError as failure:
            _log.warning("result of a job not written", extra={"job_id": parameters["id"], "error": str(failure)})

    async def _keep_telling(self, tenant: Tenant, parameters: dict[str, Any], progress_box: list[Progress]) -> None:
        """Write the newest progress of a job to its row at intervals, until cancelled."""
        while True:
            await asyncio.sleep(TOLD_S)
            try:
                await tenant.query(TELL, {**parameters, "progress": orjson.dumps(progress_box[0]).decode()})
            except ContextKeepError as failure:
                _log.warning("progress of a job not written", extra={"job_id": parameters["id"], "error": str(failure)})
