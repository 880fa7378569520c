"""Nodes, and the changes of them that callers ask for.

Ids are canonical UUID text and times are microseconds since 1970 (UTC), because that is how rows leave Postgres
cheapest and how they go into messages; `datetime` and `UUID` would be made for each row only to be taken apart again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

STATUS_DEFAULT = "Created"


class Node(NamedTuple):
    """A row of `entity.node`, in the order of the columns that the stores read.

    A tuple, because a walk reads ten thousand of them by position.
    """

    id: str
    external_id: str | None
    graph_name: str
    agent_bundle_id: str
    general_type_name: str
    specific_type_name: str
    name: str
    status: str
    data_json: str
    is_archived: bool
    seq: int
    created_at: int
    modified_at: int
    version: int
    created_by: str
    owner_user_id: str
    agent_id: str
    context_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataChange:
    """The change of UpdateNodeData or UpdateEdgeData."""

    id: str  # id of the node or the edge
    data_json: str  # a JSON object
    replace: bool  # True replaces the data; False merges a patch into it
    expected_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange:
    """The change of UpdateNodeStatus."""

    node_id: str
    status: str
    expected_status: str | None
    expected_version: int | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveChange:
    """The change of ArchiveNode."""

    node_id: str
    is_archived: bool
    expected_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """The change of ResetNode."""

    node_id: str
    expected_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIOChange:
    """The change of SetNodeIO."""

    node_id: str
    input_json: str | None  # None leaves it as it is
    output_json: str | None


class NodeIO(NamedTuple):
    """The input and the output of a node."""

    input_json: str | None  # None if it was never set
    output_json: str | None  # None if it was never set, or the node was reset
    modified_at: int | None  # None if neither was set
