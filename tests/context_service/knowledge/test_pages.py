"""Wiki pages over running services: written, kept version by version, and whose they are."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.model import WIKI, PassageScope
from context_service.retrieval.rules.verify import Verified, Verifying
from context_service.retrieval.store.passages import Passages
from context_service.wiki import model as limits
from context_service.wiki.rules import pages
from context_service.wiki.store.passages import page_source
from contextkeep.context.v1 import pages_pb2 as pb
from contextkeep.errors import (
    InvalidPageToken,
    LimitExceeded,
    PageNotFound,
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


async def test_writers_at_once_lose_no_version(stack: Opened, user: User):
    written = await asyncio.gather(*(put(user, markdown=f"Number {number}.") for number in range(10)))
    assert sorted(one.version for one in written) == list(range(1, 11))
    one, *losers = await asyncio.gather(
        *(put(user, markdown=f"Again {number}.", expected_version=10) for number in range(5)), return_exceptions=True
    )
    outcomes = [type(each) for each in (one, *losers)]
    assert (outcomes.count(pb.Page), outcomes.count(VersionConflict)) == (1, 4)
    assert rows_of(stack, user)["passage"] == 1


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
    scope_id = PassageScope.of_user(WIKI, PRINCIPAL.tenant_id, user.user_id).id
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
        scope_id = PassageScope.of_user(WIKI, PRINCIPAL.tenant_id, user.user_id).id
        answers = connection.execute("SELECT count(*) FROM context.request WHERE about_id = %s", (scope_id,)).fetchone()
    assert answers == (0,)
    assert (await get(other)).markdown == f"{words} again"
