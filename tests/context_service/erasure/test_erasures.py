"""Subjects that are erased: all of it, in both services, whatever is killed meanwhile; and holds that forbid it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest

from context_service.contexts.store import erasures
from context_service.erasure.rules import subjects
from context_service.erasure.rules.subjects import SubjectEraser, begin
from context_service.erasure.store.erasures import IS_OWED, RENEW
from context_service.settings import Settings
from contextkeep import (
    ArtifactInput,
    AsyncContextClient,
    AsyncEntityClient,
    FileInput,
    MessageInput,
    PartInput,
    SubjectErasure,
    new_id,
)
from contextkeep.errors import (
    ContextNotFound,
    HoldNotFound,
    LegalHold,
    PermissionDenied,
    RecordNotFound,
    RequestIdReused,
)
from service_runtime.background_work import background
from service_runtime.background_work.long_work import LongWork, Pause, Work
from service_runtime.erasure.erased import hash_of
from service_runtime.postgres import Database, Row, Tenant
from service_runtime.rpc.principal import ApiKeys
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL, Addresses, Urls
from tests.context_service.erased import Entries, NoPages, eraser_of, purges_of
from tests.media import png

ADA = "ada@example.com"
USERS = frozenset({"read", "write"})
PICTURE = png(40, 30)


@pytest.fixture
def callers() -> ApiKeys:
    return ApiKeys(
        {
            "admin": replace(PRINCIPAL, subject="admin"),
            "ada": replace(PRINCIPAL, subject=ADA, user_id=ADA, scopes=USERS),
            "other": OTHER_PRINCIPAL,
            "bob": replace(PRINCIPAL, subject="bob", user_id="bob", scopes=USERS),
            "bound": replace(PRINCIPAL, app_ids=frozenset({"books"})),
        }
    )


@pytest.fixture
def context_settings(context_settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The service looks for what is due as often as a test says, or never: erasers of tests work on the same rows."""
    return context_settings.model_copy(update={"sweep_interval_s": getattr(request, "param", 86_400.0)})


async def finished(context: AsyncContextClient, erasure: SubjectErasure) -> SubjectErasure:
    async with asyncio.timeout(60):
        while erasure.state != "finished":
            await asyncio.sleep(0.05)
            erasure = await context.erasures.get(erasure.erasure_id)
    return erasure


async def test_a_subject_goes_with_all_that_it_owns_and_nobody_else(services: Addresses, urls: Urls):
    kept: dict[str, str] = {}
    async with (
        AsyncContextClient(services.context, api_key="admin") as admin,
        AsyncEntityClient(services.entity, api_key="admin") as graph,
    ):
        for key in ("ada", "bob"):
            async with (
                AsyncContextClient(services.context, api_key=key) as context,
                AsyncEntityClient(services.entity, api_key=key) as own,
            ):
                sent = await context.contexts.send(MessageInput(content=f"{key} said a secret"))
                record = await context.blobs.upload(f"{key} wrote a secret".encode(), name=f"{key} secret")
                node = await own.graph.create_node("Session", name=f"{key} secret")
                kept |= {f"{key} context": sent.context_id, f"{key} record": record.working_memory_id, key: node.id}
        plan = await admin.erasures.plan(ADA)
        assert [plan.counts[kind] for kind in ("context.context", "context.wm_record", "entity.node")] == [1, 1, 1]
        assert not plan.holds
        assert len(plan.not_found) >= 3

        erasure = await finished(admin, await admin.erasures.erase(ADA))

        assert erasure.removed["context.message"] == erasure.removed["context.wm_record"] == 1
        assert erasure.removed["entity.node"] == 1
        assert not (await admin.erasures.plan(ADA)).counts
        with pytest.raises(ContextNotFound):
            await admin.contexts.get(kept["ada context"])
        with pytest.raises(RecordNotFound):
            await admin.records.get(kept["ada record"])
        assert (await admin.contexts.get(kept["bob context"])).context.message_count == 1
        reader = await admin.blobs.get(kept["bob record"])
        assert b"".join([chunk async for chunk in reader]) == b"bob wrote a secret"
        assert (await graph.graph.get_node(kept["bob"])).name == "bob secret"
    with psycopg.connect(urls.superuser) as connection:
        ((subject, sha256),) = connection.execute("SELECT subject, subject_sha256 FROM context.subject_erasure")
        assert connection.execute("SELECT subject FROM entity.erasure").fetchall() == [(None,)]
    assert (subject, sha256) == (None, hash_of(UUID(erasure.erasure_id), ADA))


async def test_a_repeated_call_is_one_erasure_and_a_later_one_another(services: Addresses):
    async with AsyncContextClient(services.context, api_key="admin") as admin:
        request_id = new_id()
        first = await admin.erasures.erase(ADA, request_id=request_id)
        assert (await admin.erasures.erase(ADA, request_id=request_id)).erasure_id == first.erasure_id
        await finished(admin, first)
        later = await admin.erasures.erase(ADA)
        assert later.erasure_id != first.erasure_id
        assert not (await finished(admin, later)).removed
        with pytest.raises(RequestIdReused):
            await admin.erasures.erase("bob", request_id=request_id)
    async with AsyncContextClient(services.context, api_key="bound") as bound:
        for refused in (
            bound.erasures.plan(ADA),
            bound.erasures.erase(ADA),
            bound.holds.put("for nobody", subject=ADA),
        ):
            with pytest.raises(PermissionDenied):
                await refused


async def test_a_hold_forbids_every_way_to_erase(services: Addresses, urls: Urls, database: Database):
    """Of a context also the way by one above it, by its time, and by its owner."""
    async with (
        AsyncContextClient(services.context, api_key="admin") as admin,
        AsyncContextClient(services.context, api_key="ada") as context,
    ):
        above = (await context.contexts.send(MessageInput(content="the beginning"))).context_id
        window = await context.windows.open(above, model="gpt-4o")
        below = (await context.windows.fork(window.window_id, task="a part")).window.context_id
        of_context = await admin.holds.put("a lawsuit", context_id=below)
        with pytest.raises(LegalHold) as refused:
            await context.contexts.delete(above)
        assert refused.value.metadata["hold_ids"] == of_context.hold_id
        with pytest.raises(LegalHold):
            await admin.erasures.erase(ADA)
        with psycopg.connect(urls.superuser) as connection:
            connection.execute("UPDATE context.context SET expires_at = now()")
        eraser = eraser_of(database)
        assert await eraser.erase_due() == 0
        assert [hold.hold_id for hold in (await admin.erasures.plan(ADA)).holds] == [of_context.hold_id]
        with pytest.raises(ContextNotFound):  # nobody is told of a hold of what he does not see
            async with AsyncContextClient(services.context, api_key="bob") as bob:
                await bob.contexts.delete(above)

        of_subject = await admin.holds.put("another", subject=ADA)
        await admin.holds.release(of_context.hold_id)
        assert [hold async for hold in admin.holds.list(page_size=1)] == [of_subject]
        assert await eraser.erase_due() == 0
        with pytest.raises(LegalHold):
            await admin.erasures.erase(ADA)
        await admin.holds.release(of_subject.hold_id)
        with pytest.raises(HoldNotFound):
            await admin.holds.release(of_subject.hold_id)
        assert await eraser.erase_due() == 2
        await finished(admin, await admin.erasures.erase(ADA))


async def test_each_erased_context_is_counted_once_though_a_step_ends_between_a_fork_and_its_parent(
    services: Addresses, database: Database, urls: Urls, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(erasures, "STEP_S", 0.0)
    async with AsyncContextClient(services.context, api_key="ada") as context:
        above = (await context.contexts.send(MessageInput(content="the beginning"))).context_id
        window = await context.windows.open(above, model="gpt-4o")
        await context.windows.fork(window.window_id, task="a part")
    with psycopg.connect(urls.superuser) as connection:
        connection.execute("UPDATE context.context SET expires_at = now()")
    assert await eraser_of(database).erase_due() == 2


async def test_a_fork_is_whose_the_window_is_so_what_came_of_it_is_found(services: Addresses, urls: Urls):
    """A fork of nobody's window is nobody's, whoever works on it: no merge brings what is a user's to nobody."""
    async with (
        AsyncContextClient(services.context, api_key="admin") as admin,
        AsyncContextClient(services.context, api_key="ada") as ada,
    ):
        nobodys = (await admin.contexts.send(MessageInput(content="the beginning"))).context_id
        hers = (await ada.contexts.send(MessageInput(content="the beginning"))).context_id
        for context_id, owner in ((nobodys, ""), (hers, ADA)):
            window = await ada.windows.open(context_id, model="gpt-4o")
            fork = (await ada.windows.fork(window.window_id, task=f"a part of {owner}")).window
            answer = MessageInput(content=f"a result for {owner or 'nobody'}", role="assistant")
            await ada.contexts.append([answer], fork.context_id)
            await ada.windows.merge(fork.window_id)
            assert (await ada.contexts.get(fork.context_id)).context.owner_user_id == owner
        await finished(admin, await admin.erasures.erase(ADA))
    with psycopg.connect(urls.superuser) as connection:
        left = "".join(row for (row,) in connection.execute("SELECT m::text FROM context.message m"))
    assert "a result for nobody" in left and f"a result for {ADA}" not in left and ADA not in left


@pytest.mark.parametrize("context_settings", [0.5], indirect=True)
async def test_a_hold_stops_an_erasure_that_is_under_way(services: Addresses, urls: Urls):
    """Whichever was first: who holds is told nothing of an erasure that began at the same moment."""
    async with (
        AsyncContextClient(services.context, api_key="admin") as admin,
        AsyncContextClient(services.context, api_key="ada") as context,
    ):
        sent = await context.contexts.send(MessageInput(content="a secret"))
        hold = await admin.holds.put("a lawsuit", subject=ADA)
        with psycopg.connect(urls.superuser) as connection:
            erasure_id = new_id()
            connection.execute(
                "INSERT INTO context.subject_erasure (tenant_id, erasure_id, subject, subject_sha256, requested_by)"
                " VALUES (%s, %s, %s, '', '')",
                (PRINCIPAL.tenant_id, erasure_id, ADA),
            )
        await admin.erasures.erase("nobody")  # wakes the eraser
        await asyncio.sleep(0.2)
        assert (await admin.contexts.get(sent.context_id)).context.message_count == 1
        await admin.holds.release(hold.hold_id)
        again = await admin.erasures.erase(ADA)
        assert again.erasure_id == str(erasure_id)
        await finished(admin, again)


async def test_whatever_kills_an_erasure_another_goes_on_and_the_receipt_is_right(
    services: Addresses, urls: Urls, database: Database
):
    """After any number of statements; what is counted is counted where it is removed."""
    async with (
        AsyncContextClient(services.context, api_key="admin") as admin,
        AsyncContextClient(services.context, api_key="ada") as context,
    ):
        for n in range(3):
            await context.contexts.send(MessageInput(content=f"secret {n}"))
            await context.blobs.upload(f"secret {n}".encode(), name="secret")
            await context.memories.retain(f"She said secret {n}.")
        there_were = (await admin.erasures.plan(ADA)).counts
        tenant = database.tenant(PRINCIPAL.tenant_id)
        erasure_id = await tenant.transaction(lambda one: begin(one, ADA, requested_by="operator"))

        eraser = steadily_erasing(database)
        for steps in (1, 4, 9, 14, 22, 31, 43, 60, 90):
            with psycopg.connect(urls.superuser) as connection:
                connection.execute("UPDATE context.subject_erasure SET due_at = now()")
            with contextlib.suppress(Killed):
                await eraser.erase_tenant(Dying(tenant, steps))
        with psycopg.connect(urls.superuser) as connection:
            connection.execute("UPDATE context.subject_erasure SET due_at = now()")
        erasure = await finished(admin, await admin.erasures.erase(ADA))
        assert erasure.erasure_id == str(erasure_id)
        for kind in ("context.context", "context.message", "context.wm_record", "context.memory"):
            assert erasure.removed[kind] == there_were[kind], kind
        assert not (await admin.erasures.plan(ADA)).counts


async def test_an_erasure_of_much_goes_in_steps_and_others_wait_for_one_of_them(
    services: Addresses, urls: Urls, database: Database, monkeypatch: pytest.MonkeyPatch
):
    """Also where it is killed between two of them; then another begins it again, and the receipt is right."""
    steps: list[UUID] = []

    class Recorded(LongWork):
        async def step(self, tenant: Tenant, begin: Callable[[], Awaitable[Work | None]]) -> bool:
            has_worked = await super().step(tenant, begin)
            if has_worked:
                steps.append(tenant.tenant_id)
            return has_worked

    monkeypatch.setattr(subjects, "LongWork", Recorded)
    monkeypatch.setattr(subjects, "AT_ONCE", 1)
    monkeypatch.setattr(subjects, "_RECORDS", 1)
    monkeypatch.setattr(subjects, "STEP_ROWS", 1)
    monkeypatch.setattr(erasures, "STEP_ROWS", 2)
    monkeypatch.setattr(erasures, "STEP_S", 0.0)
    much, little = PRINCIPAL.tenant_id, OTHER_PRINCIPAL.tenant_id
    async with (
        AsyncContextClient(services.context, api_key="admin") as admin,
        AsyncContextClient(services.context, api_key="ada") as context,
        AsyncContextClient(services.context, api_key="other") as other,
    ):
        for _ in range(3):
            await context.contexts.append([f"secret {n}" for n in range(20)])
        for n in range(20):
            await context.records.insert("text/plain", "secret", content_text=f"secret {n}")
            await context.memories.retain(f"She said secret {n}.")
        await other.memories.retain("She said it.", subject_user_id=ADA)
        there_were = (await admin.erasures.plan(ADA)).counts
        erasure_id = await database.tenant(much).transaction(partial(begin, subject=ADA, requested_by="operator"))

        task = asyncio.create_task(steadily_erasing(database).erase_due())
        while len(steps) < 50:
            await asyncio.sleep(0.01)
        await background.ended(task)  # as a kill: nothing is written any more
        left = (await admin.erasures.plan(ADA)).counts
        assert 0 < left["context.wm_record"] <= there_were["context.wm_record"]
        with psycopg.connect(urls.superuser) as connection:
            open_ones = connection.execute(
                "UPDATE context.subject_erasure SET due_at = now() WHERE subject = %s RETURNING erasure_id", (ADA,)
            )
            assert open_ones.fetchall() == [(erasure_id,)]

        steps.clear()
        await database.tenant(little).transaction(partial(begin, subject=ADA, requested_by="operator"))
        await steadily_erasing(database).erase_due()
        last = max(place for place, tenant_id in enumerate(steps) if tenant_id == little)
        assert last <= 2 * steps.count(little) < 2 * steps.count(much)

        with psycopg.connect(urls.superuser) as connection:
            ((subject, removed),) = connection.execute(
                "SELECT subject, removed FROM context.subject_erasure WHERE erasure_id = %s", (erasure_id,)
            )
        assert subject is None
        for kind in ("context.context", "context.message", "context.wm_record", "context.memory"):
            assert removed[kind] == there_were[kind], kind
        assert not (await admin.erasures.plan(ADA)).counts
        assert not (await other.erasures.plan(ADA)).counts


async def test_bytes_within_their_grace_go_with_their_owner_and_stay_without_an_erasure(
    services: Addresses, context_settings: Settings
):
    """Backups rely on the grace time of deleted contexts and records; a user who is erased has none."""
    async with AsyncContextClient(services.context, api_key="admin") as admin:
        for key in ("ada", "bob"):
            async with AsyncContextClient(services.context, api_key=key) as context:
                picture = PartInput(file=FileInput(data=PICTURE + key.encode(), media_type="image/png"))
                sent = await context.contexts.send(MessageInput(content="Look", parts=[picture]))
                deleted = await context.contexts.delete(sent.context_id, now=True)
                async with asyncio.timeout(60):
                    while (await context.contexts.get_erasure(deleted.erasure_id)).finished_at is None:
                        await asyncio.sleep(0.05)
                for text in (f"a letter of {key}", "a form that both have"):
                    record = await context.blobs.upload(text.encode(), name="letter.txt")
                    await context.records.delete(record.working_memory_id, purge=True)
        async with AsyncContextClient(services.context, api_key="ada") as context:  # of a context that she still has
            living = await context.contexts.send("Draw")
            status = MessageInput(role="assistant", parts=[PartInput(file=FileInput(data=b"a sketch of ada"))])
            task = await context.tasks.create(living.context_id, state="working", status_message=status)
            chart = PartInput(file=FileInput(data=b"a chart of ada"))
            await context.artifacts.put(task.task_id, ArtifactInput(artifact_id="chart", parts=[chart]))
        async with AsyncContextClient(services.context, api_key="bob") as context:
            kept = await context.blobs.upload(b"a form that both have", name="letter.txt")
        folder = context_settings.working_memory_storage_path
        assert folder is not None
        stored = {path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        mine = {PICTURE + b"ada", b"a letter of ada", b"a sketch of ada", b"a chart of ada"}
        assert {*mine, PICTURE + b"bob", b"a letter of bob", b"a form that both have"} <= stored

        await finished(admin, await admin.erasures.erase(ADA))

        left = {path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert not left & mine
        assert {PICTURE + b"bob", b"a letter of bob"} <= left
        assert await admin.blobs.get_content(kept) == b"a form that both have"


async def test_a_pass_says_that_something_is_left_whatever_other_tenants_have(
    urls: Urls, database: Database, monkeypatch: pytest.MonkeyPatch
):
    """The steps of two tenants run at once. A pass that forgets what one of them owes leaves it for a minute."""
    query = Tenant.query

    async def slowly(self: Tenant, sql: Any, *arguments: Any, **named: Any) -> list[Row]:
        if sql is IS_OWED and self.tenant_id != PRINCIPAL.tenant_id:
            await asyncio.sleep(0.5)
        return await query(self, sql, *arguments, **named)

    monkeypatch.setattr(Tenant, "query", slowly)
    await database.tenant(PRINCIPAL.tenant_id).transaction(partial(begin, subject=ADA, requested_by="operator"))
    with psycopg.connect(urls.superuser) as connection:  # another replica is at it
        connection.execute("UPDATE context.subject_erasure SET due_at = now() + interval '1 hour'")
    assert await steadily_erasing(database).erase_due()


def steadily_erasing(database: Database) -> SubjectEraser:
    """Return what erases subjects, and gives way at each pause."""

    async def keep_bytes(_: Tenant, pause: Pause) -> None:
        pass

    contexts = eraser_of(database)
    entries, pages = Entries(), NoPages()
    return SubjectEraser(
        database,
        contexts,
        purges_of(database),
        register=entries,
        compiled_pages=pages,
        remove_bytes=keep_bytes,
        step_s=0.0,
    )


class Killed(Exception):
    pass


class Dying(Tenant):
    """A door behind which a process dies after some statements."""

    def __init__(self, tenant: Tenant, steps: int) -> None:
        self.__dict__.update(vars(tenant))
        self.steps = steps

    async def query(self, sql: Any, *arguments: Any, **named: Any) -> list[Row]:
        if sql is RENEW:  # in the background, and not one of the steps
            return []
        if not self.steps:
            raise Killed
        self.steps -= 1
        return await super().query(sql, *arguments, **named)
