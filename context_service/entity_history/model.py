"""What happened to an entity, as one line of its history."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class EventKind(Enum):
    """The kind of an event. Events of the same time are sorted by the order of the kinds."""

    NODE_CREATED = "node_created"
    NODE_CHANGED = "node_changed"  # the last change; those before it are not kept
    IO_SET = "io_set"  # the last time
    STATUS = "status"
    PROGRESS = "progress"
    EDGE_CREATED = "edge_created"
    RECORD_CREATED = "record_created"
    RECORD_UPDATED = "record_updated"
    RECORD_ARCHIVED = "record_archived"
    RECORD_RESTORED = "record_restored"
    RECORD_MOVED = "record_moved"
    RECORD_PURGED = "record_purged"


class Event(NamedTuple):
    """Something that happened to an entity."""

    kind: EventKind
    time_us: int  # microseconds since 1970, UTC
    key: tuple[int | str, ...]  # its place among the events of its source
    document_json: str  # an object; what it holds depends on the kind
    principal: str = ""  # the subject that caused the event, if it is known
    edge_id: str = ""
    working_memory_id: str = ""
    request_id: str = ""


class EventPage(NamedTuple):
    """Some events of one source, in their order."""

    events: list[Event]
    next_page_token: str
