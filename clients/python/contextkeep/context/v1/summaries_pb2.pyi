import datetime

from contextkeep import options_pb2 as _options_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetUserContextRequest(_message.Message):
    __slots__ = ("subject_user_id", "tokens_max")
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MAX_FIELD_NUMBER: _ClassVar[int]
    subject_user_id: str
    tokens_max: int
    def __init__(self, subject_user_id: _Optional[str] = ..., tokens_max: _Optional[int] = ...) -> None: ...

class GetUserContextResponse(_message.Message):
    __slots__ = ("text", "tokens", "lines", "left_out_count")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    text: str
    tokens: int
    lines: _containers.RepeatedCompositeFieldContainer[UserContextLine]
    left_out_count: int
    def __init__(self, text: _Optional[str] = ..., tokens: _Optional[int] = ..., lines: _Optional[_Iterable[_Union[UserContextLine, _Mapping]]] = ..., left_out_count: _Optional[int] = ...) -> None: ...

class UserContextLine(_message.Message):
    __slots__ = ("section", "ref", "text", "author", "stated_at", "memory_id", "context_id", "message_ref")
    SECTION_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    STATED_AT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_REF_FIELD_NUMBER: _ClassVar[int]
    section: str
    ref: str
    text: str
    author: str
    stated_at: _timestamp_pb2.Timestamp
    memory_id: str
    context_id: str
    message_ref: str
    def __init__(self, section: _Optional[str] = ..., ref: _Optional[str] = ..., text: _Optional[str] = ..., author: _Optional[str] = ..., stated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., memory_id: _Optional[str] = ..., context_id: _Optional[str] = ..., message_ref: _Optional[str] = ...) -> None: ...

class GetContextSummaryRequest(_message.Message):
    __slots__ = ("context_id", "tokens_max", "subject_user_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    TOKENS_MAX_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    tokens_max: int
    subject_user_id: str
    def __init__(self, context_id: _Optional[str] = ..., tokens_max: _Optional[int] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class GetContextSummaryResponse(_message.Message):
    __slots__ = ("text", "tokens", "seq_from", "seq_to", "left_out_count")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SEQ_FROM_FIELD_NUMBER: _ClassVar[int]
    SEQ_TO_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    text: str
    tokens: int
    seq_from: int
    seq_to: int
    left_out_count: int
    def __init__(self, text: _Optional[str] = ..., tokens: _Optional[int] = ..., seq_from: _Optional[int] = ..., seq_to: _Optional[int] = ..., left_out_count: _Optional[int] = ...) -> None: ...
