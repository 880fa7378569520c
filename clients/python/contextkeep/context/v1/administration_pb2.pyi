import datetime

from contextkeep import options_pb2 as _options_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_KIND_UNSPECIFIED: _ClassVar[JobKind]
    JOB_KIND_SWEEP: _ClassVar[JobKind]
    JOB_KIND_FSCK: _ClassVar[JobKind]

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_STATE_UNSPECIFIED: _ClassVar[JobState]
    JOB_STATE_RUNNING: _ClassVar[JobState]
    JOB_STATE_DONE: _ClassVar[JobState]
    JOB_STATE_FAILED: _ClassVar[JobState]
    JOB_STATE_LOST: _ClassVar[JobState]
JOB_KIND_UNSPECIFIED: JobKind
JOB_KIND_SWEEP: JobKind
JOB_KIND_FSCK: JobKind
JOB_STATE_UNSPECIFIED: JobState
JOB_STATE_RUNNING: JobState
JOB_STATE_DONE: JobState
JOB_STATE_FAILED: JobState
JOB_STATE_LOST: JobState

class GetCallerRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetCallerResponse(_message.Message):
    __slots__ = ("tenant_id", "tenant", "subject", "key_prefix", "scopes", "user_id", "agent_id", "app_ids", "agent_bundle_id", "graph_names", "context_id", "expires_at")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    KEY_PREFIX_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    APP_IDS_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAMES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    tenant: str
    subject: str
    key_prefix: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    user_id: str
    agent_id: str
    app_ids: _containers.RepeatedScalarFieldContainer[str]
    agent_bundle_id: str
    graph_names: _containers.RepeatedScalarFieldContainer[str]
    context_id: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, tenant_id: _Optional[str] = ..., tenant: _Optional[str] = ..., subject: _Optional[str] = ..., key_prefix: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., user_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., app_ids: _Optional[_Iterable[str]] = ..., agent_bundle_id: _Optional[str] = ..., graph_names: _Optional[_Iterable[str]] = ..., context_id: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ApiKey(_message.Message):
    __slots__ = ("prefix", "subject", "scopes", "user_id", "agent_id", "app_ids", "agent_bundle_id", "graph_names", "context_id", "made_by", "created_at", "expires_at", "revoked_at", "last_used_at")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    APP_IDS_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAMES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MADE_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REVOKED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_AT_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    subject: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    user_id: str
    agent_id: str
    app_ids: _containers.RepeatedScalarFieldContainer[str]
    agent_bundle_id: str
    graph_names: _containers.RepeatedScalarFieldContainer[str]
    context_id: str
    made_by: str
    created_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    revoked_at: _timestamp_pb2.Timestamp
    last_used_at: _timestamp_pb2.Timestamp
    def __init__(self, prefix: _Optional[str] = ..., subject: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., user_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., app_ids: _Optional[_Iterable[str]] = ..., agent_bundle_id: _Optional[str] = ..., graph_names: _Optional[_Iterable[str]] = ..., context_id: _Optional[str] = ..., made_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revoked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_used_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class KeyInput(_message.Message):
    __slots__ = ("subject", "scopes", "user_id", "agent_id", "app_ids", "agent_bundle_id", "graph_names", "ttl_s")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    APP_IDS_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAMES_FIELD_NUMBER: _ClassVar[int]
    TTL_S_FIELD_NUMBER: _ClassVar[int]
    subject: str
    scopes: _containers.RepeatedScalarFieldContainer[str]
    user_id: str
    agent_id: str
    app_ids: _containers.RepeatedScalarFieldContainer[str]
    agent_bundle_id: str
    graph_names: _containers.RepeatedScalarFieldContainer[str]
    ttl_s: int
    def __init__(self, subject: _Optional[str] = ..., scopes: _Optional[_Iterable[str]] = ..., user_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., app_ids: _Optional[_Iterable[str]] = ..., agent_bundle_id: _Optional[str] = ..., graph_names: _Optional[_Iterable[str]] = ..., ttl_s: _Optional[int] = ...) -> None: ...

class AdministrativeCall(_message.Message):
    __slots__ = ("call_id", "called_at", "method", "scope", "status", "reason", "subject", "user_id", "agent_id", "peer", "ids_json", "count")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    CALLED_AT_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    PEER_FIELD_NUMBER: _ClassVar[int]
    IDS_JSON_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    called_at: _timestamp_pb2.Timestamp
    method: str
    scope: str
    status: str
    reason: str
    subject: str
    user_id: str
    agent_id: str
    peer: str
    ids_json: str
    count: int
    def __init__(self, call_id: _Optional[str] = ..., called_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., method: _Optional[str] = ..., scope: _Optional[str] = ..., status: _Optional[str] = ..., reason: _Optional[str] = ..., subject: _Optional[str] = ..., user_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., peer: _Optional[str] = ..., ids_json: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class ListKeysRequest(_message.Message):
    __slots__ = ("context_id", "page_size", "page_token")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    page_size: int
    page_token: str
    def __init__(self, context_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListKeysResponse(_message.Message):
    __slots__ = ("keys", "next_page_token")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedCompositeFieldContainer[ApiKey]
    next_page_token: str
    def __init__(self, keys: _Optional[_Iterable[_Union[ApiKey, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CreateKeyRequest(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: KeyInput
    def __init__(self, key: _Optional[_Union[KeyInput, _Mapping]] = ...) -> None: ...

class CreateKeyResponse(_message.Message):
    __slots__ = ("key", "prefix")
    KEY_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    key: str
    prefix: str
    def __init__(self, key: _Optional[str] = ..., prefix: _Optional[str] = ...) -> None: ...

class RevokeKeyRequest(_message.Message):
    __slots__ = ("prefix",)
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    def __init__(self, prefix: _Optional[str] = ...) -> None: ...

class RevokeKeyResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListAdministrativeCallsRequest(_message.Message):
    __slots__ = ("call_id", "page_size", "page_token")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    page_size: int
    page_token: str
    def __init__(self, call_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListAdministrativeCallsResponse(_message.Message):
    __slots__ = ("calls", "next_page_token")
    CALLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    calls: _containers.RepeatedCompositeFieldContainer[AdministrativeCall]
    next_page_token: str
    def __init__(self, calls: _Optional[_Iterable[_Union[AdministrativeCall, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class TenantLimits(_message.Message):
    __slots__ = ("records_max", "bytes_max", "blob_bytes_max", "content_bytes_max")
    RECORDS_MAX_FIELD_NUMBER: _ClassVar[int]
    BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    BLOB_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    CONTENT_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    records_max: int
    bytes_max: int
    blob_bytes_max: int
    content_bytes_max: int
    def __init__(self, records_max: _Optional[int] = ..., bytes_max: _Optional[int] = ..., blob_bytes_max: _Optional[int] = ..., content_bytes_max: _Optional[int] = ...) -> None: ...

class GetUsageRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetUsageResponse(_message.Message):
    __slots__ = ("records", "size_bytes", "limits")
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    records: int
    size_bytes: int
    limits: TenantLimits
    def __init__(self, records: _Optional[int] = ..., size_bytes: _Optional[int] = ..., limits: _Optional[_Union[TenantLimits, _Mapping]] = ...) -> None: ...

class Tenant(_message.Message):
    __slots__ = ("tenant_id", "name", "created_at", "records", "size_bytes", "limits", "database", "is_away")
    TENANT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    DATABASE_FIELD_NUMBER: _ClassVar[int]
    IS_AWAY_FIELD_NUMBER: _ClassVar[int]
    tenant_id: str
    name: str
    created_at: _timestamp_pb2.Timestamp
    records: int
    size_bytes: int
    limits: TenantLimits
    database: str
    is_away: bool
    def __init__(self, tenant_id: _Optional[str] = ..., name: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., records: _Optional[int] = ..., size_bytes: _Optional[int] = ..., limits: _Optional[_Union[TenantLimits, _Mapping]] = ..., database: _Optional[str] = ..., is_away: _Optional[bool] = ...) -> None: ...

class ListTenantsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTenantsResponse(_message.Message):
    __slots__ = ("tenants", "next_page_token")
    TENANTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tenants: _containers.RepeatedCompositeFieldContainer[Tenant]
    next_page_token: str
    def __init__(self, tenants: _Optional[_Iterable[_Union[Tenant, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SetTenantLimitsRequest(_message.Message):
    __slots__ = ("tenant", "limits", "update_mask")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    tenant: str
    limits: TenantLimits
    update_mask: _field_mask_pb2.FieldMask
    def __init__(self, tenant: _Optional[str] = ..., limits: _Optional[_Union[TenantLimits, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ...) -> None: ...

class SetTenantLimitsResponse(_message.Message):
    __slots__ = ("tenant",)
    TENANT_FIELD_NUMBER: _ClassVar[int]
    tenant: Tenant
    def __init__(self, tenant: _Optional[_Union[Tenant, _Mapping]] = ...) -> None: ...

class BackgroundWork(_message.Message):
    __slots__ = ("kind", "owed", "failed", "oldest_at", "last_error", "database")
    KIND_FIELD_NUMBER: _ClassVar[int]
    OWED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    OLDEST_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    DATABASE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    owed: int
    failed: int
    oldest_at: _timestamp_pb2.Timestamp
    last_error: str
    database: str
    def __init__(self, kind: _Optional[str] = ..., owed: _Optional[int] = ..., failed: _Optional[int] = ..., oldest_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_error: _Optional[str] = ..., database: _Optional[str] = ...) -> None: ...

class ListBackgroundWorkRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListBackgroundWorkResponse(_message.Message):
    __slots__ = ("work", "databases_away")
    WORK_FIELD_NUMBER: _ClassVar[int]
    DATABASES_AWAY_FIELD_NUMBER: _ClassVar[int]
    work: _containers.RepeatedCompositeFieldContainer[BackgroundWork]
    databases_away: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, work: _Optional[_Iterable[_Union[BackgroundWork, _Mapping]]] = ..., databases_away: _Optional[_Iterable[str]] = ...) -> None: ...

class RetryBackgroundWorkRequest(_message.Message):
    __slots__ = ("kind",)
    KIND_FIELD_NUMBER: _ClassVar[int]
    kind: str
    def __init__(self, kind: _Optional[str] = ...) -> None: ...

class RetryBackgroundWorkResponse(_message.Message):
    __slots__ = ("retried", "databases_away")
    RETRIED_FIELD_NUMBER: _ClassVar[int]
    DATABASES_AWAY_FIELD_NUMBER: _ClassVar[int]
    retried: int
    databases_away: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, retried: _Optional[int] = ..., databases_away: _Optional[_Iterable[str]] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("job_id", "kind", "state", "started_at", "updated_at", "finished_at", "started_by", "error", "quick", "repair", "progress_json")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_BY_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    QUICK_FIELD_NUMBER: _ClassVar[int]
    REPAIR_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_JSON_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    kind: JobKind
    state: JobState
    started_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    started_by: str
    error: str
    quick: bool
    repair: bool
    progress_json: str
    def __init__(self, job_id: _Optional[str] = ..., kind: _Optional[_Union[JobKind, str]] = ..., state: _Optional[_Union[JobState, str]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started_by: _Optional[str] = ..., error: _Optional[str] = ..., quick: _Optional[bool] = ..., repair: _Optional[bool] = ..., progress_json: _Optional[str] = ...) -> None: ...

class StartJobRequest(_message.Message):
    __slots__ = ("kind", "quick", "repair")
    KIND_FIELD_NUMBER: _ClassVar[int]
    QUICK_FIELD_NUMBER: _ClassVar[int]
    REPAIR_FIELD_NUMBER: _ClassVar[int]
    kind: JobKind
    quick: bool
    repair: bool
    def __init__(self, kind: _Optional[_Union[JobKind, str]] = ..., quick: _Optional[bool] = ..., repair: _Optional[bool] = ...) -> None: ...

class StartJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class GetJobRequest(_message.Message):
    __slots__ = ("job_id",)
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class GetJobResponse(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: Job
    def __init__(self, job: _Optional[_Union[Job, _Mapping]] = ...) -> None: ...

class ListJobsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListJobsResponse(_message.Message):
    __slots__ = ("jobs", "next_page_token")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[Job]
    next_page_token: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[Job, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
