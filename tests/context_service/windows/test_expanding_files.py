"""Expand for parts that are files: their bytes, their address, or the line that stands for a deleted one."""

from __future__ import annotations

import hashlib
from base64 import b64encode

import pytest

from contextkeep.context.v1 import message_pb2
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextkeep.errors import AnswerTooLarge, InvalidArgument, RefNotFound, WindowNotFound
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import calls, opened, packed, said
from tests.context_service.windows.packing.test_files_of_packs import shows, uploaded
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


async def test_a_file_that_fits_no_answer_is_read_in_ranges(caller: Caller):
    whole = png(30, 30, pixels=bytes(range(256)) * (5 << 12))
    record_id = await uploaded(caller, whole)
    window = await opened(caller, await said(caller, "", shows(record_id)))
    with pytest.raises(AnswerTooLarge, match="set length_bytes") as refused:
        await caller.call("Expand", window_id=window.window_id, ref="m1/1")
    assert refused.value.metadata["use"] == "length_bytes"
    read = b""
    while len(read) < len(whole):
        fields = {"ref": "m1/1", "offset_bytes": len(read), "length_bytes": 4_128_768}
        answer = await caller.call("Expand", window_id=window.window_id, **fields)
        assert (answer.size_bytes, answer.media_type) == (len(whole), "image/png")
        read += answer.content
    assert read == whole
    assert answer.sha256 == hashlib.sha256(whole).hexdigest()


@pytest.mark.parametrize("fields", [{"offset_bytes": -1}, {"offset_bytes": 9_999}, {"length_bytes": 4_128_769}])
async def test_a_range_outside_of_the_file_or_of_an_answer_is_refused(caller: Caller, fields: dict[str, int]):
    window = await opened(caller, await said(caller, "", shows(await uploaded(caller, PICTURE))))
    with pytest.raises(InvalidArgument, match=next(iter(fields))):
        await caller.call("Expand", window_id=window.window_id, ref="m1/1", **fields)


async def test_each_file_of_a_result_has_a_ref_of_its_own(caller: Caller):
    pictures = [png(8, 8, color=number) for number in range(3)]
    files = [message_pb2.File(data=data, name=f"{number}.png") for number, data in enumerate(pictures)]
    result = message_pb2.ToolResult(tool_call_id="c1", content_json='"готово"', files=files)
    taken = {"role": "tool", "parts": [message_pb2.Part(tool_result=result)]}
    context_id = await said(caller, "", {"content": "look"}, calls("c1"), taken)
    blind = {"model": "deepseek-chat", "format": "MESSAGE_FORMAT_OPENAI"}
    window = await opened(caller, context_id, 60_000, **blind)
    text = (await packed(caller, window)).messages_json
    for number, data in enumerate(pictures):
        ref = f"m3/1/{number + 1}"
        assert f"{ref}]" in text, "the line in the place of the picture names it"
        assert (await caller.call("Expand", window_id=window.window_id, ref=ref)).content == data
    result = await caller.call("Expand", window_id=window.window_id, ref="m3/1")
    assert (result.content.decode(), result.is_json) == ('"готово"', True)
    for missing in ("m3/1/4", "m1/0/1", "m2/1/1"):
        with pytest.raises(RefNotFound):
            await caller.call("Expand", window_id=window.window_id, ref=missing)
    with pytest.raises(InvalidArgument, match="m37/2"):
        await caller.call("Pin", window_id=window.window_id, ref="m3/1/1")
