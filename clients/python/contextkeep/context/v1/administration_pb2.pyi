import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

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
    __slots__ = ("call_id", "called_at", "method", "scope", "status", "reason", "subject", "user_id", "agent_id", "peer", "ids_json")
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
    def __init__(self, call_id: _Optional[str] = ..., called_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., method: _Optional[str] = ..., scope: _Optional[str] = ..., status: _Optional[str] = ..., reason: _Optional[str] = ..., subject: _Optional[str] = ..., user_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., peer: _Optional[str] = ..., ids_json: _Optional[str] = ...) -> None: ...

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
