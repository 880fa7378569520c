"""The bodies of windows: the earlier blocks come from the cache if they are there, and the rest from the store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from context_service.kernel.rendering import Rendered, without_files
from context_service.packing.model import NewBlock, ViewPart
from context_service.packing.pure.body.caught_up_window import CaughtUpWindow
from context_service.packing.pure.body.front import front_of
from context_service.packing.pure.body.window_body import WindowBody
from context_service.packing.pure.costs import JOINING, RENDERING
from context_service.packing.rules.body_cache import BodyCache
from context_service.packing.store.views import ViewRows
from context_service.windows.model import Window
from context_service.windows.pure.pieces import pieces_json
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged


class WindowBodies:
    """Reads the bodies of windows; each call acts for its principal.

    Args:
        views: The store of the windows' parts.
        cache: The cache of the bodies that were packed lately.
    """

    def __init__(self, views: ViewRows, cache: BodyCache) -> None:
        self._views = views
        self._cache = cache

    async def read(self, window: Window, principal: Principal) -> WindowBody:
        """Return the body of a window.

        Raises:
            RowsChanged: another call changed the window meanwhile.
        """
        key = principal.tenant_id, window.window_id
        cached = self._cache.get(key, window)
        if cached and cached.block_count == window.block_count:
            return cached
        view = await self._views.view(window, principal=principal, number_from=cached.block_count if cached else 0)
        if view is None or (view.epoch, view.block_count) != (window.epoch, window.block_count):
            raise RowsChanged
        size = sum(len(part.pieces_json) for part in view.parts)
        if cached:
            body = await beside_the_loop(JOINING * size, cached.with_parts, view.parts, block_count=view.block_count)
        else:
            body = await beside_the_loop(JOINING * size, WindowBody.of, window, front_of(window), view.parts)
        self._cache.put(key, body)
        return body

    async def without_files(
        self, caught_up: CaughtUpWindow, record_ids: Collection[str], principal: Principal
    ) -> CaughtUpWindow:
        """Return the window with its body built again, in which a line of text stands for each file of some records.

        These are the records that the caller cannot read any more. Such a body is built for each pack, because each
        caller may read other records.

        Raises:
            RowsChanged: another call changed the window meanwhile.
        """
        window = caught_up.window
        view = await self._views.view(window, principal=principal, number_from=0)
        if view is None or (view.epoch, view.block_count) != (window.epoch, window.block_count):
            raise RowsChanged
        size = sum(len(part.pieces_json) for part in view.parts)
        return await beside_the_loop(RENDERING * size, _without_files, caught_up, view.parts, record_ids)

    def extend(self, body: WindowBody, window: Window, blocks: Sequence[NewBlock], principal: Principal) -> WindowBody:
        """Return a body with blocks that were just written at its end, and cache it."""
        pairs = [(ViewPart.of(block), block.pieces) for block in blocks]
        longer = body.with_blocks(pairs, block_count=window.block_count + len(blocks))
        self._cache.put((principal.tenant_id, window.window_id), longer)
        return longer

    def extend_kept(self, window: Window, blocks: Sequence[NewBlock], principal: Principal) -> None:
        """Add blocks that were just written to the cached body of a window, if it has all earlier blocks."""
        body = self._cache.get((principal.tenant_id, window.window_id), window)
        if body and body.block_count == window.block_count:
            self.extend(body, window, blocks, principal)

    def forget(self, window_id: UUID, principal: Principal) -> None:
        """Drop the cached body of a window."""
        self._cache.drop((principal.tenant_id, window_id))


def _without_files(caught_up: CaughtUpWindow, parts: Sequence[ViewPart], record_ids: Collection[str]) -> CaughtUpWindow:
    """Return a window with a body of these parts, in which lines of text stand for the files of records."""
    window, waiting = caught_up.window, caught_up.waiting

    def shown(pieces: Sequence[Rendered]) -> list[Rendered]:
        return [
            without_files(piece, window.format, [file for file in piece.files if file.working_memory_id in record_ids])
            for piece in pieces
        ]

    changed = [part._replace(pieces_json=pieces_json(shown(part.pieces))) for part in parts]
    return replace(
        caught_up,
        body=WindowBody.of(window, front_of(window), changed),
        waiting=waiting and replace(waiting, pieces=tuple(shown(waiting.pieces))),
    )
