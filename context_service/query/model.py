"""What a query asks providers, and what they answer. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from uuid import UUID

# Ids of providers that have settings or options of their own.
CONTEXT = "context"
MEMORY = "memory"
WORKSPACE = "workspace"

PROVIDERS_MAX = 32
CONTEXTS_MAX = 16  # context_ids of a query
NODES_MAX = 20  # workspace.node_ids of a query, or of a setting
DEADLINE_QUICK_S, DEADLINE_DEEP_S = 2.5, 8.0
DEADLINE_S_MAX = 60.0  # of a provider's own


class Scope(Enum):
    """Whose something is."""

    PERSONAL = "personal"  # a user's own
    TEAM = "team"  # nobody's in particular


BOTH = frozenset(Scope)


class MemoryMode(Enum):
    """What is made of a user's memories."""

    RECALL = "recall"  # a hit for each that matters
    REFLECT = "reflect"  # one statement, with what it rests on


class State(Enum):
    """How a provider fared."""

    OK = "ok"
    SKIPPED = "skipped"
    ERROR = "error"
    TIMEOUT = "timeout"
    STALE = "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRoots:
    """Below which nodes the workspace is searched."""

    whose: str  # "agent reviewer", "template reviewers", "tenant"
    node_ids: tuple[UUID, ...]  # empty: neither of them has one


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderQuery:
    """What a provider is asked.

    Hits outside of `scopes` or of the times are left out of the answer whoever gives them; a provider that knows
    filters by itself, so that others have their place.
    """

    query: str
    limit: int  # hits; more are cut
    scopes: frozenset[Scope] = BOTH
    is_deep: bool = False
    time_from: datetime | None = None
    time_to: datetime | None = None
    context_ids: tuple[UUID, ...] = ()  # of the question's `context_ids`
    node_ids: tuple[UUID, ...] = ()  # of the option `workspace.node_ids`
    memory_mode: MemoryMode | None = None  # of the option `memory.query_mode`; None: the default
    is_second_pass: bool = False  # of a deep question, with words of the best hits
    agent_id: str = ""  # for which agent it is asked; empty: for none
    refused_ids: frozenset[str] = frozenset()  # providers of which policy lets nothing be shown, whoever brings it
    target: SearchRoots | None = None  # of the workspace; None: nobody says one
    knowledge_bases: tuple[str, ...] = ()  # that the agent has, beside those of the tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Something that was found. Texts that are too long are cut."""

    source_id: str  # stable, and no other's of this provider
    title: str
    snippet: str
    scope: Scope = Scope.TEAM
    score: float | None = None  # the provider's own: it is shown, and decides nothing
    label: str = ""  # of its source, such as a file's name; empty: the title
    uri: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)
    as_of: datetime | None = None  # aware
    cosine: float | None = None  # of the question and what is found, by the service's own vectors: of native providers
    trust: int | None = None  # 1 to 5, of native providers; None: the provider's


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a provider answers. What it cannot answer it raises: that is an `ERROR`, and hides no one else's hits."""

    hits: Sequence[Hit] = ()
    state: State = State.OK  # OK; SKIPPED: there was nothing to search; STALE: in part, or out of date
    reason: str = ""  # of SKIPPED and STALE
    as_of: datetime | None = None  # when what it searched was brought up to date
    ttl_s: float | None = None  # for how long that is good: behind it the answer is STALE
    target: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The whole of what a hit is from, as it is now."""

    source_id: str  # of the hit
    text: str
    title: str = ""
    scope: Scope = Scope.TEAM
    as_of: datetime | None = None  # aware
    is_cut: bool = False  # there is more of it than the provider gives


def without_user(target: str, *, mode: str = "") -> Answered:
    """Return the answer of a provider of users' own to a key that has no user."""
    reason = "SUBJECT_REQUIRED: the key has no user, and subject_user_id names none"
    return Answered(state=State.SKIPPED, reason=reason, target=target, mode=mode)
