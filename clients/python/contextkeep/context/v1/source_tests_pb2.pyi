import datetime

from contextkeep.context.v1 import context_query_pb2 as _context_query_pb2
from contextkeep.context.v1 import message_pb2 as _message_pb2
from contextkeep import options_pb2 as _options_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunSourceTestRequest(_message.Message):
    __slots__ = ("question", "replay_of", "label")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    REPLAY_OF_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    question: _context_query_pb2.QueryContextRequest
    replay_of: str
    label: str
    def __init__(self, question: _Optional[_Union[_context_query_pb2.QueryContextRequest, _Mapping]] = ..., replay_of: _Optional[str] = ..., label: _Optional[str] = ...) -> None: ...

class RunSourceTestResponse(_message.Message):
    __slots__ = ("test",)
    TEST_FIELD_NUMBER: _ClassVar[int]
    test: SourceTest
    def __init__(self, test: _Optional[_Union[SourceTest, _Mapping]] = ...) -> None: ...

class SourceTest(_message.Message):
    __slots__ = ("test_id", "created_at", "created_by", "owner_user_id", "label", "replay_of", "question", "warnings", "hit_count", "duration_ms", "answer", "imported")
    TEST_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    OWNER_USER_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    REPLAY_OF_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    HIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    test_id: str
    created_at: _timestamp_pb2.Timestamp
    created_by: str
    owner_user_id: str
    label: str
    replay_of: str
    question: _context_query_pb2.QueryContextRequest
    warnings: _containers.RepeatedScalarFieldContainer[str]
    hit_count: int
    duration_ms: int
    answer: _context_query_pb2.QueryContextResponse
    imported: _message_pb2.Imported
    def __init__(self, test_id: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_by: _Optional[str] = ..., owner_user_id: _Optional[str] = ..., label: _Optional[str] = ..., replay_of: _Optional[str] = ..., question: _Optional[_Union[_context_query_pb2.QueryContextRequest, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., hit_count: _Optional[int] = ..., duration_ms: _Optional[int] = ..., answer: _Optional[_Union[_context_query_pb2.QueryContextResponse, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class ListSourceTestsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSourceTestsResponse(_message.Message):
    __slots__ = ("tests", "next_page_token")
    TESTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    tests: _containers.RepeatedCompositeFieldContainer[SourceTest]
    next_page_token: str
    def __init__(self, tests: _Optional[_Iterable[_Union[SourceTest, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetSourceTestRequest(_message.Message):
    __slots__ = ("test_id",)
    TEST_ID_FIELD_NUMBER: _ClassVar[int]
    test_id: str
    def __init__(self, test_id: _Optional[str] = ...) -> None: ...

class GetSourceTestResponse(_message.Message):
    __slots__ = ("test",)
    TEST_FIELD_NUMBER: _ClassVar[int]
    test: SourceTest
    def __init__(self, test: _Optional[_Union[SourceTest, _Mapping]] = ...) -> None: ...

class CompareSourceTestsRequest(_message.Message):
    __slots__ = ("test_id", "other_test_id")
    TEST_ID_FIELD_NUMBER: _ClassVar[int]
    OTHER_TEST_ID_FIELD_NUMBER: _ClassVar[int]
    test_id: str
    other_test_id: str
    def __init__(self, test_id: _Optional[str] = ..., other_test_id: _Optional[str] = ...) -> None: ...

class CompareSourceTestsResponse(_message.Message):
    __slots__ = ("hits", "providers")
    HITS_FIELD_NUMBER: _ClassVar[int]
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[ComparedHit]
    providers: _containers.RepeatedCompositeFieldContainer[ComparedProvider]
    def __init__(self, hits: _Optional[_Iterable[_Union[ComparedHit, _Mapping]]] = ..., providers: _Optional[_Iterable[_Union[ComparedProvider, _Mapping]]] = ...) -> None: ...

class ComparedHit(_message.Message):
    __slots__ = ("ref", "title", "rank", "other_rank")
    REF_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    OTHER_RANK_FIELD_NUMBER: _ClassVar[int]
    ref: str
    title: str
    rank: int
    other_rank: int
    def __init__(self, ref: _Optional[str] = ..., title: _Optional[str] = ..., rank: _Optional[int] = ..., other_rank: _Optional[int] = ...) -> None: ...

class ComparedProvider(_message.Message):
    __slots__ = ("provider_id", "state", "other_state", "duration_ms", "other_duration_ms", "hit_count", "other_hit_count")
    PROVIDER_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OTHER_STATE_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    OTHER_DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    HIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    OTHER_HIT_COUNT_FIELD_NUMBER: _ClassVar[int]
    provider_id: str
    state: _context_query_pb2.ProviderState
    other_state: _context_query_pb2.ProviderState
    duration_ms: int
    other_duration_ms: int
    hit_count: int
    other_hit_count: int
    def __init__(self, provider_id: _Optional[str] = ..., state: _Optional[_Union[_context_query_pb2.ProviderState, str]] = ..., other_state: _Optional[_Union[_context_query_pb2.ProviderState, str]] = ..., duration_ms: _Optional[int] = ..., other_duration_ms: _Optional[int] = ..., hit_count: _Optional[int] = ..., other_hit_count: _Optional[int] = ...) -> None: ...

class DeleteSourceTestRequest(_message.Message):
    __slots__ = ("test_id",)
    TEST_ID_FIELD_NUMBER: _ClassVar[int]
    test_id: str
    def __init__(self, test_id: _Optional[str] = ...) -> None: ...

class DeleteSourceTestResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
