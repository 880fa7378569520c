"""A subject erased from the Context Service alone, as its eraser does it behind a call."""

from __future__ import annotations

from functools import partial

from context_service.contexts.store.erasures import Eraser
from context_service.erasure.rules import subjects
from context_service.erasure.rules.subjects import SubjectEraser
from context_service.retrieval.store.passages import Passages
from context_service.working_memory.rules.retention import Purges, Retention
from context_service.working_memory.store.texts.passages import RecordPassages
from service_runtime.background_work.long_work import Pause
from service_runtime.erasure.erased import Erased
from service_runtime.postgres import Database, Tenant
from tests.conftest import PRINCIPAL


class Entries:
    """A register in memory."""

    def __init__(self) -> None:
        self.entered: list[Erased] = []

    async def enter(self, one: Erased) -> None:
        self.entered.append(one)


class NoPages:
    """Nothing was compiled."""

    async def forget(self, tenant: Tenant, owner_id: str, **_: object) -> None:
        pass


def purges_of(database: Database) -> Purges:
    """Return what removes records for good, without a time of grace for their bytes."""
    return Purges(database, RecordPassages(Passages(database)), retention=Retention(kept_s=0), blob_grace_s=0)


def eraser_of(database: Database) -> Eraser:
    """Return what removes contexts that are gone."""
    purge = partial(purges_of(database).purge, principal="sweeper", why="context deleted")
    return Eraser(database, Passages(database), purge=purge)


async def erase_subject(database: Database, user_id: str) -> dict[str, int]:
    """Erase a user of the first tenant, and return what was removed, by kind."""
    purges = purges_of(database)

    async def keep_bytes(_: Tenant, pause: Pause) -> None:
        pass

    eraser = SubjectEraser(
        database,
        eraser_of(database),
        purges,
        register=Entries(),
        compiled_pages=NoPages(),
        remove_bytes=keep_bytes,
    )
    tenant = database.tenant(PRINCIPAL.tenant_id)
    erasure_id = await tenant.transaction(lambda one: subjects.begin(one, user_id, requested_by="operator"))
    assert not await eraser.erase_tenant(tenant)
    (row,) = await tenant.query(
        "SELECT removed FROM context.subject_erasure WHERE tenant_id = %s AND erasure_id = %s",
        (tenant.tenant_id, erasure_id),
    )
    removed: dict[str, int] = row.removed
    return removed
