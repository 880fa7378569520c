"""Wiki pages over running services: written, kept version by version, and whose they are."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.model import WIKI, Scope
from context_service.retrieval.rules.verify import Verified, Verifying
from context_service.retrieval.store.passages import Passages
from context_service.wiki import model as limits
from context_service.wiki.rules import pages
from context_service.wiki.store.passages import page_source
from contextkeep.context.v1 import pages_pb2 as pb
from contextkeep.errors import (
    InvalidArgument,
    InvalidPageToken,
    LimitExceeded,
    MemoryNotFound,
    PageNameTaken,
    PageNotFound,
    PermissionDenied,
    SubjectRequired,
    VersionConflict,
)
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import Opened, an_id, at
from tests.context_service.erased import erase_subject
from tests.context_service.knowledge.conftest import User

MARKDOWN = "A customer since 2019.\n\n# Refunds\nWithin 30 days.\n"


async def put(user: User, slug: str = "acme", *, markdown: str = MARKDOWN, **fields: Any) -> pb.Page:
    outer = {name: fields.pop(name) for name in ("request_id", "expected_version") if name in fields}
    page = {"slug": slug, "title": "Acme", "markdown": markdown, **fields}
    return (await user.call("PutPage", page=page, **outer)).page


async def get(user: User, slug: str = "acme", **fields: Any) -> pb.Page:
    return (await user.call("GetPage", slug=slug, **fields)).page


def rows_of(stack: Opened, user: User) -> dict[str, int]:
    """Return how many rows there are of a user, by table."""
    tables = ("wiki_page", "wiki_page_version", "wiki_page_name", "wiki_citation", "passage", "passage_session")
    with psycopg.connect(stack.urls.superuser) as connection:
        return {
            table: connection.execute(
                f"SELECT count(*) FROM context.{table} WHERE owner_user_id = %s".encode(), (user.user_id,)
            ).fetchone()[0]
            for table in tables
        }


async def test_what_is_put_is_read_as_it_was(user: User):
    memory = await user.retain("Acme pays late.")
    until = datetime.now(UTC) + timedelta(days=7)
    written = await put(
        user,
        aliases=["Acme Corp.", "Road  Runner"],
        sources=[{"label": "CRM", "uri": "https://crm.example/7", "id": "7"}],
        memory_ids=[memory.memory_id],
        fresh_until=at(until),
    )
    assert (written.version, written.markdown, len(written.sources)) == (1, "", 0)

    page = await get(user)
    assert (page.family, page.slug, page.title, page.markdown) == ("wiki", "acme", "Acme", MARKDOWN)
    assert (list(page.aliases), page.sources[0].id) == (["Acme Corp.", "Road  Runner"], "7")
    assert list(page.memory_ids) == [memory.memory_id]
    assert (page.version, page.newest_version, page.size_bytes) == (1, 1, len(MARKDOWN))
    assert (page.state, list(page.stale), page.owner_user_id) == (pb.PAGE_STATE_FRESH, [], user.user_id)
    assert page.fresh_until.ToDatetime(UTC) == until
    assert page.as_of == page.updated_at == page.created_at
    for name in ("ACME", "acme corp.", " road runner "):
        assert (await get(user, name)).page_id == page.page_id
    assert (await user.call("GetPage", page_id=page.page_id)).page.slug == "acme"


async def test_each_content_is_a_version_and_the_same_again_holds_still(stack: Opened, user: User):
    await put(user)
    second = await put(user, markdown="A customer no more.")
    again = await put(user, markdown="A customer no more.", fresh_until=at(datetime.now(UTC) + timedelta(days=1)))

    assert (second.version, again.version) == (2, 2)
    assert again.as_of.ToDatetime() > second.as_of.ToDatetime() and again.updated_at == second.updated_at
    assert (await get(user)).HasField("fresh_until")
    first = await get(user, version=1)
    assert (first.markdown, first.version, first.newest_version) == (MARKDOWN, 1, 2)
    assert (first.state, list(first.stale)) == (pb.PAGE_STATE_STALE, ["version 2 is newer"])
    listed = await user.call("ListPageVersions", slug="acme")
    assert [(one.version, one.title, one.size_bytes) for one in listed.versions] == [
        (2, "Acme", 19),
        (1, "Acme", len(MARKDOWN)),
    ]
    assert rows_of(stack, user) == {
        "wiki_page": 1,
        "wiki_page_version": 2,
        "wiki_page_name": 1,
        "wiki_citation": 0,
        "passage": 1,  # of the newest version alone
        "passage_session": 1,
    }


async def test_old_versions_go_and_the_rest_is_listed_in_pages(user: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("context_service.wiki.store.pages.VERSIONS_MAX", 3)
    for number in range(5):
        await put(user, markdown=f"Number {number}.")
    first = await user.call("ListPageVersions", slug="acme", page_size=2)
    second = await user.call("ListPageVersions", slug="acme", page_size=2, page_token=first.next_page_token)
    assert [one.version for one in (*first.versions, *second.versions)] == [5, 4, 3]
    assert not second.next_page_token
    with pytest.raises(PageNotFound):
        await get(user, version=2)
    with pytest.raises(InvalidPageToken):
        await user.call("ListPageVersions", slug="other", page_token=first.next_page_token)


async def test_versions_take_no_more_than_their_share_but_the_newest_stays(user: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("context_service.wiki.store.pages.VERSIONS_BYTES_MAX", 30)
    for number in range(3):
        await put(user, markdown=f"Number {number}, twenty.")
    assert [one.version for one in (await user.call("ListPageVersions", slug="acme")).versions] == [3]
    await put(user, markdown="A page of more than thirty bytes stays.")
    assert (await get(user)).version == 4


async def test_who_says_what_he_read_writes_over_nothing_else(user: User):
    await put(user, expected_version=0)
    with pytest.raises(VersionConflict) as caught:
        await put(user, markdown="Mine.", expected_version=0)
    assert caught.value.metadata["version"] == "1"
    assert (await put(user, markdown="Mine.", expected_version=1)).version == 2
    with pytest.raises(VersionConflict):
        await user.call("DeletePage", slug="acme", expected_version=1)
    with pytest.raises(PageNotFound):
        await put(user, "other", expected_version=1)


async def test_writers_at_once_lose_no_version(stack: Opened, user: User):
    written = await asyncio.gather(*(put(user, markdown=f"Number {number}.") for number in range(10)))
    assert sorted(one.version for one in written) == list(range(1, 11))
    one, *losers = await asyncio.gather(
        *(put(user, markdown=f"Again {number}.", expected_version=10) for number in range(5)), return_exceptions=True
    )
    outcomes = [type(each) for each in (one, *losers)]
    assert (outcomes.count(pb.Page), outcomes.count(VersionConflict)) == (1, 4)
    assert rows_of(stack, user)["passage"] == 1


async def test_a_name_leads_to_one_page(user: User):
    await put(user, aliases=["Road Runner"])
    with pytest.raises(PageNameTaken) as caught:
        await put(user, "road-runner", aliases=["road   RUNNER"])
    assert caught.value.metadata["slug"] == "acme"
    with pytest.raises(PageNameTaken):
        await put(user, "other", aliases=["ACME"])
    await put(user, "runner")
    with pytest.raises(PageNameTaken):  # an alias does not take the page of that slug with it
        await put(user, aliases=["runner"])
    await put(user)  # gives its alias up
    assert (await put(user, "road-runner", aliases=["road   RUNNER"])).version == 1


async def test_a_slug_is_made_of_the_title_and_the_app_is_part_of_it(user: User):
    assert (await put(user, "")).slug == "acme"
    other = await put(user, app_id="shop", agent_bundle_id="b")
    assert other.version == 1
    assert (await get(user, app_id="shop", agent_bundle_id="b")).page_id == other.page_id
    assert (await get(user)).page_id != other.page_id
    assert len((await user.call("ListPages")).pages) == 2


async def test_pages_are_listed_by_slug_and_prefix(user: User):
    for slug in ("customers/acme", "customers/zeta", "customers2", "about"):
        await put(user, slug)
    first = await user.call("ListPages", page_size=3)
    second = await user.call("ListPages", page_size=3, page_token=first.next_page_token)
    assert [one.slug for one in (*first.pages, *second.pages)] == [
        "about",
        "customers/acme",
        "customers/zeta",
        "customers2",
    ]
    assert all(not one.markdown for one in first.pages)
    within = await user.call("ListPages", slug_prefix="customers/")
    assert [one.slug for one in within.pages] == ["customers/acme", "customers/zeta"]
    with pytest.raises(InvalidPageToken):
        await user.call("ListPages", slug_prefix="c", page_token=first.next_page_token)


async def test_a_page_is_as_fresh_as_it_says(user: User):
    past = at(datetime.now(UTC) - timedelta(seconds=1))
    assert (await put(user, fresh_until=past)).state == pb.PAGE_STATE_STALE
    assert "it was good until" in (await get(user)).stale[0]
    assert (await put(user)).state == pb.PAGE_STATE_FRESH


async def test_a_page_is_out_of_date_when_what_it_cites_is_superseded(user: User):
    memory = await user.retain("Acme pays late.", key="acme")
    await put(user, memory_ids=[memory.memory_id, memory.memory_id])
    assert (await get(user)).state == pb.PAGE_STATE_FRESH

    await user.retain("Acme pays in time.", key="acme")
    page = await get(user)
    assert (page.state, list(page.stale)) == (
        pb.PAGE_STATE_STALE,
        [f"the memory {memory.memory_id}, which it cites, is superseded"],
    )
    (listed,) = (await user.call("ListPages", memory_id=memory.memory_id)).pages
    assert (listed.slug, listed.state) == ("acme", pb.PAGE_STATE_STALE)
    assert not (await user.call("ListPages", memory_id=an_id())).pages
    assert (await put(user, memory_ids=[memory.memory_id])).state == pb.PAGE_STATE_FRESH  # read, and said again


async def test_a_page_cites_no_memory_that_is_not_its_users(stack: Opened, user: User):
    theirs = await User(stack.caller).retain("Acme pays late.")
    for memory_id in (an_id(), theirs.memory_id):
        with pytest.raises(MemoryNotFound):
            await put(user, memory_ids=[memory_id])
    assert set(rows_of(stack, user).values()) == {0}


async def test_what_is_deleted_is_gone_with_all_its_versions(stack: Opened, user: User):
    memory = await user.retain("Acme pays late.")
    page = await put(user, memory_ids=[memory.memory_id], aliases=["Road Runner"])
    await put(user, markdown="Another.")
    request_id = an_id()
    for _ in range(2):
        await user.call("DeletePage", page_id=page.page_id, request_id=request_id)
    with pytest.raises(PageNotFound):
        await user.call("DeletePage", slug="acme")
    with pytest.raises(PageNotFound):
        await get(user, version=1)
    with pytest.raises(PageNotFound):
        await user.call("ListPageVersions", slug="acme")
    assert rows_of(stack, user) == {**dict.fromkeys(rows_of(stack, user), 0), "passage": 1, "passage_session": 1}
    assert (await put(user)).version == 1


async def test_a_page_is_always_somebodys(stack: Opened):
    page = {"title": "Acme", "markdown": MARKDOWN}
    for key in ("plain", "runtime", "admin"):
        with pytest.raises(SubjectRequired):
            await stack.caller.of(key).call("PutPage", page=page)
        with pytest.raises(SubjectRequired):
            await stack.caller.of(key).call("ListPages")
    with pytest.raises(PermissionDenied):
        await stack.caller.of("plain").call("PutPage", page=page, subject_user_id="ada")
    with pytest.raises(PermissionDenied):
        await stack.caller.of("bob").call("GetPage", slug="acme", subject_user_id="ada")


async def test_a_bound_key_sees_and_writes_what_it_is_bound_to(stack: Opened, user: User):
    await put(user)
    shop = User(stack.caller, user.user_id, key="app")
    assert (await put(shop, "shop")).app_id == "shop"
    assert [one.slug for one in (await shop.call("ListPages")).pages] == ["shop"]
    assert (await put(shop)).version == 1  # of the shop's names it is the first
    with pytest.raises(PermissionDenied):
        await put(shop, app_id="other")
    graph = User(stack.caller, user.user_id, key="graph")
    assert not (await graph.call("ListPages")).pages
    with pytest.raises(PermissionDenied):
        await put(graph)


async def test_there_are_no_more_pages_and_sections_than_there_may_be(user: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pages, "PAGES_MAX", 2)
    for slug in ("a", "b"):
        await put(user, slug)
    with pytest.raises(LimitExceeded) as caught:
        await put(user, "c")
    assert (caught.value.metadata["limit"], caught.value.metadata["value"]) == ("pages", "3")
    assert (await put(user, "a", markdown="Another.")).version == 2
    with pytest.raises(LimitExceeded) as caught:
        await put(user, "a", markdown="# h\n" * limits.SECTIONS_MAX)
    assert caught.value.metadata["limit"] == "page.sections"


async def test_a_page_as_large_as_it_may_be_is_kept_and_replaced(stack: Opened, user: User):
    sentence = "Invoice {} of the customer was paid late, after a call.\n"
    markdown = "# All\n" + "".join(sentence.format(number) for number in range(17_000))
    await put(user, markdown=markdown[: limits.PAGE_BYTES_MAX])
    assert len((await get(user)).markdown) == min(len(markdown), limits.PAGE_BYTES_MAX)
    await put(user, markdown="Short.")
    assert rows_of(stack, user)["passage"] == 1


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"slug": "a", "page_id": an_id()},
        {"page_id": "no id"},
        {"slug": "a", "version": -1},
        {"slug": "a\0"},
    ],
)
async def test_who_does_not_say_which_page_is_told_so(user: User, fields: dict[str, Any]):
    with pytest.raises(InvalidArgument):
        await user.call("GetPage", **fields)


async def test_a_write_that_ends_in_the_middle_leaves_nothing(
    stack: Opened, user: User, monkeypatch: pytest.MonkeyPatch
):
    """The page, its names and what it is found by are one transaction."""
    await put(user)
    before = rows_of(stack, user)

    async def lost(*_: object) -> None:
        raise RuntimeError("the process dies here")

    monkeypatch.setattr("context_service.retrieval.store.passages.Passages.put", lost)
    with pytest.raises(Exception, match="INTERNAL"):
        await put(user, markdown="Another.", aliases=["Road Runner"])
    monkeypatch.undo()
    assert rows_of(stack, user) == before
    assert (await get(user)).markdown == MARKDOWN


async def verified(stack: Opened, user: User, *, mend: bool = False) -> Verified:
    verifying = Verifying(stack.database, Passages(stack.database), [page_source(TokenCounter().count)])
    scope_id = Scope.of_user(WIKI, PRINCIPAL.tenant_id, user.user_id).id
    tenants = [stack.database.tenant(PRINCIPAL.tenant_id)]
    return await verifying.run(tenants, scope_id=scope_id, mend=mend, on_progress=lambda _: None)


async def test_the_index_is_compared_with_what_pages_say_and_made_anew(stack: Opened, user: User):
    for number in range(7):
        await put(user, f"p{number}", aliases=[f"Road {number}"])
    await put(user, "p0", markdown="Another.\n\n# Refunds\nWithin 7 days.")
    await user.call("DeletePage", slug="p1")
    equal = await verified(stack, user)
    assert (equal.is_equal, equal.passages) == (True, 12)
    with psycopg.connect(stack.urls.superuser, autocommit=True) as connection:
        connection.execute("DELETE FROM context.passage WHERE owner_user_id = %s AND ordinal = 1", (user.user_id,))
    assert (await verified(stack, user)).missing == 6
    await verified(stack, user, mend=True)
    assert (await verified(stack, user)).is_equal


async def test_erasing_a_user_leaves_nothing_of_its_pages(stack: Opened, user: User):
    other = User(stack.caller)
    words = an_id()
    for one in (user, other):
        memory = await one.retain("Acme pays late.")
        await put(one, markdown=words, memory_ids=[memory.memory_id], request_id=an_id())
        await put(one, markdown=f"{words} again", aliases=[words])
    await erase_subject(stack.database, user.user_id)

    assert set(rows_of(stack, user).values()) == {0}
    with psycopg.connect(stack.urls.superuser) as connection:
        scope_id = Scope.of_user(WIKI, PRINCIPAL.tenant_id, user.user_id).id
        answers = connection.execute("SELECT count(*) FROM context.request WHERE about_id = %s", (scope_id,)).fetchone()
    assert answers == (0,)
    assert (await get(other)).markdown == f"{words} again"
