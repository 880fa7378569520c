"""Turns of calls without a valid credential: health checks, missing keys and wrong keys.

They share one budget of the process, so a flood of them leaves most of a core to calls that have a key. A call takes
units of the budget; where none is left it waits. Addresses take turns, and of each address its connections: the probe
of an orchestrator waits for at most one call of each other address, and the probe of a proxy, whose address all callers
have, for one call of each connection. A caller that waits keeps one of its connection's streams, which slows it down.

The time that gRPC's core spends on a call before a service sees it is not in the budget.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter, OrderedDict
from weakref import WeakKeyDictionary

# A unit is a refused call or a health check: 0.25 to 0.5 ms of CPU, most of it gRPC's. So 400 are 10 to 20 % of a core.
UNITS_PER_S = 400.0
UNITS_AT_ONCE = 40.0  # units that calls may take at once after a pause
WAITING_MAX = 2000  # calls that may wait, of 16 KB each
_LOOK_S = 0.01  # seconds between two looks at the queue
_IPV6_NETWORK_BITS = 64  # one subscriber has all addresses of such a network

_Connections = OrderedDict[str, dict[asyncio.Future[bool], float]]  # the next one first; of calls, their units


class Unproven:
    """The queue of calls without a valid credential.

    Args:
        units_per_s: Units that calls may take each second.
        waiting_max: Calls that wait; past it, the address with the most loses one, of its connection with the most.
    """

    def __init__(self, *, units_per_s: float, waiting_max: int) -> None:
        self._units_per_s = units_per_s
        self._waiting_max = waiting_max
        self._left = UNITS_AT_ONCE
        self._looked_at = time.monotonic()
        self._of_address: OrderedDict[str, _Connections] = OrderedDict()  # the next address first
        self._counts: Counter[str] = Counter()  # number of calls that wait, by address
        self._timer: asyncio.TimerHandle | None = None
        self.waiting = 0

    async def take(self, peer: str, *, units: float = 1) -> bool:
        """Wait until the budget has units for a call, and take them.

        Args:
            peer: The caller, as gRPC names it: "ipv4:127.0.0.1:50000".
            units: The units that the call costs.

        Returns:
            True if the units were taken. False if too many calls wait: the call must end at once, with as little work
            as possible.
        """
        self._refill()
        if not self.waiting and self._left >= 1:
            self._left -= units
            return True
        address = address_of(peer)
        if self.waiting >= self._waiting_max and not self._make_room(address, peer):
            return False
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._of_address.setdefault(address, OrderedDict()).setdefault(peer, {})[turn] = units
        self._counts[address] += 1
        self.waiting += 1
        self._look_later()
        try:
            return await turn
        finally:
            self._remove(address, peer, turn)  # the caller may have left

    def _make_room(self, address: str, peer: str) -> bool:
        """End the wait of a call of the address with the most; return False if that is the asking connection itself."""
        own = self._counts[address]
        if own * len(self._of_address) < self._waiting_max:  # fewer than the mean: another address has more
            address = max(self._of_address, key=lambda other: self._counts[other])
        else:
            connections = self._of_address[address]
            if len(connections.get(peer, ())) * len(connections) >= own:
                return False
        connections = self._of_address[address]
        peer = max(connections, key=lambda other: len(connections[other]))
        turn = next(reversed(connections[peer]))
        self._remove(address, peer, turn)
        _tell(turn, has_units=False)
        return True

    def _remove(self, address: str, peer: str, turn: asyncio.Future[bool]) -> float:
        """Take a call out of the queue, and return its units, or 0 if it is not in the queue."""
        connections = self._of_address.get(address)
        turns = connections.get(peer) if connections else None
        if connections is None or turns is None or turn not in turns:
            return 0
        units = turns.pop(turn)
        self._counts[address] -= 1
        self.waiting -= 1
        if not turns:
            del connections[peer]
        if not connections:
            del self._of_address[address], self._counts[address]
        return units

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        """Give turns for the time that the budget has gained, address by address."""
        self._timer = None
        self._refill()
        while self._of_address and self._left >= 1:
            address, connections = next(iter(self._of_address.items()))
            peer, turns = next(iter(connections.items()))
            turn = next(iter(turns))
            self._of_address.move_to_end(address)
            connections.move_to_end(peer)
            units = self._remove(address, peer, turn)
            if _tell(turn, has_units=True):
                self._left -= units
        if self._of_address:
            self._look_later()

    def _refill(self) -> None:
        """Add the units that became available since the last call."""
        now = time.monotonic()
        passed_s = max(0.0, now - self._looked_at)  # a clock that is set back must not close the service
        self._left = min(UNITS_AT_ONCE, self._left + passed_s * self._units_per_s)
        self._looked_at = now


def _tell(turn: asyncio.Future[bool], *, has_units: bool) -> bool:
    """Answer a call that waits; return False if its caller has left."""
    if turn.done():
        return False
    turn.set_result(has_units)
    return True


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Unproven] = WeakKeyDictionary()


def unproven() -> Unproven:
    """Return the queue of this event loop: one for all servers of a process."""
    loop = asyncio.get_running_loop()
    queue = _of_loops.get(loop)
    if queue is None:
        queue = _of_loops[loop] = Unproven(units_per_s=UNITS_PER_S, waiting_max=WAITING_MAX)
    return queue


def address_of(peer: str) -> str:
    """Return the address that the connections of one caller share: of IPv4, or the first 64 bits of IPv6.

    Args:
        peer: As gRPC names it: "ipv4:127.0.0.1:50000", "ipv6:[::1]:50000" or "ipv6:%5B::1%5D:50000".
    """
    kind, _, place = peer.partition(":")
    host = place.rpartition(":")[0].replace("%5B", "").replace("%5D", "").strip("[]")
    if kind != "ipv6":
        return host
    try:
        network = int(ipaddress.IPv6Address(host.partition("%")[0])) >> (128 - _IPV6_NETWORK_BITS)
    except ValueError:
        return host
    return f"{network:x}"
