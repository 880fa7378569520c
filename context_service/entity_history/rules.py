"""The history of an entity: its node, its timeline, its edges, and the log of actions on its records, as one list.

Nothing is copied for it: each source is read in its own order, and the sources are merged by time. A page token holds,
for each source, its current page and the last row that was returned from it. So each row is returned once, even if the
other sources get new rows meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from context_service.entity_history.graph import GraphEvents
from context_service.entity_history.model import Event, EventKind, EventPage
from context_service.working_memory.room import ActionLog, ActionPlace, EntityAction
from contextkeep.errors import InvalidPageToken, NodeNotFound
from service_runtime.inputs.pages import PAGE_BYTES_MAX, decode_token, encode_token, is_place, page_size
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import utf8_bytes

_EVENT_BYTES = 200

_ORDER = {kind: place for place, kind in enumerate(EventKind)}

Key = tuple[int | str, ...]
Read = Callable[[str, Key | None], Awaitable[EventPage]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityQuestion:
    """The entity whose history is read, and the page of it."""

    node_id: str
    descending: bool  # the newest first
    page_size: int
    page_token: str


class EntityHistory:
    """Reads the history of entities as one list, merged from several sources."""

    def __init__(self, events: GraphEvents, log: ActionLog) -> None:
        self._events = events
        self._log = log

    async def page(self, principal: Principal, question: EntityQuestion) -> EventPage:
        """Return a page of the events of an entity, by time.

        Raises:
            NodeNotFound: there is no such node, and never was a record of it.
            InvalidPageToken: the token is malformed or of another question.
        """
        size = page_size(question.page_size)
        query = ("FetchEntityHistory", principal.tenant_id, question.node_id, question.descending)
        places = _positions(query, question.page_token)
        sources = await self._sources(principal, question, size, places)
        events: list[Event] = []
        size_bytes = 0
        while len(events) < size:
            heads = [(event, source) for source in sources if (event := await source.head()) is not None]
            if not heads:
                if not events and not question.page_token:
                    raise NodeNotFound("no node has this id", node_id=question.node_id)
                return EventPage(events, "")
            event, source = (max if question.descending else min)(heads, key=lambda head: _time(head[0]))
            size_bytes += _EVENT_BYTES + utf8_bytes(event.document_json)
            if events and size_bytes > PAGE_BYTES_MAX:
                break
            source.take()
            events.append(event)
        if all([await source.head() is None for source in sources]):
            return EventPage(events, "")
        return EventPage(events, encode_token(query, [place for source in sources for place in source.place]))

    async def _sources(
        self, principal: Principal, question: EntityQuestion, size: int, places: list[_StreamPosition]
    ) -> list[_EventStream]:
        """Return the four sources of events of a node, each at its place in the page token.

        The sources are the node itself, its timeline, its edges, and the actions on its records. If the node does not
        exist, the first three are empty: records may outlive their node.
        """
        node_id, descending = question.node_id, question.descending
        of_node = await self._events.of_node(node_id)
        of_node = of_node[::-1] if of_node and descending else of_node

        async def itself(token: str, after: Key | None) -> EventPage:
            return EventPage(of_node or [], "")

        async def envelopes(token: str, after: Key | None) -> EventPage:
            if of_node is None:
                return EventPage([], "")
            return await self._events.envelopes(node_id, descending=descending, page_size=size, page_token=token)

        async def edges(token: str, after: Key | None) -> EventPage:
            if of_node is None:
                return EventPage([], "")
            return await self._events.edges(node_id, descending=descending, page_size=size, page_token=token)

        async def actions(token: str, after: Key | None) -> EventPage:
            behind = None if after is None else ActionPlace(*map(int, after))
            events = await self._log.of_entity(
                principal, UUID(node_id), after=behind, descending=descending, count_max=size
            )
            return EventPage(list(map(_action, events)), "more" if len(events) == size else "")

        reads: list[Read] = [itself, envelopes, edges, actions]
        return [_EventStream(read, place, descending=descending) for read, place in zip(reads, places, strict=True)]


class _StreamPosition(NamedTuple):
    """The position in a stream of events."""

    token: str  # page token of the current page
    last: Key | None  # the last row returned
    complete: bool = False


class _EventStream:
    """One source of events, read from a given place."""

    def __init__(self, read: Read, place: _StreamPosition, *, descending: bool) -> None:
        self._read = read
        self._descending = descending
        self._token, self._last, self._complete = place
        self._events: list[Event] | None = None  # the events of the page that were not returned yet
        self._next_token = ""

    @property
    def place(self) -> tuple[str, Key | None, bool]:
        """Return the position after the last returned event."""
        return self._token, self._last, self._complete

    async def head(self) -> Event | None:
        """Return the next event, or None at the end."""
        while not self._complete:
            if self._events is None:
                page = await self._read(self._token, self._last)
                self._events = [event for event in page.events if self._is_behind(event)][::-1]
                self._next_token = page.next_page_token
            if self._events:
                return self._events[-1]
            self._token, self._events = self._next_token, None
            self._complete = not self._token
        return None

    def take(self) -> None:
        """Skip the next event."""
        assert self._events
        self._last = self._events.pop().key

    def _is_behind(self, event: Event) -> bool:
        if self._last is None:
            return True
        return event.key < self._last if self._descending else event.key > self._last


def _time(event: Event) -> tuple[int, int]:
    return event.time_us, _ORDER[event.kind]


def _action(action: EntityAction) -> Event:
    """Return the event of an action on a record, such as its creation or deletion."""
    time_us = action.place.created_at_us
    return Event(
        EventKind(f"record_{action.kind}"),
        time_us,
        tuple(action.place),
        action.document_json,
        action.principal,
        working_memory_id=str(action.record_id),
        request_id=str(action.request_id or ""),
    )


def _positions(query: Sequence[object], token: str) -> list[_StreamPosition]:
    """Return the position in each stream."""
    key: list[Any] | None = decode_token(query, token, parts=12)
    if key is None:
        return [_StreamPosition("", None)] * 4
    places = []
    for is_last, at in zip(_LAST_ROWS, range(0, 12, 3), strict=True):
        page_token, last, complete = key[at : at + 3]
        well_formed = isinstance(page_token, str) and type(complete) is bool
        if not well_formed or not (last is None or (isinstance(last, list) and is_last(last))):
            raise InvalidPageToken("page_token is malformed", field="page_token")
        places.append(_StreamPosition(page_token, None if last is None else tuple(last), complete))
    return places


def _is_time_and_number(last: list[Any]) -> bool:
    return len(last) == 2 and is_place(*last)


def _is_number(last: list[Any]) -> bool:
    return len(last) == 1 and is_place(0, last[0])


def _is_time_and_id(last: list[Any]) -> bool:
    return len(last) == 2 and is_place(last[0], 0) and isinstance(last[1], str)


_LAST_ROWS = (_is_time_and_number, _is_number, _is_time_and_id, _is_time_and_number)  # of the sources, in their order
