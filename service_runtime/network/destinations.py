"""Addresses that the service may connect to for a caller: public ones, and those that its operator lists.

A name is resolved once, all its addresses are checked, and the connection goes to a checked address. So a DNS server
that would give another answer the second time (DNS rebinding) is not asked a second time.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import socket
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from contextkeep.errors import AddressRefused
from service_runtime.rpc.calls import current_call

_log = logging.getLogger("destinations")

_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

# 10.0.0.0/8, 127.0.0.1:8080, [fd00::/8]:443, ::1
_ENTRY = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?|([0-9a-fA-F:./]+)")
# Threads for lookups, in all and of one tenant. A lookup ends only when the system's resolver gives up. While at least
# half of the threads are busy, a tenant gets one thread at most. So 160 tenants must look names up at the same time
# before another tenant has to wait.
_LOOKUPS_MAX, _LOOKUPS_OF_TENANT_MAX = 256, 4
_LOOKUP_S = 5.0  # seconds that a caller waits at most, for a thread and for the name
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """An address that was checked."""

    address: str
    is_listed: bool  # the operator lists it, so it may be a private address


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    network: _Network
    port: int | None  # None allows any port


class Destinations:
    """Decides which addresses may be connected to.

    Args:
        allowed: Addresses and networks that are allowed though they are not public, each with a port or without; see
            `check_entries`.
        resolve: Looks a host name up, and returns its addresses.
    """

    def __init__(self, allowed: Sequence[str], *, resolve: Resolve | None = None) -> None:
        self._entries = [_entry(text) for text in allowed]
        self._resolve = resolve or _Lookups().resolved

    async def checked(self, host: str, port: int) -> Destination:
        """Return the address to connect to for a host.

        Raises:
            AddressRefused: the service may not connect to one of the host's addresses.
            OSError: the host has no address.
        """
        addresses = await self._resolve(host, port)
        if not addresses:
            raise OSError("the host name has no address")
        try:
            checked = [self.check(address, port) for address in addresses]  # all of them, or none is trusted
        except AddressRefused as error:
            if literal_of(host):
                raise
            # Callers learn nothing of the network: only the log has the address of the name.
            _log.warning("address refused", extra={"host": host, "port": port, "error": error.message})
            raise AddressRefused(
                "its host name has an address that is neither public nor in MCP_SERVERS_ALLOWED"
            ) from None
        return checked[0]

    def check(self, address: str, port: int) -> Destination:
        """Return an address if the service may connect to it.

        Raises:
            AddressRefused: the address may not be called.
        """
        ip = ipaddress.ip_address(address.partition("%")[0])
        meant = _with_embedded(ip)
        for entry in self._entries:
            if entry.port in (None, port) and any(
                ip_form.version == entry.network.version and ip_form in entry.network for ip_form in {ip, meant[-1]}
            ):
                return Destination(address=str(ip), is_listed=True)
        for ip_form in meant:
            if not ip_form.is_global or ip_form.is_multicast or ip_form.is_reserved or ip_form.is_unspecified:
                raise AddressRefused(f"the address {ip} is neither public nor in MCP_SERVERS_ALLOWED")
        return Destination(address=str(ip), is_listed=False)


def check_entries(allowed: Sequence[str]) -> None:
    """Check the list of an operator.

    Raises:
        ValueError: an entry is neither an address nor a network.
    """
    for text in allowed:
        _entry(text)


def literal_of(host: str) -> str:
    """Return the address if a host is written as one; return an empty text for a name."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return ""


def _entry(text: str) -> _Entry:
    """Return an entry of the operator's list.

    Raises:
        ValueError: it is neither an address nor a network.
    """
    match = _ENTRY.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        port = int(match[3]) if match[3] else None
        if port is not None and not 0 < port < 2**16:
            raise ValueError
        return _Entry(network=ipaddress.ip_network(match[1] or match[2] or match[4]), port=port)
    except ValueError:
        raise ValueError(
            f"{text!r} must be an address or a network, with or without a port:"
            " 10.0.0.0/8, 127.0.0.1:8080, [fd00::/8]:443"
        ) from None


def _with_embedded(ip: _Ip) -> list[_Ip]:
    """Return an address, and the IPv4 addresses that are embedded in it."""
    meant: list[_Ip] = [ip]
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            return [ip.ipv4_mapped]
        if ip.sixtofour:
            meant.append(ip.sixtofour)
        if ip.teredo:
            meant += ip.teredo
        if ip in _NAT64:
            return [ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)]
    return meant


class _Lookups:
    """Looks up names in threads of its own: a DNS server may be slow, and a lookup cannot be ended early.

    The loop's own threads, where other calls work, stay free. A caller waits `_LOOKUP_S` at most; the thread counts
    as its tenant's until the lookup ends.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_LOOKUPS_MAX, thread_name_prefix="lookups")
        self._under_way: Counter[str] = Counter()  # lookups under way, by tenant
        self._waiting: deque[tuple[str, asyncio.Future[None]]] = deque()

    async def resolved(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host name, each once.

        Raises:
            OSError: the name has no address, or was not resolved within `_LOOKUP_S`.
        """
        call = current_call.get()
        tenant_id = str(call.principal.tenant_id) if call and call.principal else ""
        try:
            async with asyncio.timeout(_LOOKUP_S):
                addresses = await self._looked_up(host, port, tenant_id)
        except TimeoutError:
            raise OSError(f"the host name was not resolved within {_LOOKUP_S:.0f} s") from None
        return list(dict.fromkeys(str(info[4][0]) for info in addresses))

    async def _looked_up(self, host: str, port: int, tenant_id: str) -> list[Any]:
        """Look up the addresses of a host in a thread. A tenant may use only some of the threads."""
        await self._take_thread(tenant_id)
        looking_up = asyncio.get_running_loop().run_in_executor(
            self._threads, partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        )
        looking_up.add_done_callback(lambda _: self._release(tenant_id))
        # Shielded, because a call that gives up leaves a thread that still looks up the name.
        return await asyncio.shield(looking_up)

    async def _take_thread(self, tenant_id: str) -> None:
        """Wait until a tenant may use one more thread for a lookup; a caller that leaves gives the thread back."""
        if self._has_thread(tenant_id):
            self._under_way[tenant_id] += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((tenant_id, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it has just got a thread
                self._release(tenant_id)
            raise

    def _has_thread(self, tenant_id: str) -> bool:
        """Say whether a tenant may use one more thread now."""
        count = self._under_way.total()
        of_tenant_max = _LOOKUPS_OF_TENANT_MAX if 2 * count < _LOOKUPS_MAX else 1
        return count < _LOOKUPS_MAX and self._under_way[tenant_id] < of_tenant_max

    def _release(self, tenant_id: str) -> None:
        """Give back a thread of a tenant, and let waiting lookups have it, in their order."""
        self._under_way[tenant_id] -= 1
        if not self._under_way[tenant_id]:
            del self._under_way[tenant_id]
        for _ in range(len(self._waiting)):
            waiting_id, turn = self._waiting.popleft()
            if turn.done():  # its caller has left
                continue
            if self._has_thread(waiting_id):
                self._under_way[waiting_id] += 1
                turn.set_result(None)
            else:
                self._waiting.append((waiting_id, turn))
