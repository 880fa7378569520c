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

class PageState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PAGE_STATE_UNSPECIFIED: _ClassVar[PageState]
    PAGE_STATE_FRESH: _ClassVar[PageState]
    PAGE_STATE_STALE: _ClassVar[PageState]
PAGE_STATE_UNSPECIFIED: PageState
PAGE_STATE_FRESH: PageState
PAGE_STATE_STALE: PageState

class PageInput(_message.Message):
    __slots__ = ("slug", "title", "markdown", "aliases", "sources", "memory_ids", "fresh_until", "app_id", "agent_bundle_id")
    SLUG_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    MARKDOWN_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    FRESH_UNTIL_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    slug: str
    title: str
    markdown: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    sources: _containers.RepeatedCompositeFieldContainer[PageSource]
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    fresh_until: _timestamp_pb2.Timestamp
    app_id: str
    agent_bundle_id: str
    def __init__(self, slug: _Optional[str] = ..., title: _Optional[str] = ..., markdown: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., sources: _Optional[_Iterable[_Union[PageSource, _Mapping]]] = ..., memory_ids: _Optional[_Iterable[str]] = ..., fresh_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ...) -> None: ...

class PageSource(_message.Message):
    __slots__ = ("label", "uri", "id")
    LABEL_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    label: str
    uri: str
    id: str
    def __init__(self, label: _Optional[str] = ..., uri: _Optional[str] = ..., id: _Optional[str] = ...) -> None: ...

class Page(_message.Message):
    __slots__ = ("page_id", "family", "slug", "title", "aliases", "version", "newest_version", "markdown", "sources", "memory_ids", "size_bytes", "state", "stale", "as_of", "fresh_until", "owner_user_id", "app_id", "agent_bundle_id", "created_by", "written_by", "created_at", "updated_at", "imported")
    PAGE_ID_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    SLUG_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NEWEST_VERSION_FIELD_NUMBER: _ClassVar[int]
    MARKDOWN_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_FIELD_NUMBER: _ClassVar[int]
    FRESH_UNTIL_FIELD_NUMBER: _ClassVar[int]
    OWNER_USER_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    page_id: str
    family: str
    slug: str
    title: str
    aliases: _containers.RepeatedScalarFieldContainer[str]
    version: int
    newest_version: int
    markdown: str
    sources: _containers.RepeatedCompositeFieldContainer[PageSource]
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    size_bytes: int
    state: PageState
    stale: _containers.RepeatedScalarFieldContainer[str]
    as_of: _timestamp_pb2.Timestamp
    fresh_until: _timestamp_pb2.Timestamp
    owner_user_id: str
    app_id: str
    agent_bundle_id: str
    created_by: str
    written_by: str
    created_at: _timestamp_pb2.Timestamp
    updated_at: _timestamp_pb2.Timestamp
    imported: _message_pb2.Imported
    def __init__(self, page_id: _Optional[str] = ..., family: _Optional[str] = ..., slug: _Optional[str] = ..., title: _Optional[str] = ..., aliases: _Optional[_Iterable[str]] = ..., version: _Optional[int] = ..., newest_version: _Optional[int] = ..., markdown: _Optional[str] = ..., sources: _Optional[_Iterable[_Union[PageSource, _Mapping]]] = ..., memory_ids: _Optional[_Iterable[str]] = ..., size_bytes: _Optional[int] = ..., state: _Optional[_Union[PageState, str]] = ..., stale: _Optional[_Iterable[str]] = ..., as_of: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., fresh_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., owner_user_id: _Optional[str] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., created_by: _Optional[str] = ..., written_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class PageVersion(_message.Message):
    __slots__ = ("version", "title", "written_by", "created_at", "size_bytes", "imported")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    version: int
    title: str
    written_by: str
    created_at: _timestamp_pb2.Timestamp
    size_bytes: int
    imported: _message_pb2.Imported
    def __init__(self, version: _Optional[int] = ..., title: _Optional[str] = ..., written_by: _Optional[str] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., size_bytes: _Optional[int] = ..., imported: _Optional[_Union[_message_pb2.Imported, _Mapping]] = ...) -> None: ...

class PutPageRequest(_message.Message):
    __slots__ = ("page", "expected_version", "subject_user_id", "request_id")
    PAGE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    page: PageInput
    expected_version: int
    subject_user_id: str
    request_id: str
    def __init__(self, page: _Optional[_Union[PageInput, _Mapping]] = ..., expected_version: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class PutPageResponse(_message.Message):
    __slots__ = ("page",)
    PAGE_FIELD_NUMBER: _ClassVar[int]
    page: Page
    def __init__(self, page: _Optional[_Union[Page, _Mapping]] = ...) -> None: ...

class GetPageRequest(_message.Message):
    __slots__ = ("page_id", "slug", "app_id", "agent_bundle_id", "version", "subject_user_id")
    PAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SLUG_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    page_id: str
    slug: str
    app_id: str
    agent_bundle_id: str
    version: int
    subject_user_id: str
    def __init__(self, page_id: _Optional[str] = ..., slug: _Optional[str] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., version: _Optional[int] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class GetPageResponse(_message.Message):
    __slots__ = ("page",)
    PAGE_FIELD_NUMBER: _ClassVar[int]
    page: Page
    def __init__(self, page: _Optional[_Union[Page, _Mapping]] = ...) -> None: ...

class ListPagesRequest(_message.Message):
    __slots__ = ("slug_prefix", "memory_id", "page_size", "page_token", "subject_user_id")
    SLUG_PREFIX_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    slug_prefix: str
    memory_id: str
    page_size: int
    page_token: str
    subject_user_id: str
    def __init__(self, slug_prefix: _Optional[str] = ..., memory_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class ListPagesResponse(_message.Message):
    __slots__ = ("pages", "next_page_token")
    PAGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    pages: _containers.RepeatedCompositeFieldContainer[Page]
    next_page_token: str
    def __init__(self, pages: _Optional[_Iterable[_Union[Page, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListPageVersionsRequest(_message.Message):
    __slots__ = ("page_id", "slug", "app_id", "agent_bundle_id", "page_size", "page_token", "subject_user_id")
    PAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SLUG_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    page_id: str
    slug: str
    app_id: str
    agent_bundle_id: str
    page_size: int
    page_token: str
    subject_user_id: str
    def __init__(self, page_id: _Optional[str] = ..., slug: _Optional[str] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., subject_user_id: _Optional[str] = ...) -> None: ...

class ListPageVersionsResponse(_message.Message):
    __slots__ = ("versions", "next_page_token")
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[PageVersion]
    next_page_token: str
    def __init__(self, versions: _Optional[_Iterable[_Union[PageVersion, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeletePageRequest(_message.Message):
    __slots__ = ("page_id", "slug", "app_id", "agent_bundle_id", "expected_version", "subject_user_id", "request_id")
    PAGE_ID_FIELD_NUMBER: _ClassVar[int]
    SLUG_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_BUNDLE_ID_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    SUBJECT_USER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    page_id: str
    slug: str
    app_id: str
    agent_bundle_id: str
    expected_version: int
    subject_user_id: str
    request_id: str
    def __init__(self, page_id: _Optional[str] = ..., slug: _Optional[str] = ..., app_id: _Optional[str] = ..., agent_bundle_id: _Optional[str] = ..., expected_version: _Optional[int] = ..., subject_user_id: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class DeletePageResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
