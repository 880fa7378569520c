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
from contextkeep.errors import (
    InvalidArgument,
    LimitExceeded,
    RecordNotFound,
    TaskNotFound,
)
from service_runtime.postgres import Across
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import KEYS, Caller, Opened, an_id
from tests.context_service.contexts.test_tasks import begun, created, read


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
