"""The request of a query, its checks, and the providers that it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from context_service.query.model import (
    BOTH,
    CONTEXT,
    CONTEXTS_MAX,
    MEMORY,
    NODES_MAX,
    PROVIDERS_MAX,
    WORKSPACE,
    MemoryMode,
    QueryScope,
)
from context_service.query.pure.policy import Policy, Ruled
from context_service.query.pure.provider_table import ProviderEntry, Providers
from context_service.query.pure.question_parts import QuestionPart, parts_of
from contextkeep.errors import InvalidArgument, LimitExceeded, ProviderNotAllowed
from service_runtime.inputs.documents import parse_object
from service_runtime.values.checks import check_at_most, check_between, check_count, check_text

QUERY_CHARS_MAX = 8_000
LIMIT_DEFAULT, LIMIT_MAX = 20, 50
TOKENS_MAX = 100_000
REFS_MAX = 20  # the most refs that one query expands
REF_CHARS_MAX = 400
METADATA_BYTES_MAX, METADATA_NAMES_MAX = 2 * 1024, 20

_NESTING_MAX = 10  # of JSON, which is refused by its types afterwards
_SHOWN_CHARS = 80  # an error shows at most this many characters of an unknown name


class Mode(Enum):
    """The form of the answer."""

    RESULTS = "results"
    ANSWER = "answer"


class ScopeFilter(Enum):
    """The owners whose hits are wanted."""

    AUTO = "auto"
    PERSONAL = "personal"
    TEAM = "team"  # data that belongs to no user

    @property
    def scopes(self) -> frozenset[QueryScope]:
        """The scopes that hits may have."""
        return BOTH if self is ScopeFilter.AUTO else frozenset({QueryScope[self.name]})


class Depth(Enum):
    """The effort of a query."""

    QUICK = "quick"
    DEEP = "deep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Selects the providers that are in the list of ids or in the list of families."""

    ids: tuple[str, ...] = ()
    families: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """A query as the caller sends it."""

    query: str
    mode: Mode = Mode.RESULTS
    scope: ScopeFilter = ScopeFilter.AUTO
    depth: Depth = Depth.QUICK
    limit: int = LIMIT_DEFAULT
    selection: Selection | None = None  # None selects the default providers
    context_ids: tuple[UUID, ...] = ()
    node_ids: tuple[UUID, ...] = ()
    has_workspace_options: bool = False
    memory_mode: MemoryMode | None = None  # None means the tenant's setting, or the default
    has_memory_options: bool = False
    tokens_max: int = 0
    time_from: datetime | None = None
    time_to: datetime | None = None
    explain: bool = False
    agent_id: str = ""  # the agent that asks; empty means the agent of the key, if it has one
    expand_refs: tuple[str, ...] = ()
    score_min: float | None = None  # None means the default of the mode
    metadata_json: str = ""  # values that the metadata of hits must have; empty sets no condition

    @property
    def parts(self) -> tuple[QuestionPart, ...]:
        """The things that a deep query asks for, each by itself; empty if it asks for one."""
        return parts_of(self.query) if self.depth is Depth.DEEP else ()

    @property
    def metadata(self) -> Mapping[str, object]:
        """The values that the metadata of hits must have.

        Raises:
            InvalidArgument: `metadata_json` is no JSON object of texts, numbers and booleans.
            LimitExceeded: it is too large.
        """
        if not self.metadata_json:
            return {}
        metadata = parse_object(
            "metadata_json", self.metadata_json, size_bytes_max=METADATA_BYTES_MAX, nesting_max=_NESTING_MAX
        )
        check_count("metadata_json", len(metadata), METADATA_NAMES_MAX)
        for name, value in metadata.items():
            field = f"metadata_json.{name[:_SHOWN_CHARS]}"
            if not name or "." in name:
                raise InvalidArgument(f"{field}: a name must not be empty or have a dot", field=field)
            if not isinstance(value, str | int | float | bool):
                raise InvalidArgument(f"{field} must be a text, a number or a boolean", field=field)
        return metadata

    def check(self) -> None:
        """Check the request.

        Raises:
            InvalidArgument: a field is malformed; the error names it.
            LimitExceeded: a field is too long or too large.
        """
        if not self.query.strip():
            raise InvalidArgument("query must not be blank", field="query")
        check_text("query", self.query, chars_max=QUERY_CHARS_MAX)
        check_between("limit", self.limit, 1, LIMIT_MAX)
        if self.score_min is not None:
            check_between("score_min", self.score_min, 0, 1)
        if self.tokens_max < 0:
            raise InvalidArgument(f"tokens_max must be 0 or more (got {self.tokens_max})", field="tokens_max")
        if self.time_from and self.time_to and self.time_from >= self.time_to:
            raise InvalidArgument("time_to must be later than time_from", field="time_to")
        _ = self.metadata
        selection = self.selection or Selection()
        check_at_most("tokens_max", self.tokens_max, TOKENS_MAX)
        for field, count, count_max in (
            ("context_ids", len(self.context_ids), CONTEXTS_MAX),
            ("provider_options.workspace.node_ids", len(self.node_ids), NODES_MAX),
            ("providers.ids", len(selection.ids), PROVIDERS_MAX),
            ("providers.families", len(selection.families), PROVIDERS_MAX),
            ("expand_refs", len(self.expand_refs), REFS_MAX),
        ):
            check_count(field, count, count_max)
        for place, ref in enumerate(self.expand_refs):
            field = f"expand_refs[{place}]"
            if not ref.strip():
                raise InvalidArgument(f"{field} must not be blank", field=field)
            check_text(field, ref, chars_max=REF_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A provider that a query selects."""

    entry: ProviderEntry
    skipped: str = ""  # why it is not asked after all
    only_expands: bool = False  # it is not asked, but gives what its refs are of


def selected(question: QueryRequest, providers: Providers, policy: Policy) -> list[Selected]:
    """Return the providers of a query, by id.

    Raises:
        InvalidArgument: the selection is empty, or names an unknown provider; or an option is for a provider that
            is not selected.
        LimitExceeded: too many providers are selected.
        ProviderNotAllowed: the policy of the agent, or of its template, forbids a named provider.
    """
    selection = question.selection
    ruled = [policy.of(provider) for provider in providers.all]
    if selection is None:
        chosen = [
            ruling
            for ruling in ruled
            if ruling.entry.info.is_default and ruling.entry.info.scopes & question.scope.scopes
        ]
    else:
        chosen = _chosen(selection, {ruling.entry.info.id: ruling for ruling in ruled})
    by_id = {choice.entry.info.id: choice for choice in chosen}
    for field, is_given, provider_id in (
        ("context_ids", bool(question.context_ids), CONTEXT),
        ("provider_options.workspace", question.has_workspace_options, WORKSPACE),
        ("provider_options.memory", question.has_memory_options, MEMORY),
    ):
        if not is_given or provider_id in by_id:
            continue
        meant = [ruling for ruling in ruled if ruling.entry.info.id == provider_id and selection is None]
        if meant and meant[0].refused_by:
            raise _not_allowed(field, provider_id, meant[0].refused_by)
        if not meant or (meant[0].is_enabled and provider_id != CONTEXT):
            raise InvalidArgument(f"{field} is only for the provider {provider_id}, which is not selected", field=field)
        by_id[provider_id] = meant[0]
    selected_ones = {
        provider_id: Selected(entry=ruling.entry, skipped=_not_asked(ruling, question.scope))
        for provider_id, ruling in by_id.items()
    }
    for ref in question.expand_refs if selection is None else ():
        for ruling in ruled:
            if ruling.entry.info.id == provider_of(ref) and not ruling.refused_by:
                refused = _not_asked(ruling, question.scope)
                expands = Selected(
                    entry=ruling.entry, skipped=refused or "it only expands refs", only_expands=not refused
                )
                selected_ones.setdefault(ruling.entry.info.id, expands)
    if len(selected_ones) > PROVIDERS_MAX:
        raise LimitExceeded(
            f"{len(selected_ones)} providers are selected; the limit is {PROVIDERS_MAX}",
            field="providers",
            limit="providers",
            limit_max=PROVIDERS_MAX,
            value=len(selected_ones),
        )
    return [selected_ones[provider_id] for provider_id in sorted(selected_ones)]


def provider_of(ref: str) -> str:
    """Return the id of the provider that a hit's ref names."""
    return ref.partition(":")[0]


def _chosen(selection: Selection, ruled: Mapping[str, Ruled]) -> list[Ruled]:
    """Return the providers that a query names, by id and by family, without those that a policy forbids.

    Raises:
        InvalidArgument: nothing is named, or a name is unknown.
        ProviderNotAllowed: the policy forbids a named provider, or a whole named family.
    """
    if not (selection.ids or selection.families):
        raise InvalidArgument("providers must name at least one id or family", field="providers")
    chosen = []
    for place, provider_id in enumerate(selection.ids):
        field = f"providers.ids[{place}]"
        if provider_id not in ruled:
            raise InvalidArgument(f"{field}: there is no provider {provider_id[:_SHOWN_CHARS]!r}", field=field)
        if ruled[provider_id].refused_by:
            raise _not_allowed(field, provider_id, ruled[provider_id].refused_by)
        chosen.append(ruled[provider_id])
    for place, family in enumerate(selection.families):
        field = f"providers.families[{place}]"
        there = [ruling for ruling in ruled.values() if ruling.entry.info.family == family]
        if not there:
            raise InvalidArgument(f"{field}: there is no provider of family {family[:_SHOWN_CHARS]!r}", field=field)
        allowed = [ruling for ruling in there if not ruling.refused_by]
        if not allowed:
            raise _not_allowed(field, family, there[0].refused_by)
        chosen += allowed
    return chosen


def _not_allowed(field: str, name: str, refused_by: str) -> ProviderNotAllowed:
    return ProviderNotAllowed(f"{field}: {name} is not allowed to {refused_by}", field=field, provider=name)


def _not_asked(ruled: Ruled, scope: ScopeFilter) -> str:
    """Return why a selected provider is not asked; empty if it is asked."""
    if not ruled.is_enabled:
        return "it is disabled"
    scopes = ruled.entry.info.scopes
    if scopes & scope.scopes:
        return ""
    (only,) = scopes
    return f"it has only {only.name} hits"
