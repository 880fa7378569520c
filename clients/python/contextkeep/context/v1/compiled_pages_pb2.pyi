import datetime

from contextkeep import options_pb2 as _options_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FacetKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FACET_KIND_UNSPECIFIED: _ClassVar[FacetKind]
    FACET_KIND_OPERATIONAL: _ClassVar[FacetKind]
    FACET_KIND_RELATIONSHIP: _ClassVar[FacetKind]
    FACET_KIND_COMPILED: _ClassVar[FacetKind]
    FACET_KIND_ACTIVITY: _ClassVar[FacetKind]
    FACET_KIND_KB: _ClassVar[FacetKind]
    FACET_KIND_EXTERNAL: _ClassVar[FacetKind]
FACET_KIND_UNSPECIFIED: FacetKind
FACET_KIND_OPERATIONAL: FacetKind
FACET_KIND_RELATIONSHIP: FacetKind
FACET_KIND_COMPILED: FacetKind
FACET_KIND_ACTIVITY: FacetKind
FACET_KIND_KB: FacetKind
FACET_KIND_EXTERNAL: FacetKind

class CompiledPage(_message.Message):
    __slots__ = ("page_id", "definition_name", "definition_version", "node_id", "node_type", "title", "aliases", "facets", "stale", "graph_name", "agent_bundle_id", "app_id", "compile_id", "compiled_at", "created_at")
    PAGE_ID_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_NAME_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_VERSION_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_TYPE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    FACETS_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    COMPILE_ID_FIELD_NUMBER: _ClassVar[int]
    COMPILED_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    page_id: str
    definition_name: str
    definition_version: int
    node_id: str
    node_type: str
    title: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    facets: _containers.RepeatedCompositeFieldContainer[Facet]
    stale: _containers.RepeatedScalarFieldContainer[str]
    graph_name: str
    agent_bundle_id: str
    app_id: str
    compile_id: str
    compiled_at: _timestamp_pb2.Timestamp
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, page_id: _Optional[str] = ..., definition_name: _Optional[str] = ..., definition_version: _Optional[int] = ..., node_id: _Optional[str] = ..., node_type: _Optional[str] = ..., title: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., facets: _Optional[_Iterable[_Union[Facet, _Mapping]]] = ..., stale: _Optional[_Iterable[str]] = ..., graph_name: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., app_id: _Optional[str] = ..., compile_id: _Optional[str] = ..., compiled_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Facet(_message.Message):
    __slots__ = ("slug", "heading", "kind", "trust", "text", "is_cut", "confidence", "as_of", "fresh_until", "stale", "sources", "agent_bundle_ids", "is_declassified", "definition_version", "compile_id", "put_by", "written_at")
    SLUG_FIELD_NUMBER: _ClassVar[int]
    HEADING_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TRUST_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    IS_CUT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    FRESH_UNTIL_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_IDS_FIELD_NUMBER: _ClassVar[int]
    IS_DECLASSIFIED_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_VERSION_FIELD_NUMBER: _ClassVar[int]
    COMPILE_ID_FIELD_NUMBER: _ClassVar[int]
    PUT_BY_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_AT_FIELD_NUMBER: _ClassVar[int]
    slug: str
    heading: str
    kind: FacetKind
    trust: int
    text: str
    is_cut: bool
    confidence: float
    as_of: _timestamp_pb2.Timestamp
    fresh_until: _timestamp_pb2.Timestamp
    stale: _containers.RepeatedScalarFieldContainer[str]
    sources: _containers.RepeatedCompositeFieldContainer[FacetSource]
    agent_bundle_ids: _containers.RepeatedScalarFieldContainer[str]
    is_declassified: bool
    definition_version: int
    compile_id: str
    put_by: str
    written_at: _timestamp_pb2.Timestamp
    def __init__(self, slug: _Optional[str] = ..., heading: _Optional[str] = ..., kind: _Optional[_Union[FacetKind, str]] = ..., trust: _Optional[int] = ..., text: _Optional[str] = ..., is_cut: _Optional[bool] = ..., confidence: _Optional[float] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fresh_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., stale: _Optional[_Iterable[str]] = ..., sources: _Optional[_Iterable[_Union[FacetSource, _Mapping]]] = ..., agent_bundle_ids: _Optional[_Iterable[str]] = ..., is_declassified: _Optional[bool] = ..., definition_version: _Optional[int] = ..., compile_id: _Optional[str] = ..., put_by: _Optional[str] = ..., written_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class FacetSource(_message.Message):
    __slots__ = ("node_id", "node_version", "edge_id", "edge_version", "label", "uri")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_VERSION_FIELD_NUMBER: _ClassVar[int]
    EDGE_ID_FIELD_NUMBER: _ClassVar[int]
    EDGE_VERSION_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    node_version: int
    edge_id: str
    edge_version: int
    label: str
    uri: str
    def __init__(self, node_id: _Optional[str] = ..., node_version: _Optional[int] = ..., edge_id: _Optional[str] = ..., edge_version: _Optional[int] = ..., label: _Optional[str] = ..., uri: _Optional[str] = ...) -> None: ...

class RuleProblem(_message.Message):
    __slots__ = ("rule", "node_id", "error")
    RULE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    rule: str
    node_id: str
    error: str
    def __init__(self, rule: _Optional[str] = ..., node_id: _Optional[str] = ..., error: _Optional[str] = ...) -> None: ...

class CompilePagesRequest(_message.Message):
    __slots__ = ("definition_name", "node_ids")
    DEFINITION_NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    definition_name: str
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, definition_name: _Optional[str] = ..., node_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class CompilePagesResponse(_message.Message):
    __slots__ = ("compile_id", "nodes_read", "changes_read", "pages_written", "pages_unchanged", "pages_removed", "pages_failed", "definition_name", "problems", "is_done")
    COMPILE_ID_FIELD_NUMBER: _ClassVar[int]
    NODES_READ_FIELD_NUMBER: _ClassVar[int]
    CHANGES_READ_FIELD_NUMBER: _ClassVar[int]
    PAGES_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    PAGES_UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    PAGES_REMOVED_FIELD_NUMBER: _ClassVar[int]
    PAGES_FAILED_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_NAME_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    IS_DONE_FIELD_NUMBER: _ClassVar[int]
    compile_id: str
    nodes_read: int
    changes_read: int
    pages_written: int
    pages_unchanged: int
    pages_removed: int
    pages_failed: int
    definition_name: str
    problems: _containers.RepeatedCompositeFieldContainer[RuleProblem]
    is_done: bool
    def __init__(self, compile_id: _Optional[str] = ..., nodes_read: _Optional[int] = ..., changes_read: _Optional[int] = ..., pages_written: _Optional[int] = ..., pages_unchanged: _Optional[int] = ..., pages_removed: _Optional[int] = ..., pages_failed: _Optional[int] = ..., definition_name: _Optional[str] = ..., problems: _Optional[_Iterable[_Union[RuleProblem, _Mapping]]] = ..., is_done: _Optional[bool] = ...) -> None: ...

class GetCompiledPageRequest(_message.Message):
    __slots__ = ("page_id",)
    PAGE_ID_FIELD_NUMBER: _ClassVar[int]
    page_id: str
    def __init__(self, page_id: _Optional[str] = ...) -> None: ...

class GetCompiledPageResponse(_message.Message):
    __slots__ = ("page",)
    PAGE_FIELD_NUMBER: _ClassVar[int]
    page: CompiledPage
    def __init__(self, page: _Optional[_Union[CompiledPage, _Mapping]] = ...) -> None: ...

class ListCompiledPagesRequest(_message.Message):
    __slots__ = ("definition_name", "node_id", "page_size", "page_token", "external_id", "graph_name")
    DEFINITION_NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    definition_name: str
    node_id: str
    page_size: int
    page_token: str
    external_id: str
    graph_name: str
    def __init__(self, definition_name: _Optional[str] = ..., node_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class ListCompiledPagesResponse(_message.Message):
    __slots__ = ("pages", "next_page_token")
    PAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    pages: _containers.RepeatedCompositeFieldContainer[CompiledPage]
    next_page_token: str
    def __init__(self, pages: _Optional[_Iterable[_Union[CompiledPage, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class FacetInput(_message.Message):
    __slots__ = ("slug", "heading", "kind", "text", "confidence", "as_of", "fresh_until", "source_label", "source_uri")
    SLUG_FIELD_NUMBER: _ClassVar[int]
    HEADING_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    FRESH_UNTIL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LABEL_FIELD_NUMBER: _ClassVar[int]
    SOURCE_URI_FIELD_NUMBER: _ClassVar[int]
    slug: str
    heading: str
    kind: FacetKind
    text: str
    confidence: float
    as_of: _timestamp_pb2.Timestamp
    fresh_until: _timestamp_pb2.Timestamp
    source_label: str
    source_uri: str
    def __init__(self, slug: _Optional[str] = ..., heading: _Optional[str] = ..., kind: _Optional[_Union[FacetKind, str]] = ..., text: _Optional[str] = ..., confidence: _Optional[float] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fresh_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., source_label: _Optional[str] = ..., source_uri: _Optional[str] = ...) -> None: ...

class PutFacetRequest(_message.Message):
    __slots__ = ("page_id", "facet", "request_id")
    PAGE_ID_FIELD_NUMBER: _ClassVar[int]
    FACET_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    page_id: str
    facet: FacetInput
    request_id: str
    def __init__(self, page_id: _Optional[str] = ..., facet: _Optional[_Union[FacetInput, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutFacetResponse(_message.Message):
    __slots__ = ("facet",)
    FACET_FIELD_NUMBER: _ClassVar[int]
    facet: Facet
    def __init__(self, facet: _Optional[_Union[Facet, _Mapping]] = ...) -> None: ...
