"""Which providers a query may ask, and which it asks by default, by tenant, template and agent. Pure.

Each level can only remove providers. A provider may be asked if the tenant enables it and, for an agent, if the agent
and its template allow it. The defaults are those of the agent, else of its template, else of the tenant, else of the
provider itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from context_service.query.model import CONTEXT, DEADLINE_S_MAX, MEMORY, NODES_MAX, WORKSPACE, MemoryMode, SearchRoots
from context_service.query.pure.provider_table import ProviderEntry, ProviderInfo
from contextkeep.errors import InvalidArgument
from service_runtime.values.checks import check_between, check_count

DEADLINE_MS_MAX = round(DEADLINE_S_MAX * 1000)
FIELDS = ("enabled", "is_default", "deadline_ms", "workspace", "memory")  # of a setting, as a request names them


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The settings of a tenant for a provider. None leaves a setting to the default."""

    enabled: bool | None = None
    is_default: bool | None = None
    deadline_ms: int | None = None
    node_ids: tuple[UUID, ...] | None = None  # of the workspace, for agents without nodes of their own
    memory_mode: MemoryMode | None = None  # of memories, for queries that do not choose a mode
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names

    def check(self, provider_id: str) -> None:
        """Check the setting of a provider.

        Raises:
            InvalidArgument: a value is out of range, the field does not apply to this provider, or the provider would
                be disabled and a default.
            LimitExceeded: there are too many nodes.
        """
        if self.enabled is False and self.is_default:
            raise InvalidArgument(
                "setting.is_default must not be true for a provider that setting.enabled switches off",
                field="setting.is_default",
            )
        if self.deadline_ms is not None:
            check_between("setting.deadline_ms", self.deadline_ms, 1, DEADLINE_MS_MAX)
        if self.node_ids is not None and provider_id != WORKSPACE:
            raise InvalidArgument(
                f"setting.workspace is only for the provider {WORKSPACE} (got {provider_id})", field="setting.workspace"
            )
        if self.memory_mode is not None and provider_id != MEMORY:
            raise InvalidArgument(
                f"setting.memory is only for the provider {MEMORY} (got {provider_id})", field="setting.memory"
            )
        check_count("setting.workspace.node_ids", len(self.node_ids or ()), NODES_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSelector:
    """Selects the providers that are in the list of ids or in the list of families."""

    ids: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()

    def has(self, info: ProviderInfo) -> bool:
        """Say whether a provider is selected."""
        return info.id in self.ids or info.family in self.families


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules of an agent or a template for its providers. None leaves a rule to the next level."""

    agent_id: str  # the id of the agent or of the template
    whose: str  # "agent reviewer"
    allowed: ProviderSelector | None = None
    defaults: ProviderSelector | None = None
    node_ids: tuple[UUID, ...] = ()
    knowledge_bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """A provider with a policy applied: whether it is enabled, and who forbids it."""

    entry: ProviderEntry  # `info.is_default` and `info.deadline_s` follow from the policy
    is_enabled: bool
    refused_by: str  # who forbids it, such as "agent reviewer"; empty if it is allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules that apply to a query."""

    settings: Mapping[str, Setting] = field(default_factory=dict)
    own: Sequence[ProviderEntry] = ()  # the tenant's own providers
    rules: Sequence[Rules] = ()  # the rules of the agent, and then those of its template
    # The key is a user's own and bound to no context. Then a query searches the user's contexts by default. A key that
    # names a user (`delegate`) may belong to an agent in one of these contexts, so it must select them.
    is_users_own_key: bool = False

    def of(self, entry: ProviderEntry) -> Ruled:
        """Return a provider with this policy's settings and rules applied."""
        info = entry.info
        if info.id == CONTEXT and self.is_users_own_key:
            info = replace(info, is_default=True)
            entry = replace(entry, info=info)
        if not self.settings and not self.rules:  # there is neither a setting nor a rule
            return Ruled(entry=entry, is_enabled=True, refused_by="")
        setting = self.settings.get(info.id, Setting())
        is_default = info.is_default if setting.is_default is None else setting.is_default
        for rules in self.rules:
            if rules.defaults is not None:
                is_default = rules.defaults.has(info)
                break
        is_enabled = setting.enabled is not False
        refused_by = next(
            (rule.whose for rule in self.rules if rule.allowed is not None and not rule.allowed.has(info)), ""
        )
        deadline_s = info.deadline_s if setting.deadline_ms is None else setting.deadline_ms / 1000
        info = replace(info, is_default=is_default and is_enabled and not refused_by, deadline_s=deadline_s)
        return Ruled(entry=replace(entry, info=info), is_enabled=is_enabled, refused_by=refused_by)

    def refused_ids(self, entries: Iterable[ProviderEntry]) -> frozenset[str]:
        """Return the ids of the providers that this policy forbids."""
        ruled = map(self.of, entries)
        return frozenset(ruling.entry.info.id for ruling in ruled if ruling.refused_by or not ruling.is_enabled)

    @property
    def agent_id(self) -> str:
        """The agent that the policy is for; empty if it is for none."""
        return self.rules[0].agent_id if self.rules else ""

    @property
    def template_id(self) -> str:
        """The template of the agent; empty if it has none."""
        return self.rules[1].agent_id if len(self.rules) > 1 else ""

    @property
    def target(self) -> SearchRoots | None:
        """The nodes below which the workspace is searched: those of the agent, else its template, else the tenant.

        None if the query has no agent and the tenant names no nodes. A query of an agent always has a target.
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
        """The tenant's mode of memories, or None if it has set none."""
        return self.settings.get(MEMORY, Setting()).memory_mode

    @property
    def knowledge_bases(self) -> tuple[str, ...]:
        """The knowledge bases of the agent, else of its template. The tenant's are searched in addition."""
        return next((rules.knowledge_bases for rules in self.rules if rules.knowledge_bases), ())
