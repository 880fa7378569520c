"""The rows of agents and their templates. A caller sees those that it may name."""

from __future__ import annotations

from context_service.kernel.catalog import Table
from service_runtime.postgres import Transaction
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
_SEEN = SQL["seen"]
_TEMPLATE_BODY = SQL["template_body"]
_TEMPLATE = SQL["template"]
_IN_USE = SQL["in_use"]


def agents_of(*, is_template: bool) -> Table:
    """Return the table of agents, or of templates."""
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
    """Lock a template against removal until the transaction ends, and return whether it exists."""
    return bool(await transaction.query(_TEMPLATE, (transaction.tenant_id, template_id)))


async def is_in_use(transaction: Transaction, template_id: str) -> bool:
    """Return whether an agent uses a template."""
    rows = await transaction.query(_IN_USE, (transaction.tenant_id, template_id))
    return bool(rows[0].is_in_use)
