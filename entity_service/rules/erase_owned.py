"""Nodes of an erased user: counted, and removed for good in steps that block no other call.

A row of `entity.erasure` stands for the work, so if a replica dies, the next one goes on; a replica that works on it
holds it for `LEASE_S`, and renews that. Tables are read once, some pages at a time: no write needs an index by owner.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from contextkeep.errors import ErasureNotFound, PermissionDenied
from entity_service.model.owned import Owned
from entity_service.store.owned import (
    BEGIN,
    CLAIM,
    COUNT,
    FIND,
    FINISH,
    FORGET_CHANGES,
    LEASE_S,
    READ,
    REMOVE_ANSWERS,
    RENAME,
    RENEW,
    SAY_NO_OLDER_TYPES,
    batches_of_ids,
    oldest_owed_s,
    remove_nodes,
)
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work import background
from service_runtime.background_work.long_work import STEP_S, LongWork, Pause, Work
from service_runtime.background_work.table_pages import pages_of
from service_runtime.erasure.erased_users import end_keys, rename_in_calls
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import USER_ID_CHARS_MAX, Principal
from service_runtime.values.checks import check_text

_log = logging.getLogger("owned")

INTERVAL_S = 60.0

AT_ONCE = 2  # subjects that are erased at once, each of another tenant: one with many rows takes long


class OwnedNodes:
    """Counts the rows that users own, begins to erase them, and reports the progress."""

    def __init__(self, database: Database, eraser: OwnedEraser) -> None:
        self._database = database
        self._eraser = eraser

    async def count(self, subject: str, *, principal: Principal) -> Owned:
        """Return the counts of the rows that a user owns.

        Raises:
            PermissionDenied: the key is bound.
        """
        _check(subject, principal)
        tenant = self._database.of(principal)
        (row,) = await tenant.query(COUNT, {"subject": subject})
        return Owned(**row._asdict())

    async def erase(self, erasure_id: UUID, subject: str, *, principal: Principal) -> Owned:
        """Begin an erasure, unless it is begun, and return how far it is.

        Raises:
            PermissionDenied: the key is bound.
        """
        _check(subject, principal)
        tenant = self._database.of(principal)
        await tenant.query(BEGIN, (tenant.tenant_id, erasure_id, subject))
        self._eraser.wake()
        return await self.receipt(erasure_id, principal=principal)

    async def receipt(self, erasure_id: UUID, *, principal: Principal) -> Owned:
        """Return how far an erasure is.

        Raises:
            ErasureNotFound: no erasure has this id.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(READ, (tenant.tenant_id, erasure_id))
        if not rows:
            raise ErasureNotFound(f"erasure {erasure_id} does not exist", erasure_id=erasure_id)
        return Owned(**rows[0]._asdict())


class OwnedEraser:
    """Does the due erasures; any number of replicas may.

    Args:
        database: The database that has the nodes and the erasures.
        step_s: Seconds of one tenant's step, after which the next tenant's begins.
    """

    def __init__(self, database: Database, *, step_s: float = STEP_S) -> None:
        self._database = database
        self._step_s = step_s
        self._wake = asyncio.Event()
        self.pending_s = 0.0  # age of the oldest unfinished erasure, as of the last pass; 0 if there is none

    def wake(self) -> None:
        """Let `keep_erasing` look for due erasures at once."""
        self._wake.set()

    async def keep_erasing(self, *, failed: Callable[[], object]) -> None:
        """Do due erasures until cancelled. The pauses are random, so that replicas do not run in step.

        Args:
            failed: Called for each pass that an error ends.
        """
        while True:
            self._wake.clear()
            is_owed = await background.attempted(self.erase_due, "erasing", otherwise=True, failed=failed)
            look_again_s = LEASE_S if is_owed else background.apart(INTERVAL_S, 0.5, 1.0)
            try:
                async with asyncio.timeout(look_again_s):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def erase_due(self) -> bool:
        """Do one pass over all tenants; say whether erasures are left that another replica works on.

        Raises:
            Unavailable: Postgres does not answer.
        """
        pending_s = 0.0

        # A step of `Rounds` for one tenant: returns how much was done, and whether there may be more.
        async def erase_some(tenant: Tenant) -> tuple[int, bool]:
            nonlocal pending_s
            owed_s = await oldest_owed_s(tenant)
            self.pending_s = max(self.pending_s, owed_s)  # after the await: another step may have set it meanwhile
            if await work.step(tenant, partial(self._next, tenant)):
                return 1, True
            owed_s = await oldest_owed_s(tenant)
            pending_s = max(pending_s, owed_s)
            return 0, False

        async with LongWork(self._step_s) as work:
            await Rounds(self._database, erase_some, at_once=AT_ONCE).run()
        self.pending_s = pending_s
        return pending_s > 0

    async def _next(self, tenant: Tenant) -> Work | None:
        """Claim a due erasure of a tenant, and return its work, or None if none is due."""
        parameters = {"tenant_id": tenant.tenant_id, "lease": timedelta(seconds=LEASE_S)}
        due = await tenant.query(CLAIM, parameters)
        if not due:
            return None
        erasing = {**parameters, **due[0]._asdict()}

        async def erase(pause: Pause) -> None:
            # The lease is renewed also while the work pauses for other tenants.
            async with background.renewing(partial(tenant.query, RENEW, erasing), lease_s=LEASE_S):
                await self._erase(tenant, erasing, pause)
            _log.info("erased", extra={"erasure_id": due[0].erasure_id})

        return erase

    async def _erase(self, tenant: Tenant, parameters: dict[str, Any], pause: Pause) -> None:
        """Do all steps of one erasure; each does no harm when it is repeated.

        First the keys of the user end, so that no call writes further rows. The receipt is written last.
        """
        parameters["pseudonym"] = f"erased:{parameters['erasure_id']}"
        await end_keys(tenant, parameters["subject"])
        await rename_in_calls(tenant, parameters["subject"], parameters["pseudonym"], pause=pause)
        while await self._remove_nodes(tenant, parameters, pause):
            pass
        for table, statement in (
            ("entity.request", REMOVE_ANSWERS),
            *RENAME.items(),
            ("entity.change", FORGET_CHANGES),
            ("entity.change", SAY_NO_OLDER_TYPES),
        ):
            async for pages in pages_of(tenant, table, pause=pause):
                await tenant.query(statement, {**parameters, **pages})
        await tenant.query(FINISH, parameters)

    async def _remove_nodes(self, tenant: Tenant, parameters: dict[str, Any], pause: Pause) -> bool:
        """Read the whole table of nodes once, and remove the user's nodes; return False if there were none."""
        has_found = False
        async for pages in pages_of(tenant, "entity.node", pause=pause):
            node_ids = [row.id for row in await tenant.query(FIND, {**parameters, **pages})]
            has_found |= bool(node_ids)
            for ids in batches_of_ids(node_ids):
                began = time.monotonic()
                await tenant.transaction(partial(remove_nodes, ids=ids, parameters=parameters))
                await asyncio.sleep(time.monotonic() - began)  # as long again, so that calls run in between
                await pause()
        return has_found


def _check(subject: str, principal: Principal) -> None:
    """Check a subject, and whether the caller may erase it.

    Raises:
        PermissionDenied: the key is bound, so it sees only a part of the tenant.
        InvalidArgument: no subject is named.
        LimitExceeded: the subject is too long.
    """
    if principal.bounds:
        raise PermissionDenied(
            "the key is bound, and a subject is erased in the whole tenant; use a key without bounds"
        )
    check_text("subject", subject, chars_max=USER_ID_CHARS_MAX, required=True)
