import datetime

from contextkeep import options_pb2 as _options_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetRecentCallsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetRecentCallsResponse(_message.Message):
    __slots__ = ("service", "process_id", "started_at", "minutes")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    PROCESS_ID_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    MINUTES_FIELD_NUMBER: _ClassVar[int]
    service: str
    process_id: str
    started_at: _timestamp_pb2.Timestamp
    minutes: _containers.RepeatedCompositeFieldContainer[RecentMinute]
    def __init__(self, service: _Optional[str] = ..., process_id: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., minutes: _Optional[_Iterable[_Union[RecentMinute, _Mapping]]] = ...) -> None: ...

class RecentMinute(_message.Message):
    __slots__ = ("begins_at", "calls", "refused", "failed", "p50_ms", "p95_ms")
    BEGINS_AT_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    P50_MS_FIELD_NUMBER: _ClassVar[int]
    P95_MS_FIELD_NUMBER: _ClassVar[int]
    begins_at: _timestamp_pb2.Timestamp
    calls: int
    refused: int
    failed: int
    p50_ms: float
    p95_ms: float
    def __init__(self, begins_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., calls: _Optional[int] = ..., refused: _Optional[int] = ..., failed: _Optional[int] = ..., p50_ms: _Optional[float] = ..., p95_ms: _Optional[float] = ...) -> None: ...
