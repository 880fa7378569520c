import datetime

from contextkeep import options_pb2 as _options_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ChatMessage(_message.Message):
    __slots__ = ("role", "content", "node_id", "created_at", "name", "parts", "metadata_json", "message_id", "seq", "agent_id", "said_at", "tokens", "task_id", "reference_task_ids", "turn", "is_imported")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SAID_AT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_TASK_IDS_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    IS_IMPORTED_FIELD_NUMBER: _ClassVar[int]
    role: str
    content: str
    node_id: str
    created_at: _timestamp_pb2.Timestamp
    name: str
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    metadata_json: str
    message_id: str
    seq: int
    agent_id: str
    said_at: _timestamp_pb2.Timestamp
    tokens: int
    task_id: str
    reference_task_ids: _containers.RepeatedScalarFieldContainer[str]
    turn: str
    is_imported: bool
    def __init__(self, role: _Optional[str] = ..., content: _Optional[str] = ..., node_id: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., name: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., metadata_json: _Optional[str] = ..., message_id: _Optional[str] = ..., seq: _Optional[int] = ..., agent_id: _Optional[str] = ..., said_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tokens: _Optional[int] = ..., task_id: _Optional[str] = ..., reference_task_ids: _Optional[_Iterable[str]] = ..., turn: _Optional[str] = ..., is_imported: _Optional[bool] = ...) -> None: ...

class MessageInput(_message.Message):
    __slots__ = ("message_id", "role", "content", "parts", "name", "agent_id", "metadata_json", "said_at", "session", "task_id", "reference_task_ids", "is_imported")
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    SAID_AT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_TASK_IDS_FIELD_NUMBER: _ClassVar[int]
    IS_IMPORTED_FIELD_NUMBER: _ClassVar[int]
    message_id: str
    role: str
    content: str
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    name: str
    agent_id: str
    metadata_json: str
    said_at: _timestamp_pb2.Timestamp
    session: str
    task_id: str
    reference_task_ids: _containers.RepeatedScalarFieldContainer[str]
    is_imported: bool
    def __init__(self, message_id: _Optional[str] = ..., role: _Optional[str] = ..., content: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., name: _Optional[str] = ..., agent_id: _Optional[str] = ..., metadata_json: _Optional[str] = ..., said_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., session: _Optional[str] = ..., task_id: _Optional[str] = ..., reference_task_ids: _Optional[_Iterable[str]] = ..., is_imported: _Optional[bool] = ...) -> None: ...

class Imported(_message.Message):
    __slots__ = ("import_id", "imported_by", "imported_at", "claimed_authors")
    IMPORT_ID_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_BY_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_AT_FIELD_NUMBER: _ClassVar[int]
    CLAIMED_AUTHORS_FIELD_NUMBER: _ClassVar[int]
    import_id: str
    imported_by: str
    imported_at: _timestamp_pb2.Timestamp
    claimed_authors: _containers.RepeatedCompositeFieldContainer[ClaimedAuthor]
    def __init__(self, import_id: _Optional[str] = ..., imported_by: _Optional[str] = ..., imported_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., claimed_authors: _Optional[_Iterable[_Union[ClaimedAuthor, _Mapping]]] = ...) -> None: ...

class ClaimedAuthor(_message.Message):
    __slots__ = ("field", "author")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    AUTHOR_FIELD_NUMBER: _ClassVar[int]
    field: str
    author: str
    def __init__(self, field: _Optional[str] = ..., author: _Optional[str] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("text", "data_json", "working_memory_id", "url", "tool_call", "tool_result", "reasoning", "file", "media_type", "file_name", "metadata_json")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    TOOL_RESULT_FIELD_NUMBER: _ClassVar[int]
    REASONING_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    FILE_NAME_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    text: str
    data_json: str
    working_memory_id: str
    url: str
    tool_call: ToolCall
    tool_result: ToolResult
    reasoning: Reasoning
    file: File
    media_type: str
    file_name: str
    metadata_json: str
    def __init__(self, text: _Optional[str] = ..., data_json: _Optional[str] = ..., working_memory_id: _Optional[str] = ..., url: _Optional[str] = ..., tool_call: _Optional[_Union[ToolCall, _Mapping]] = ..., tool_result: _Optional[_Union[ToolResult, _Mapping]] = ..., reasoning: _Optional[_Union[Reasoning, _Mapping]] = ..., file: _Optional[_Union[File, _Mapping]] = ..., media_type: _Optional[str] = ..., file_name: _Optional[str] = ..., metadata_json: _Optional[str] = ...) -> None: ...

class Reasoning(_message.Message):
    __slots__ = ("provider", "data", "data_json", "text")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    provider: str
    data: bytes
    data_json: str
    text: str
    def __init__(self, provider: _Optional[str] = ..., data: _Optional[bytes] = ..., data_json: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "arguments_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments_json: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments_json: _Optional[str] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("tool_call_id", "content_json", "is_error", "files")
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_JSON_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    tool_call_id: str
    content_json: str
    is_error: bool
    files: _containers.RepeatedCompositeFieldContainer[File]
    def __init__(self, tool_call_id: _Optional[str] = ..., content_json: _Optional[str] = ..., is_error: _Optional[bool] = ..., files: _Optional[_Iterable[_Union[File, _Mapping]]] = ...) -> None: ...

class File(_message.Message):
    __slots__ = ("data", "url", "working_memory_id", "media_type", "name", "alt", "sha256", "size_bytes", "width", "height", "page_count", "duration_seconds")
    DATA_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALT_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    PAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    DURATION_SECONDS_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    url: str
    working_memory_id: str
    media_type: str
    name: str
    alt: str
    sha256: str
    size_bytes: int
    width: int
    height: int
    page_count: int
    duration_seconds: float
    def __init__(self, data: _Optional[bytes] = ..., url: _Optional[str] = ..., working_memory_id: _Optional[str] = ..., media_type: _Optional[str] = ..., name: _Optional[str] = ..., alt: _Optional[str] = ..., sha256: _Optional[str] = ..., size_bytes: _Optional[int] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., page_count: _Optional[int] = ..., duration_seconds: _Optional[float] = ...) -> None: ...
