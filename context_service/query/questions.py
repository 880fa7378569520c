"""What a caller may ask: a question, checked, and whom it is for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from context_service.query.contexts import CONTEXT, CONTEXTS_MAX
from context_service.query.providers import BOTH, PROVIDERS_MAX, Entry, Providers, Scope
from context_service.query.workspace import NODES_MAX, WORKSPACE
from contextkeep.errors import InvalidArgument, LimitExceeded
from service_runtime.documents import check_text

QUERY_CHARS_MAX = 8_000
LIMIT_DEFAULT, LIMIT_MAX = 20, 50
TOKENS_MAX = 100_000

_SHOWN_CHARS = 80  # of a name that is none


class Mode(Enum):
    """What is answered."""

    RESULTS = "results"
    ANSWER = "answer"


class ScopeAsked(Enum):
    """Whose hits are meant."""

    AUTO = "auto"
    PERSONAL = "personal"
    TEAM = "team"

    @property
    def scopes(self) -> frozenset[Scope]:
        """Which they are."""
        return BOTH if self is ScopeAsked.AUTO else frozenset({Scope[self.name]})


class Depth(Enum):
    """How much is done for it."""

    QUICK = "quick"
    DEEP = "deep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which providers are meant; of both lists, all that are in either."""

    ids: tuple[str, ...] = ()
    families: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked."""

    query: str
    mode: Mode = Mode.RESULTS
    scope: ScopeAsked = ScopeAsked.AUTO
    depth: Depth = Depth.QUICK
    limit: int = LIMIT_DEFAULT
    selection: Selection | None = None  # None: those that are asked by default
    context_ids: tuple[UUID, ...] = ()
    node_ids: tuple[UUID, ...] = ()
    has_workspace_options: bool = False
    tokens_max: int = 0
    time_from: datetime | None = None
    time_to: datetime | None = None
    explain: bool = False

    def check(self) -> None:
        """Refuse what cannot be asked.

        Raises:
            InvalidArgument, LimitExceeded: the field is named.
        """
        if not self.query.strip():
            raise InvalidArgument("query is blank", field="query")
        check_text("query", self.query, chars_max=QUERY_CHARS_MAX)
        if not 1 <= self.limit <= LIMIT_MAX:
            raise InvalidArgument(
                f"limit is {self.limit}, and not 1 to {LIMIT_MAX}", field="limit", limit_max=LIMIT_MAX, value=self.limit
            )
        if self.tokens_max < 0:
            raise InvalidArgument("tokens_max is negative", field="tokens_max")
        if self.time_from and self.time_to and self.time_from >= self.time_to:
            raise InvalidArgument("time_to is not behind time_from", field="time_to")
        selection = self.selection or Selection()
        for field, value, value_max in (
            ("tokens_max", self.tokens_max, TOKENS_MAX),
            ("context_ids", len(self.context_ids), CONTEXTS_MAX),
            ("provider_options.workspace.node_ids", len(self.node_ids), NODES_MAX),
            ("providers.ids", len(selection.ids), PROVIDERS_MAX),
            ("providers.families", len(selection.families), PROVIDERS_MAX),
        ):
            if value > value_max:
                raise LimitExceeded(
                    f"{field} is {value}; the limit is {value_max}",
                    field=field,
                    limit=field,
                    limit_max=value_max,
                    value=value,
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A provider that a question is for."""

    entry: Entry
    skipped: str = ""  # why it is not asked after all


def selected(question: Question, providers: Providers) -> list[Selected]:
    """Return whom a question is for, by id.

    Raises:
        InvalidArgument: the selection is empty, or names what is not there; or something is for a provider that is not
            in it.
    """
    selection = question.selection
    if selection is None:
        entries = [one for one in providers.all if one.info.is_default and one.info.scopes & question.scope.scopes]
        if question.context_ids:
            entries += [one for one in providers.all if one.info.id == CONTEXT]
    else:
        entries = _named(selection, providers)
    by_id = {one.info.id: one for one in entries}
    for field, is_given, provider_id in (
        ("context_ids", bool(question.context_ids), CONTEXT),
        ("provider_options.workspace", question.has_workspace_options, WORKSPACE),
    ):
        if is_given and provider_id not in by_id:
            raise InvalidArgument(f"{field} is for the provider {provider_id}, which is not selected", field=field)
    return [
        Selected(entry=one, skipped=_out_of_scope(one, question.scope))
        for one in sorted(by_id.values(), key=lambda one: one.info.id)
    ]


def _named(selection: Selection, providers: Providers) -> list[Entry]:
    if not (selection.ids or selection.families):
        raise InvalidArgument("providers is given, and names none", field="providers")
    entries = []
    for place, provider_id in enumerate(selection.ids):
        entry = providers.get(provider_id)
        if entry is None:
            field = f"providers.ids[{place}]"
            raise InvalidArgument(f"{field}: there is no provider {provider_id[:_SHOWN_CHARS]!r}", field=field)
        entries.append(entry)
    for place, family in enumerate(selection.families):
        if family not in providers.families:
            field = f"providers.families[{place}]"
            raise InvalidArgument(f"{field}: there is no provider of family {family[:_SHOWN_CHARS]!r}", field=field)
        entries += [one for one in providers.all if one.info.family == family]
    return entries


def _out_of_scope(entry: Entry, scope: ScopeAsked) -> str:
    if entry.info.scopes & scope.scopes:
        return ""
    (only,) = entry.info.scopes
    return f"it has only what is {only.name}"
