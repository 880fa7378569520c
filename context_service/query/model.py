"""The queries that providers get, and their answers. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
DEADLINE_S_MAX = 60.0  # the longest deadline that a provider or a setting may have


class QueryScope(Enum):
    """The owner of a hit."""

    PERSONAL = "personal"  # a user's own
    TEAM = "team"  # it belongs to no user


BOTH = frozenset(QueryScope)


class MemoryMode(Enum):
    """How memories are answered."""

    RECALL = "recall"  # one hit for each memory that answers the query
    REFLECT = "reflect"  # one hit: a statement made of the memories, which it cites


class State(Enum):
    """The result of asking a provider."""

    OK = "ok"
    SKIPPED = "skipped"  # the provider was not asked, or it had nothing to search
    ERROR = "error"
    TIMEOUT = "timeout"
    STALE = "stale"  # only a part was searched, or the data are out of date


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRoots:
    """The nodes below which the workspace is searched."""

    whose: str  # "agent reviewer", "template reviewers", "tenant"
    node_ids: tuple[UUID, ...]  # empty if neither the agent, nor its template, nor the tenant has a node


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderQuery:
    """The query that a provider gets.

    Hits outside of `scopes` or of the times are dropped from every answer. So are hits whose `metadata` differ, unless
    `ProviderInfo.filters_metadata` is set. A provider that can should filter by itself, so that other hits take their
    places.
    """

    query: str
    limit: int  # the most hits; further ones are dropped
    scopes: frozenset[QueryScope] = BOTH
    is_deep: bool = False
    time_from: datetime | None = None
    time_to: datetime | None = None
    context_ids: tuple[UUID, ...] = ()  # the contexts to search, from the request's `context_ids`
    node_ids: tuple[UUID, ...] = ()  # the nodes to search, from the option `workspace.node_ids`
    memory_mode: MemoryMode | None = None  # from the option `memory.query_mode`; None means the default
    metadata: Mapping[str, object] = field(default_factory=dict)  # values that hits must have; empty sets no condition
    is_second_pass: bool = False  # whether this is the second pass of a deep query, with words of the best hits
    agent_id: str = ""  # the agent that asks; empty if there is none
    # Providers that the policy forbids or disables; their hits must not be in answers of other providers either.
    refused_ids: frozenset[str] = frozenset()
    target: SearchRoots | None = None  # where the workspace is searched; None if neither agent nor tenant says it
    knowledge_bases: tuple[str, ...] = ()  # the names of the agent's, which are searched in addition to the tenant's


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A search result. Texts that are too long are cut."""

    source_id: str  # a stable id; no other hit of this provider has it
    title: str
    snippet: str
    scope: QueryScope | None = None  # None is the scope of the provider if it has only one, else TEAM
    score: float | None = None  # the score of the provider, which is shown but does not affect the ranking
    aliases: Sequence[str] = ()  # other names of its source; a hit whose name the question has comes first
    label: str = ""  # the name of its source, such as a file's name; empty means the title
    uri: str = ""
    superseded_by: str = (
        ""  # `source_id` of a newer hit of the provider, which then comes first; empty if there is none
    )
    metadata: Mapping[str, object] = field(default_factory=dict)
    as_of: datetime | None = None  # aware
    # Similarity of query and hit by vectors of this service. Only providers that come with the service set it.
    cosine: float | None = None
    trust: int | None = None  # 1 to 5; None means the provider's trust; only providers of the service set it


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer of a provider.

    A provider that fails raises instead; its state is then `ERROR`, and the hits of other providers are not affected.
    """

    hits: Sequence[Hit] = ()
    state: State = State.OK  # OK, SKIPPED or STALE
    reason: str = ""  # why it is SKIPPED or STALE
    as_of: datetime | None = None  # when the searched data were last brought up to date
    ttl_s: float | None = None  # seconds after `as_of` until the answer counts as STALE
    target: str = ""  # the searched data, such as "12 pages", for the status
    mode: str = ""  # how it was searched, for the status


WORDS_ONLY = "words only: "  # the reason of a status, before the error of the embedder


def with_words_only(answer: Answered, error: str) -> Answered:
    """Return an answer that says that only words were compared, if `error` says why embeddings were not."""
    if not error or answer.state is State.SKIPPED:
        return answer
    return replace(answer, state=State.STALE, reason="; ".join(filter(None, (answer.reason, f"{WORDS_ONLY}{error}"))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """The whole text that a hit was taken from, as it is now."""

    source_id: str  # of the hit
    text: str
    title: str = ""
    scope: QueryScope = QueryScope.TEAM
    as_of: datetime | None = None  # aware
    is_cut: bool = False  # whether the source has more text than the provider returns


def without_user(target: str, *, mode: str = "") -> Answered:
    """Return the answer of a provider that searches a user's own data, for a key that has no user."""
    reason = "SUBJECT_REQUIRED: the key has no user, and subject_user_id names none"
    return Answered(state=State.SKIPPED, reason=reason, target=target, mode=mode)
