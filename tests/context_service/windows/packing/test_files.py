"""Files in windows: counted as the vendor counts, within its limits, and replaced by lines with refs at folds."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import orjson
import pytest

from context_service.kernel.files.limits import NO_FILES
from context_service.kernel.files.models import media_model
from context_service.kernel.parts import File, Part, ToolResult
from context_service.kernel.rendering import Format
from context_service.packing.pure.steps.catch_up import caught_up
from context_service.profiles.pure.profiles import BadProfile, parse_profile, profile
from contextkeep.context.v1 import chat_history_pb2, message_pb2
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows import messages
from tests.context_service.windows.calling import FORMATS, calls, opened, packed, said
from tests.media import png

SHOT = File(
    working_memory_id="0198c0de-0000-7000-8000-000000000001",
    media_type="image/png",
    name="экран.png",
    sha256="ab" * 32,
    size_bytes=200_000,
    width=1_280,
    height=720,
)


def shown(seq: int, *files: File, text: str = "Страница открыта.", call_id: str = "c1") -> Any:
    result = ToolResult(tool_call_id=call_id, content_json=orjson.dumps(text).decode(), files=files)
    return messages.message("tool", "", Part(tool_result=result), seq=seq)


def made(*log: Any, model: str, to: Format, room: int = 1_000_000) -> Any:
    return caught_up(
        log,
        to=to,
        profile=profile("general"),
        count=lambda text: len(text) // 4,
        is_end=True,
        last_seq=len(log),
        media=media_model(model, to),
        room=room,
    )


@pytest.mark.parametrize(
    ("model", "to", "tokens"),
    [
        ("claude-opus-5", Format.ANTHROPIC, 1_196),
        ("gpt-5", Format.OPENAI, 70 + 140 * 6),
        ("gpt-6", Format.OPENAI_RESPONSES, 1_104),
        ("gemini-3-pro", Format.GEMINI, 1_120),
    ],
)
def test_a_picture_of_a_tool_counts_as_its_vendor_counts(model, to, tokens):
    (step,) = made(messages.called("look"), shown(2, SHOT), model=model, to=to).steps
    (bare,) = made(messages.called("look"), shown(2), model=model, to=to).steps
    assert tokens < step.block.tokens - bare.block.tokens < tokens + 200, "and the JSON around it"
    assert (step.block.files.images, step.block.files.tool_images) == (1, 1)


@pytest.mark.parametrize(("model", "is_within"), [("gemini-3-pro", True), ("google/gemini-2.5-flash", False)])
def test_a_picture_of_a_tool_stays_within_its_result_only_for_models_that_take_it_there(model, is_within):
    (step,) = made(messages.called("look"), shown(2, SHOT), model=model, to=Format.GEMINI).steps
    with_files = [piece for piece in step.block.pieces if piece.files]
    assert [piece.is_result for piece in with_files] == [is_within]
    assert step.block.files.tool_images == 1
    text = "".join(piece.json for piece in step.block.pieces)
    assert ("in the next message of the user" in text) is not is_within


@pytest.mark.parametrize(("model", "images"), [("claude-haiku-4-5", 50), ("claude-sonnet-4-6", 150)])
def test_models_with_a_context_of_a_million_tokens_get_more_pictures(model, images):
    photos = [Part(file=File(url=f"https://fotos.example/{n}.jpg", media_type="image/jpeg")) for n in range(150)]
    (step,) = made(messages.message("user", "", *photos), model=model, to=Format.ANTHROPIC).steps
    assert step.block.files.images == images


@pytest.mark.parametrize("to", Format)
def test_clearing_a_result_with_a_picture_keeps_its_words_and_a_ref(to):
    (step,) = made(messages.called("look"), shown(2, SHOT), model="", to=to).steps
    assert step.mask.files == NO_FILES
    assert step.mask.tokens < step.block.tokens / 5
    text = "".join(piece.json for piece in step.mask.pieces)
    assert "Страница открыта." in text
    assert "экран.png" in text
    assert "m2" in text
    assert not [file for piece in step.mask.pieces for file in piece.files]


def test_a_model_without_vision_gets_a_line_of_text():
    (step,) = made(messages.called("look"), shown(2, SHOT), model="deepseek-chat", to=Format.OPENAI).steps
    text = "".join(piece.json for piece in step.block.pieces)
    assert "экран.png" in text
    assert "image_url" not in text
    assert step.block.files == NO_FILES


def test_one_message_with_more_pictures_than_a_request_may_have_shows_the_newest():
    photos = [Part(file=File(url=f"https://фото.example/{n}.jpg", media_type="image/jpeg")) for n in range(150)]
    (step,) = made(messages.message("user", "", *photos), model="claude-haiku-4-5", to=Format.ANTHROPIC).steps
    text = "".join(piece.json for piece in step.block.pieces)
    assert text.count('"type":"image"') == step.block.files.images == 50
    assert "/149.jpg" in text
    assert "[image/jpeg, m1/1]" in text


@pytest.mark.parametrize("to", Format)
def test_a_pdf_that_does_not_fit_takes_no_picture_with_it(to: Format):
    shot = File(working_memory_id="w1", media_type="image/png", width=640, height=480, size_bytes=90_000)
    book = File(working_memory_id="w2", media_type="application/pdf", name="кніга.pdf", size_bytes=900)  # of any length
    large = replace(book, working_memory_id="w3", page_count=1, size_bytes=60 * 2**20)  # too many bytes for a request
    parts = [Part(file=file) for file in (shot, book, large)]
    (step,) = made(messages.message("user", "Look.", *parts), model="", to=to, room=20_000).steps
    assert [file.working_memory_id for piece in step.block.pieces for file in piece.files] == ["w1"]
    assert "кніга.pdf" in "".join(piece.json for piece in step.block.pieces)


def test_the_files_of_a_step_leave_room_for_the_rest_of_the_request():
    (step,) = made(messages.called("look"), shown(2, *[SHOT] * 40), model="", to=Format.ANTHROPIC, room=20_000).steps
    assert 4_000 < step.block.tokens < 12_000
    assert step.block.files.images == 8


def test_a_bomb_a_drawing_and_a_book_are_lines():
    hostile = (
        File(working_memory_id="w1", media_type="image/png", width=100_000, height=100_000, size_bytes=900),
        File(working_memory_id="w2", media_type="image/svg+xml", name="a.svg", size_bytes=900),
        File(working_memory_id="w3", media_type="application/pdf", page_count=10_000, size_bytes=900),
        File(working_memory_id="w4", media_type="application/octet-stream", name="false.png", size_bytes=900),
    )
    for to in Format:
        (step,) = made(messages.called("look"), shown(2, *hostile), model="", to=to).steps
        assert not [file for piece in step.block.pieces for file in piece.files if file.media_type != "application/pdf"]
        assert step.block.tokens < 1_000 or to in (Format.OPENAI, Format.OPENAI_RESPONSES)


def test_a_profile_says_how_many_pictures_folds_keep():
    assert profile("general").images_keep_last == 20
    assert parse_profile("own", "extends: general\nimages_keep_last: 3").images_keep_last == 3
    for wrong in ("-1", "true", "many", "1001"):
        with pytest.raises(BadProfile, match="images_keep_last must be between 0 and 1,000"):
            parse_profile("own", f"images_keep_last: {wrong}")


def screenshot(call_id: str, *, count: int = 1) -> dict[str, Any]:
    files = [
        message_pb2.File(url=f"https://shots.example/{call_id}-{n}.png", media_type="image/png") for n in range(count)
    ]
    answered = message_pb2.ToolResult(tool_call_id=call_id, content_json='"готово"', files=files)
    return {"role": "tool", "parts": [message_pb2.Part(tool_result=answered)]}


async def worked(
    caller: Caller, steps: int, *, limit: int, pictures: int = 1, **fields: Any
) -> tuple[windows_pb.Window, list[windows_pb.PackResponse]]:
    """Let an agent make screenshots, and return the packs after each."""
    context_id = await said(caller, "", {"content": "Закажи билет."})
    window = await opened(caller, context_id, limit, format=FORMATS[Format.ANTHROPIC], **fields)
    packs = []
    for n in range(steps):
        await said(caller, context_id, calls(f"c{n}"), screenshot(f"c{n}", count=pictures))
        packs.append(await packed(caller, window, without_recall=True))
    return window, packs


def _images(pack: windows_pb.PackResponse) -> list[str]:
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if value.get("type") == "image":
                found.append(value["source"]["url"])
            value = list(value.values())
        for item in value if isinstance(value, list) else ():
            walk(item)

    walk(orjson.loads(pack.messages_json))
    return found


async def test_of_150_screenshots_the_newest_are_pictures_and_the_others_have_refs_that_expand(caller: Caller):
    window, packs = await worked(caller, 150, limit=900_000, model="claude-haiku-4-5")
    assert all(len(_images(pack)) <= 100 for pack in packs)
    assert packs[-1].epoch == 1, "the vendor's limit of 100 folds once"
    images = _images(packs[-1])
    assert images[-10:] == [f"https://shots.example/c{n}-0.png" for n in range(140, 150)]
    assert "[image/png, m9/1/1]" in packs[-1].messages_json
    for before, pack in itertools.pairwise(packs):
        if pack.epoch == before.epoch:
            assert pack.messages_json.encode().startswith(before.messages_json.encode()[: before.prefix_bytes])
    assert (await caller.call("Expand", window_id=window.window_id, ref="m9/1")).content == '"готово"'.encode()
    picture = await caller.call("Expand", window_id=window.window_id, ref="m9/1/1")
    assert picture.content == b"https://shots.example/c3-0.png"


async def test_a_fold_keeps_as_many_pictures_as_the_profile_says(caller: Caller):
    await caller.call("PutProfile", name="of-pictures", text="extends: general\nimages_keep_last: 4")
    _, packs = await worked(
        caller, 40, limit=60_000, pictures=2, model="claude-haiku-4-5", compression_profile="of-pictures"
    )
    assert packs[-1].epoch > 1
    assert all(pack.tokens <= 60_000 for pack in packs)
    folded = [pack for before, pack in itertools.pairwise(packs) if pack.epoch > before.epoch]
    assert folded
    assert all(len(_images(pack)) <= 4 for pack in folded)
    assert all("готово" in pack.messages_json for pack in folded)


async def test_packs_with_stored_pictures_begin_with_the_one_before_from_any_replica(
    caller: Caller, other_replica: Caller
):
    """Also right after a fold, which another replica may have made."""
    context_id = await said(caller, "", {"content": "Закажи билет."})
    window = await opened(caller, context_id, 9_000, format=FORMATS[Format.ANTHROPIC], model="claude-haiku-4-5")
    replicas, before, folds = [caller, other_replica], await packed(caller, window, without_recall=True), 0
    for number in range(24):
        file = message_pb2.File(data=png(800, 600, color=number), name=f"{number}.png")
        answered = message_pb2.ToolResult(tool_call_id=f"c{number}", content_json='"готово"', files=[file])
        shown = {"role": "tool", "parts": [message_pb2.Part(tool_result=answered)]}
        await said(caller, context_id, calls(f"c{number}"), shown)
        replicas.reverse()
        references = chat_history_pb2.FILE_DELIVERY_REFERENCES
        first, second = [await packed(replica, window, without_recall=True, files=references) for replica in replicas]
        assert first == second
        if first.epoch == before.epoch:
            assert first.messages_json.encode().startswith(before.messages_json.encode()[: before.prefix_bytes])
        folds += first.epoch - before.epoch
        before = first
    assert folds and before.files
