"""Chat history over gRPC: who may read it, what happens when something is away, how long and large it may be."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import grpc
import orjson
import pytest

import context_service.app
import entity_service.app
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from contextkeep.errors import ContextKeepError
from tests.conftest import METADATA, Addresses
from tests.errors import raised
from tests.ports import free_port

NEVER_WAS = "018f2b5e-0000-7000-8000-000000000000"


class Stubs:
    def __init__(self, context: grpc.aio.Channel, entity: grpc.aio.Channel) -> None:
        self.history = ChatHistoryStub(context)
        self.graph = EntityGraphStub(entity)

    async def session(self, turns: list[dict[str, object]]) -> str:
        session_id = str(uuid.uuid4())
        for start in range(0, len(turns), 900):
            request = graph_pb.WriteGraphRequest()
            if start == 0:
                request.nodes.add(id=session_id, general_type_name="Session")
            for turn in turns[start : start + 900]:
                node_id = str(uuid.uuid4())
                request.nodes.add(id=node_id, general_type_name="Turn", data_json=orjson.dumps(turn).decode())
                request.edges.add(from_node_id=session_id, to_node_id=node_id, edge_type="Contains")
            await self.graph.WriteGraph(request, metadata=METADATA)
        return session_id


@pytest.fixture
async def stubs(services: Addresses) -> AsyncIterator[Stubs]:
    async with (
        grpc.aio.insecure_channel(services.context) as context,
        grpc.aio.insecure_channel(services.entity) as own,
    ):
        yield Stubs(context, own)


async def failure(call: object) -> ContextKeepError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        if hasattr(call, "__aiter__"):
            async for _ in call:
                pass
        else:
            await call
    return raised(caught.value)


@pytest.mark.parametrize("metadata", [None, [("authorization", "Bearer wrong")]])
async def test_without_a_key_nothing_is_answered(stubs: Stubs, metadata: object):
    error = await failure(stubs.history.GetChatHistory(pb.GetChatHistoryRequest(node_id=NEVER_WAS), metadata=metadata))

    assert error.reason == "UNAUTHENTICATED"


@pytest.mark.parametrize("node_id", ["", "session-1", "' OR 1=1", "0" * 10_000])
async def test_a_malformed_id_names_its_field(stubs: Stubs, node_id: str):
    error = await failure(stubs.history.GetChatHistory(pb.GetChatHistoryRequest(node_id=node_id), metadata=METADATA))

    assert error.reason == "INVALID_ARGUMENT"
    assert error.violations[0].field == "node_id"


async def test_a_history_past_one_message_is_refused_whole_and_streamed_in_order(stubs: Stubs):
    turns = [{"user_input": f"{number:06} " + "xä"[number % 2] * 2000} for number in range(2500)]
    session_id = await stubs.session(turns)

    error = await failure(stubs.history.GetChatHistory(pb.GetChatHistoryRequest(node_id=session_id), metadata=METADATA))
    contents, sizes = [], []
    async for answer in stubs.history.StreamChatHistory(
        pb.StreamChatHistoryRequest(node_id=session_id), metadata=METADATA
    ):
        contents += [message.content for message in answer.messages]
        sizes.append(answer.ByteSize())

    assert (error.reason, error.metadata["use"]) == ("ANSWER_TOO_LARGE", "StreamChatHistory")
    assert contents == [turn["user_input"] for turn in turns]
    assert max(sizes) <= 1024 * 1024


async def test_a_formatted_history_past_one_message_is_refused_and_fits_with_fewer_messages(stubs: Stubs):
    session_id = await stubs.session([{"user_input": "x" * 2000} for _ in range(2500)])
    request = pb.GetChatHistoryRequest(node_id=session_id, format=pb.MESSAGE_FORMAT_OPENAI)

    error = await failure(stubs.history.GetChatHistory(request, metadata=METADATA))
    request.max_messages = 1000
    answer = await stubs.history.GetChatHistory(request, metadata=METADATA)

    assert (error.reason, error.metadata["use"]) == ("ANSWER_TOO_LARGE", "max_messages")
    assert len(answer.formatted_json) > 1000 * 2000


async def test_a_format_of_a_newer_client_is_refused(stubs: Stubs):
    request = pb.GetChatHistoryRequest(node_id=NEVER_WAS, format=9)

    error = await failure(stubs.history.GetChatHistory(request, metadata=METADATA))

    assert (error.reason, error.violations[0].field) == ("INVALID_ARGUMENT", "format")


async def test_the_newest_are_read_from_the_end_without_the_rest(stubs: Stubs):
    session_id = await stubs.session([{"user_input": str(number)} for number in range(3000)])

    answer = await stubs.history.GetChatHistory(
        pb.GetChatHistoryRequest(node_id=session_id, max_messages=3), metadata=METADATA
    )

    assert [message.content for message in answer.messages] == ["2997", "2998", "2999"]


@pytest.mark.parametrize("field", ["max_messages", "tokens_max"])
async def test_fewer_than_none_are_refused(stubs: Stubs, field: str):
    request = pb.GetChatHistoryRequest(node_id=NEVER_WAS, **{field: -1})

    error = await failure(stubs.history.GetChatHistory(request, metadata=METADATA))

    assert (error.reason, error.violations[0].field) == ("INVALID_ARGUMENT", field)


async def test_the_same_budget_holds_less_as_other_vendors_count(stubs: Stubs):
    session_id = await stubs.session([{"user_input": "one two three four five six seven eight nine ten"}])
    request = pb.GetChatHistoryRequest(node_id=session_id, tokens_max=14)

    ours = await stubs.history.GetChatHistory(request, metadata=METADATA)
    request.format = pb.MESSAGE_FORMAT_ANTHROPIC
    anthropics = await stubs.history.GetChatHistory(request, metadata=METADATA)

    assert (ours.tokens, ours.is_cut) == (14, False)
    assert (anthropics.tokens, anthropics.is_cut) == (0, True)


async def test_two_reads_are_the_same(stubs: Stubs):
    session_id = await stubs.session([{"user_input": str(number)} for number in range(50)])
    request = pb.GetChatHistoryRequest(node_id=session_id)

    first, second = [await stubs.history.GetChatHistory(request, metadata=METADATA) for _ in range(2)]

    assert first == second


async def test_the_entity_service_down_is_unavailable_within_the_deadline_and_then_works_again(
    stubs: Stubs, context_settings, entity_settings, callers
):
    session_id = await stubs.session([{"user_input": "still there"}])
    async with AsyncExitStack() as stack:
        own_entity = AsyncExitStack()
        port = free_port()
        own = entity_settings.model_copy(update={"entity_service_port": port})
        await own_entity.enter_async_context(entity_service.app.running(own, callers=callers))
        settings = context_settings.model_copy(update={"entity_service_url": f"127.0.0.1:{port}"})
        own_port = await stack.enter_async_context(context_service.app.running(settings, callers=callers))
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{own_port}"))
        history = ChatHistoryStub(channel)
        request = pb.GetChatHistoryRequest(node_id=session_id)
        assert (await history.GetChatHistory(request, metadata=METADATA)).messages

        await own_entity.aclose()
        error = await failure(history.GetChatHistory(request, metadata=METADATA, timeout=5))

        async with entity_service.app.running(own, callers=callers):
            give_up_at = time.monotonic() + 60
            while True:
                try:
                    answer = await history.GetChatHistory(request, metadata=METADATA, timeout=5)
                    break
                except grpc.aio.AioRpcError as again:
                    assert again.code() is grpc.StatusCode.UNAVAILABLE
                    assert time.monotonic() < give_up_at
                    await asyncio.sleep(0.1)

    assert (error.reason, error.metadata) == ("UNAVAILABLE", {"dependency": "entity-service"})
    assert "127.0.0.1" not in error.message
    assert [message.content for message in answer.messages] == ["still there"]
