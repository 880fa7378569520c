"""The policies of tenants and agents, read for each query, and the tenants' settings for providers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from context_service.agents.model import Agent, AgentInput, ProviderNames
from context_service.agents.room import ID_CHARS_MAX, Agents, no_agent
from context_service.query.model import MemoryMode
from context_service.query.pure.policy import FIELDS, Policy, ProviderSelector, Rules, Setting
from context_service.query.pure.provider_table import OwnProviders, ProviderEntry, Providers
from context_service.query.rules.cache import Remembered
from context_service.query.store.settings import SettingRows
from contextkeep.errors import InvalidArgument
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_text
from service_runtime.values.copying import copied

_ID_CHARS_MAX = 63


class Policies:
    """Reads and changes the rules for queries; each call acts for its principal.

    Args:
        database: The database that holds the tenants' settings.
        providers: The providers of the service, to which settings apply.
        agents: Finds the agent that a query names.
        templates: Finds the template of an agent.
        own: The families of providers that tenants define themselves.
        requests: The store of idempotency keys and their answers.
    """

    def __init__(
        self,
        database: Database,
        providers: Providers,
        agents: Agents,
        templates: Agents,
        *,
        own: Sequence[OwnProviders],
        requests: Requests,
    ) -> None:
        self._database = database
        self._own = own
        self._agents = agents
        self._templates = templates
        self._providers = providers
        self._requests = requests
        self._rows = SettingRows(database=database)
        self._known: Remembered[UUID, Mapping[str, Setting]] = Remembered()  # by tenant
        self._known_own: Remembered[tuple[Any, ...], Sequence[ProviderEntry]] = Remembered()
        self._known_agents: Remembered[tuple[Any, ...], Agent | None] = Remembered()

    async def of(self, agent_id: str, *, principal: Principal) -> Policy:
        """Return the policy for a query: the tenant's settings, and the rules of the agent and its template.

        Args:
            agent_id: The agent; empty for the agent of the credential, if a caller has put one with that id.
            principal: The caller, whose tenant's settings apply.

        Raises:
            InvalidArgument: the agent id is malformed.
            AgentNotFound: the agent does not exist, or the principal may not name it; the two look the same.
        """
        check_text("agent_id", agent_id, chars_max=ID_CHARS_MAX)
        agent = None
        if named := agent_id or principal.agent_id:
            key = self._agent_key(named, principal)
            agent = await self._known_agents.get(key, lambda: self._agents.find(named, principal=principal))
        if agent_id and agent is None:
            raise no_agent(agent_id)
        settings = await self._settings(principal)
        own = await self.own(principal)
        return Policy(settings=settings, own=own, rules=_rules(agent), is_users_own_key=_is_users_own(principal))

    def at_hand(self, agent_id: str, *, principal: Principal) -> Policy | None:
        """Return the result of `of` from the cache, without waiting, or None if it is not all there.

        Raises:
            InvalidArgument, LimitExceeded, AgentNotFound: as in `of`.
        """
        check_text("agent_id", agent_id, chars_max=ID_CHARS_MAX)
        agent = None
        try:
            if named := agent_id or principal.agent_id:
                agent = self._known_agents.fresh(self._agent_key(named, principal))
            settings = self._known.fresh(principal.tenant_id)
            own = [entry for provider in self._own for entry in self._known_own.fresh(_own_key(provider, principal))]
        except KeyError:
            return None
        if agent_id and agent is None:
            raise no_agent(agent_id)
        return Policy(settings=settings, own=own, rules=_rules(agent), is_users_own_key=_is_users_own(principal))

    async def own(self, principal: Principal) -> Sequence[ProviderEntry]:
        """Return the providers that a tenant defines itself."""
        entries: list[ProviderEntry] = []
        for provider in self._own:
            entries += await self._known_own.get(_own_key(provider, principal), partial(provider.of, principal))
        return entries

    def _agent_key(self, agent_id: str, principal: Principal) -> tuple[Any, ...]:
        asking = "admin" in principal.scopes, principal.agent_id, principal.user_id, principal.subject
        changes = self._agents.changes, self._templates.changes
        return (principal.tenant_id, agent_id, *asking, *changes)

    async def _settings(self, principal: Principal) -> Mapping[str, Setting]:
        """Return the tenant's settings by provider, from a short-lived cache."""

        async def read() -> Mapping[str, Setting]:
            rows = await self._rows.read(principal)
            return {row.provider_id: replace(_setting(row.setting), imported_json=row.imported_json) for row in rows}

        return await self._known.get(principal.tenant_id, read)

    async def update(
        self,
        provider_id: str,
        setting: Setting,
        reset: Sequence[str],
        *,
        principal: Principal,
        request: Request | None,
    ) -> Setting:
        """Change a tenant's setting for a provider, and return the whole setting.

        Args:
            provider_id: The provider that the setting is for.
            setting: The fields to change; fields that are None stay as they are.
            reset: The names of fields that get the provider's default again.
            principal: The caller, whose tenant's setting is changed.
            request: The idempotency key of the call; None if the caller gave none.

        Raises:
            InvalidArgument: the provider or a field does not exist, or the field does not apply to the provider.
            LimitExceeded: the id of the provider is too long, or there are too many nodes.
            PermissionDenied: the key is bound.
            RequestIdReused: another request had the same request id.
        """
        check_text("setting.provider_id", provider_id, chars_max=_ID_CHARS_MAX, required=True)
        is_own = any(entry.info.id == provider_id for entry in await self.own(principal))
        if self._providers.get(provider_id) is None and not is_own:
            raise InvalidArgument(f"there is no provider {provider_id!r}", field="setting.provider_id")
        setting.check(provider_id)
        if is_own and setting.is_default is not None:
            # For these providers the default is stored only with the approval, so that both end together.
            raise InvalidArgument(
                "setting.is_default of a tenant's own provider is set where the provider is put or approved",
                field="setting.is_default",
            )
        stored_fields = _json(setting)
        for place, name in enumerate(reset):
            field = f"reset[{place}]"
            if name not in FIELDS:
                raise InvalidArgument(f"{field} must be one of {', '.join(FIELDS)} (got {name[:100]!r})", field=field)
            if name in stored_fields:
                raise InvalidArgument(f"{field} names {name}, which setting gives; leave one of them out", field=field)

        async def work(transaction: Transaction) -> Setting:
            before = await self._rows.lock(transaction, provider_id)
            after = {name: value for name, value in {**before, **stored_fields}.items() if name not in reset}
            await self._rows.write(transaction, provider_id, after, updated_by=principal.subject)
            return _setting(after)

        try:
            return await self._database.of(principal).transaction(self._requests.once(request, work))
        finally:  # drop the cache after an error, too, because a commit may have succeeded although its answer was lost
            self._known.forget()


def _own_key(own: OwnProviders, principal: Principal) -> tuple[Any, ...]:
    return principal.tenant_id, own.family, principal.bounds, own.changes


def _is_users_own(principal: Principal) -> bool:
    """Return whether a key belongs to its user, and is bound to no context."""
    return bool(principal.user_id) and principal.context_id is None and "delegate" not in principal.scopes


def _rules(agent: Agent | None) -> list[Rules]:
    """Return the rules of an agent, followed by those of its template."""
    if agent is None:
        return []
    rules = [_rules_of(agent.content, f"agent {agent.content.agent_id}")]
    if agent.template is not None:
        rules.append(_rules_of(agent.template, f"template {agent.template.agent_id}"))
    return rules


def _rules_of(setting: AgentInput, whose: str) -> Rules:
    return copied(Rules, setting, whose=whose, allowed=_selector(setting.allowed), defaults=_selector(setting.defaults))


def _selector(names: ProviderNames | None) -> ProviderSelector | None:
    return ProviderSelector(ids=frozenset(names.ids), families=frozenset(names.families)) if names else None


def _json(setting: Setting) -> dict[str, Any]:
    """Return a setting as JSON values, by the names of its fields; fields that are None are left out."""
    parameters = {"enabled": setting.enabled, "is_default": setting.is_default, "deadline_ms": setting.deadline_ms}
    stored_fields: dict[str, Any] = {name: value for name, value in parameters.items() if value is not None}
    if setting.node_ids is not None:
        stored_fields["workspace"] = {"node_ids": [str(node_id) for node_id in setting.node_ids]}
    if setting.memory_mode is not None:
        stored_fields["memory"] = {"query_mode": setting.memory_mode.value}
    return stored_fields


def _setting(arguments: Mapping[str, Any]) -> Setting:
    """Return the setting that `_json` wrote. Fields of a newer release are ignored."""
    setting = Setting(
        enabled=arguments.get("enabled"),
        is_default=arguments.get("is_default"),
        deadline_ms=arguments.get("deadline_ms"),
    )
    if "workspace" in arguments:
        setting = replace(setting, node_ids=tuple(UUID(node_id) for node_id in arguments["workspace"]["node_ids"]))
    if "memory" in arguments:
        setting = replace(setting, memory_mode=MemoryMode(arguments["memory"]["query_mode"]))
    return setting
