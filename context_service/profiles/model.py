"""The values of compression profiles and of their learning."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from context_service.profiles.pure.lookups import Counts, Learned

NAME_CHARS_MAX = 64
PROFILE_BYTES_MAX = 256 * 1024
APP_CHARS_MAX = 1_000
LEARNINGS_MAX = 1_000  # the most pairs of profile and app for which a tenant learns


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningState:
    """The state of learning for a profile and an app.

    Attributes:
        profile: The profile, by the name that windows store.
        counts: The lookups that were counted so far.
        context_count: The number of contexts that were counted.
        is_frozen: Nothing is counted or learned until a caller resumes it.
        version: The learned version that new windows get. 0 if no version was learned.
        learned_count: The number of contexts from which this version was learned.
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
    tools: list[str]  # the tools that the message's step called, if the window shows the step masked


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProfile:
    """A version of a profile.

    Attributes:
        version: The number of the version, from 1; 0 for a profile that comes with the service.
        text: The YAML as it was registered; empty if the call did not ask for it.
        base: For a learned version, the profile that it was learned from; empty for a registered one.
        app_id: For a learned version, the app whose windows taught it.
        context_count: The number of contexts that it was learned from.
        learned: The factors by which a learned version differs from its base.
        evidence: The counts of lookups from which the factors were computed.
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
    """The result of registering a profile.

    Attributes:
        version: The version that has this content.
        profiles: If the name is new, the number of the tenant's profiles.
        versions: If the content is new, the number of versions with this name.
    """

    version: int
    profiles: int = 0
    versions: int = 0
