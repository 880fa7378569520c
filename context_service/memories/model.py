"""Memories: what is kept about a user. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

CONTRADICTIONS_MAX = 10  # that are named
SOURCES_MAX = 100  # of a memory


class MemoryKind(Enum):
    """What a statement is."""

    FACT = "fact"
    PREFERENCE = "preference"
    EXPERIENCE = "experience"
    OBSERVATION = "observation"


class MemoryState(Enum):
    """How far a memory is that is stored: its words find it in each of these."""

    PENDING = "pending"  # its vector is owed
    INDEXED = "indexed"
    FAILED = "failed"  # the embedder does not take it


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """Where a statement comes from, in the caller's words."""

    label: str = ""
    uri: str = ""
    context_id: str = ""
    ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What was tried."""

    goal: str = ""
    outcome: str = ""
    quality: float | None = None  # 0 to 1; None: nobody said


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInput:
    """What is to be kept."""

    text: str
    kind: MemoryKind = MemoryKind.FACT
    confidence: float = 1.0
    source: MemorySource | None = None
    happened_at: datetime | None = None  # aware; None: now
    key: str = ""
    experience: Experience | None = None
    app_id: str = ""
    agent_bundle_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What is kept."""

    memory_id: UUID
    seq: int  # its place in the scope of the user's memories
    text: str
    kind: MemoryKind
    confidence: float
    sources: Sequence[MemorySource]  # the newest first
    happened_at: datetime
    key: str
    experience: Experience | None
    state: MemoryState
    superseded_by: UUID | None  # the next newer one of its key; None: it holds
    contradicts: Sequence[UUID]  # others of its key that say something else, the newest first
    version: int
    owner_user_id: str
    app_id: str
    agent_bundle_id: str
    created_by: str
    created_at: datetime
    updated_at: datetime
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Which memories are meant; what is empty asks for nothing."""

    kinds: frozenset[MemoryKind] = frozenset()
    key: str = ""
    holding_only: bool = False
    happened_from: datetime | None = None
    happened_to: datetime | None = None
