import datetime

from contextkeep.context.v1 import compiled_pages_pb2 as _compiled_pages_pb2
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

class DefinitionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DEFINITION_STATE_UNSPECIFIED: _ClassVar[DefinitionState]
    DEFINITION_STATE_DRAFT: _ClassVar[DefinitionState]
    DEFINITION_STATE_APPROVED: _ClassVar[DefinitionState]
    DEFINITION_STATE_RETIRED: _ClassVar[DefinitionState]
DEFINITION_STATE_UNSPECIFIED: DefinitionState
DEFINITION_STATE_DRAFT: DefinitionState
DEFINITION_STATE_APPROVED: DefinitionState
DEFINITION_STATE_RETIRED: DefinitionState

class DefinitionRules(_message.Message):
    __slots__ = ("node_type", "graph_name", "when", "title", "aliases", "facets", "app_id")
    NODE_TYPE_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    WHEN_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    FACETS_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    node_type: str
    graph_name: str
    when: str
    title: str
    aliases: str
    facets: _containers.RepeatedCompositeFieldContainer[FacetRules]
    app_id: str
    def __init__(self, node_type: _Optional[str] = ..., graph_name: _Optional[str] = ..., when: _Optional[str] = ..., title: _Optional[str] = ..., aliases: _Optional[str] = ..., facets: _Optional[_Iterable[_Union[FacetRules, _Mapping]]] = ..., app_id: _Optional[str] = ...) -> None: ...

class FacetRules(_message.Message):
    __slots__ = ("slug", "heading", "kind", "walk", "when", "text", "confidence", "as_of", "time_to_live", "declassify")
    SLUG_FIELD_NUMBER: _ClassVar[int]
    HEADING_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    WALK_FIELD_NUMBER: _ClassVar[int]
    WHEN_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    TIME_TO_LIVE_FIELD_NUMBER: _ClassVar[int]
    DECLASSIFY_FIELD_NUMBER: _ClassVar[int]
    slug: str
    heading: str
    kind: _compiled_pages_pb2.FacetKind
    walk: FacetWalk
    when: str
    text: str
    confidence: str
    as_of: str
    time_to_live: str
    declassify: bool
    def __init__(self, slug: _Optional[str] = ..., heading: _Optional[str] = ..., kind: _Optional[_Union[_compiled_pages_pb2.FacetKind, str]] = ..., walk: _Optional[_Union[FacetWalk, _Mapping]] = ..., when: _Optional[str] = ..., text: _Optional[str] = ..., confidence: _Optional[str] = ..., as_of: _Optional[str] = ..., time_to_live: _Optional[str] = ..., declassify: _Optional[bool] = ...) -> None: ...

class FacetWalk(_message.Message):
    __slots__ = ("edge_types", "direction", "depth_max", "entity_types", "include_start", "include_archived")
    EDGE_TYPES_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    DEPTH_MAX_FIELD_NUMBER: _ClassVar[int]
    ENTITY_TYPES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_START_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    edge_types: _containers.RepeatedScalarFieldContainer[str]
    direction: str
    depth_max: int
    entity_types: _containers.RepeatedScalarFieldContainer[str]
    include_start: bool
    include_archived: bool
    def __init__(self, edge_types: _Optional[_Iterable[str]] = ..., direction: _Optional[str] = ..., depth_max: _Optional[int] = ..., entity_types: _Optional[_Iterable[str]] = ..., include_start: _Optional[bool] = ..., include_archived: _Optional[bool] = ...) -> None: ...

class Definition(_message.Message):
    __slots__ = ("name", "version", "state", "rules", "created_by", "created_at", "approved_by", "approved_at", "retired_at", "imported")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    APPROVED_BY_FIELD_NUMBER: _ClassVar[int]
    APPROVED_AT_FIELD_NUMBER: _ClassVar[int]
    RETIRED_AT_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    state: DefinitionState
    rules: DefinitionRules
    created_by: str
    created_at: _timestamp_pb2.Timestamp
    approved_by: str
    approved_at: _timestamp_pb2.Timestamp
    retired_at: _timestamp_pb2.Timestamp
    imported: _message_pb2.Imported
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., state: _Optional[_Union[DefinitionState, str]] = ..., rules: _Optional[_Union[DefinitionRules, _Mapping]] = ..., created_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., approved_by: _Optional[str] = ..., approved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., retired_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class PutDefinitionRequest(_message.Message):
    __slots__ = ("name", "rules", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    rules: DefinitionRules
    request_id: str
    def __init__(self, name: _Optional[str] = ..., rules: _Optional[_Union[DefinitionRules, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutDefinitionResponse(_message.Message):
    __slots__ = ("definition",)
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    definition: Definition
    def __init__(self, definition: _Optional[_Union[Definition, _Mapping]] = ...) -> None: ...

class ApproveDefinitionRequest(_message.Message):
    __slots__ = ("name", "version", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    request_id: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class ApproveDefinitionResponse(_message.Message):
    __slots__ = ("definition",)
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    definition: Definition
    def __init__(self, definition: _Optional[_Union[Definition, _Mapping]] = ...) -> None: ...

class RetireDefinitionRequest(_message.Message):
    __slots__ = ("name", "version", "request_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    request_id: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class RetireDefinitionResponse(_message.Message):
    __slots__ = ("definition",)
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    definition: Definition
    def __init__(self, definition: _Optional[_Union[Definition, _Mapping]] = ...) -> None: ...

class GetDefinitionRequest(_message.Message):
    __slots__ = ("name", "version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    version: int
    def __init__(self, name: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class GetDefinitionResponse(_message.Message):
    __slots__ = ("definition",)
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    definition: Definition
    def __init__(self, definition: _Optional[_Union[Definition, _Mapping]] = ...) -> None: ...

class ListDefinitionsRequest(_message.Message):
    __slots__ = ("states", "page_size", "page_token")
    STATES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[DefinitionState]
    page_size: int
    page_token: str
    def __init__(self, states: _Optional[_Iterable[_Union[DefinitionState, str]]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDefinitionsResponse(_message.Message):
    __slots__ = ("definitions", "next_page_token")
    DEFINITIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    definitions: _containers.RepeatedCompositeFieldContainer[Definition]
    next_page_token: str
    def __init__(self, definitions: _Optional[_Iterable[_Union[Definition, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class TestDefinitionRequest(_message.Message):
    __slots__ = ("rules", "node_id", "external_id", "graph_name")
    RULES_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    rules: DefinitionRules
    node_id: str
    external_id: str
    graph_name: str
    def __init__(self, rules: _Optional[_Union[DefinitionRules, _Mapping]] = ..., node_id: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class TestDefinitionResponse(_message.Message):
    __slots__ = ("page", "problems", "problems_left_out")
    PAGE_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    page: _compiled_pages_pb2.CompiledPage
    problems: _containers.RepeatedCompositeFieldContainer[_compiled_pages_pb2.RuleProblem]
    problems_left_out: int
    def __init__(self, page: _Optional[_Union[_compiled_pages_pb2.CompiledPage, _Mapping]] = ..., problems: _Optional[_Iterable[_Union[_compiled_pages_pb2.RuleProblem, _Mapping]]] = ..., problems_left_out: _Optional[int] = ...) -> None: ...
