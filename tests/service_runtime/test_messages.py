"""Large requests are read in slices, to the same message."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st

from context_service.retrieval.pure.ranking import at_once
from contextkeep.context.v1 import contexts_pb2 as contexts
from contextkeep.context.v1 import message_pb2
from contextkeep.errors import LimitExceeded
from service_runtime.rpc import messages
from tests.cpu import units

TEXTS = st.text(max_size=30)
PARTS = st.lists(
    st.builds(
        message_pb2.Part,
        text=st.one_of(st.none(), TEXTS),
        tool_call=st.one_of(st.none(), st.builds(message_pb2.ToolCall, id=TEXTS, name=TEXTS)),
    ),
    max_size=3,
)
REQUESTS = st.builds(
    contexts.AppendMessagesRequest,
    context_id=TEXTS,
    messages=st.lists(st.builds(message_pb2.MessageInput, role=TEXTS, content=TEXTS, parts=PARTS), max_size=5),
)


@given(request=REQUESTS, more=REQUESTS, size_bytes=st.integers(1, 40))
def test_a_message_that_is_read_in_slices_is_the_same(
    request: contexts.AppendMessagesRequest, more: contexts.AppendMessagesRequest, size_bytes: int
):
    data = request.SerializeToString() + more.SerializeToString()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "AT_ONCE_BYTES", size_bytes)
        read = at_once(messages.read(contexts.AppendMessagesRequest, data))

    assert read == contexts.AppendMessagesRequest.FromString(data)


@given(data=st.binary(min_size=2, max_size=60))
def test_bytes_that_are_no_message_are_none_in_slices(data: bytes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "AT_ONCE_BYTES", 1)
        try:
            read = at_once(messages.read(contexts.AppendMessagesRequest, data))
        except DecodeError:
            return
    assert read == contexts.AppendMessagesRequest.FromString(data)


@pytest.mark.parametrize(
    "request_",
    [
        contexts.AppendMessagesRequest(messages=[message_pb2.MessageInput()] * 2_501),
        contexts.SendMessageRequest(message=message_pb2.MessageInput(parts=[message_pb2.Part()] * 2_501)),
        contexts.AppendMessagesRequest(messages=[message_pb2.MessageInput(parts=[message_pb2.Part()] * 1_000)] * 61),
    ],
    ids=["a list", "a list below", "many lists"],
)
def test_a_request_of_longer_lists_than_any_rule_allows_is_refused_before_anybody_goes_through_it(
    request_: Message,
):
    with pytest.raises(LimitExceeded, match="elements; the limit is"):
        at_once(messages.read(type(request_), request_.SerializeToString()))


def test_as_many_parts_as_the_rules_allow_are_read():
    request = contexts.AppendMessagesRequest(
        messages=[message_pb2.MessageInput(parts=[message_pb2.Part(text="")] * 100)] * 500
    )

    assert at_once(messages.read(type(request), request.SerializeToString())) == request


def test_a_request_of_two_million_empty_messages_is_refused_step_by_step():
    data = b"\x12\x00" * (2 * 1024 * 1024)
    steps = messages.read(contexts.AppendMessagesRequest, data)

    took = []
    with pytest.raises(LimitExceeded, match="fields"):
        while True:
            took.append(units(lambda: next(steps), rounds=1))
    assert sorted(took)[-2] < 25  # one may be the machine's doing: no step can be timed twice
