# Generated from aio/_gen/jobs.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of jobs that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import administration_pb2 as administration_pb
from contextkeep.values import Job, JobKind


class Jobs(Noun):
    """Jobs. All calls need the scope operator, which only the command line gives."""

    def start(self, kind: JobKind, *, quick: bool = False, repair: bool = False, timeout_s: float | None = None) -> Job:
        """Start a job, and answer at once.

        The process that took the call runs it, one job of a kind at a time, and reports the progress once a second. If
        the process dies, the job is LOST. Start it again by hand: the finished part stays finished.

        Args:
            kind: The kind of job: a sweep purges and deletes what is due; fsck compares rows with stored bytes.
            quick: For fsck: read only the last MiB of each blob.
            repair: For fsck: repair what can be repaired. It never deletes bytes at once.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            JobRunning: a job of this kind runs; metadata `job_id`.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
        """
        request = administration_pb.StartJobRequest(
            kind=messages.choice_of("kind", kind, administration_pb.JobKind), quick=quick, repair=repair
        )
        answer: administration_pb.StartJobResponse = self._call("StartJob", request, timeout_s=timeout_s)
        return Job.from_proto(answer.job)

    def get(self, job_id: Id, *, timeout_s: float | None = None) -> Job:
        """Read a job that an operator of the caller's tenant started, whichever process runs it.

        Args:
            job_id: The job to read.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            JobNotFound: No operator of the tenant started a job with this id.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = administration_pb.GetJobRequest(job_id=messages.to_id(job_id))
        answer: administration_pb.GetJobResponse = self._call("GetJob", request, timeout_s=timeout_s)
        return Job.from_proto(answer.job)

    def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> Generator[Job, None, None]:
        """List the jobs that operators of the caller's tenant started, newest first.

        The service keeps the last 1,000.

        Args:
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = administration_pb.ListJobsRequest(page_size=page_size)
        while True:
            page: administration_pb.ListJobsResponse = self._call("ListJobs", request, timeout_s=timeout_s)
            for item in page.jobs:
                yield Job.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
