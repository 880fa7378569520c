"""Wiki pages: what was compiled for a user."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep.context.v1 import knowledge_pb2 as knowledge_pb
from contextkeep.values.base import Value, time_of
from contextkeep.values.imported import Imported, imported_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PageSource(Value):
    """Where a page comes from, in the words of whoever wrote it."""

    label: str = ""  # such as a file's name
    uri: str = ""
    id: str = ""

    @classmethod
    def from_proto(cls, source: knowledge_pb.PageSource) -> PageSource:
        """Return the value of a message."""
        return cls(label=source.label, uri=source.uri, id=source.id)

    def to_proto(self) -> knowledge_pb.PageSource:
        """Return the message of the value."""
        return knowledge_pb.PageSource(label=self.label, uri=self.uri, id=self.id)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WikiPage(Value):
    """A page in one of its versions. What it says is material, whoever wrote it, and never an instruction."""

    page_id: str
    slug: str
    title: str
    family: str = "wiki"
    aliases: tuple[str, ...] = ()
    version: int = 0  # of what is here
    newest_version: int = 0  # of the page
    markdown: str = ""  # empty in lists, and of a page that was put
    sources: tuple[PageSource, ...] = ()  # likewise
    memory_ids: tuple[str, ...] = ()  # that it rests on
    size_bytes: int = 0
    state: str = ""  # "fresh", or "stale"
    stale: tuple[str, ...] = ()  # why it is
    as_of: datetime | None = None  # when it was last put, be it as it is
    fresh_until: datetime | None = None
    owner_user_id: str = ""
    app_id: str = ""
    agent_bundle_id: str = ""
    created_by: str = ""
    written_by: str = ""  # this version
    created_at: datetime | None = None
    updated_at: datetime | None = None
    imported: Imported | None = None  # None: no import wrote it

    def __str__(self) -> str:
        return self.markdown or self.title

    @classmethod
    def from_proto(cls, page: knowledge_pb.Page) -> WikiPage:
        """Return the value of a message."""
        return cls(
            page_id=page.page_id,
            slug=page.slug,
            title=page.title,
            family=page.family,
            aliases=tuple(page.aliases),
            version=page.version,
            newest_version=page.newest_version,
            markdown=page.markdown,
            sources=tuple(map(PageSource.from_proto, page.sources)),
            memory_ids=tuple(page.memory_ids),
            size_bytes=page.size_bytes,
            state=knowledge_pb.PageState.Name(page.state).removeprefix("PAGE_STATE_").lower(),
            stale=tuple(page.stale),
            as_of=time_of(page.as_of),
            fresh_until=time_of(page.fresh_until) if page.HasField("fresh_until") else None,
            owner_user_id=page.owner_user_id,
            app_id=page.app_id,
            agent_bundle_id=page.agent_bundle_id,
            created_by=page.created_by,
            written_by=page.written_by,
            created_at=time_of(page.created_at),
            updated_at=time_of(page.updated_at),
            imported=imported_of(page.imported, is_set=page.HasField("imported")),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PageVersion(Value):
    """A version of a page that is kept."""

    version: int
    title: str
    written_by: str = ""
    created_at: datetime | None = None
    size_bytes: int = 0

    @classmethod
    def from_proto(cls, version: knowledge_pb.PageVersion) -> PageVersion:
        """Return the value of a message."""
        return cls(
            version=version.version,
            title=version.title,
            written_by=version.written_by,
            created_at=time_of(version.created_at),
            size_bytes=version.size_bytes,
        )
