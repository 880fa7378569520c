"""Everything of the async client that waits: the channel, streams, files. `_sync_io` is its twin, kept by hand.

A stream has no total deadline. It fails when nothing moves for `idle_timeout_s`; the time that the caller takes with
a message, or a source with the next bytes, does not count.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import grpc

from contextkeep.address import Address
from contextkeep.client._base import Metadata, channel_credentials, channel_options, error_from, silence
from contextkeep.client._channels import Channels
from contextkeep.client._files import KeptFile, OpenFile, PartFile, size_of
from contextkeep.client._transfer import CHUNK_BYTES, UploadInput
from contextkeep.errors import Cancelled, ContextKeepError, InvalidArgument

_T = TypeVar("_T")

# Sources of uploads. A text is a path. A synchronous iterator runs in the event loop: it must not block.
UploadSource = (
    bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO | AsyncIterable[bytes] | Iterable[bytes]
)

_CALLS_AT_ONCE = 4

sleep = asyncio.sleep


async def each(call: Callable[[_T], Coroutine[Any, Any, None]], items: Sequence[_T]) -> None:
    """Call a function for each item, a few at a time. The first error stops the rest."""
    limit = asyncio.Semaphore(_CALLS_AT_ONCE)

    async def limited(item: _T) -> None:
        async with limit:
            await call(item)

    try:
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(limited(item))
    except ExceptionGroup as several:
        raise several.exceptions[0] from None


class Connection:
    """The channels to one service. The first call opens the first one.

    Args:
        address: The address of the service.
        service: Names it in errors.
        stubs: The generated stub classes of its proto services.
        root_certificates: PEM, instead of grpc's own, for TLS.
        client_certificate: Chain and private key, PEM, for mutual TLS.
    """

    def __init__(
        self,
        address: Address,
        *,
        service: str,
        stubs: Sequence[Any],
        root_certificates: bytes | None,
        client_certificate: tuple[bytes, bytes] | None,
    ) -> None:
        self.address = address
        self._service = service
        self._root_certificates = root_certificates
        self._client_certificate = client_certificate
        self._channels = Channels(self._open, stubs)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closed = False

    async def unary(self, rpc: str, request: Any, *, timeout_s: float | None, metadata: Metadata) -> Any:
        """Return the answer of one call."""
        try:
            with self._method(rpc) as method:
                return await method(request, timeout=timeout_s, metadata=metadata)
        except grpc.RpcError as error:
            raise self._error(error) from error
        except asyncio.CancelledError:
            self._check_cancelled()
            raise

    async def stream(
        self, rpc: str, request: Any, *, timeout_s: float | None, idle_timeout_s: float, metadata: Metadata
    ) -> AsyncGenerator[Any, None]:
        """Yield the answers of one call; leaving early cancels it."""
        with self._method(rpc) as method:
            call = method(request, timeout=timeout_s, metadata=metadata)
            try:
                while True:
                    async with asyncio.timeout(idle_timeout_s):
                        message = await call.read()
                    if message is grpc.aio.EOF:
                        return
                    yield message
            except TimeoutError:
                raise self._silence(idle_timeout_s) from None
            except grpc.RpcError as error:
                raise self._error(error) from error
            except asyncio.CancelledError:
                self._check_cancelled()
                raise
            finally:
                call.cancel()

    async def upload(self, rpc: str, messages: AsyncIterator[Any], *, idle_timeout_s: float, metadata: Metadata) -> Any:
        """Send messages and return the one answer, which may come before all are sent."""
        with self._method(rpc) as method:
            call = method(metadata=metadata)
            first_status = _FirstStatus(call)
            try:
                async for message in messages:
                    if call.done():
                        break
                    async with asyncio.timeout(idle_timeout_s):
                        try:
                            await call.write(message)
                        except (asyncio.InvalidStateError, grpc.RpcError):
                            break  # it is over; awaiting it says how
                async with asyncio.timeout(idle_timeout_s):
                    with suppress(grpc.aio.InternalError):  # the connection broke just now; awaiting the call says how
                        await call.done_writing()
                    return await call
            except TimeoutError:
                raise self._silence(idle_timeout_s) from None
            except grpc.RpcError as error:
                first_error = first_status.instead_of(error)
                raise self._error(first_error) from first_error
            except asyncio.CancelledError:
                self._check_cancelled()
                raise
            finally:
                call.cancel()

    async def close(self) -> None:
        """Close the channels; calls under way end with `Cancelled`."""
        self.closed = True
        for channel in self._channels.close():
            await channel.close()

    def channel(self) -> Any:
        """Return the first channel, open."""
        self._check_loop()
        return self._channels.first()

    def _method(self, rpc: str) -> AbstractContextManager[Any]:
        self._check_loop()
        return self._channels.method(rpc)

    def _check_loop(self) -> None:
        """Bind the client to the running event loop.

        Raises:
            RuntimeError: the client belongs to another event loop.
        """
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError("the client belongs to another event loop: open one in each")

    def _open(self, first: bool) -> Any:
        """Open a channel to the address. Channels after the first disconnect soon after their last call."""
        options = channel_options(self.address, first=first)
        if self.address.tls:
            credentials = channel_credentials(self._root_certificates, self._client_certificate)
            return grpc.aio.secure_channel(self.address.target, credentials, options)
        return grpc.aio.insecure_channel(self.address.target, options)

    def _error(self, raised: grpc.RpcError) -> ContextKeepError:
        return error_from(raised, service=self._service, address=self.address, closed=self.closed)

    def _silence(self, idle_timeout_s: float) -> ContextKeepError:
        return silence(service=self._service, address=self.address, idle_timeout_s=idle_timeout_s)

    def _check_cancelled(self) -> None:
        """Tell the end of the channel from the end of the task: grpc raises CancelledError for both."""
        task = asyncio.current_task()
        if self.closed and task is not None and not task.cancelling():
            raise Cancelled("the client was closed while the call was under way") from None


class _FirstStatus:
    """Keeps the status that the server gave a call.

    A write that fails because the call is over makes grpc.aio put an INTERNAL of its own over the status that it
    already has (github.com/grpc/grpc/issues/36066).
    """

    def __init__(self, call: Any) -> None:
        self._error: grpc.RpcError | None = None
        call.add_done_callback(self._keep)

    def instead_of(self, error: grpc.RpcError) -> grpc.RpcError:
        """Return the kept status if `error` is one that grpc put over it."""
        if self._error is not None and error.code() is grpc.StatusCode.INTERNAL:
            return self._error
        return error

    def _keep(self, call: Any) -> None:
        code, details, trailing = map(_result, (call.code(), call.details(), call.trailing_metadata()))
        if code not in (None, grpc.StatusCode.OK, grpc.StatusCode.INTERNAL):
            self._error = grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details=details)


def _result(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine returns that has nothing to wait for; None if it has."""
    try:
        coroutine.send(None)
    except StopIteration as stopped:
        return stopped.value
    coroutine.close()
    return None


async def source_of(source: UploadSource) -> UploadInput:
    """Return the source of an upload.

    Raises:
        InvalidArgument: the source is of a kind that cannot be read.
        OSError: the path cannot be read.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        view = memoryview(source).cast("B")
        return UploadInput(name="", size_bytes=len(view), replayable=True, open=lambda: _once(view))
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        size_bytes = await _in_thread(size_of, path)
        return UploadInput(
            name=path.name, size_bytes=size_bytes, replayable=size_bytes is not None, open=lambda: _path_pieces(path)
        )
    if hasattr(source, "read"):
        file = OpenFile(source)
        size_bytes = await _in_thread(file.size)
        return UploadInput(
            name=file.name, size_bytes=size_bytes, replayable=file.seekable, open=lambda: _file_pieces(file)
        )
    if isinstance(source, AsyncIterable | Iterable):
        iterable: AsyncIterable[bytes] | Iterable[bytes] = source  # type: ignore[assignment] # a file has `read`
        return UploadInput(name="", size_bytes=None, replayable=False, open=lambda: _pieces(iterable))
    raise InvalidArgument(
        f"a {type(source).__name__} cannot be uploaded; give bytes, a path, a binary file or an iterator of bytes",
        field="source",
    )


class Target:
    """A file that a download writes. It gets its name at `commit`; otherwise it is removed at the end of the block."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = PartFile(path)

    async def __aenter__(self) -> Target:
        await _in_thread(self._file.open)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await _in_thread(self._file.discard)

    async def write(self, chunk: bytes) -> None:
        """Append bytes."""
        await _in_thread(self._file.write, chunk)

    async def commit(self) -> None:
        """Give the file its name."""
        await _in_thread(self._file.commit)


class KeptTarget:
    """A file that is written in several runs, and gets its name at `commit`; see `KeptFile`."""

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        self._file = KeptFile(path, what)

    @property
    def size_bytes(self) -> int:
        """Return the number of written bytes."""
        return self._file.size_bytes

    @property
    def resume_token(self) -> str:
        """Return the token to continue after the written part; empty if nothing is written."""
        return self._file.resume_token

    async def __aenter__(self) -> KeptTarget:
        await _in_thread(self._file.open)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await _in_thread(self._file.close)

    async def write(self, chunk: bytes, resume_token: str) -> None:
        """Append bytes; a token makes all bytes that were written so far valid."""
        await _in_thread(self._file.write, chunk, resume_token)

    async def back(self) -> None:
        """Remove everything after the last token."""
        await _in_thread(self._file.back)

    async def commit(self) -> None:
        """Give the file its name."""
        await _in_thread(self._file.commit)


async def _once(view: memoryview) -> AsyncGenerator[memoryview, None]:
    yield view


async def _pieces(source: AsyncIterable[bytes] | Iterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of an upload, whose source may be asynchronous or not."""
    if isinstance(source, AsyncIterable):
        async for piece in source:
            yield piece
    else:
        for piece in source:
            yield piece


async def _path_pieces(path: Path) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of a file. A thread reads them, so that the event loop does not wait for the disk."""
    file = await _in_thread(lambda: path.open("rb"))
    try:
        while piece := await _in_thread(file.read, CHUNK_BYTES):
            yield piece
    finally:
        await _in_thread(file.close)


async def _file_pieces(file: OpenFile) -> AsyncGenerator[bytes, None]:
    await _in_thread(file.rewind)
    while piece := await _in_thread(file.read):
        yield piece


async def _in_thread(function: Callable[..., _T], *args: Any) -> _T:
    """Return what a blocking function returns; when cancelled, wait for it first.

    So that no file is closed under a read or write that still runs.
    """
    running = asyncio.ensure_future(asyncio.to_thread(function, *args))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):  # cancelled again: the answer is the same
                await asyncio.wait([running])
        # No caller awaits it any more: read its error, so that it is not logged
        running.cancelled() or running.exception()
        raise
