import datetime

from contextkeep.context.v1 import message_pb2 as _message_pb2
from contextkeep import options_pb2 as _options_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentInput(_message.Message):
    __slots__ = ("agent_id", "display_name", "template_id", "node_ids", "knowledge_bases", "policy", "callers")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_BASES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    CALLERS_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    display_name: str
    template_id: str
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    knowledge_bases: _containers.RepeatedScalarFieldContainer[str]
    policy: AgentPolicy
    callers: AgentCallers
    def __init__(self, agent_id: _Optional[str] = ..., display_name: _Optional[str] = ..., template_id: _Optional[str] = ..., node_ids: _Optional[_Iterable[str]] = ..., knowledge_bases: _Optional[_Iterable[str]] = ..., policy: _Optional[_Union[AgentPolicy, _Mapping]] = ..., callers: _Optional[_Union[AgentCallers, _Mapping]] = ...) -> None: ...

class AgentPolicy(_message.Message):
    __slots__ = ("allowed", "defaults")
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    DEFAULTS_FIELD_NUMBER: _ClassVar[int]
    allowed: ProviderNames
    defaults: ProviderNames
    def __init__(self, allowed: _Optional[_Union[ProviderNames, _Mapping]] = ..., defaults: _Optional[_Union[ProviderNames, _Mapping]] = ...) -> None: ...

class ProviderNames(_message.Message):
    __slots__ = ("ids", "families")
    IDS_FIELD_NUMBER: _ClassVar[int]
    FAMILIES_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    families: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ids: _Optional[_Iterable[str]] = ..., families: _Optional[_Iterable[str]] = ...) -> None: ...

class AgentCallers(_message.Message):
    __slots__ = ("user_ids", "agent_ids", "subjects")
    USER_IDS_FIELD_NUMBER: _ClassVar[int]
    AGENT_IDS_FIELD_NUMBER: _ClassVar[int]
    SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    user_ids: _containers.RepeatedScalarFieldContainer[str]
    agent_ids: _containers.RepeatedScalarFieldContainer[str]
    subjects: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, user_ids: _Optional[_Iterable[str]] = ..., agent_ids: _Optional[_Iterable[str]] = ..., subjects: _Optional[_Iterable[str]] = ...) -> None: ...

class Agent(_message.Message):
    __slots__ = ("agent_id", "display_name", "template_id", "node_ids", "knowledge_bases", "policy", "callers", "version", "created_at", "updated_at", "updated_by", "imported")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_BASES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    CALLERS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BY_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    display_name: str
    template_id: str
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    knowledge_bases: _containers.RepeatedScalarFieldContainer[str]
    policy: AgentPolicy
    callers: AgentCallers
    version: int
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    updated_by: str
    imported: _message_pb2.Imported
    def __init__(self, agent_id: _Optional[str] = ..., display_name: _Optional[str] = ..., template_id: _Optional[str] = ..., node_ids: _Optional[_Iterable[str]] = ..., knowledge_bases: _Optional[_Iterable[str]] = ..., policy: _Optional[_Union[AgentPolicy, _Mapping]] = ..., callers: _Optional[_Union[AgentCallers, _Mapping]] = ..., version: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_by: _Optional[str] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class PutAgentRequest(_message.Message):
    __slots__ = ("agent", "request_id")
    AGENT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    agent: AgentInput
    request_id: str
    def __init__(self, agent: _Optional[_Union[AgentInput, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutAgentResponse(_message.Message):
    __slots__ = ("agent",)
    AGENT_FIELD_NUMBER: _ClassVar[int]
    agent: Agent
    def __init__(self, agent: _Optional[_Union[Agent, _Mapping]] = ...) -> None: ...

class GetAgentRequest(_message.Message):
    __slots__ = ("agent_id", "subject_user_id")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    subject_user_id: str
    def __init__(self, agent_id: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class GetAgentResponse(_message.Message):
    __slots__ = ("agent",)
    AGENT_FIELD_NUMBER: _ClassVar[int]
    agent: Agent
    def __init__(self, agent: _Optional[_Union[Agent, _Mapping]] = ...) -> None: ...

class ListAgentsRequest(_message.Message):
    __slots__ = ("template_id", "page_size", "page_token", "subject_user_id")
    TEMPLATE_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    template_id: str
    page_size: int
    page_token: str
    subject_user_id: str
    def __init__(self, template_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class ListAgentsResponse(_message.Message):
    __slots__ = ("agents", "next_page_token")
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    agents: _containers.RepeatedCompositeFieldContainer[Agent]
    next_page_token: str
    def __init__(self, agents: _Optional[_Iterable[_Union[Agent, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteAgentRequest(_message.Message):
    __slots__ = ("agent_id", "request_id")
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    agent_id: str
    request_id: str
    def __init__(self, agent_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class DeleteAgentResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
