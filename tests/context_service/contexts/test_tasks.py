"""Tasks: work within a context, which ends once, and whose messages and references are of the same context."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from context_service.contexts.store import tasks as task_rows
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message
from contextkeep.context.v1 import tasks_pb2 as tasks_pb
from contextkeep.errors import (
    ContextClosed,
    ContextKeepError,
    ContextNotFound,
    InvalidArgument,
    InvalidPageToken,
    LimitExceeded,
    MessageExists,
    RecordNotFound,
    RequestIdReused,
    TaskEnded,
    TaskNotFound,
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


async def test_a_task_is_submitted_worked_on_and_ended(caller: Caller):
    context_id, task = await begun(caller, metadata_json='{"a":  1}')
    assert (task.context_id, task.status.state, task.version) == (context_id, tasks_pb.TASK_STATE_SUBMITTED, 1)
    assert task.metadata_json == '{"a":  1}'

    asked = await moved(caller, task.task_id, tasks_pb.TASK_STATE_INPUT_REQUIRED, "Which of both?")
    assert (asked.status.state, asked.status.message.content) == (tasks_pb.TASK_STATE_INPUT_REQUIRED, "Which of both?")
    assert asked.version == 2
    assert asked.status.time.ToDatetime() >= task.status.time.ToDatetime()

    done = await moved(caller, task.task_id, tasks_pb.TASK_STATE_COMPLETED)
    assert not done.status.HasField("message")
    assert (await read(caller, task.task_id)).task == done


@pytest.mark.parametrize("state", ENDS)
async def test_an_ended_task_stays_ended(caller: Caller, state: int):
    _, task = await begun(caller)
    ended = await moved(caller, task.task_id, state)

    for to in [*GOING_ON, *ENDS]:
        with pytest.raises(TaskEnded):
            await moved(caller, task.task_id, to)
    with pytest.raises(TaskEnded):
        await caller.call("UpdateTask", task_id=task.task_id, update_mask={"paths": ["metadata_json"]})
    if state == tasks_pb.TASK_STATE_CANCELED:
        assert (await caller.call("CancelTask", task_id=task.task_id)).task == ended
    else:
        with pytest.raises(TaskEnded):
            await caller.call("CancelTask", task_id=task.task_id)
    assert (await read(caller, task.task_id)).task == ended


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


async def test_a_task_names_the_context_of_a_message(caller: Caller):
    context_id, task = await begun(caller)

    sent = await caller.send("one", task_id=task.task_id)
    assert (sent.context_id, sent.created, sent.message.seq) == (context_id, False, 2)
    appended = await caller.append("", message.MessageInput(content="two", task_id=task.task_id))
    assert (appended.context_id, appended.messages[0].seq) == (context_id, 3)
    await caller.send("beside it", context_id)

    history = (await read(caller, task.task_id)).history
    assert [(one.content, one.task_id) for one in history] == [("one", task.task_id), ("two", task.task_id)]
    newest = (await read(caller, task.task_id, history_length=1)).history
    assert [one.content for one in newest] == ["two"]
    assert not (await read(caller, task.task_id, history_length=0)).history
    found = (await caller.call("GetMessage", context_id=context_id, message_id=sent.message.message_id)).message
    assert found.task_id == task.task_id


async def test_a_task_of_another_context_is_refused_like_one_that_never_was(caller: Caller):
    """Whoever names it, and wherever: the answers are the same but for the id."""
    context_id, mine = await begun(caller)
    _, beside = await begun(caller)
    _, foreign = await begun(caller.of("other"))
    _, bobs = await begun(caller.of("bob"))
    refused = [beside.task_id, foreign.task_id, bobs.task_id, an_id()]

    async def answers(name: str, **fields: Any) -> set[str]:
        found = set()
        for task_id in refused:
            with pytest.raises(TaskNotFound) as error:
                if name == "send":
                    await caller.send("x", context_id, **{key: value(task_id) for key, value in fields.items()})
                else:
                    await caller.call(
                        name, context_id=context_id, **{key: value(task_id) for key, value in fields.items()}
                    )
            found.add(str(error.value).replace(task_id, "…"))
        return found

    paths = {"paths": ["metadata_json"]}
    seen = await answers("send", task_id=str)
    seen |= await answers("send", reference_task_ids=lambda one: [mine.task_id, one])
    seen |= await answers("GetTask", task_id=str)
    seen |= await answers("CancelTask", task_id=str)
    seen |= await answers("UpdateTask", task_id=str, update_mask=lambda _: paths)
    seen |= await answers("CreateTask", task=lambda one: {"reference_task_ids": [mine.task_id, one]})
    assert len(seen) == 1

    for task_id in refused[1:]:  # without a context, too; the second one is the caller's own
        for call in (caller.send("x", task_id=task_id), read(caller, task_id), moved(caller, task_id, 2)):
            with pytest.raises(TaskNotFound):
                await call
    assert await caller.texts(context_id) == ["hello"]
    assert len((await caller.call("ListTasks", context_id=context_id)).tasks) == 1


async def test_what_is_wrong_with_the_context_comes_first(caller: Caller):
    context_id, task = await begun(caller)
    for wrong in (an_id(), (await caller.of("other").send()).context_id):
        for name, fields in (
            ("GetTask", {"task_id": task.task_id}),
            ("CancelTask", {"task_id": task.task_id}),
            ("UpdateTask", {"task_id": task.task_id, "update_mask": {"paths": ["metadata_json"]}}),
            ("CreateTask", {"task": {"reference_task_ids": [task.task_id]}}),
            ("ListTasks", {}),
            ("SendMessage", {"message": {"content": "x", "task_id": task.task_id}}),
        ):
            with pytest.raises(ContextNotFound):
                await caller.call(name, context_id=wrong, **fields)

    await caller.call("CloseContext", context_id=context_id)
    for call in (
        created(caller, context_id),
        moved(caller, task.task_id, tasks_pb.TASK_STATE_WORKING),
        caller.call("CancelTask", task_id=task.task_id),
        caller.send("x", task_id=task.task_id),
        caller.send("x", context_id, task_id=an_id()),
    ):
        with pytest.raises(ContextClosed):
            await call
    assert (await read(caller, task.task_id)).task == task

    await caller.call("DeleteContext", context_id=context_id)
    for call in (
        read(caller, task.task_id),
        moved(caller, task.task_id, tasks_pb.TASK_STATE_WORKING),
        caller.send("x", task_id=task.task_id),
    ):
        with pytest.raises(TaskNotFound):
            await call
    with pytest.raises(ContextNotFound):
        await read(caller, task.task_id, context_id=context_id)


@pytest.mark.parametrize("state", ENDS)
async def test_a_message_to_an_ended_task_is_refused_and_may_refer_to_it(caller: Caller, state: int):
    """What goes on with it is a new task of the same context."""
    context_id, task = await begun(caller)
    await moved(caller, task.task_id, state)

    with pytest.raises(TaskEnded):
        await caller.send("more", task_id=task.task_id)
    with pytest.raises(TaskEnded):
        await caller.append(
            context_id, message.MessageInput(content="a"), message.MessageInput(content="b", task_id=task.task_id)
        )
    assert await caller.texts(context_id) == ["hello"]

    refined = await created(caller, context_id, reference_task_ids=[task.task_id, task.task_id])
    assert refined.reference_task_ids == [task.task_id]
    sent = await caller.send("a finer one", task_id=refined.task_id, reference_task_ids=[task.task_id])
    found = (await caller.call("GetMessage", context_id=context_id, message_id=sent.message.message_id)).message
    assert found.reference_task_ids == [task.task_id]


async def test_a_message_that_was_written_before_the_task_ended_is_written(caller: Caller):
    """By its id, and by that of its request: who did not hear the answer asks again."""
    context_id, task = await begun(caller)
    request_id = an_id()
    first = await caller.send("named", task_id=task.task_id, message_id="m")
    second = await caller.send("unnamed", task_id=task.task_id, request_id=request_id)
    await moved(caller, task.task_id, tasks_pb.TASK_STATE_COMPLETED)

    assert (await caller.send("named", task_id=task.task_id, message_id="m")).message == first.message
    again = await caller.send("unnamed", task_id=task.task_id, request_id=request_id)
    assert again.message == second.message
    with pytest.raises(MessageExists):
        await caller.send("another", task_id=task.task_id, message_id="m")
    with pytest.raises(MessageExists):  # whose it is counts, too
        await caller.send("named", context_id, message_id="m")
    with pytest.raises(TaskEnded):
        await caller.send("new", task_id=task.task_id, request_id=an_id())
    with pytest.raises(RequestIdReused):
        await caller.send("other", task_id=task.task_id, request_id=request_id)
    assert await caller.texts(context_id) == ["hello", "named", "unnamed"]


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


async def test_a_new_context_has_no_task_that_its_first_message_could_name(caller: Caller):
    _, task = await begun(caller)
    only = pb.ExternalId(system="threads", id=an_id())
    for said in ({"reference_task_ids": [task.task_id]}, {"task_id": task.task_id}):
        with pytest.raises(TaskNotFound):
            await caller.send("x", get_or_create=only, **said)
    with pytest.raises(TaskNotFound):
        await caller.send("x", reference_task_ids=[task.task_id])
    assert not (await caller.call("ListContexts", external_id=only)).contexts

    there = (await caller.send("x", get_or_create=only)).context_id
    mine = await created(caller, there)
    assert (await caller.send("y", get_or_create=only, task_id=mine.task_id)).context_id == there
    with pytest.raises(TaskNotFound):
        await caller.send("z", get_or_create=only, task_id=task.task_id)
    with pytest.raises(InvalidArgument):
        await caller.send("x", standalone=True, task_id=task.task_id)


async def test_of_two_that_expect_a_version_one_changes_it(caller: Caller):
    _, task = await begun(caller)
    states = [tasks_pb.TASK_STATE_WORKING, tasks_pb.TASK_STATE_FAILED]
    answers = await asyncio.gather(
        *(moved(caller, task.task_id, state, expected_version=1) for state in states), return_exceptions=True
    )
    (lost,) = [one for one in answers if isinstance(one, ContextKeepError)]
    assert isinstance(lost, VersionConflict)
    assert lost.metadata["version"] == "2"


async def test_only_what_the_mask_names_changes(caller: Caller):
    _, task = await begun(caller, metadata_json='{"a": 1}')
    asked = await moved(caller, task.task_id, tasks_pb.TASK_STATE_INPUT_REQUIRED, "Which?")
    assert asked.metadata_json == '{"a": 1}'

    said = {"status": {"state": tasks_pb.TASK_STATE_FAILED}, "metadata_json": '{"b": 2}'}
    changed = (
        await caller.call(
            "UpdateTask", task_id=task.task_id, task=said, update_mask={"paths": ["metadata_json", "metadata_json"]}
        )
    ).task
    assert (changed.status, changed.metadata_json) == (asked.status, '{"b": 2}')

    for paths in ([], ["status.state"], ["reference_task_ids"], ["task_id"]):
        with pytest.raises(InvalidArgument):
            await caller.call("UpdateTask", task_id=task.task_id, task=said, update_mask={"paths": paths})
    for state in (0, 99):
        with pytest.raises(InvalidArgument):
            await moved(caller, task.task_id, state)


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


async def test_tasks_are_listed_the_newest_first_to_the_last_page(caller: Caller):
    context_id, _ = await begun(caller)
    states = [tasks_pb.TASK_STATE_WORKING, tasks_pb.TASK_STATE_COMPLETED]
    tasks = [(await created(caller, context_id, states[n % 2])).task_id for n in range(6)]

    async def listed(**fields: Any) -> list[str]:
        found, token = [], ""
        while True:
            page = await caller.call("ListTasks", context_id=context_id, page_size=2, page_token=token, **fields)
            found += [task.task_id for task in page.tasks]
            token = page.next_page_token
            if not token:
                return found

    assert (await listed())[:-1] == tasks[::-1]
    assert await listed(states=[tasks_pb.TASK_STATE_COMPLETED]) == tasks[1::2][::-1]
    assert await listed(states=[tasks_pb.TASK_STATE_FAILED]) == []
    page = await caller.call("ListTasks", context_id=context_id, page_size=2)
    with pytest.raises(InvalidPageToken):
        await caller.call("ListTasks", context_id=context_id, page_token=page.next_page_token, states=[2])
    with pytest.raises(InvalidArgument):
        await caller.call("ListTasks", context_id=context_id, states=[0])


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


async def test_the_tasks_of_a_user_are_his(caller: Caller):
    ada, bob, admin = caller.of("ada"), caller.of("bob"), caller.of("admin")
    context_id, task = await begun(ada)

    for other in (bob, caller, caller.of("other")):
        for call in (
            read(other, task.task_id),
            moved(other, task.task_id, tasks_pb.TASK_STATE_WORKING),
            other.call("CancelTask", task_id=task.task_id),
            other.send("x", task_id=task.task_id),
        ):
            with pytest.raises(TaskNotFound):
                await call
        with pytest.raises(ContextNotFound):
            await other.call("ListTasks", context_id=context_id)
    runtime = caller.of("runtime")
    assert (await read(runtime, task.task_id, subject_user_id="ada")).task == task
    assert (await read(admin, task.task_id)).task == task
    assert len((await admin.call("ListTasks", context_id=context_id)).tasks) == 1
    with pytest.raises(TaskNotFound):  # an administrator reads all, and writes nothing of a user's
        await moved(admin, task.task_id, tasks_pb.TASK_STATE_WORKING, context_id="")
