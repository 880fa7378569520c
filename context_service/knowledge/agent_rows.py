"""The SQL of agents and their templates: one row each, of which a caller sees those that it may name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from service_runtime.auth import Principal
from service_runtime.postgres import Database, Row, Transaction

# Who may name an agent: an administrator, the agent itself, those whom it lists, and if it lists nobody everybody but
# another agent. It is a part of each statement, so that one that may not be named costs and answers what none does.
_SEEN = """(
    %(is_admin)s OR a.is_template
    OR CASE WHEN %(by_agent)s <> '' THEN
        a.agent_id = %(by_agent)s OR coalesce(a.callers -> 'agent_ids' ? %(by_agent)s, false)
    ELSE
        a.callers IS NULL OR a.callers -> 'user_ids' ? %(by_user)s OR a.callers -> 'subjects' ? %(by_subject)s
    END
)"""
_COLUMNS = "a.agent_id, a.template_id, a.version, a.created_at, a.updated_at, a.updated_by, a.callers, a.body"
_READ = f"""
SELECT {_COLUMNS}, t.body AS template_body
FROM context.agent a
LEFT JOIN context.agent t ON t.tenant_id = %(tenant_id)s AND t.is_template AND t.agent_id = a.template_id
WHERE a.tenant_id = %(tenant_id)s AND a.is_template = %(is_template)s AND a.agent_id = %(agent_id)s AND {_SEEN}
"""  # noqa: S608 - constants
_LIST = f"""
SELECT {_COLUMNS}
FROM context.agent a
WHERE a.tenant_id = %(tenant_id)s AND a.is_template = %(is_template)s AND a.agent_id COLLATE "C" > %(after)s AND {_SEEN}
    AND (%(template_id)s = '' OR a.template_id = %(template_id)s)
ORDER BY a.agent_id COLLATE "C"
LIMIT %(count)s
"""  # noqa: S608
# A template that agents have, or get just now, stays: who puts an agent and who deletes its template take turns at it.
_TEMPLATE = "SELECT FROM context.agent WHERE tenant_id = %s AND is_template AND agent_id = %s FOR UPDATE"
_PUT = """
INSERT INTO context.agent (tenant_id, is_template, agent_id, template_id, callers, body, updated_by)
VALUES (%(tenant_id)s, %(is_template)s, %(agent_id)s, %(template_id)s, %(callers)s::jsonb, %(body)s::jsonb, %(by)s)
ON CONFLICT (tenant_id, is_template, agent_id) DO UPDATE SET template_id = EXCLUDED.template_id,
    callers = EXCLUDED.callers, body = EXCLUDED.body, updated_by = EXCLUDED.updated_by, updated_at = now(),
    version = context.agent.version + 1
RETURNING version, created_at, updated_at, updated_by
"""
_COUNT = "SELECT count(*) AS agents FROM context.agent WHERE tenant_id = %s AND is_template = %s"
_IN_USE = "SELECT EXISTS (SELECT FROM context.agent WHERE tenant_id = %s AND template_id = %s) AS is_in_use"
_DELETE = """
DELETE FROM context.agent WHERE tenant_id = %s AND is_template = %s AND agent_id = %s RETURNING agent_id
"""


class AgentRows:
    """The agents of tenants, or the templates of them."""

    def __init__(self, database: Database, *, is_template: bool) -> None:
        self._database = database
        self._is_template = is_template

    async def read(self, principal: Principal, agent_id: str) -> Row | None:
        """Return the row of an agent, with the body of its template; None: there is none that the caller may name."""
        rows = await self._database.of(principal).query(_READ, {**self._said(principal), "agent_id": agent_id})
        return rows[0] if rows else None

    async def names(self, principal: Principal, *, template_id: str, after: str, count: int) -> Sequence[Row]:
        """Return the rows that the caller may name by their ids, from behind `after` on.

        Args:
            principal: Who asks.
            template_id: Of agents: those of this template; empty: of any, and of none.
            after: An id; empty: from the first.
            count: At most.
        """
        said = {**self._said(principal), "template_id": template_id, "after": after, "count": count}
        return await self._database.of(principal).query(_LIST, said)

    async def lock_template(self, transaction: Transaction, template_id: str) -> bool:
        """Let a template stay as it is until the transaction ends, and say whether it is there."""
        return bool(await transaction.query(_TEMPLATE, (transaction.tenant_id, template_id)))

    async def put(
        self,
        transaction: Transaction,
        agent_id: str,
        *,
        template_id: str,
        callers: Mapping[str, Any] | None,
        body: Mapping[str, Any],
        by: str,
    ) -> tuple[Row, int]:
        """Write an agent; return what its row says of that, and how many agents there are now, if it is new."""
        said = {
            "tenant_id": transaction.tenant_id,
            "is_template": self._is_template,
            "agent_id": agent_id,
            "template_id": template_id,
            "callers": None if callers is None else orjson.dumps(callers).decode(),
            "body": orjson.dumps(body).decode(),
            "by": by,
        }
        (row,) = await transaction.query(_PUT, said)
        if row.version > 1:
            return row, 0
        return row, (await transaction.query(_COUNT, (transaction.tenant_id, self._is_template)))[0].agents

    async def is_in_use(self, transaction: Transaction, template_id: str) -> bool:
        """Say whether an agent has a template."""
        rows = await transaction.query(_IN_USE, (transaction.tenant_id, template_id))
        return bool(rows[0].is_in_use)

    async def delete(self, transaction: Transaction, agent_id: str) -> bool:
        """Remove an agent, and say whether there was one."""
        return bool(await transaction.query(_DELETE, (transaction.tenant_id, self._is_template, agent_id)))

    def _said(self, principal: Principal) -> dict[str, Any]:
        return {
            "tenant_id": principal.tenant_id,
            "is_template": self._is_template,
            "is_admin": "admin" in principal.scopes,
            "by_agent": principal.agent_id,
            "by_user": principal.user_id,
            "by_subject": principal.subject,
        }
