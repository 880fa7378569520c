"""Parts of windows that a package takes the place of; what it does not do, or does wrong, ours does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest

from context_service.kernel import extensions
from context_service.kernel.extensions import Awaited, ExtensionInvalid, Guarded, Unusable, check_installed
from context_service.kernel.rendering import Format
from context_service.kernel.tokens import TokenCounter
from context_service.packing.rules import plugins
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.errors import PackVetoed
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.context_service.contexts.callers import Caller, opened
from tests.context_service.windows import calling
from tests.context_service.windows.calling import FORMATS, packed, said
from tests.context_service.windows.folding.test_folding import step
from tests.context_service.windows.folding.test_writing import SHORT
from tests.fakes import window_extensions as package

LATE_AFTER_S = 0.2
GEMINI: dict[str, Any] = {"model": "gemini-2.5-pro", "format": FORMATS[Format.GEMINI]}


@pytest.fixture(scope="module")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A service in whose environment the package is."""
    with pytest.MonkeyPatch.context() as patch, package.installed(tmp_path_factory.mktemp("packages")):
        for name in ("_SCORER_S", "_EXTRACTOR_S", "_VALIDATOR_S", "_MIDDLEWARE_S"):
            patch.setattr(plugins, name, LATE_AFTER_S)
        patch.setattr(extensions, "PAUSE_S", 0.0)
        async with opened(postgres, tmp_path_factory.mktemp("blobs"), llm_timeout_s=LATE_AFTER_S) as made:
            yield made


@pytest.fixture
def caller(stack: Any) -> Iterator[Caller]:
    package.doing = package.WORKS
    package.called.clear()
    yield stack.caller
    package.doing = package.WORKS


async def worked(caller: Caller, *first: dict[str, Any], steps: int = 26) -> str:
    return await said(caller, "", *first, *chain.from_iterable(step(n, SHORT) for n in range(steps)))


async def state(caller: Caller, window: pb.Window) -> list[str]:
    return [one.text for one in (await caller.call("GetState", window_id=window.window_id)).entries if one.ref]


async def test_each_part_is_replaced_by_what_is_installed(caller: Caller):
    """Of each: what only the package does is there."""
    first = {"content": "REGEL: kein Port 80.\nNever touch the vendor folder. Mind the zebra."}
    context_id = await worked(caller, first)
    config = {"low_mark": 0.3}
    window = await calling.opened(caller, context_id, 16_000, config=config, compression_profile="striped")
    pack = await packed(caller, window, without_recall=True)
    assert pack.annotations == {"steps": str(pack.step_count)}
    entries = await state(caller, window)
    assert "REGEL: kein Port 80." in entries and "Never touch the vendor folder." not in entries
    receipt = (await caller.call("PrepareFold", window_id=window.window_id)).receipt
    assert {(one.method, one.verdict) for one in receipt.summaries} == {("model", "accepted")}
    await caller.call("CommitFold", window_id=window.window_id)
    pack = await packed(caller, window, without_recall=True)
    assert "By the package." in pack.messages_json
    profiles = (await caller.call("ListProfiles", with_text=True)).profiles
    assert any(one.name == "striped" and one.is_built_in and "zebra" in one.text for one in profiles)

    other = await calling.opened(caller, context_id, 16_000, **GEMINI)
    rendered = await packed(caller, other, without_recall=True)
    assert "<REGEL: kein Port 80." in rendered.messages_json
    assert TokenCounter("gemini").count("one two three") == 3
    assert package.called.keys() >= {"state_extractor", "summarizer", "summarization_validator", "context_middleware"}


@pytest.mark.parametrize("wrong", [package.RAISES, package.IS_LATE, package.IS_NONSENSE])
async def test_what_raises_is_late_or_answers_nonsense_is_passed_over(caller: Caller, wrong: str):
    """The window is that of ours: rules read its state, lines are chosen by weights, and packs are answered."""
    package.doing = wrong
    context_id = await worked(caller, {"content": "Never touch the vendor folder. REGEL: kein Port 80."})
    window = await calling.opened(caller, context_id, 16_000, config={"low_mark": 0.3})
    pack = await packed(caller, window, without_recall=True)
    assert pack.annotations == {}
    assert "Never touch the vendor folder." in await state(caller, window)
    receipt = (await caller.call("PrepareFold", window_id=window.window_id)).receipt
    assert {one.method for one in receipt.summaries} == {"extractive"}
    assert all(one.verdict.startswith("model: ") for one in receipt.summaries)
    await caller.call("CommitFold", window_id=window.window_id)
    assert "hunter2" not in (await packed(caller, window, without_recall=True)).messages_json
    assert TokenCounter("gemini").count("one two three") in (3, 4)
    gemini = await calling.opened(
        caller, context_id, 16_000, model="gemini-2.5-pro", format=FORMATS[package.Format.GEMINI]
    )
    assert "Never touch" in (await packed(caller, gemini, without_recall=True)).messages_json


async def test_a_validator_refuses_what_passed_every_check_of_ours(caller: Caller):
    zebra = {"role": "assistant", "content": "We decided to count every zebra because nobody else does."}
    window = await calling.opened(caller, await worked(caller, zebra), 16_000, config={"low_mark": 0.3})
    receipt = (await caller.call("PrepareFold", window_id=window.window_id)).receipt
    assert ("extractive", "validator: it has no stripes") in {(one.method, one.verdict) for one in receipt.summaries}


async def test_a_scorer_chooses_which_lines_a_fold_keeps(caller: Caller):
    lines = [
        {"role": "assistant", "content": f"We decided on plan {n} of {n} because of the costs."} for n in range(60)
    ]
    lines[7] = {"role": "assistant", "content": "We decided to count every zebra because of the costs."}
    window = await calling.opened(caller, await worked(caller, *lines), 10_000)
    assert "count every zebra" in (await packed(caller, window, without_recall=True)).messages_json
    assert package.called["importance_scorer"]


async def test_middleware_vetoes_annotates_and_adds_behind_the_last_step_once(caller: Caller):
    context_id = await said(caller, "", {"content": "Is there a gap?"})
    window = await calling.opened(caller, context_id)
    pack = await packed(caller, window)
    assert pack.messages_json.count("Mind the gap.") == 1 and pack.annotations == {"steps": "1"}
    assert await packed(caller, window) == pack
    await said(caller, context_id, {"role": "assistant", "content": "No."})
    more = await packed(caller, window)
    assert more.messages_json.encode()[: pack.prefix_bytes] == pack.messages_json.encode()[: pack.prefix_bytes]
    await said(caller, context_id, {"content": "The password is hunter2."})
    with pytest.raises(PackVetoed, match="no secrets"):
        await packed(caller, window)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"importance_scorers": "builtins:dict"}, "is unknown: use one of"),
        ({"token_counter": "builtins:dict"}, "is unknown: use one of"),
        ({"token_counter.claude": "no_such_module:x"}, "cannot be made"),
        ({"token_counter.claude": "builtins:dict"}, "must return a function"),
    ],
)
def test_what_cannot_be_is_an_error_when_the_service_starts(more: dict[str, str], why: str, tmp_path: Path):
    with package.installed(tmp_path, **more), pytest.raises(ExtensionInvalid, match=why):
        check_installed()


async def test_one_that_fails_again_and_again_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(extensions, "PAUSE_S", 60.0)
    calls = count()

    def fails() -> None:
        next(calls)
        raise SystemExit

    async def fails_later() -> None:
        fails_later.calls = getattr(fails_later, "calls", 0) + 1
        raise RuntimeError

    awaited, coroutine = Awaited("x", fails, call_s=1.0), Awaited("y", fails_later, call_s=1.0)
    guarded = Guarded("z", lambda: 1 / 0, call_s=1.0)
    for _ in range(5):
        with pytest.raises(Unusable):
            await awaited(str)
        with pytest.raises(Unusable):
            await coroutine(str)
        with pytest.raises(Unusable):
            guarded(str)
    assert next(calls) == fails_later.calls == 3
