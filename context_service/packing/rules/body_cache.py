"""A cache of the bodies of windows that were packed lately, so that the next pack reads only new blocks.

Each call still asks Postgres whether the window exists, whether the principal may see it, and which epoch and how many
blocks it has. The cache only saves reading and joining the earlier blocks.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from uuid import UUID

from context_service.packing.pure.body.window_body import WindowBody
from context_service.windows.model import Window
from service_runtime.rpc.admission import Shares

KEPT_S = 600.0  # bodies are dropped this long after their last pack, so that erased text does not stay in memory


class BodyCache:
    """The bodies of windows that were packed lately, by tenant and window.

    Args:
        bytes_max: The most bytes of all bodies; 0 keeps none. The body that was cached longest ago is dropped first.
        shares: The share of these bytes that one tenant may use, so that its packs do not drop the bodies of others.
        clock: Returns the current time in seconds.
    """

    def __init__(self, *, bytes_max: int, shares: Shares, clock: Callable[[], float] = time.monotonic) -> None:
        self._bytes_max = bytes_max
        self._tenant_max = int(bytes_max * shares.of_tenant)
        self._clock = clock
        self._kept: OrderedDict[tuple[UUID, Hashable], tuple[WindowBody, float]] = OrderedDict()
        self._bytes = 0
        self._of_tenant: Counter[UUID] = Counter()

    def get(self, key: tuple[UUID, Hashable], window: Window) -> WindowBody | None:
        """Return the cached body of a window, which may lack its newest blocks.

        The result is None if no body is cached, or if the cached body has another epoch or more blocks than the window.
        """
        body, _ = self._kept.get(key, (None, 0.0))
        if body and body.epoch == window.epoch and body.block_count <= window.block_count:
            return body
        return None

    def put(self, key: tuple[UUID, Hashable], body: WindowBody) -> None:
        """Cache a body, in place of the window's earlier one."""
        self.drop(key)
        self._kept[key] = body, self._clock()
        self._bytes += body.size_bytes
        tenant_id = key[0]
        self._of_tenant[tenant_id] += body.size_bytes
        while self._of_tenant[tenant_id] > self._tenant_max:
            self.drop(next(other for other in self._kept if other[0] == tenant_id))
        while self._kept:
            oldest, (_, since) = next(iter(self._kept.items()))
            if self._bytes <= self._bytes_max and self._clock() - since <= KEPT_S:
                return
            self.drop(oldest)

    def drop(self, key: tuple[UUID, Hashable]) -> None:
        """Drop the cached body of a window."""
        body, _ = self._kept.pop(key, (None, 0.0))
        if body:
            self._bytes -= body.size_bytes
            self._of_tenant[key[0]] -= body.size_bytes
            if not self._of_tenant[key[0]]:
                del self._of_tenant[key[0]]
