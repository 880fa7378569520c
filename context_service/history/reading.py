"""What every reading of a history begins with: the walk, the root where a rule reads it, and a mapper with a budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from context_service.history.cel import CallBudgetExceeded
from context_service.history.entity_graph import EntityGraph, Walk
from context_service.history.limits import HistoryLimits
from context_service.history.mappings import Mapping
from context_service.history.node_mapper import NodeMapper, Skipped
from contextgraph.errors import CostExceeded


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A mapping, about to read the nodes below one."""

    mapping: Mapping
    walk: Walk
    mapper: NodeMapper


async def begin(
    graph: EntityGraph,
    mapping: Mapping,
    node_id: str,
    limits: HistoryLimits,
    *,
    skipped: Skipped | None = None,
    strict: bool = False,
    with_reached: bool = False,
    with_io: bool = False,
    mapper_class: type[NodeMapper] = NodeMapper,
) -> Reading:
    """Return the reading of what is below a node.

    Args:
        graph: Where the node is.
        mapping: How it is read.
        node_id: Where the walk starts.
        limits: What the expressions may spend.
        skipped: Where what gives no message is counted.
        strict: Fail on the first node on which a rule fails.
        with_reached: Say how nodes were reached, and when they were changed.
        mapper_class: What gives the messages.
        with_io: Bring input and output, whether a rule reads them or not.

    Raises:
        NodeNotFound: a rule reads the root, and it is not there; else the walk says so.
    """
    root = {}
    if mapping.reads("root"):
        root = await graph.node(node_id, with_io=mapping.reads("root", "io"))
    mapper = mapper_class(mapping, root, skipped or Skipped(), limits.call_budget(), strict=strict)
    walk = _walk(mapping, node_id)
    if with_reached:
        walk = replace(walk, with_reached=True, with_times=True)
    if with_io:
        walk = replace(walk, with_io=True)
    return Reading(mapping=mapping, walk=walk, mapper=mapper)


@contextmanager
def within_budget() -> Iterator[None]:
    """Turn the end of a call's budget into the error that callers see.

    Raises:
        CostExceeded: the expressions cost more than a call may spend.
    """
    try:
        yield
    except CallBudgetExceeded as error:
        raise CostExceeded(str(error), limit=error.limit, limit_max=error.maximum, value=error.value) from error


def _walk(mapping: Mapping, node_id: str) -> Walk:
    walk = mapping.walk
    return Walk(
        node_id=node_id,
        edge_types=walk.edge_types,
        direction=walk.direction,
        depth_max=walk.depth_max,
        entity_types=walk.entity_types,
        include_start=walk.include_start,
        include_archived=walk.include_archived,
        with_edges=mapping.reads("edge"),
        with_times=mapping.reads("entity", "created_at") or mapping.reads("entity", "modified_at"),
        with_io=mapping.reads("entity", "io"),
    )
