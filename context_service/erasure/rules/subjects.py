"""Erases subjects: counts their data, removes it, and keeps a receipt.

A subject is a user. A row is the work order of an erasure, and later its receipt. A replica leases the row for
`LEASE_S` and renews the lease. If it dies, another replica begins again with the first step, since each step removes
only the data that is left. Before anything is removed, an entry is written to the register, which outlives Postgres.
The keys of the subject end first, so that nothing new is written. The row names the subject until nothing is left, and
then has only a hash of it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from context_service.blobs.providers import BACKENDS
from context_service.contexts.room import (
    Eraser,
    count_owned_rows,
    erase_contexts_of,
    on_hold,
    remove_from_agents,
)
from context_service.erasure.rules import holds
from context_service.erasure.rules.holds import Hold, check_unbound
from context_service.erasure.store import erasures as rows
from context_service.working_memory.room import Purges
from contextkeep.errors import ErasureNotFound
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work import background
from service_runtime.background_work.long_work import STEP_S, LongWork, Pause, Work, unpaused
from service_runtime.background_work.table_pages import pages_of
from service_runtime.erasure.erased import Erased, hash_of
from service_runtime.erasure.erased_users import end_keys, rename_in_calls
from service_runtime.postgres import Across, Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import USER_ID_CHARS_MAX, Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_text
from service_runtime.values.copying import copied
from service_runtime.values.ids import new_id

_log = logging.getLogger("erasure")

LEASE_S = 5.0  # if a step takes longer, two replicas may do it, which is harmless
# Erasures that one replica does at the same time, each for another tenant, so that a subject with much data does not
# delay all others.
AT_ONCE = 2
STEP_ROWS = 1_000  # rows that one statement removes or reads
_RECORDS_OF_SUBJECT = Across(
    sql="",
    contexts=True,
    subjects=True,
    why="background work: it removes the records of a user, the files of the user's contexts too",
)
_RECORDS = 100  # records that one transaction removes, with their vectors and passages
# At its end, an erasure waits until background work has removed bytes of files and texts that messages point at. It
# checks this many times, with this pause in seconds.
_AWAITED_S = 0.3
_AWAITED_TIMES = 20

NOT_FOUND = (
    "Mentions of the subject in data of other owners, such as a name in a message, a record or a node.",
    "Data that the subject wrote into contexts or nodes of other owners, or of no owner.",
    "Data that a key without a user wrote for the subject: it has no owner. Delete such contexts, records and nodes by"
    " their ids.",
    "Logs, metrics and traces of the services, backups, and copies in other systems: their own retention applies.",
)
_OLD_COPIES = (
    "A copy of the tenant's rows from before it was moved, in these databases: {}. An operator can remove it with"
    " `context-service tenants clean --after-hours 0`."
)


class OwnedInGraph(Protocol):
    """The data of a subject in the Entity Service; each call acts as the caller of this service."""

    async def owned(self, subject: str) -> Mapping[str, int]:
        """Count the data, by kind."""
        ...

    async def erase_owned(self, erasure_id: UUID, subject: str) -> None:
        """Begin to erase the data of the subject; a repeated call with the same erasure id changes nothing."""
        ...

    async def erased(self, erasure_id: UUID) -> tuple[Mapping[str, int], datetime | None] | None:
        """Return the counts of removed data, and when the erasure was finished; None if it has not begun."""
        ...


class Registering(Protocol):
    """A register of erasures that survives a restore of Postgres."""

    async def enter(self, erasure: Erased) -> None:
        """Write an entry; a repeated call with the same erasure changes nothing."""
        ...


class MentioningPages(Protocol):
    """The compiled pages, which are made from the entity graph and may have text from nodes of erased subjects."""

    async def forget(
        self, tenant: Tenant, owner_id: str, *, count: Callable[[Transaction, int], Awaitable[object]], pause: Pause
    ) -> None:
        """Remove a subject's text from pages, and count the pages; await `pause` between bounded steps."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The data of a subject, and the holds that forbid its erasure."""

    counts: Mapping[str, int]
    held_by: Sequence[Hold]
    not_found: Sequence[str] = NOT_FOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectErasure:
    """The receipt of an erasure."""

    erasure_id: UUID
    created_at: datetime
    finished_at: datetime | None  # when both services had finished; None before
    requested_by: str
    removed: Mapping[str, int]  # by kind of data, such as a table: how many rows or items were removed
    is_begun_in_graph: bool  # whether the Entity Service has begun to erase its data of the subject
    old_copies: Sequence[str]  # databases with the tenant's rows from before a move, which are not erased


class Subjects:
    """Plans, begins and shows erasures of subjects; each call acts for a principal without bounds.

    Args:
        database: The database that holds the work orders and receipts.
        graph: The Entity Service, which erases its own data of the subject.
        eraser: Does the erasures that are begun; it is woken up for each.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
    """

    def __init__(self, database: Database, graph: OwnedInGraph, eraser: SubjectEraser, *, requests: Requests) -> None:
        self._database = database
        self._graph = graph
        self._eraser = eraser
        self._requests = requests

    async def plan(self, subject: str, *, principal: Principal) -> Plan:
        """Count the data of a subject, and return the holds that forbid its erasure.

        Raises:
            InvalidArgument: `subject` is empty or has a NUL character.
            LimitExceeded: `subject` is longer than the id of a user may be.
            PermissionDenied: the key is bound, for example to an app or a graph.
            Unavailable: the Entity Service does not answer.
        """
        _check(subject, principal)
        tenant = self._database.of(principal)
        there = {**await count_owned(tenant, subject), **await self._graph.owned(subject)}
        counts = {kind: count for kind, count in there.items() if count}
        copies = await self._database.old_copies(tenant.tenant_id)
        not_found = [*NOT_FOUND, *([_OLD_COPIES.format(", ".join(copies))] if copies else [])]
        return Plan(counts=counts, held_by=await holds.against(tenant, subject), not_found=not_found)

    async def erase(self, subject: str, *, principal: Principal, request: Request | None) -> SubjectErasure:
        """Begin to erase a subject, unless its erasure has begun already, and return the receipt.

        Raises:
            InvalidArgument: `subject` is empty or has a NUL character.
            LimitExceeded: `subject` is longer than the id of a user may be.
            LegalHold: a legal hold forbids the erasure.
            PermissionDenied: the key is bound, for example to an app or a graph.
            RequestIdReused: another request had the same request id.
            Unavailable: the Entity Service does not answer. In this service the erasure has begun all the same.
        """
        _check(subject, principal)
        tenant = self._database.of(principal)
        answered = await self._requests.answered(tenant, request) if request else None
        if answered is None and (forbidding := await holds.against(tenant, subject)):
            raise on_hold([hold.hold_id for hold in forbidding])

        async def work(transaction: Transaction) -> UUID:
            return await begin(transaction, subject, requested_by=principal.subject)

        write = self._requests.once(
            request,
            work,
            values=lambda erasure_id: {"erasure_id": str(erasure_id)},
            repeated=lambda answer: UUID(answer["erasure_id"]),
        )
        erasure_id = await tenant.transaction(write)
        await self._graph.erase_owned(erasure_id, subject)
        self._eraser.wake()
        return await self.receipt(erasure_id, principal=principal)

    async def receipt(self, erasure_id: UUID, *, principal: Principal) -> SubjectErasure:
        """Return the current state of a receipt.

        Raises:
            ErasureNotFound: there is no such receipt.
            PermissionDenied: the key is bound, for example to an app or a graph.
            Unavailable: the Entity Service does not answer.
        """
        check_unbound(principal)
        tenant = self._database.of(principal)
        rows_found = await tenant.query(rows.READ, (tenant.tenant_id, erasure_id))
        if not rows_found:
            raise ErasureNotFound(f"erasure {erasure_id} does not exist", erasure_id=erasure_id)
        copies = await self._database.old_copies(tenant.tenant_id)
        return _receipt(rows_found[0], await self._graph.erased(erasure_id), old_copies=copies)


class SubjectEraser:
    """Carries out the erasures that `Subjects.erase` has begun; any number of replicas may run it at once.

    Args:
        database: The database that holds the data of subjects.
        contexts: Removes the contexts of a subject.
        purges: Removes records, without a grace time for their bytes.
        register: The register of erasures, which outlives a restore of Postgres.
        compiled_pages: The compiled pages that may have text of subjects.
        remove_bytes: Removes the files of a tenant that are due; awaits its second argument between bounded steps.
        step_s: Seconds of work for one tenant before the next tenant has its turn.
    """

    def __init__(
        self,
        database: Database,
        contexts: Eraser,
        purges: Purges,
        *,
        register: Registering,
        compiled_pages: MentioningPages,
        remove_bytes: Callable[[Tenant, Pause], Awaitable[object]],
        step_s: float = STEP_S,
    ) -> None:
        self._database = database
        self._step_s = step_s
        self._register = register
        self._compiled = compiled_pages
        self._contexts = contexts
        self._purges = purges
        self._remove_bytes = remove_bytes
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Make `keep_erasing` check for work at once."""
        self._wake.set()

    async def keep_erasing(self, interval_s: float, *, failed: Callable[[], object]) -> None:
        """Do due erasures until cancelled, at random intervals, so that replicas drift apart.

        Args:
            interval_s: Seconds between two passes, on average.
            failed: Called, without arguments, for each pass that fails.
        """
        while True:
            self._wake.clear()
            is_owed = await background.attempted(self.erase_due, "erasing", otherwise=True, failed=failed)
            next_pass_s = LEASE_S if is_owed else background.apart(interval_s, 0.5, 1.0)
            try:
                async with asyncio.timeout(next_pass_s):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def erase_due(self) -> bool:
        """Do one pass over all tenants.

        Returns:
            Whether erasures are left: those that another replica is doing, and those that wait, such as for a hold.

        Raises:
            Unavailable: Postgres does not answer.
        """
        is_owed = False

        async def erase_some(tenant: Tenant) -> tuple[int, bool]:
            nonlocal is_owed
            if await work.step(tenant, partial(self._next, tenant)):
                return 1, True
            of_tenant = await tenant.query(rows.IS_OWED, (tenant.tenant_id,))
            # A separate statement after the `await`, because the step of another tenant may set `is_owed` meanwhile.
            is_owed |= bool(of_tenant)
            return 0, False

        async with LongWork(self._step_s) as work:
            await Rounds(self._database, erase_some, at_once=AT_ONCE).run()
        return is_owed

    async def erase_tenant(self, tenant: Tenant) -> bool:
        """Do the due erasures of a tenant, and return whether some are left."""
        while erase := await self._next(tenant):
            await erase(unpaused)
        return bool(await tenant.query(rows.IS_OWED, (tenant.tenant_id,)))

    async def _next(self, tenant: Tenant) -> Work | None:
        """Claim a due erasure of a tenant, enter it in the register, and return a function that carries it out.

        Returns:
            The function; None if no erasure of the tenant is due.
        """
        claim = {"lease": timedelta(seconds=LEASE_S)}
        due = await tenant.query(rows.CLAIM, claim)
        if not due:
            return None
        await self._register.enter(
            Erased(
                tenant_id=tenant.tenant_id,
                erasure_id=due[0].erasure_id,
                subject_sha256=bytes(due[0].subject_sha256),
            )
        )

        async def erase(pause: Pause) -> None:
            """Carry out the claimed erasure; await `pause` between bounded steps."""
            erasing = _Erasing(
                tenant,
                due[0],
                self._contexts,
                self._purges,
                self._compiled,
                self._remove_bytes,
                pause=pause,
            )
            if await erasing.run():
                _log.info("erased", extra={"erasure_id": due[0].erasure_id})

        return erase


class _OnHold(Exception):
    """A legal hold forbids the erasure of the subject."""


class _Erasing:
    """The erasure of one subject, step by step.

    Args:
        tenant: The tenant of the subject, with the rights of background work.
        due: The row of the erasure, which names the subject.
        contexts: Removes the contexts of the subject.
        purges: Removes its records.
        compiled_pages: The compiled pages that may have text of the subject.
        remove_bytes: Removes the files of a tenant that are due.
        pause: Gives other work a turn between two steps; returns whether other work had one.
    """

    def __init__(
        self,
        tenant: Tenant,
        due: Row,
        contexts: Eraser,
        purges: Purges,
        compiled_pages: MentioningPages,
        remove_bytes: Callable[[Tenant, Pause], Awaitable[object]],
        *,
        pause: Pause,
    ) -> None:
        self._tenant = tenant
        self._pause_work = pause
        self._compiled = compiled_pages
        self._contexts = contexts
        self._purges = purges
        self._remove_bytes = remove_bytes
        self._subject: str = due.subject
        self._pseudonym = f"erased:{due.erasure_id}"
        self._named: dict[str, Any] = {
            "tenant_id": tenant.tenant_id,
            "erasure_id": due.erasure_id,
            "subject": self._subject,
            "pseudonym": self._pseudonym,
            "lease": timedelta(seconds=LEASE_S),
            "rows": STEP_ROWS,
            "providers": list(BACKENDS),
        }

    async def run(self) -> bool:
        """Remove all data that is left; return False if the erasure must wait for a hold, or for bytes or texts."""
        steps = (
            self._keys,
            self._of_contexts,
            self._uploads,
            self._records,
            self._erase_rows,
            self._of_pages,
            self._names,
        )
        async with background.renewing(self._renew, lease_s=LEASE_S):  # also while it waits for the next turn
            try:
                for step in steps:
                    await self._check_holds()
                    await step()
                    await self._pause()
                return await self._finish()
            except _OnHold:
                return False

    async def _pause(self) -> bool:
        """Let other work have a turn, and check the holds again if it had one; return whether it had one."""
        has_waited = await self._pause_work()
        if has_waited:
            await self._check_holds()
        return has_waited

    async def _check_holds(self) -> None:
        if await holds.against(self._tenant, self._subject):
            raise _OnHold

    async def _renew(self) -> None:
        await self._tenant.query(rows.RENEW, self._named)

    async def _keys(self) -> None:
        await self._count("access.api_key", await end_keys(self._tenant, self._subject))
        await rename_in_calls(self._tenant, self._subject, self._pseudonym, pause=self._pause)

    async def _of_contexts(self) -> None:
        """Erase the contexts of the subject, and move the counts of their receipts to the receipt of the subject."""
        await erase_contexts_of(
            self._tenant, self._subject, eraser=self._contexts, requested_by=self._pseudonym, pause=self._pause
        )
        while await self._tenant.query(rows.TAKE_RECEIPTS, self._named):
            await self._pause()

    async def _uploads(self) -> None:
        while await self._tenant.query(rows.REMOVE_UPLOADS, self._named):
            await self._pause()

    async def _records(self) -> None:
        # A row that was changed meanwhile may have moved to a page that was read already, so read until none is left.
        while await self._records_once():
            pass
        await self._read("context.blob", rows.HASTEN_BLOBS)
        await self._tenant.query(rows.AWAIT_GOING, self._named)

    async def _records_once(self) -> bool:
        """Read all records once and remove those of the subject; return whether there were any."""
        has_found = False
        async for pages in pages_of(self._tenant, "context.wm_record", pause=self._pause):
            rows_found = [row.id for row in await self._tenant.query(rows.FIND_RECORDS, {**self._named, **pages})]
            has_found |= bool(rows_found)
            for start in range(0, len(rows_found), _RECORDS):
                began = time.monotonic()
                purge = partial(self._purge, rows_found[start : start + _RECORDS])
                await self._tenant.transaction(purge, across=_RECORDS_OF_SUBJECT)
                await asyncio.sleep(time.monotonic() - began)  # leaves half of the time to calls
                await self._pause()
        return has_found

    async def _purge(self, record_ids: Sequence[UUID], transaction: Transaction) -> None:
        """Remove records with their actions, and count them.

        The ids of their blobs are kept, so that the end of the erasure can wait until the bytes are removed.
        """
        ids = list(record_ids)
        blob_ids = [row.blob_id for row in await transaction.query(rows.BLOBS_OF, (transaction.tenant_id, ids))]
        purged = await self._purges.purge(transaction, ids, principal=self._pseudonym, why="erased")
        await transaction.query(rows.FORGET_ACTIONS, (ids,))
        await transaction.query(rows.AWAIT_BLOBS, {**self._named, "blob_ids": blob_ids})
        await transaction.query(rows.COUNT, {**self._named, "kind": "context.wm_record", "rows": purged})

    async def _erase_rows(self) -> None:
        """Remove the subject's rows of other tables, and its passages, which are chunks of text in the search index.

        Also remove the subject from the caller lists of agents, and stored answers that may name it.
        """
        for table, statement in rows.REMOVE_OWNED.items():
            await self._read(table, statement)
        await self._contexts.erase_scopes_of(self._tenant, self._subject, pause=self._pause)
        await self._count("context.agent", await remove_from_agents(self._tenant, self._subject))
        await self._read("context.request", rows.REMOVE_ANSWERS)
        await self._read("context.request", rows.FORGET_RESPONSES)

    async def _of_pages(self) -> None:
        """Erase the pages that were compiled for the subject, and count them."""

        async def count(transaction: Transaction, pages: int) -> None:
            await transaction.query(rows.COUNT, {**self._named, "kind": "context.compiled_page", "rows": pages})

        await self._compiled.forget(self._tenant, self._subject, count=count, pause=self._pause)

    async def _names(self) -> None:
        """Replace the subject with its pseudonym where rows of other owners name it, for example as their author."""
        for table, statement in rows.RENAME.items():
            await self._read(table, statement)

    async def _read(self, table: str, statement: Across | str) -> None:
        """Run a statement for each page of a table."""
        async for pages in pages_of(self._tenant, table, pause=self._pause):
            await self._tenant.query(statement, {**self._named, **pages})

    async def _finish(self) -> bool:
        """Wait a limited time until the last bytes and texts are removed, and then write the receipt.

        Returns:
            Whether the erasure is finished. If not, a later pass tries again.
        """
        for _ in range(_AWAITED_TIMES):
            await self._remove_bytes(self._tenant, self._pause)
            (left,) = await self._tenant.query(rows.STILL_THERE, self._named)
            if not (left.bytes or left.texts):
                await self._tenant.query(rows.FINISH, self._named)
                return True
            await asyncio.sleep(_AWAITED_S)
            await self._pause()
        return False

    async def _count(self, kind: str, count: int) -> None:
        if count:
            await self._tenant.query(rows.COUNT, {**self._named, "kind": kind, "rows": count})


async def begin(transaction: Transaction, subject: str, *, requested_by: str, erasure_id: UUID | None = None) -> UUID:
    """Insert the work order of an erasure, unless there is one, and return the id of the receipt.

    Args:
        transaction: A transaction of the subject's tenant.
        subject: The id of the user to erase.
        requested_by: The subject of the caller that asked for the erasure, for the receipt.
        erasure_id: The id of an erasure that is replayed; None makes a new id.
    """
    erasure_id = erasure_id or new_id()
    parameters = {
        "erasure_id": erasure_id,
        "subject": subject,
        "sha256": hash_of(erasure_id, subject),
        "requested_by": requested_by if requested_by != subject else f"erased:{erasure_id}",
    }
    while not await transaction.query(rows.BEGIN, parameters):
        if rows_found := await transaction.query(rows.READ_OPEN, parameters):
            open_id: UUID = rows_found[0].erasure_id
            return open_id
    return erasure_id


async def count_owned(tenant: Tenant, subject: str) -> dict[str, int]:
    """Count the rows of a subject in this service, by table."""
    parameters = {"subject": subject}
    (others,) = await tenant.query(rows.COUNT_RECORDS, parameters, named=False)
    return {**await count_owned_rows(tenant, subject), **dict(zip(rows.COUNTED, others, strict=True))}


def _check(subject: str, principal: Principal) -> None:
    check_unbound(principal)
    check_text("subject", subject, chars_max=USER_ID_CHARS_MAX, required=True)


def _receipt(
    row: Row, in_graph: tuple[Mapping[str, int], datetime | None] | None, *, old_copies: Sequence[str]
) -> SubjectErasure:
    """Return the receipt of a row."""
    of_graph, graph_finished_at = in_graph or ({}, None)
    finished = row.finished_at and graph_finished_at
    return copied(
        SubjectErasure,
        row,
        finished_at=finished and max(row.finished_at, graph_finished_at),
        removed={kind: count for kind, count in sorted({**row.removed, **of_graph}.items()) if count},
        is_begun_in_graph=in_graph is not None,
        old_copies=old_copies,
    )
