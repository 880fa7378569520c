"""The fair queue: it decides which call does expensive work now, and which one waits.

Expensive work is a history over a hundred thousand nodes, a search, or a mapping to compile. Only a few such calls run
at the same time; otherwise a handful of callers would occupy the event loop, the processor and the connections to
Postgres. A call needs a *turn*, the permission to work, and waits while all turns are taken. A free turn goes to the
next waiting tenant, and within it to the next key, so that forty calls of one key never run before the first call of
another key.

All other calls have *ordinary* turns, and there are more of those. An ordinary turn ends after `LEASE_S` if other calls
wait: such a call computes for a few milliseconds only, and while it waits for a lock, a bucket or a database that does
not answer, it must block no other call.
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

SLICE_S = 0.002  # seconds of work (a slice) before other callers may run; one evaluation of a rule may take longer
SPACING_S = 0.012  # seconds from one slice of a key, in any of its calls, to its next slice while other keys call
SPACING_S_MAX = 0.1  # the same at most, on a busy processor
REST = 5  # a key pauses for this many times the length of its last slice, which is longer on a busy processor
BURST = 10  # slices that a key may use without a pause: as many as an ordinary history takes
OTHERS_S = 1.0  # a key counts as calling for these seconds after its last call
LEASE_S = 0.1  # seconds of an ordinary turn: a longer call waits for something other than the processor
# grpc.aio takes calls from its C core one at a time, and needs several passes of the event loop for each. While the
# calls of one key fill the loop, the calls of all callers wait in the core, first come, first served. So a key gets
# more than one turn only after no call has arrived for a moment: then the core's queue is empty, and all waiting calls
# are in the fair queue.
UNPACED = 1  # turns that a key gets without this wait: if two calls fill the loop, it takes no calls from the core
PACE_S = 0.001  # seconds between two checks for new calls
QUIET_LOOKS = 2  # checks in a row that must find no new call
PACE_S_MAX = 0.05  # longest wait for such a moment; then the key gets one turn although calls arrive
_KEYS_MAX = 1000  # keys whose slices are remembered


class _Slices:
    """When one key's work may run its next slice."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()  # lets the calls of the key wait one after the other
        self.took_s = 0.0  # seconds that the last slice took
        self.due_at = 0.0  # time of the next slice, on the monotonic clock; `BURST` slices may run earlier


class FairQueue:
    """The turns of one server, or of one kind of work in it.

    Work that has a turn is done in slices, and calls of other keys run between them. Such a call consists of many short
    steps, and each step should wait only briefly. So the slices of a key, even of several calls, run one after the
    other, with pauses between them as long as other keys call.

    Args:
        at_once_max: The number of calls that may have a turn at the same time.
        shares: The part of the turns that a tenant and a key may have.
        paced: A key gets turns beyond `UNPACED` one by one only, each after a short time without a new call.
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
        """Take a turn if the caller may have one now, and return whether it was taken.

        This passes over no waiting call: calls wait only while no turn is free for them.
        """
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
        """End the lent turns that are older than `LEASE_S`."""
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
            if mine.done():  # the call got its turn just before it was cancelled
                self.give_back(principal)
            else:
                self._leave(tenant_id, key, mine)
            raise

    def give_back(self, principal: Principal) -> None:
        """End a turn of a caller, and give it to the next call in the queue."""
        self._count(principal.tenant_id.int, key_of(principal), -1)
        while self.waiting and (next_one := self._next(min(self._key_max, self._unpaced_max))) is not None:
            next_one.set_result(None)
        self._pace()

    def arrived(self) -> None:
        """Note that grpc has handed over a call, of any caller."""
        self._arrivals += 1

    def _pace(self) -> None:
        """Schedule the next check for new calls, if calls wait and keys may have more turns than `UNPACED`."""
        if self._pacing is None and self.waiting and self._unpaced_max < self._key_max:
            give_up_at = time.monotonic() + PACE_S_MAX
            self._pacing = asyncio.get_running_loop().call_later(PACE_S, self._look, self._arrivals, 0, give_up_at)

    def _look(self, arrivals: int, quiet_looks: int, give_up_at: float) -> None:
        """Give a key one turn beyond `UNPACED` if no call has arrived during the last checks; else check again later.

        Args:
            arrivals: Number of calls that had arrived at the check before.
            quiet_looks: Number of checks in a row that found no new call.
            give_up_at: Time after which the turn is given although calls arrive.
        """
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
        """Note that a key called, for expensive work or any other: `give_way` asks whether other keys call."""
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
            if len(self._slices) >= _KEYS_MAX:  # forget the keys whose calls do not wait here now
                self._slices = {whose: some for whose, some in self._slices.items() if some.lock.locked()}
            slices = self._slices[key] = _Slices()
        slices.took_s = took_s
        async with slices.lock:  # the calls of a key wait one after the other, even if the event loop is late
            now = time.monotonic()
            spacing_s = 0.0  # the least time between two slices of this key, while other keys call
            if self._others_call(key, now):
                spacing_s = min(max(SPACING_S, REST * slices.took_s), SPACING_S_MAX)
            free_s = BURST * spacing_s  # a key that was idle may begin with this many slices at once
            await asyncio.sleep(max(slices.due_at - now, 0.0) if spacing_s else 0.0)
            slices.due_at = max(slices.due_at, time.monotonic() - free_s) + spacing_s

    def _others_call(self, key: object, now: float) -> bool:
        """Say whether another key has a turn, or has called within the last `OTHERS_S`."""
        if self.taken > self._of_key.get(key, 0):
            return True
        return any(other != key and now - at < OTHERS_S for at, other in self._callers)

    def _next(self, key_max: int) -> asyncio.Future[None] | None:
        """Take a turn for the next waiting call whose key has fewer than `key_max` turns, and return its future.

        It returns None if no turn is free, or if none of the waiting calls may have one.
        """
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
        """Remove a waiting call from the queue."""
        self.waiting -= 1
        keys = self._queues[tenant_id]
        keys[key].remove(who)
        if not keys[key]:
            del keys[key]
        if not keys:
            del self._queues[tenant_id]

    def _count(self, tenant_id: object, key: object, change: int) -> None:
        """Add `change` to the numbers of turns of the server, of a tenant and of a key."""
        self.taken += change
        for counter, whose in ((self._of_tenant, tenant_id), (self._of_key, key)):
            count = counter.get(whose, 0) + change
            if count:
                counter[whose] = count
            else:
                del counter[whose]


class Turn:
    """The turn of one call, as a context manager: the call has none at first, and the end of the block gives it back.

    Args:
        turns: The queue of turns for expensive work.
        principal: The caller; the turn counts for its tenant and its key.
        ordinary: The queue of turns for all other work; None if other work needs no turn.
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
        """Give the ordinary turn back, if the call has it.

        Called when the call only waits from now on, takes a turn for expensive work, or has used up its `LEASE_S`.
        """
        if self._has_ordinary and self._ordinary is not None:
            self._has_ordinary = False
            self._ordinary.take_back(self)
            self._ordinary.give_back(self._principal)

    async def take(self) -> None:
        """Wait for a turn for expensive work, unless the call has one already."""
        if not self._has_one:
            self.end_ordinary()
            await self._turns.take(self._principal)
            self._has_one = True
            self._went_on_at = time.monotonic()

    async def give_way(self) -> None:
        """Let other keys run between two slices of work, and count the time of the last slice for the caller's key.

        Work without a turn for expensive work only yields to the event loop.
        """
        if self._has_one:
            await self._turns.give_way(self._principal, took_s=time.monotonic() - self._went_on_at)
            self._went_on_at = time.monotonic()
        else:
            await asyncio.sleep(0)

    def give_back(self) -> None:
        """End the call's turns, ordinary or expensive, before the end of the block; a repeat does nothing."""
        self.end_ordinary()
        if self._has_one:
            self._has_one = False
            self._turns.give_back(self._principal)

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Give back the turn during the block: meanwhile the call only waits for its caller or for another server.

        So a slow reader blocks no other call, and two streams that wait for each other do not deadlock. A turn for
        expensive work is taken again at the end of the block; an ordinary turn is not.
        """
        if not self._has_one:
            self.end_ordinary()
            yield
            return
        self.give_back()
        yield
        await self.take()
