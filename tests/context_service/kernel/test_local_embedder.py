"""The local model: the right one, in processes of its own, which are replaced when they are stuck."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import psutil
import pytest

from context_service import app
from context_service import settings as settings_module
from context_service.kernel.llm import local as local_module
from context_service.kernel.llm.embeddings import EmbedderFailed, EmbedderMisconfigured
from context_service.kernel.llm.local import DIMENSION, MODEL, LocalEmbedder, _slices, open_local
from context_service.kernel.llm.providers import model_of
from context_service.settings import Settings
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message_pb
from contextkeep.errors import FailedPrecondition
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import Urls
from tests.context_service.contexts.callers import KEYS, Caller


@pytest.fixture
async def embedder() -> AsyncIterator[LocalEmbedder]:
    made = LocalEmbedder(processes=1, timeout_s=60)
    yield made
    await made.close()


def dot(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def children() -> set[int]:
    """Return the processes of the model that run below this one."""
    return {one.pid for one in psutil.Process().children() if any("local_child" in word for word in one.cmdline())}


async def test_texts_that_mean_the_same_are_near(embedder: LocalEmbedder):
    texts = ["My tooth hurts.", "I have a pain in my jaw.", "The train leaves at noon.", ""]
    made = await embedder.embed(texts)

    assert {one.model for one in made} == {MODEL}
    assert all(len(one.values) == DIMENSION and math.hypot(*one.values) == pytest.approx(1) for one in made)
    hurts, pain, train, _ = (one.values for one in made)
    assert dot(hurts, pain) > dot(hurts, train) + 0.2
    again = await embedder.embed([texts[2]])
    assert again[0].values == pytest.approx(made[2].values, abs=1e-5), "in whatever company"


async def test_a_text_has_its_own_vector_beside_any_other_texts(embedder: LocalEmbedder):
    """Short texts run together, padded and in the order of their lengths."""
    texts = [f"{'word ' * (place * 7 % 23)}of {place} 中é" for place in range(40)]
    together = await embedder.embed(texts)
    for place, text in list(enumerate(texts))[::5]:
        (alone,) = await embedder.embed([text])
        assert together[place].values == pytest.approx(alone.values, abs=1e-5)


async def test_in_the_background_it_takes_half_a_core_while_calls_are_under_way(embedder: LocalEmbedder):
    """Questions are not slowed: a call waits for them."""
    texts = ["Some words, " * 80] * 6
    calls = 1
    embedder.calls_wait = lambda: calls > 0
    await embedder.embed(["load it"])
    pauses = embedder.paused_s
    await embedder.embed(texts)
    assert embedder.paused_s == pauses
    began = time.perf_counter()
    await embedder.embed_in_background(texts)
    took_s = time.perf_counter() - began
    assert embedder.paused_s - pauses == pytest.approx(took_s / 2, rel=0.3)
    calls, pauses = 0, embedder.paused_s
    await embedder.embed_in_background(texts)
    assert embedder.paused_s == pauses


def test_short_texts_go_to_a_child_together_and_long_ones_alone():
    """So a question waits for about as much work, whatever is embedded in the background."""
    texts = ["a short text", "l" * 1000, *["another"] * 20, "l" * 3000]
    slices = list(_slices(texts))
    assert sorted(place for slice_ in slices for place in slice_) == list(range(len(texts)))
    assert all(texts[place] == text for slice_ in slices for place, text in slice_.items())
    assert [len(slice_) for slice_ in slices] == [16, 5, 1, 1]


async def test_any_text_has_a_vector(embedder: LocalEmbedder):
    texts = ["\0 \ud800", "ü" * 8000, "x" * 8000, "中文 " * 4000, "\U0001f600\u200d" * 100]
    assert len(await embedder.embed(texts)) == len(texts)


async def test_a_child_starts_when_it_is_needed_and_ends_with_us():
    before = children()
    async with open_local(Settings(embedding_provider="local", _env_file=None)) as embedder:
        assert children() == before
        await embedder.embed(["one"])
        (child,) = children() - before
        await embedder.embed(["two"])
        assert children() - before == {child}
    assert children() == before


async def test_one_that_is_stuck_is_replaced(embedder: LocalEmbedder):
    before = children()
    await embedder.embed(["one"])
    (stuck,) = children() - before
    os.kill(stuck, signal.SIGSTOP)
    embedder._timeout_s = 0.2
    with pytest.raises(EmbedderFailed, match="within"):
        await embedder.embed(["two"])
    embedder._timeout_s = 60
    assert len(await embedder.embed(["three"])) == 1
    assert stuck not in children()


async def test_one_that_dies_is_replaced(embedder: LocalEmbedder):
    before = children()
    await embedder.embed(["one"])
    (dying,) = children() - before
    os.kill(dying, signal.SIGKILL)
    with pytest.raises(EmbedderFailed):
        await embedder.embed(["two"])
    assert len(await embedder.embed(["three"])) == 1


async def test_who_goes_away_leaves_it_to_the_next(embedder: LocalEmbedder):
    before = children()
    await embedder.embed(["one"])
    going = asyncio.create_task(embedder.embed(["going away " * 200] * 2))
    await asyncio.sleep(0.02)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    (one,) = await embedder.embed(["My tooth hurts."])
    (fresh,) = await embedder.embed(["My tooth hurts."])
    assert one == fresh, "no answer is taken for another's"
    assert len(children() - before) == 1


async def test_a_question_waits_for_a_few_texts_and_not_for_all(embedder: LocalEmbedder):
    await embedder.embed(["load it"])
    many = asyncio.create_task(embedder.embed(["A text of some words, for the background."] * 200))
    await asyncio.sleep(0.05)
    await embedder.embed(["a question"])
    assert not many.done()
    assert len(await many) == 200


@pytest.mark.parametrize("name", ["_MODEL", "_TOKENIZER"])
def test_another_file_is_refused(tmp_path: Path, name: str):
    """The first answer of a child says so, and it ends."""
    program = (
        "import sys; from context_service.kernel.llm import local_child as child;"
        f"child.{name} = (child.{name}[0], '0' * 64); sys.argv = ['x', str(2**31)]; child.main()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, stdin=subprocess.DEVNULL, check=True)
    assert b"does not have the expected sha256" in ended.stdout


async def test_what_a_child_cannot_load_is_said(monkeypatch: pytest.MonkeyPatch, embedder: LocalEmbedder):
    monkeypatch.setattr(local_module, "MEMORY_BYTES_MAX", 200 * 2**20)
    with pytest.raises((EmbedderMisconfigured, EmbedderFailed)):
        await embedder.embed(["one"])
    monkeypatch.undo()
    assert len(await embedder.embed(["two"])) == 1


async def test_check_config_asks_it(urls: Urls):
    settings = Settings(embedding_provider="local", database_url=urls.service, _env_file=None)
    await app.probes(settings)["the local model for vectors"]()
    assert "the local model for vectors" not in app.probes(Settings(database_url=urls.service, _env_file=None))


async def test_without_its_packages_the_service_does_not_start(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings_module, "LOCAL_MODEL_PACKAGES", ("no_such_package",))
    with pytest.raises(FailedPrecondition, match="local-embedding"):
        async with open_local(Settings(embedding_provider="local", _env_file=None)):
            pass


@pytest.mark.parametrize(("packages", "expected"), [(["json"], "local"), (["json", "no_such_package"], "none")])
def test_auto_is_the_local_model_where_its_packages_are(
    packages: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(settings_module, "LOCAL_MODEL_PACKAGES", packages)
    assert Settings(embedding_provider="auto", _env_file=None).embedder == expected


def test_the_provider_is_that_of_the_settings():
    def provider(**said: str) -> tuple[str, str]:
        settings = Settings(_env_file=None, **said)  # type: ignore[arg-type]
        return settings.embedder, model_of(settings)

    url = "http://127.0.0.1:1/v1"
    assert provider() == ("none", "")
    assert provider(embedding_url=url, embedding_model="m") == ("openai", "m")
    assert provider(embedding_url=url, embedding_provider="none") == ("none", "")
    assert provider(embedding_url=url, embedding_provider="auto", embedding_model="m") == ("openai", "m")
    assert provider(embedding_url=url, embedding_provider="local") == ("local", MODEL)
    with pytest.raises(ValueError, match="needs EMBEDDING_URL"):
        provider(embedding_provider="openai")


async def test_a_service_recalls_by_it(urls: Urls, tmp_path: Path):
    """A question that has no word of its answer."""
    async with (
        running(
            urls.service, tmp_path, callers=ApiKeys(KEYS), embedding_provider="local", embedding_interval_s=0.05
        ) as addresses,
        grpc.aio.insecure_channel(addresses.context) as channel,
    ):
        caller = Caller(channel)
        talk = [message_pb.MessageInput(content=f"The weather is {n} degrees.") for n in range(30)]
        said = message_pb.MessageInput(content="My tooth hurts since Monday.")
        context_id = (await caller.append("", *talk, said, *talk)).context_id
        assert (await caller.call("WaitForIndex", context_id=context_id)).is_complete
        recalled = (await caller.call("Recall", context_id=context_id, text="a pain in the jaw?")).recalled
        beside = await caller.call("Recall", context_id=context_id, text="quarterly revenue of the subsidiary?")
    assert recalled.by_meaning == beside.recalled.by_meaning == pb.ByMeaning(is_compared=True)
    assert list(beside.recalled.items) == [], "what is nearest may be far"
    assert recalled.items[0].text == "My tooth hurts since Monday."
