from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
CALL_FIELD_NUMBER: _ClassVar[int]
call: _descriptor.FieldDescriptor

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
