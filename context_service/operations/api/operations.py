"""The proto service `Administration`, RPCs of operators: parse, one call, render."""

from __future__ import annotations

import orjson

from context_service.operations.rules.jobs import Job, Jobs
from context_service.operations.rules.tenants import StoredTenant, Tenants
from context_service.operations.rules.work import Work
from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.context.v1 import administration_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id

_KINDS = {pb.JOB_KIND_SWEEP: "SWEEP", pb.JOB_KIND_FSCK: "FSCK"}
_LIMITS = [field.name for field in pb.TenantLimits.DESCRIPTOR.fields]


class OperationsServicer(administration_pb2_grpc.AdministrationServicer):
    """The part of the servicer for RPCs about all tenants."""

    _tenants: Tenants
    _work: Work
    _jobs: Jobs

    async def ListTenants(self, request: pb.ListTenantsRequest, context: object) -> pb.ListTenantsResponse:
        """List tenants."""
        page = PageRequest(size=request.page_size, token=request.page_token)
        tenants, token = await self._tenants.page(page, principal=calls.principal())
        return pb.ListTenantsResponse(tenants=map(_tenant, tenants), next_page_token=token)

    async def SetTenantLimits(self, request: pb.SetTenantLimitsRequest, context: object) -> pb.SetTenantLimitsResponse:
        """Set the limits of a tenant."""
        for place, path in enumerate(request.update_mask.paths):
            if path not in _LIMITS:
                field = f"update_mask.paths[{place}]"
                raise InvalidArgument(f"{field} must be one of {', '.join(_LIMITS)} (got {path[:100]!r})", field=field)
        limits = request.limits
        values = {path: getattr(limits, path) if limits.HasField(path) else None for path in request.update_mask.paths}
        tenant = await self._tenants.set_limits(request.tenant, values, principal=calls.principal())
        return pb.SetTenantLimitsResponse(tenant=_tenant(tenant))

    async def ListBackgroundWork(
        self, request: pb.ListBackgroundWorkRequest, context: object
    ) -> pb.ListBackgroundWorkResponse:
        """List the queued work."""
        queued = await self._work.queued_work(principal=calls.principal())
        return pb.ListBackgroundWorkResponse(
            work=[copied(pb.BackgroundWork, item) for item in queued.work],
            databases_away=queued.databases_away,
        )

    async def RetryBackgroundWork(
        self, request: pb.RetryBackgroundWorkRequest, context: object
    ) -> pb.RetryBackgroundWorkResponse:
        """Retry failed work."""
        retried = await self._work.retry(request.kind, principal=calls.principal())
        return pb.RetryBackgroundWorkResponse(retried=retried.count, databases_away=retried.databases_away)

    async def StartJob(self, request: pb.StartJobRequest, context: object) -> pb.StartJobResponse:
        """Start a job."""
        options = {"quick": request.quick, "repair": request.repair}
        job = await self._jobs.start(_KINDS.get(request.kind, ""), options, principal=calls.principal())
        return pb.StartJobResponse(job=_job(job))

    async def GetJob(self, request: pb.GetJobRequest, context: object) -> pb.GetJobResponse:
        """Read a job."""
        job = await self._jobs.get(parse_id("job_id", request.job_id), principal=calls.principal())
        return pb.GetJobResponse(job=_job(job))

    async def ListJobs(self, request: pb.ListJobsRequest, context: object) -> pb.ListJobsResponse:
        """List jobs."""
        page = PageRequest(size=request.page_size, token=request.page_token)
        jobs, token = await self._jobs.page(page, principal=calls.principal())
        return pb.ListJobsResponse(jobs=map(_job, jobs), next_page_token=token)


def _tenant(tenant: StoredTenant) -> pb.Tenant:
    """Return a tenant with its limits as protobuf."""
    return copied(
        pb.Tenant,
        tenant,
        tenant_id=str(tenant.id),
        limits=pb.TenantLimits(**{name: getattr(tenant, name) for name in _LIMITS}),
    )


def _job(job: Job) -> pb.Job:
    """Return the protobuf message of a job."""
    return copied(
        pb.Job,
        job,
        job_id=str(job.id),
        kind=f"JOB_KIND_{job.kind}",
        state=f"JOB_STATE_{job.state}",
        quick=job.options["quick"],
        repair=job.options["repair"],
        progress_json=orjson.dumps(job.progress).decode(),
    )
