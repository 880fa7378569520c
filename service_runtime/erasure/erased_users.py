"""The rows of the schema `access` about an erased user: keys, and the user's name in administrative calls."""

from __future__ import annotations

from service_runtime.auth import audit
from service_runtime.background_work.long_work import Pause
from service_runtime.background_work.table_pages import pages_of
from service_runtime.postgres import Tenant
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
_END_KEYS = SQL["end_keys"]
_RENAME = SQL["rename"]


async def end_keys(tenant: Tenant, subject: str) -> int:
    """End the keys of a user, which are in the tenant's home database, and return their number."""
    (row,) = await tenant.at_home().query(_END_KEYS, (subject,))
    ended: int = row.ended
    return ended


async def rename_in_calls(tenant: Tenant, subject: str, pseudonym: str, *, pause: Pause) -> None:
    """Replace the name of a user in administrative calls.

    Args:
        tenant: The tenant whose administrative calls are changed.
        subject: Id of the erased user.
        pseudonym: The text that replaces the user's id.
        pause: Awaited between two bounded steps, so that other work can run.
    """
    named = {"subject": subject, "digest": audit.digest_of(subject), "pseudonym": pseudonym}
    # Administrative calls are stored in the home database, with the keys, or in the database where the tenant lives.
    for tenant_rows in (tenant.at_home(), tenant) if tenant.may_live_elsewhere else (tenant,):
        async for pages in pages_of(tenant_rows, "access.administrative_call", pause=pause):
            await tenant_rows.query(_RENAME, {**named, **pages})
