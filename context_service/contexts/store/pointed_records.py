"""Records that messages and artifacts point at: their texts become passages of the context.

The write of a message, or of a version of an artifact, adds a row for each such part, in the same transaction. The
worker claims rows, reads the record (its file in a child process), and writes its passages at the place of the message
or artifact. If a record cannot be read, the row keeps the reason. The passages are removed with a record that is
purged, a message that is retracted, or a version that is replaced.

Locks are taken in the order of all writers to a context: its header, then the row, then passages.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import NamedTuple
from uuid import UUID

from context_service.contexts.model import ARTIFACT_ROLE
from context_service.kernel.files.facts import FileKind, kind_of
from context_service.kernel.parts import Part
from context_service.retrieval.documents.kinds import BY_CHANCE, Reason, Unread
from context_service.retrieval.documents.reading import RecordText
from context_service.retrieval.model import Audience, Passage, PassageScope
from context_service.retrieval.pure.part_texts import RECORD, is_indexed
from context_service.retrieval.pure.text_pieces import NumberedTextPiece, numbered
from context_service.retrieval.room import Passages
from contextkeep.errors import Unavailable
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work import background
from service_runtime.background_work.due_work import Queue
from service_runtime.background_work.queue_room import QueueRoom
from service_runtime.postgres import Across, Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

_log = logging.getLogger("pointed_records")

# How many numbers of passages are reserved for each part, after the numbers of the message's own passages.
ORDINALS_OF_PART = 100_000
_PARTS_MAX = 1_000  # of a message or an artifact
_DOCUMENTS_OF_RESULT_MAX = 20  # whose text is read; their ordinals must fit an integer of 32 bits
PASSAGES_OF_STEP = 200  # the most passages of one transaction, because appends to the context wait for it
STEP_S = 1.0  # time for the rows of one tenant before the next tenant's turn
LEASE_S = 30.0  # the lease of a claimed row, which its worker renews
READ_AT_ONCE = 2  # the number of tenants whose records are read at the same time
INTERVAL_S = 1.0
_QUEUE = Queue(schema="context", topic="records of messages")
DELAY_S, DELAY_S_MAX = 2.0, 3600.0  # after the first failure; doubled after each further one
ATTEMPTS_MAX = 3  # for failures that may be due to a crowded machine

_NOTHING_TO_READ = frozenset({Reason.UNSUPPORTED})

ReadRecord = Callable[[Tenant, UUID], Awaitable[RecordText | None]]

SQL = SqlFile.of(__file__, artifact_role=ARTIFACT_ROLE)
_OWE = SQL["owe"]
_HOLD = SQL["hold"]
_LOCK = SQL["lock"]
_POINTING = SQL["pointing"]
_GO_ON = SQL["go_on"]
_RENEW = SQL["renew"]
_FINISH = SQL["finish"]
_POSTPONE = SQL["postpone"]
_FORGET = SQL["forget"]
_FORGET_ALL = SQL["forget_all"]
_COUNT_QUEUED = Across(
    sql=SQL["count_queued"],
    contexts=True,
    subjects=True,
    why="the limit of a tenant counts the records of all its users; the result is a number",
)
_CLAIM = Across(
    sql=SQL["claim"],
    contexts=True,
    subjects=True,
    why="background work: it reads the records that any user points at; every row keeps its policies",
)


def pointed_in(parts: Sequence[Part], *, parts_before: int = 0) -> dict[int, UUID]:
    """Return the records that parts name, by the number of the part; numbers begin after `parts_before`.

    Documents within the result of a tool have numbers above those of all parts.
    """
    pointed = {}
    for number, part in enumerate(parts, parts_before + 1):
        if not is_indexed(part.metadata_json):
            continue
        if record_id := part.working_memory_id or (part.file and part.file.working_memory_id):
            pointed[number] = UUID(record_id)
        first = _PARTS_MAX + number * _DOCUMENTS_OF_RESULT_MAX
        pointed |= dict(enumerate(_documents_in(part)[:_DOCUMENTS_OF_RESULT_MAX], first))
    return pointed


def _documents_in(part: Part) -> list[UUID]:
    """Return the records of the files of a result that may have text: pictures and recordings have none."""
    files = part.tool_result.files if part.tool_result else ()
    media = (FileKind.IMAGE, FileKind.AUDIO)
    return [
        UUID(file.working_memory_id)
        for file in files
        if file.working_memory_id and kind_of(file.media_type) not in media
    ]


def queue_of_pointed_records(queued_max: int) -> QueueRoom:
    """Return the queue limit of tenants for records that messages and artifacts point at."""
    return QueueRoom(_COUNT_QUEUED, topic="records of messages", queued_max=queued_max)


async def owe(
    transaction: Transaction, context_id: UUID, walls: Row, pointed: Mapping[int, Mapping[int, UUID]]
) -> None:
    """Queue the records that messages or an artifact point at, in the transaction that writes them.

    Args:
        transaction: The transaction that writes the messages or the artifact.
        context_id: The id of the context.
        walls: The columns of the header that decide who may see it, such as those of a written row.
        pointed: Records, by the `seq` of the message or artifact and by its part.
    """
    rows = [(seq, part, record_id) for seq, of_one in pointed.items() for part, record_id in of_one.items()]
    if not rows:
        return
    parameters = {
        "context_id": context_id,
        "ancestors": walls.ancestors,
        "owner_user_id": walls.owner_user_id,
        "app_id": walls.app_id,
        "agent_bundle_id": walls.agent_bundle_id,
        "seqs": [seq for seq, _, _ in rows],
        "parts": [part for _, part, _ in rows],
        "record_ids": [record_id for _, _, record_id in rows],
    }
    await transaction.query(_OWE, parameters)


async def forget(transaction: Transaction, context_id: UUID, seq: int) -> bool:
    """Remove the rows of a message or artifact, before its passages are removed; return whether there were any.

    It waits for a worker that is writing such passages, and keeps others from beginning.
    """
    parameters = {"context_id": context_id, "seq": seq}
    return bool(await transaction.query(_FORGET_ALL, parameters))


class PointedRecords:
    """The worker; any number of replicas may run it at once.

    Args:
        database: The database that holds the queue of records to read.
        passages: The search index of the contexts.
        read: Reads a record and returns its passages, or why it has none.
        count: A function that counts the tokens of a text.
    """

    def __init__(
        self, database: Database, passages: Passages, *, read: ReadRecord, count: Callable[[str], int]
    ) -> None:
        self._database = database
        self._passages = passages
        self._read = read
        self._count = count
        self._rounds = Rounds(database, self._read_some, at_once=READ_AT_ONCE, queue=_QUEUE)

    async def keep_reading(self) -> None:
        """Read due records, until cancelled."""
        await self._rounds.keep_running(self.read_due, interval_s=INTERVAL_S)

    async def read_due(self) -> int:
        """Read due records, some of each tenant in turn; return the number of records that were read.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await self._rounds.run()

    async def _read_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Read some due records of a tenant; return how many, and whether there are more."""
        until, done = time.monotonic() + STEP_S, 0
        while True:
            lease = timedelta(seconds=LEASE_S)
            claimed = await tenant.query(_CLAIM, {"lease": lease})
            if not claimed:
                return done, False
            await self._run_claimed(tenant, claimed[0])
            done += 1
            if time.monotonic() >= until:
                return done, True

    async def _run_claimed(self, tenant: Tenant, row: Row) -> None:
        """Do the work of one row, or store why it failed."""
        # Act as the owner of the message or artifact, so that the same callers can see its passages.
        writer = Principal(
            tenant_id=tenant.tenant_id, subject="indexing", scopes=frozenset(), user_id=row.owner_user_id
        )
        claimed_row = copied(_ClaimedRow, row, tenant=self._database.of(writer, context_id=row.context_id))
        try:
            if claimed_row.record_id is None:
                await self._remove(claimed_row)
                return
            async with background.renewing(claimed_row.renew, lease_s=LEASE_S):
                record_text = await self._read(tenant, claimed_row.record_id)
                if record_text is None:
                    return  # the record was purged just now; the purge made this row due again
                split = partial(
                    numbered, record_text.text, claimed_row.context_id, count=self._count, pieces_max=ORDINALS_OF_PART
                )
                passages = await asyncio.to_thread(split)
            if record_text.unread and record_text.unread.reason in BY_CHANCE and claimed_row.attempts < ATTEMPTS_MAX:
                await claimed_row.postpone(record_text.unread)
                return
            if await self._write(claimed_row, passages, done=row.passages):
                await claimed_row.finish(record_text.unread)
        except Unavailable as error:
            await claimed_row.postpone(Unread(reason=Reason.BROKEN, detail=error.message[:300]))
        except Exception as error:
            _log.warning("record not read", extra={"record_id": claimed_row.record_id}, exc_info=error)
            why = Unread(reason=Reason.BROKEN, detail="unexpected error: see the log of the service")
            await (claimed_row.postpone(why) if claimed_row.attempts < ATTEMPTS_MAX else claimed_row.finish(why))

    async def _write(self, claimed_row: _ClaimedRow, passages: Sequence[NumberedTextPiece], *, done: int) -> bool:
        """Write the missing passages step by step; return False if another worker wrote them, or the row is gone."""
        while True:
            step = range(done, max(done, min(done + PASSAGES_OF_STEP, len(passages))))

            async def work(transaction: Transaction, step: range = step) -> bool:
                locked = await claimed_row.hold(transaction, done=step.start)
                if locked is None:
                    return False
                placed = [claimed_row.placed(place, passages[place], locked.pointing) for place in step]
                await self._passages.put(
                    transaction, PassageScope.of_context(claimed_row.context_id), locked.audience, placed
                )
                await claimed_row.go_on(transaction, step.stop)
                return True

            if not await claimed_row.tenant.transaction(work):
                return False
            done = step.stop
            if done >= len(passages):
                return True

    async def _remove(self, claimed_row: _ClaimedRow) -> None:
        """Remove the passages of a purged record."""

        async def work(transaction: Transaction) -> None:
            scope = PassageScope.of_context(claimed_row.context_id)
            await self._passages.remove(transaction, scope, [claimed_row.seq], ordinals=claimed_row.ordinals)
            await claimed_row.forget(transaction)

        await claimed_row.tenant.transaction(work)


class _LockedRows(NamedTuple):
    """The locked rows of a step, and the audience (the scopes that may see them) of its passages."""

    pointing: Row  # the message or artifact
    audience: Audience


@dataclass(frozen=True, slots=True, kw_only=True)
class _ClaimedRow:
    """A row of the queue that this worker has claimed for `LEASE_S` seconds: no other worker takes it until then."""

    tenant: Tenant
    context_id: UUID
    seq: int
    part: int
    record_id: UUID | None
    attempts: int

    @property
    def ordinals(self) -> range:
        """The ordinals of its passages among those of the message or artifact."""
        return range(ORDINALS_OF_PART * self.part, ORDINALS_OF_PART * (self.part + 1))

    def placed(self, place: int, claimed_row: NumberedTextPiece, pointing: Row) -> Passage:
        """Return a passage at the place of the message or artifact."""
        return copied(
            Passage,
            pointing,
            seq=self.seq,
            ordinal=self.ordinals[place],
            text=claimed_row.piece.text,
            terms=claimed_row.piece.terms,
            numbers=claimed_row.numbers,
            kind=RECORD,
            is_said=False,
            marks=claimed_row.piece.marks,
            author=pointing.name,
            part=self.part,
            source_id=self.record_id,
        )

    async def hold(self, transaction: Transaction, *, done: int) -> _LockedRows | None:
        """Lock the rows until the transaction ends; None if one is gone, or if another worker wrote more."""
        for header in await transaction.query(_HOLD, self._parameters()):
            for row in await transaction.query(_LOCK, self._parameters()):
                if row.passages != done:
                    return None
                for pointing in await transaction.query(_POINTING, self._parameters()):
                    audience = Audience(
                        owner_user_id=header.owner_user_id,
                        ancestors=tuple(header.ancestors),
                        agent_bundle_id=header.agent_bundle_id,
                        app_id=header.app_id,
                    )
                    return _LockedRows(pointing, audience)
        return None

    async def go_on(self, transaction: Transaction, passages: int) -> None:
        """Store how many passages are written, so that another worker continues there."""
        lease = timedelta(seconds=LEASE_S)
        await transaction.query(_GO_ON, {**self._parameters(), "passages": passages, "lease": lease})

    async def renew(self) -> None:
        """Renew the lease of the claimed row, so that no other worker claims it."""
        lease = timedelta(seconds=LEASE_S)
        await self.tenant.query(_RENEW, {**self._parameters(), "attempts": self.attempts, "lease": lease})

    async def forget(self, transaction: Transaction) -> None:
        """Remove the claimed row from the queue."""
        await transaction.query(_FORGET, self._parameters())

    async def finish(self, unread: Unread | None) -> None:
        """Store that the record was read, or why it could not be read."""
        state = "INDEXED" if unread is None else "NO_TEXT" if unread.reason in _NOTHING_TO_READ else "FAILED"
        parameters = {**self._parameters(), "state": state, **_why(unread)}
        await self.tenant.query(_FINISH, parameters)

    async def postpone(self, unread: Unread) -> None:
        """Make the row due again later, and store why it failed this time."""
        delay = timedelta(seconds=min(DELAY_S * 2.0 ** min(self.attempts - 1, 20), DELAY_S_MAX))
        await self.tenant.query(_POSTPONE, {**self._parameters(), "delay": delay, **_why(unread)})

    def _parameters(self) -> dict[str, object]:
        """Return the parameters that name the part of the message that points at the record."""
        return {
            "tenant_id": self.tenant.tenant_id,
            "context_id": self.context_id,
            "seq": self.seq,
            "part": self.part,
        }


def _why(unread: Unread | None) -> dict[str, str]:
    return {"reason": unread.reason.value if unread else "", "detail": unread.detail if unread else ""}
