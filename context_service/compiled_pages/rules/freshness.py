"""Say how new the compiled pages are: when they were compiled, and whether changes of the graph wait since then."""

from __future__ import annotations

from context_service.compiled_pages.model import Freshness
from context_service.compiled_pages.rules.compile import changes_by_node
from context_service.compiled_pages.store.progress import CompileStates
from context_service.kernel.graph import EntityGraph
from contextkeep.errors import (
    ChangesExpired,
    ChangesHeldUp,
    ContextKeepError,
    InvalidPageToken,
)
from service_runtime.rpc.principal import Principal

_WAITING = "changes of the graph since the last compile are not in the pages yet"
_LOST = "the graph no longer lists the changes since the last compile: compile again"
_HELD_UP = "a long transaction holds up the list of changes"


class PageFreshness:
    """Compares the last compile with the changes of the graph.

    Args:
        states: How far compiles have come.
        graph: Lists the changes of the graph.
    """

    def __init__(self, states: CompileStates, graph: EntityGraph) -> None:
        self._states = states
        self._graph = graph

    async def of(self, *, principal: Principal) -> Freshness:
        """Return the time of the last compile of keys with the caller's bounds, and why pages may be out of date.

        The reason is empty if no change waits that concerns a page, or if that is not known: because the graph lists no
        changes to the caller, or does not answer.
        """
        last = await self._states.last(principal)
        if last is None or not last.place:
            return Freshness(last.compiled_at if last else None, "")
        return Freshness(last.compiled_at, await self._reason(last.place, principal))

    async def _reason(self, place: str, principal: Principal) -> str:
        try:
            page = await self._graph.changes(place)
        except (ChangesExpired, InvalidPageToken):
            return _LOST
        except ChangesHeldUp:
            return _HELD_UP
        except ContextKeepError:
            return ""
        if page.has_more:
            return _WAITING
        types = {name for change in page.changes if change.node_id for name in change.types if name}
        touched = changes_by_node(page.changes)
        if touched and await self._states.concerns_pages(principal, touched, sorted(types)):
            return _WAITING
        return ""
