import datetime

from contextkeep.context.v1 import message_pb2 as _message_pb2
from contextkeep import options_pb2 as _options_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class McpToolState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MCP_TOOL_STATE_UNSPECIFIED: _ClassVar[McpToolState]
    MCP_TOOL_STATE_FOUND: _ClassVar[McpToolState]
    MCP_TOOL_STATE_APPROVED: _ClassVar[McpToolState]
    MCP_TOOL_STATE_CHANGED: _ClassVar[McpToolState]
    MCP_TOOL_STATE_GONE: _ClassVar[McpToolState]
MCP_TOOL_STATE_UNSPECIFIED: McpToolState
MCP_TOOL_STATE_FOUND: McpToolState
MCP_TOOL_STATE_APPROVED: McpToolState
MCP_TOOL_STATE_CHANGED: McpToolState
MCP_TOOL_STATE_GONE: McpToolState

class McpServerInput(_message.Message):
    __slots__ = ("server_id", "display_name", "url", "disabled")
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    DISABLED_FIELD_NUMBER: _ClassVar[int]
    server_id: str
    display_name: str
    url: str
    disabled: bool
    def __init__(self, server_id: _Optional[str] = ..., display_name: _Optional[str] = ..., url: _Optional[str] = ..., disabled: _Optional[bool] = ...) -> None: ...

class McpServer(_message.Message):
    __slots__ = ("server_id", "display_name", "url", "disabled", "has_secret", "version", "created_at", "updated_at", "updated_by", "discovered_at", "imported")
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    DISABLED_FIELD_NUMBER: _ClassVar[int]
    HAS_SECRET_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BY_FIELD_NUMBER: _ClassVar[int]
    DISCOVERED_AT_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    server_id: str
    display_name: str
    url: str
    disabled: bool
    has_secret: bool
    version: int
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    updated_by: str
    discovered_at: _timestamp_pb2.Timestamp
    imported: _message_pb2.Imported
    def __init__(self, server_id: _Optional[str] = ..., display_name: _Optional[str] = ..., url: _Optional[str] = ..., disabled: _Optional[bool] = ..., has_secret: _Optional[bool] = ..., version: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_by: _Optional[str] = ..., discovered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class McpTool(_message.Message):
    __slots__ = ("server_id", "tool_name", "provider_id", "title", "description", "input_schema_json", "declares_read_only", "declares_search_safe", "search_safe_recorded_by", "state", "reason", "is_default", "arguments_json", "definition_sha256", "approved_by", "approved_at", "discovered_at", "imported")
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    DECLARES_READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    DECLARES_SEARCH_SAFE_FIELD_NUMBER: _ClassVar[int]
    SEARCH_SAFE_RECORDED_BY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_SHA256_FIELD_NUMBER: _ClassVar[int]
    APPROVED_BY_FIELD_NUMBER: _ClassVar[int]
    APPROVED_AT_FIELD_NUMBER: _ClassVar[int]
    DISCOVERED_AT_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    server_id: str
    tool_name: str
    provider_id: str
    title: str
    description: str
    input_schema_json: str
    declares_read_only: bool
    declares_search_safe: bool
    search_safe_recorded_by: str
    state: McpToolState
    reason: str
    is_default: bool
    arguments_json: str
    definition_sha256: str
    approved_by: str
    approved_at: _timestamp_pb2.Timestamp
    discovered_at: _timestamp_pb2.Timestamp
    imported: _message_pb2.Imported
    def __init__(self, server_id: _Optional[str] = ..., tool_name: _Optional[str] = ..., provider_id: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., input_schema_json: _Optional[str] = ..., declares_read_only: _Optional[bool] = ..., declares_search_safe: _Optional[bool] = ..., search_safe_recorded_by: _Optional[str] = ..., state: _Optional[_Union[McpToolState, str]] = ..., reason: _Optional[str] = ..., is_default: _Optional[bool] = ..., arguments_json: _Optional[str] = ..., definition_sha256: _Optional[str] = ..., approved_by: _Optional[str] = ..., approved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., discovered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class PutMcpServerRequest(_message.Message):
    __slots__ = ("server", "bearer_secret", "clear_secret", "request_id")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    BEARER_SECRET_FIELD_NUMBER: _ClassVar[int]
    CLEAR_SECRET_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    server: McpServerInput
    bearer_secret: str
    clear_secret: bool
    request_id: str
    def __init__(self, server: _Optional[_Union[McpServerInput, _Mapping]] = ..., bearer_secret: _Optional[str] = ..., clear_secret: _Optional[bool] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutMcpServerResponse(_message.Message):
    __slots__ = ("server",)
    SERVER_FIELD_NUMBER: _ClassVar[int]
    server: McpServer
    def __init__(self, server: _Optional[_Union[McpServer, _Mapping]] = ...) -> None: ...

class ListMcpServersRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMcpServersResponse(_message.Message):
    __slots__ = ("servers", "next_page_token")
    SERVERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    servers: _containers.RepeatedCompositeFieldContainer[McpServer]
    next_page_token: str
    def __init__(self, servers: _Optional[_Iterable[_Union[McpServer, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteMcpServerRequest(_message.Message):
    __slots__ = ("server_id", "request_id")
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    server_id: str
    request_id: str
    def __init__(self, server_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class DeleteMcpServerResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DiscoverMcpToolsRequest(_message.Message):
    __slots__ = ("server_id",)
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    server_id: str
    def __init__(self, server_id: _Optional[str] = ...) -> None: ...

class DiscoverMcpToolsResponse(_message.Message):
    __slots__ = ("tools",)
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[McpTool]
    def __init__(self, tools: _Optional[_Iterable[_Union[McpTool, _Mapping]]] = ...) -> None: ...

class ListMcpToolsRequest(_message.Message):
    __slots__ = ("server_id", "page_size", "page_token")
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    server_id: str
    page_size: int
    page_token: str
    def __init__(self, server_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListMcpToolsResponse(_message.Message):
    __slots__ = ("tools", "next_page_token")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[McpTool]
    next_page_token: str
    def __init__(self, tools: _Optional[_Iterable[_Union[McpTool, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ApproveMcpToolRequest(_message.Message):
    __slots__ = ("server_id", "tool_name", "arguments_json", "is_default", "record_search_safe", "definition_sha256", "request_id")
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    RECORD_SEARCH_SAFE_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_SHA256_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    server_id: str
    tool_name: str
    arguments_json: str
    is_default: bool
    record_search_safe: bool
    definition_sha256: str
    request_id: str
    def __init__(self, server_id: _Optional[str] = ..., tool_name: _Optional[str] = ..., arguments_json: _Optional[str] = ..., is_default: _Optional[bool] = ..., record_search_safe: _Optional[bool] = ..., definition_sha256: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class ApproveMcpToolResponse(_message.Message):
    __slots__ = ("tool",)
    TOOL_FIELD_NUMBER: _ClassVar[int]
    tool: McpTool
    def __init__(self, tool: _Optional[_Union[McpTool, _Mapping]] = ...) -> None: ...

class UnapproveMcpToolRequest(_message.Message):
    __slots__ = ("server_id", "tool_name", "request_id")
    SERVER_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    server_id: str
    tool_name: str
    request_id: str
    def __init__(self, server_id: _Optional[str] = ..., tool_name: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class UnapproveMcpToolResponse(_message.Message):
    __slots__ = ("tool",)
    TOOL_FIELD_NUMBER: _ClassVar[int]
    tool: McpTool
    def __init__(self, tool: _Optional[_Union[McpTool, _Mapping]] = ...) -> None: ...
