"""`restore_files_share`: after a fold packs show the files that were edited last again, whole and quoted."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from context_service.folding.pure.restored_files import FileSearch
from context_service.kernel.rendering import Format
from contextkeep.context.v1 import message_pb2
from tests.context_service.contexts.callers import Caller
from tests.context_service.windows.calling import FORMATS, opened, packed, result, said
from tests.context_service.windows.messages import answered, called, message
from tests.context_service.windows.packing.test_users_words import reads, seen

MODULE = "\n".join(f"def tarif_{n}(menge: int) -> int:\n    return menge * {n * 7}" for n in range(30))


def step(call_id: str, tool: str, arguments: dict[str, Any], answer: str) -> list[dict[str, Any]]:
    call = message_pb2.ToolCall(id=call_id, name=tool, arguments_json=orjson.dumps(arguments).decode())
    return [{"role": "assistant", "parts": [message_pb2.Part(tool_call=call)]}, result(call_id, answer)]


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


@pytest.mark.parametrize("to", FORMATS)
async def test_the_files_that_were_edited_last_are_shown_again_after_folds(to: Format, caller: Caller):
    context_id = await said(caller, "", {"content": "Setze die Tarife um."})
    window = await opened(caller, context_id, 16_000, format=FORMATS[to], config={"restore_files_share": 0.15})
    await said(
        caller,
        context_id,
        *step("w1", "write_file", {"path": "tarife.py", "content": MODULE}, "ok"),
        *step("e1", "edit_file", {"path": "README.md", "old_string": "a", "new_string": "b"}, "ok"),
        *step("r1", "read_file", {"path": "README.md"}, "# Tarife\nb"),
        *step("e2", "edit_file", {"path": "README.md", "old_string": "b", "new_string": "c"}, "ok"),
    )
    for start in range(0, 60, 10):
        await said(caller, context_id, *reads(range(start, start + 10)))
        pack = await packed(caller, window, without_recall=True)
        assert pack.tokens <= window.token_limit
    text = seen(pack)
    assert f"[tarife.py, as of m2/1]\ntool write_file:\n{quoted(MODULE)}" in text
    assert "[README.md, as of m7/1; edited in parts since: m8/1]\ntool read_file:\n> # Tarife\n> b" in text
    spans = {(span.author, span.trust) for span in pack.spans if span.author in ("tool write_file", "tool read_file")}
    assert ("tool write_file", "tool") in spans
    assert pack.tokens_by_zone.state > 0

    await said(caller, context_id, *step("w2", "write_file", {"path": "tarife.py", "content": "# leer"}, "ok"))
    await said(caller, context_id, *reads(range(60, 90)))
    text = seen(await packed(caller, window, without_recall=True))
    assert "def tarif_7" not in text
    assert "tool write_file:\n> # leer" in text

    plain = await opened(caller, context_id, 16_000)
    assert "as of m" not in seen(await packed(caller, plain, without_recall=True))


async def test_a_file_that_has_no_room_is_left_out(caller: Caller):
    context_id = await said(caller, "", {"content": "Setze die Tarife um."})
    await said(caller, context_id, *step("w1", "write_file", {"path": "tarife.py", "content": MODULE}, "ok"))
    window = await opened(caller, context_id, 12_000, config={"restore_files_share": 0.01})
    await said(caller, context_id, *reads(range(60)))
    assert "def tarif_7" not in seen(await packed(caller, window, without_recall=True))


@pytest.mark.parametrize(
    ("tool", "arguments", "answer", "is_error", "content"),
    [
        ("Write", {"file_path": "a.py", "content": "x = 1"}, "ok", False, "x = 1"),
        ("str_replace_based_edit_tool", {"command": "create", "path": "a.py", "file_text": "y"}, "ok", False, "y"),
        ("Read", {"file_path": "a.py"}, "z = 3", False, "z = 3"),
        ("Read", {"file_path": "a.py", "offset": 10}, "z = 3", False, None),
        ("grep_files", {"path": "a.py"}, "z = 3", False, None),
        ("Edit", {"file_path": "a.py", "old_string": "a", "content": "b"}, "ok", False, None),
        ("Write", {"file_path": "a.py", "content": "x = 1"}, "disk full", True, None),
        ("Write", {"file_path": "b.py", "content": "x = 1"}, "ok", False, None),
    ],
)
def test_only_a_whole_content_counts(
    tool: str, arguments: dict[str, Any], answer: str, is_error: bool, content: str | None
):
    log = [
        message("user", "go", seq=1),
        called(tool, arguments, call_id="c", seq=2),
        answered(answer, call_id="c", is_error=is_error, seq=3),
    ]
    search = FileSearch({"a.py"})
    search.look(reversed(log))
    assert [found.text for found in search.contents] == ([] if content is None else [content])
