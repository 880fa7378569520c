"""Vectors on this machine: a model from a Python package, run by child processes, off the event loop.

The model is all-MiniLM-L6-v2 in 8 bits: 384 dimensions, English. Of a text, the first 256 tokens count. A child process
starts when it is first needed, takes one thread and at most `MEMORY_BYTES_MAX`, and gets a few texts at a time. So a
question waits for a few of the texts that are embedded in the background, not for all, and background work takes half a
core while calls are under way. A child that does not answer is
killed, and the next text starts another. When the parent dies, the child reads the end of its input, and ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import struct
import sys
import time
from array import array
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

import orjson

from context_service.kernel.embedding import Embedding
from context_service.kernel.llm.embeddings import Embedder, EmbedderFailed, EmbedderMisconfigured
from context_service.settings import Settings, missing_local_packages
from contextkeep.errors import FailedPrecondition
from service_runtime.imports.extras import install

_log = logging.getLogger("embedder")

MODEL = "all-MiniLM-L6-v2-int8"
DIMENSION = 384
UNRELATED = 0.2  # a similarity below this means nothing: unrelated texts have about 0.05

# The most texts of one request to a child, and their bytes unless one text alone has more: 30 to 100 ms of CPU.
SLICE, SLICE_BYTES = 16, 1024
START_S = 60.0  # timeout for loading the model, which takes about two seconds
MEMORY_BYTES_MAX = 2 * 2**30  # limit for the address space of a child process
MODEL_BYTES = 280 * 2**20  # memory of a child process

_PROGRAM = ("-I", "-m", "context_service.kernel.llm.local_child")
_LENGTH = struct.Struct("!I")
_ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}


class LocalEmbedder(Embedder):
    """The embedder that runs the model of the package in child processes.

    Args:
        processes: The number of child processes that may run at the same time.
        timeout_s: Seconds that a child may take for a few texts.
    """

    model = MODEL
    unrelated = UNRELATED

    def __init__(self, *, processes: int, timeout_s: float) -> None:
        super().__init__()
        self._processes = processes
        self._timeout_s = timeout_s
        self._places = asyncio.Semaphore(processes)  # its waiters have their turns in order
        self._idle: list[_Child] = []
        self._under_way: set[asyncio.Task[list[Embedding]]] = set()
        self.paused_s = 0.0  # how long background work has given way to calls

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of texts, in their order.

        Raises:
            EmbedderFailed: a child broke, or takes too long.
            EmbedderMisconfigured: the package is missing, or has another model.
        """
        return await self._embed(texts, gives_way=False)

    async def embed_in_background(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of texts that no call waits for; raises as `embed`.

        While calls are under way, all children together take half a core: each pauses after its slices.
        """
        return await self._embed(texts, gives_way=True)

    async def _embed(self, texts: Sequence[str], *, gives_way: bool) -> list[Embedding]:
        """Return the vectors of texts; raises as `embed`."""
        slices = _slices(texts)
        vectors: dict[int, Embedding] = {}

        async def work(slices: Iterator[Mapping[int, str]]) -> None:
            for slice_ in slices:
                began = time.monotonic()
                vectors.update(zip(slice_, await self._slice(list(slice_.values())), strict=True))
                if gives_way and self.calls_wait():
                    pause_s = (2 * self._processes - 1) * (time.monotonic() - began)
                    self.paused_s += pause_s
                    await asyncio.sleep(pause_s)

        # One place for each child process: later calls wait for their turn.
        results = await asyncio.gather(*(work(slices) for _ in range(self._processes)), return_exceptions=True)
        for error in results:
            if error is not None:
                raise error
        return [vectors[place] for place in range(len(texts))]

    async def close(self) -> None:
        """End the children."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        for child in self._idle:
            await child.end()

    async def _slice(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of a few texts. If the call is cancelled, the child finishes them and stays usable."""
        task = asyncio.create_task(self._vectors_of(texts))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        task.add_done_callback(_retrieve)
        return await asyncio.shield(task)

    async def _vectors_of(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of texts from an idle child process, or a new one; kill it if it fails or is late."""
        async with self._places:
            child = self._idle.pop() if self._idle else await _Child.started()
            try:
                async with asyncio.timeout(self._timeout_s):
                    vectors = await child.vectors(texts)
            except BaseException as error:
                await child.end()
                if isinstance(error, TimeoutError):
                    raise EmbedderFailed(f"the local model did not answer within {self._timeout_s:g} s") from None
                raise
            self._idle.append(child)
        return [Embedding(values=values, model=MODEL) for values in vectors]


class _Child:
    """A child process that has loaded the model."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def started(cls) -> _Child:
        """Start a child process, and wait until it is ready.

        Raises:
            EmbedderFailed, EmbedderMisconfigured: it cannot load the model.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *_PROGRAM,
            str(MEMORY_BYTES_MAX),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=_ENVIRONMENT,
            start_new_session=True,  # Ctrl-C is for us
        )
        child = cls(process)
        try:
            async with asyncio.timeout(START_S):
                greeting = orjson.loads(await child._read())
        except BaseException as error:
            await child.end()
            if isinstance(error, TimeoutError):
                raise EmbedderFailed(f"the local model did not load within {START_S:g} s") from None
            raise
        if problem := greeting["problem"]:
            await child.end()
            raise EmbedderMisconfigured(f"the local model cannot be used: {problem}")
        _log.info("local model loaded", extra={"model": MODEL, "pid": process.pid})
        return child

    async def vectors(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return the vectors of texts.

        Raises:
            EmbedderFailed: the child process failed.
        """
        assert self._process.stdin is not None
        body = orjson.dumps([text.encode(errors="replace").decode() for text in texts])
        try:
            self._process.stdin.write(_LENGTH.pack(len(body)) + body)
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise EmbedderFailed("the process of the local model ended") from error
        numbers = array("f", await self._read())
        if len(numbers) != DIMENSION * len(texts):
            raise EmbedderFailed(
                f"the process of the local model answered {len(numbers)} numbers instead of {DIMENSION * len(texts)}"
            )
        return [tuple(numbers[start : start + DIMENSION]) for start in range(0, len(numbers), DIMENSION)]

    async def end(self) -> None:
        """Kill the child process."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await asyncio.shield(self._process.wait())

    async def _read(self) -> bytes:
        """Read one answer of the child process: its length, then its bytes.

        Raises:
            EmbedderFailed: the process has ended.
        """
        assert self._process.stdout is not None
        try:
            (length,) = _LENGTH.unpack(await self._process.stdout.readexactly(_LENGTH.size))
            return await self._process.stdout.readexactly(length)
        except asyncio.IncompleteReadError as error:
            raise EmbedderFailed("the process of the local model ended") from error


@asynccontextmanager
async def open_local(settings: Settings) -> AsyncIterator[LocalEmbedder]:
    """Open the local embedder; child processes start when texts come.

    Raises:
        FailedPrecondition: its packages are not installed.
    """
    if missing := missing_local_packages():
        needed = install("local-embedding")
        raise FailedPrecondition(f"EMBEDDING_PROVIDER=local needs the package {missing[0]}: {needed}")
    embedder = LocalEmbedder(processes=settings.embedding_local_processes, timeout_s=settings.embedding_timeout_s)
    try:
        yield embedder
    finally:
        await embedder.close()


def _slices(texts: Sequence[str]) -> Iterator[dict[int, str]]:
    """Yield the texts of each request to a child, by their places: texts of like lengths, which run together."""
    slice_: dict[int, str] = {}
    size_bytes = 0
    sizes = [len(text.encode(errors="replace")) for text in texts]
    for place in sorted(range(len(texts)), key=sizes.__getitem__):
        if slice_ and (len(slice_) == SLICE or size_bytes + sizes[place] > SLICE_BYTES):
            yield slice_
            slice_, size_bytes = {}, 0
        slice_[place] = texts[place]
        size_bytes += sizes[place]
    if slice_:
        yield slice_


def _retrieve(task: asyncio.Task[list[Embedding]]) -> None:
    """Ignore a failure if no caller waits for it any more."""
    if not task.cancelled():
        task.exception()
