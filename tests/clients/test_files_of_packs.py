"""The bytes of files in packs and histories: read once, kept, and inserted by both clients."""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import orjson
import pytest

from context_service.history.model import ChatMessage
from context_service.history.pure.message_tokens import tokens_of_message
from context_service.kernel.files.models import media_model
from context_service.kernel.parts import Part, tokens_of
from context_service.kernel.rendering import Format
from contextkeep import (
    AsyncContextClient,
    EdgeInput,
    FileInput,
    MessageInput,
    NodeInput,
    PartInput,
    ToolCallInput,
    ToolResultInput,
)
from contextkeep.client._body_files import FileCache
from contextkeep.errors import AnswerTooLarge, BlobCorrupted
from contextkeep.values import BodyFile
from tests import vendors
from tests.conftest import Addresses
from tests.context_service.kernel.test_rendering import MESSAGES, adapter, exhausted
from tests.context_service.windows.packing.test_files_of_packs import hashes_in
from tests.media import png


def shot(number: int) -> PartInput:
    return PartInput(file=FileInput(data=png(40 + number, 30, color=number), media_type="image/png", name="shot.png"))


async def test_a_pack_has_the_bytes_of_its_files_and_reads_each_once(world: Any, context: Any):
    look = PartInput(tool_call=ToolCallInput(id="c", name="look", arguments={}))
    sent = await world.run(
        context.contexts.append,
        [
            MessageInput("What is it?", parts=[shot(1)]),
            MessageInput(role="assistant", parts=[look]),
            MessageInput(
                role="tool",
                parts=[PartInput(tool_result=ToolResultInput(tool_call_id="c", content="taken", files=[shot(2).file]))],
            ),
        ],
    )
    window = await world.run(context.windows.open, sent[0].context_id, "claude-sonnet-4-5")
    pack = await world.run(context.windows.pack, window.window_id)
    assert [hashlib.sha256(content).hexdigest() for content in pack.file_bytes] == [file.sha256 for file in pack.files]
    assert orjson.loads(pack.body_json) == pack.body
    pictures = [b64encode(png(40 + number, 30, color=number)).decode() for number in (1, 2)]
    assert [pack.body_json.count(picture) for picture in pictures] == [1, 1]
    assert not any(picture in pack.messages_json for picture in pictures)

    again = await world.run(context.windows.pack, window.window_id, since=pack)
    assert again == pack
    assert [one is other for one, other in zip(again.file_bytes, pack.file_bytes, strict=True)] == [True, True]
    whole = b"".join(await world.run(context.windows.pack_body, window.window_id))
    assert whole.decode() == pack.body_json


# The size of the largest picture: for Anthropic the most that it takes, for Gemini the most that a context takes.
LARGEST = {
    ("anthropic", "claude-opus-4-7"): 3_900_000,
    ("openai", "gpt-5"): 5_000_000,
    ("openai_responses", "gpt-5"): 5_000_000,
    ("gemini", "gemini-3-pro"): 20 * 2**20,
}


def picture_of(size_bytes: int, color: int) -> bytes:
    """Return a small picture with as many bytes."""
    least = len(png(9, 9, pixels=b""))
    return png(9, 9, pixels=bytes([color]) * (size_bytes - least))


@pytest.mark.parametrize(("format_name", "model"), LARGEST)
async def test_pictures_of_all_sources_sizes_and_roles_reach_the_vendor_as_they_were_sent(
    shared_services: Addresses, key: str, tmp_path: Path, format_name: str, model: str
):
    """As bytes, path, `data:` URL, record and URL, from a pixel to the largest size."""
    sizes = [100, 4_000, 200_000, 1_500_000, LARGEST[format_name, model]]
    by_path, by_url, recorded, of_tool, large = (picture_of(size, color) for color, size in enumerate(sizes))
    path = tmp_path / "bild.png"
    path.write_bytes(by_path)
    address = "https://fotos.example/wand.png"
    async with AsyncContextClient(shared_services.context, api_key=key) as client:
        record = await client.blobs.upload(recorded, name="record.png", content_type="image/png")
        of_user = [
            PartInput(file=path),
            PartInput(url=f"data:image/png;base64,{b64encode(by_url).decode()}"),
            PartInput(working_memory_id=record.working_memory_id),
            PartInput(file=FileInput(url=address, media_type="image/png")),
            PartInput(file=b"x"),
        ]
        look = PartInput(tool_call=ToolCallInput(id="c", name="look", arguments={}))
        result = ToolResultInput(tool_call_id="c", content="taken", files=[FileInput(data=of_tool)])
        said = [
            MessageInput("Здесь всё.", parts=of_user),
            MessageInput(role="assistant", parts=[PartInput(file=by_path), look]),
            MessageInput(role="tool", parts=[PartInput(tool_result=result)]),
            MessageInput(parts=[PartInput(file=FileInput(data=large, media_type="image/png"))]),
        ]
        sent = await client.contexts.append(said)
        window = await client.windows.open(sent[0].context_id, model, message_format=format_name)
        pack = await client.windows.pack(window.window_id)
    to = Format(format_name)
    expected = {hashlib.sha256(data).hexdigest() for data in (by_path, by_url, recorded, of_tool, large)}
    assert hashes_in(pack.body) == expected
    assert pack.body_json.count(address) == 1
    assert pack.body_json.count("[application/octet-stream") == 1, "a byte is a line of text"
    exhausted(adapter(to).validate_python(pack.body[MESSAGES[to]]))
    assert not vendors.broken(pack.body[MESSAGES[to]], to)


async def test_a_file_of_ten_mebibytes_expands_whole_and_a_larger_one_names_what_reads_it(world: Any, context: Any):
    whole, larger = picture_of(10 * 2**20, 7), picture_of(10 * 2**20 + 1, 8)
    parts = [PartInput(file=data) for data in (whole, larger)]
    sent = await world.run(context.contexts.append, [MessageInput(parts=parts), MessageInput("Видно?")])
    window = await world.run(context.windows.open, sent[0].context_id, "gpt-5")
    original = await world.run(context.windows.expand, window.window_id, "m1/1")
    assert original.content == whole
    assert (original.size_bytes, original.media_type) == (len(whole), "image/png")
    with pytest.raises(AnswerTooLarge, match=r"blobs\.get"):
        await world.run(context.windows.expand, window.window_id, "m1/2")
    assert (await world.run(window.expand, "m2/0")).text == "Видно?"


async def test_a_history_has_the_bytes_of_its_records(world: Any, context: Any, graph: Any):
    data = png(50, 30)
    record = await world.run(context.blobs.upload, data, name="shot.png", content_type="image/png")
    session = NodeInput("Session")
    part = {"type": "record", "working_memory_id": record.working_memory_id}
    said = NodeInput("Said", data={"role": "user", "parts": ["Look.", part]})
    await world.run(graph.graph.write, [session, said], [EdgeInput(session.id, said.id, "HAS")])
    rules = {"messages": [{"role": "entity.data.role", "parts": "entity.data.parts"}]}
    await world.run(context.mappings.register, "shots", rules)
    history = await world.run(context.history.formatted, session.id, "anthropic", mapping_name="shots")
    (message,) = history.body["messages"]
    assert b64decode(message["content"][1]["source"]["data"]) == data
    assert history.files[0].sha256 == hashlib.sha256(data).hexdigest()

    # A picture of unknown size counts as the most that the vendor counts for one.
    most = media_model("", Format.ANTHROPIC).image.most
    asked = {"mapping_name": "shots", "tokens_max": 100_000}
    counted = await world.run(context.history.formatted, session.id, "anthropic", **asked)
    assert most < counted.tokens < most + 50
    asked["tokens_max"] = most
    cut = await world.run(context.history.formatted, session.id, "anthropic", **asked)
    assert (cut.is_cut, cut.files) == (True, ())


@pytest.mark.parametrize("name", ["data URL", "address", "web page"])
def test_a_file_by_its_url_counts_as_the_vendor_counts_it_and_not_as_text(name: str):
    model = media_model("", Format.OPENAI_RESPONSES)
    picture = b64encode(png(50, 30)).decode() * 200
    part, expected = {
        "data URL": (Part(url=f"data:image/png;base64,{picture}"), model.image.most),
        "address": (Part(url="https://example.com/a.png", media_type="image/png"), model.image.most + 1),
        "web page": (Part(url="https://example.com/a"), 1),
    }[name]
    message = ChatMessage(role="user", content="", node_id="n", created_at_us=0, parts=(part,))
    tokens = tokens_of_message(message, model, count=lambda text: len(text.split()))
    assert tokens == expected + tokens_of("", (), count=len)


def test_the_cache_drops_what_was_used_longest_ago_and_refuses_other_bytes():
    cache = FileCache(bytes_max=10)
    files = [BodyFile(sha256=hashlib.sha256(bytes([n]) * 4).hexdigest(), working_memory_id=str(n)) for n in range(3)]
    for number, file in enumerate(files):
        cache.keep(file, bytes([number]) * 4)
        assert cache.kept(files[:1])  # used each time, so it stays
    assert list(cache.kept(files).values()) == [b"\0" * 4, b"\2" * 4]
    with pytest.raises(BlobCorrupted):
        cache.keep(files[0], b"other")
