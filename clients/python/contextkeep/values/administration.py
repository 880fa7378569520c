"""Keys and calls as administrators see them; tenants, work and jobs as operators do."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.values.base import Value, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Caller(Value):
    """Whom your key or token stands for."""

    tenant_id: str
    tenant: str  # its name
    subject: str = ""  # what rows keep as `created_by`
    key_prefix: str = ""  # how the key begins; empty: it is not stored, such as a token
    scopes: tuple[str, ...] = ()
    user_id: str = ""
    agent_id: str = ""
    app_ids: tuple[str, ...] = ()  # that it is bound to; empty: it is bound to no app
    agent_bundle_id: str = ""
    graph_names: tuple[str, ...] = ()
    context_id: str = ""
    expires_at: datetime | None = None  # None: it does not end

    @classmethod
    def from_proto(cls, caller: pb.GetCallerResponse) -> Caller:
        """Return the value of a message."""
        return cls(
            tenant_id=caller.tenant_id,
            tenant=caller.tenant,
            subject=caller.subject,
            key_prefix=caller.key_prefix,
            scopes=tuple(caller.scopes),
            user_id=caller.user_id,
            agent_id=caller.agent_id,
            app_ids=tuple(caller.app_ids),
            agent_bundle_id=caller.agent_bundle_id,
            graph_names=tuple(caller.graph_names),
            context_id=caller.context_id,
            expires_at=time_of(caller.expires_at) if caller.HasField("expires_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ApiKey(Value):
    """A key, without what it is."""

    prefix: str  # how it begins
    subject: str = ""
    scopes: tuple[str, ...] = ()
    user_id: str = ""
    agent_id: str = ""
    app_ids: tuple[str, ...] = ()  # it is bound to; none: not to apps
    agent_bundle_id: str = ""
    graph_names: tuple[str, ...] = ()
    context_id: str = ""  # which it reaches; empty: it is of none
    made_by: str = ""  # how the key begins that it was made with
    created_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None  # to the minute

    @classmethod
    def from_proto(cls, key: pb.ApiKey) -> ApiKey:
        """Return the value of a message."""
        return cls(
            prefix=key.prefix,
            subject=key.subject,
            scopes=tuple(key.scopes),
            user_id=key.user_id,
            agent_id=key.agent_id,
            app_ids=tuple(key.app_ids),
            agent_bundle_id=key.agent_bundle_id,
            graph_names=tuple(key.graph_names),
            context_id=key.context_id,
            made_by=key.made_by,
            created_at=time_of(key.created_at),
            expires_at=time_of(key.expires_at) if key.HasField("expires_at") else None,
            revoked_at=time_of(key.revoked_at) if key.HasField("revoked_at") else None,
            last_used_at=time_of(key.last_used_at) if key.HasField("last_used_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CreatedKey(Value):
    """A key that was made. It is shown once, and not when this is printed."""

    key: str = field(repr=False)
    prefix: str

    def __str__(self) -> str:
        return f"a key that begins with {self.prefix}"

    @classmethod
    def from_proto(cls, made: pb.CreateKeyResponse) -> CreatedKey:
        """Return the value of a message."""
        return cls(key=made.key, prefix=made.prefix)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AdministrativeCall(Value):
    """A call that needed the scope admin, and changed something or tried to."""

    call_id: str
    called_at: datetime
    method: str = ""
    scope: str = ""
    status: str = ""
    reason: str = ""  # of its error; empty: there was none
    subject: str = ""
    user_id: str = ""
    agent_id: str = ""
    peer: str = ""  # from where
    ids: dict[str, list[str]] = field(default_factory=dict)  # of request and answer, by the paths of their fields
    count: int = 1  # of refused calls that are alike, which are one row a minute

    @classmethod
    def from_proto(cls, call: pb.AdministrativeCall) -> AdministrativeCall:
        """Return the value of a message."""
        return cls(
            call_id=call.call_id,
            called_at=time_of(call.called_at),
            method=call.method,
            scope=call.scope,
            status=call.status,
            reason=call.reason,
            subject=call.subject,
            user_id=call.user_id,
            agent_id=call.agent_id,
            peer=call.peer,
            ids=json.loads(call.ids_json or "{}"),
            count=call.count or 1,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TenantLimits(Value):
    """What a tenant may store. None: what the settings say; of the usage, any number."""

    records_max: int | None = None
    bytes_max: int | None = None
    blob_bytes_max: int | None = None
    content_bytes_max: int | None = None

    @classmethod
    def from_proto(cls, limits: pb.TenantLimits) -> TenantLimits:
        """Return the value of a message."""
        return cls(
            records_max=limits.records_max if limits.HasField("records_max") else None,
            bytes_max=limits.bytes_max if limits.HasField("bytes_max") else None,
            blob_bytes_max=limits.blob_bytes_max if limits.HasField("blob_bytes_max") else None,
            content_bytes_max=limits.content_bytes_max if limits.HasField("content_bytes_max") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Usage(Value):
    """What your tenant stores, and the limits that hold for it."""

    records: int
    size_bytes: int
    limits: TenantLimits

    @classmethod
    def from_proto(cls, usage: pb.GetUsageResponse) -> Usage:
        """Return the value of a message."""
        return cls(records=usage.records, size_bytes=usage.size_bytes, limits=TenantLimits.from_proto(usage.limits))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tenant(Value):
    """A tenant, where it lives, what it stores, and the limits of its own."""

    tenant_id: str
    name: str
    created_at: datetime
    database: str = ""  # empty: the home database
    is_away: bool = False  # its database does not answer: what follows is not known, and None
    records: int | None = None
    size_bytes: int | None = None
    limits: TenantLimits | None = None

    @classmethod
    def from_proto(cls, tenant: pb.Tenant) -> Tenant:
        """Return the value of a message."""
        return cls(
            tenant_id=tenant.tenant_id,
            name=tenant.name,
            created_at=time_of(tenant.created_at),
            database=tenant.database,
            is_away=tenant.is_away,
            records=None if tenant.is_away else tenant.records,
            size_bytes=None if tenant.is_away else tenant.size_bytes,
            limits=None if tenant.is_away else TenantLimits.from_proto(tenant.limits),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BackgroundWork(Value):
    """What is owed of a kind behind calls in a database, of all its tenants together."""

    kind: str
    owed: int
    failed: int = 0  # of it: what was tried, and is tried again
    oldest_at: datetime
    last_error: str = ""  # of one of those that failed
    database: str = ""  # empty: the home database

    @classmethod
    def from_proto(cls, work: pb.BackgroundWork) -> BackgroundWork:
        """Return the value of a message."""
        return cls(
            kind=work.kind,
            owed=work.owed,
            failed=work.failed,
            oldest_at=time_of(work.oldest_at),
            last_error=work.last_error,
            database=work.database,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwedWork(Value):
    """What is owed behind calls, by kind and database."""

    work: tuple[BackgroundWork, ...]
    databases_away: tuple[str, ...] = ()  # that do not answer: what is owed there is not known

    @classmethod
    def from_proto(cls, owed: pb.ListBackgroundWorkResponse) -> OwedWork:
        """Return the value of a message."""
        return cls(
            work=tuple(BackgroundWork.from_proto(one) for one in owed.work), databases_away=tuple(owed.databases_away)
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RetriedWork(Value):
    """How much is tried again now."""

    retried: int
    databases_away: tuple[str, ...] = ()  # that do not answer: nothing is tried again there

    @classmethod
    def from_proto(cls, retried: pb.RetryBackgroundWorkResponse) -> RetriedWork:
        """Return the value of a message."""
        return cls(retried=retried.retried, databases_away=tuple(retried.databases_away))


JobKind = Literal["", "sweep", "fsck"]
JobState = Literal["", "running", "done", "failed", "lost"]
_KINDS: dict[int, JobKind] = {pb.JOB_KIND_SWEEP: "sweep", pb.JOB_KIND_FSCK: "fsck"}
_STATES: dict[int, JobState] = {
    pb.JOB_STATE_RUNNING: "running",
    pb.JOB_STATE_DONE: "done",
    pb.JOB_STATE_FAILED: "failed",
    pb.JOB_STATE_LOST: "lost",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Job(Value):
    """Work that an operator started, as far as it is."""

    job_id: str
    kind: JobKind
    state: JobState
    started_at: datetime
    updated_at: datetime
    finished_at: datetime | None = None
    started_by: str = ""
    error: str = ""
    quick: bool = False
    repair: bool = False
    progress: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_proto(cls, job: pb.Job) -> Job:
        """Return the value of a message."""
        return cls(
            job_id=job.job_id,
            kind=_KINDS.get(job.kind, ""),
            state=_STATES.get(job.state, ""),
            started_at=time_of(job.started_at),
            updated_at=time_of(job.updated_at),
            finished_at=time_of(job.finished_at) if job.HasField("finished_at") else None,
            started_by=job.started_by,
            error=job.error,
            quick=job.quick,
            repair=job.repair,
            progress=json.loads(job.progress_json or "{}"),
        )
