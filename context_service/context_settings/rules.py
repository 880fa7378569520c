"""Settings for contexts, and whether text of a context may be sent to a model.

`off` anywhere applies: at the tenant, the app, an agent that wrote in the context, or the context itself.
"""

from __future__ import annotations

from uuid import UUID

from context_service.context_settings.model import ContextSetting
from context_service.context_settings.store import IS_FINDABLE, LEARNING, MODELS_ARE_OFF, SETTINGS
from context_service.kernel.catalog import Catalog, check_unbound
from contextkeep.errors import InvalidArgument, NotFound
from service_runtime.postgres import Database, Row
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_stored, check_text
from service_runtime.values.copying import copied

SETTINGS_MAX = 10_000  # the most settings of a tenant
ON, OFF = "on", "off"
_AGENTS_MAX = 100  # a context keeps the ids of so many agents
_TENANT, _APP, _AGENT = "tenant", "app ", "agent "


class ContextSettings:
    """Reads and changes the settings for contexts; each call acts for its principal.

    Args:
        database: The database that holds the settings and the contexts.
        requests: The store of idempotency keys and their answers.
        name_chars_max: The most characters of the id of an app or an agent.
        learning_default: How the service learns from contexts without any setting: "off", "rules" or "model".
    """

    def __init__(
        self, database: Database, *, requests: Requests, name_chars_max: int, learning_default: str = OFF
    ) -> None:
        self._database = database
        self._name_chars_max = name_chars_max
        self._learning_default = learning_default
        self._catalog = Catalog(
            database,
            SETTINGS,
            requests=requests,
            of_row=_setting,
            not_found=lambda subject: NotFound(f"there is no setting of {subject[:100]!r}"),
            check_count=lambda count: check_stored("context_settings", count, SETTINGS_MAX),
        )

    async def put(
        self,
        app_id: str,
        agent_id: str,
        *,
        models: str,
        is_findable: bool | None,
        learning: str,
        principal: Principal,
        request: Request | None,
    ) -> ContextSetting:
        """Replace the setting of the tenant, of an app, or of an agent, and return it.

        Args:
            app_id: The app; empty for the tenant or an agent.
            agent_id: The agent; empty for the tenant or an app.
            models: "on", "off", or an empty text.
            is_findable: Whether searches over several contexts find these; None for no setting.
            learning: "off", "rules", "model", or an empty text.
            principal: The caller.
            request: The idempotency key of the call; None if the caller gave none.

        Raises:
            InvalidArgument: an app and an agent are given, or an id is malformed.
            LimitExceeded: an id is too long, or the tenant has too many settings.
            PermissionDenied: the key is bound.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "settings for contexts")
        self._check(app_id, agent_id)
        if app_id and agent_id:
            raise InvalidArgument("a setting is for an app or for an agent; give one of them", field="agent_id")
        (*_, subject) = _subjects(app_id, agent_id)
        return await self._catalog.put(
            subject,
            {"models": models, "is_findable": is_findable, "learning": learning},
            principal=principal,
            request=request,
        )

    async def applying(
        self, app_id: str, agent_id: str, *, principal: Principal
    ) -> tuple[list[ContextSetting], str, bool, str]:
        """Return the settings for contexts of an app and an agent, the tenant's first, and what they come to.

        Returns:
            The settings, whether models may be used ("on" or "off"), whether the contexts are findable, and how the
            service learns from them ("off", "rules" or "model").

        Raises:
            InvalidArgument: an id is malformed.
            LimitExceeded: an id is too long.
        """
        self._check(app_id, agent_id)
        settings = await self._catalog.find_all(_subjects(app_id, agent_id), principal=principal)
        findable = [setting.is_findable for setting in settings if setting.is_findable is not None]
        models = OFF if any(setting.models == OFF for setting in settings) else ON
        modes = [setting.learning for setting in settings if setting.learning] or [self._learning_default]
        return settings, models, findable[-1] if findable else True, OFF if OFF in modes else modes[-1]

    async def may_use_models(self, context_id: UUID, *, principal: Principal) -> bool:
        """Return whether text of a context may be sent to a model.

        An operator can switch models off for a tenant, an app, or an agent of the context. False also if the caller
        does not see the context.
        """
        tenant = self._database.of(principal, context_id=context_id)
        rows = await tenant.query(
            MODELS_ARE_OFF, {"tenant_id": tenant.tenant_id, "context_id": context_id, "agents_max": _AGENTS_MAX}
        )
        return bool(rows) and not rows[0].models_are_off

    async def is_findable(self, context_id: UUID, *, principal: Principal) -> bool:
        """Return whether searches over several contexts find a context; False if the caller does not see it."""
        tenant = self._database.of(principal, context_id=context_id)
        rows = await tenant.query(IS_FINDABLE, {"context_id": context_id, "agents_max": _AGENTS_MAX})
        return bool(rows) and rows[0].is_findable

    async def learning(self, context_id: UUID, *, principal: Principal) -> str:
        """Return how the service learns from a context now; "off" if the caller does not see it."""
        tenant = self._database.of(principal, context_id=context_id)
        rows = await tenant.query(
            LEARNING,
            {
                "tenant_id": tenant.tenant_id,
                "context_id": context_id,
                "agents_max": _AGENTS_MAX,
                "learning_default": self._learning_default,
            },
        )
        return str(rows[0].learning) if rows else OFF

    def _check(self, app_id: str, agent_id: str) -> None:
        check_text("app_id", app_id, chars_max=self._name_chars_max)
        check_text("agent_id", agent_id, chars_max=self._name_chars_max)


def _subjects(app_id: str, agent_id: str) -> list[str]:
    """Return the keys of the rows of the tenant, of an app and of an agent, without those whose id is empty."""
    return [_TENANT, *([_APP + app_id] if app_id else []), *([_AGENT + agent_id] if agent_id else [])]


def _setting(row: Row) -> ContextSetting:
    """Return the setting of a row. The subject of the row is an app, an agent, or the whole tenant."""
    subject: str = row.subject
    return copied(
        ContextSetting,
        row,
        app_id=subject.removeprefix(_APP) if subject.startswith(_APP) else "",
        agent_id=subject.removeprefix(_AGENT) if subject.startswith(_AGENT) else "",
    )
