import datetime

from contextkeep.context.v1 import chat_history_pb2 as _chat_history_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Window(_message.Message):
    __slots__ = ("window_id", "context_id", "model", "format", "tokens_family", "context_tokens", "token_limit", "system_prompt", "tools_json", "goal", "epoch", "reached_seq", "step_count", "left_out_count", "owner_user_id", "created_by", "created_at", "updated_at", "is_closed")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FAMILY_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_LIMIT_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_PROMPT_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REACHED_SEQ_FIELD_NUMBER: _ClassVar[int]
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_COUNT_FIELD_NUMBER: _ClassVar[int]
    OWNER_USER_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    IS_CLOSED_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    context_id: str
    model: str
    format: _chat_history_pb2.MessageFormat
    tokens_family: str
    context_tokens: int
    token_limit: int
    system_prompt: str
    tools_json: str
    goal: str
    epoch: int
    reached_seq: int
    step_count: int
    left_out_count: int
    owner_user_id: str
    created_by: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    is_closed: bool
    def __init__(self, window_id: _Optional[str] = ..., context_id: _Optional[str] = ..., model: _Optional[str] = ..., format: _Optional[_Union[_chat_history_pb2.MessageFormat, str]] = ..., tokens_family: _Optional[str] = ..., context_tokens: _Optional[int] = ..., token_limit: _Optional[int] = ..., system_prompt: _Optional[str] = ..., tools_json: _Optional[str] = ..., goal: _Optional[str] = ..., epoch: _Optional[int] = ..., reached_seq: _Optional[int] = ..., step_count: _Optional[int] = ..., left_out_count: _Optional[int] = ..., owner_user_id: _Optional[str] = ..., created_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., is_closed: _Optional[bool] = ...) -> None: ...

class OpenWindowRequest(_message.Message):
    __slots__ = ("context_id", "model", "context_tokens", "format", "system_prompt", "tools_json", "goal", "token_budget", "output_reservation", "subject_user_id", "request_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_PROMPT_FIELD_NUMBER: _ClassVar[int]
    TOOLS_JSON_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_RESERVATION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    model: str
    context_tokens: int
    format: _chat_history_pb2.MessageFormat
    system_prompt: str
    tools_json: str
    goal: str
    token_budget: float
    output_reservation: int
    subject_user_id: str
    request_id: str
    def __init__(self, context_id: _Optional[str] = ..., model: _Optional[str] = ..., context_tokens: _Optional[int] = ..., format: _Optional[_Union[_chat_history_pb2.MessageFormat, str]] = ..., system_prompt: _Optional[str] = ..., tools_json: _Optional[str] = ..., goal: _Optional[str] = ..., token_budget: _Optional[float] = ..., output_reservation: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class OpenWindowResponse(_message.Message):
    __slots__ = ("window",)
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    window: Window
    def __init__(self, window: _Optional[_Union[Window, _Mapping]] = ...) -> None: ...

class GetWindowRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class GetWindowResponse(_message.Message):
    __slots__ = ("window",)
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    window: Window
    def __init__(self, window: _Optional[_Union[Window, _Mapping]] = ...) -> None: ...

class ListWindowsRequest(_message.Message):
    __slots__ = ("context_id", "subject_user_id", "page_size", "page_token")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    subject_user_id: str
    page_size: int
    page_token: str
    def __init__(self, context_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListWindowsResponse(_message.Message):
    __slots__ = ("windows", "next_page_token")
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    windows: _containers.RepeatedCompositeFieldContainer[Window]
    next_page_token: str
    def __init__(self, windows: _Optional[_Iterable[_Union[Window, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CloseWindowRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id", "request_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    request_id: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class CloseWindowResponse(_message.Message):
    __slots__ = ("window",)
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    window: Window
    def __init__(self, window: _Optional[_Union[Window, _Mapping]] = ...) -> None: ...

class PackRequest(_message.Message):
    __slots__ = ("window_id", "subject_user_id")
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    window_id: str
    subject_user_id: str
    def __init__(self, window_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class PackZones(_message.Message):
    __slots__ = ("system", "note", "verbatim")
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    VERBATIM_FIELD_NUMBER: _ClassVar[int]
    system: int
    note: int
    verbatim: int
    def __init__(self, system: _Optional[int] = ..., note: _Optional[int] = ..., verbatim: _Optional[int] = ...) -> None: ...

class PackOmissions(_message.Message):
    __slots__ = ("step_count", "tokens")
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    step_count: int
    tokens: int
    def __init__(self, step_count: _Optional[int] = ..., tokens: _Optional[int] = ...) -> None: ...

class PackResponse(_message.Message):
    __slots__ = ("messages_json", "prefix_bytes", "prefix_sha", "tokens", "tokens_by_zone", "step_count", "omitted", "epoch", "last_seq", "is_waiting")
    MESSAGES_JSON_FIELD_NUMBER: _ClassVar[int]
    PREFIX_BYTES_FIELD_NUMBER: _ClassVar[int]
    PREFIX_SHA_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BY_ZONE_FIELD_NUMBER: _ClassVar[int]
    STEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    OMITTED_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    IS_WAITING_FIELD_NUMBER: _ClassVar[int]
    messages_json: str
    prefix_bytes: int
    prefix_sha: str
    tokens: int
    tokens_by_zone: PackZones
    step_count: int
    omitted: PackOmissions
    epoch: int
    last_seq: int
    is_waiting: bool
    def __init__(self, messages_json: _Optional[str] = ..., prefix_bytes: _Optional[int] = ..., prefix_sha: _Optional[str] = ..., tokens: _Optional[int] = ..., tokens_by_zone: _Optional[_Union[PackZones, _Mapping]] = ..., step_count: _Optional[int] = ..., omitted: _Optional[_Union[PackOmissions, _Mapping]] = ..., epoch: _Optional[int] = ..., last_seq: _Optional[int] = ..., is_waiting: _Optional[bool] = ...) -> None: ...
