"""Calls of more than one request may have: cut by encoded bytes, in order, idempotent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contextkeep import ContextInput, EdgeInput, ExternalId, MessageInput, NodeInput, PartInput, new_id
from contextkeep.client._batches import REQUEST_BYTES_MAX, batches
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message_pb

_TEXT = "茶" * 140_000  # 420 KB; a count of characters takes it for a third
_UNSEEN = {"index": False}


async def test_messages_past_the_bytes_of_a_request_are_written_once_in_their_order(world, context):
    said = [MessageInput(parts=[PartInput(text=_TEXT, metadata=_UNSEEN)], message_id=f"m{n}") for n in range(11)]
    name, request_id = ExternalId("batches", new_id()), new_id()

    async def append():
        return await world.run(
            context.contexts.append,
            said,
            context=ContextInput(title="long"),
            get_or_create=name,
            request_id=request_id,
        )

    sent = await append()
    assert [one.seq for one in sent] == list(range(1, 12))
    assert [one.message_id for one in sent] == [f"m{n}" for n in range(11)]
    assert len({one.context_id for one in sent}) == 1
    assert [(one.seq, one.created_at) for one in await append()] == [(one.seq, one.created_at) for one in sent]


async def test_rows_past_the_bytes_and_the_number_of_a_request_are_written(world, graph):
    nodes = [NodeInput(general_type_name="Note", id=new_id(), data={"text": _TEXT[:9_000]}) for _ in range(200)]
    edges = [EdgeInput(nodes[n].id, nodes[n + 1].id, "Then") for n in range(199)]
    small = [NodeInput(general_type_name="Note", id=new_id()) for _ in range(2_001)]

    written = await world.run(graph.graph.write, nodes, edges)
    assert [row.id for row in written.nodes] == [one.id for one in nodes]
    assert len(written.edges) == 199
    assert len((await world.run(graph.graph.write, small)).nodes) == 2_001


@given(sizes=st.lists(st.sampled_from([0, 1, 127, 128, 20_000, 1_000_000, REQUEST_BYTES_MAX]), max_size=30))
def test_every_row_is_in_one_request_and_each_request_fits(sizes: list[int]):
    rows = [message_pb.MessageInput(message_id=str(n), content="x" * size) for n, size in enumerate(sizes)]
    request = pb.AppendMessagesRequest(request_id=new_id(), subject_user_id="u" * 300, messages=rows)

    made = list(batches(request, ["messages"], count_max=7))

    assert [row for one in made for row in one.messages] == rows
    assert all(len(one.messages) <= 7 for one in made)
    assert all(one.ByteSize() <= REQUEST_BYTES_MAX or len(one.messages) == 1 for one in made)
    assert len({one.request_id for one in made}) == len(made)
    assert made[0].request_id == request.request_id
    assert {one.subject_user_id for one in made} == {request.subject_user_id}
    assert [one.SerializeToString() for one in batches(request, ["messages"], count_max=7)] == [
        one.SerializeToString() for one in made
    ]
