"""The provider `wiki`, over gRPC and over MCP alike: a user's pages, cited, and as fresh as they say."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from contextkeep.context.v1 import memories_pb2 as memories_pb
from contextkeep.context.v1 import pages_pb2 as pages_pb
from tests.context_service.contexts.callers import an_id, at
from tests.context_service.query.conftest import Asker, World
from tests.context_service.query.test_agents import put as put_agent
from tests.context_service.query.test_agents import template
from tests.context_service.query.test_policy import say
from tests.context_service.query.test_query import only, states, statuses

MARKDOWN = "A customer since 2019.\n\n# Refunds\nThe quagga deposit is paid back within 30 days.\n"


async def put(world: World, user: str, slug: str = "acme", *, markdown: str = MARKDOWN, **fields: Any) -> pages_pb.Page:
    page = {"slug": slug, "title": "Acme", "markdown": markdown, **fields}
    return (await world.opened.caller.of("runtime").call("PutPage", page=page, subject_user_id=user)).page


async def retain(world: World, user: str, text: str, **fields: Any) -> memories_pb.Memory:
    said = {"text": text, **fields}
    return (await world.opened.caller.of("runtime").call("RetainMemory", memory=said, subject_user_id=user)).memory


async def wiki(ask: Asker, user: str, query: str = "When is the quagga deposit paid back?", **fields: Any) -> Any:
    return await only(ask, "wiki", query=query, key="runtime", user=user, **fields)


async def test_a_section_is_a_hit_with_where_it_stands(world: World, ask: Asker):
    user = an_id()
    page = await put(world, user)
    answer = await wiki(ask, user)
    (hit,) = answer["hits"]
    assert (hit["title"], hit["snippet"]) == ("Acme > Refunds", "The quagga deposit is paid back within 30 days.")
    assert (hit["family"], hit["scope"], hit["untrusted"]) == ("wiki", "personal", True)
    assert hit["sources"][0]["uri"] == "wiki://acme"
    metadata = hit["metadata"]
    assert (metadata["page_id"], metadata["version"], metadata["stale"]) == (page.page_id, 1, "")
    assert statuses(answer)["wiki"]["state"] == "ok"


async def test_a_page_is_found_by_its_alias_and_not_by_what_it_said_before(world: World, ask: Asker):
    user = an_id()
    await put(world, user, aliases=["Road Runner"])
    assert (await wiki(ask, user, "Who is Road Runner?"))["hits"][0]["title"] == "Acme"
    await put(world, user, markdown="A customer no more.")
    assert not (await wiki(ask, user, "quagga")).get("hits")


async def test_a_page_whose_time_is_over_is_a_hit_and_makes_the_status_stale(world: World, ask: Asker):
    user = an_id()
    await put(world, user, fresh_until=at(datetime.now(UTC) - timedelta(seconds=1)))
    await put(world, user, "fresh", markdown="The quagga is fresh.")
    answer = await wiki(ask, user, depth="deep")
    status = statuses(answer)["wiki"]
    assert (status["state"], status["hit_count"]) == ("stale", 2)
    assert status["reason"].startswith("acme is out of date: it was good until ")
    assert {one["metadata"]["slug"]: bool(one["metadata"]["stale"]) for one in answer["hits"]} == {
        "acme": True,
        "fresh": False,
    }


async def test_a_page_that_rests_on_a_memory_is_stale_when_that_is_changed_or_forgotten(world: World, ask: Asker):
    user, caller = an_id(), world.opened.caller.of("runtime")
    for change in ("UpdateMemory", "ForgetMemory"):
        memory = await retain(world, user, "The deposit is paid back.")
        await put(world, user, memory_ids=[memory.memory_id])
        assert states(await wiki(ask, user)) == {"wiki": "ok"}
        fields = (
            {} if change == "ForgetMemory" else {"memory": {"text": "It is not."}, "update_mask": {"paths": ["text"]}}
        )
        await caller.call(change, memory_id=memory.memory_id, subject_user_id=user, **fields)
        answer = await wiki(ask, user)
        assert states(answer) == {"wiki": "stale"}
        assert memory.memory_id in statuses(answer)["wiki"]["reason"]
        assert len(answer["hits"]) == 1


async def test_pages_are_their_users_and_no_teams(world: World, ask: Asker):
    user = an_id()
    await put(world, user)
    assert not (await wiki(ask, an_id())).get("hits")
    answer = await only(ask, "wiki", query="quagga")
    assert states(answer) == {"wiki": "skipped"}
    assert "SUBJECT_REQUIRED" in statuses(answer)["wiki"]["reason"]
    assert states(await wiki(ask, user, scope="team")) == {"wiki": "skipped"}
    assert len((await wiki(ask, user, scope="personal"))["hits"]) == 1
    theirs = await ask.query("other", query="quagga", providers={"ids": ["wiki"]})
    assert not theirs.get("hits")


async def test_times_are_those_of_the_versions(world: World, ask: Asker):
    user = an_id()
    await put(world, user)
    now = datetime.now(UTC)
    later, earlier = (now + timedelta(hours=1)).isoformat(), (now - timedelta(hours=1)).isoformat()
    assert not (await wiki(ask, user, time_from=later)).get("hits")
    assert len((await wiki(ask, user, time_from=earlier, time_to=later))["hits"]) == 1


async def remembered(ask: Asker, user: str, query: str = "Who pays late?", **fields: Any) -> Any:
    return await only(ask, "memory", query=query, key="runtime", user=user, **fields)


def mode(name: str) -> Any:
    return {"memory": {"query_mode": name}}


@pytest.mark.parametrize("name", ["recall", "reflect"])
async def test_a_cited_memory_brings_the_page_that_cites_it(world: World, ask: Asker, name: str):
    user = an_id()
    memory = await retain(world, user, "Acme pays late.")
    other = await retain(world, user, "Zeta pays late, too.")
    page = await put(world, user, memory_ids=[memory.memory_id], markdown="Remind them on the first day.")
    await put(world, user, "beside", markdown="Nothing of it.")
    answer = await remembered(ask, user, provider_options=mode(name))
    assert statuses(answer)["memory"]["state"] == "ok"
    (brought,) = [one for one in answer["hits"] if one["metadata"].get("source_family") == "wiki"]
    assert (brought["provider_id"], brought["snippet"]) == ("memory", "Remind them on the first day.")
    assert (brought["metadata"]["page_id"], brought["metadata"]["cites"]) == (page.page_id, memory.memory_id)
    assert other.memory_id not in brought["metadata"]["cites"]
    both = await ask.query("runtime", query="first day of Acme", user=user, providers={"ids": ["memory", "wiki"]})
    (hit,) = [one for one in both["hits"] if one["snippet"] == "Remind them on the first day."]
    assert {one["provider_id"] for one in hit["sources"]} == {"memory", "wiki"}


async def cited(world: World, user: str) -> tuple[str, str]:
    """Keep a memory and a page that cites it; return the refs that hits of them have."""
    memory = await retain(world, user, "Acme pays late.")
    page = await put(world, user, memory_ids=[memory.memory_id], markdown="Remind them on the first day.")
    return f"memory:{memory.memory_id}", f"memory:{page.page_id}.0"


def of_pages(answer: Any) -> list[Any]:
    return [one for one in answer.get("hits", []) if one["metadata"].get("source_family") == "wiki"]


@pytest.mark.parametrize("depth", ["quick", "deep"])
async def test_a_memory_brings_no_page_where_the_tenant_disables_them(world: World, ask: Asker, depth: str):
    user = an_id()
    memory, page = await cited(world, user)
    assert len(of_pages(await remembered(ask, user, depth=depth))) == 1
    await say(world, "wiki", enabled=False)
    try:
        answer = await remembered(ask, user, depth=depth, explain=True, expand_refs=[memory, page])
    finally:
        await say(world, "wiki", reset=["enabled"])
    assert (statuses(answer)["memory"]["state"], len(answer["hits"])) == ("ok", 1)
    assert "first day" not in str(answer)
    assert [one.get("is_found", False) for one in answer["expanded"]] == [True, False]
    answer = await remembered(ask, user, depth=depth, expand_refs=[memory, page])
    assert len(of_pages(answer)) == 1
    assert [one.get("is_found", False) for one in answer["expanded"]] == [True, True]


@pytest.mark.parametrize("whose", ["agent", "template"])
async def test_a_memory_brings_no_page_for_an_agent_that_may_not_ask_for_them(world: World, ask: Asker, whose: str):
    user = an_id()
    memory, page = await cited(world, user)
    policy = {"allowed": {"families": ["memory"]}}
    without = {"policy": policy} if whose == "agent" else {"template_id": await template(world, policy=policy)}
    agent, wide = await put_agent(world, **without), await put_agent(world)
    answer = await remembered(ask, user, agent=agent, explain=True, expand_refs=[memory, page])
    assert (statuses(answer)["memory"]["state"], len(answer["hits"])) == ("ok", 1)
    assert "first day" not in str(answer)
    assert [one.get("is_found", False) for one in answer["expanded"]] == [True, False]
    assert len(of_pages(await remembered(ask, user, agent=wide))) == 1


async def test_a_memory_stays_when_the_pages_that_cite_it_cannot_be_read(world: World, ask: Asker):
    user = an_id()
    memory = await retain(world, user, "Acme pays late.")
    await put(world, user, memory_ids=[memory.memory_id])
    with psycopg.connect(world.opened.urls.superuser) as connection:  # its transaction ends with the block
        connection.execute("LOCK TABLE context.wiki_citation IN ACCESS EXCLUSIVE MODE")
        answer = await remembered(ask, user, provider_options=mode("recall"), depth="deep")
    status = statuses(answer)["memory"]
    assert (status["state"], status["hit_count"]) == ("stale", 1)
    assert "without the pages that cite them" in status["reason"]
    assert answer["hits"][0]["snippet"] == "Acme pays late."
    async with asyncio.timeout(30):  # pages are waited for no longer than a second, which a busy machine may take
        while len((await remembered(ask, user, provider_options=mode("recall"), depth="deep")).get("hits", [])) != 2:
            pass


async def test_the_page_whose_alias_is_asked_comes_before_pages_with_more_of_the_words(world: World, ask: Asker):
    """Customers' pages have the same words, and only the number of the customer tells them apart."""
    user = an_id()
    for number in range(4):
        title, text = f"Customer {number}", "# Open points\nOpen points: the open points of the lift.\n"
        await put(world, user, f"other-{number}", markdown=text, title=title, aliases=[f"KD-221{number + 1}"])
    await put(world, user, "quagga", markdown="The roof leaks.\n", title="Quagga Ltd", aliases=["KD-2210", "Big Q"])

    for question in ("KD-2210 open points", "open points of Big Q", "What are the open points of kd2210?"):
        assert (await wiki(ask, user, question))["hits"][0]["title"] == "Quagga Ltd", question
    assert (await wiki(ask, user, "KD-2212 open points"))["hits"][0]["title"].startswith("Customer 1")
