"""Calls against small real servers: answers, errors, retries, deadlines, credentials, in both worlds."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from operator import attrgetter

import grpc
import pytest

from contextkeep import AsyncEntityClient, EntityClient, retries
from contextkeep.client import _channels
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryServicer
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryServicer
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import (
    EntityGraphServicer,
    EntityGraphStub,
    add_EntityGraphServicer_to_server,
)
from contextkeep.errors import (
    Cancelled,
    DeadlineExceeded,
    InvalidArgument,
    NodeNotFound,
    Overloaded,
    Unauthenticated,
    Unavailable,
    VersionConflict,
)
from contextkeep.inputs import EdgeInput, NodeInput
from tests.clients.serving import serving
from tests.conftest import KEY, OTHER_KEY
from tests.ports import free_port

NODE_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
FAST = 0.2  # seconds: short enough to wait for


class Graph(EntityGraphServicer):
    """Answers the same node always; the first `failures` calls fail."""

    def __init__(self, *, failures: int = 0, error: Exception | None = None, delay_s: float = 0) -> None:
        self.failures = failures
        self.error = error or Unavailable("not yet", dependency="postgres")
        self.delay_s = delay_s
        self.calls = 0
        self.requests: list = []
        self.keys: list[str] = []
        self.came = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def _come(self, request, context) -> None:
        self.calls += 1
        self.requests.append(request)
        self.keys.append(dict(context.invocation_metadata()).get("authorization", ""))
        if self.calls <= self.failures:
            raise self.error
        self.came.set()
        try:
            await asyncio.sleep(self.delay_s)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def GetNode(self, request, context):
        await self._come(request, context)
        if request.node_id != NODE_ID:
            raise NodeNotFound("there is no such node", node_id=request.node_id)
        return pb.GetNodeResponse(node=pb.Node(id=NODE_ID, general_type_name="Turn", data_json='{"n": 1}'))

    async def CreateNode(self, request, context):
        await self._come(request, context)
        return pb.CreateNodeResponse(node=pb.Node(id=NODE_ID, general_type_name=request.node.general_type_name))

    async def ArchiveNode(self, request, context):
        await self._come(request, context)
        return pb.ArchiveNodeResponse(node=pb.Node(id=NODE_ID))

    async def WriteGraph(self, request, context):
        await self._come(request, context)
        return pb.WriteGraphResponse(
            nodes=[pb.WrittenRow(id=node.id, seq=1) for node in request.nodes],
            edges=[pb.WrittenRow(id=edge.id, existed=True) for edge in request.edges],
        )

    async def ListEdges(self, request, context):
        await self._come(request, context)
        page = int(request.page_token or 0)
        edges = [pb.Edge(id=f"{page}{row}", edge_type="Contains") for row in range(2)]
        return pb.ListEdgesResponse(edges=edges, next_page_token=str(page + 1) if page < 2 else "")


async def test_a_node_arrives_as_a_value(world):
    async with serving(Graph()) as address, world.entity(address) as client:
        node = await world.run(client.graph.get_node, NODE_ID)

    assert (node.id, node.general_type_name, node.data) == (NODE_ID, "Turn", {"n": 1})


async def test_an_error_arrives_as_its_class_with_its_cause(world):
    async with serving(Graph()) as address, world.entity(address) as client:
        with pytest.raises(NodeNotFound) as raised:
            await world.run(client.graph.get_node, "elsewhere")

    assert raised.value.metadata == {"node_id": "elsewhere"}
    assert isinstance(raised.value.__cause__, grpc.RpcError)


async def test_unavailable_is_tried_again(world):
    async with serving(graph := Graph(failures=2)) as address, world.entity(address) as client:
        await world.run(client.graph.get_node, NODE_ID)

    assert graph.calls == 3


async def test_nothing_else_is_tried_again(world):
    async with serving(graph := Graph(failures=1, error=VersionConflict())) as address, world.entity(address) as client:
        with pytest.raises(VersionConflict):
            await world.run(client.graph.get_node, NODE_ID)

    assert graph.calls == 1


async def test_attempts_end(world):
    async with serving(graph := Graph(failures=99)) as address, world.entity(address, retries=2) as client:
        with pytest.raises(Unavailable, match="not yet"):
            await world.run(client.graph.get_node, NODE_ID)

    assert graph.calls == 3


async def test_no_retries_means_none(world):
    async with serving(graph := Graph(failures=1)) as address, world.entity(address, retries=0) as client:
        with pytest.raises(Unavailable, match="not yet"):
            await world.run(client.graph.get_node, NODE_ID)

    assert graph.calls == 1


async def test_a_retried_write_carries_one_request_id(world):
    """Else the server could not tell the second attempt from a second node."""
    async with serving(graph := Graph(failures=2)) as address, world.entity(address) as client:
        await world.run(client.graph.create_node, "Turn")
        await world.run(client.graph.create_node, "Turn")

    first, second, third, other = (request.request_id for request in graph.requests)
    assert uuid.UUID(first)
    assert first == second == third != other


async def test_the_callers_own_request_id_is_sent(world):
    async with serving(graph := Graph()) as address, world.entity(address) as client:
        await world.run(client.graph.create_node, "Turn", request_id=NODE_ID)

    assert graph.requests[0].request_id == NODE_ID


async def test_archiving_a_version_is_not_repeated(world):
    """The repeat of a call that was done and not answered would meet its own change."""
    async with serving(graph := Graph(failures=1)) as address, world.entity(address) as client:
        with pytest.raises(Unavailable):
            await world.run(client.graph.archive_node, NODE_ID, expected_version=3)
        await world.run(client.graph.archive_node, NODE_ID)

    assert graph.calls == 2


async def test_the_servers_delay_is_honoured(world):
    error = Overloaded("busy", retry_after_s=0.5)
    async with serving(Graph(failures=1, error=error)) as address, world.entity(address) as client:
        started = time.monotonic()
        await world.run(client.graph.get_node, NODE_ID)

    assert time.monotonic() - started >= 0.5


async def test_a_delay_past_the_deadline_is_not_waited_for(world):
    """The error of now says more than a deadline later."""
    error = Overloaded("busy", retry_after_s=60)
    async with serving(Graph(failures=1, error=error)) as address, world.entity(address) as client:
        with pytest.raises(Overloaded):
            await world.run(client.graph.get_node, NODE_ID)


async def test_the_budget_stops_retries_of_a_failing_service(world, monkeypatch):
    monkeypatch.setattr(retries, "BACKOFF_S_MAX", 0.001)
    async with serving(graph := Graph(failures=999)) as address, world.entity(address, retries=9) as client:
        for _ in range(4):
            with pytest.raises(Unavailable):
                await world.run(client.graph.get_node, NODE_ID)
        graph.calls = 100
        with pytest.raises(Unavailable):
            await world.run(client.graph.get_node, NODE_ID)

    assert graph.calls == 101


class Gone(EntityGraphServicer, WorkingMemoryServicer, ChatHistoryServicer):
    """Counts streams, and answers none."""

    def __init__(self) -> None:
        self.calls = 0

    async def _refuse(self, request, context):
        self.calls += 1
        raise Unavailable("gone")
        yield

    Traverse = ExportGraph = GetBlob = StreamChatHistory = _refuse


async def test_each_attempt_of_a_stream_takes_one_token_of_the_budget(world, tmp_path, monkeypatch):
    """Whatever is built upon it: of twenty tokens ten are there to be used."""
    monkeypatch.setattr(retries, "BACKOFF_S_MAX", 0.001)
    monkeypatch.setattr(retries, "BACKOFF_S", 0.001)
    for name, arguments in {
        "graph.traverse": [NODE_ID],
        "graph.export": [tmp_path / "graph"],
        "graph.export_pages": [],
        "history.stream": [NODE_ID],
        "blobs.get": [NODE_ID],
        "blobs.download": [NODE_ID, tmp_path / "blob"],
    }.items():
        opened = world.entity if name.startswith("graph.") else world.context
        async with serving(gone := Gone()) as address, opened(address, retries=99) as client:
            with pytest.raises(Unavailable):
                await world.run(attrgetter(name)(client), *arguments)

        assert (name, gone.calls) == (name, 10)


async def test_nobody_listens(world):
    async with world.entity("127.0.0.1:1", timeout_s=5, retries=1) as client:
        with pytest.raises(Unavailable, match=r"entity-service at 127\.0\.0\.1:1 does not answer") as raised:
            await world.run(client.graph.get_node, NODE_ID)

    assert raised.value.metadata == {"dependency": "entity-service", "address": "127.0.0.1:1"}


async def test_a_service_that_comes_back_is_found_by_the_retries_of_all_calls(world):
    """However many there are: the budget is for what a service refuses, not for what nobody works on."""
    port = free_port()
    async with world.entity(f"127.0.0.1:{port}", retries=8) as client:
        calls = [asyncio.ensure_future(world.run(client.graph.get_node, NODE_ID)) for _ in range(25)]
        await asyncio.sleep(0.5)
        async with serving(Graph(failures=5), port=port):
            assert {node.id for node in await asyncio.gather(*calls)} == {NODE_ID}


class Stopping(EntityGraphServicer):
    """Drops the first calls as a server of grpc's does that begins to stop."""

    def __init__(self, drops: int) -> None:
        self.drops = drops

    async def GetNode(self, request, context):
        if self.drops:
            self.drops -= 1
            await context.abort(grpc.StatusCode.CANCELLED, "")
        return pb.GetNodeResponse(node=pb.Node(id=request.node_id, data_json="{}"))


async def test_a_service_that_stops_costs_nothing_of_the_budget(world, monkeypatch):
    monkeypatch.setattr(retries, "BACKOFF_S_MAX", 0.001)
    monkeypatch.setattr(retries, "BACKOFF_S", 0.001)
    server = grpc.aio.server()
    add_EntityGraphServicer_to_server(Stopping(30), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with world.entity(f"127.0.0.1:{port}", retries=30) as client:
            assert (await world.run(client.graph.get_node, NODE_ID)).id == NODE_ID
    finally:
        await server.stop(0)


async def test_a_new_client_connects_at_once_whatever_another_met(world):
    port = free_port()
    async with serving(Graph(), port=port) as address, world.entity(address, retries=0) as client:
        await world.run(client.graph.get_node, NODE_ID)
    async with world.entity(address, retries=0) as client:
        with pytest.raises(Unavailable) as kept:  # and with it the call and its channel
            await world.run(client.graph.get_node, NODE_ID)
    await asyncio.sleep(2)  # of it the next attempt to connect is half a second away

    async with serving(Graph(), port=port), world.entity(address, retries=0) as client:
        assert (await world.run(client.graph.get_node, NODE_ID)).id == NODE_ID
    assert kept.value.metadata["address"] == address


async def test_the_channel_is_there_for_stubs_of_ones_own(world):
    async with serving(Graph()) as address, world.entity(address) as client:
        stub = EntityGraphStub(client.channel())
        assert (await world.run(stub.GetNode, pb.GetNodeRequest(node_id=NODE_ID))).node.id == NODE_ID
    with pytest.raises(RuntimeError, match="closed"):
        client.channel()


async def test_more_calls_than_a_connection_takes_are_made_at_once(world, monkeypatch):
    """Core would queue them until one of the others ends, which a watch never does."""
    monkeypatch.setattr(_channels, "CALLS_OF_CHANNEL_MAX", 2)
    graph = Graph(delay_s=30)
    async with serving(graph, options=[("grpc.max_concurrent_streams", 2)]) as address:
        async with world.entity(address) as client:
            calls = [asyncio.ensure_future(world.run(client.graph.get_node, NODE_ID)) for _ in range(5)]
            async with asyncio.timeout(10):
                while graph.calls < len(calls):
                    await asyncio.sleep(0.01)
            await world.run(client.close)
        await asyncio.gather(*calls, return_exceptions=True)


async def test_a_channel_that_has_room_again_takes_the_next_calls(world, monkeypatch):
    monkeypatch.setattr(_channels, "CALLS_OF_CHANNEL_MAX", 1)
    async with serving(Graph(delay_s=0.1)) as address, world.entity(address) as client:
        for _ in range(3):
            await asyncio.gather(*(world.run(client.graph.get_node, NODE_ID) for _ in range(2)))
        assert len(client._connection._channels._opened) == 2


@pytest.mark.parametrize("whose", ["client", "call"])
async def test_a_slow_call_meets_its_deadline(world, whose):
    options, arguments = ({"timeout_s": FAST}, {}) if whose == "client" else ({}, {"timeout_s": FAST})
    async with serving(Graph(delay_s=30)) as address, world.entity(address, **options) as client:
        started = time.monotonic()
        with pytest.raises(DeadlineExceeded, match=r"did not answer in time|time was up"):
            await world.run(client.graph.get_node, NODE_ID, **arguments)

    assert time.monotonic() - started < 20


async def test_the_deadline_holds_for_all_attempts_together(world):
    async with serving(Graph(failures=99)) as address, world.entity(address, retries=99, timeout_s=1) as client:
        started = time.monotonic()
        with pytest.raises((Unavailable, DeadlineExceeded)):
            await world.run(client.graph.get_node, NODE_ID)

    assert time.monotonic() - started < 20


async def test_lists_follow_their_pages_and_retry_each(world):
    async with serving(graph := Graph(failures=1)) as address, world.entity(address) as client:
        edges = await world.run(client.graph.list_edges, NODE_ID)

    assert [edge.id for edge in edges] == ["00", "01", "10", "11", "20", "21"]
    assert graph.calls == 4


async def test_edges_join_nodes_of_the_same_write(world):
    """Ids are made by the inputs, so that an edge can name them before the server has seen them."""
    session, turn = NodeInput("Session"), NodeInput("Turn", data={"n": 1})
    async with serving(graph := Graph()) as address, world.entity(address) as client:
        written = await world.run(client.graph.write, [session, turn], [EdgeInput(session.id, turn.id, "Contains")])

    assert [row.id for row in written.nodes] == [session.id, turn.id]
    assert written.edges[0].existed
    assert graph.requests[0].edges[0].to_node_id == turn.id


async def test_the_key_is_sent_and_views_change_it(world, callers):
    async with serving(graph := Graph(), callers=callers) as address, world.entity(address, api_key=KEY) as client:
        await world.run(client.graph.get_node, NODE_ID)
        await world.run(client.with_credential(OTHER_KEY).graph.get_node, NODE_ID)
        with pytest.raises(Unauthenticated):
            await world.run(client.with_credential("").graph.get_node, NODE_ID)
        await world.run(client.graph.get_node, NODE_ID)

    assert graph.keys == [f"Bearer {KEY}", f"Bearer {OTHER_KEY}", f"Bearer {KEY}"]


async def test_variables_say_where_and_who(world, callers, monkeypatch):
    async with serving(graph := Graph(), callers=callers) as address:
        monkeypatch.setenv("ENTITY_SERVICE_ADDRESS", f"http://{address}")
        monkeypatch.setenv("CONTEXT_SERVICE_API_KEY", KEY)
        client = world.entity_class()
        await world.run(client.graph.get_node, NODE_ID)
        await world.run(client.close)

    assert graph.keys == [f"Bearer {KEY}"]


async def test_the_key_is_never_shown(world, caplog):
    caplog.set_level(logging.DEBUG)
    async with world.entity("127.0.0.1:1", api_key="top-secret", retries=0) as client:
        with pytest.raises(Unavailable) as raised:
            await world.run(client.graph.get_node, NODE_ID)

    shown = repr(client) + str(vars(client)) + str(raised.value) + repr(raised.value.__cause__) + caplog.text
    shown = shown.replace(str(client._metadata), "")  # what is sent is held
    assert "top-secret" not in shown
    assert repr(client) == f"{world.entity_class.__name__}('127.0.0.1:1')"


def test_a_key_that_cannot_travel_is_refused_without_being_shown(world):
    with pytest.raises(InvalidArgument) as raised:
        world.entity_class(api_key="top\nsecret")

    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "options", [{"timeout_s": 0}, {"idle_timeout_s": float("nan")}, {"timeout_s": float("inf")}, {"retries": -1}]
)
def test_numbers_without_sense_are_refused(world, options):
    with pytest.raises(InvalidArgument):
        world.entity_class(**options)


async def test_a_closed_client_says_so(world):
    async with serving(Graph()) as address:
        async with world.entity(address) as client:
            await world.run(client.graph.get_node, NODE_ID)
        with pytest.raises(RuntimeError, match="closed"):
            await world.run(client.graph.get_node, NODE_ID)
        await world.run(client.close)  # again is harmless


async def test_closing_ends_calls_under_way(world):
    """In the async world grpc raises CancelledError then, which would end a task that nobody cancelled."""
    async with serving(graph := Graph(delay_s=30)) as address, world.entity(address) as client:
        call = asyncio.ensure_future(world.run(client.graph.get_node, NODE_ID))
        await asyncio.wait_for(graph.came.wait(), 30)
        await world.run(client.close)
        with pytest.raises(Cancelled):
            await call


async def test_an_infinite_deadline_is_none(world):
    """A service passes on what is left of its own call, which may be infinity."""
    async with serving(Graph()) as address, world.entity(address) as client:
        assert (await world.run(client.graph.get_node, NODE_ID, timeout_s=float("inf"))).id == NODE_ID


async def test_a_proxy_is_not_asked_for_this_machine(world, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with serving(Graph()) as address, world.entity(address, retries=0) as client:
        assert (await world.run(client.graph.get_node, NODE_ID)).id == NODE_ID


async def test_an_unknown_rpc_is_an_attribute_error(world):
    async with serving(Graph()) as address, world.entity(address) as client:
        with pytest.raises(AttributeError, match="NoSuchThing"):
            await world.run(client.call, "NoSuchThing", pb.GetNodeRequest())


async def test_a_cancelled_task_stays_cancelled_and_stops_the_server():
    async with serving(graph := Graph(delay_s=30)) as address, AsyncEntityClient(address) as client:
        task = asyncio.create_task(client.graph.get_node(NODE_ID))
        await asyncio.wait_for(graph.came.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(graph.cancelled.wait(), 30)


async def test_an_async_client_is_made_outside_of_a_loop_and_bound_to_its_first():
    async with serving(Graph()) as address:
        client = await asyncio.to_thread(AsyncEntityClient, address)
        await client.graph.get_node(NODE_ID)
        with pytest.raises(RuntimeError, match="another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(client.graph.get_node(NODE_ID)))
        await client.close()


async def test_threads_share_a_sync_client():
    async with serving(graph := Graph()) as address:
        with EntityClient(address) as client:
            nodes = await asyncio.gather(*(asyncio.to_thread(client.graph.get_node, NODE_ID) for _ in range(32)))

    assert len(nodes) == graph.calls == 32
