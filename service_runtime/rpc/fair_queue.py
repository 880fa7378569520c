"""The fair queue: it decides which call does expensive work now, and which one waits.

A history over a hundred thousand nodes, a search, a mapping to compile: each of them is admitted, but few at once, or a
handful of callers would have the event loop, the processor and the connections to Postgres. A call that comes while
others work waits for a turn. A free turn goes to the next waiting tenant, and to the next of its keys, so that forty
calls of one key never go before the first call of another.

All other calls have ordinary turns, and there are more of those. They end after `LEASE_S`: such a call computes for a
few milliseconds only, and while it waits for a lock, a bucket or a database that is away, it must block no other call.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType

from service_runtime.rpc.admission import Shares, key_of
from service_runtime.rpc.principal import Principal

SLICE_S = 0.002  # seconds of work between two looks for other callers; one evaluation of a rule may take longer
SPACING_S = 0.012  # from one slice of a key to its next one while others call, over all its calls
SPACING_S_MAX = 0.1
REST = 5  # a key pauses for this many times the length of its last slice, which is longer on a busy processor
BURST = 10  # slices that a key may use without a pause: as many as an ordinary history takes
OTHERS_S = 1.0  # a key counts as calling for these seconds after its last call
LEASE_S = 0.1  # seconds of an ordinary turn: a longer call waits for something other than the processor
# grpc.aio takes calls from its core one at a time, which needs several passes of the event loop for each. While a key's
# calls fill the loop, those of all callers wait in core, first come, first served. So a key gets more turns only after
# no call has arrived for a moment: then core's queue is empty, and all that wait do so in ours.
UNPACED = 1  # turns of a key that need not wait for that: a loop that two calls fill takes no further calls from core
PACE_S = 0.001  # seconds between two looks for arrivals
QUIET_LOOKS = 2  # looks in a row that must find no new call
PACE_S_MAX = 0.05  # longest wait for that; then the key gets one turn although calls arrive
_KEYS_MAX = 1000


class _Slices:
    """The slices of one key's work."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.took_s = 0.0  # seconds that the last slice took
        self.due_at = 0.0  # when the next one is, on the monotonic clock; `BURST` of them may come before


class FairQueue:
    """The turns of one server, or of one kind of work in it.

    Work that has a turn is done in slices, and calls of other keys come between them. So that each of their many short
    steps waits only briefly, the slices of a key run one by one, and some time apart as long as other keys call.

    Args:
        at_once_max: The number of calls that may have a turn at once.
        shares: The part of them that a tenant and a key may have.
        paced: A key gets more than `UNPACED` turns only one by one, when no call has just arrived.
    """

    def __init__(self, at_once_max: int, shares: Shares, *, paced: bool = False) -> None:
        """Begin with no turn taken and no call waiting."""
        self._at_once_max = at_once_max
        self._tenant_max = shares.tenant_max(at_once_max)
        self._key_max = shares.key_max(at_once_max)
        self._unpaced_max = UNPACED if paced else self._key_max
        self._arrivals = 0
        self._pacing: asyncio.TimerHandle | None = None
        self.taken = 0
        self.waiting = 0
        self._of_tenant: dict[object, int] = {}
        self._of_key: dict[object, int] = {}
        self._lent: dict[Turn, float] = {}  # turns that are lent, each with the time when it was lent, the oldest first
        self._expiring: asyncio.TimerHandle | None = None
        self._slices: dict[object, _Slices] = {}  # by key
        self._callers: list[tuple[float, object]] = []  # time and key of the last two keys that called
        # By tenant, then by key; whose turn was longest ago comes first.
        self._queues: OrderedDict[object, OrderedDict[object, deque[asyncio.Future[None]]]] = OrderedDict()

    def take_now(self, principal: Principal) -> bool:
        """Take a turn if the caller may have one now, and return whether it did; no waiting call could have it."""
        tenant_id, key = principal.tenant_id.int, key_of(principal)
        of_tenant, of_key = self._of_tenant.get(tenant_id, 0), self._of_key.get(key, 0)
        key_max = min(self._key_max, self._unpaced_max)
        if self.taken >= self._at_once_max or of_tenant >= self._tenant_max or of_key >= key_max:
            return False
        self.taken += 1
        self._of_tenant[tenant_id] = of_tenant + 1
        self._of_key[key] = of_key + 1
        return True

    def lend(self, turn: Turn) -> None:
        """Note that a turn was taken. It ends after `LEASE_S` if other calls wait then."""
        self._lent[turn] = time.monotonic()
        if self.waiting:
            self._expire_soon()

    def take_back(self, turn: Turn) -> None:
        """Note that a turn that was lent has ended."""
        del self._lent[turn]

    def _expire_soon(self) -> None:
        """End lent turns when their time is over, because a call waits."""
        if self._expiring is None and self._lent:
            due_s = next(iter(self._lent.values())) + LEASE_S - time.monotonic()
            self._expiring = asyncio.get_running_loop().call_later(max(due_s, 0.0), self._expire)

    def _expire(self) -> None:
        self._expiring = None
        now = time.monotonic()
        for turn in [turn for turn, since in self._lent.items() if since + LEASE_S <= now]:
            turn.end_ordinary()
        if self.waiting:
            self._expire_soon()

    async def take(self, principal: Principal) -> None:
        """Wait for a turn; a cancelled call leaves the queue."""
        if self.take_now(principal):
            return
        tenant_id, key = principal.tenant_id.int, key_of(principal)
        self._expire_soon()
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._queues.setdefault(tenant_id, OrderedDict()).setdefault(key, deque())
        queue.append(mine)
        self.waiting += 1
        self._pace()
        try:
            await asyncio.shield(mine)
        except asyncio.CancelledError:
            if mine.done():  # the turn was given just now
                self.give_back(principal)
            else:
                self._leave(tenant_id, key, mine)
            raise

    def give_back(self, principal: Principal) -> None:
        """End a turn; the next in the queue has it."""
        self._count(principal.tenant_id.int, key_of(principal), -1)
        while self.waiting and (next_one := self._next(min(self._key_max, self._unpaced_max))) is not None:
            next_one.set_result(None)
        self._pace()

    def arrived(self) -> None:
        """Note that grpc has handed over a call, of any caller."""
        self._arrivals += 1

    def _pace(self) -> None:
        """Watch for arriving calls from now on, if a call waits only until none arrives."""
        if self._pacing is None and self.waiting and self._unpaced_max < self._key_max:
            give_up_at = time.monotonic() + PACE_S_MAX
            self._pacing = asyncio.get_running_loop().call_later(PACE_S, self._look, self._arrivals, 0, give_up_at)

    def _look(self, arrivals: int, quiet_looks: int, give_up_at: float) -> None:
        """Give a key one turn more than `UNPACED`, if no call has arrived between some looks."""
        self._pacing = None
        quiet_looks = quiet_looks + 1 if self._arrivals == arrivals else 0
        if not self.waiting:
            return
        if quiet_looks < QUIET_LOOKS and time.monotonic() < give_up_at:
            self._pacing = asyncio.get_running_loop().call_later(
                PACE_S, self._look, self._arrivals, quiet_looks, give_up_at
            )
        elif (next_one := self._next(self._key_max)) is not None:
            next_one.set_result(None)
            self._pace()

    def note_call(self, principal: Principal) -> None:
        """Note a call of a key, for expensive work or not."""
        key, now = key_of(principal), time.monotonic()
        self._callers = [(now, key), *(caller for caller in self._callers if caller[1] != key)][:2]

    async def give_way(self, principal: Principal, *, took_s: float) -> None:
        """Let other keys work between two slices of a call that has a turn.

        Args:
            principal: The caller whose call does the work.
            took_s: Seconds that the last slice took.
        """
        key = key_of(principal)
        slices = self._slices.get(key)
        if slices is None:
            if len(self._slices) >= _KEYS_MAX:
                self._slices = {whose: some for whose, some in self._slices.items() if some.lock.locked()}
            slices = self._slices[key] = _Slices()
        slices.took_s = took_s
        async with slices.lock:  # one after the other, however late the loop is
            now = time.monotonic()
            spacing_s = 0.0
            if self._others_call(key, now):
                spacing_s = min(max(SPACING_S, REST * slices.took_s), SPACING_S_MAX)
            free_s = BURST * spacing_s
            await asyncio.sleep(max(slices.due_at - now, 0.0) if spacing_s else 0.0)
            slices.due_at = max(slices.due_at, time.monotonic() - free_s) + spacing_s

    def _others_call(self, key: object, now: float) -> bool:
        if self.taken > self._of_key.get(key, 0):
            return True
        return any(other != key and now - at < OTHERS_S for at, other in self._callers)

    def _next(self, key_max: int) -> asyncio.Future[None] | None:
        """Give a turn to the next call in the queue whose key has fewer than `key_max`; return its future."""
        if self.taken >= self._at_once_max:
            return None
        for tenant_id, keys in self._queues.items():
            if self._of_tenant.get(tenant_id, 0) >= self._tenant_max:
                continue
            for key, queue in keys.items():
                if self._of_key.get(key, 0) < key_max:
                    chosen = queue[0]
                    self._leave(tenant_id, key, chosen)
                    if key in keys:
                        keys.move_to_end(key)
                    if tenant_id in self._queues:
                        self._queues.move_to_end(tenant_id)
                    self._count(tenant_id, key, 1)
                    return chosen
        return None

    def _leave(self, tenant_id: object, key: object, who: asyncio.Future[None]) -> None:
        self.waiting -= 1
        keys = self._queues[tenant_id]
        keys[key].remove(who)
        if not keys[key]:
            del keys[key]
        if not keys:
            del self._queues[tenant_id]

    def _count(self, tenant_id: object, key: object, change: int) -> None:
        self.taken += change
        for counter, whose in ((self._of_tenant, tenant_id), (self._of_key, key)):
            count = counter.get(whose, 0) + change
            if count:
                counter[whose] = count
            else:
                del counter[whose]


class Turn:
    """The turn of one call: none until it takes one; given back at the end of the block.

    Args:
        turns: The queue of turns for expensive work.
        principal: The caller; the turn counts for its tenant and its key.
        ordinary: The queue of turns for all other work; None if that needs no turn.
    """

    __slots__ = ("_has_one", "_has_ordinary", "_ordinary", "_principal", "_turns", "_went_on_at")

    def __init__(self, turns: FairQueue, principal: Principal, ordinary: FairQueue | None = None) -> None:
        self._turns = turns
        self._ordinary = ordinary
        self._has_ordinary = False
        self._principal = principal
        self._has_one = False
        self._went_on_at = 0.0

    async def __aenter__(self) -> Turn:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()

    async def begin(self) -> None:
        """Wait for an ordinary turn, unless the call has a turn already. It ends after `LEASE_S` if others wait."""
        ordinary = self._ordinary
        if ordinary is not None and not self._has_ordinary and not self._has_one:
            if not ordinary.take_now(self._principal):
                await ordinary.take(self._principal)
            ordinary.lend(self)
            self._has_ordinary = True

    def end_ordinary(self) -> None:
        """Give the ordinary turn back, if the call has it: it only waits from now on, or has an expensive turn."""
        if self._has_ordinary and self._ordinary is not None:
            self._has_ordinary = False
            self._ordinary.take_back(self)
            self._ordinary.give_back(self._principal)

    async def take(self) -> None:
        """Wait for a turn of expensive work, unless the call has it already."""
        if not self._has_one:
            self.end_ordinary()
            await self._turns.take(self._principal)
            self._has_one = True
            self._went_on_at = time.monotonic()

    async def give_way(self) -> None:
        """Let waiting callers run first, between two slices of work, and charge the time used to this caller.

        Work that holds no turn only yields to the event loop.
        """
        if self._has_one:
            await self._turns.give_way(self._principal, took_s=time.monotonic() - self._went_on_at)
            self._went_on_at = time.monotonic()
        else:
            await asyncio.sleep(0)

    def give_back(self) -> None:
        """End the turn before its block does, if the call has one."""
        self.end_ordinary()
        if self._has_one:
            self._has_one = False
            self._turns.give_back(self._principal)

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Give back the turn for the block; the call only waits for its caller or for another server meanwhile.

        So a slow reader blocks no other call, and two streams that wait for each other do not deadlock.
        """
        if not self._has_one:
            self.end_ordinary()
            yield
            return
        self.give_back()
        yield
        await self.take()
