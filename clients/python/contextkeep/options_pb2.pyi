from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
CALL_FIELD_NUMBER: _ClassVar[int]
call: _descriptor.FieldDescriptor
CLIENT_FIELD_NUMBER: _ClassVar[int]
client: _descriptor.FieldDescriptor
RULE_FIELD_NUMBER: _ClassVar[int]
rule: _descriptor.FieldDescriptor

class Call(_message.Message):
    __slots__ = ("scope", "cost", "whose", "context_key")
    class Scope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SCOPE_UNSPECIFIED: _ClassVar[Call.Scope]
        READ: _ClassVar[Call.Scope]
        WRITE: _ClassVar[Call.Scope]
        ADMIN: _ClassVar[Call.Scope]
        OPERATOR: _ClassVar[Call.Scope]
        CONTEXT_READ: _ClassVar[Call.Scope]
        COMPILE: _ClassVar[Call.Scope]
        NONE: _ClassVar[Call.Scope]
    SCOPE_UNSPECIFIED: Call.Scope
    READ: Call.Scope
    WRITE: Call.Scope
    ADMIN: Call.Scope
    OPERATOR: Call.Scope
    CONTEXT_READ: Call.Scope
    COMPILE: Call.Scope
    NONE: Call.Scope
    class Cost(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        COST_UNSPECIFIED: _ClassVar[Call.Cost]
        CHEAP: _ClassVar[Call.Cost]
        RECALLS: _ClassVar[Call.Cost]
        WALKS: _ClassVar[Call.Cost]
        PACKS: _ClassVar[Call.Cost]
        SCANS: _ClassVar[Call.Cost]
        COMPILES: _ClassVar[Call.Cost]
        PARTLY: _ClassVar[Call.Cost]
    COST_UNSPECIFIED: Call.Cost
    CHEAP: Call.Cost
    RECALLS: Call.Cost
    WALKS: Call.Cost
    PACKS: Call.Cost
    SCANS: Call.Cost
    COMPILES: Call.Cost
    PARTLY: Call.Cost
    class Whose(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        WHOSE_UNSPECIFIED: _ClassVar[Call.Whose]
        TENANT: _ClassVar[Call.Whose]
        APP: _ClassVar[Call.Whose]
        NODE: _ClassVar[Call.Whose]
        USER: _ClassVar[Call.Whose]
        CONTEXT: _ClassVar[Call.Whose]
        SEVERAL: _ClassVar[Call.Whose]
    WHOSE_UNSPECIFIED: Call.Whose
    TENANT: Call.Whose
    APP: Call.Whose
    NODE: Call.Whose
    USER: Call.Whose
    CONTEXT: Call.Whose
    SEVERAL: Call.Whose
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    WHOSE_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_KEY_FIELD_NUMBER: _ClassVar[int]
    scope: Call.Scope
    cost: Call.Cost
    whose: Call.Whose
    context_key: bool
    def __init__(self, scope: _Optional[_Union[Call.Scope, str]] = ..., cost: _Optional[_Union[Call.Cost, str]] = ..., whose: _Optional[_Union[Call.Whose, str]] = ..., context_key: _Optional[bool] = ...) -> None: ...

class Rule(_message.Message):
    __slots__ = ("limit", "chars_max", "bytes_max", "items_max", "value_max", "id", "json", "required")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    CHARS_MAX_FIELD_NUMBER: _ClassVar[int]
    BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    ITEMS_MAX_FIELD_NUMBER: _ClassVar[int]
    VALUE_MAX_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    limit: _containers.RepeatedScalarFieldContainer[str]
    chars_max: int
    bytes_max: int
    items_max: int
    value_max: int
    id: bool
    json: bool
    required: bool
    def __init__(self, limit: _Optional[_Iterable[str]] = ..., chars_max: _Optional[int] = ..., bytes_max: _Optional[int] = ..., items_max: _Optional[int] = ..., value_max: _Optional[int] = ..., id: _Optional[bool] = ..., json: _Optional[bool] = ..., required: _Optional[bool] = ...) -> None: ...
