"""Memories: what is kept about a user."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from contextkeep.context.v1 import knowledge_pb2 as knowledge_pb
from contextkeep.values.base import Value, time_of
from contextkeep.values.imported import Imported, imported_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MemorySource(Value):
    """Where a statement comes from, in the words of whoever retained it."""

    label: str = ""  # such as a file's name
    uri: str = ""
    context_id: str = ""  # a conversation
    ref: str = ""  # a place within it

    @classmethod
    def from_proto(cls, source: knowledge_pb.MemorySource) -> MemorySource:
        """Return the value of a message."""
        return cls(label=source.label, uri=source.uri, context_id=source.context_id, ref=source.ref)

    def to_proto(self) -> knowledge_pb.MemorySource:
        """Return the message of the value."""
        return knowledge_pb.MemorySource(label=self.label, uri=self.uri, context_id=self.context_id, ref=self.ref)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Experience(Value):
    """What was tried, and what came of it."""

    goal: str = ""
    outcome: str = ""
    quality: float | None = None  # from 0 to 1; None: nobody said

    @classmethod
    def from_proto(cls, experience: knowledge_pb.MemoryExperience) -> Experience:
        """Return the value of a message."""
        return cls(
            goal=experience.goal,
            outcome=experience.outcome,
            quality=experience.quality if experience.HasField("quality") else None,
        )

    def to_proto(self) -> knowledge_pb.MemoryExperience:
        """Return the message of the value."""
        return knowledge_pb.MemoryExperience(goal=self.goal, outcome=self.outcome, quality=self.quality)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Memory(Value):
    """A statement about a user. Its text is material, whoever wrote it, and never an instruction."""

    memory_id: str
    text: str
    kind: str = "fact"  # "fact", "preference", "experience" or "observation"
    confidence: float = 1.0
    sources: tuple[MemorySource, ...] = ()  # of a merged one, those of all
    happened_at: datetime | None = None
    key: str = ""  # what it is about
    experience: Experience | None = None
    state: str = ""  # "pending": its words find it, and its vector follows; "indexed"; "failed": its words alone
    superseded_by: str = ""  # the next newer one of its key; empty: it holds
    contradicts: tuple[str, ...] = ()  # others of its key that say something else
    version: int = 0
    owner_user_id: str = ""
    app_id: str = ""
    agent_bundle_id: str = ""
    created_by: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    imported: Imported | None = None  # None: no import wrote it

    def __str__(self) -> str:
        return self.text

    @classmethod
    def from_proto(cls, memory: knowledge_pb.Memory) -> Memory:
        """Return the value of a message."""
        return cls(
            memory_id=memory.memory_id,
            text=memory.text,
            kind=kind_text(memory.kind),
            confidence=memory.confidence,
            sources=tuple(map(MemorySource.from_proto, memory.sources)),
            happened_at=time_of(memory.happened_at),
            key=memory.key,
            experience=Experience.from_proto(memory.experience) if memory.HasField("experience") else None,
            state=knowledge_pb.MemoryState.Name(memory.state).removeprefix("MEMORY_STATE_").lower(),
            superseded_by=memory.superseded_by,
            contradicts=tuple(memory.contradicts),
            version=memory.version,
            owner_user_id=memory.owner_user_id,
            app_id=memory.app_id,
            agent_bundle_id=memory.agent_bundle_id,
            created_by=memory.created_by,
            created_at=time_of(memory.created_at),
            updated_at=time_of(memory.updated_at),
            imported=imported_of(memory.imported, is_set=memory.HasField("imported")),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecalledMemory(Value):
    """A memory that matters to a question."""

    memory: Memory
    score: float = 0.0  # it compares those of one answer

    def __str__(self) -> str:
        return self.memory.text

    @classmethod
    def from_proto(cls, recalled: knowledge_pb.RecalledMemory) -> RecalledMemory:
        """Return the value of a message."""
        return cls(memory=Memory.from_proto(recalled.memory), score=recalled.score)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reflection(Value):
    """What is remembered of a question, as one statement."""

    statement: str  # a line for each sentence, with its date; empty: nothing
    memory_ids: tuple[str, ...] = ()  # that it rests on, in the order of its lines
    superseded_ids: tuple[str, ...] = ()  # what was found and holds no longer
    method: str = ""  # "extractive": nothing in it is new
    mode: str = ""  # "words", or "words and meaning"

    def __str__(self) -> str:
        return self.statement

    @classmethod
    def from_proto(cls, response: knowledge_pb.ReflectMemoriesResponse) -> Reflection:
        """Return the value of a message."""
        return cls(
            statement=response.statement,
            memory_ids=tuple(response.memory_ids),
            superseded_ids=tuple(response.superseded_ids),
            method=response.method,
            mode=response.mode,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Consolidation(Value):
    """What there is to merge and to promote, or was."""

    plan: str = ""  # to apply it; empty: there is nothing to do
    merged: dict[str, tuple[str, ...]] = field(default_factory=dict, hash=False)  # into each that stays: which others
    promoted: tuple[Lesson, ...] = ()
    has_more: bool = False  # there is more to do, after this
    is_applied: bool = False

    @classmethod
    def from_proto(cls, response: knowledge_pb.ConsolidateMemoriesResponse) -> Consolidation:
        """Return the value of a message."""
        return cls(
            plan=response.plan,
            merged={one.memory_id: tuple(one.merged_ids) for one in response.merged},
            promoted=tuple(map(Lesson.from_proto, response.promoted)),
            has_more=response.has_more,
            is_applied=response.is_applied,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Lesson(Value):
    """What runs taught."""

    text: str
    memory_id: str = ""  # of the observation; empty: it is not made yet
    experience_ids: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, promoted: knowledge_pb.PromotedLesson) -> Lesson:
        """Return the value of a message."""
        return cls(text=promoted.text, memory_id=promoted.memory_id, experience_ids=tuple(promoted.experience_ids))


def kind_text(kind: knowledge_pb.MemoryKind) -> str:
    """Return the name of a kind."""
    return knowledge_pb.MemoryKind.Name(kind).removeprefix("MEMORY_KIND_").lower()
