"""Values of contextkeep/context/v1/knowledge.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import knowledge_pb2 as pb
from contextkeep.values.base import Value, time_of
from contextkeep.values.bases import WikiPageBase

MemoryKind = Literal[
    "fact",
    "preference",
    "experience",
    "observation",
]
MEMORY_KINDS: dict[int, MemoryKind] = {
    1: "fact",
    2: "preference",
    3: "experience",
    4: "observation",
}
MemoryState = Literal[
    "pending",
    "indexed",
    "failed",
]
MEMORY_STATES: dict[int, MemoryState] = {
    1: "pending",
    2: "indexed",
    3: "failed",
}
PageState = Literal[
    "fresh",
    "stale",
]
PAGE_STATES: dict[int, PageState] = {
    1: "fresh",
    2: "stale",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemorySource(Value):
    """Where a statement comes from. All of it is the caller's, and nothing of it is looked up."""

    # Such as a file's name; up to 500 characters.
    label: str = ""
    # Up to 2,000 characters.
    uri: str = ""
    # A conversation, and a ref within it, such as one that Recall answered; up to 200 characters.
    context_id: str = ""
    # A place in the conversation.
    ref: str = ""

    @classmethod
    def from_proto(cls, message: pb.MemorySource) -> MemorySource:
        """Return the value of a message."""
        return cls(
            label=message.label,
            uri=message.uri,
            context_id=message.context_id,
            ref=message.ref,
        )

    def to_proto(self) -> pb.MemorySource:
        """Return the message of the value."""
        return pb.MemorySource(
            label=self.label,
            uri=self.uri,
            context_id=self.context_id,
            ref=self.ref,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Experience(Value):
    """What was tried. The text of its memory is the lesson."""

    # Up to 2,000 characters each.
    goal: str = ""
    outcome: str = ""
    # How well it went, from 0 to 1. Unset: nobody said.
    quality: float | None = None

    @classmethod
    def from_proto(cls, message: pb.MemoryExperience) -> Experience:
        """Return the value of a message."""
        return cls(
            goal=message.goal,
            outcome=message.outcome,
            quality=message.quality if message.HasField("quality") else None,
        )

    def to_proto(self) -> pb.MemoryExperience:
        """Return the message of the value."""
        return pb.MemoryExperience(
            goal=self.goal,
            outcome=self.outcome,
            quality=self.quality,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Memory(Value):
    """A statement about a user. Its text is material, whatever wrote it, and never an instruction."""

    memory_id: str = ""
    text: str = ""
    kind: MemoryKind | Literal[""] = ""
    confidence: float = 0.0
    # Of a merged one, those of all; the newest first, up to 100.
    sources: tuple[MemorySource, ...] = ()
    happened_at: datetime | None = None
    # What it is about.
    key: str = ""
    experience: Experience | None = None
    state: MemoryState | Literal[""] = ""
    # The next newer one of its key. Empty: it holds.
    superseded_by: str = ""
    # Others of its key that say something else, the newest first, up to 10.
    contradicts: tuple[str, ...] = ()
    # Counts its changes, from 1.
    version: int = 0
    owner_user_id: str = ""
    app_id: str = ""
    agent_bundle_id: str = ""
    created_by: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    # Unset: no import wrote it.
    imported: Imported | None = None

    def __str__(self) -> str:
        return f"{self.text}"

    @classmethod
    def from_proto(cls, message: pb.Memory) -> Memory:
        """Return the value of a message."""
        return cls(
            memory_id=message.memory_id,
            text=message.text,
            kind=MEMORY_KINDS.get(message.kind, ""),
            confidence=message.confidence,
            sources=tuple(map(MemorySource.from_proto, message.sources)),
            happened_at=time_of(message.happened_at) if message.HasField("happened_at") else None,
            key=message.key,
            experience=Experience.from_proto(message.experience) if message.HasField("experience") else None,
            state=MEMORY_STATES.get(message.state, ""),
            superseded_by=message.superseded_by,
            contradicts=tuple(message.contradicts),
            version=message.version,
            owner_user_id=message.owner_user_id,
            app_id=message.app_id,
            agent_bundle_id=message.agent_bundle_id,
            created_by=message.created_by,
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            updated_at=time_of(message.updated_at) if message.HasField("updated_at") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecalledMemory(Value):
    """A memory that matters to a question."""

    memory: Memory
    # It compares those of one answer only.
    score: float = 0.0

    def __str__(self) -> str:
        return f"{self.memory.text}"

    @classmethod
    def from_proto(cls, message: pb.RecalledMemory) -> RecalledMemory:
        """Return the value of a message."""
        return cls(
            memory=Memory.from_proto(message.memory),
            score=message.score,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reflection(Value):
    """What is remembered of a question, as one statement."""

    # A line for each sentence, with its date. Empty: nothing is remembered.
    statement: str = ""
    # What it rests on, in the order of its lines; of several that say the same, all.
    memory_ids: tuple[str, ...] = ()
    # What was found and holds no longer.
    superseded_ids: tuple[str, ...] = ()
    # "extractive": nothing in it is new.
    method: str = ""
    # "words", or "words and meaning".
    mode: str = ""
    meaning_error: str = ""

    def __str__(self) -> str:
        return f"{self.statement}"

    @classmethod
    def from_proto(cls, message: pb.ReflectMemoriesResponse) -> Reflection:
        """Return the value of a message."""
        return cls(
            statement=message.statement,
            memory_ids=tuple(message.memory_ids),
            superseded_ids=tuple(message.superseded_ids),
            method=message.method,
            mode=message.mode,
            meaning_error=message.meaning_error,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Lesson(Value):
    """A lesson that runs taught."""

    # Of the observation; empty in a dry run.
    memory_id: str = ""
    # In a dry run.
    text: str = ""
    # The experiences that taught it.
    experience_ids: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.PromotedLesson) -> Lesson:
        """Return the value of a message."""
        return cls(
            memory_id=message.memory_id,
            text=message.text,
            experience_ids=tuple(message.experience_ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Consolidation(Value):
    """What there is to merge and to promote, or was."""

    # What stands for all that would be done; empty: there is nothing to do.
    plan: str = ""
    merged: dict[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    promoted: tuple[Lesson, ...] = ()
    # There is more to do, after this. A plan has up to 20 merges and 100 lessons.
    has_more: bool = False
    is_applied: bool = False

    @classmethod
    def from_proto(cls, message: pb.ConsolidateMemoriesResponse) -> Consolidation:
        """Return the value of a message."""
        return cls(
            plan=message.plan,
            merged={one.memory_id: tuple(one.merged_ids) for one in message.merged},
            promoted=tuple(map(Lesson.from_proto, message.promoted)),
            has_more=message.has_more,
            is_applied=message.is_applied,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PageSource(Value):
    """Where a page comes from. All of it is the writer's, and nothing of it is looked up."""

    # Up to 500 characters.
    label: str = ""
    # Up to 2,000 characters.
    uri: str = ""
    # Up to 200 characters.
    id: str = ""

    @classmethod
    def from_proto(cls, message: pb.PageSource) -> PageSource:
        """Return the value of a message."""
        return cls(
            label=message.label,
            uri=message.uri,
            id=message.id,
        )

    def to_proto(self) -> pb.PageSource:
        """Return the message of the value."""
        return pb.PageSource(
            label=self.label,
            uri=self.uri,
            id=self.id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WikiPage(WikiPageBase):
    """A page in one of its versions. Its text is material, whatever wrote it, and never an instruction."""

    page_id: str = ""
    # "wiki".
    family: str = ""
    slug: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    # Of what is here; `newest_version` is the page's. From 1.
    version: int = 0
    # The newest version of the page.
    newest_version: int = 0
    # Empty in lists, and in the answers of PutPage.
    markdown: str = ""
    # Likewise.
    sources: tuple[PageSource, ...] = ()
    # Memories that the page rests on.
    memory_ids: tuple[str, ...] = ()
    size_bytes: int = 0
    state: PageState | Literal[""] = ""
    # Why it is out of date: its time is over, a memory that it cites was changed since `as_of`, superseded or
    # forgotten, or there is a newer version.
    stale: tuple[str, ...] = ()
    # When it was last put, be it as it is; of a version that is not the newest, when it was written.
    as_of: datetime | None = None
    fresh_until: datetime | None = None
    owner_user_id: str = ""
    app_id: str = ""
    agent_bundle_id: str = ""
    # Who wrote the first version, and who this one.
    created_by: str = ""
    # Who wrote this version.
    written_by: str = ""
    # When the first version was written, and when this one.
    created_at: datetime | None = None
    updated_at: datetime | None = None
    # Unset: no import wrote the page or this version.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.Page) -> WikiPage:
        """Return the value of a message."""
        return cls(
            page_id=message.page_id,
            family=message.family,
            slug=message.slug,
            title=message.title,
            aliases=tuple(message.aliases),
            version=message.version,
            newest_version=message.newest_version,
            markdown=message.markdown,
            sources=tuple(map(PageSource.from_proto, message.sources)),
            memory_ids=tuple(message.memory_ids),
            size_bytes=message.size_bytes,
            state=PAGE_STATES.get(message.state, ""),
            stale=tuple(message.stale),
            as_of=time_of(message.as_of) if message.HasField("as_of") else None,
            fresh_until=time_of(message.fresh_until) if message.HasField("fresh_until") else None,
            owner_user_id=message.owner_user_id,
            app_id=message.app_id,
            agent_bundle_id=message.agent_bundle_id,
            created_by=message.created_by,
            written_by=message.written_by,
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            updated_at=time_of(message.updated_at) if message.HasField("updated_at") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PageVersion(Value):
    """A version of a page that is kept."""

    version: int = 0
    title: str = ""
    written_by: str = ""
    created_at: datetime | None = None
    size_bytes: int = 0
    # Unset: no import wrote it.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.PageVersion) -> PageVersion:
        """Return the value of a message."""
        return cls(
            version=message.version,
            title=message.title,
            written_by=message.written_by,
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            size_bytes=message.size_bytes,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )
