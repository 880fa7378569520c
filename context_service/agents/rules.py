"""Agents, as context query knows them: the nodes of their files, the providers that they may query, and their callers.

An agent may have a template, which holds the same values for many agents. Agents and templates belong to a tenant. Only
administrators of the tenant write them, because an agent must not decide for itself which providers it may query.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson

from context_service.agents.model import Agent, AgentInput, Callers, ProviderNames
from context_service.agents.store import agents_of, is_in_use, lock_template
from context_service.kernel.catalog import Catalog, check_unbound
from contextkeep.errors import AgentNotFound, AgentTemplateInUse, AgentTemplateNotFound, InvalidArgument
from service_runtime.inputs import pages
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_count, check_stored, check_text, check_texts
from service_runtime.values.copying import copied

AGENTS_MAX, TEMPLATES_MAX = 10_000, 1_000  # limits for each tenant
ID_CHARS_MAX = 128
NODES_MAX = 20
KNOWLEDGE_BASES_MAX = 100
CALLERS_MAX = 1_000  # limit for each kind of caller
PROVIDERS_MAX = 64  # ids, or families, that a policy names
_NAME_CHARS_MAX = 200
_CALLER_CHARS_MAX = 512
_PROVIDER = re.compile(r"[a-z][a-z0-9-]{0,62}")


class Agents:
    """Reads and writes the agents of tenants, or their templates; each call acts for its principal.

    Args:
        database: The database that holds the agents and templates.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        is_template: Whether this instance handles templates; otherwise it handles agents.
    """

    def __init__(self, database: Database, *, requests: Requests, is_template: bool = False) -> None:
        self._is_template = is_template
        self._catalog = Catalog(
            database,
            agents_of(is_template=is_template),
            requests=requests,
            of_row=_agent,
            not_found=self._not_found,
            check_count=self._check_agents,
        )

    @property
    def changes(self) -> int:
        """The number of writes by this process, so that a cache of agents knows when it is old."""
        return self._catalog.changes

    async def put(self, agent_input: AgentInput, *, principal: Principal, request: Request | None) -> Agent:
        """Create an agent, or replace it.

        Raises:
            InvalidArgument: a field is malformed.
            AgentTemplateNotFound: there is no such template.
            LimitExceeded: a field is too large, or there are too many agents.
            PermissionDenied: the key is bound, for example to an app or a graph.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "agents")
        self._check(agent_input)

        values = {
            "template_id": agent_input.template_id,
            "callers": None if agent_input.callers is None else _json(_callers_json(agent_input.callers)),
            "body": _json(_body(agent_input)),
        }

        async def work(transaction: Transaction) -> Agent:
            if agent_input.template_id and not await lock_template(transaction, agent_input.template_id):
                raise _no_template(agent_input.template_id, field=self._field("template_id"))
            return await self._catalog.put_in(transaction, agent_input.agent_id, values, by=principal.subject)

        return await self._catalog.write(work, principal=principal, request=request)

    async def find(self, agent_id: str, *, principal: Principal) -> Agent | None:
        """Return an agent with its template, or None if there is none that the caller may name."""
        return await self._catalog.find(agent_id, principal=principal)

    async def get(self, agent_id: str, *, principal: Principal) -> Agent:
        """Return an agent.

        Raises:
            InvalidArgument: the id is malformed.
            AgentNotFound, AgentTemplateNotFound: it does not exist, or the caller may not name it.
        """
        self._check_id(agent_id)
        return await self._catalog.get(agent_id, principal=principal)

    async def page(
        self, page: pages.PageRequest, *, template_id: str = "", principal: Principal
    ) -> tuple[list[Agent], str]:
        """Return a page of the agents or templates that the caller may name, by id, and the token of the next page.

        Raises:
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        check_text("template_id", template_id, chars_max=ID_CHARS_MAX)
        query = ("ListAgents", principal.tenant_id, self._is_template, template_id)
        listed = {"template_id": template_id}
        return await self._catalog.page(page, query=query, principal=principal, conditions=listed)

    async def delete(self, agent_id: str, *, principal: Principal, request: Request | None) -> None:
        """Remove an agent, or a template that no agent has.

        Raises:
            InvalidArgument: the id is malformed.
            AgentNotFound, AgentTemplateNotFound: there is no such agent or template.
            AgentTemplateInUse: an agent has the template.
            PermissionDenied: the key is bound, for example to an app or a graph.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "agents")
        self._check_id(agent_id)

        async def work(transaction: Transaction) -> None:
            """Delete the agent; delete a template only if no agent has it, which a lock on the template keeps true."""
            if self._is_template:
                await lock_template(transaction, agent_id)
                if await is_in_use(transaction, agent_id):
                    raise AgentTemplateInUse(
                        "agents use the template; delete them first, or give them another template",
                        template_id=agent_id,
                    )
            await self._catalog.delete_in(transaction, agent_id)

        await self._catalog.write(work, principal=principal, request=request)

    @property
    def _what(self) -> str:
        return "template" if self._is_template else "agent"

    def _field(self, name: str) -> str:
        return f"{self._what}.{name}"

    def _not_found(self, agent_id: str) -> AgentNotFound | AgentTemplateNotFound:
        return _no_template(agent_id) if self._is_template else no_agent(agent_id)

    def _check_agents(self, count: int) -> None:
        check_stored(self._what + "s", count, TEMPLATES_MAX if self._is_template else AGENTS_MAX)

    def _check_id(self, agent_id: str) -> None:
        check_text(f"{self._what}_id", agent_id, chars_max=ID_CHARS_MAX, required=True)

    def _check(self, agent_input: AgentInput) -> None:
        """Refuse an agent or template with a field that is malformed or too large.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too long, or a list has too many entries.
        """
        check_text(self._field(f"{self._what}_id"), agent_input.agent_id, chars_max=ID_CHARS_MAX, required=True)
        check_text(self._field("template_id"), agent_input.template_id, chars_max=ID_CHARS_MAX)
        check_text(self._field("display_name"), agent_input.display_name, chars_max=_NAME_CHARS_MAX)
        check_count(self._field("node_ids"), len(agent_input.node_ids), NODES_MAX)
        self._check_texts("knowledge_bases", agent_input.knowledge_bases, KNOWLEDGE_BASES_MAX, _NAME_CHARS_MAX)
        for which, names in (("allowed", agent_input.allowed), ("defaults", agent_input.defaults)):
            for kind, ones in (("ids", names.ids), ("families", names.families)) if names else ():
                field = f"policy.{which}.{kind}"
                check_count(self._field(field), len(ones), PROVIDERS_MAX)
                for place, item in enumerate(ones):
                    if not _PROVIDER.fullmatch(item):
                        at = self._field(f"{field}[{place}]")
                        raise InvalidArgument(
                            f"{at} must be of lower-case letters, digits and hyphens (got {item[:100]!r})", field=at
                        )
        if agent_input.callers:
            for kind, ones in _callers_json(agent_input.callers).items():
                self._check_texts(f"callers.{kind}", ones, CALLERS_MAX, _CALLER_CHARS_MAX)

    def _check_texts(self, name: str, texts: Sequence[str], count_max: int, chars_max: int) -> None:
        field = self._field(name)
        check_texts(field, texts, count_max=count_max, chars_max=chars_max)


def no_agent(agent_id: str) -> AgentNotFound:
    """Return the error for an agent that does not exist, and for one that the caller may not name: it is the same."""
    return AgentNotFound(f"agent {agent_id[:100]!r} does not exist", agent_id=agent_id)


def _no_template(template_id: str, *, field: str = "") -> AgentTemplateNotFound:
    return AgentTemplateNotFound(
        f"agent template {template_id[:100]!r} does not exist", field=field, template_id=template_id
    )


def _body(agent_input: AgentInput) -> dict[str, Any]:
    """Return the values of an agent or template that are stored as one JSON document."""
    body: dict[str, Any] = {
        "display_name": agent_input.display_name,
        "node_ids": [str(node_id) for node_id in agent_input.node_ids],
        "knowledge_bases": agent_input.knowledge_bases,
    }
    for which, names in (("allowed", agent_input.allowed), ("defaults", agent_input.defaults)):
        if names is not None:
            body[which] = {"ids": names.ids, "families": names.families}
    return body


def _json(value: Mapping[str, Any]) -> str:
    return orjson.dumps(value).decode()


def _callers_json(callers: Callers) -> dict[str, tuple[str, ...]]:
    return {"user_ids": callers.user_ids, "agent_ids": callers.agent_ids, "subjects": callers.subjects}


def _input_of(
    agent_id: str, body: Mapping[str, Any], *, template_id: str, callers: Mapping[str, Any] | None
) -> AgentInput:
    """Return the agent input that `_body` and `_callers_json` were made of."""

    def names(which: str) -> ProviderNames | None:
        values = body.get(which)
        return (
            ProviderNames(ids=tuple(values["ids"]), families=tuple(values["families"])) if values is not None else None
        )

    return AgentInput(
        agent_id=agent_id,
        display_name=body["display_name"],
        template_id=template_id,
        node_ids=tuple(UUID(node_id) for node_id in body["node_ids"]),
        knowledge_bases=tuple(body["knowledge_bases"]),
        allowed=names("allowed"),
        defaults=names("defaults"),
        callers=None if callers is None else Callers(**{kind: tuple(ones) for kind, ones in callers.items()}),
    )


def _agent(row: Row) -> Agent:
    """Return the agent of a row. Rows of a page do not have the body of the agent's template."""
    template_body = getattr(row, "template_body", None)  # read for one agent only, not for the agents of a page
    return copied(
        Agent,
        row,
        content=_input_of(row.agent_id, row.body, template_id=row.template_id, callers=row.callers),
        template=_input_of(row.template_id, template_body, template_id="", callers=None) if template_body else None,
    )
