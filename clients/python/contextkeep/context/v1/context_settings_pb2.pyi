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

class ModelUse(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODEL_USE_UNSPECIFIED: _ClassVar[ModelUse]
    MODEL_USE_ON: _ClassVar[ModelUse]
    MODEL_USE_OFF: _ClassVar[ModelUse]

class LearningMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LEARNING_MODE_UNSPECIFIED: _ClassVar[LearningMode]
    LEARNING_MODE_OFF: _ClassVar[LearningMode]
    LEARNING_MODE_RULES: _ClassVar[LearningMode]
    LEARNING_MODE_MODEL: _ClassVar[LearningMode]
MODEL_USE_UNSPECIFIED: ModelUse
MODEL_USE_ON: ModelUse
MODEL_USE_OFF: ModelUse
LEARNING_MODE_UNSPECIFIED: LearningMode
LEARNING_MODE_OFF: LearningMode
LEARNING_MODE_RULES: LearningMode
LEARNING_MODE_MODEL: LearningMode

class ContextSetting(_message.Message):
    __slots__ = ("app_id", "agent_id", "models", "updated_at", "updated_by", "imported", "is_findable", "learning")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_BY_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    IS_FINDABLE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    agent_id: str
    models: ModelUse
    updated_at: _timestamp_pb2.Timestamp
    updated_by: str
    imported: _message_pb2.Imported
    is_findable: bool
    learning: LearningMode
    def __init__(self, app_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., models: _Optional[_Union[ModelUse, str]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_by: _Optional[str] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ..., is_findable: _Optional[bool] = ..., learning: _Optional[_Union[LearningMode, str]] = ...) -> None: ...

class PutContextSettingRequest(_message.Message):
    __slots__ = ("app_id", "agent_id", "models", "request_id", "is_findable", "learning")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    IS_FINDABLE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    agent_id: str
    models: ModelUse
    request_id: str
    is_findable: bool
    learning: LearningMode
    def __init__(self, app_id: _Optional[str] = ..., agent_id: _Optional[str] = ..., models: _Optional[_Union[ModelUse, str]] = ..., request_id: _Optional[str] = ..., is_findable: _Optional[bool] = ..., learning: _Optional[_Union[LearningMode, str]] = ...) -> None: ...

class PutContextSettingResponse(_message.Message):
    __slots__ = ("setting",)
    SETTING_FIELD_NUMBER: _ClassVar[int]
    setting: ContextSetting
    def __init__(self, setting: _Optional[_Union[ContextSetting, _Mapping]] = ...) -> None: ...

class GetContextSettingsRequest(_message.Message):
    __slots__ = ("app_id", "agent_id")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_ID_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    agent_id: str
    def __init__(self, app_id: _Optional[str] = ..., agent_id: _Optional[str] = ...) -> None: ...

class GetContextSettingsResponse(_message.Message):
    __slots__ = ("settings", "models", "is_findable", "learning")
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    MODELS_FIELD_NUMBER: _ClassVar[int]
    IS_FINDABLE_FIELD_NUMBER: _ClassVar[int]
    LEARNING_FIELD_NUMBER: _ClassVar[int]
    settings: _containers.RepeatedCompositeFieldContainer[ContextSetting]
    models: ModelUse
    is_findable: bool
    learning: LearningMode
    def __init__(self, settings: _Optional[_Iterable[_Union[ContextSetting, _Mapping]]] = ..., models: _Optional[_Union[ModelUse, str]] = ..., is_findable: _Optional[bool] = ..., learning: _Optional[_Union[LearningMode, str]] = ...) -> None: ...
