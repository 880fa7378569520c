"""Artifacts: what a task makes, version by version and chunk by chunk, found by the next call, and nobody else's."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from context_service.contexts.rules import artifacts
from context_service.contexts.store import artifacts as artifact_rows
from context_service.contexts.store.artifact_passages import artifact_source
from context_service.contexts.store.log_passages import log_source
from context_service.kernel.tokens import TokenCounter
from context_service.retrieval.rules.verify import Verified, Verifying
from context_service.retrieval.store.passages import Passages
from contextkeep.context.v1 import artifacts_pb2 as artifacts_pb
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message
from contextkeep.context.v1 import tasks_pb2 as tasks_pb
from contextkeep.errors import (
    ArtifactComplete,
    ArtifactNotFound,
    ContextClosed,
    ContextNotFound,
    InvalidArgument,
    LimitExceeded,
    RecordNotFound,
    RequestIdReused,
    TaskEnded,
    TaskNotFound,
)
from service_runtime.postgres import Across
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import KEYS, Caller, Opened, an_id
from tests.context_service.contexts.test_tasks import begun, created, moved, read


@pytest.fixture
def caller(contexts: Opened) -> Caller:
    return contexts.caller


async def put(
    caller: Caller, task_id: str, *texts: str, artifact_id: str = "plan", **fields: Any
) -> artifacts_pb.PutArtifactResponse:
    parts = fields.pop("parts", [message.Part(text=text) for text in texts])
    said = {
        name: fields.pop(name) for name in list(fields) if name in artifacts_pb.ArtifactInput.DESCRIPTOR.fields_by_name
    }
    artifact = artifacts_pb.ArtifactInput(artifact_id=artifact_id, parts=parts, **said)
    return await caller.call("PutArtifact", task_id=task_id, artifact=artifact, **fields)


async def got(caller: Caller, task_id: str, artifact_id: str = "plan", **fields: Any) -> artifacts_pb.Artifact:
    return (await caller.call("GetArtifact", task_id=task_id, artifact_id=artifact_id, **fields)).artifact


async def found(caller: Caller, context_id: str, query: str, **fields: Any) -> list[pb.RecalledItem]:
    return list((await caller.call("SearchContext", context_id=context_id, query=query, **fields)).hits)


async def test_what_a_task_makes_is_found_by_the_next_call(caller: Caller):
    context_id, task = await begun(caller)
    parts = [
        message.Part(text="The giraffe eats acacia."),
        message.Part(data_json='{"height": {"metres":  5.5}}'),
        message.Part(text="okapi", metadata_json='{"index": false}'),
    ]
    answer = await put(
        caller, task.task_id, parts=parts, name="Zoology", description="About long necks", metadata_json='{"a":  1}'
    )
    assert (answer.artifact.version, answer.artifact.part_count, answer.artifact.context_id) == (1, 3, context_id)
    assert not answer.artifact.parts

    kept = await got(caller, task.task_id)
    assert list(kept.parts) == parts
    assert (kept.name, kept.description, kept.metadata_json) == ("Zoology", "About long necks", '{"a":  1}')
    for query in ("giraffe", "height metres", "5.5", "zoology", "necks"):
        (first, *_) = await found(caller, context_id, query)
        assert (first.kind, first.task_id, first.artifact_id) == ("artifact", task.task_id, "plan"), query
        assert (first.seq, first.message_id, first.role, first.ref[0]) == (0, "", "assistant", "a")
    assert await found(caller, context_id, "okapi") == []
    recalled = (await caller.call("Recall", context_id=context_id, text="What eats the giraffe?")).recalled
    assert [item.text for item in recalled.items] == ["The giraffe eats acacia."]
    assert f"[{recalled.items[0].ref}] assistant, artifact" in recalled.prompt_text


async def test_a_newer_version_replaces_what_the_older_one_was_found_by(caller: Caller):
    context_id, task = await begun(caller)
    await put(caller, task.task_id, "The walrus dives.", name="Sea")
    second = (await put(caller, task.task_id, "The narwhal sings.")).artifact
    assert (second.version, second.name) == (2, "")

    assert await found(caller, context_id, "walrus") == []
    assert [hit.text for hit in await found(caller, context_id, "narwhal")] == ["The narwhal sings."]
    assert (await got(caller, task.task_id)).parts[0].text == "The narwhal sings."
    first = await got(caller, task.task_id, version=1)
    assert (first.parts[0].text, first.name) == ("The walrus dives.", "Sea")
    for version in (3, 99):
        with pytest.raises(ArtifactNotFound):
            await got(caller, task.task_id, version=version)
    with pytest.raises(InvalidArgument):
        await got(caller, task.task_id, version=-1)
    assert [one.version for one in (await read(caller, task.task_id)).artifacts] == [2]


async def test_chunks_go_behind_each_other_until_the_last(caller: Caller):
    context_id, task = await begun(caller)
    with pytest.raises(ArtifactNotFound):
        await put(caller, task.task_id, "x", append=True)
    await put(caller, task.task_id, "The badger digs.", name="Woods")
    await put(caller, task.task_id, "The beaver builds.", 'The "hedgehog" sleeps.', append=True, name="left aside")
    done = (await put(caller, task.task_id, "The boar roots.", append=True, last_chunk=True)).artifact
    assert (done.version, done.part_count, done.is_complete, done.name) == (1, 4, True, "Woods")

    texts = ["The badger digs.", "The beaver builds.", 'The "hedgehog" sleeps.', "The boar roots."]
    kept = await got(caller, task.task_id)
    assert [part.text for part in kept.parts] == texts
    assert kept.size_bytes == done.size_bytes > 60
    for word, text in zip(("badger", "beaver", "hedgehog", "boar"), texts, strict=True):
        assert [hit.text for hit in await found(caller, context_id, word)] == [text]
    assert len({hit.ref for hit in await found(caller, context_id, "woods")}) == 4

    with pytest.raises(ArtifactComplete):
        await put(caller, task.task_id, "more", append=True)
    anew = (await put(caller, task.task_id, "All anew.")).artifact
    assert (anew.version, anew.part_count, anew.is_complete) == (2, 1, False)
    assert await found(caller, context_id, "beaver") == []


async def test_an_artifact_of_one_task_is_never_listed_on_another(caller: Caller):
    context_id, task = await begun(caller)
    beside = await created(caller, context_id)
    await put(caller, task.task_id, "a red falcon")
    await put(caller, beside.task_id, "a grey falcon", artifact_id="other")
    await put(caller, beside.task_id, "a white falcon", artifact_id="plan")

    assert [one.artifact_id for one in (await read(caller, task.task_id)).artifacts] == ["plan"]
    assert [one.artifact_id for one in (await read(caller, beside.task_id)).artifacts] == ["other", "plan"]
    assert (await got(caller, task.task_id)).parts[0].text == "a red falcon"
    assert (await got(caller, beside.task_id)).parts[0].text == "a white falcon"
    with pytest.raises(ArtifactNotFound):
        await got(caller, task.task_id, "other")
    of_one = await found(caller, context_id, "falcon", filter={"task_ids": [task.task_id]})
    assert [hit.text for hit in of_one] == ["a red falcon"]
    made = await found(caller, context_id, "hello falcon", filter={"kinds": ["artifact"]})
    assert len(made) == 3
    assert [hit.text for hit in await found(caller, context_id, "hello falcon", filter={"kinds": ["text"]})] == [
        "hello"
    ]
    assert {hit.kind for hit in await found(caller, context_id, "hello falcon", filter={"seq_from": 1})} == {"text"}


async def test_tasks_that_are_not_the_callers_take_and_show_nothing(caller: Caller):
    """Of another tenant, of a user, of another context, and such as never were: all alike."""
    ada = caller.of("ada")
    context_id, hers = await begun(ada)
    await put(ada, hers.task_id, "a red falcon")
    there, _ = await begun(caller)

    for other in (caller.of("other"), caller.of("bob"), caller):
        for task_id, named in ((hers.task_id, {}), (an_id(), {}), (hers.task_id, {"context_id": there})):
            if named and other is not caller:
                continue  # a context that is not his: what the next one says
            for call in (put(other, task_id, "x", **named), got(other, task_id, **named)):
                with pytest.raises(TaskNotFound):
                    await call
        with pytest.raises(ContextNotFound):
            await put(other, hers.task_id, "x", context_id=context_id)
    assert (await got(ada, hers.task_id)).version == 1
    assert (await got(caller.of("admin"), hers.task_id)).version == 1
    with pytest.raises(TaskNotFound):
        await put(caller.of("admin"), hers.task_id, "x")


async def test_what_has_ended_makes_no_more(caller: Caller):
    context_id, task = await begun(caller)
    await put(caller, task.task_id, "The stork flies.")
    await moved(caller, task.task_id, tasks_pb.TASK_STATE_COMPLETED)
    with pytest.raises(TaskEnded):
        await put(caller, task.task_id, "more")
    assert (await got(caller, task.task_id)).version == 1
    going_on = await created(caller, context_id)
    await caller.call("CloseContext", context_id=context_id)
    with pytest.raises(ContextClosed):
        await put(caller, going_on.task_id, "x")
    assert await found(caller, context_id, "stork")
    await caller.call("DeleteContext", context_id=context_id)
    with pytest.raises(TaskNotFound):
        await got(caller, task.task_id)


async def test_an_artifact_is_put_once_by_its_request(caller: Caller):
    context_id, task = await begun(caller)
    request_id = an_id()
    answers = await asyncio.gather(
        *(put(caller, task.task_id, "once", artifact_id="", request_id=request_id) for _ in range(5))
    )
    assert len({answer.artifact.artifact_id for answer in answers}) == 1
    assert {answer.artifact.version for answer in answers} == {1}
    with pytest.raises(RequestIdReused):
        await put(caller, task.task_id, "twice", artifact_id="", request_id=request_id)
    await put(caller, task.task_id, "a")
    chunk_id = an_id()
    for _ in range(3):
        await put(caller, task.task_id, "b", append=True, request_id=chunk_id)
    assert [part.text for part in (await got(caller, task.task_id)).parts] == ["a", "b"]
    await moved(caller, task.task_id, tasks_pb.TASK_STATE_COMPLETED)
    again = await put(caller, task.task_id, "once", artifact_id="", request_id=request_id)
    assert again.artifact == answers[0].artifact
    assert len(await found(caller, context_id, "once")) == 1


async def test_of_many_that_write_at_once_each_is_a_version(caller: Caller):
    context_id, task = await begun(caller)
    answers = await asyncio.gather(*(put(caller, task.task_id, f"heron {n}") for n in range(12)))
    assert sorted(answer.artifact.version for answer in answers) == list(range(1, 13))
    assert len(await found(caller, context_id, "heron")) == 1
    await asyncio.gather(*(put(caller, task.task_id, f"egret {n}", append=True) for n in range(12)))
    assert (await got(caller, task.task_id)).part_count == 13
    assert len({hit.ref for hit in await found(caller, context_id, "egret")}) == 12


async def test_secrets_are_taken_out(caller: Caller, contexts: Opened):
    _, task = await begun(caller)
    secret = f"secret-{an_id()}"
    parts = [
        message.Part(text="open"),
        message.Part(data_json=f'{{"type": "Credentials", "password": "{secret}"}}'),
        message.Part(text=secret, metadata_json='{"secret": true}'),
    ]
    answer = await put(caller, task.task_id, parts=parts, request_id=an_id())
    assert list(answer.redacted_parts) == [1, 2]
    assert [part.data_json for part in (await got(caller, task.task_id)).parts[1:]] == ['{"redacted": true}'] * 2
    for table in ("artifact", "passage", "request"):
        sql = f"SELECT count(*) AS n FROM context.{table} t WHERE t::text LIKE %s"
        count = Across(sql=sql, contexts=True, subjects=True, why="all")
        (row,) = await contexts.database.tenant(PRINCIPAL.tenant_id).query(count, (f"%{secret}%",))
        assert row.n == 0, table


async def test_what_cannot_be_kept_is_refused(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    context_id, task = await begun(caller)
    for fields in (
        {"parts": []},
        {"parts": [message.Part()]},
        {"parts": [message.Part(data_json="{")]},
        {"parts": [message.Part(text="x")], "metadata_json": "[]"},
        {"parts": [message.Part(text="x")], "name": "x" * 201},
        {"parts": [message.Part(text="x")], "description": "x" * 1001},
        {"parts": [message.Part(text="x")], "artifact_id": "x" * 201},
    ):
        with pytest.raises((InvalidArgument, LimitExceeded)):
            await put(caller, task.task_id, **fields)
    with pytest.raises(RecordNotFound):
        await put(caller, task.task_id, parts=[message.Part(working_memory_id=an_id())])
    with pytest.raises(LimitExceeded):
        await put(caller, task.task_id, *["x"] * 101)

    for _ in range(2):
        await put(caller, task.task_id, "x" * 1_000_000, append=_ > 0)
    with pytest.raises(LimitExceeded) as refused:
        await put(caller, task.task_id, "x" * 200_000, append=True)
    assert refused.value.metadata["limit"] == "artifact"
    monkeypatch.setattr(artifacts, "PARTS_MAX", 3)
    await put(caller, task.task_id, "a", "b")
    with pytest.raises(LimitExceeded):
        await put(caller, task.task_id, "c", "d", append=True)
    monkeypatch.setattr(artifacts, "ARTIFACTS_OF_TASK_MAX", 2)
    await put(caller, task.task_id, "x", artifact_id="second")
    await put(caller, task.task_id, "x", artifact_id="second")
    with pytest.raises(LimitExceeded):
        await put(caller, task.task_id, "x", artifact_id="third")
    monkeypatch.setattr(artifact_rows, "ARTIFACTS_MAX", 1)
    with pytest.raises(LimitExceeded) as refused:
        await put(caller, task.task_id, "x", artifact_id="second")
    assert refused.value.metadata["limit"] == "artifacts"
    assert len((await read(caller, task.task_id)).artifacts) == 2
    with pytest.raises(InvalidArgument):
        await found(caller, context_id, "x", filter={"kinds": ["artefact"]})


async def test_the_artifacts_of_tasks_that_are_referred_to_come_first(caller: Caller):
    """Whatever words they have."""
    context_id, drawn = await begun(caller)
    beside = await created(caller, context_id)
    await put(caller, drawn.task_id, "Oaks and elms.", "Beeches.", artifact_id="drawing")
    await put(caller, beside.task_id, "The budget is low.", artifact_id="sheet")
    said = [message.MessageInput(content=f"The budget of {month} was fine.") for month in ("May", "June", "July")]
    await caller.append(context_id, *said)

    async def recalled(**fields: Any) -> list[str]:
        answer = await caller.call("Recall", context_id=context_id, text="What of the budget?", **fields)
        return [item.text for item in answer.recalled.items]

    plain = await recalled()
    assert "Oaks and elms." not in plain
    first = await recalled(reference_task_ids=[drawn.task_id])
    assert first[:2] == ["Oaks and elms.", "Beeches."]
    assert set(first[2:]) == set(plain)
    both = await recalled(reference_task_ids=[drawn.task_id, beside.task_id])
    assert both[:3] == ["The budget is low.", "Oaks and elms.", "Beeches."]
    assert len(both) == len(set(both))

    sent = await caller.send("What of the budget?", context_id, reference_task_ids=[drawn.task_id])
    assert [item.text for item in sent.recall.items][:2] == ["Oaks and elms.", "Beeches."]
    assert sent.recall.items[0].artifact_id == "drawing"

    for wrong in (an_id(), (await begun(caller))[1].task_id, (await begun(caller.of("other")))[1].task_id):
        with pytest.raises(TaskNotFound):
            await recalled(reference_task_ids=[drawn.task_id, wrong])
    with pytest.raises(LimitExceeded):
        await recalled(reference_task_ids=[an_id() for _ in range(101)])


async def test_the_index_of_artifacts_is_a_view(caller: Caller, contexts: Opened):
    """Made anew of the artifacts, it is what chunks and versions left."""
    database = contexts.database
    context_id, task = await begun(caller)
    await caller.send("A wren sings.", context_id)
    text = "The wren is small. " * 300
    await put(caller, task.task_id, "An old one.", name="Birds", description="Of the garden")
    await put(caller, task.task_id, text, "{}", name="Birds", description="Of the garden")
    await put(caller, task.task_id, "The tit.", text, "The tit.", append=True)
    await put(caller, task.task_id, "The finch.", artifact_id="other")

    async def verified(*, mend: bool = False) -> Verified:
        count = TokenCounter().count
        return await Verifying(database, Passages(database), [log_source(count), artifact_source(count)]).run(
            [database.tenant(PRINCIPAL.tenant_id)],
            scope_id=uuid.UUID(context_id),
            mend=mend,
            on_progress=lambda verified: None,
        )

    assert (await verified()).is_equal
    door = database.of(KEYS["plain"], context_id=uuid.UUID(context_id))
    await door.query("DELETE FROM context.passage WHERE kind = 'artifact' AND mod(ordinal, 2) = 0")
    assert (await verified()).missing > 3
    await verified(mend=True)
    assert (await verified()).is_equal
    assert [hit.text for hit in await found(caller, context_id, "finch")] == ["The finch."]


async def test_in_a_prompt_an_artifact_stands_by_its_time(caller: Caller):
    context_id, task = await begun(caller)
    await caller.send("The first swan.", context_id)
    await put(caller, task.task_id, "The second swan.")
    await caller.send("The third swan.", context_id)
    recalled = (await caller.call("Recall", context_id=context_id, text="swan")).recalled
    lines = [line for line in recalled.prompt_text.splitlines() if line.startswith(">")]
    assert lines == ["> The first swan.", "> The second swan.", "> The third swan."]
