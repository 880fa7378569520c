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

class ImportState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IMPORT_STATE_UNSPECIFIED: _ClassVar[ImportState]
    IMPORT_STATE_RUNNING: _ClassVar[ImportState]
    IMPORT_STATE_DONE: _ClassVar[ImportState]
    IMPORT_STATE_GIVEN_UP: _ClassVar[ImportState]
IMPORT_STATE_UNSPECIFIED: ImportState
IMPORT_STATE_RUNNING: ImportState
IMPORT_STATE_DONE: ImportState
IMPORT_STATE_GIVEN_UP: ImportState

class ArchiveScope(_message.Message):
    __slots__ = ("tenant", "context_id", "user_id", "graph_name")
    TENANT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    GRAPH_NAME_FIELD_NUMBER: _ClassVar[int]
    tenant: bool
    context_id: str
    user_id: str
    graph_name: str
    def __init__(self, tenant: _Optional[bool] = ..., context_id: _Optional[str] = ..., user_id: _Optional[str] = ..., graph_name: _Optional[str] = ...) -> None: ...

class ExportArchiveRequest(_message.Message):
    __slots__ = ("scope", "resume_token")
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    scope: ArchiveScope
    resume_token: str
    def __init__(self, scope: _Optional[_Union[ArchiveScope, _Mapping]] = ..., resume_token: _Optional[str] = ...) -> None: ...

class ExportArchiveResponse(_message.Message):
    __slots__ = ("data", "resume_token")
    DATA_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    resume_token: str
    def __init__(self, data: _Optional[bytes] = ..., resume_token: _Optional[str] = ...) -> None: ...

class ImportArchiveRequest(_message.Message):
    __slots__ = ("header", "data")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    header: ImportArchiveHeader
    data: bytes
    def __init__(self, header: _Optional[_Union[ImportArchiveHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class ImportArchiveHeader(_message.Message):
    __slots__ = ("import_id", "offset_bytes", "dry_run")
    IMPORT_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    import_id: str
    offset_bytes: int
    dry_run: bool
    def __init__(self, import_id: _Optional[str] = ..., offset_bytes: _Optional[int] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ImportArchiveResponse(_message.Message):
    __slots__ = ("imported",)
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    imported: ImportedArchive
    def __init__(self, imported: _Optional[_Union[ImportedArchive, _Mapping]] = ...) -> None: ...

class GetImportRequest(_message.Message):
    __slots__ = ("import_id",)
    IMPORT_ID_FIELD_NUMBER: _ClassVar[int]
    import_id: str
    def __init__(self, import_id: _Optional[str] = ...) -> None: ...

class GetImportResponse(_message.Message):
    __slots__ = ("imported",)
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    imported: ImportedArchive
    def __init__(self, imported: _Optional[_Union[ImportedArchive, _Mapping]] = ...) -> None: ...

class ImportedArchive(_message.Message):
    __slots__ = ("import_id", "state", "offset_bytes", "pieces", "created_at", "updated_at", "manifest_json", "rows", "conflicts", "left_out", "dry_run")
    IMPORT_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_BYTES_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_JSON_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    import_id: str
    state: ImportState
    offset_bytes: int
    pieces: int
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    manifest_json: str
    rows: _containers.RepeatedCompositeFieldContainer[ImportedRows]
    conflicts: _containers.RepeatedCompositeFieldContainer[ImportConflict]
    left_out: _containers.RepeatedScalarFieldContainer[str]
    dry_run: bool
    def __init__(self, import_id: _Optional[str] = ..., state: _Optional[_Union[ImportState, str]] = ..., offset_bytes: _Optional[int] = ..., pieces: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., manifest_json: _Optional[str] = ..., rows: _Optional[_Iterable[_Union[ImportedRows, _Mapping]]] = ..., conflicts: _Optional[_Iterable[_Union[ImportConflict, _Mapping]]] = ..., left_out: _Optional[_Iterable[str]] = ..., dry_run: _Optional[bool] = ...) -> None: ...

class ImportedRows(_message.Message):
    __slots__ = ("table", "written", "present", "conflicts")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    table: str
    written: int
    present: int
    conflicts: int
    def __init__(self, table: _Optional[str] = ..., written: _Optional[int] = ..., present: _Optional[int] = ..., conflicts: _Optional[int] = ...) -> None: ...

class ImportConflict(_message.Message):
    __slots__ = ("table", "key_json", "why", "piece")
    TABLE_FIELD_NUMBER: _ClassVar[int]
    KEY_JSON_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    PIECE_FIELD_NUMBER: _ClassVar[int]
    table: str
    key_json: str
    why: str
    piece: int
    def __init__(self, table: _Optional[str] = ..., key_json: _Optional[str] = ..., why: _Optional[str] = ..., piece: _Optional[int] = ...) -> None: ...
