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

class DocumentState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DOCUMENT_STATE_UNSPECIFIED: _ClassVar[DocumentState]
    DOCUMENT_STATE_QUEUED: _ClassVar[DocumentState]
    DOCUMENT_STATE_PARSING: _ClassVar[DocumentState]
    DOCUMENT_STATE_INDEXED: _ClassVar[DocumentState]
    DOCUMENT_STATE_FAILED: _ClassVar[DocumentState]
DOCUMENT_STATE_UNSPECIFIED: DocumentState
DOCUMENT_STATE_QUEUED: DocumentState
DOCUMENT_STATE_PARSING: DocumentState
DOCUMENT_STATE_INDEXED: DocumentState
DOCUMENT_STATE_FAILED: DocumentState

class KnowledgeBaseInput(_message.Message):
    __slots__ = ("name", "description", "is_of_tenant", "app_id", "agent_bundle_id", "graph_name", "bedrock")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    IS_OF_TENANT_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    BEDROCK_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    is_of_tenant: bool
    app_id: str
    agent_bundle_id: str
    graph_name: str
    bedrock: BedrockKnowledgeBase
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., is_of_tenant: _Optional[bool] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., graph_name: _Optional[str] = ..., bedrock: _Optional[_Union[BedrockKnowledgeBase, _Mapping]] = ...) -> None: ...

class BedrockKnowledgeBase(_message.Message):
    __slots__ = ("knowledge_base_id", "region")
    KNOWLEDGE_BASE_ID_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    knowledge_base_id: str
    region: str
    def __init__(self, knowledge_base_id: _Optional[str] = ..., region: _Optional[str] = ...) -> None: ...

class KnowledgeBase(_message.Message):
    __slots__ = ("knowledge_base_id", "name", "description", "is_of_tenant", "app_id", "agent_bundle_id", "graph_name", "document_count", "size_bytes", "documents", "version", "created_at", "updated_at", "updated_by", "bedrock", "imported")
    KNOWLEDGE_BASE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    IS_OF_TENANT_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_COUNT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BY_FIELD_NUMBER: _ClassVar[int]
    BEDROCK_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    knowledge_base_id: str
    name: str
    description: str
    is_of_tenant: bool
    app_id: str
    agent_bundle_id: str
    graph_name: str
    document_count: int
    size_bytes: int
    documents: _containers.RepeatedCompositeFieldContainer[DocumentCount]
    version: int
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    updated_by: str
    bedrock: BedrockKnowledgeBase
    imported: _message_pb2.Imported
    def __init__(self, knowledge_base_id: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., is_of_tenant: _Optional[bool] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., graph_name: _Optional[str] = ..., document_count: _Optional[int] = ..., size_bytes: _Optional[int] = ..., documents: _Optional[_Iterable[_Union[DocumentCount, _Mapping]]] = ..., version: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_by: _Optional[str] = ..., bedrock: _Optional[_Union[BedrockKnowledgeBase, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class DocumentCount(_message.Message):
    __slots__ = ("state", "count")
    STATE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    state: DocumentState
    count: int
    def __init__(self, state: _Optional[_Union[DocumentState, str]] = ..., count: _Optional[int] = ...) -> None: ...

class DocumentInput(_message.Message):
    __slots__ = ("name", "uri", "content_type", "data", "working_memory_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    uri: str
    content_type: str
    data: bytes
    working_memory_id: str
    def __init__(self, name: _Optional[str] = ..., uri: _Optional[str] = ..., content_type: _Optional[str] = ..., data: _Optional[bytes] = ..., working_memory_id: _Optional[str] = ...) -> None: ...

class Document(_message.Message):
    __slots__ = ("document_id", "knowledge_base", "name", "uri", "content_type", "size_bytes", "working_memory_id", "state", "error", "passage_count", "is_cut", "created_by", "created_at", "updated_at", "imported")
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    KNOWLEDGE_BASE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    WORKING_MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PASSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    IS_CUT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    document_id: str
    knowledge_base: str
    name: str
    uri: str
    content_type: str
    size_bytes: int
    working_memory_id: str
    state: DocumentState
    error: str
    passage_count: int
    is_cut: bool
    created_by: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    imported: _message_pb2.Imported
    def __init__(self, document_id: _Optional[str] = ..., knowledge_base: _Optional[str] = ..., name: _Optional[str] = ..., uri: _Optional[str] = ..., content_type: _Optional[str] = ..., size_bytes: _Optional[int] = ..., working_memory_id: _Optional[str] = ..., state: _Optional[_Union[DocumentState, str]] = ..., error: _Optional[str] = ..., passage_count: _Optional[int] = ..., is_cut: _Optional[bool] = ..., created_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class PutKnowledgeBaseRequest(_message.Message):
    __slots__ = ("knowledge_base", "request_id")
    KNOWLEDGE_BASE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    knowledge_base: KnowledgeBaseInput
    request_id: str
    def __init__(self, knowledge_base: _Optional[_Union[KnowledgeBaseInput, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutKnowledgeBaseResponse(_message.Message):
    __slots__ = ("knowledge_base",)
    KNOWLEDGE_BASE_FIELD_NUMBER: _ClassVar[int]
    knowledge_base: KnowledgeBase
    def __init__(self, knowledge_base: _Optional[_Union[KnowledgeBase, _Mapping]] = ...) -> None: ...

class GetKnowledgeBaseRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetKnowledgeBaseResponse(_message.Message):
    __slots__ = ("knowledge_base",)
    KNOWLEDGE_BASE_FIELD_NUMBER: _ClassVar[int]
    knowledge_base: KnowledgeBase
    def __init__(self, knowledge_base: _Optional[_Union[KnowledgeBase, _Mapping]] = ...) -> None: ...

class ListKnowledgeBasesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListKnowledgeBasesResponse(_message.Message):
    __slots__ = ("knowledge_bases", "next_page_token")
    KNOWLEDGE_BASES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    knowledge_bases: _containers.RepeatedCompositeFieldContainer[KnowledgeBase]
    next_page_token: str
    def __init__(self, knowledge_bases: _Optional[_Iterable[_Union[KnowledgeBase, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteKnowledgeBaseRequest(_message.Message):
    __slots__ = ("name", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    request_id: str
    def __init__(self, name: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class DeleteKnowledgeBaseResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AddDocumentRequest(_message.Message):
    __slots__ = ("knowledge_base", "document", "request_id")
    KNOWLEDGE_BASE_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    knowledge_base: str
    document: DocumentInput
    request_id: str
    def __init__(self, knowledge_base: _Optional[str] = ..., document: _Optional[_Union[DocumentInput, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class AddDocumentResponse(_message.Message):
    __slots__ = ("document",)
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    document: Document
    def __init__(self, document: _Optional[_Union[Document, _Mapping]] = ...) -> None: ...

class ListDocumentsRequest(_message.Message):
    __slots__ = ("knowledge_base", "states", "page_size", "page_token")
    KNOWLEDGE_BASE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    knowledge_base: str
    states: _containers.RepeatedScalarFieldContainer[DocumentState]
    page_size: int
    page_token: str
    def __init__(self, knowledge_base: _Optional[str] = ..., states: _Optional[_Iterable[_Union[DocumentState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDocumentsResponse(_message.Message):
    __slots__ = ("documents", "next_page_token")
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[Document]
    next_page_token: str
    def __init__(self, documents: _Optional[_Iterable[_Union[Document, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RemoveDocumentRequest(_message.Message):
    __slots__ = ("knowledge_base", "document_id", "request_id")
    KNOWLEDGE_BASE_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    knowledge_base: str
    document_id: str
    request_id: str
    def __init__(self, knowledge_base: _Optional[str] = ..., document_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class RemoveDocumentResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
