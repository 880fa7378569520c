"""The values of compression profiles and of their learning."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from context_service.profiles.pure.lookups import Counts, Learned

LEARNINGS_MAX = 1_000  # of a tenant: of profiles and apps


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningState:
    """The state of learning for a profile and an app.

    Attributes:
        profile: The profile, by the name that windows have it by.
        counts: The counted lookups.
        context_count: The number of contexts that were counted.
        version: The learned version that new windows get. 0 if none was learned.
        learned_count: The number of contexts that this version was learned from.
    """

    profile: str
    app_id: str
    counts: Counts = Counts()
    context_count: int = 0
    is_frozen: bool = False
    version: int = 0
    learned_count: int = 0


class LookedUpMessage(NamedTuple):
    """The place of a message that was looked up, in a window that learns."""

    profile: str
    app_id: str
    tools: list[str]  # that its step called, if the window shows it masked


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProfile:
    """A version of a profile.

    Attributes:
        version: From 1; 0: it comes with the service.
        text: As it was put; empty where nobody asked for it.
        base: What it was learned of, as windows have it; empty: it was put, and so are the next ones.
        app_id: Of whose windows.
        context_count: From how many contexts.
        learned: What is other than in its base.
        evidence: The counts that it follows from.
    """

    name: str
    version: int
    text: str
    created_by: str = ""
    created_at: datetime | None = None
    base: str = ""
    app_id: str = ""
    context_count: int = 0
    learned: Learned | None = None
    evidence: Counts | None = None
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class PutVersion:
    """What became of a put.

    Attributes:
        version: Of this content.
        profiles: Of the tenant, if the name is new.
        versions: Of the name, if the content is new.
    """

    version: int
    profiles: int = 0
    versions: int = 0
