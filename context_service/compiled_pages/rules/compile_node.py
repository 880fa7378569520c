"""Compile the page of a node by the rules of its definition, from the graph as the caller sees it.

A facet is a section of the page. It reads all nodes that its walk through the graph reaches, and filters types and
archived nodes itself. So it knows all nodes that it depends on, and their agent bundles, even if a node has no line in
the facet.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

from context_service.compiled_pages.model import (
    FACET_BYTES_MAX,
    CompiledNode,
    CompiledPage,
    FacetNode,
    PageFacet,
    stored,
)
from context_service.compiled_pages.pure.definition import CompiledDefinition, CompiledFacet
from context_service.history.pure.limits import HistoryLimits
from context_service.history.pure.mappings import Rule
from context_service.kernel.cel import CallBudget, CallBudgetExceeded, Duration, EvaluationError, Timestamp
from context_service.kernel.graph import EntityGraph
from context_service.kernel.graph_values import GraphNode, Origin, Reached, Walk, WholeNode
from contextkeep.errors import LimitExceeded, NodeBudgetExceeded
from service_runtime.rpc.calls import give_way
from service_runtime.rpc.fair_queue import SLICE_S
from service_runtime.values.checks import utf8_bytes
from service_runtime.values.copying import copied

TITLE_CHARS_MAX = 200
ALIASES_MAX, ALIAS_CHARS_MAX = 20, 200
NODES_MAX = 2_000  # nodes that the walk of a facet may reach
PAGE_NODES_MAX = 5_000  # nodes that all walks of a page may reach

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_US = 253_402_300_799_999_999  # the end of the year 9999

# Bits for what a page depends on: the node itself, the edges that leave it, and the edges that come to it.
NODE, EDGES_OUT, EDGES_IN = 1, 2, 4
_EDGES = {"out": EDGES_OUT, "in": EDGES_IN, "both": EDGES_OUT | EDGES_IN}


class PageMaking:
    """Makes pages, each within the budget of a call.

    Args:
        graph: The Entity Service, read as the caller.
        limits: The limits on time and size for the expressions of a page.
    """

    def __init__(self, graph: EntityGraph, limits: HistoryLimits) -> None:
        self._graph = graph
        self._limits = limits

    async def page(self, definition: CompiledDefinition, node: WholeNode) -> CompiledNode:
        """Return the page of a node.

        Raises:
            NodeNotFound: the node was deleted while it was read.
            Unavailable: the Entity Service does not answer.
        """
        compiled_node = CompiledNode()
        budget = self._limits.call_budget()
        if node.is_archived:
            return compiled_node
        try:
            named = _title_and_aliases(definition, node, budget, compiled_node)
            if named is None:
                return compiled_node
            title, aliases = named
            depends_on = {node.node_id: NODE}
            owners = {node.node_id: node.owner_user_id} if node.owner_user_id else {}
            readers = [_Reader(facet, node, budget, compiled_node) for facet in definition.facets]
            await self._read(node, readers, depends_on, owners, compiled_node)
            facets = [facet for reader in readers if (facet := reader.facet()) is not None]
        except CallBudgetExceeded as error:
            compiled_node.note("definition", node.node_id, error)
            compiled_node.failed = True
            return compiled_node
        compiled_node.page = CompiledPage(
            node=node, title=title, aliases=aliases, facets=facets, depends_on=depends_on, owners=owners
        )
        return compiled_node

    async def _read(
        self,
        root: WholeNode,
        readers: Sequence[_Reader],
        depends_on: dict[str, int],
        owners: dict[str, str],
        compiled_node: CompiledNode,
    ) -> None:
        """Read all nodes of the facets of a page. Facets whose walks differ only in depth share one walk."""
        walks: dict[tuple[tuple[str, ...], str], list[_Reader]] = {}
        for reader in readers:
            if walk := reader.walk:
                walks.setdefault((walk.edge_types, walk.direction), []).append(reader)
            else:
                await reader.read(_as_reached(root))
        for together in walks.values():
            problem = await self._walk(root, together, depends_on, owners)
            if not problem:
                continue
            for reader in together:  # the shared walk reached a limit, which a walk for one facet alone may not reach
                reader.begin()
                if len(together) > 1:
                    problem = await self._walk(root, [reader], depends_on, owners)
                if problem:
                    reader.begin()
                    compiled_node.note(f"{reader.place}.walk", root.node_id, problem)

    async def _walk(
        self, root: WholeNode, readers: Sequence[_Reader], depends_on: dict[str, int], owners: dict[str, str]
    ) -> str:
        """Read the nodes of a walk; return why it reached a limit, or an empty text if it did not."""
        walk = readers[0].walk
        assert walk is not None
        bits = _EDGES[walk.direction]
        depends_on[root.node_id] |= bits
        depth_max = max(reader.depth_max for reader in readers)
        walk_request = Walk(
            node_id=root.node_id,
            edge_types=walk.edge_types,
            direction=walk.direction,
            depth_max=depth_max,
            entity_types=(),
            include_start=any(reader.includes_start for reader in readers),
            include_archived=True,
            fields=frozenset({"type", "general_type"}).union(*(reader.fields for reader in readers)),
            with_edges=any(reader.reads_edges for reader in readers),
            with_origin=True,
        )
        count = 0
        try:
            async with aclosing(self._graph.walk(walk_request, limit=NODES_MAX + 1)) as pages:
                async for page in pages:
                    for node in page.nodes:
                        assert node.reached is not None and node.origin is not None
                        if node.origin.owner_user_id:
                            owners[node.node_id] = node.origin.owner_user_id
                        at_end = node.reached.depth == depth_max
                        depends_on[node.node_id] = depends_on.get(node.node_id, 0) | NODE | (0 if at_end else bits)
                        for reader in readers:
                            if reader.comes_to(node.reached.depth):
                                await reader.read(node)
                    count += len(page.nodes)
        except (NodeBudgetExceeded, LimitExceeded) as error:
            return error.message
        if count > NODES_MAX:
            return f"the walk of a facet may reach up to {NODES_MAX:,} nodes (got {count:,})"
        if len(depends_on) > PAGE_NODES_MAX:
            return f"a page may read up to {PAGE_NODES_MAX:,} nodes (got {len(depends_on):,})"
        return ""


class _Reader:
    """Reads one node after another for a facet, and collects its lines."""

    def __init__(self, facet: CompiledFacet, root: WholeNode, budget: CallBudget, compiled_node: CompiledNode) -> None:
        self._facet = facet
        self._root = root
        self._made = compiled_node
        self._when, self._text, self._confidence, self._as_of, self._time_to_live = (
            None if rule is None else rule.expression.evaluator(budget)
            for rule in (facet.when, facet.text, facet.confidence, facet.as_of, facet.time_to_live)
        )
        self.place = facet.place
        self.walk = facet.rules.walk
        self.depth_max = self.walk.depth_max if self.walk else 0
        self.includes_start = self.walk is not None and self.walk.include_start
        self.fields = _fields(facet)
        self.reads_edges = any(path[0] == "edge" for path in facet.read)
        self._types = frozenset(self.walk.entity_types) if self.walk else frozenset[str]()
        self._with_archived = self.walk is not None and self.walk.include_archived
        self._pause_at = time.perf_counter() + SLICE_S
        self.begin()

    def begin(self) -> None:
        """Forget the nodes that were read, before the walk is repeated."""
        self._lines: list[str] = []
        self._left_bytes = FACET_BYTES_MAX
        self._is_cut = False
        self._sources: list[FacetNode] = []
        self._bundles = {self._root.agent_bundle_id}
        self._sure = 1.0
        self._as_of_us: int | None = None
        self._until_us: int | None = None

    def comes_to(self, depth: int) -> bool:
        """Return whether the facet's own walk reads nodes at a depth."""
        return depth <= self.depth_max and (depth > 0 or self.includes_start)

    async def read(self, node: GraphNode) -> None:
        """Add a node to the facet, and yield to the event loop now and then."""
        assert node.origin is not None
        self._bundles.add(node.origin.agent_bundle_id)
        if self._is_meant(node):
            self._line(node)
        if time.perf_counter() > self._pause_at:
            await give_way()
            self._pause_at = time.perf_counter() + SLICE_S

    def facet(self) -> PageFacet | None:
        """Return the facet, or None if no node has a line in it."""
        if self._as_of_us is None:
            return None
        rules = self._facet.rules
        return copied(
            PageFacet,
            rules,
            text="\n".join(self._lines),
            is_cut=self._is_cut,
            confidence=self._sure,
            as_of=_time(self._as_of_us),
            fresh_until=None if self._until_us is None else _time(self._until_us),
            sources=self._sources,
            bundles=sorted(self._bundles),
            is_declassified=rules.declassify,
        )

    def _is_meant(self, node: GraphNode) -> bool:
        """Say whether the facet's rules admit a node, by its type and by whether it is archived."""
        assert node.origin is not None
        if node.origin.is_archived and not self._with_archived:
            return False
        return not self._types or not self._types.isdisjoint((node.entity["type"], node.entity["general_type"]))

    def _line(self, node: GraphNode) -> None:
        """Add the line of a node to the facet, with its confidence and times, unless the rules skip the node.

        A rule that fails adds a problem, and no line. After the size limit, the facet is marked as cut.
        """
        assert node.reached is not None and node.origin is not None
        variables = {"entity": node.entity, "edge": node.edge, "root": self._root.entity}
        place = "when"
        try:
            if self._when is not None and not self._when(variables):
                return
            place = "text"
            value: Any = self._text(variables) if self._text else ""
            line = stored(value).strip()
            if not line:
                return
            place = "confidence"
            sure = 1.0 if self._confidence is None else _confidence(self._confidence(variables))
            place = "as_of"
            as_of_us = node.reached.modified_at_us if self._as_of is None else _micros(self._as_of(variables))
            place = "time_to_live"
            until_us = None
            if self._time_to_live is not None:
                until_us = as_of_us + _span_us(self._time_to_live(variables))
        except EvaluationError as error:
            self._made.note(f"{self._facet.place}.{place}", node.node_id, error)
            return
        line_bytes = utf8_bytes(line) + 1
        if line_bytes > self._left_bytes:
            self._is_cut = True
            if self._lines:
                return
            line = line.encode()[: self._left_bytes - 1].decode(errors="ignore")
        self._left_bytes -= line_bytes
        self._lines.append(line)
        self._sources.append(
            FacetNode(node.node_id, node.origin.version, node.reached.edge_id, node.origin.edge_version)
        )
        self._sure = min(self._sure, sure)
        self._as_of_us = as_of_us if self._as_of_us is None else max(self._as_of_us, as_of_us)
        if until_us is not None and until_us <= _LATEST_US:
            self._until_us = until_us if self._until_us is None else min(self._until_us, until_us)


def _title_and_aliases(
    definition: CompiledDefinition, node: WholeNode, budget: CallBudget, compiled_node: CompiledNode
) -> tuple[str, list[str]] | None:
    """Return the title and the aliases of a page, or None if the node has no page."""
    variables = {"entity": node.entity}

    def value_of(rule: Rule) -> Any:
        return rule.expression.evaluator(budget)(variables)

    place = "when"
    try:
        if definition.when is not None and not value_of(definition.when):
            return None
        place = "title"
        title = _short(value_of(definition.title), TITLE_CHARS_MAX)
        place = "aliases"
        names = [] if definition.aliases is None else value_of(definition.aliases)[:ALIASES_MAX]
        if not all(isinstance(alias, str) for alias in names):
            raise EvaluationError("each alias must be a string")
    except EvaluationError as error:
        compiled_node.note(f"definition.{place}", node.node_id, error)
        compiled_node.failed = True
        return None
    aliases = [_short(alias, ALIAS_CHARS_MAX) for alias in names]
    return (title, list(dict.fromkeys(alias for alias in aliases if alias))) if title else None


def _fields(facet: CompiledFacet) -> frozenset[str]:
    """Return the fields of nodes that the expressions of a facet read, so that the walk returns no others."""
    return frozenset(
        name
        for name in ("external_id", "name", "status", "data", "io", "created_at", "modified_at")
        if facet.reads("entity", name)
    )


def _as_reached(node: WholeNode) -> GraphNode:
    """Return the root node of a page in the form of a node that a walk reached."""
    modified_at_us = (node.entity["modified_at"] - _EPOCH) // timedelta(microseconds=1)
    return GraphNode(
        node.node_id,
        0,
        0,
        node.entity,
        {"type": "", "depth": 0, "data": {}},
        Reached(modified_at_us, 0, "", "", ""),
        Origin(node.version, node.agent_bundle_id, node.is_archived, 0, node.owner_user_id),
    )


def _short(text: str, chars_max: int) -> str:
    """Return a text as one line of a few characters."""
    return " ".join(stored(text[: 4 * chars_max]).split())[:chars_max].strip()


def _type_name(value: object) -> str:
    return type(value).__name__.lower()


def _shown(value: object) -> str:
    """Return a number as it is, and the name of the type of anything else, for an error."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else _type_name(value)


def _confidence(value: object) -> float:
    """Return the confidence of a statement, the result of the definition's expression, as a number from 0 to 1.

    Raises:
        EvaluationError: it is not such a number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise EvaluationError(f"the result must be a number from 0 to 1 (got {_shown(value)})")
    return float(value)


def _micros(value: object) -> int:
    """Return the result of an expression as microseconds since 1970.

    Raises:
        EvaluationError: it is not a timestamp.
    """
    if not isinstance(value, datetime | Timestamp):
        raise EvaluationError(f"the result must be a timestamp (got {_type_name(value)})")
    return Timestamp.of(value).ns // 1000


def _span_us(value: object) -> int:
    """Return the result of an expression as a number of microseconds.

    Raises:
        EvaluationError: it is not a duration, or is negative.
    """
    if not isinstance(value, Duration) or value.ns < 0:
        raise EvaluationError(f"the result must be a duration of 0 or more (got {_type_name(value)})")
    return value.ns // 1000


def _time(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)
