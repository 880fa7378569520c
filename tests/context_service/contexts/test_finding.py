"""Search over all conversations that a caller may find, and the isolation that it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from context_service.retrieval.profiles import profile
from context_service.retrieval.rules import search_across
from context_service.retrieval.store import across
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1.context_query_pb2 import PROVIDER_STATE_SKIPPED
from contextkeep.context.v1.message_pb2 import MessageInput
from contextkeep.errors import InvalidArgument, InvalidPageToken, LimitExceeded
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.context_service.contexts.callers import Caller, Opened, with_embedder
from tests.context_service.contexts.test_recall_by_meaning import by_meaning


@pytest.fixture
def ada(contexts: Opened) -> Caller:
    return contexts.caller.of("ada")


async def begun(caller: Caller, *said: str, **header: Any) -> str:
    """Return the id of a new context with these messages."""
    answer = await caller.append("", *(MessageInput(content=text) for text in said), context=header)
    return str(answer.context_id)


async def found(caller: Caller, query: str, **fields: Any) -> list[str]:
    """Return the ids of the contexts that a search finds, best first."""
    answer = await caller.call("SearchContexts", query=query, **fields)
    return [context.context_id for context in answer.contexts]


async def test_the_best_passages_of_each_conversation_are_found(ada: Caller):
    """A conversation is named by what people know: its title, and the passages that answer."""
    trip = await begun(ada, "We fly to Reykjavik in May.", "The hotel in Reykjavik is booked.", title="Iceland")
    await begun(ada, "The printer is out of toner.", title="Office")
    shop = await begun(ada, "A jumper from Reykjavik costs 90 euros.", title="Shopping")

    answer = await ada.call("SearchContexts", query="Which hotel in Reykjavik did we take?", passages_max=2)

    assert [context.context_id for context in answer.contexts] == [trip, shop]
    best = answer.contexts[0]
    assert (best.title, best.message_count, best.owner_user_id) == ("Iceland", 2, "ada")
    assert [passage.text for passage in best.passages] == [
        "The hotel in Reykjavik is booked.",
        "We fly to Reykjavik in May.",
    ]
    assert best.passages[0].ref == "m2.0"
    assert best.passages[0].message_id
    assert best.passages[0].tokens
    assert best.score == best.passages[0].score > answer.contexts[1].score
    assert answer.next_cursor == ""


async def test_a_user_finds_only_their_own(contexts: Opened, ada: Caller):
    """No automatic sharing between users, nor between a user and conversations that nobody owns."""
    own = await begun(ada, "My walrus is called Igor.")
    bobs = await begun(contexts.caller.of("bob"), "My walrus is called Olga.")
    nobodys = await begun(contexts.caller, "The walrus of the house is called Ulf.")
    await begun(contexts.caller.of("other"), "The walrus of another tenant is called Eva.")

    assert await found(ada, "walrus") == [own]
    assert await found(contexts.caller.of("bob"), "walrus") == [bobs]
    assert await found(contexts.caller, "walrus") == [nobodys]
    assert await found(contexts.caller.of("admin"), "walrus") == [nobodys]
    assert await found(contexts.caller.of("runtime"), "walrus", subject_user_id="ada") == [own]
    assert await found(contexts.caller.of("graph"), "walrus") == []
    assert await found(contexts.caller.of("app"), "walrus") == []


async def test_what_is_not_findable_is_not_found_and_the_narrowest_setting_applies(contexts: Opened, ada: Caller):
    async def put(**setting: Any) -> None:
        await contexts.caller.of("admin").call("PutContextSetting", **setting)

    hidden = await begun(ada, "The heron stands.", is_findable=False)
    shown = await begun(ada, "The heron flies.", is_findable=True)
    plain = await begun(ada, "The heron eats.")
    of_app = await begun(ada, "The heron sleeps.", app_id="pond")
    said = MessageInput(content="The heron nests.", role="assistant", agent_id="warden")
    of_agent = str((await ada.append("", said, context={"app_id": "pond"})).context_id)
    everything = {shown, plain, of_app, of_agent}

    assert set(await found(ada, "heron")) == everything
    await put(is_findable=False)
    assert await found(ada, "heron") == [shown]
    await put(app_id="pond", is_findable=True)
    assert set(await found(ada, "heron")) == {shown, of_app, of_agent}
    await put(agent_id="warden", is_findable=False)
    assert set(await found(ada, "heron")) == {shown, of_app}
    await put(app_id="pond")
    await put(agent_id="warden")
    await put()
    assert set(await found(ada, "heron")) == everything

    await ada.call(
        "UpdateContext", context_id=hidden, context={"is_findable": True}, update_mask={"paths": ["is_findable"]}
    )
    assert hidden in await found(ada, "heron")
    await ada.call("UpdateContext", context_id=shown, context={}, update_mask={"paths": ["is_findable"]})
    header = (await ada.call("GetContext", context_id=shown)).context
    assert not header.HasField("is_findable")


async def test_a_fork_of_a_context_that_is_not_findable_is_not_findable(ada: Caller):
    hidden = await begun(ada, "The tapir hides.", is_findable=False)
    shown = await begun(ada, "The tapir drinks.", is_findable=True)
    forks = {}
    for context_id in (hidden, shown):
        window = (await ada.call("OpenWindow", context_id=context_id, model="claude-sonnet-4-5")).window
        fork = await ada.call("ForkWindow", window_id=window.window_id, task="Look at it.")
        forks[context_id] = fork.window.context_id
    assert {shown, forks[shown]} >= set(await found(ada, "tapir")) >= {shown}
    header = (await ada.call("GetContext", context_id=forks[hidden])).context
    assert header.HasField("is_findable") and not header.is_findable


async def test_conversations_are_found_by_meaning_and_ranked_by_who_speaks(
    postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    chosen: list[str] = []
    monkeypatch.setattr(search_across, "profile", lambda name: chosen.append(name) or profile(name))
    async with with_embedder(postgres, tmp_path) as (made, server):
        server.answer = by_meaning
        ada = made.caller.of("ada")
        cough = await begun(ada, "She came because of a hacking that kept her awake.")
        await begun(ada, "The train to Oslo was late.")
        said = MessageInput(content="Rex sleeps in the kennel.", role="assistant")
        dog = str((await ada.append("", said)).context_id)
        for context_id in (cough, dog):
            assert (await ada.call("WaitForIndex", context_id=context_id)).is_complete
        answer = await ada.call("SearchContexts", query="cough?")
        assert answer.by_meaning.is_compared
        assert [context.context_id for context in answer.contexts][:1] == [cough]
        assert chosen == ["conversation"], "people among themselves"
        assert (await found(ada, "puppy and kennel"))[0] == dog
        assert chosen[-1] == "default"
        await ada.call("SearchContexts", query="cough?", profile="default")
        assert chosen[-1] == "default"


async def test_a_users_own_key_searches_its_contexts_by_default(contexts: Opened, ada: Caller):
    """A key that names a user may belong to an agent in one context, which gets text of others only if it asks."""
    own = await begun(ada, "The narwhal dives.")
    answer = await ada.call("QueryContext", query="narwhal")
    assert own in {hit.ref.partition(":")[2].partition("/")[0] for hit in answer.hits}
    listed = {one.provider_id: one.is_default for one in (await ada.call("ListContextProviders")).providers}
    assert listed["context"]
    for key, user in (("runtime", "ada"), ("plain", ""), ("context", "")):
        answer = await contexts.caller.of(key).call("QueryContext", query="narwhal", subject_user_id=user)
        assert not answer.hits
        assert "context" not in {status.provider_id for status in answer.providers}
    await contexts.caller.of("admin").call(
        "UpdateProviderSetting", setting={"provider_id": "context", "is_default": False}
    )
    assert not (await ada.call("QueryContext", query="narwhal")).hits
    await contexts.caller.of("admin").call(
        "UpdateProviderSetting", setting={"provider_id": "context"}, reset=["is_default"]
    )


async def test_a_query_of_a_user_searches_their_own_contexts(contexts: Opened, ada: Caller):
    """Only a user's key that is bound to no context searches more than the query names."""
    own = await begun(ada, "The ibex climbs.", title="Alps")
    await begun(ada, "The ibex hides.", is_findable=False)
    await begun(contexts.caller.of("bob"), "The ibex of Bob.")
    await begun(contexts.caller, "The ibex of nobody.")
    asked = {"query": "Where is the ibex?", "providers": {"families": ["context"]}}

    answer = await ada.call("QueryContext", **asked)
    assert [(hit.title, hit.snippet) for hit in answer.hits] == [("Alps: user", "The ibex climbs.")]
    assert own in answer.hits[0].metadata_json
    for key in ("plain", "context"):
        refused = await contexts.caller.of(key).call("QueryContext", **asked)
        assert not refused.hits
        assert [status.state for status in refused.providers] == [PROVIDER_STATE_SKIPPED]


async def test_deleted_and_retracted_text_is_not_found(ada: Caller):
    gone = await begun(ada, "The okapi is shy.")
    kept = await begun(ada, "The okapi is striped.", "The okapi is tall.")
    assert set(await found(ada, "okapi")) == {gone, kept}

    (first, _) = (await ada.call("ListMessages", context_id=kept)).messages
    await ada.call("RetractMessages", context_id=kept, message_ids=[first.message_id])
    await ada.call("DeleteContext", context_id=gone)

    (context,) = (await ada.call("SearchContexts", query="okapi")).contexts
    assert context.context_id == kept
    assert [passage.text for passage in context.passages] == ["The okapi is tall."]


async def test_filters_select_contexts_and_passages(ada: Caller):
    ids = [{"system": "threads", "id": "T7"}]
    first = await begun(ada, "The falcon lands.", external_ids=ids, metadata_json='{"team": "red"}')
    by_agent = MessageInput(content="The falcon rises.", role="assistant", agent_id="keeper")
    second = str((await ada.append("", by_agent)).context_id)
    await ada.call("CloseContext", context_id=second)

    assert await found(ada, "falcon", external_id=ids[0]) == [first]
    assert await found(ada, "falcon", metadata_contains_json='{"team": "red"}') == [first]
    assert await found(ada, "falcon", agent_id="keeper") == [second]
    assert await found(ada, "falcon", state=pb.CONTEXT_STATE_CLOSED) == [second]
    assert await found(ada, "falcon", roles=["assistant"]) == [second]
    assert await found(ada, "falcon", limit=1) in ([first], [second])


async def test_older_conversations_come_with_the_cursor(ada: Caller, monkeypatch: pytest.MonkeyPatch):
    """A search is bounded by the number of contexts, and says where to continue."""
    monkeypatch.setattr("context_service.contexts.rules.find.CONTEXTS_MAX", 2)
    about = {"external_id": {"system": "threads", "id": "badgers"}}
    header = {"external_ids": [about["external_id"]]}
    ids = [await begun(ada, f"The badger digs hole {n}.", **header) for n in range(5)]

    pages, cursor = [], ""
    while len(pages) < 5:
        answer = await ada.call("SearchContexts", query="badger", cursor=cursor, **about)
        pages.append([context.context_id for context in answer.contexts])
        assert answer.searched_count == len(pages[-1])
        if not (cursor := answer.next_cursor):
            break

    assert [set(page) for page in pages] == [{ids[4], ids[3]}, {ids[2], ids[1]}, {ids[0]}]
    first = await ada.call("SearchContexts", query="badger", **about)
    with pytest.raises(InvalidPageToken):
        await ada.call("SearchContexts", query="wolf", cursor=first.next_cursor, **about)


@pytest.mark.parametrize("small", [0, across.SMALL])
async def test_large_and_small_contexts_are_searched_alike(ada: Caller, monkeypatch: pytest.MonkeyPatch, small: int):
    """A large context is read by the index of words, a small one by its key."""
    monkeypatch.setattr(across, "SMALL", small)
    tag = "tarsier" if small else "lemur"
    one = await begun(ada, *(f"Sentence {n} about trains." for n in range(20)), f"The {tag} eats figs.")
    two = await begun(ada, f"The {tag} sleeps.", "Figs are sweet.")

    answer = await ada.call("SearchContexts", query=f"Does the {tag} eat figs?")

    assert [context.context_id for context in answer.contexts][:2] == [one, two]
    assert answer.contexts[0].passages[0].text == f"The {tag} eats figs."


async def test_a_search_that_makes_no_sense_is_refused(ada: Caller):
    for fields, field in (
        ({"query": " "}, "query"),
        ({"query": "x", "limit": -1}, "limit"),
        ({"query": "x", "passages_max": -1}, "passages_max"),
        ({"query": "x", "profile": "best"}, "profile"),
        ({"query": "x", "roles": ["nobody"]}, "roles[0]"),
        ({"query": "x", "metadata_contains_json": "[]"}, "metadata_contains_json"),
    ):
        with pytest.raises(InvalidArgument) as refused:
            await ada.call("SearchContexts", **fields)
        assert [violation.field for violation in refused.value.violations] == [field]
    with pytest.raises(LimitExceeded):
        await ada.call("SearchContexts", query="x", limit=101)
    with pytest.raises(InvalidPageToken):
        await ada.call("SearchContexts", query="x", cursor="abc")
