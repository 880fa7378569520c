"""Where the service may connect to because a caller said so: public addresses, and those that its operator lists.

A name is looked up once, all that it stands for is checked, and what was checked is what is connected to: who answers
another address to the second question has not been asked one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from contextkeep.errors import AddressRefused

_log = logging.getLogger("destinations")

_Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

# 10.0.0.0/8, 127.0.0.1:8080, [fd00::/8]:443, ::1
_ENTRY = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?|([0-9a-fA-F:./]+)")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """An address that was checked."""

    address: str
    is_listed: bool  # by the operator: it may be one of his own network


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    network: _Network
    port: int | None  # None: any


class Destinations:
    """What may be connected to.

    Args:
        allowed: Addresses and networks that are no public ones, and still may be, each with a port or without; as of
            `check_entries`.
        resolve: Looks up what a name stands for.
    """

    def __init__(self, allowed: Sequence[str], *, resolve: Resolve | None = None) -> None:
        self._entries = [_entry(one) for one in allowed]
        self._resolve = resolve or _resolved

    async def checked(self, host: str, port: int) -> Destination:
        """Return the address to connect to for a host.

        Raises:
            AddressRefused: one that it stands for may not be connected to.
            OSError: it stands for none.
        """
        addresses = await self._resolve(host, port)
        if not addresses:
            raise OSError("the name stands for no address")
        try:
            checked = [self.check(one, port) for one in addresses]  # all of them, or none is trusted
        except AddressRefused as error:
            if literal_of(host):
                raise
            # Callers learn nothing of the network: what a name stands for in it is for the log.
            _log.warning("address refused", extra={"host": host, "port": port, "error": error.message})
            raise AddressRefused(
                "nothing is sent to the address of its name: it is not a public one, and not in MCP_SERVERS_ALLOWED"
            ) from None
        return checked[0]

    def check(self, address: str, port: int) -> Destination:
        """Return an address, if it may be connected to.

        Raises:
            AddressRefused: it may not.
        """
        ip = ipaddress.ip_address(address.partition("%")[0])
        meant = _meant(ip)
        for entry in self._entries:
            if entry.port in (None, port) and any(
                one.version == entry.network.version and one in entry.network for one in {ip, meant[-1]}
            ):
                return Destination(address=str(ip), is_listed=True)
        for one in meant:
            if not one.is_global or one.is_multicast or one.is_reserved or one.is_unspecified:
                raise AddressRefused(
                    f"nothing is sent to the address {ip}: it is no public one, and not in MCP_SERVERS_ALLOWED"
                )
        return Destination(address=str(ip), is_listed=False)


def check_entries(allowed: Sequence[str]) -> None:
    """Check what an operator lists.

    Raises:
        ValueError: one is neither an address nor a network.
    """
    for one in allowed:
        _entry(one)


def literal_of(host: str) -> str:
    """Return the address that a host is written as; empty: it is a name."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return ""


def _entry(text: str) -> _Entry:
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
            f"{text!r} is neither an address nor a network, with a port or without:"
            " 10.0.0.0/8, 127.0.0.1:8080, [fd00::/8]:443"
        ) from None


def _meant(ip: _Ip) -> list[_Ip]:
    """Return an address, and those of version 4 that it stands for."""
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


async def _resolved(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))
