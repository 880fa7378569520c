"""Expand for parts that are files: their bytes, their address, or the line that stands for a deleted one."""

from __future__ import annotations

import hashlib
from base64 import b64encode

import pytest

from contextkeep.context.v1 import message_pb2
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import AnswerTooLarge, WindowNotFound
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import calls, opened, said
from tests.context_service.windows.packing.test_files_of_packs import answers, shows, uploaded
from tests.media import png

PICTURE = png(7, 5)
ADDRESS = "https://фото.example/1.jpg"


async def test_the_ref_of_a_file_expands_to_its_bytes(caller: Caller):
    whole = png(30, 30, pixels=bytes(3_500_000))
    deleted = await uploaded(caller, png(9, 9))
    parts = [
        message_pb2.Part(file=message_pb2.File(data=PICTURE, name="вид.png")),
        message_pb2.Part(url=f"data:image/png;base64,{b64encode(PICTURE).decode()}"),
        message_pb2.Part(file=message_pb2.File(working_memory_id=await uploaded(caller, whole))),
        message_pb2.Part(file=message_pb2.File(url=ADDRESS, media_type="image/jpeg")),
    ]
    context_id = await said(caller, "", {"content": "look", "parts": parts}, shows(deleted))
    window = await opened(caller, context_id)
    await WorkingMemoryStub(caller.channel).DeleteWMRecord(
        memory_pb.DeleteWMRecordRequest(working_memory_id=deleted), metadata=caller.metadata
    )
    line = "[image/png «shot.png», 9 x 9 pixels, m2/1]"
    expected = {"m1/1": PICTURE, "m1/2": PICTURE, "m1/3": whole, "m1/4": ADDRESS.encode(), "m2/1": line.encode()}
    for ref, content in expected.items():
        answer = await caller.call("Expand", window_id=window.window_id, ref=ref)
        assert answer.content == content, ref
        assert answer.sha256 == hashlib.sha256(content).hexdigest()
        assert not answer.is_json
    with pytest.raises(WindowNotFound):
        await caller.of("other").call("Expand", window_id=window.window_id, ref="m1/1")


async def test_a_file_that_fits_no_answer_is_refused_and_a_result_expands_without_its_files(caller: Caller):
    record_id = await uploaded(caller, png(30, 30, pixels=bytes(4 << 20)))
    context_id = await said(caller, "", shows(record_id), calls("c1"), answers("c1", record_id))
    window = await opened(caller, context_id)
    with pytest.raises(AnswerTooLarge, match=record_id) as refused:
        await caller.call("Expand", window_id=window.window_id, ref="m1/1")
    assert refused.value.metadata["use"] == "GetBlob"
    result = await caller.call("Expand", window_id=window.window_id, ref="m3/1")
    assert (result.content, result.is_json) == (b'"taken"', True)
    (message,) = (await caller.call("Expand", window_id=window.window_id, ref="m3")).messages
    assert message.parts[0].tool_result.files[0].working_memory_id == record_id
