"""Tasks: work within a context, which ends once, and whose messages and references are of the same context."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from context_service.contexts.store import tasks as task_rows
from contextkeep.context.v1 import message_pb2 as message
from contextkeep.context.v1 import tasks_pb2 as tasks_pb
from contextkeep.errors import (
    ContextKeepError,
    InvalidArgument,
    LimitExceeded,
    RecordNotFound,
    TaskEnded,
    VersionConflict,
)
from service_runtime.postgres import Across
from tests.context_service.contexts.callers import KEYS, Caller, Opened, an_id

ENDS = [
    tasks_pb.TASK_STATE_COMPLETED,
    tasks_pb.TASK_STATE_FAILED,
    tasks_pb.TASK_STATE_CANCELED,
    tasks_pb.TASK_STATE_REJECTED,
]
GOING_ON = [
    tasks_pb.TASK_STATE_SUBMITTED,
    tasks_pb.TASK_STATE_WORKING,
    tasks_pb.TASK_STATE_INPUT_REQUIRED,
    tasks_pb.TASK_STATE_AUTH_REQUIRED,
]


@pytest.fixture
def caller(contexts: Opened) -> Caller:
    return contexts.caller


async def begun(caller: Caller, **fields: Any) -> tuple[str, tasks_pb.Task]:
    """Begin a context with a task."""
    context_id = (await caller.send("hello")).context_id
    return context_id, await created(caller, context_id, **fields)


async def created(caller: Caller, context_id: str, state: int = 0, **fields: Any) -> tasks_pb.Task:
    task = tasks_pb.TaskInput(status=tasks_pb.TaskStatusInput(state=state), **fields)  # type: ignore[arg-type]
    return (await caller.call("CreateTask", context_id=context_id, task=task)).task


async def moved(caller: Caller, task_id: str, state: int, content: str = "", **fields: Any) -> tasks_pb.Task:
    status = tasks_pb.TaskStatusInput(state=state)  # type: ignore[arg-type]
    if content:
        status.message.content = content
    return (
        await caller.call(
            "UpdateTask", task_id=task_id, task={"status": status}, update_mask={"paths": ["status"]}, **fields
        )
    ).task


async def read(caller: Caller, task_id: str, **fields: Any) -> tasks_pb.GetTaskResponse:
    return await caller.call("GetTask", task_id=task_id, **fields)


@pytest.mark.parametrize("state", GOING_ON)
async def test_what_goes_on_may_change_to_anything_but_submitted(caller: Caller, state: int):
    context_id, _ = await begun(caller)
    for to in [*GOING_ON, *ENDS]:
        task = await created(caller, context_id, state)
        if to == tasks_pb.TASK_STATE_SUBMITTED != state:
            with pytest.raises(InvalidArgument):
                await moved(caller, task.task_id, to)
        else:
            assert (await moved(caller, task.task_id, to)).status.state == to


async def test_no_message_comes_to_a_task_that_ends_at_the_same_time(caller: Caller):
    """Each message is there before the end, or refused: whichever waits for the other."""
    context_id, task = await begun(caller)

    async def send(number: int) -> bool:
        try:
            await caller.send(f"m{number}", task_id=task.task_id)
        except TaskEnded:
            return False
        return True

    sending = [asyncio.create_task(send(number)) for number in range(30)]
    await asyncio.sleep(0.02)
    ended = await moved(caller, task.task_id, tasks_pb.TASK_STATE_COMPLETED)
    written = sum(await asyncio.gather(*sending))

    messages = (await caller.call("ListMessages", context_id=context_id)).messages
    assert len(messages) == 1 + written
    assert [one.seq for one in messages] == list(range(1, written + 2))
    assert all(one.created_at.ToNanoseconds() <= ended.status.time.ToNanoseconds() for one in messages)


async def test_of_two_that_expect_a_version_one_changes_it(caller: Caller):
    _, task = await begun(caller)
    states = [tasks_pb.TASK_STATE_WORKING, tasks_pb.TASK_STATE_FAILED]
    answers = await asyncio.gather(
        *(moved(caller, task.task_id, state, expected_version=1) for state in states), return_exceptions=True
    )
    (lost,) = [one for one in answers if isinstance(one, ContextKeepError)]
    assert isinstance(lost, VersionConflict)
    assert lost.metadata["version"] == "2"


async def test_a_status_message_keeps_its_parts_and_none_of_its_secrets(caller: Caller, contexts: Opened):
    context_id = (await caller.send()).context_id
    secret = f"secret-{an_id()}"
    said = message.MessageInput(
        role="agent",
        message_id="q",
        agent_id="clerk",
        content="Who pays?",
        parts=[
            message.Part(data_json=f'{{"type": "token", "value": "{secret}"}}'),
            message.Part(text=secret, metadata_json='{"secret": true}'),
            message.Part(data_json='{"price":  1.50}', media_type="application/json"),
        ],
        metadata_json='{"n":  1}',
    )
    request = {
        "task": {"status": {"state": tasks_pb.TASK_STATE_INPUT_REQUIRED, "message": said}},
        "request_id": an_id(),
    }
    task = (await caller.call("CreateTask", context_id=context_id, **request)).task

    kept = (await read(caller, task.task_id)).task.status.message
    assert (kept.role, kept.message_id, kept.agent_id, kept.content) == ("assistant", "q", "clerk", "Who pays?")
    assert [part.data_json for part in kept.parts] == ['{"redacted": true}', '{"redacted": true}', '{"price":  1.50}']
    assert kept.metadata_json == '{"n":  1}'
    count = Across(
        sql="SELECT count(*) AS n FROM context.task t WHERE t::text LIKE %s", contexts=True, subjects=True, why="all"
    )
    (row,) = await contexts.database.tenant(KEYS["plain"].tenant_id).query(count, (f"%{secret}%",))
    assert row.n == 0
    assert not (await caller.call("SearchContext", context_id=context_id, query="pays")).hits

    with pytest.raises(RecordNotFound):
        part = message.Part(working_memory_id=an_id())
        await caller.call(
            "UpdateTask",
            task_id=task.task_id,
            task={"status": {"state": 2, "message": {"parts": [part]}}},
            update_mask={"paths": ["status"]},
        )


async def test_a_page_of_tasks_ends_at_its_bytes(caller: Caller):
    context_id, _ = await begun(caller)
    large = {"content": "x" * 900_000}
    for _ in range(4):
        await caller.call("CreateTask", context_id=context_id, task={"status": {"state": 2, "message": large}})
    page = await caller.call("ListTasks", context_id=context_id)
    assert len(page.tasks) == 2
    rest = await caller.call("ListTasks", context_id=context_id, page_token=page.next_page_token)
    assert len(rest.tasks) == 3
    assert (
        not rest.next_page_token
        or not (await caller.call("ListTasks", context_id=context_id, page_token=rest.next_page_token)).tasks
    )


async def test_a_context_has_no_more_tasks_than_it_may(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(task_rows, "TASKS_MAX", 3)
    context_id, _ = await begun(caller)
    answers = await asyncio.gather(*(created(caller, context_id) for _ in range(5)), return_exceptions=True)
    refused = [one for one in answers if isinstance(one, BaseException)]
    assert [type(one) for one in refused] == [LimitExceeded] * 3
    with pytest.raises(LimitExceeded):
        await caller.send("x", context_id, reference_task_ids=[str(uuid.uuid4()) for _ in range(101)])
