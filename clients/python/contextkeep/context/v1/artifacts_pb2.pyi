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

class Artifact(_message.Message):
    __slots__ = ("artifact_id", "task_id", "context_id", "name", "description", "version", "is_complete", "parts", "metadata_json", "part_count", "size_bytes", "tokens", "created_by", "created_at", "updated_at", "imported")
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    IS_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    PART_COUNT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    artifact_id: str
    task_id: str
    context_id: str
    name: str
    description: str
    version: int
    is_complete: bool
    parts: _containers.RepeatedCompositeFieldContainer[_message_pb2.Part]
    metadata_json: str
    part_count: int
    size_bytes: int
    tokens: int
    created_by: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    imported: _message_pb2.Imported
    def __init__(self, artifact_id: _Optional[str] = ..., task_id: _Optional[str] = ..., context_id: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., version: _Optional[int] = ..., is_complete: _Optional[bool] = ..., parts: _Optional[_Iterable[_Union[_message_pb2.Part, _Mapping]]] = ..., metadata_json: _Optional[str] = ..., part_count: _Optional[int] = ..., size_bytes: _Optional[int] = ..., tokens: _Optional[int] = ..., created_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class ArtifactInput(_message.Message):
    __slots__ = ("artifact_id", "name", "description", "parts", "metadata_json")
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    artifact_id: str
    name: str
    description: str
    parts: _containers.RepeatedCompositeFieldContainer[_message_pb2.Part]
    metadata_json: str
    def __init__(self, artifact_id: _Optional[str] = ..., name: _Optional[str] = ..., description: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[_message_pb2.Part, _Mapping]]] = ..., metadata_json: _Optional[str] = ...) -> None: ...

class PutArtifactRequest(_message.Message):
    __slots__ = ("context_id", "task_id", "artifact", "append", "last_chunk", "subject_user_id", "request_id")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    APPEND_FIELD_NUMBER: _ClassVar[int]
    LAST_CHUNK_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    task_id: str
    artifact: ArtifactInput
    append: bool
    last_chunk: bool
    subject_user_id: str
    request_id: str
    def __init__(self, context_id: _Optional[str] = ..., task_id: _Optional[str] = ..., artifact: _Optional[_Union[ArtifactInput, _Mapping]] = ..., append: _Optional[bool] = ..., last_chunk: _Optional[bool] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutArtifactResponse(_message.Message):
    __slots__ = ("artifact", "redacted_parts")
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    REDACTED_PARTS_FIELD_NUMBER: _ClassVar[int]
    artifact: Artifact
    redacted_parts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, artifact: _Optional[_Union[Artifact, _Mapping]] = ..., redacted_parts: _Optional[_Iterable[int]] = ...) -> None: ...

class GetArtifactRequest(_message.Message):
    __slots__ = ("context_id", "task_id", "artifact_id", "version", "subject_user_id", "ref")
    CONTEXT_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    ARTIFACT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REF_FIELD_NUMBER: _ClassVar[int]
    context_id: str
    task_id: str
    artifact_id: str
    version: int
    subject_user_id: str
    ref: str
    def __init__(self, context_id: _Optional[str] = ..., task_id: _Optional[str] = ..., artifact_id: _Optional[str] = ..., version: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., ref: _Optional[str] = ...) -> None: ...

class GetArtifactResponse(_message.Message):
    __slots__ = ("artifact",)
    ARTIFACT_FIELD_NUMBER: _ClassVar[int]
    artifact: Artifact
    def __init__(self, artifact: _Optional[_Union[Artifact, _Mapping]] = ...) -> None: ...
