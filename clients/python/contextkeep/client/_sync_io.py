"""Everything of the sync client that waits: the channel, streams, files. `_aio_io` is its twin, kept by hand.

A stream has no total deadline. It fails when nothing moves for `idle_timeout_s`; the time that the caller takes with
a message, or a source with the next bytes, does not count. All of it may be shared by threads.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import grpc

from contextkeep.address import Address
from contextkeep.client._base import Metadata, channel_credentials, channel_options, error_from, silence
from contextkeep.client._channels import Channels
from contextkeep.client._files import KeptFile, OpenFile, PartFile, size_of
from contextkeep.client._transfer import CHUNK_BYTES, UploadInput
from contextkeep.errors import ContextKeepError, InvalidArgument

_T = TypeVar("_T")

# Sources of uploads. A text is a path.
UploadSource = bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO | Iterable[bytes]

sleep = time.sleep


def each(call: Callable[[_T], None], items: Sequence[_T]) -> None:
    """Call a function for each item."""
    for item in items:
        call(item)


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
        self.closed = False

    def unary(self, rpc: str, request: Any, *, timeout_s: float | None, metadata: Metadata) -> Any:
        """Return the answer of one call."""
        try:
            with self._method(rpc) as method:
                return method(request, timeout=timeout_s, metadata=metadata)
        except grpc.RpcError as error:
            raise self._error(error) from error

    def stream(
        self, rpc: str, request: Any, *, timeout_s: float | None, idle_timeout_s: float, metadata: Metadata
    ) -> Generator[Any, None, None]:
        """Yield the answers of one call; leaving early cancels it."""
        with self._method(rpc) as method:
            call = method(request, timeout=timeout_s, metadata=metadata)
            watch = _Watch(call, idle_timeout_s)
            try:
                while True:
                    with watch.waiting():
                        message = next(call, None)
                    if message is None:
                        return
                    yield message
            except grpc.RpcError as error:
                if watch.fired:
                    raise self._silence(idle_timeout_s) from None
                raise self._error(error) from error
            finally:
                watch.stop()
                call.cancel()

    def upload(self, rpc: str, messages: Iterator[Any], *, idle_timeout_s: float, metadata: Metadata) -> Any:
        """Send messages and return the one answer, which may come before all are sent.

        The source is read in this thread; grpc sends from one of its own.
        """
        with self._method(rpc) as method:
            outbox = _Outbox()
            call = method.future(outbox, metadata=metadata)
            call.add_done_callback(lambda _: outbox.close())
            try:
                for message in messages:
                    if not outbox.put(message, timeout_s=idle_timeout_s):
                        break  # it was answered meanwhile
                outbox.finish(timeout_s=idle_timeout_s)
                return call.result(timeout=idle_timeout_s)
            except (_Stalled, grpc.FutureTimeoutError):
                raise self._silence(idle_timeout_s) from None
            except grpc.RpcError as error:
                raise self._error(error) from error
            finally:
                call.cancel()  # before the outbox closes: its end must not look like the end of the file
                outbox.close()

    def close(self) -> None:
        """Close the channels; calls under way end with `Cancelled`."""
        self.closed = True
        for channel in self._channels.close():
            channel.close()

    def channel(self) -> Any:
        """Return the first channel, open."""
        return self._channels.first()

    def _method(self, rpc: str) -> AbstractContextManager[Any]:
        return self._channels.method(rpc)

    def _open(self, first: bool) -> Any:
        """Open a channel to the address. Channels after the first disconnect soon after their last call."""
        options = channel_options(self.address, first=first)
        if self.address.tls:
            credentials = channel_credentials(self._root_certificates, self._client_certificate)
            return grpc.secure_channel(self.address.target, credentials, options)
        return grpc.insecure_channel(self.address.target, options)

    def _error(self, raised: grpc.RpcError) -> ContextKeepError:
        return error_from(raised, service=self._service, address=self.address, closed=self.closed)

    def _silence(self, idle_timeout_s: float) -> ContextKeepError:
        return silence(service=self._service, address=self.address, idle_timeout_s=idle_timeout_s)


class _Watch:
    """Cancels a call that is waited for longer than `idle_timeout_s`: grpc's sync streams cannot time a single read.

    A thread per stream, because threads are what a blocked one can be helped by.
    """

    def __init__(self, call: Any, idle_timeout_s: float) -> None:
        self.fired = False
        self._call = call
        self._idle_timeout_s = idle_timeout_s
        self._waiting_since: float | None = None
        self._stopped = False
        self._condition = threading.Condition()
        threading.Thread(target=self._run, name="contextkeep-watch", daemon=True).start()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Time the block."""
        with self._condition:
            self._waiting_since = time.monotonic()
        try:
            yield
        finally:
            with self._condition:
                self._waiting_since = None

    def stop(self) -> None:
        """End the thread."""
        with self._condition:
            self._stopped = True
            self._condition.notify()

    def _run(self) -> None:
        """Cancel the call if the caller waits longer than the idle timeout for its next answer."""
        with self._condition:
            while not self._stopped:
                since = self._waiting_since
                left_s = self._idle_timeout_s - (0.0 if since is None else time.monotonic() - since)
                if left_s <= 0:
                    self.fired = True
                    break
                self._condition.wait(left_s)
        if self.fired:
            self._call.cancel()


class _Stalled(Exception):
    """Nobody took a message in time."""


class _Outbox:
    """Hands messages from the caller's thread to grpc's, one at a time; grpc takes one when it has sent the last."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._message: Any = None
        self._finished = False
        self.closed = False

    def put(self, message: Any, *, timeout_s: float) -> bool:
        """Wait until the last message was taken, and leave this one; False if the call is over.

        Raises:
            _Stalled: nothing was taken for `timeout_s`.
        """
        with self._condition:
            self._wait_until_taken(timeout_s)
            if self.closed:
                return False
            self._message = message
            self._condition.notify_all()
            return True

    def finish(self, *, timeout_s: float) -> None:
        """Wait until the last message was taken, and say that it was the last.

        Raises:
            _Stalled: it was not taken for `timeout_s`.
        """
        with self._condition:
            self._wait_until_taken(timeout_s)
            self._finished = True
            self._condition.notify_all()

    def close(self) -> None:
        """Let both sides go on: the call is over."""
        with self._condition:
            self.closed = True
            self._condition.notify_all()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        with self._condition:
            self._condition.wait_for(lambda: self._message is not None or self._finished or self.closed)
            if self._message is None or self.closed:
                raise StopIteration
            message, self._message = self._message, None
            self._condition.notify_all()
            return message

    def _wait_until_taken(self, timeout_s: float) -> None:
        if not self._condition.wait_for(lambda: self._message is None or self.closed, timeout_s):
            raise _Stalled


def source_of(source: UploadSource) -> UploadInput:
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
        size_bytes = size_of(path)
        return UploadInput(
            name=path.name, size_bytes=size_bytes, replayable=size_bytes is not None, open=lambda: _path_pieces(path)
        )
    if hasattr(source, "read"):
        file = OpenFile(source)
        return UploadInput(
            name=file.name, size_bytes=file.size(), replayable=file.seekable, open=lambda: _file_pieces(file)
        )
    if isinstance(source, Iterable):
        return UploadInput(name="", size_bytes=None, replayable=False, open=lambda: _pieces(source))
    raise InvalidArgument(
        f"a {type(source).__name__} cannot be uploaded; give bytes, a path, a binary file or an iterator of bytes",
        field="source",
    )


class Target:
    """A file that a download writes. It gets its name at `commit`; otherwise it is removed at the end of the block."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = PartFile(path)

    def __enter__(self) -> Target:
        self._file.open()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._file.discard()

    def write(self, chunk: bytes) -> None:
        """Append bytes."""
        self._file.write(chunk)

    def commit(self) -> None:
        """Give the file its name."""
        self._file.commit()


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

    def __enter__(self) -> KeptTarget:
        self._file.open()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._file.close()

    def write(self, chunk: bytes, resume_token: str) -> None:
        """Append bytes; a token makes all bytes that were written so far valid."""
        self._file.write(chunk, resume_token)

    def back(self) -> None:
        """Remove everything after the last token."""
        self._file.back()

    def commit(self) -> None:
        """Give the file its name."""
        self._file.commit()


def _once(view: memoryview) -> Generator[memoryview, None, None]:
    yield view


def _pieces(source: Iterable[bytes]) -> Generator[bytes, None, None]:
    yield from source


def _path_pieces(path: Path) -> Generator[bytes, None, None]:
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            yield piece


def _file_pieces(file: OpenFile) -> Generator[bytes, None, None]:
    file.rewind()
    while piece := file.read():
        yield piece
