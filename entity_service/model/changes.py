"""Entries of the change feed."""

from __future__ import annotations

from typing import NamedTuple


class ChangeQuery(NamedTuple):
    """A request for a page of changes."""

    place: str  # the place to read from; empty asks for the first place
    page_size: int


class Change(NamedTuple):
    """A change of a node or an edge."""

    id: str
    is_removed: bool
    graph_name: str
    general_type_name: str  # of an edge: its type
    specific_type_name: str
    from_node_id: str | None  # None if it is a change of a node
    to_node_id: str | None
    changed_at: int  # microseconds since 1970


class ChangePage(NamedTuple):
    """Changes in their order, each node and each edge once, and the place of the next page."""

    changes: list[Change]
    next_place: str
    has_more: bool
