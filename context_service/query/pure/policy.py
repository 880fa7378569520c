"""What may be asked, and what is asked by default: as the tenant, a template and an agent have it. Pure.

Each of them can only take away: a provider is asked if the tenant has it enabled, and the template and the agent, if a
question has one, both allow it. What is asked by default says the agent, else its template, else the tenant, else the
provider itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from context_service.query.model import DEADLINE_S_MAX, MEMORY, NODES_MAX, WORKSPACE, MemoryMode, SearchRoots
from context_service.query.pure.provider_table import ProviderEntry, ProviderInfo
from contextkeep.errors import InvalidArgument
from service_runtime.checks import check_between, check_count

DEADLINE_MS_MAX = round(DEADLINE_S_MAX * 1000)
FIELDS = ("enabled", "is_default", "deadline_ms", "workspace", "memory")  # of a setting, as a request names them


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a tenant says of a provider; None is what it does not say."""

    enabled: bool | None = None
    is_default: bool | None = None
    deadline_ms: int | None = None
    node_ids: tuple[UUID, ...] | None = None  # of the workspace: where those are at home who have no folder of theirs
    memory_mode: MemoryMode | None = None  # of memories: what is made of them where a question does not say it
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names

    def check(self, provider_id: str) -> None:
        """Refuse what cannot be said of a provider.

        Raises:
            InvalidArgument, LimitExceeded: the field is named.
        """
        if self.deadline_ms is not None:
            check_between("setting.deadline_ms", self.deadline_ms, 1, DEADLINE_MS_MAX)
        if self.node_ids is not None and provider_id != WORKSPACE:
            raise InvalidArgument(f"setting.workspace is for the provider {WORKSPACE}", field="setting.workspace")
        if self.memory_mode is not None and provider_id != MEMORY:
            raise InvalidArgument(f"setting.memory is for the provider {MEMORY}", field="setting.memory")
        check_count("setting.workspace.node_ids", len(self.node_ids or ()), NODES_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSelector:
    """Providers, by ids and families: all that are in either."""

    ids: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()

    def has(self, info: ProviderInfo) -> bool:
        """Say whether a provider is one of them."""
        return info.id in self.ids or info.family in self.families


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What an agent, or a template, says of whom it may ask; None is what it does not say."""

    agent_id: str  # or the template's
    whose: str  # "agent reviewer"
    allowed: ProviderSelector | None = None
    defaults: ProviderSelector | None = None
    node_ids: tuple[UUID, ...] = ()
    knowledge_bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """A provider, as a policy has it."""

    entry: ProviderEntry  # its default and its deadline are those of the policy
    is_enabled: bool
    refused_by: str  # "agent reviewer"; empty: it is allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What holds for a question."""

    settings: Mapping[str, Setting] = field(default_factory=dict)
    own: Sequence[ProviderEntry] = ()  # the tenant's own providers
    rules: Sequence[Rules] = ()  # of the agent, then of its template

    def of(self, entry: ProviderEntry) -> Ruled:
        """Return a provider as the policy has it."""
        if not self.settings and not self.rules:  # nobody says anything of any
            return Ruled(entry=entry, is_enabled=True, refused_by="")
        info = entry.info
        setting = self.settings.get(info.id, Setting())
        is_default = info.is_default if setting.is_default is None else setting.is_default
        for rules in self.rules:
            if rules.defaults is not None:
                is_default = rules.defaults.has(info)
                break
        is_enabled = setting.enabled is not False
        refused_by = next(
            (one.whose for one in self.rules if one.allowed is not None and not one.allowed.has(info)), ""
        )
        deadline_s = info.deadline_s if setting.deadline_ms is None else setting.deadline_ms / 1000
        info = replace(info, is_default=is_default and is_enabled and not refused_by, deadline_s=deadline_s)
        return Ruled(entry=replace(entry, info=info), is_enabled=is_enabled, refused_by=refused_by)

    def refused_ids(self, entries: Iterable[ProviderEntry]) -> frozenset[str]:
        """Return the ids of those that may not be asked, by whomever."""
        ruled = map(self.of, entries)
        return frozenset(one.entry.info.id for one in ruled if one.refused_by or not one.is_enabled)

    @property
    def agent_id(self) -> str:
        """For which agent it is; empty: for none."""
        return self.rules[0].agent_id if self.rules else ""

    @property
    def template_id(self) -> str:
        """Of that agent; empty: it has none."""
        return self.rules[1].agent_id if len(self.rules) > 1 else ""

    @property
    def target(self) -> SearchRoots | None:
        """Where the workspace is searched: the agent's nodes, else its template's, else the tenant's.

        None: the question has no agent, and the tenant says nothing. Of an agent there is always one.
        """
        for rules in self.rules:
            if rules.node_ids:
                return SearchRoots(whose=rules.whose, node_ids=rules.node_ids)
        tenants = self.settings.get(WORKSPACE, Setting()).node_ids
        if tenants or self.rules:
            return SearchRoots(whose="tenant", node_ids=tenants or ())
        return None

    @property
    def memory_mode(self) -> MemoryMode | None:
        """What the tenant wants made of memories where a question does not say it; None: it says nothing."""
        return self.settings.get(MEMORY, Setting()).memory_mode

    @property
    def knowledge_bases(self) -> tuple[str, ...]:
        """The names of those that the agent has, else its template; those of the tenant are asked beside them."""
        return next((rules.knowledge_bases for rules in self.rules if rules.knowledge_bases), ())
