"""Tests of rules before they are registered: on the nodes below a node, or on sample nodes.

Every expression that runs is recorded: its value or error, and how long it took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from context_service.history.model import size_bytes
from context_service.history.pure.limits import DEFAULTS, HistoryLimits
from context_service.history.pure.mapping_rules import Rules
from context_service.history.pure.mappings import Mapping, Rule
from context_service.history.pure.node_mapper import MappedNode, NodeMapper, Skip, Skipped, SkipReason, Variables
from context_service.history.rules.registry import MappingRegistry
from context_service.history.rules.walk import begin, within_budget
from context_service.kernel.cel import EvaluationError, JsonWriter
from context_service.kernel.graph import EntityGraph
from context_service.kernel.graph_values import GraphNode
from contextkeep.errors import InvalidArgument, InvalidPageToken
from service_runtime.inputs.documents import beside_the_loop, parse_json, parse_object
from service_runtime.inputs.pages import PAGE_BYTES_MAX, decode_token, encode_token, is_place, page_size
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_count, check_text, utf8_bytes

SAMPLES_MAX = 1000
VALUE_BYTES_MAX = 16 * 1024  # limit for one value in the answer
EVALUATIONS_BYTES_MAX = 256 * 1024  # limit for all evaluations of a node in the answer
_NODE_BYTES = 100
_EVALUATION_BYTES = 60
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A node on which rules are tested. It need not exist; its id may be any text."""

    id: str
    external_id: str
    name: str
    type: str
    general_type: str  # empty takes the specific type
    status: str
    data_json: str  # an object
    input_json: str  # empty means it was never set; so does `output_json`
    output_json: str
    created_at: datetime | None  # None takes the start of 1970, so that each trial gives the same result
    modified_at: datetime | None  # None takes `created_at`
    edge_type: str
    depth: int
    edge_data_json: str
    edges_json: str  # an array; empty means there are none; so does `path_json`
    path_json: str

    @property
    def documents_chars(self) -> int:
        """Return how many characters of JSON there are to parse."""
        documents = (self.data_json, self.input_json, self.output_json, self.edge_data_json, self.edges_json)
        return sum(map(len, documents)) + len(self.path_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The rules to test, and the nodes to test them on."""

    rules: Rules
    node_id: str  # empty takes `samples`
    samples: Sequence[Sample]
    root: Sample | None  # the value of `root` for the rules; not one of `samples`
    page_size: int  # nodes
    page_token: str

    @property
    def documents_chars(self) -> int:
        """Return how many characters of JSON there are to parse in all samples."""
        return sum(node.documents_chars for node in (self.root, *self.samples) if node is not None)


class Evaluation(NamedTuple):
    """One run of an expression."""

    rule: str  # "rules.messages[0].when"
    element: int | None  # the index of the element of `for_each`, if there is one
    value_json: str  # empty if the expression failed, or if the value was left out
    left_out: bool  # the value is larger than `VALUE_BYTES_MAX`
    error: str
    duration_us: int


class TriedNode(NamedTuple):
    """A node and the results of the rules on it."""

    node_id: str
    outcome: MappedNode
    evaluations: list[Evaluation]
    left_out: int  # more evaluations, which are too many to tell
    duration_us: int  # the time of all expressions together

    @property
    def decided_by(self) -> str:
        """Return the rule that gave the first message, or the expression that prevented it."""
        if self.outcome.given:
            return self.outcome.given[0].rule
        return self.outcome.skips[-1].rule


class TrialPage(NamedTuple):
    """Some nodes, in the order of `created_at`, or as they were given."""

    nodes: list[TriedNode]
    next_page_token: str


class MappingTrials:
    """Tests rules on nodes."""

    def __init__(self, graph: EntityGraph, mappings: MappingRegistry, limits: HistoryLimits = DEFAULTS) -> None:
        self._graph = graph
        self._mappings = mappings
        self._limits = limits

    async def page(self, principal: Principal, trial: Trial) -> TrialPage:
        """Return a page of nodes with the results of rules on them.

        Raises:
            InvalidArgument: the rules do not compile, a sample is malformed, or there is neither a node nor a sample.
            LimitExceeded: the rules or a sample exceed a limit.
            InvalidPageToken: the token is malformed or belongs to another test.
            NodeNotFound: there is no such node.
            CostExceeded: the expressions cost more than a call may spend.
        """
        if bool(trial.node_id) == bool(trial.samples):
            raise InvalidArgument("give either node_id or nodes", field="nodes" if trial.samples else "node_id")
        if trial.root is not None and not trial.samples:
            raise InvalidArgument("root goes with nodes only; with node_id, that node is the root", field="root")
        check_count("nodes", len(trial.samples), SAMPLES_MAX)
        size = page_size(trial.page_size)
        query = await beside_the_loop(trial.documents_chars, _query, principal, trial)
        key = decode_token(query, trial.page_token, parts=2)
        if key is not None and not (is_place(*key) if trial.node_id else _is_index(key)):
            raise InvalidPageToken("page_token is malformed", field="page_token")
        mapping = await self._mappings.compile_rules(principal, trial.rules)
        with within_budget():
            if trial.node_id:
                page = await self._of_node(trial.node_id, mapping, size, key)
            else:
                page = await self._of_samples(trial, mapping, size, key)
        return TrialPage(page.rows, "" if page.last is None else encode_token(query, page.last))

    async def _of_node(self, node_id: str, mapping: Mapping, size: int, key: Sequence[int] | None) -> _Page:
        """Return a page of the nodes below a node, from the one after `key`, with the results of the rules."""
        reading = await begin(self._graph, mapping, node_id, self._limits, whole=True, mapper_class=_WatchedMapper)
        page = _Page(reading.mapper)
        after = None if key is None else (key[0], key[1])
        async with aclosing(self._graph.walk(reading.walk, limit=size, after=after)) as pages:
            more = False
            async for walked in pages:
                more = bool(walked.next_page_token)
                for node in walked.nodes:
                    if not await page.add(node, (node.created_at_us, node.seq)):
                        return page
        if not more:
            page.last = None
        return page

    async def _of_samples(self, trial: Trial, mapping: Mapping, size: int, key: Sequence[int] | None) -> _Page:
        """Return a page of the sample nodes, from the one after `key`, with the results of the rules."""
        # All samples are checked first, since a page would not show the fault of a sample on a later page.
        root = await beside_the_loop(trial.documents_chars, self._check_samples, trial)
        mapper = _WatchedMapper(mapping, root, Skipped(), self._limits.call_budget(), strict=False)
        page = _Page(mapper)
        first = 0 if key is None else key[1] + 1
        for index, sample in enumerate(trial.samples[first : first + size], first):
            # Parse each sample when it is needed: freeing all documents at once would block other calls.
            node = await beside_the_loop(sample.documents_chars, self._node, f"nodes[{index}]", sample, index)
            if not await page.add(node, (0, index)):
                return page
        if first + size >= len(trial.samples):
            page.last = None
        return page

    def _check_samples(self, trial: Trial) -> dict[str, Any]:
        """Return the entity of the root, after all samples were checked.

        Raises:
            InvalidArgument, LimitExceeded: as `_node`.
        """
        for index, sample in enumerate(trial.samples):
            self._node(f"nodes[{index}]", sample, index)
        return {} if trial.root is None else self._node("root", trial.root, 0).entity

    def _node(self, field: str, sample: Sample, index: int) -> GraphNode:
        """Return a sample in the form of a node that a walk reached.

        Raises:
            InvalidArgument: one of its fields is malformed.
            LimitExceeded: one of its fields is too long.
        """
        for name in ("id", "external_id", "name", "type", "general_type", "status", "edge_type"):
            check_text(f"{field}.{name}", getattr(sample, name), chars_max=self._limits.sample_chars_max)
        if sample.depth < 0:
            raise InvalidArgument(f"{field}.depth must be 0 or more (got {sample.depth})", field=f"{field}.depth")
        created_at = sample.created_at or _EPOCH
        limits = {"size_bytes_max": self._limits.sample_bytes_max, "nesting_max": self._limits.sample_nesting_max}
        sides = {"input": sample.input_json, "output": sample.output_json}
        node_id = sample.id or field
        entity = {
            "id": node_id,
            "external_id": sample.external_id,
            "name": sample.name,
            "type": sample.type,
            "general_type": sample.general_type or sample.type,
            "status": sample.status or "Created",
            "data": parse_object(f"{field}.data_json", sample.data_json, **limits),
            "created_at": created_at,
            "modified_at": sample.modified_at or created_at,
            "io": {side: parse_json(f"{field}.{side}_json", text, **limits) for side, text in sides.items() if text},
        }
        edge = {
            "type": sample.edge_type,
            "depth": sample.depth,
            "data": parse_object(f"{field}.edge_data_json", sample.edge_data_json, **limits),
        }
        created_at_us = (created_at - _EPOCH) // timedelta(microseconds=1)
        edges, path = (
            parse_json(f"{field}.{name}_json", text or "[]", **limits)
            for name, text in (("edges", sample.edges_json), ("path", sample.path_json))
        )
        for name, value in (("edges", edges), ("path", path)):
            if not isinstance(value, list):
                raise InvalidArgument(f"{field}.{name}_json must be a JSON array", field=f"{field}.{name}_json")
        return GraphNode(node_id, created_at_us, index, entity, edge, edges=edges, path=path)


class _WatchedMapper(NodeMapper):
    """A mapper that records the value and duration of each expression."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._noting = self._budget.unspent()  # rules have as much to spend as without a watch
        self._evaluations: list[Evaluation] = []
        self._bytes = 0  # about the size of the evaluations
        self._left_out = 0
        self._duration_ns = 0

    async def try_node(self, node: GraphNode) -> TriedNode:
        """Return the results of the rules on a node."""
        self._evaluations, self._bytes, self._left_out, self._duration_ns = [], 0, 0, 0
        walk = self._mapping.walk
        types = {node.entity["type"], node.entity["general_type"]}
        if walk.entity_types and not types & set(walk.entity_types):  # a sample: no walk would give it
            return TriedNode(node.node_id, MappedNode([], [Skip(SkipReason.FILTERED, "rules.entity_types")]), [], 0, 0)
        outcome = await self.outcome(node)
        if self._mapping.sorts:
            self.place(node)
        return TriedNode(node.node_id, outcome, self._evaluations, self._left_out, self._duration_ns // 1000)

    def _evaluator(self, rule: Rule) -> Callable[[Variables], Any]:
        """Return a function that evaluates a rule, and records its value or error and its duration."""
        evaluated = super()._evaluator(rule)

        def watched(variables: Variables) -> Any:
            element = variables.get("index")
            started_ns = time.perf_counter_ns()
            try:
                value = evaluated(variables)
            except EvaluationError as error:
                self._note(rule, element, started_ns, error=str(error))
                raise
            self._note(rule, element, started_ns, value=value)
            return value

        return watched

    def _note(self, rule: Rule, element: object, started_ns: int, *, value: object = None, error: str = "") -> None:
        """Record one run of a rule, unless the records of this node are too large already.

        Args:
            rule: The rule that ran.
            element: The index in the list of `for_each`, if it is one.
            started_ns: The time before the run, from `perf_counter_ns`.
            value: The value that it gave.
            error: The reason why it failed; empty if it gave a value.
        """
        duration_ns = time.perf_counter_ns() - started_ns
        self._duration_ns += duration_ns
        if self._bytes > EVALUATIONS_BYTES_MAX:  # one node may have a list of a million elements
            self._left_out += 1
            return
        text, left_out = "", False
        if not error:
            try:
                self._noting.resume(self._noting.call_steps_left)
                text = JsonWriter(self._noting, bytes_max=VALUE_BYTES_MAX).text(value)
            except EvaluationError:
                left_out = True
        index = element if isinstance(element, int) else None
        self._evaluations.append(Evaluation(rule.place, index, text, left_out, error, duration_ns // 1000))
        self._bytes += _EVALUATION_BYTES + len(rule.place) + utf8_bytes(text) + utf8_bytes(error)

    @property
    def evaluations_bytes(self) -> int:
        """Return about how many bytes the records of the last node take in an answer."""
        return self._bytes


class _Page:
    """A page that is being filled."""

    def __init__(self, mapper: NodeMapper) -> None:
        assert isinstance(mapper, _WatchedMapper)
        self.rows: list[TriedNode] = []
        self.last: tuple[int, int] | None = None  # the place after which the next page begins; None on the last page
        self._mapper = mapper
        self._bytes = 0

    async def add(self, node: GraphNode, place: tuple[int, int]) -> bool:
        """Add the node at a place, and return whether it fits on the page."""
        row = await self._mapper.try_node(node)
        row_bytes = _NODE_BYTES + sum(size_bytes(item.message) for item in row.outcome.given)
        row_bytes += self._mapper.evaluations_bytes
        if self.rows and self._bytes + row_bytes > PAGE_BYTES_MAX:
            return False
        self.rows.append(row)
        self._bytes += row_bytes
        self.last = place
        return True


def _query(principal: Principal, trial: Trial) -> tuple[object, ...]:
    bare_trial = replace(trial, page_size=0, page_token="")
    digest = sha256(orjson.dumps(bare_trial, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return ("TestMapping", principal.tenant_id, digest)


def _is_index(key: Sequence[Any]) -> bool:
    return key[0] == 0 and type(key[1]) is int and 0 <= key[1] < SAMPLES_MAX
