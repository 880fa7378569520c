# Generated from aio/client.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The base of the clients: retries, deadlines, views, raw calls."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, Generic, Self, TypeVar, overload

from contextkeep.client import _base as base
from contextkeep.client import _sync_io as io
from contextkeep.client._body_files import FileCache
from contextkeep.client._tracing import ClientSpan
from contextkeep.client._unsendable import refusing
from contextkeep.errors import Unavailable
from contextkeep.retries import Attempts, RetryBudget

_T = TypeVar("_T")
_N = TypeVar("_N", bound="Noun")


class Client:
    """The base of the clients: one channel, a credential, deadlines and retries."""

    def __init__(self, connection: io.Connection, options: base.CallOptions) -> None:
        self._connection = connection
        self._options = options
        self._metadata = options.metadata
        self._budget = RetryBudget()
        self._file_cache = FileCache()

    def with_credential(self, credential: str) -> Self:
        """Return a view of this client that calls with another key or token.

        Use it in a service that acts for its callers. The view shares the channel: it costs next to nothing, and
        closing one closes both. With an empty credential the view sends no key.
        """
        view = copy.copy(self)
        view._options = dataclasses.replace(self._options, credential=credential)
        view._metadata = view._options.metadata
        return view

    def channel(self) -> Any:
        """Return the open channel, for other stubs of the service, such as health. It closes with the client."""
        return self._connection.channel()

    def call(self, rpc: str, request: Any, *, timeout_s: float | None = None, may_repeat: bool = True) -> Any:
        """Return the answer of a unary RPC: generated messages in and out.

        Args:
            rpc: The name of the RPC in the proto, such as "GetNode".
            request: The request message.
            timeout_s: Deadline of the call with its retries in seconds. None means the client's.
            may_repeat: Whether the request may be sent twice, because it is a read or has a request id.

        Raises:
            ContextKeepError: the call failed; the class is that of the error's reason.
        """
        attempts = self._attempts(self._options.timeout_s if timeout_s is None else timeout_s, may_repeat=may_repeat)

        def attempt() -> Any:
            with ClientSpan(rpc, self._metadata) as span:
                return self._connection.unary(rpc, request, timeout_s=attempts.remaining_s(), metadata=span.metadata)

        return self._repeated(attempts, attempt)

    def stream(
        self, rpc: str, request: Any, *, timeout_s: float | None = None, may_repeat: bool = True
    ) -> Generator[Any, None, None]:
        """Yield the answers of a server-streaming RPC: generated messages in and out.

        The call is retried only until the first answer has arrived.

        Args:
            rpc: The name of the RPC in the proto, such as "Traverse".
            request: The request message.
            timeout_s: Deadline of the whole stream. By default there is none, but `idle_timeout_s` limits each silence.
            may_repeat: Whether the request may be sent twice.

        Raises:
            ContextKeepError: the call failed; the class is that of the error's reason.
        """
        attempts = self._attempts(timeout_s, may_repeat=may_repeat)
        while True:
            begun = False
            answers = self._streamed(rpc, request, attempts)
            try:
                with closing(answers):
                    for answer in answers:
                        begun = True
                        yield answer
            except Unavailable as error:
                delay_s = attempts.delay_s(error)
                if begun or delay_s is None:
                    raise
            else:
                attempts.succeeded()
                return
            io.sleep(delay_s)

    def close(self) -> None:
        """Close the channel. Calls under way end with `Cancelled`."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._connection.address)!r})"  # never the key

    def _attempts(self, timeout_s: float | None, *, may_repeat: bool = True) -> Attempts:
        return Attempts(self._budget, retries=self._options.retries if may_repeat else 0, timeout_s=timeout_s)

    def _streamed(self, rpc: str, request: Any, attempts: Attempts) -> Generator[Any, None, None]:
        """Yield the answers of one attempt, and report its outcome to `attempts` once."""
        with ClientSpan(rpc, self._metadata) as span:
            answers = self._connection.stream(
                rpc,
                request,
                timeout_s=attempts.remaining_s(),
                idle_timeout_s=self._options.idle_timeout_s,
                metadata=span.metadata,
            )
            with closing(answers):
                yield from answers

    def _repeated(self, attempts: Attempts, attempt: Callable[[], _T]) -> _T:
        """Return the result of `attempt`; repeat it as long as `attempts` allows it."""
        while True:
            try:
                result = attempt()
            except Unavailable as error:
                delay_s = attempts.delay_s(error)
                if delay_s is None:
                    raise
            else:
                attempts.succeeded()
                return result
            io.sleep(delay_s)


class Noun:
    """The calls about one kind of thing, such as `client.windows`; made with the credential of the client or view."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(cls, name, refusing(method))

    def __init__(self, client: Client) -> None:
        self._connection = client._connection
        self._options = client._options
        self._metadata = client._metadata
        self._call = client.call
        self._stream = client.stream
        self._attempts = client._attempts
        self._repeated = client._repeated
        self._streamed = client._streamed
        self._file_cache = client._file_cache


class NounOf(Generic[_N]):
    """The attribute of a client that holds a noun; on the class of the client, it is the class of the noun."""

    def __init__(self, noun: type[_N]) -> None:
        self._noun = noun

    @overload
    def __get__(self, client: None, owner: type[Client]) -> type[_N]: ...

    @overload
    def __get__(self, client: Client, owner: type[Client]) -> _N: ...

    def __get__(self, client: Client | None, owner: type[Client]) -> _N | type[_N]:
        return self._noun if client is None else self._noun(client)
