"""What a tenant stores, and what operators do for all tenants."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id, LimitChanges
from contextkeep.client.aio.client import AsyncClient
from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.values import Job, JobKind, OwedWork, RetriedWork, Tenant, Usage

_KINDS: dict[str, pb.JobKind] = {"sweep": pb.JOB_KIND_SWEEP, "fsck": pb.JOB_KIND_FSCK}


class OperationCalls(AsyncClient):
    """The RPCs of operators: all but the first need the scope operator, which only the command line gives."""

    async def get_usage(self, *, timeout_s: float | None = None) -> Usage:
        """Return what your tenant stores, and the limits that hold for it. Needs the scope admin."""
        return Usage.from_proto(await self.call("GetUsage", pb.GetUsageRequest(), timeout_s=timeout_s))

    async def list_tenants(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[Tenant, None]:
        """Yield all tenants by id, with where each lives and what it stores, following the pages.

        Those of a database that does not answer are there, too, and `is_away`.

        Args:
            page_size: Tenants of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListTenantsRequest(page_size=page_size)
        while True:
            page: pb.ListTenantsResponse = await self.call("ListTenants", request, timeout_s=timeout_s)
            for tenant in page.tenants:
                yield Tenant.from_proto(tenant)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def set_tenant_limits(
        self, tenant: str, *, timeout_s: float | None = None, **limits: Unpack[LimitChanges]
    ) -> Tenant:
        """Say what a tenant may store, and return it.

        Args:
            tenant: Its name.
            timeout_s: Deadline; None: the client's.
            **limits: `records_max`, `bytes_max`, `blob_bytes_max`, `content_bytes_max`: None is what the settings say
                again, and those that are not named stay.

        Raises:
            TenantNotFound: there is none of this name.
            Unavailable: the database where it lives does not answer.
            InvalidArgument: none is named, or one can be no limit.
        """
        said = {name: value for name, value in limits.items() if value is not None}
        request = pb.SetTenantLimitsRequest(
            tenant=tenant,
            limits=messages.built(pb.TenantLimits, "limits", **said),
            update_mask=FieldMask(paths=sorted(limits)),
        )
        response: pb.SetTenantLimitsResponse = await self.call("SetTenantLimits", request, timeout_s=timeout_s)
        return Tenant.from_proto(response.tenant)

    async def list_background_work(self, *, timeout_s: float | None = None) -> OwedWork:
        """Return what is owed behind calls, by kind and database, of all tenants together."""
        request = pb.ListBackgroundWorkRequest()
        response: pb.ListBackgroundWorkResponse = await self.call("ListBackgroundWork", request, timeout_s=timeout_s)
        return OwedWork.from_proto(response)

    async def retry_background_work(self, kind: str, *, timeout_s: float | None = None) -> RetriedWork:
        """Let what has failed of a kind be tried again now, 10,000 of each database at most; how much it is."""
        request = pb.RetryBackgroundWorkRequest(kind=kind)
        response: pb.RetryBackgroundWorkResponse = await self.call("RetryBackgroundWork", request, timeout_s=timeout_s)
        return RetriedWork.from_proto(response)

    async def start_job(
        self, kind: JobKind, *, quick: bool = False, repair: bool = False, timeout_s: float | None = None
    ) -> Job:
        """Start a job, and return it as it begins; `get_job` says how far it is.

        Args:
            kind: "sweep": purge and remove what is due; "fsck": compare rows with stored bytes.
            quick: Of a check: read the last MiB of each blob only.
            repair: Of a check: mend what can be mended.
            timeout_s: Deadline; None: the client's.

        Raises:
            JobRunning: one of this kind runs, in the process that was asked.
        """
        request = pb.StartJobRequest(kind=messages.choice("kind", kind, _KINDS), quick=quick, repair=repair)
        response: pb.StartJobResponse = await self.call("StartJob", request, timeout_s=timeout_s)
        return Job.from_proto(response.job)

    async def get_job(self, job_id: Id, *, timeout_s: float | None = None) -> Job:
        """Return a job, as far as it is.

        Raises:
            JobNotFound: no operator of your tenant started it.
        """
        response: pb.GetJobResponse = await self.call(
            "GetJob", pb.GetJobRequest(job_id=messages.to_id(job_id)), timeout_s=timeout_s
        )
        return Job.from_proto(response.job)

    async def list_jobs(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[Job, None]:
        """Yield the jobs that operators of your tenant started, the newest first, following the pages.

        Args:
            page_size: Jobs of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListJobsRequest(page_size=page_size)
        while True:
            page: pb.ListJobsResponse = await self.call("ListJobs", request, timeout_s=timeout_s)
            for job in page.jobs:
                yield Job.from_proto(job)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
