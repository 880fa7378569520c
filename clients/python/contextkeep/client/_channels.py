"""The channels of a client to one service: as many as its open calls need.

A server takes a limited number of calls on one connection (RFC 9113, 5.1.2). gRPC queues every further call, without
telling its caller, until another one ends: a client with that many watches open could not call at all. So a client
opens another channel, with a connection of its own, when all its channels have as many calls as a connection takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# What our services take on one connection, and what others (Envoy, HAProxy) take by default, too.
CALLS_OF_CHANNEL_MAX = 100


class Channels:
    """Lends the methods of a service; threads may share it.

    Args:
        connect: Opens a channel, without waiting. Its argument says whether this is the first one.
        stub_classes: The generated stub classes of the service.
    """

    def __init__(self, connect: Callable[[bool], Any], stub_classes: Sequence[Any]) -> None:
        self._connect = connect
        self._stub_classes = stub_classes
        self._lock = threading.Lock()
        self._opened: list[_Channel] = []
        self._closed = False

    def close(self) -> list[Any]:
        """Open and lend nothing from now on; return the channels that the caller must close."""
        with self._lock:
            self._closed = True
            return [item.channel for item in self._opened]

    def first(self) -> Any:
        """Return the first channel, open.

        Raises:
            RuntimeError: the channels are closed.
        """
        with self._lock:
            self._check_open()
            return (self._opened[0] if self._opened else self._open()).channel

    @contextmanager
    def method(self, rpc: str) -> Iterator[Any]:
        """Lend the callable of an RPC, on a channel that has room for it, until the call has ended.

        Raises:
            AttributeError: the service has no such RPC.
            RuntimeError: the channels are closed.
        """
        with self._lock:
            self._check_open()
            channel = next((item for item in self._opened if item.calls < CALLS_OF_CHANNEL_MAX), None) or self._open()
            channel.calls += 1
        try:
            yield channel.method(rpc)
        finally:
            with self._lock:
                channel.calls -= 1

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the client is closed")

    def _open(self) -> _Channel:
        channel = self._connect(not self._opened)
        self._opened.append(_Channel(channel, [stub_class(channel) for stub_class in self._stub_classes]))
        return self._opened[-1]


class _Channel:
    """A channel, and how many calls are open on it."""

    def __init__(self, channel: Any, stubs: Sequence[Any]) -> None:
        self.channel = channel
        self.calls = 0
        self._stubs = stubs

    def method(self, rpc: str) -> Any:
        """Return the method that calls an RPC over this channel.

        Raises:
            AttributeError: no service has this RPC.
        """
        for stub in self._stubs:
            if hasattr(stub, rpc):
                return getattr(stub, rpc)
        raise AttributeError(f"the service has no RPC {rpc}")
