import datetime

from contextkeep.context.v1 import agents_pb2 as _agents_pb2
from contextkeep.context.v1 import message_pb2 as _message_pb2
from contextkeep import options_pb2 as _options_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentTemplateInput(_message.Message):
    __slots__ = ("template_id", "display_name", "node_ids", "knowledge_bases", "policy")
    TEMPLATE_ID_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_BASES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    template_id: str
    display_name: str
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    knowledge_bases: _containers.RepeatedScalarFieldContainer[str]
    policy: _agents_pb2.AgentPolicy
    def __init__(self, template_id: _Optional[str] = ..., display_name: _Optional[str] = ..., node_ids: _Optional[_Iterable[str]] = ..., knowledge_bases: _Optional[_Iterable[str]] = ..., policy: _Optional[_Union[_agents_pb2.AgentPolicy, _Mapping]] = ...) -> None: ...

class AgentTemplate(_message.Message):
    __slots__ = ("template_id", "display_name", "node_ids", "knowledge_bases", "policy", "version", "created_at", "updated_at", "updated_by", "imported")
    TEMPLATE_ID_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_BASES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BY_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    template_id: str
    display_name: str
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    knowledge_bases: _containers.RepeatedScalarFieldContainer[str]
    policy: _agents_pb2.AgentPolicy
    version: int
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    updated_by: str
    imported: _message_pb2.Imported
    def __init__(self, template_id: _Optional[str] = ..., display_name: _Optional[str] = ..., node_ids: _Optional[_Iterable[str]] = ..., knowledge_bases: _Optional[_Iterable[str]] = ..., policy: _Optional[_Union[_agents_pb2.AgentPolicy, _Mapping]] = ..., version: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_by: _Optional[str] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class PutAgentTemplateRequest(_message.Message):
    __slots__ = ("template", "request_id")
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    template: AgentTemplateInput
    request_id: str
    def __init__(self, template: _Optional[_Union[AgentTemplateInput, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutAgentTemplateResponse(_message.Message):
    __slots__ = ("template",)
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    template: AgentTemplate
    def __init__(self, template: _Optional[_Union[AgentTemplate, _Mapping]] = ...) -> None: ...

class GetAgentTemplateRequest(_message.Message):
    __slots__ = ("template_id",)
    TEMPLATE_ID_FIELD_NUMBER: _ClassVar[int]
    template_id: str
    def __init__(self, template_id: _Optional[str] = ...) -> None: ...

class GetAgentTemplateResponse(_message.Message):
    __slots__ = ("template",)
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    template: AgentTemplate
    def __init__(self, template: _Optional[_Union[AgentTemplate, _Mapping]] = ...) -> None: ...

class ListAgentTemplatesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListAgentTemplatesResponse(_message.Message):
    __slots__ = ("templates", "next_page_token")
    TEMPLATES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    templates: _containers.RepeatedCompositeFieldContainer[AgentTemplate]
    next_page_token: str
    def __init__(self, templates: _Optional[_Iterable[_Union[AgentTemplate, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteAgentTemplateRequest(_message.Message):
    __slots__ = ("template_id", "request_id")
    TEMPLATE_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    template_id: str
    request_id: str
    def __init__(self, template_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class DeleteAgentTemplateResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
