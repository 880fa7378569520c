"""Mappings that want too much: stopped with a clear error, while others are answered."""

from __future__ import annotations

import asyncio
import gc
import time
import uuid
from collections.abc import Iterator

import grpc
import pytest

from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from service_runtime.grpc_server.process import tune_gc
from tests import cpu
from tests.conftest import METADATA, Addresses
from tests.errors import raised

LIST_10 = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
# Below the 10,000 steps of one evaluation, so it is the call's budget that must end it.
NEARLY_TOO_MUCH = (
    f"{LIST_10}.all(a, {LIST_10}.all(b, {LIST_10}.all(c, a + b + c > 0))) ? entity.data.content : entity.data.content"
)


async def long_session(stub: EntityGraphStub, nodes: int) -> str:
    session_id = str(uuid.uuid4())
    await stub.WriteGraph(
        graph_pb.WriteGraphRequest(nodes=[graph_pb.NodeInput(id=session_id, general_type_name="S")]), metadata=METADATA
    )
    for _ in range(nodes // 1000):
        request = graph_pb.WriteGraphRequest()
        for _ in range(1000):
            node_id = str(uuid.uuid4())
            request.nodes.add(id=node_id, general_type_name="M", data_json='{"content": "x"}')
            request.edges.add(from_node_id=session_id, to_node_id=node_id, edge_type="Contains")
        await stub.WriteGraph(request, metadata=METADATA)
    return session_id


async def register(stub: ChatHistoryStub, mapping_name: str, content: str) -> None:
    rule = pb.MessageRule(role="'user'", content=content)
    await stub.RegisterMapping(
        pb.RegisterMappingRequest(mapping_name=mapping_name, rules=pb.MappingRules(messages=[rule])), metadata=METADATA
    )


class LoopWatch:
    """Measures the CPU time that the loop's thread spends between two turns of a task: what others wait for."""

    def __init__(self) -> None:
        self.turns_s: list[float] = []

    async def watch(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.turns_s.append(now - before)
            before = now

    def quantile(self, q: float) -> float:
        return sorted(self.turns_s)[int(q * (len(self.turns_s) - 1))]


@pytest.fixture
def gc_of_a_server() -> Iterator[None]:
    """The garbage collector as a server has it: one look at all that a test run holds takes a quarter of a second."""
    thresholds = gc.get_threshold()
    tune_gc()
    yield
    gc.set_threshold(*thresholds)


@pytest.mark.timeout(180)
@pytest.mark.usefixtures("gc_of_a_server")
async def test_a_rule_that_costs_much_on_each_of_10000_nodes_ends_at_the_calls_budget(services: Addresses):
    async with (
        grpc.aio.insecure_channel(services.context) as context,
        grpc.aio.insecure_channel(services.entity) as entity,
    ):
        session_id = await long_session(EntityGraphStub(entity), 10_000)
        stub = ChatHistoryStub(context)
        await register(stub, "dear", NEARLY_TOO_MUCH)
        watch = LoopWatch()
        watching = asyncio.create_task(watch.watch())

        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.GetChatHistory(
                pb.GetChatHistoryRequest(node_id=session_id, mapping_name="dear"), metadata=METADATA, timeout=120
            )

        watching.cancel()
        await asyncio.wait([watching])
        error = raised(caught.value)
        assert (error.reason, error.metadata["limit"]) == ("COST_EXCEEDED", "call_steps")
        assert cpu.in_units(watch.quantile(0.99)) < 125
        assert cpu.in_units(watch.quantile(1)) < 600


@pytest.mark.usefixtures("gc_of_a_server")
async def test_forty_dear_histories_of_one_key_are_computed_one_slice_at_a_time(services: Addresses):
    """As many slices as there were calls, one after the other, kept everybody else's calls waiting at each step."""
    async with (
        grpc.aio.insecure_channel(services.context) as context,
        grpc.aio.insecure_channel(services.entity) as entity,
    ):
        session_id = await long_session(EntityGraphStub(entity), 1000)
        stub = ChatHistoryStub(context)
        await register(stub, "dear", NEARLY_TOO_MUCH)
        question = pb.GetChatHistoryRequest(node_id=session_id, mapping_name="dear")
        calls = [stub.GetChatHistory(question, metadata=METADATA) for _ in range(40)]
        await asyncio.sleep(2)
        watch = LoopWatch()
        watching = asyncio.create_task(watch.watch())
        await asyncio.sleep(3)
        for call in calls:
            call.cancel()
        watching.cancel()
        await asyncio.wait([watching])

        dear = [turn_s for turn_s in watch.turns_s if turn_s > 0.001]
        assert len(dear) > 50
        assert sorted(dear)[len(dear) // 2] < 0.005


@pytest.mark.parametrize(
    "content",
    [
        f"{LIST_10}.map(a, {LIST_10}.map(b, {LIST_10}.map(c, {LIST_10}.map(d, {LIST_10}.map(e, a)))))",
        "entity.data.content" + ".replace('', 'xxxxxxxxxxxxxxxx')" * 6,
        "cel.bind(a, 'xxxxxxxxxxxxxxxx' + 'xxxxxxxxxxxxxxxx', " + "cel.bind(a, a + a, " * 20 + "a" + ")" * 20 + ")",
    ],
)
async def test_a_blow_up_fails_its_node_alone_and_soon(services: Addresses, content: str):
    async with (
        grpc.aio.insecure_channel(services.context) as context,
        grpc.aio.insecure_channel(services.entity) as entity,
    ):
        session_id = await long_session(EntityGraphStub(entity), 1000)
        stub = ChatHistoryStub(context)
        await register(stub, "hostile", content)

        answer = await stub.GetChatHistory(
            pb.GetChatHistoryRequest(node_id=session_id, mapping_name="hostile"), metadata=METADATA
        )

        assert (len(answer.messages), answer.nodes_failed) == (0, 1000)
