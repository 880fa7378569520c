"""Values of contextkeep/context/v1/administration.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.values.base import Value, kept, time_of

JobKind = Literal[
    "sweep",
    "fsck",
]
JOB_KINDS: dict[int, JobKind] = {
    1: "sweep",
    2: "fsck",
}
JobState = Literal[
    "running",
    "done",
    "failed",
    "lost",
]
JOB_STATES: dict[int, JobState] = {
    1: "running",
    2: "done",
    3: "failed",
    4: "lost",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Caller(Value):
    """The identity and rights of your key or token."""

    tenant_id: str = ""
    # The name of the tenant.
    tenant: str = ""
    # The value that rows store as `created_by`.
    subject: str = ""
    # The first 12 characters of the key. Empty: the key is not stored, such as a token of an issuer.
    key_prefix: str = ""
    scopes: tuple[str, ...] = ()
    # The user whose own data the key sees. Empty: the key has no user.
    user_id: str = ""
    # The agent that the key is for. Empty: none.
    agent_id: str = ""
    # The apps that the key is bound to. Empty: it is not bound to apps.
    app_ids: tuple[str, ...] = ()
    # The agent bundle that the key is bound to. Empty: it is not bound to one.
    agent_bundle_id: str = ""
    # The graphs that the key is bound to. Empty: it is not bound to graphs.
    graph_names: tuple[str, ...] = ()
    # The context that the key is bound to. Empty: it is not bound to one.
    context_id: str = ""
    # Unset: it does not expire.
    expires_at: datetime | None = None

    @classmethod
    def from_proto(cls, message: pb.GetCallerResponse) -> Caller:
        """Return the value of a message."""
        return cls(
            tenant_id=message.tenant_id,
            tenant=message.tenant,
            subject=message.subject,
            key_prefix=message.key_prefix,
            scopes=tuple(message.scopes),
            user_id=message.user_id,
            agent_id=message.agent_id,
            app_ids=tuple(message.app_ids),
            agent_bundle_id=message.agent_bundle_id,
            graph_names=tuple(message.graph_names),
            context_id=message.context_id,
            expires_at=time_of(message.expires_at) if message.HasField("expires_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ApiKey(Value):
    """A key, without its secret."""

    # The first 12 characters. RevokeKey takes them.
    prefix: str = ""
    # The subject that the key stands for.
    subject: str = ""
    scopes: tuple[str, ...] = ()
    # The user whose own data the key sees. Empty: the key has no user.
    user_id: str = ""
    # The agent that the key is for. Empty: none.
    agent_id: str = ""
    # The apps that the key is bound to. Empty: it is not bound to apps.
    app_ids: tuple[str, ...] = ()
    # The agent bundle that the key is bound to. Empty: it is not bound to one.
    agent_bundle_id: str = ""
    # The graphs that the key is bound to. Empty: it is not bound to graphs.
    graph_names: tuple[str, ...] = ()
    # For a key of IssueContextKey: the context that it reaches.
    context_id: str = ""
    # The first 12 characters of the key that created it. Empty: no key did, such as for a command of an operator.
    made_by: str = ""
    created_at: datetime
    # Unset: it does not expire.
    expires_at: datetime | None = None
    # Unset: it is not revoked.
    revoked_at: datetime | None = None
    # When the key was last used, to the minute. Unset: never, or it is a key of a context, for which the service does
    # not record it.
    last_used_at: datetime | None = None

    @classmethod
    def from_proto(cls, message: pb.ApiKey) -> ApiKey:
        """Return the value of a message."""
        return cls(
            prefix=message.prefix,
            subject=message.subject,
            scopes=tuple(message.scopes),
            user_id=message.user_id,
            agent_id=message.agent_id,
            app_ids=tuple(message.app_ids),
            agent_bundle_id=message.agent_bundle_id,
            graph_names=tuple(message.graph_names),
            context_id=message.context_id,
            made_by=message.made_by,
            created_at=time_of(message.created_at),
            expires_at=time_of(message.expires_at) if message.HasField("expires_at") else None,
            revoked_at=time_of(message.revoked_at) if message.HasField("revoked_at") else None,
            last_used_at=time_of(message.last_used_at) if message.HasField("last_used_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AdministrativeCall(Value):
    """A call that needed the scope `admin` or `operator`."""

    # The id of the call, as in logs and errors.
    call_id: str = ""
    called_at: datetime
    # Such as "contextkeep.context.v1.Agents/PutAgent".
    method: str = ""
    scope: str = ""
    # Name of the status code, such as "OK" or "PERMISSION_DENIED".
    status: str = ""
    # Reason of the error. Empty: there was no error.
    reason: str = ""
    # The subject of the caller's key or token.
    subject: str = ""
    user_id: str = ""
    agent_id: str = ""
    # The address of the caller, such as "ipv4:127.0.0.1:50000".
    peer: str = ""
    # The ids in the request and the answer, by the paths of their fields: an object of lists of texts, at most 40.
    ids_json: str = "{}"
    # Number of calls that this row stands for. Refused calls with the same caller, method and reason share a row for
    # each minute: the first call writes it, and the others are added when the minute is over. For any other call: 1.
    count: int = 0
    _ids: Any = kept()

    @property
    def ids(self) -> dict[str, Any]:
        """Return `ids_json`, parsed."""
        return self._kept_object("_ids", self.ids_json)

    @classmethod
    def from_proto(cls, message: pb.AdministrativeCall) -> AdministrativeCall:
        """Return the value of a message."""
        return cls(
            call_id=message.call_id,
            called_at=time_of(message.called_at),
            method=message.method,
            scope=message.scope,
            status=message.status,
            reason=message.reason,
            subject=message.subject,
            user_id=message.user_id,
            agent_id=message.agent_id,
            peer=message.peer,
            ids_json=message.ids_json,
            count=message.count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CreatedKey(Value):
    """A new key. No call shows it again."""

    # The key itself, shown only here.
    key: str = field(default="", repr=False)
    # The first 12 characters of the key.
    prefix: str = ""

    def __str__(self) -> str:
        return f"a key that begins with {self.prefix}"

    @classmethod
    def from_proto(cls, message: pb.CreateKeyResponse) -> CreatedKey:
        """Return the value of a message."""
        return cls(
            key=message.key,
            prefix=message.prefix,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TenantLimits(Value):
    """The storage limits of a tenant. Unset: for a tenant, the settings apply; in GetUsage, there is no limit."""

    # Number of records, archived ones included.
    records_max: int | None = None
    # Total size of all contents and unfinished uploads, in bytes.
    bytes_max: int | None = None
    # Size of one blob, in bytes; at least 1.
    blob_bytes_max: int | None = None
    # Size of one inline content, in bytes; at least 1. If it is above the setting, the setting applies.
    content_bytes_max: int | None = None

    @classmethod
    def from_proto(cls, message: pb.TenantLimits) -> TenantLimits:
        """Return the value of a message."""
        return cls(
            records_max=message.records_max if message.HasField("records_max") else None,
            bytes_max=message.bytes_max if message.HasField("bytes_max") else None,
            blob_bytes_max=message.blob_bytes_max if message.HasField("blob_bytes_max") else None,
            content_bytes_max=message.content_bytes_max if message.HasField("content_bytes_max") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Usage(Value):
    """The data that your tenant stores, and the limits in effect."""

    # Number of records.
    records: int = 0
    # Total size of the contents.
    size_bytes: int = 0
    limits: TenantLimits

    @classmethod
    def from_proto(cls, message: pb.GetUsageResponse) -> Usage:
        """Return the value of a message."""
        return cls(
            records=message.records,
            size_bytes=message.size_bytes,
            limits=TenantLimits.from_proto(message.limits),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BackgroundWork(Value):
    """Waiting work of one kind, in one database."""

    # "index" (embeddings of records), "text" (texts of files), "records of messages", "erasures", and others. Later
    # versions may add kinds.
    kind: str = ""
    # Number of items that wait, failed ones included.
    owed: int = 0
    # Number of items that failed and will be retried.
    failed: int = 0
    # When the oldest of them began to wait.
    oldest_at: datetime
    # Error of one of the failed items.
    last_error: str = ""
    # The database, by its name in DATABASE_URLS. Empty: the home database.
    database: str = ""

    @classmethod
    def from_proto(cls, message: pb.BackgroundWork) -> BackgroundWork:
        """Return the value of a message."""
        return cls(
            kind=message.kind,
            owed=message.owed,
            failed=message.failed,
            oldest_at=time_of(message.oldest_at),
            last_error=message.last_error,
            database=message.database,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PendingWork(Value):
    """Background work that waits, by kind and database."""

    # Kinds without waiting work are left out.
    work: tuple[BackgroundWork, ...] = ()
    # Databases that do not answer; their work is unknown.
    databases_away: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.ListBackgroundWorkResponse) -> PendingWork:
        """Return the value of a message."""
        return cls(
            work=tuple(map(BackgroundWork.from_proto, message.work)),
            databases_away=tuple(message.databases_away),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RetriedWork(Value):
    """The result of a retry."""

    # Number of items that are retried now.
    retried: int = 0
    # Databases that do not answer; nothing is retried there.
    databases_away: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.RetryBackgroundWorkResponse) -> RetriedWork:
        """Return the value of a message."""
        return cls(
            retried=message.retried,
            databases_away=tuple(message.databases_away),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Job(Value):
    """Work that an operator started, and its progress."""

    job_id: str = ""
    kind: JobKind | Literal[""] = ""
    state: JobState | Literal[""] = ""
    started_at: datetime
    updated_at: datetime
    # Unset: it is not finished.
    finished_at: datetime | None = None
    # The subject of the credential that started it.
    started_by: str = ""
    # Why it failed. Empty: it did not.
    error: str = ""
    # As in StartJobRequest.
    quick: bool = False
    # As in StartJobRequest.
    repair: bool = False
    # The progress: an object of numbers. A finished check adds the first 50 `problems`.
    progress_json: str = "{}"
    _progress: Any = kept()

    @property
    def progress(self) -> dict[str, Any]:
        """Return `progress_json`, parsed."""
        return self._kept_object("_progress", self.progress_json)

    @classmethod
    def from_proto(cls, message: pb.Job) -> Job:
        """Return the value of a message."""
        return cls(
            job_id=message.job_id,
            kind=JOB_KINDS.get(message.kind, ""),
            state=JOB_STATES.get(message.state, ""),
            started_at=time_of(message.started_at),
            updated_at=time_of(message.updated_at),
            finished_at=time_of(message.finished_at) if message.HasField("finished_at") else None,
            started_by=message.started_by,
            error=message.error,
            quick=message.quick,
            repair=message.repair,
            progress_json=message.progress_json,
        )
