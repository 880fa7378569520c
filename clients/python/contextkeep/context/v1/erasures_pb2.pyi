import datetime

from contextkeep.context.v1 import contexts_pb2 as _contexts_pb2
from contextkeep import options_pb2 as _options_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ErasureCount(_message.Message):
    __slots__ = ("kind", "count")
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: str
    count: int
    def __init__(self, kind: _Optional[str] = ..., count: _Optional[int] = ...) -> None: ...

class SubjectErasure(_message.Message):
    __slots__ = ("erasure_id", "state", "created_at", "finished_at", "requested_by", "removed", "is_begun_in_graph", "old_copies")
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_BY_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    IS_BEGUN_IN_GRAPH_FIELD_NUMBER: _ClassVar[int]
    OLD_COPIES_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    state: _contexts_pb2.ErasureState
    created_at: _timestamp_pb2.Timestamp
    finished_at: _timestamp_pb2.Timestamp
    requested_by: str
    removed: _containers.RepeatedCompositeFieldContainer[ErasureCount]
    is_begun_in_graph: bool
    old_copies: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, erasure_id: _Optional[str] = ..., state: _Optional[_Union[_contexts_pb2.ErasureState, str]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., requested_by: _Optional[str] = ..., removed: _Optional[_Iterable[_Union[ErasureCount, _Mapping]]] = ..., is_begun_in_graph: _Optional[bool] = ..., old_copies: _Optional[_Iterable[str]] = ...) -> None: ...

class Hold(_message.Message):
    __slots__ = ("hold_id", "subject", "context_id", "reason", "created_at", "created_by")
    HOLD_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    hold_id: str
    subject: str
    context_id: str
    reason: str
    created_at: _timestamp_pb2.Timestamp
    created_by: str
    def __init__(self, hold_id: _Optional[str] = ..., subject: _Optional[str] = ..., context_id: _Optional[str] = ..., reason: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_by: _Optional[str] = ...) -> None: ...

class PlanErasureRequest(_message.Message):
    __slots__ = ("subject",)
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    subject: str
    def __init__(self, subject: _Optional[str] = ...) -> None: ...

class PlanErasureResponse(_message.Message):
    __slots__ = ("counts", "holds", "not_found")
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    NOT_FOUND_FIELD_NUMBER: _ClassVar[int]
    counts: _containers.RepeatedCompositeFieldContainer[ErasureCount]
    holds: _containers.RepeatedCompositeFieldContainer[Hold]
    not_found: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, counts: _Optional[_Iterable[_Union[ErasureCount, _Mapping]]] = ..., holds: _Optional[_Iterable[_Union[Hold, _Mapping]]] = ..., not_found: _Optional[_Iterable[str]] = ...) -> None: ...

class EraseRequest(_message.Message):
    __slots__ = ("subject", "request_id")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    subject: str
    request_id: str
    def __init__(self, subject: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class EraseResponse(_message.Message):
    __slots__ = ("erasure",)
    ERASURE_FIELD_NUMBER: _ClassVar[int]
    erasure: SubjectErasure
    def __init__(self, erasure: _Optional[_Union[SubjectErasure, _Mapping]] = ...) -> None: ...

class GetSubjectErasureRequest(_message.Message):
    __slots__ = ("erasure_id",)
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    def __init__(self, erasure_id: _Optional[str] = ...) -> None: ...

class GetSubjectErasureResponse(_message.Message):
    __slots__ = ("erasure",)
    ERASURE_FIELD_NUMBER: _ClassVar[int]
    erasure: SubjectErasure
    def __init__(self, erasure: _Optional[_Union[SubjectErasure, _Mapping]] = ...) -> None: ...

class PutHoldRequest(_message.Message):
    __slots__ = ("subject", "context_id", "reason", "request_id")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    subject: str
    context_id: str
    reason: str
    request_id: str
    def __init__(self, subject: _Optional[str] = ..., context_id: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutHoldResponse(_message.Message):
    __slots__ = ("hold",)
    HOLD_FIELD_NUMBER: _ClassVar[int]
    hold: Hold
    def __init__(self, hold: _Optional[_Union[Hold, _Mapping]] = ...) -> None: ...

class ReleaseHoldRequest(_message.Message):
    __slots__ = ("hold_id", "request_id")
    HOLD_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    hold_id: str
    request_id: str
    def __init__(self, hold_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ReleaseHoldResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListHoldsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListHoldsResponse(_message.Message):
    __slots__ = ("holds", "next_page_token")
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    holds: _containers.RepeatedCompositeFieldContainer[Hold]
    next_page_token: str
    def __init__(self, holds: _Optional[_Iterable[_Union[Hold, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...
