"""Chat history over gRPC: what happens when something is away, how long and large it may be."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import grpc
import pytest

import context_service.app
import entity_service.app
from contextkeep.errors import AnswerTooLarge, InvalidArgument, Unavailable
from tests.calling import AnyRpc
from tests.errors import refused
from tests.ports import free_port

NEVER_WAS = "018f2b5e-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
def caller(shared_channels: tuple[grpc.aio.Channel, grpc.aio.Channel]) -> AnyRpc:
    return AnyRpc(*shared_channels)


@pytest.mark.parametrize(
    ("field", "value"),
    [*(("node_id", value) for value in ("", "session-1", "' OR 1=1", "0" * 10_000)), ("format", 9), ("tokens_max", -1)],
)
async def test_a_malformed_request_names_its_field(caller: AnyRpc, field: str, value: object):
    async with refused(InvalidArgument, violations=[field]):
        await caller.GetChatHistory(**{"node_id": NEVER_WAS, field: value})


async def test_a_history_past_one_message_is_refused_whole_and_streamed_in_order(caller: AnyRpc):
    turns = [{"user_input": f"{number:06} " + "xä"[number % 2] * 2000} for number in range(2500)]
    session_id, _ = await caller.session(*turns)

    async with refused(AnswerTooLarge, use="StreamChatHistory"):
        await caller.GetChatHistory(node_id=session_id)
    answers = await caller.StreamChatHistory(node_id=session_id)

    assert [message.content for answer in answers for message in answer.messages] == [
        turn["user_input"] for turn in turns
    ]
    assert max(answer.ByteSize() for answer in answers) <= 1024 * 1024


async def test_a_formatted_history_past_one_message_is_refused_and_fits_with_fewer_messages(caller: AnyRpc):
    session_id, _ = await caller.session(*[{"user_input": "x" * 2000} for _ in range(2500)])
    request = {"node_id": session_id, "format": "MESSAGE_FORMAT_OPENAI"}

    async with refused(AnswerTooLarge, use="max_messages"):
        await caller.GetChatHistory(**request)

    assert len((await caller.GetChatHistory(**request, max_messages=1000)).formatted_json) > 1000 * 2000


async def test_the_newest_are_read_from_the_end_without_the_rest(caller: AnyRpc):
    session_id, _ = await caller.session(*[{"user_input": str(number)} for number in range(3000)])

    first, second = [await caller.GetChatHistory(node_id=session_id, max_messages=3) for _ in range(2)]

    assert [message.content for message in first.messages] == ["2997", "2998", "2999"]
    assert first == second


async def test_the_same_budget_holds_less_as_other_vendors_count(caller: AnyRpc):
    session_id, _ = await caller.session({"user_input": "one two three four five six seven eight nine ten"})
    request = {"node_id": session_id, "tokens_max": 14}

    ours = await caller.GetChatHistory(**request)
    anthropics = await caller.GetChatHistory(**request, format="MESSAGE_FORMAT_ANTHROPIC")

    assert (ours.tokens, ours.is_cut) == (14, False)
    assert (anthropics.tokens, anthropics.is_cut) == (0, True)


async def test_the_entity_service_down_is_unavailable_within_the_deadline_and_then_works_again(
    context_settings, entity_settings, callers
):
    port = free_port()
    own = entity_settings.model_copy(update={"entity_service_port": port})
    settings = context_settings.model_copy(update={"entity_service_url": f"127.0.0.1:{port}"})
    async with (
        context_service.app.running(settings, callers=callers) as own_port,
        grpc.aio.insecure_channel(f"127.0.0.1:{own_port}") as context,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as entity,
    ):
        caller = AnyRpc(context, entity)
        async with entity_service.app.running(own, callers=callers):
            session_id, _ = await caller.session({"user_input": "still there"})
            assert (await caller.GetChatHistory(node_id=session_id)).messages

        with pytest.raises(Unavailable) as caught:
            await caller.GetChatHistory(node_id=session_id, deadline_s=5)

        async with entity_service.app.running(own, callers=callers), asyncio.timeout(60):
            answer = None
            while answer is None:
                with suppress(Unavailable):
                    answer = await caller.GetChatHistory(node_id=session_id, deadline_s=5)
                await asyncio.sleep(0.1)

    error = caught.value
    assert (error.reason, error.metadata) == ("UNAVAILABLE", {"dependency": "entity-service"})
    assert "127.0.0.1" not in error.message
    assert [message.content for message in answer.messages] == ["still there"]
