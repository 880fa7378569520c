from contextgraph.context.v1 import message_pb2 as _message_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetChatHistoryRequest(_message.Message):
    __slots__ = ("node_id", "app_id", "mapping_name", "max_messages", "strict")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    STRICT_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    app_id: str
    mapping_name: str
    max_messages: int
    strict: bool
    def __init__(self, node_id: _Optional[str] = ..., app_id: _Optional[str] = ..., mapping_name: _Optional[str] = ..., max_messages: _Optional[int] = ..., strict: _Optional[bool] = ...) -> None: ...

class GetChatHistoryResponse(_message.Message):
    __slots__ = ("messages", "nodes_failed", "roles_unknown")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NODES_FAILED_FIELD_NUMBER: _ClassVar[int]
    ROLES_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.ChatMessage]
    nodes_failed: int
    roles_unknown: int
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.ChatMessage, _Mapping]]] = ..., nodes_failed: _Optional[int] = ..., roles_unknown: _Optional[int] = ...) -> None: ...

class StreamChatHistoryRequest(_message.Message):
    __slots__ = ("node_id", "app_id", "mapping_name", "max_messages", "strict")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    MAPPING_NAME_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    STRICT_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    app_id: str
    mapping_name: str
    max_messages: int
    strict: bool
    def __init__(self, node_id: _Optional[str] = ..., app_id: _Optional[str] = ..., mapping_name: _Optional[str] = ..., max_messages: _Optional[int] = ..., strict: _Optional[bool] = ...) -> None: ...

class StreamChatHistoryResponse(_message.Message):
    __slots__ = ("messages", "nodes_failed", "roles_unknown")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NODES_FAILED_FIELD_NUMBER: _ClassVar[int]
    ROLES_UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.ChatMessage]
    nodes_failed: int
    roles_unknown: int
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.ChatMessage, _Mapping]]] = ..., nodes_failed: _Optional[int] = ..., roles_unknown: _Optional[int] = ...) -> None: ...
