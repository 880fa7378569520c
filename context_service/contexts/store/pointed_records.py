"""Records that messages and artifacts point at: what they say is found in the context, behind what points at them.

Who writes a message, or a version of an artifact, owes it with a row for each such part, in the same transaction. The
worker claims rows, has the record read (its file, in a process of its own), and writes its passages where the message
or the artifact stands. What cannot be read stays with its reason, and what points at it stays as it is. A record that
is purged takes its passages with it; so does a message that is retracted, and a version that is replaced.

The order of locks is that of all who write to a context: its header, then the row, then passages.
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
from context_service.kernel.parts import Part
from context_service.retrieval.documents.kinds import BY_CHANCE, Reason, Unread
from context_service.retrieval.documents.reading import RecordText
from context_service.retrieval.model import Audience, Passage, Scope
from context_service.retrieval.pure.part_texts import RECORD, is_indexed
from context_service.retrieval.pure.text_pieces import NumberedTextPiece, numbered
from context_service.retrieval.store.passages import Passages
from contextkeep.errors import Unavailable
from service_runtime import background
from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.postgres import Across, Database, Row, Tenant, Transaction
from service_runtime.queue_room import QueueRoom
from service_runtime.sql_files import SqlFile
from service_runtime.tenants import Rounds

_log = logging.getLogger("pointed_records")

ORDINALS_OF_PART = 100_000  # they follow those of the message or artifact itself, and of the parts before
PASSAGES_OF_STEP = 200  # that are written at once: whoever appends meanwhile waits for so many
STEP_S = 1.0  # of a tenant's rows, read one after the other; then the next tenant's are read
LEASE_S = 30.0  # of a claimed row; a worker that lives renews it
READ_AT_ONCE = 2  # tenants
INTERVAL_S = 1.0
DELAY_S, DELAY_S_MAX = 2.0, 3600.0  # after a first failure; then twice as long each time
ATTEMPTS_MAX = 3  # of what may have failed by chance, on a crowded machine

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
    why="a tenant may queue so many, those of all its users together; the answer is a number",
)
_CLAIM = Across(
    sql=SQL["claim"],
    contexts=True,
    subjects=True,
    why="nobody called for it: what is pointed at is read, whoever points at it, and every row keeps its walls",
)


def pointed_in(parts: Sequence[Part], *, parts_before: int = 0) -> dict[int, UUID]:
    """Return the records that parts name, by the number of the part: from 1, behind those that came before."""
    return {
        number: UUID(part.working_memory_id)
        for number, part in enumerate(parts, parts_before + 1)
        if part.working_memory_id and is_indexed(part.metadata_json)
    }


def queue_of_pointed_records(queued_max: int) -> QueueRoom:
    """Return the room of tenants for records that messages and artifacts point at."""
    return QueueRoom(_COUNT_QUEUED, topic="records of messages", queued_max=queued_max)


async def owe(
    transaction: Transaction, context_id: UUID, walls: Row, pointed: Mapping[int, Mapping[int, UUID]]
) -> None:
    """Owe what messages or an artifact point at, in the transaction that writes them.

    Args:
        transaction: It.
        context_id: Where.
        walls: What the header says of who may see it, such as a row that was written.
        pointed: Records, by the `seq` of what points at them, and by its part.
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
    """Forget all that one message or artifact points at, before its passages are removed; say whether it was anything.

    Whoever is writing such passages is waited for, and nobody begins to.
    """
    named = {"context_id": context_id, "seq": seq}
    return bool(await transaction.query(_FORGET_ALL, named))


class PointedRecords:
    """The worker; any number of replicas may run it at once.

    Args:
        database: Where it is owed.
        passages: What contexts are found by.
        read: Reads a record.
        count: Counts the tokens of a text.
    """

    def __init__(
        self, database: Database, passages: Passages, *, read: ReadRecord, count: Callable[[str], int]
    ) -> None:
        self._database = database
        self._passages = passages
        self._read = read
        self._count = count
        self._rounds = Rounds(database, self._read_some, at_once=READ_AT_ONCE)

    async def keep_reading(self) -> None:
        """Read what is due, until cancelled."""
        await background.repeating(self.read_due, interval_s=INTERVAL_S)

    async def read_due(self) -> int:
        """Read what is due, some of each tenant in turn; return how many rows that were.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await self._rounds.run()

    async def _read_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Read some of what is due of a tenant; return how many rows that were, and whether there are more."""
        until, done = time.monotonic() + STEP_S, 0
        while True:
            lease = timedelta(seconds=LEASE_S)
            claimed = await tenant.query(_CLAIM, {"lease": lease})
            if not claimed:
                return done, False
            await self._claimed(tenant, claimed[0])
            done += 1
            if time.monotonic() >= until:
                return done, True

    async def _claimed(self, tenant: Tenant, row: Row) -> None:
        """Do what one row owes, or say why it is not done."""
        # Within the walls of what points at it.
        writer = Principal(
            tenant_id=tenant.tenant_id, subject="indexing", scopes=frozenset(), user_id=row.owner_user_id
        )
        one = copied(_Owed, row, door=self._database.of(writer, context_id=row.context_id))
        try:
            if one.record_id is None:
                await self._remove(one)
                return
            async with background.renewing(one.renew, lease_s=LEASE_S):
                said = await self._read(tenant, one.record_id)
                if said is None:
                    return  # it was purged just now: the row is due for that
                cut = partial(numbered, said.text, one.context_id, count=self._count, pieces_max=ORDINALS_OF_PART)
                passages = await asyncio.to_thread(cut)
            if said.unread and said.unread.reason in BY_CHANCE and one.attempts < ATTEMPTS_MAX:
                await one.postpone(said.unread)
                return
            if await self._write(one, passages, done=row.passages):
                await one.finish(said.unread)
        except Unavailable as error:
            await one.postpone(Unread(reason=Reason.BROKEN, detail=error.message[:300]))
        except Exception as error:
            _log.warning("record not read", extra={"record_id": one.record_id}, exc_info=error)
            why = Unread(reason=Reason.BROKEN, detail="it could not be read; the service's log says more")
            await (one.postpone(why) if one.attempts < ATTEMPTS_MAX else one.finish(why))

    async def _write(self, one: _Owed, passages: Sequence[NumberedTextPiece], *, done: int) -> bool:
        """Write passages step by step, from the first that is not; False if somebody was first, or it is gone."""
        while True:
            step = range(done, max(done, min(done + PASSAGES_OF_STEP, len(passages))))

            async def work(transaction: Transaction, step: range = step) -> bool:
                held = await one.hold(transaction, done=step.start)
                if held is None:
                    return False
                placed = [one.placed(place, passages[place], held.pointing) for place in step]
                await self._passages.put(transaction, Scope.of_context(one.context_id), held.audience, placed)
                await one.go_on(transaction, step.stop)
                return True

            if not await one.door.transaction(work):
                return False
            done = step.stop
            if done >= len(passages):
                return True

    async def _remove(self, one: _Owed) -> None:
        """Remove what a record said that is purged."""

        async def work(transaction: Transaction) -> None:
            scope = Scope.of_context(one.context_id)
            await self._passages.remove(transaction, scope, [one.seq], ordinals=one.ordinals)
            await one.forget(transaction)

        await one.door.transaction(work)


class _Held(NamedTuple):
    """What stays while a step is written, and who may see what is found of it."""

    pointing: Row  # the message or artifact
    audience: Audience


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owed:
    """A row that was claimed, and what is done to it."""

    door: Tenant
    context_id: UUID
    seq: int
    part: int
    record_id: UUID | None
    attempts: int

    @property
    def ordinals(self) -> range:
        """The places of its passages among those of what points at it."""
        return range(ORDINALS_OF_PART * self.part, ORDINALS_OF_PART * (self.part + 1))

    def placed(self, place: int, one: NumberedTextPiece, pointing: Row) -> Passage:
        """Return a passage where it stands."""
        return copied(
            Passage,
            pointing,
            seq=self.seq,
            ordinal=self.ordinals[place],
            text=one.piece.text,
            terms=one.piece.terms,
            numbers=one.numbers,
            kind=RECORD,
            is_said=False,
            marks=one.piece.marks,
            author=pointing.name,
            part=self.part,
            source_id=self.record_id,
        )

    async def hold(self, transaction: Transaction, *, done: int) -> _Held | None:
        """Keep what is written to until the transaction ends; None if it is gone, or somebody is further."""
        for header in await transaction.query(_HOLD, self._named()):
            for row in await transaction.query(_LOCK, self._named()):
                if row.passages != done:
                    return None
                for pointing in await transaction.query(_POINTING, self._named()):
                    audience = Audience(
                        owner_user_id=header.owner_user_id,
                        ancestors=tuple(header.ancestors),
                        agent_bundle_id=header.agent_bundle_id,
                        app_id=header.app_id,
                    )
                    return _Held(pointing, audience)
        return None

    async def go_on(self, transaction: Transaction, passages: int) -> None:
        """Say how far it is."""
        lease = timedelta(seconds=LEASE_S)
        await transaction.query(_GO_ON, {**self._named(), "passages": passages, "lease": lease})

    async def renew(self) -> None:
        """Keep others from it for as long again."""
        lease = timedelta(seconds=LEASE_S)
        await self.door.query(_RENEW, {**self._named(), "attempts": self.attempts, "lease": lease})

    async def forget(self, transaction: Transaction) -> None:
        """Remove the row."""
        await transaction.query(_FORGET, self._named())

    async def finish(self, unread: Unread | None) -> None:
        """Say what became of it."""
        state = "INDEXED" if unread is None else "NO_TEXT" if unread.reason in _NOTHING_TO_READ else "FAILED"
        parameters = {**self._named(), "state": state, **_why(unread)}
        await self.door.query(_FINISH, parameters)

    async def postpone(self, unread: Unread) -> None:
        """Try it again later."""
        delay = timedelta(seconds=min(DELAY_S * 2.0 ** min(self.attempts - 1, 20), DELAY_S_MAX))
        await self.door.query(_POSTPONE, {**self._named(), "delay": delay, **_why(unread)})

    def _named(self) -> dict[str, object]:
        return {
            "tenant_id": self.door.tenant_id,
            "context_id": self.context_id,
            "seq": self.seq,
            "part": self.part,
        }


def _why(unread: Unread | None) -> dict[str, str]:
    return {"reason": unread.reason.value if unread else "", "detail": unread.detail if unread else ""}
