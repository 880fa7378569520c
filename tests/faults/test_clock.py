"""Clocks are set back and forward, of the services and of Postgres, between calls and in the middle of them.

What must hold: deadlines, leases under way, polls and page positions do not follow the clock; an id is never made
twice; a row keeps its place; nothing that was acknowledged is lost. What may not: rows that are written after the
clock of Postgres was set back sort before those that were written while it was ahead.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import context_service.settings
from context_service.commands import maintenance
from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import Aborted, DeadlineExceeded, RequestIdReused, Unavailable
from contextkeep.ids import new_id
from contextkeep.inputs import EdgeInput, NodeInput
from tests.context_service.working_memory.callers import MIB
from tests.faults import load
from tests.faults import postgres as breakable
from tests.faults.clocks import Clock, Clocks
from tests.faults.processes import Service
from tests.noise import noise
from tests.ports import free_port

HOUR_S = 3600.0
JUMPS_S = (-2 * HOUR_S, 30 * 60, -180, 26 * HOUR_S, -HOUR_S, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The stack, each process with a clock of its own."""

    entity: AsyncEntityClient
    context: AsyncContextClient
    other_context: AsyncContextClient  # of a second replica, whose clock is right
    clocks: dict[str, Clock]  # of "postgres", "entity" and "context"
    settings: context_service.settings.Settings

    def set(self, offset_s: float) -> None:
        for clock in self.clocks.values():
            clock.set(offset_s)

    async def sweep(self) -> None:
        """Sweep, as an operator on another machine would: whether something is due, Postgres says."""
        await maintenance.sweep(self.settings)


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Timed]:
    folder = tmp_path_factory.mktemp("timed")
    async with AsyncExitStack() as stack:
        open_folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        open_folder.chmod(0o755)
        clocks = Clocks(open_folder)
        of = {name: clocks.make(name) for name in ("postgres", "entity", "context")}
        postgres = await stack.enter_async_context(
            breakable.running(folder / "postgres", durable=False, environment=of["postgres"].environment)
        )
        entity = Service(
            "entity_service",
            free_port(),
            environment={"DATABASE_URL": postgres.url, **of["entity"].environment},
            log=folder / "entity.log",
        )
        environment = {
            "DATABASE_URL": postgres.url,
            "ENTITY_SERVICE_URL": entity.address,
            "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
            "SWEEP_INTERVAL_S": "0.2",
        }
        context = Service(
            "context_service",
            free_port(),
            environment={**environment, **of["context"].environment},
            log=folder / "context.log",
        )
        other = Service("context_service", free_port(), environment=environment, log=folder / "other.log")
        services = (entity, context, other)
        for service in services:
            stack.push_async_callback(service.kill)
        await asyncio.gather(*(service.start() for service in services))
        yield Timed(
            entity=await stack.enter_async_context(AsyncEntityClient(entity.address, retries=0)),
            context=await stack.enter_async_context(AsyncContextClient(context.address, retries=0)),
            other_context=await stack.enter_async_context(AsyncContextClient(other.address, retries=0)),
            clocks=of,
            settings=context_service.settings.Settings(
                database_url=postgres.url, working_memory_storage_path=folder / "blobs"
            ),
        )


@pytest.fixture
def timed(shared: Timed) -> Timed:
    shared.set(0)
    return shared


async def now_of_postgres(timed: Timed) -> datetime:
    return (await timed.entity.graph.create_node("Now")).created_at


async def test_the_clocks_of_these_tests_do_move(timed: Timed):
    timed.set(-HOUR_S)
    assert datetime.now(UTC) - await now_of_postgres(timed) > timedelta(minutes=59)


async def test_jumping_clocks_fail_no_call_and_lose_nothing(timed: Timed):
    jumps: list[tuple[float, float]] = []
    async with load.running(timed.entity, timed.context) as written:
        for offset_s in JUMPS_S * 2:
            for name, clock in timed.clocks.items():
                before = time.monotonic()
                clock.set(offset_s)
                if name == "postgres":
                    jumps.append((before, time.monotonic()))
                await asyncio.sleep(0.05)
        timed.set(0)
        await written.more(20)

    # Postgres measures the time of a statement by its own clock: the one that runs while it jumps may be over.
    assert [
        call.error
        for call in written.failures
        if not isinstance(call.error, DeadlineExceeded)
        or not any(call.started < after and before < call.ended for before, after in jumps)
    ] == []
    assert max(call.took_s for call in written.calls) < 15
    assert len(set(written.nodes)) == len(written.nodes)
    assert await written.lost() == []


async def test_a_deadline_does_not_follow_the_clock(timed: Timed):
    """A history of many pages is under way while the clocks jump: neither is its time up, nor has it no end."""
    session = NodeInput("Session")
    await timed.entity.graph.write([session])
    for _ in range(4):
        turns = [NodeInput("Turn", data={"user_input": "x" * 3000}) for _ in range(500)]
        await timed.entity.graph.write(turns, [EdgeInput(session.id, turn.id, "Contains") for turn in turns])

    for offset_s in (-2 * HOUR_S, 2 * HOUR_S):
        timed.set(0)
        reading = asyncio.create_task(timed.context.history.stream(session.id, timeout_s=60))
        await asyncio.sleep(0.02)
        timed.set(offset_s)
        assert len(await reading) == 2000


async def test_pages_go_on_where_they_were_though_rows_come_with_earlier_times(timed: Timed):
    entity_node_id = new_id()
    before = [
        (
            await timed.context.records.insert("data/json", f"before {n}", entity_node_id=entity_node_id)
        ).working_memory_id
        for n in range(20)
    ]
    seen = []
    async for record in timed.context.records.list_by_entity(entity_node_id, page_size=5):
        seen.append(record.working_memory_id)
        if len(seen) == 7:
            timed.set(-HOUR_S)
            for n in range(5):
                await timed.context.records.insert("data/json", f"behind {n}", entity_node_id=entity_node_id)

    assert [one for one in seen if one in before] == list(reversed(before))
    assert len(seen) == len(set(seen))


async def test_a_walk_keeps_its_order_and_meets_each_node_once(timed: Timed):
    session = NodeInput("Session")
    await timed.entity.graph.write([session])
    written = []
    for offset_s in (0, -HOUR_S, -180, 60):
        timed.set(offset_s)
        for _ in range(5):
            turn = await timed.entity.graph.create_node("Turn")
            await timed.entity.graph.create_edge(session.id, turn.id, "Contains")
            written.append(turn)

    whole = [reached.node async for reached in timed.entity.graph.traverse(session.id)]
    paged: list[str] = []
    token = ""
    for _ in itertools.count():
        async for page in timed.entity.graph.traverse_pages(session.id, limit=3, page_token=token):
            paged += [reached.node.id for reached in page.nodes]
            token = page.next_page_token
        if not token:
            break

    assert [node.id for node in whole] == paged
    assert sorted(paged) == sorted(turn.id for turn in written)
    assert [(node.created_at, node.seq) for node in whole] == sorted((turn.created_at, turn.seq) for turn in written)


async def test_a_change_is_never_dated_before_the_one_before(timed: Timed):
    node = await timed.entity.graph.create_node("Turn")
    record = await timed.context.records.insert("data/json", "changed")
    timed.set(-HOUR_S)

    changed_node = await timed.entity.graph.update_node_data(node.id, {"a": 1})
    changed_record = await timed.context.records.update(record.working_memory_id, name="changed again")

    assert changed_node.modified_at >= node.modified_at
    assert changed_record.updated_at >= record.updated_at


async def test_a_repeated_request_answers_as_the_first_time(timed: Timed):
    request_id = new_id()
    first = await timed.entity.graph.create_node("Once", request_id=request_id)
    for offset_s in (-2 * HOUR_S, 2 * HOUR_S):
        timed.set(offset_s)
        assert await timed.entity.graph.create_node("Once", request_id=request_id) == first
        with pytest.raises(RequestIdReused):
            await timed.entity.graph.create_node("Twice", request_id=request_id)


async def test_a_mapping_reaches_the_other_replica_whatever_the_clock_says(timed: Timed):
    session, turn = NodeInput("Session"), NodeInput("Turn", data={"text": "hello"})
    await timed.entity.graph.write([session, turn], [EdgeInput(session.id, turn.id, "Contains")])
    rules = {"messages": [{"role": "'user'", "content": "entity.data.text"}]}
    await timed.context.mappings.register("timed", rules, app_id="clock")
    for offset_s, text in ((-HOUR_S, "'a'"), (HOUR_S, "'b'"), (0, "'c'")):
        timed.set(offset_s)
        rules = {"messages": [{"role": "'user'", "content": text}]}
        await timed.context.mappings.register("timed", rules, app_id="clock", replace=True)
        async with asyncio.timeout(30):
            while True:
                history = await timed.other_context.history.get(session.id, mapping_name="timed", app_id="clock")
                if [message.content for message in history] == [text.strip("'")]:
                    break
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("offset_s", [-2 * HOUR_S, 2 * HOUR_S])
async def test_an_upload_during_which_the_clocks_are_set_is_whole_or_not_there(timed: Timed, offset_s: float):
    """Forward past the end of its lease, an upload may be taken for abandoned: then its caller is told."""
    moved = False

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal moved
        for number in range(3):
            yield noise(MIB)
            await asyncio.sleep(0.1)
            if number == 1:
                timed.set(offset_s)
                moved = True
                await asyncio.sleep(0.5)  # two sweeps
                await timed.sweep()

    record_id = new_id()
    try:
        await timed.context.blobs.upload(pieces(), name="timed", working_memory_id=record_id)
    except (Aborted, Unavailable):
        stored = False
    else:
        stored = True

    assert moved
    assert stored or offset_s > 0
    await timed.sweep()
    if stored:
        assert await timed.context.blobs.get_content(record_id) == noise(MIB) * 3


async def test_what_is_live_outlives_any_clock(timed: Timed):
    record = await timed.context.blobs.upload(noise(MIB), name="live")
    for offset_s in (400 * 24 * HOUR_S, -400 * 24 * HOUR_S, 0):
        timed.set(offset_s)
        await timed.sweep()
        assert await timed.context.blobs.get_content(record.working_memory_id) == noise(MIB)
