"""The beginning of every reading of a history: the walk, the root node if a rule reads it, and a mapper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from context_service.history.pure.limits import HistoryLimits
from context_service.history.pure.mappings import Mapping
from context_service.history.pure.node_mapper import NodeMapper, Skipped
from context_service.kernel.cel import CallBudgetExceeded
from context_service.kernel.graph import EntityGraph
from context_service.kernel.graph_values import ENTITY_FIELDS, Walk
from contextkeep.errors import CostExceeded
from service_runtime.values.copying import copied


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRead:
    """A read of the nodes below a node, with a mapping."""

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
    whole: bool = False,
    with_io: bool = False,
    mapper_class: type[NodeMapper] = NodeMapper,
) -> HistoryRead:
    """Return a read of the nodes below a node.

    Args:
        graph: The Entity Service, read as the caller.
        mapping: The mapping that decides what is read and how.
        node_id: The id of the node at which the walk starts.
        limits: The limits on the cost of expressions.
        skipped: Counts the nodes and rules that give no message; None counts nothing.
        strict: Whether the reading fails when a rule fails on a node.
        whole: Read all fields of nodes, and how they were reached, even if no rule reads them.
        with_io: Read the input and output of nodes, too.
        mapper_class: The class of the mapper that makes the messages.

    Raises:
        NodeNotFound: a rule reads the root, which does not exist; otherwise the walk raises this later.
    """
    root = {}
    if mapping.reads_any("root"):
        root = await graph.node(node_id, with_io=mapping.reads("root", "io"))
    mapper = mapper_class(mapping, root, skipped or Skipped(), limits.call_budget(), strict=strict)
    walk = _walk(mapping, node_id)
    if whole:
        walk = replace(walk, fields=walk.fields | (ENTITY_FIELDS - {"io"}), with_reached=True)
    if with_io:
        walk = replace(walk, fields=walk.fields | {"io"})
    return HistoryRead(mapping=mapping, walk=walk, mapper=mapper)


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
    """Return the walk of a mapping from a node. It reads only the fields that the mapping's expressions read."""
    walk = mapping.walk
    return copied(
        Walk,
        walk,
        node_id=node_id,
        fields=frozenset(name for name in ENTITY_FIELDS if mapping.reads("entity", name)),
        with_edges=mapping.reads_any("edge"),
        with_all_edges=mapping.reads_any("edges"),
        with_path=mapping.reads_any("path"),
        with_reached=False,
        with_origin=False,
    )
