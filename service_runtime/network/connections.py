"""A connection to another service, made again when the certificates that it shows or trusts are renewed.

grpc does not renew a client's certificate on a channel. So later calls go over a new channel, and the old one is closed
after its last call.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar

from service_runtime.background_work import background
from service_runtime.network.tls import ClientCertificates, Following

RENEW_INTERVAL_S = 1.0


class Closable(Protocol):
    """A channel, or a client that has one."""

    async def close(self) -> None:
        """Close the channel; calls under way end."""
        ...


C = TypeVar("C", bound=Closable)


class Connection(Generic[C]):
    """Lends the client of a connection; made by `connected`."""

    def __init__(self, certificates: Following[ClientCertificates], connect: Callable[[ClientCertificates], C]) -> None:
        self._certificates = certificates
        self._connect = connect
        self._newest = _Lent(certificates.made, connect)
        self._open = [self._newest]

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[C]:
        """Lend the newest client for the block, during which it stays open."""
        lent = self._newest
        lent.borrowers += 1
        try:
            yield lent.connected
        finally:
            lent.borrowers -= 1
            await self._close_if_done(lent)

    async def renew(self) -> None:
        """Connect with renewed certificates, if there are some."""
        self._certificates.renewed()
        if self._certificates.made is not self._newest.certificates:
            older, self._newest = self._newest, _Lent(self._certificates.made, self._connect)
            self._open.append(self._newest)
            await self._close_if_done(older)

    async def keep_renewed(self) -> None:
        """Look for renewed certificates again and again, until cancelled."""
        while True:
            await asyncio.sleep(RENEW_INTERVAL_S)
            await self.renew()

    async def close(self) -> None:
        """Close all that is open, in use or not."""
        while self._open:
            await self._open.pop().connected.close()

    async def _close_if_done(self, lent: _Lent[C]) -> None:
        if lent is not self._newest and not lent.borrowers and lent in self._open:
            self._open.remove(lent)
            await lent.connected.close()


class _Lent(Generic[C]):
    def __init__(self, certificates: ClientCertificates, connect: Callable[[ClientCertificates], C]) -> None:
        self.certificates = certificates
        self.connected = connect(certificates)
        self.borrowers = 0


@asynccontextmanager
async def connected(
    certificates: Following[ClientCertificates], connect: Callable[[ClientCertificates], C]
) -> AsyncIterator[Connection[C]]:
    """Connect for the block, and connect again whenever the certificates are renewed.

    Args:
        certificates: The certificates to show and to trust. Without files they stay the same.
        connect: Makes a channel, or a client; does not wait.
    """
    connection = Connection(certificates, connect)
    try:
        async with background.keeping(connection.keep_renewed):
            yield connection
    finally:
        await connection.close()
