"""The rows of agents and their templates, of which a caller sees those that it may name."""

from __future__ import annotations

from context_service.kernel.catalog import Table
from service_runtime.postgres import Transaction

# Who may name an agent: an administrator, the agent itself, those whom it lists, and if it lists nobody everybody but
# another agent. It is a part of each statement, so that one that may not be named costs and answers what none does.
_SEEN = """(
    %(is_admin)s OR t.is_template
    OR CASE WHEN %(by_agent)s <> '' THEN
        t.agent_id = %(by_agent)s OR coalesce(t.callers -> 'agent_ids' ? %(by_agent)s, false)
    ELSE
        t.callers IS NULL OR t.callers -> 'user_ids' ? %(by_user)s OR t.callers -> 'subjects' ? %(by_subject)s
    END
)"""
_TEMPLATE_BODY = """(
    SELECT u.body FROM context.agent u
    WHERE u.tenant_id = %(tenant_id)s AND u.is_template AND u.agent_id = t.template_id
) AS template_body"""
# A template that an agent has or is getting stays: the put of the agent and the delete of its template take turns.
_TEMPLATE = "SELECT FROM context.agent WHERE tenant_id = %s AND is_template AND agent_id = %s FOR UPDATE"
_IN_USE = "SELECT EXISTS (SELECT FROM context.agent WHERE tenant_id = %s AND template_id = %s) AS is_in_use"


def agents_of(*, is_template: bool) -> Table:
    """Return the rows of agents, or of templates."""
    return Table(
        name="context.agent",
        kind={"is_template": is_template},
        key="agent_id",
        columns=("template_id", "callers", "body"),
        also_of_one=(_TEMPLATE_BODY,),
        seen=_SEEN,
        listed="(%(template_id)s = '' OR t.template_id = %(template_id)s)",
    )


async def lock_template(transaction: Transaction, template_id: str) -> bool:
    """Let a template stay as it is until the transaction ends, and say whether it is there."""
    return bool(await transaction.query(_TEMPLATE, (transaction.tenant_id, template_id)))


async def is_in_use(transaction: Transaction, template_id: str) -> bool:
    """Say whether an agent has a template."""
    rows = await transaction.query(_IN_USE, (transaction.tenant_id, template_id))
    return bool(rows[0].is_in_use)
