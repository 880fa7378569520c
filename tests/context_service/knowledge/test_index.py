"""What finds memories: vectors behind them, the index against what they say, and all of it erased with a user."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest

from context_service.commands import maintenance
from context_service.contexts.store.erasures import OF_SUBJECTS
from context_service.kernel.tokens import TokenCounter
from context_service.memories.store.memories import scope_of
from context_service.memories.store.passages import memory_source
from context_service.retrieval.model import MEMORY, WIKI, PassageScope
from context_service.retrieval.rules.verify import Verified, Verifying
from context_service.retrieval.store.passages import Passages
from context_service.settings import Settings
from contextkeep.context.v1 import memories_pb2 as pb
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import Opened, an_id, with_embedder
from tests.context_service.knowledge.conftest import User
from tests.context_service.knowledge.test_memories import recalled, texts


async def states(user: User) -> set[int]:
    return {one.state for one in (await user.call("ListMemories")).memories}


async def until(user: User, state: int) -> None:
    async with asyncio.timeout(20):
        while await states(user) != {state}:
            await asyncio.sleep(0.02)


async def test_a_vector_follows_and_the_state_says_so(postgres: EmbeddedPostgres, tmp_path: Path):
    async with with_embedder(postgres, tmp_path, embedding_interval_s=0.2) as (opened, _):
        user = User(opened.caller)
        kept = await user.retain("Ada likes tea.")
        assert kept.state == pb.MEMORY_STATE_PENDING
        assert await recalled(user, "tea") == ["Ada likes tea."]  # its words find it before
        await until(user, pb.MEMORY_STATE_INDEXED)
        answer = await user.call("RecallMemories", query="Ada likes tea.")
        assert (answer.mode, answer.meaning_error) == ("words and meaning", "")
        await user.call(
            "UpdateMemory", memory_id=kept.memory_id, memory={"text": "Ada likes rum."}, update_mask={"paths": ["text"]}
        )
        await until(user, pb.MEMORY_STATE_INDEXED)
        await user.call("ForgetMemory", memory_id=kept.memory_id)
        with psycopg.connect(opened.urls.superuser) as connection:
            (left,) = connection.execute("SELECT count(*) FROM context.passage_vector").fetchone()
        assert left == 0


async def verified(stack: Opened, user: User, *, mend: bool = False) -> Verified:
    sources = [memory_source(TokenCounter().count)]
    verifying = Verifying(stack.database, Passages(stack.database), sources)
    scope_id = scope_of(PRINCIPAL.tenant_id, user.user_id).id
    tenants = [stack.database.tenant(PRINCIPAL.tenant_id)]
    return await verifying.run(tenants, scope_id=scope_id, mend=mend, on_progress=lambda _: None)


async def test_the_index_is_compared_with_what_memories_say_and_made_anew(stack: Opened, user: User):
    for n in range(3):
        await user.retain(f"Ada has boat number {n}.", key="boat")
    one = await user.retain("Ask first.", kind=pb.MEMORY_KIND_EXPERIENCE, experience={"goal": "sail", "quality": 0.0})
    await user.call(
        "UpdateMemory", memory_id=one.memory_id, memory={"text": "Ask later."}, update_mask={"paths": ["text"]}
    )
    assert (await verified(stack, user)).is_equal
    with psycopg.connect(stack.urls.superuser, autocommit=True) as connection:
        connection.execute("DELETE FROM context.passage WHERE owner_user_id = %s AND kind = 'fact'", (user.user_id,))
    assert (await verified(stack, user)).missing == 3
    await verified(stack, user, mend=True)
    assert (await verified(stack, user)).is_equal
    assert len(await recalled(user, "boat")) == 3


@pytest.mark.parametrize("kind", [MEMORY, WIKI])
async def test_the_operators_command_knows_memories_and_pages(stack: Opened, user: User, kind: str):
    await user.retain("Ada likes tea.")
    await user.call("PutPage", page={"title": "Tea", "markdown": "Green, mostly."})
    with psycopg.connect(stack.urls.superuser, autocommit=True) as connection:
        connection.execute("DELETE FROM context.passage WHERE owner_user_id = %s", (user.user_id,))
    settings = Settings(database_url=stack.urls.service)
    scope_id = PassageScope.of_user(kind, PRINCIPAL.tenant_id, user.user_id).id

    async def missing(*, mend: bool) -> int:
        found = await maintenance.verify_index(
            settings, tenant="default", context_id=scope_id, mend=mend, on_progress=lambda _: None
        )
        return found.missing

    assert [await missing(mend=mend) for mend in (False, True, False)] == [1, 1, 0]


async def test_all_memories_of_a_user_are_erased_and_anothers_stay(stack: Opened, user: User):
    words, other = an_id(), User(stack.caller)
    for n in range(3):
        await user.retain(f"Ada knows {words} {n}.", key=words, request_id=an_id())
    await other.retain(f"Bob knows {words}.", request_id=an_id())
    settings = Settings(database_url=stack.urls.service)

    async def erase(*, dry_run: bool) -> dict[str, int]:
        return await maintenance.erase_subject(
            settings, "default", user.user_id, dry_run=dry_run, on_progress=lambda *_: None
        )

    counted = await erase(dry_run=True)
    assert (counted["context.memory"], counted["context.memory_user"], counted["context.passage"]) == (3, 1, 3)
    await erase(dry_run=False)

    assert set((await erase(dry_run=True)).values()) == {0}
    assert {"context.memory", "context.memory_user"} <= set(OF_SUBJECTS)
    scopes = [scope_of(PRINCIPAL.tenant_id, one.user_id).id for one in (user, other)]
    with psycopg.connect(stack.urls.superuser) as connection:
        answers = [
            connection.execute("SELECT count(*) FROM context.request WHERE about_id = %s", (scope,)).fetchone()[0]
            for scope in scopes
        ]
        (holding,) = connection.execute(
            "SELECT count(*) FROM context.passage p WHERE p.text LIKE %s", (f"%{words}%",)
        ).fetchone()
    assert (answers, holding) == ([0, 1], 1)
    assert await texts(user) == [] and await texts(other) == [f"Bob knows {words}."]
