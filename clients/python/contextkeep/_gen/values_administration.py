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
    """Whom your key or token stands for."""

    tenant_id: str = ""
    # Its name.
    tenant: str = ""
    # What rows keep as `created_by`.
    subject: str = ""
    # How the key begins: 12 characters. Empty: it is not stored, such as a token of an issuer.
    key_prefix: str = ""
    scopes: tuple[str, ...] = ()
    # The user whose own things the key sees; empty: it has no user.
    user_id: str = ""
    agent_id: str = ""
    # The apps that the key is bound to; empty: it is bound to no app. The same holds for the next three.
    app_ids: tuple[str, ...] = ()
    agent_bundle_id: str = ""
    graph_names: tuple[str, ...] = ()
    context_id: str = ""
    # Unset: it does not end.
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
    """A key, without what it is."""

    # How it begins: 12 characters, by which it is revoked.
    prefix: str = ""
    # Whom it stands for.
    subject: str = ""
    scopes: tuple[str, ...] = ()
    # Whose own it sees, of what belongs to users; empty: nobody's.
    user_id: str = ""
    agent_id: str = ""
    # What it is bound to, as the next two; empty: to none of these.
    app_ids: tuple[str, ...] = ()
    agent_bundle_id: str = ""
    graph_names: tuple[str, ...] = ()
    # Of a key of IssueContextKey: which one it reaches.
    context_id: str = ""
    # How the key begins that it was made with; empty: it was none, such as an operator's command.
    made_by: str = ""
    created_at: datetime | None = None
    # Unset: it does not end.
    expires_at: datetime | None = None
    # Unset: it is not revoked.
    revoked_at: datetime | None = None
    # To the minute. Unset: never, or it is a context's, of which it is not noted.
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
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            expires_at=time_of(message.expires_at) if message.HasField("expires_at") else None,
            revoked_at=time_of(message.revoked_at) if message.HasField("revoked_at") else None,
            last_used_at=time_of(message.last_used_at) if message.HasField("last_used_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AdministrativeCall(Value):
    """A call that needed the scope `admin`, or `operator`."""

    # As logs and errors have it.
    call_id: str = ""
    called_at: datetime
    # "contextkeep.context.v1.Knowledge/PutAgent".
    method: str = ""
    scope: str = ""
    # Name of its status code: "OK", "PERMISSION_DENIED".
    status: str = ""
    # Of its error; empty: there was none.
    reason: str = ""
    # Who called.
    subject: str = ""
    user_id: str = ""
    agent_id: str = ""
    # From where: "ipv4:127.0.0.1:50000".
    peer: str = ""
    # The ids in its request and answer, by the paths of their fields: an object of lists of texts, 40 at most.
    ids_json: str = "{}"
    # How many calls it stands for. Of refused calls that are alike (caller, method, reason) the first in a minute has a
    # row, and those that follow in that minute are added to its count when the minute is over. Of any other call 1.
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
    """A key that was made. It is never shown again."""

    # Shown once.
    key: str = field(default="", repr=False)
    # How it begins.
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
    """What a tenant may store. Unset: of a tenant, what the settings say; of GetUsage, any number."""

    # Archived ones count, too.
    records_max: int | None = None
    # Of all contents and unfinished uploads.
    bytes_max: int | None = None
    # Of one blob; at least 1, as the next one.
    blob_bytes_max: int | None = None
    # Of one inline content; no more than the setting counts.
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
    """What your tenant stores, and the limits that hold for it."""

    records: int = 0
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
    """What is owed of a kind, in a database."""

    # "index" (vectors of records), "text" (texts of files), "records of messages", "erasures", ... New kinds may come.
    kind: str = ""
    owed: int = 0
    # Of it: what was tried, and is tried again.
    failed: int = 0
    oldest_at: datetime
    # Of one of those that failed.
    last_error: str = ""
    # As DATABASE_URLS names it; empty: the home database.
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
class OwedWork(Value):
    """Work that calls left to the background, by kind and database."""

    # A kind of which nothing is owed is not there.
    work: tuple[BackgroundWork, ...] = ()
    # Databases that do not answer: what is owed there is not known.
    databases_away: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.ListBackgroundWorkResponse) -> OwedWork:
        """Return the value of a message."""
        return cls(
            work=tuple(map(BackgroundWork.from_proto, message.work)),
            databases_away=tuple(message.databases_away),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RetriedWork(Value):
    """How much failed work is tried again now."""

    retried: int = 0
    # Databases that do not answer: nothing is tried again there.
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
    """Work that an operator started, and how far it is."""

    job_id: str = ""
    kind: JobKind | Literal[""] = ""
    state: JobState | Literal[""] = ""
    started_at: datetime
    updated_at: datetime
    # Unset: it is not over.
    finished_at: datetime | None = None
    started_by: str = ""
    error: str = ""
    # As of StartJobRequest.
    quick: bool = False
    repair: bool = False
    # How far it is: an object of numbers; of a check that is over also the first 50 `problems`.
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
