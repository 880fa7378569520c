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

class Direction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIRECTION_UNSPECIFIED: _ClassVar[Direction]
    DIRECTION_OUT: _ClassVar[Direction]
    DIRECTION_IN: _ClassVar[Direction]
    DIRECTION_BOTH: _ClassVar[Direction]

class OnExisting(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_EXISTING_UNSPECIFIED: _ClassVar[OnExisting]
    ON_EXISTING_FAIL: _ClassVar[OnExisting]
    ON_EXISTING_SKIP: _ClassVar[OnExisting]

class DataUpdate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DATA_UPDATE_UNSPECIFIED: _ClassVar[DataUpdate]
    DATA_UPDATE_MERGE_PATCH: _ClassVar[DataUpdate]
    DATA_UPDATE_REPLACE: _ClassVar[DataUpdate]

class EnvelopeType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENVELOPE_TYPE_UNSPECIFIED: _ClassVar[EnvelopeType]
    ENVELOPE_TYPE_STATUS: _ClassVar[EnvelopeType]
    ENVELOPE_TYPE_MESSAGE: _ClassVar[EnvelopeType]
    ENVELOPE_TYPE_ERROR: _ClassVar[EnvelopeType]
    ENVELOPE_TYPE_BOT_PROGRESS: _ClassVar[EnvelopeType]
    ENVELOPE_TYPE_VALUE: _ClassVar[EnvelopeType]
    ENVELOPE_TYPE_WAITING: _ClassVar[EnvelopeType]

class EnvelopeStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENVELOPE_STATUS_UNSPECIFIED: _ClassVar[EnvelopeStatus]
    ENVELOPE_STATUS_STARTED: _ClassVar[EnvelopeStatus]
    ENVELOPE_STATUS_RUNNING: _ClassVar[EnvelopeStatus]
    ENVELOPE_STATUS_COMPLETED: _ClassVar[EnvelopeStatus]
    ENVELOPE_STATUS_FAILED: _ClassVar[EnvelopeStatus]
    ENVELOPE_STATUS_CANCELLED: _ClassVar[EnvelopeStatus]

class TraverseColumn(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRAVERSE_COLUMN_UNSPECIFIED: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_ID: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_EXTERNAL_ID: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_GENERAL_TYPE_NAME: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_SPECIFIC_TYPE_NAME: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_NAME: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_STATUS: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_DATA: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_CREATED_AT: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_MODIFIED_AT: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_SEQ: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_IS_ARCHIVED: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_DEPTH: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_EDGE_ID: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_EDGE_TYPE: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_FROM_NODE_ID: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_EDGE_DATA: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_IO: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_VERSION: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_AGENT_BUNDLE_ID: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_EDGE_VERSION: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_OWNER_USER_ID: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_EDGES: _ClassVar[TraverseColumn]
    TRAVERSE_COLUMN_PATH: _ClassVar[TraverseColumn]

class ChangeKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANGE_KIND_UNSPECIFIED: _ClassVar[ChangeKind]
    CHANGE_KIND_CHANGED: _ClassVar[ChangeKind]
    CHANGE_KIND_REMOVED: _ClassVar[ChangeKind]
DIRECTION_UNSPECIFIED: Direction
DIRECTION_OUT: Direction
DIRECTION_IN: Direction
DIRECTION_BOTH: Direction
ON_EXISTING_UNSPECIFIED: OnExisting
ON_EXISTING_FAIL: OnExisting
ON_EXISTING_SKIP: OnExisting
DATA_UPDATE_UNSPECIFIED: DataUpdate
DATA_UPDATE_MERGE_PATCH: DataUpdate
DATA_UPDATE_REPLACE: DataUpdate
ENVELOPE_TYPE_UNSPECIFIED: EnvelopeType
ENVELOPE_TYPE_STATUS: EnvelopeType
ENVELOPE_TYPE_MESSAGE: EnvelopeType
ENVELOPE_TYPE_ERROR: EnvelopeType
ENVELOPE_TYPE_BOT_PROGRESS: EnvelopeType
ENVELOPE_TYPE_VALUE: EnvelopeType
ENVELOPE_TYPE_WAITING: EnvelopeType
ENVELOPE_STATUS_UNSPECIFIED: EnvelopeStatus
ENVELOPE_STATUS_STARTED: EnvelopeStatus
ENVELOPE_STATUS_RUNNING: EnvelopeStatus
ENVELOPE_STATUS_COMPLETED: EnvelopeStatus
ENVELOPE_STATUS_FAILED: EnvelopeStatus
ENVELOPE_STATUS_CANCELLED: EnvelopeStatus
TRAVERSE_COLUMN_UNSPECIFIED: TraverseColumn
TRAVERSE_COLUMN_ID: TraverseColumn
TRAVERSE_COLUMN_EXTERNAL_ID: TraverseColumn
TRAVERSE_COLUMN_GENERAL_TYPE_NAME: TraverseColumn
TRAVERSE_COLUMN_SPECIFIC_TYPE_NAME: TraverseColumn
TRAVERSE_COLUMN_NAME: TraverseColumn
TRAVERSE_COLUMN_STATUS: TraverseColumn
TRAVERSE_COLUMN_DATA: TraverseColumn
TRAVERSE_COLUMN_CREATED_AT: TraverseColumn
TRAVERSE_COLUMN_MODIFIED_AT: TraverseColumn
TRAVERSE_COLUMN_SEQ: TraverseColumn
TRAVERSE_COLUMN_IS_ARCHIVED: TraverseColumn
TRAVERSE_COLUMN_DEPTH: TraverseColumn
TRAVERSE_COLUMN_EDGE_ID: TraverseColumn
TRAVERSE_COLUMN_EDGE_TYPE: TraverseColumn
TRAVERSE_COLUMN_FROM_NODE_ID: TraverseColumn
TRAVERSE_COLUMN_EDGE_DATA: TraverseColumn
TRAVERSE_COLUMN_IO: TraverseColumn
TRAVERSE_COLUMN_VERSION: TraverseColumn
TRAVERSE_COLUMN_AGENT_BUNDLE_ID: TraverseColumn
TRAVERSE_COLUMN_EDGE_VERSION: TraverseColumn
TRAVERSE_COLUMN_OWNER_USER_ID: TraverseColumn
TRAVERSE_COLUMN_EDGES: TraverseColumn
TRAVERSE_COLUMN_PATH: TraverseColumn
CHANGE_KIND_UNSPECIFIED: ChangeKind
CHANGE_KIND_CHANGED: ChangeKind
CHANGE_KIND_REMOVED: ChangeKind

class Node(_message.Message):
    __slots__ = ("id", "external_id", "graph_name", "agent_bundle_id", "general_type_name", "specific_type_name", "name", "status", "data_json", "is_archived", "seq", "created_at", "modified_at", "version", "created_by", "owner_user_id", "agent_id", "context_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    GENERAL_TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    SPECIFIC_TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    IS_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    OWNER_USER_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    external_id: str
    graph_name: str
    agent_bundle_id: str
    general_type_name: str
    specific_type_name: str
    name: str
    status: str
    data_json: str
    is_archived: bool
    seq: int
    created_at: _timestamp_pb2.Timestamp
    modified_at: _timestamp_pb2.Timestamp
    version: int
    created_by: str
    owner_user_id: str
    agent_id: str
    context_id: str
    def __init__(self, id: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., general_type_name: _Optional[str] = ..., specific_type_name: _Optional[str] = ..., name: _Optional[str] = ..., status: _Optional[str] = ..., data_json: _Optional[str] = ..., is_archived: _Optional[bool] = ..., seq: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., modified_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., version: _Optional[int] = ..., created_by: _Optional[str] = ..., owner_user_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., context_id: _Optional[str] = ...) -> None: ...

class Edge(_message.Message):
    __slots__ = ("id", "graph_name", "from_node_id", "to_node_id", "edge_type", "data_json", "created_at", "version", "context_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    FROM_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    TO_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    graph_name: str
    from_node_id: str
    to_node_id: str
    edge_type: str
    data_json: str
    created_at: _timestamp_pb2.Timestamp
    version: int
    context_id: str
    def __init__(self, id: _Optional[str] = ..., graph_name: _Optional[str] = ..., from_node_id: _Optional[str] = ..., to_node_id: _Optional[str] = ..., edge_type: _Optional[str] = ..., data_json: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., version: _Optional[int] = ..., context_id: _Optional[str] = ...) -> None: ...

class NodeInput(_message.Message):
    __slots__ = ("id", "external_id", "graph_name", "agent_bundle_id", "general_type_name", "specific_type_name", "name", "status", "data_json", "created_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    GENERAL_TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    SPECIFIC_TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    external_id: str
    graph_name: str
    agent_bundle_id: str
    general_type_name: str
    specific_type_name: str
    name: str
    status: str
    data_json: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., external_id: _Optional[str] = ..., graph_name: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., general_type_name: _Optional[str] = ..., specific_type_name: _Optional[str] = ..., name: _Optional[str] = ..., status: _Optional[str] = ..., data_json: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class EdgeInput(_message.Message):
    __slots__ = ("id", "graph_name", "from_node_id", "to_node_id", "edge_type", "data_json", "created_at")
    ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    FROM_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    TO_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    id: str
    graph_name: str
    from_node_id: str
    to_node_id: str
    edge_type: str
    data_json: str
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, id: _Optional[str] = ..., graph_name: _Optional[str] = ..., from_node_id: _Optional[str] = ..., to_node_id: _Optional[str] = ..., edge_type: _Optional[str] = ..., data_json: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class CreateNodeRequest(_message.Message):
    __slots__ = ("node", "get_existing", "request_id")
    NODE_FIELD_NUMBER: _ClassVar[int]
    GET_EXISTING_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    node: NodeInput
    get_existing: bool
    request_id: str
    def __init__(self, node: _Optional[_Union[NodeInput, _Mapping]] = ..., get_existing: _Optional[bool] = ..., request_id: _Optional[str] = ...) -> None: ...

class CreateNodeResponse(_message.Message):
    __slots__ = ("node", "existed")
    NODE_FIELD_NUMBER: _ClassVar[int]
    EXISTED_FIELD_NUMBER: _ClassVar[int]
    node: Node
    existed: bool
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ..., existed: _Optional[bool] = ...) -> None: ...

class CreateEdgeRequest(_message.Message):
    __slots__ = ("edge", "request_id")
    EDGE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    edge: EdgeInput
    request_id: str
    def __init__(self, edge: _Optional[_Union[EdgeInput, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class CreateEdgeResponse(_message.Message):
    __slots__ = ("edge",)
    EDGE_FIELD_NUMBER: _ClassVar[int]
    edge: Edge
    def __init__(self, edge: _Optional[_Union[Edge, _Mapping]] = ...) -> None: ...

class WriteGraphRequest(_message.Message):
    __slots__ = ("nodes", "edges", "on_existing", "request_id")
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    ON_EXISTING_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[NodeInput]
    edges: _containers.RepeatedCompositeFieldContainer[EdgeInput]
    on_existing: OnExisting
    request_id: str
    def __init__(self, nodes: _Optional[_Iterable[_Union[NodeInput, _Mapping]]] = ..., edges: _Optional[_Iterable[_Union[EdgeInput, _Mapping]]] = ..., on_existing: _Optional[_Union[OnExisting, str]] = ..., request_id: _Optional[str] = ...) -> None: ...

class WriteGraphResponse(_message.Message):
    __slots__ = ("nodes", "edges")
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[WrittenRow]
    edges: _containers.RepeatedCompositeFieldContainer[WrittenRow]
    def __init__(self, nodes: _Optional[_Iterable[_Union[WrittenRow, _Mapping]]] = ..., edges: _Optional[_Iterable[_Union[WrittenRow, _Mapping]]] = ...) -> None: ...

class WrittenRow(_message.Message):
    __slots__ = ("id", "created_at", "seq", "existed")
    ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    EXISTED_FIELD_NUMBER: _ClassVar[int]
    id: str
    created_at: _timestamp_pb2.Timestamp
    seq: int
    existed: bool
    def __init__(self, id: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., seq: _Optional[int] = ..., existed: _Optional[bool] = ...) -> None: ...

class GetNodeRequest(_message.Message):
    __slots__ = ("node_id",)
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    def __init__(self, node_id: _Optional[str] = ...) -> None: ...

class GetNodeResponse(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: Node
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ...) -> None: ...

class BatchGetNodesRequest(_message.Message):
    __slots__ = ("node_ids",)
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class BatchGetNodesResponse(_message.Message):
    __slots__ = ("nodes", "missing_ids")
    NODES_FIELD_NUMBER: _ClassVar[int]
    MISSING_IDS_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    missing_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., missing_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class GetNodeByExternalIdRequest(_message.Message):
    __slots__ = ("external_id", "graph_name")
    EXTERNAL_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    external_id: str
    graph_name: str
    def __init__(self, external_id: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class GetNodeByExternalIdResponse(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: Node
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ...) -> None: ...

class GetNodeByNameRequest(_message.Message):
    __slots__ = ("name", "graph_name")
    NAME_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    graph_name: str
    def __init__(self, name: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class GetNodeByNameResponse(_message.Message):
    __slots__ = ("node", "matches")
    NODE_FIELD_NUMBER: _ClassVar[int]
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    node: Node
    matches: int
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ..., matches: _Optional[int] = ...) -> None: ...

class UpdateNodeDataRequest(_message.Message):
    __slots__ = ("node_id", "data_json", "update", "expected_version", "request_id")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    data_json: str
    update: DataUpdate
    expected_version: int
    request_id: str
    def __init__(self, node_id: _Optional[str] = ..., data_json: _Optional[str] = ..., update: _Optional[_Union[DataUpdate, str]] = ..., expected_version: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class UpdateNodeDataResponse(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: Node
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ...) -> None: ...

class UpdateNodeStatusRequest(_message.Message):
    __slots__ = ("node_id", "status", "expected_status", "expected_version", "message")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_STATUS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    status: str
    expected_status: str
    expected_version: int
    message: str
    def __init__(self, node_id: _Optional[str] = ..., status: _Optional[str] = ..., expected_status: _Optional[str] = ..., expected_version: _Optional[int] = ..., message: _Optional[str] = ...) -> None: ...

class UpdateNodeStatusResponse(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: Node
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ...) -> None: ...

class ArchiveNodeRequest(_message.Message):
    __slots__ = ("node_id", "restore", "expected_version")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    RESTORE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    restore: bool
    expected_version: int
    def __init__(self, node_id: _Optional[str] = ..., restore: _Optional[bool] = ..., expected_version: _Optional[int] = ...) -> None: ...

class ArchiveNodeResponse(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: Node
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ...) -> None: ...

class ResetNodeRequest(_message.Message):
    __slots__ = ("node_id", "expected_version")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    expected_version: int
    def __init__(self, node_id: _Optional[str] = ..., expected_version: _Optional[int] = ...) -> None: ...

class ResetNodeResponse(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: Node
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ...) -> None: ...

class DeleteNodeRequest(_message.Message):
    __slots__ = ("node_id", "expected_version")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    expected_version: int
    def __init__(self, node_id: _Optional[str] = ..., expected_version: _Optional[int] = ...) -> None: ...

class DeleteNodeResponse(_message.Message):
    __slots__ = ("edges_deleted",)
    EDGES_DELETED_FIELD_NUMBER: _ClassVar[int]
    edges_deleted: int
    def __init__(self, edges_deleted: _Optional[int] = ...) -> None: ...

class Owned(_message.Message):
    __slots__ = ("nodes", "edges", "answers", "names", "finished_at")
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    FINISHED_AT_FIELD_NUMBER: _ClassVar[int]
    nodes: int
    edges: int
    answers: int
    names: int
    finished_at: _timestamp_pb2.Timestamp
    def __init__(self, nodes: _Optional[int] = ..., edges: _Optional[int] = ..., answers: _Optional[int] = ..., names: _Optional[int] = ..., finished_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class EraseOwnedRequest(_message.Message):
    __slots__ = ("erasure_id", "subject")
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    subject: str
    def __init__(self, erasure_id: _Optional[str] = ..., subject: _Optional[str] = ...) -> None: ...

class EraseOwnedResponse(_message.Message):
    __slots__ = ("removed",)
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    removed: Owned
    def __init__(self, removed: _Optional[_Union[Owned, _Mapping]] = ...) -> None: ...

class GetOwnedRequest(_message.Message):
    __slots__ = ("erasure_id", "subject")
    ERASURE_ID_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    erasure_id: str
    subject: str
    def __init__(self, erasure_id: _Optional[str] = ..., subject: _Optional[str] = ...) -> None: ...

class GetOwnedResponse(_message.Message):
    __slots__ = ("owned",)
    OWNED_FIELD_NUMBER: _ClassVar[int]
    owned: Owned
    def __init__(self, owned: _Optional[_Union[Owned, _Mapping]] = ...) -> None: ...

class SetNodeIORequest(_message.Message):
    __slots__ = ("node_id", "input_json", "output_json")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    input_json: str
    output_json: str
    def __init__(self, node_id: _Optional[str] = ..., input_json: _Optional[str] = ..., output_json: _Optional[str] = ...) -> None: ...

class SetNodeIOResponse(_message.Message):
    __slots__ = ("modified_at",)
    MODIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    modified_at: _timestamp_pb2.Timestamp
    def __init__(self, modified_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetNodeIORequest(_message.Message):
    __slots__ = ("node_id",)
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    def __init__(self, node_id: _Optional[str] = ...) -> None: ...

class GetNodeIOResponse(_message.Message):
    __slots__ = ("input_json", "output_json", "modified_at")
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_AT_FIELD_NUMBER: _ClassVar[int]
    input_json: str
    output_json: str
    modified_at: _timestamp_pb2.Timestamp
    def __init__(self, input_json: _Optional[str] = ..., output_json: _Optional[str] = ..., modified_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Envelope(_message.Message):
    __slots__ = ("node_id", "seq", "type", "status", "sub_type", "message", "value_json", "error_json", "created_at", "created_by")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SUB_TYPE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    ERROR_JSON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    seq: int
    type: EnvelopeType
    status: EnvelopeStatus
    sub_type: str
    message: str
    value_json: str
    error_json: str
    created_at: _timestamp_pb2.Timestamp
    created_by: str
    def __init__(self, node_id: _Optional[str] = ..., seq: _Optional[int] = ..., type: _Optional[_Union[EnvelopeType, str]] = ..., status: _Optional[_Union[EnvelopeStatus, str]] = ..., sub_type: _Optional[str] = ..., message: _Optional[str] = ..., value_json: _Optional[str] = ..., error_json: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_by: _Optional[str] = ...) -> None: ...

class AppendProgressRequest(_message.Message):
    __slots__ = ("node_id", "type", "status", "sub_type", "message", "value_json", "error_json", "request_id")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SUB_TYPE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    ERROR_JSON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    type: EnvelopeType
    status: EnvelopeStatus
    sub_type: str
    message: str
    value_json: str
    error_json: str
    request_id: str
    def __init__(self, node_id: _Optional[str] = ..., type: _Optional[_Union[EnvelopeType, str]] = ..., status: _Optional[_Union[EnvelopeStatus, str]] = ..., sub_type: _Optional[str] = ..., message: _Optional[str] = ..., value_json: _Optional[str] = ..., error_json: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class AppendProgressResponse(_message.Message):
    __slots__ = ("seq", "created_at")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    seq: int
    created_at: _timestamp_pb2.Timestamp
    def __init__(self, seq: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListProgressRequest(_message.Message):
    __slots__ = ("node_id", "own_only", "types", "descending", "page_size", "page_token")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    OWN_ONLY_FIELD_NUMBER: _ClassVar[int]
    TYPES_FIELD_NUMBER: _ClassVar[int]
    DESCENDING_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    own_only: bool
    types: _containers.RepeatedScalarFieldContainer[EnvelopeType]
    descending: bool
    page_size: int
    page_token: str
    def __init__(self, node_id: _Optional[str] = ..., own_only: _Optional[bool] = ..., types: _Optional[_Iterable[_Union[EnvelopeType, str]]] = ..., descending: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListProgressResponse(_message.Message):
    __slots__ = ("envelopes", "next_page_token")
    ENVELOPES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    envelopes: _containers.RepeatedCompositeFieldContainer[Envelope]
    next_page_token: str
    def __init__(self, envelopes: _Optional[_Iterable[_Union[Envelope, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ClearProgressRequest(_message.Message):
    __slots__ = ("node_id",)
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    def __init__(self, node_id: _Optional[str] = ...) -> None: ...

class ClearProgressResponse(_message.Message):
    __slots__ = ("envelopes_deleted",)
    ENVELOPES_DELETED_FIELD_NUMBER: _ClassVar[int]
    envelopes_deleted: int
    def __init__(self, envelopes_deleted: _Optional[int] = ...) -> None: ...

class Embedding(_message.Message):
    __slots__ = ("node_id", "name", "dimension", "model", "text_sha256", "metadata_json", "created_at", "vector")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_SHA256_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    name: str
    dimension: int
    model: str
    text_sha256: str
    metadata_json: str
    created_at: _timestamp_pb2.Timestamp
    vector: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, node_id: _Optional[str] = ..., name: _Optional[str] = ..., dimension: _Optional[int] = ..., model: _Optional[str] = ..., text_sha256: _Optional[str] = ..., metadata_json: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., vector: _Optional[_Iterable[float]] = ...) -> None: ...

class UpsertEmbeddingRequest(_message.Message):
    __slots__ = ("node_id", "name", "vector", "model", "text_sha256", "metadata_json")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    TEXT_SHA256_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    name: str
    vector: _containers.RepeatedScalarFieldContainer[float]
    model: str
    text_sha256: str
    metadata_json: str
    def __init__(self, node_id: _Optional[str] = ..., name: _Optional[str] = ..., vector: _Optional[_Iterable[float]] = ..., model: _Optional[str] = ..., text_sha256: _Optional[str] = ..., metadata_json: _Optional[str] = ...) -> None: ...

class UpsertEmbeddingResponse(_message.Message):
    __slots__ = ("embedding",)
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    embedding: Embedding
    def __init__(self, embedding: _Optional[_Union[Embedding, _Mapping]] = ...) -> None: ...

class DeleteEmbeddingRequest(_message.Message):
    __slots__ = ("node_id", "name")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    name: str
    def __init__(self, node_id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class DeleteEmbeddingResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListEmbeddingsRequest(_message.Message):
    __slots__ = ("node_id", "with_vectors", "page_size", "page_token")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    WITH_VECTORS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    with_vectors: bool
    page_size: int
    page_token: str
    def __init__(self, node_id: _Optional[str] = ..., with_vectors: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListEmbeddingsResponse(_message.Message):
    __slots__ = ("embeddings", "next_page_token")
    EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    embeddings: _containers.RepeatedCompositeFieldContainer[Embedding]
    next_page_token: str
    def __init__(self, embeddings: _Optional[_Iterable[_Union[Embedding, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SearchSimilarRequest(_message.Message):
    __slots__ = ("vector", "node_id", "graph_name", "name", "similarity_min", "metadata_contains_json", "node_types", "include_archived", "limit")
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_MIN_FIELD_NUMBER: _ClassVar[int]
    METADATA_CONTAINS_JSON_FIELD_NUMBER: _ClassVar[int]
    NODE_TYPES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    vector: _containers.RepeatedScalarFieldContainer[float]
    node_id: str
    graph_name: str
    name: str
    similarity_min: float
    metadata_contains_json: str
    node_types: _containers.RepeatedScalarFieldContainer[str]
    include_archived: bool
    limit: int
    def __init__(self, vector: _Optional[_Iterable[float]] = ..., node_id: _Optional[str] = ..., graph_name: _Optional[str] = ..., name: _Optional[str] = ..., similarity_min: _Optional[float] = ..., metadata_contains_json: _Optional[str] = ..., node_types: _Optional[_Iterable[str]] = ..., include_archived: _Optional[bool] = ..., limit: _Optional[int] = ...) -> None: ...

class SearchSimilarResponse(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[SimilarNode]
    def __init__(self, nodes: _Optional[_Iterable[_Union[SimilarNode, _Mapping]]] = ...) -> None: ...

class SimilarNode(_message.Message):
    __slots__ = ("node", "similarity")
    NODE_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    node: Node
    similarity: float
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ..., similarity: _Optional[float] = ...) -> None: ...

class NodeFilter(_message.Message):
    __slots__ = ("graph_name", "condition_json", "contains_json", "json_path", "connected_to", "agent_bundle_id", "include_archived")
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    CONDITION_JSON_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_JSON_FIELD_NUMBER: _ClassVar[int]
    JSON_PATH_FIELD_NUMBER: _ClassVar[int]
    CONNECTED_TO_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    graph_name: str
    condition_json: str
    contains_json: str
    json_path: str
    connected_to: ConnectedTo
    agent_bundle_id: str
    include_archived: bool
    def __init__(self, graph_name: _Optional[str] = ..., condition_json: _Optional[str] = ..., contains_json: _Optional[str] = ..., json_path: _Optional[str] = ..., connected_to: _Optional[_Union[ConnectedTo, _Mapping]] = ..., agent_bundle_id: _Optional[str] = ..., include_archived: _Optional[bool] = ...) -> None: ...

class ConnectedTo(_message.Message):
    __slots__ = ("node_id", "edge_types", "direction", "depth_max")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPES_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    DEPTH_MAX_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    edge_types: _containers.RepeatedScalarFieldContainer[str]
    direction: Direction
    depth_max: int
    def __init__(self, node_id: _Optional[str] = ..., edge_types: _Optional[_Iterable[str]] = ..., direction: _Optional[_Union[Direction, str]] = ..., depth_max: _Optional[int] = ...) -> None: ...

class SearchNodesRequest(_message.Message):
    __slots__ = ("filter", "order_by", "descending", "page_size", "page_token")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    DESCENDING_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    filter: NodeFilter
    order_by: str
    descending: bool
    page_size: int
    page_token: str
    def __init__(self, filter: _Optional[_Union[NodeFilter, _Mapping]] = ..., order_by: _Optional[str] = ..., descending: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class SearchNodesResponse(_message.Message):
    __slots__ = ("nodes", "next_page_token")
    NODES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    next_page_token: str
    def __init__(self, nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CountNodesRequest(_message.Message):
    __slots__ = ("filter",)
    FILTER_FIELD_NUMBER: _ClassVar[int]
    filter: NodeFilter
    def __init__(self, filter: _Optional[_Union[NodeFilter, _Mapping]] = ...) -> None: ...

class CountNodesResponse(_message.Message):
    __slots__ = ("count",)
    COUNT_FIELD_NUMBER: _ClassVar[int]
    count: int
    def __init__(self, count: _Optional[int] = ...) -> None: ...

class ListFacetsRequest(_message.Message):
    __slots__ = ("graph_name", "type_name")
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    graph_name: str
    type_name: str
    def __init__(self, graph_name: _Optional[str] = ..., type_name: _Optional[str] = ...) -> None: ...

class ListFacetsResponse(_message.Message):
    __slots__ = ("types", "is_cut")
    TYPES_FIELD_NUMBER: _ClassVar[int]
    IS_CUT_FIELD_NUMBER: _ClassVar[int]
    types: _containers.RepeatedCompositeFieldContainer[TypeFacets]
    is_cut: bool
    def __init__(self, types: _Optional[_Iterable[_Union[TypeFacets, _Mapping]]] = ..., is_cut: _Optional[bool] = ...) -> None: ...

class TypeFacets(_message.Message):
    __slots__ = ("type_name", "node_count", "sampled_count", "fields", "edges")
    TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_COUNT_FIELD_NUMBER: _ClassVar[int]
    SAMPLED_COUNT_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    type_name: str
    node_count: int
    sampled_count: int
    fields: _containers.RepeatedCompositeFieldContainer[NodeField]
    edges: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, type_name: _Optional[str] = ..., node_count: _Optional[int] = ..., sampled_count: _Optional[int] = ..., fields: _Optional[_Iterable[_Union[NodeField, _Mapping]]] = ..., edges: _Optional[_Iterable[str]] = ...) -> None: ...

class NodeField(_message.Message):
    __slots__ = ("field", "kinds", "node_count", "examples")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    NODE_COUNT_FIELD_NUMBER: _ClassVar[int]
    EXAMPLES_FIELD_NUMBER: _ClassVar[int]
    field: str
    kinds: _containers.RepeatedScalarFieldContainer[str]
    node_count: int
    examples: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, field: _Optional[str] = ..., kinds: _Optional[_Iterable[str]] = ..., node_count: _Optional[int] = ..., examples: _Optional[_Iterable[str]] = ...) -> None: ...

class QueryFacetsRequest(_message.Message):
    __slots__ = ("graph_name", "condition_json", "include_archived", "with_edges", "without_edges", "group_by", "measures", "order_by", "descending", "limit")
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    CONDITION_JSON_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    WITH_EDGES_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_EDGES_FIELD_NUMBER: _ClassVar[int]
    GROUP_BY_FIELD_NUMBER: _ClassVar[int]
    MEASURES_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    DESCENDING_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    graph_name: str
    condition_json: str
    include_archived: bool
    with_edges: _containers.RepeatedScalarFieldContainer[str]
    without_edges: _containers.RepeatedScalarFieldContainer[str]
    group_by: str
    measures: _containers.RepeatedScalarFieldContainer[str]
    order_by: str
    descending: bool
    limit: int
    def __init__(self, graph_name: _Optional[str] = ..., condition_json: _Optional[str] = ..., include_archived: _Optional[bool] = ..., with_edges: _Optional[_Iterable[str]] = ..., without_edges: _Optional[_Iterable[str]] = ..., group_by: _Optional[str] = ..., measures: _Optional[_Iterable[str]] = ..., order_by: _Optional[str] = ..., descending: _Optional[bool] = ..., limit: _Optional[int] = ...) -> None: ...

class QueryFacetsResponse(_message.Message):
    __slots__ = ("nodes", "groups", "node_count", "group_count", "ungrouped_count")
    NODES_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    NODE_COUNT_FIELD_NUMBER: _ClassVar[int]
    GROUP_COUNT_FIELD_NUMBER: _ClassVar[int]
    UNGROUPED_COUNT_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    groups: _containers.RepeatedCompositeFieldContainer[FacetGroup]
    node_count: int
    group_count: int
    ungrouped_count: int
    def __init__(self, nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., groups: _Optional[_Iterable[_Union[FacetGroup, _Mapping]]] = ..., node_count: _Optional[int] = ..., group_count: _Optional[int] = ..., ungrouped_count: _Optional[int] = ...) -> None: ...

class FacetGroup(_message.Message):
    __slots__ = ("value_json", "node_id", "node_name", "node_count", "values")
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_COUNT_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    value_json: str
    node_id: str
    node_name: str
    node_count: int
    values: _containers.RepeatedCompositeFieldContainer[FacetValue]
    def __init__(self, value_json: _Optional[str] = ..., node_id: _Optional[str] = ..., node_name: _Optional[str] = ..., node_count: _Optional[int] = ..., values: _Optional[_Iterable[_Union[FacetValue, _Mapping]]] = ...) -> None: ...

class FacetValue(_message.Message):
    __slots__ = ("measure", "value_json", "counted", "skipped", "node_id", "node_name")
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    VALUE_JSON_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    measure: str
    value_json: str
    counted: int
    skipped: int
    node_id: str
    node_name: str
    def __init__(self, measure: _Optional[str] = ..., value_json: _Optional[str] = ..., counted: _Optional[int] = ..., skipped: _Optional[int] = ..., node_id: _Optional[str] = ..., node_name: _Optional[str] = ...) -> None: ...

class ListGraphsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListGraphsResponse(_message.Message):
    __slots__ = ("graphs", "next_page_token")
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    graphs: _containers.RepeatedCompositeFieldContainer[GraphCount]
    next_page_token: str
    def __init__(self, graphs: _Optional[_Iterable[_Union[GraphCount, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GraphCount(_message.Message):
    __slots__ = ("graph_name", "nodes", "edges")
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    graph_name: str
    nodes: int
    edges: int
    def __init__(self, graph_name: _Optional[str] = ..., nodes: _Optional[int] = ..., edges: _Optional[int] = ...) -> None: ...

class ListEdgeTypesRequest(_message.Message):
    __slots__ = ("graph_name", "page_size", "page_token")
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    graph_name: str
    page_size: int
    page_token: str
    def __init__(self, graph_name: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListEdgeTypesResponse(_message.Message):
    __slots__ = ("edge_types", "next_page_token")
    EDGE_TYPES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    edge_types: _containers.RepeatedCompositeFieldContainer[EdgeTypeCount]
    next_page_token: str
    def __init__(self, edge_types: _Optional[_Iterable[_Union[EdgeTypeCount, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class EdgeTypeCount(_message.Message):
    __slots__ = ("edge_type", "edges")
    EDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    edge_type: str
    edges: int
    def __init__(self, edge_type: _Optional[str] = ..., edges: _Optional[int] = ...) -> None: ...

class ImportGraphRequest(_message.Message):
    __slots__ = ("header", "lines")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    header: ImportHeader
    lines: bytes
    def __init__(self, header: _Optional[_Union[ImportHeader, _Mapping]] = ..., lines: _Optional[bytes] = ...) -> None: ...

class ImportHeader(_message.Message):
    __slots__ = ("graph_name", "lines_before")
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    LINES_BEFORE_FIELD_NUMBER: _ClassVar[int]
    graph_name: str
    lines_before: int
    def __init__(self, graph_name: _Optional[str] = ..., lines_before: _Optional[int] = ...) -> None: ...

class ImportGraphResponse(_message.Message):
    __slots__ = ("graph_name", "lines", "nodes", "edges", "embeddings", "envelopes")
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    ENVELOPES_FIELD_NUMBER: _ClassVar[int]
    graph_name: str
    lines: int
    nodes: RowCount
    edges: RowCount
    embeddings: RowCount
    envelopes: RowCount
    def __init__(self, graph_name: _Optional[str] = ..., lines: _Optional[int] = ..., nodes: _Optional[_Union[RowCount, _Mapping]] = ..., edges: _Optional[_Union[RowCount, _Mapping]] = ..., embeddings: _Optional[_Union[RowCount, _Mapping]] = ..., envelopes: _Optional[_Union[RowCount, _Mapping]] = ...) -> None: ...

class RowCount(_message.Message):
    __slots__ = ("written", "existed")
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    EXISTED_FIELD_NUMBER: _ClassVar[int]
    written: int
    existed: int
    def __init__(self, written: _Optional[int] = ..., existed: _Optional[int] = ...) -> None: ...

class ExportGraphRequest(_message.Message):
    __slots__ = ("graph_name", "resume_token")
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    graph_name: str
    resume_token: str
    def __init__(self, graph_name: _Optional[str] = ..., resume_token: _Optional[str] = ...) -> None: ...

class ExportGraphResponse(_message.Message):
    __slots__ = ("lines", "resume_token", "nodes", "edges", "embeddings", "envelopes")
    LINES_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    ENVELOPES_FIELD_NUMBER: _ClassVar[int]
    lines: bytes
    resume_token: str
    nodes: int
    edges: int
    embeddings: int
    envelopes: int
    def __init__(self, lines: _Optional[bytes] = ..., resume_token: _Optional[str] = ..., nodes: _Optional[int] = ..., edges: _Optional[int] = ..., embeddings: _Optional[int] = ..., envelopes: _Optional[int] = ...) -> None: ...

class GetEdgeRequest(_message.Message):
    __slots__ = ("edge_id",)
    EDGE_ID_FIELD_NUMBER: _ClassVar[int]
    edge_id: str
    def __init__(self, edge_id: _Optional[str] = ...) -> None: ...

class GetEdgeResponse(_message.Message):
    __slots__ = ("edge",)
    EDGE_FIELD_NUMBER: _ClassVar[int]
    edge: Edge
    def __init__(self, edge: _Optional[_Union[Edge, _Mapping]] = ...) -> None: ...

class BatchGetEdgesRequest(_message.Message):
    __slots__ = ("edge_ids",)
    EDGE_IDS_FIELD_NUMBER: _ClassVar[int]
    edge_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, edge_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class BatchGetEdgesResponse(_message.Message):
    __slots__ = ("edges", "missing_ids")
    EDGES_FIELD_NUMBER: _ClassVar[int]
    MISSING_IDS_FIELD_NUMBER: _ClassVar[int]
    edges: _containers.RepeatedCompositeFieldContainer[Edge]
    missing_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, edges: _Optional[_Iterable[_Union[Edge, _Mapping]]] = ..., missing_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class UpdateEdgeDataRequest(_message.Message):
    __slots__ = ("edge_id", "data_json", "update", "expected_version", "request_id")
    EDGE_ID_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    UPDATE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    edge_id: str
    data_json: str
    update: DataUpdate
    expected_version: int
    request_id: str
    def __init__(self, edge_id: _Optional[str] = ..., data_json: _Optional[str] = ..., update: _Optional[_Union[DataUpdate, str]] = ..., expected_version: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class UpdateEdgeDataResponse(_message.Message):
    __slots__ = ("edge",)
    EDGE_FIELD_NUMBER: _ClassVar[int]
    edge: Edge
    def __init__(self, edge: _Optional[_Union[Edge, _Mapping]] = ...) -> None: ...

class DeleteEdgeRequest(_message.Message):
    __slots__ = ("edge_id", "from_node_id", "to_node_id", "edge_type", "expected_version")
    EDGE_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    TO_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    edge_id: str
    from_node_id: str
    to_node_id: str
    edge_type: str
    expected_version: int
    def __init__(self, edge_id: _Optional[str] = ..., from_node_id: _Optional[str] = ..., to_node_id: _Optional[str] = ..., edge_type: _Optional[str] = ..., expected_version: _Optional[int] = ...) -> None: ...

class DeleteEdgeResponse(_message.Message):
    __slots__ = ("edge",)
    EDGE_FIELD_NUMBER: _ClassVar[int]
    edge: Edge
    def __init__(self, edge: _Optional[_Union[Edge, _Mapping]] = ...) -> None: ...

class ListEdgesRequest(_message.Message):
    __slots__ = ("node_id", "direction", "edge_types", "page_size", "page_token", "descending")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    DESCENDING_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    direction: Direction
    edge_types: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    descending: bool
    def __init__(self, node_id: _Optional[str] = ..., direction: _Optional[_Union[Direction, str]] = ..., edge_types: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., descending: _Optional[bool] = ...) -> None: ...

class ListEdgesResponse(_message.Message):
    __slots__ = ("edges", "next_page_token")
    EDGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    edges: _containers.RepeatedCompositeFieldContainer[Edge]
    next_page_token: str
    def __init__(self, edges: _Optional[_Iterable[_Union[Edge, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class TraverseRequest(_message.Message):
    __slots__ = ("start_node_ids", "edge_types", "direction", "depth_max", "node_types", "include_archived", "include_start", "order_path", "descending", "limit", "page_token", "node_budget", "include_io", "after", "columns")
    START_NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPES_FIELD_NUMBER: _ClassVar[int]
    DIRECTION_FIELD_NUMBER: _ClassVar[int]
    DEPTH_MAX_FIELD_NUMBER: _ClassVar[int]
    NODE_TYPES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_START_FIELD_NUMBER: _ClassVar[int]
    ORDER_PATH_FIELD_NUMBER: _ClassVar[int]
    DESCENDING_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NODE_BUDGET_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_IO_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    start_node_ids: _containers.RepeatedScalarFieldContainer[str]
    edge_types: _containers.RepeatedScalarFieldContainer[str]
    direction: Direction
    depth_max: int
    node_types: _containers.RepeatedScalarFieldContainer[str]
    include_archived: bool
    include_start: bool
    order_path: str
    descending: bool
    limit: int
    page_token: str
    node_budget: int
    include_io: bool
    after: TraversePosition
    columns: _containers.RepeatedScalarFieldContainer[TraverseColumn]
    def __init__(self, start_node_ids: _Optional[_Iterable[str]] = ..., edge_types: _Optional[_Iterable[str]] = ..., direction: _Optional[_Union[Direction, str]] = ..., depth_max: _Optional[int] = ..., node_types: _Optional[_Iterable[str]] = ..., include_archived: _Optional[bool] = ..., include_start: _Optional[bool] = ..., order_path: _Optional[str] = ..., descending: _Optional[bool] = ..., limit: _Optional[int] = ..., page_token: _Optional[str] = ..., node_budget: _Optional[int] = ..., include_io: _Optional[bool] = ..., after: _Optional[_Union[TraversePosition, _Mapping]] = ..., columns: _Optional[_Iterable[_Union[TraverseColumn, str]]] = ...) -> None: ...

class TraversePosition(_message.Message):
    __slots__ = ("created_at", "seq")
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    created_at: _timestamp_pb2.Timestamp
    seq: int
    def __init__(self, created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., seq: _Optional[int] = ...) -> None: ...

class TraverseResponse(_message.Message):
    __slots__ = ("nodes", "indexed", "next_page_token", "rows_json")
    NODES_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ROWS_JSON_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[TraversedNode]
    indexed: bool
    next_page_token: str
    rows_json: bytes
    def __init__(self, nodes: _Optional[_Iterable[_Union[TraversedNode, _Mapping]]] = ..., indexed: _Optional[bool] = ..., next_page_token: _Optional[str] = ..., rows_json: _Optional[bytes] = ...) -> None: ...

class TraversedNode(_message.Message):
    __slots__ = ("node", "depth", "reached_by", "io")
    NODE_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    REACHED_BY_FIELD_NUMBER: _ClassVar[int]
    IO_FIELD_NUMBER: _ClassVar[int]
    node: Node
    depth: int
    reached_by: ReachedBy
    io: NodeIO
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ..., depth: _Optional[int] = ..., reached_by: _Optional[_Union[ReachedBy, _Mapping]] = ..., io: _Optional[_Union[NodeIO, _Mapping]] = ...) -> None: ...

class NodeIO(_message.Message):
    __slots__ = ("input_json", "output_json")
    INPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_JSON_FIELD_NUMBER: _ClassVar[int]
    input_json: str
    output_json: str
    def __init__(self, input_json: _Optional[str] = ..., output_json: _Optional[str] = ...) -> None: ...

class ReachedBy(_message.Message):
    __slots__ = ("edge_id", "edge_type", "node_id", "data_json")
    EDGE_ID_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    DATA_JSON_FIELD_NUMBER: _ClassVar[int]
    edge_id: str
    edge_type: str
    node_id: str
    data_json: str
    def __init__(self, edge_id: _Optional[str] = ..., edge_type: _Optional[str] = ..., node_id: _Optional[str] = ..., data_json: _Optional[str] = ...) -> None: ...

class StartChangesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StartChangesResponse(_message.Message):
    __slots__ = ("place",)
    PLACE_FIELD_NUMBER: _ClassVar[int]
    place: str
    def __init__(self, place: _Optional[str] = ...) -> None: ...

class ListChangesRequest(_message.Message):
    __slots__ = ("place", "page_size")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    place: str
    page_size: int
    def __init__(self, place: _Optional[str] = ..., page_size: _Optional[int] = ...) -> None: ...

class ListChangesResponse(_message.Message):
    __slots__ = ("changes", "next_place", "has_more")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PLACE_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[Change]
    next_place: str
    has_more: bool
    def __init__(self, changes: _Optional[_Iterable[_Union[Change, _Mapping]]] = ..., next_place: _Optional[str] = ..., has_more: _Optional[bool] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("kind", "node_id", "edge_id", "graph_name", "general_type_name", "specific_type_name", "edge_type", "from_node_id", "to_node_id", "changed_at")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EDGE_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    GENERAL_TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    SPECIFIC_TYPE_NAME_FIELD_NUMBER: _ClassVar[int]
    EDGE_TYPE_FIELD_NUMBER: _ClassVar[int]
    FROM_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    TO_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    kind: ChangeKind
    node_id: str
    edge_id: str
    graph_name: str
    general_type_name: str
    specific_type_name: str
    edge_type: str
    from_node_id: str
    to_node_id: str
    changed_at: _timestamp_pb2.Timestamp
    def __init__(self, kind: _Optional[_Union[ChangeKind, str]] = ..., node_id: _Optional[str] = ..., edge_id: _Optional[str] = ..., graph_name: _Optional[str] = ..., general_type_name: _Optional[str] = ..., specific_type_name: _Optional[str] = ..., edge_type: _Optional[str] = ..., from_node_id: _Optional[str] = ..., to_node_id: _Optional[str] = ..., changed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
