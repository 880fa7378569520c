"""Envelopes of a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

STATUS = "STATUS"

TYPES = frozenset({STATUS, "MESSAGE", "ERROR", "BOT_PROGRESS", "VALUE", "WAITING"})

STATUSES = frozenset({"STARTED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEnvelope:
    """An envelope to append, checked."""

    node_id: str
    type: str  # one of `TYPES`
    status: str  # one of `STATUSES`, or empty
    sub_type: str
    message: str
    value_json: str | None
    error_json: str | None


class Appended(NamedTuple):
    """The number and the time of an appended envelope."""

    seq: int
    created_at: int


class Envelope(NamedTuple):
    """One entry of a timeline, in the order of the columns of `_LIST`."""

    node_id: str
    seq: int
    type: str
    status: str
    sub_type: str
    message: str
    value_json: str | None
    error_json: str | None
    created_at: int
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineQuery:
    """Which envelopes a caller wants."""

    node_id: str
    own_only: bool  # without envelopes of the nodes that it calls
    types: Sequence[str]  # empty: all
    descending: bool
    page_size: int
    page_token: str
    node_budget: int  # most nodes to look at, this one included


class TimelinePage(NamedTuple):
    """Some envelopes, in the order asked for."""

    envelopes: list[Envelope]
    next_page_token: str
