"""Jobs of operators."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.values import Job, JobKind

_KINDS: dict[str, pb.JobKind] = {"sweep": pb.JOB_KIND_SWEEP, "fsck": pb.JOB_KIND_FSCK}


class Jobs(Noun):
    """Jobs. All calls need the scope operator, which only the command line gives."""

    async def start(
        self, kind: JobKind, *, quick: bool = False, repair: bool = False, timeout_s: float | None = None
    ) -> Job:
        """Start a job, and return it as it begins; `get` says how far it is.

        Args:
            kind: "sweep": purge and remove what is due; "fsck": compare rows with stored bytes.
            quick: Of a check: read the last MiB of each blob only.
            repair: Of a check: mend what can be mended.
            timeout_s: Deadline; None: the client's.

        Raises:
            JobRunning: one of this kind runs, in the process that was asked.
        """
        request = pb.StartJobRequest(kind=messages.choice("kind", kind, _KINDS), quick=quick, repair=repair)
        response: pb.StartJobResponse = await self._call("StartJob", request, timeout_s=timeout_s)
        return Job.from_proto(response.job)

    async def get(self, job_id: Id, *, timeout_s: float | None = None) -> Job:
        """Return a job, as far as it is.

        Raises:
            JobNotFound: no operator of your tenant started it.
        """
        response: pb.GetJobResponse = await self._call(
            "GetJob", pb.GetJobRequest(job_id=messages.to_id(job_id)), timeout_s=timeout_s
        )
        return Job.from_proto(response.job)

    async def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[Job, None]:
        """Yield the jobs that operators of your tenant started, the newest first, following the pages.

        Args:
            page_size: Jobs of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListJobsRequest(page_size=page_size)
        while True:
            page: pb.ListJobsResponse = await self._call("ListJobs", request, timeout_s=timeout_s)
            for job in page.jobs:
                yield Job.from_proto(job)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
