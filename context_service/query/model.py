"""The queries that providers get, and their answers. Values only."""

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


class QueryScope(Enum):
    """The owner of a hit."""

    PERSONAL = "personal"  # a user's own
    TEAM = "team"  # it belongs to no user


BOTH = frozenset(QueryScope)


class MemoryMode(Enum):
    """How memories are answered."""

    RECALL = "recall"  # a hit for each that matters
    REFLECT = "reflect"  # one statement, with what it rests on


class State(Enum):
    """The result of asking a provider."""

    OK = "ok"
    SKIPPED = "skipped"
    ERROR = "error"
    TIMEOUT = "timeout"
    STALE = "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRoots:
    """The nodes below which the workspace is searched."""

    whose: str  # "agent reviewer", "template reviewers", "tenant"
    node_ids: tuple[UUID, ...]  # empty: neither of them has one


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderQuery:
    """The query that a provider gets.

    Hits outside of `scopes` or of the times are dropped from every answer. A provider that can should filter by itself,
    so that other hits take their places.
    """

    query: str
    limit: int  # hits; more are cut
    scopes: frozenset[QueryScope] = BOTH
    is_deep: bool = False
    time_from: datetime | None = None
    time_to: datetime | None = None
    context_ids: tuple[UUID, ...] = ()  # of the question's `context_ids`
    node_ids: tuple[UUID, ...] = ()  # of the option `workspace.node_ids`
    memory_mode: MemoryMode | None = None  # option `memory.query_mode`; None means the default
    is_second_pass: bool = False  # of a deep question, with words of the best hits
    agent_id: str = ""  # the agent that asks; empty if there is none
    refused_ids: frozenset[str] = frozenset()  # providers whose hits policy hides, also in answers of others
    target: SearchRoots | None = None  # of the workspace; None if neither agent nor tenant has one
    knowledge_bases: tuple[str, ...] = ()  # of the agent, in addition to those of the tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A search result. Texts that are too long are cut."""

    source_id: str  # stable, and no other's of this provider
    title: str
    snippet: str
    scope: QueryScope = QueryScope.TEAM
    score: float | None = None  # the provider's own: it is shown, and decides nothing
    label: str = ""  # of its source, such as a file's name; empty: the title
    uri: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)
    as_of: datetime | None = None  # aware
    cosine: float | None = None  # of query and hit, by the service's own vectors; only native providers set it
    trust: int | None = None  # 1 to 5; None means that of the provider; only native providers set it


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer of a provider.

    A provider that fails raises instead; its state is then `ERROR`, and the hits of other providers are not affected.
    """

    hits: Sequence[Hit] = ()
    state: State = State.OK  # OK; SKIPPED: there was nothing to search; STALE: in part, or out of date
    reason: str = ""  # of SKIPPED and STALE
    as_of: datetime | None = None  # when what it searched was brought up to date
    ttl_s: float | None = None  # for how long it is fresh; then the answer is STALE
    target: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The whole text that a hit was taken from, as it is now."""

    source_id: str  # of the hit
    text: str
    title: str = ""
    scope: QueryScope = QueryScope.TEAM
    as_of: datetime | None = None  # aware
    is_cut: bool = False  # there is more of it than the provider gives


def without_user(target: str, *, mode: str = "") -> Answered:
    """Return the answer of a provider that searches a user's own data, for a key that has no user."""
    reason = "SUBJECT_REQUIRED: the key has no user, and subject_user_id names none"
    return Answered(state=State.SKIPPED, reason=reason, target=target, mode=mode)
