"""Windows through the generated stub on a sync channel, as a bundle calls it: a claim for each RPC."""

from __future__ import annotations

import json

import grpc
import pytest

from contextkeep import ContextClient
from contextkeep.context.v1 import chat_history_pb2
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.context.v1.context_windows_pb2_grpc import ContextWindowsStub
from contextkeep.errors import WindowClosed
from tests.conftest import KEY, METADATA
from tests.errors import raised

STUB = ContextWindowsStub


@pytest.fixture
def context_id(stack) -> str:
    """A context with one message."""
    with ContextClient(stack.context, api_key=KEY) as context:
        return context.send_message("Hello").context_id


@pytest.fixture
def window(grpc_stub, context_id) -> pb.Window:
    request = pb.OpenWindowRequest(context_id=context_id, model="gpt-5", system_prompt="Be brief.")
    return grpc_stub.OpenWindow(request, metadata=METADATA).window


def test_OpenWindow_knows_what_its_model_takes(grpc_stub, window):
    assert (window.context_tokens, window.token_limit) == (400_000, 320_000)
    assert (window.tokens_family, window.format) == ("o200k", chat_history_pb2.MESSAGE_FORMAT_OPENAI)


def test_GetWindow_answers_one_with_its_prompt(grpc_stub, window):
    answer = grpc_stub.GetWindow(pb.GetWindowRequest(window_id=window.window_id), metadata=METADATA)
    assert answer.window == window
    assert answer.window.system_prompt == "Be brief."


def test_ListWindows_answers_those_of_a_context(grpc_stub, context_id, window):
    answer = grpc_stub.ListWindows(pb.ListWindowsRequest(context_id=context_id), metadata=METADATA)
    assert [one.window_id for one in answer.windows] == [window.window_id]


def test_Pack_answers_the_messages_for_the_next_call_of_the_model(grpc_stub, window):
    pack = grpc_stub.Pack(pb.PackRequest(window_id=window.window_id), metadata=METADATA)
    assert json.loads(pack.messages_json)["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
    ]
    assert (pack.last_seq, pack.step_count, pack.tokens_by_zone.verbatim > 0) == (1, 1, True)


def test_CloseWindow_packs_no_more(grpc_stub, window):
    assert grpc_stub.CloseWindow(pb.CloseWindowRequest(window_id=window.window_id), metadata=METADATA).window.is_closed
    with pytest.raises(grpc.RpcError) as error:
        grpc_stub.Pack(pb.PackRequest(window_id=window.window_id), metadata=METADATA)
    assert type(raised(error.value)) is WindowClosed
