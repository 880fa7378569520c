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

class SpecialistInput(_message.Message):
    __slots__ = ("specialist_id", "display_name", "instructions", "node_ids", "steps_max", "is_default")
    SPECIALIST_ID_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    STEPS_MAX_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    specialist_id: str
    display_name: str
    instructions: str
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    steps_max: int
    is_default: bool
    def __init__(self, specialist_id: _Optional[str] = ..., display_name: _Optional[str] = ..., instructions: _Optional[str] = ..., node_ids: _Optional[_Iterable[str]] = ..., steps_max: _Optional[int] = ..., is_default: _Optional[bool] = ...) -> None: ...

class Specialist(_message.Message):
    __slots__ = ("specialist_id", "display_name", "instructions", "node_ids", "steps_max", "is_default", "provider_id", "version", "created_at", "updated_at", "updated_by", "imported")
    SPECIALIST_ID_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTIONS_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    STEPS_MAX_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BY_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    specialist_id: str
    display_name: str
    instructions: str
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    steps_max: int
    is_default: bool
    provider_id: str
    version: int
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    updated_by: str
    imported: _message_pb2.Imported
    def __init__(self, specialist_id: _Optional[str] = ..., display_name: _Optional[str] = ..., instructions: _Optional[str] = ..., node_ids: _Optional[_Iterable[str]] = ..., steps_max: _Optional[int] = ..., is_default: _Optional[bool] = ..., provider_id: _Optional[str] = ..., version: _Optional[int] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_by: _Optional[str] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class PutSpecialistRequest(_message.Message):
    __slots__ = ("specialist", "request_id")
    SPECIALIST_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    specialist: SpecialistInput
    request_id: str
    def __init__(self, specialist: _Optional[_Union[SpecialistInput, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutSpecialistResponse(_message.Message):
    __slots__ = ("specialist",)
    SPECIALIST_FIELD_NUMBER: _ClassVar[int]
    specialist: Specialist
    def __init__(self, specialist: _Optional[_Union[Specialist, _Mapping]] = ...) -> None: ...

class ListSpecialistsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSpecialistsResponse(_message.Message):
    __slots__ = ("specialists", "next_page_token")
    SPECIALISTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    specialists: _containers.RepeatedCompositeFieldContainer[Specialist]
    next_page_token: str
    def __init__(self, specialists: _Optional[_Iterable[_Union[Specialist, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteSpecialistRequest(_message.Message):
    __slots__ = ("specialist_id", "request_id")
    SPECIALIST_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    specialist_id: str
    request_id: str
    def __init__(self, specialist_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class DeleteSpecialistResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
