"""The manifest: the records below a root node, by entity and memory type.

One walk of the graph finds the entities and their parents; one statement reads the records of a page of them. A
manifest is never stored.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from context_service.kernel.graph import EntityGraph
from context_service.kernel.graph_values import TreeNode
from context_service.working_memory.pure.fields import FieldChecks, RecordFilter
from context_service.working_memory.store.manifest import MANIFEST
from context_service.working_memory.store.record_columns import Record, record_of
from context_service.working_memory.store.record_filters import filter_parameters
from contextkeep.errors import AnswerTooLarge, InvalidArgument, InvalidPageToken, NodeNotFound
from service_runtime.inputs import pages
from service_runtime.postgres import Database, Row, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_at_most, check_texts

EDGE_TYPES = ("Contains", "Owns", "Calls", "Produces", "HasIO", "HAS_CHILD", "HAS_STEP")
EDGE_TYPES_MAX = 100
DEPTH_DEFAULT = 3
RECORDS_DEFAULT = 100
RECORDS_MAX = 1000
GROUPS_MAX = 1000  # memory types of one entity

_EDGE_TYPE_CHARS_MAX = 128
# Estimates of the bytes that a response needs: for a group and for an entity, both without their texts, and for an id
# on the path of an entity.
_GROUP_BYTES, _ENTITY_BYTES, _STEP_BYTES = 40, 200, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestQuestion:
    """A page of a manifest, as the request names it."""

    which: RecordFilter  # its entity is the root
    edge_types: Sequence[str]  # the edges to follow; empty means `EDGE_TYPES`
    depth_max: int  # how far to follow them; 0 means `DEPTH_DEFAULT`
    counts_only: bool
    records_max: int  # the most records of one entity and memory type; 0 means `RECORDS_DEFAULT`
    page_size: int
    page_token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestGroup:
    """An entity's records of one memory type."""

    memory_type: str
    record_count: int
    size_bytes: int
    records: list[Record] = field(default_factory=list)  # newest first; at most `records_max`, and as many as fit


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntity:
    """An entity that has records, and its place in the tree."""

    node: TreeNode
    path: Sequence[str]  # node ids from the root to this one, both included
    groups: list[ManifestGroup] = field(default_factory=list)  # by memory type


class Manifests:
    """Reads manifests, which list the records below a node by entity; each call acts for its principal.

    Args:
        database: The database that holds the records.
        graph: The client of the Entity Service, which holds the entities.
        checks: Checks the filters of a caller.
        depth_max: The greatest depth of a walk that the Entity Service allows.
    """

    def __init__(self, database: Database, *, graph: EntityGraph, checks: FieldChecks, depth_max: int) -> None:
        self._database = database
        self._graph = graph
        self._checks = checks
        self._depth_max = depth_max

    async def page(self, question: ManifestQuestion, *, principal: Principal) -> tuple[list[ManifestEntity], str]:
        """Return a page of a manifest, and the token of the next one, empty at the end.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too long or too large.
            InvalidPageToken: the token belongs to another manifest.
            NodeBudgetExceeded: there are too many entities below the root.
            AnswerTooLarge: one entity has more memory types than an answer takes.
            Unavailable: the Entity Service does not answer.
        """
        query, edge_types, depth_max, records_max = self._check(question, principal)
        key = pages.decode_token(query, question.page_token, parts=3)
        page_size = pages.page_size(question.page_size)
        nodes = await self._tree(str(question.which.entity_node_id), edge_types, depth_max)
        by_id = {node.node_id: node for node in nodes}
        nodes_left = [node for node in nodes if question.which.include_archived or not node.is_archived]
        if key is not None:
            after = _after(key)
            nodes_left = [node for node in nodes_left if _key(node) > after]

        rows = await self._rows(
            self._database.of(principal),
            nodes_left,
            question.which,
            entities_max=page_size,
            records_max=0 if question.counts_only else records_max,
        )
        entities = _entities(rows, by_id)
        if not rows or rows[0].found == len(entities):
            return entities, ""
        return entities, pages.encode_token(query, _key(entities[-1].node))

    def _check(self, question: ManifestQuestion, principal: Principal) -> tuple[Any, Sequence[str], int, int]:
        """Check a request; return the query that page tokens are bound to, edge types, depth and records per group."""
        self._checks.check_filter(question.which)
        edge_types = question.edge_types or EDGE_TYPES
        check_texts("edge_types", edge_types, count_max=EDGE_TYPES_MAX, chars_max=_EDGE_TYPE_CHARS_MAX)
        for name in ("depth_max", "records_max"):
            if getattr(question, name) < 0:
                raise InvalidArgument(f"{name} must be 0 or more (got {getattr(question, name)})", field=name)
        depth_max = question.depth_max or DEPTH_DEFAULT
        check_at_most("depth_max", depth_max, self._depth_max)
        records_max = min(question.records_max or RECORDS_DEFAULT, RECORDS_MAX)
        which = dataclasses.astuple(question.which)
        query = ("FetchWMManifest", principal.tenant_id, edge_types, depth_max, *which)
        return query, edge_types, depth_max, records_max

    async def _tree(self, root_id: str, edge_types: Sequence[str], depth_max: int) -> list[TreeNode]:
        """Return the nodes below a root, and the root itself, even if the node does not exist yet."""
        try:
            return await self._graph.tree(root_id, edge_types=edge_types, depth_max=depth_max)
        except NodeNotFound:  # a record may be written before its node
            return [TreeNode(root_id, 0, 0, "", "", False, 0, "", "")]

    async def _rows(
        self, tenant: Tenant, nodes: Sequence[TreeNode], which: RecordFilter, *, entities_max: int, records_max: int
    ) -> list[Row]:
        """Read the records and counts of a page of entities: the first `entities_max` that have records."""
        parameters = {
            **filter_parameters(which),
            "entity_node_ids": [UUID(node.node_id) for node in nodes],
            "entity_bytes": [_entity_bytes(node) for node in nodes],
            "entities_max": entities_max,
            "records_max": records_max,
            "groups_max": GROUPS_MAX,
            "group_bytes": _GROUP_BYTES,
            "bytes_max": pages.PAGE_BYTES_MAX,
        }
        return await tenant.query(MANIFEST, parameters)


def _entities(rows: Sequence[Row], by_id: Mapping[str, TreeNode]) -> list[ManifestEntity]:
    """Group the rows of a page by entity, and within an entity by memory type.

    Rows must be ordered by entity, then by memory type.

    Raises:
        AnswerTooLarge: one entity has more than `GROUPS_MAX` memory types.
    """
    entities: list[ManifestEntity] = []
    for row in rows:
        node = by_id[str(row.at_id)]
        if not entities or entities[-1].node is not node:
            entities.append(ManifestEntity(node=node, path=_path(node, by_id)))
        groups = entities[-1].groups
        if not groups or groups[-1].memory_type != row.group_type:
            if len(groups) == GROUPS_MAX:
                raise AnswerTooLarge(
                    f"entity {node.node_id} has records of more than {GROUPS_MAX} memory types; filter by memory_types",
                    use="QueryWMRecords",
                    entity_node_id=node.node_id,
                )
            groups.append(
                ManifestGroup(
                    memory_type=row.group_type, record_count=row.record_count, size_bytes=row.group_size_bytes
                )
            )
        if row.id is not None:
            groups[-1].records.append(record_of(row))
    return entities


def _entity_bytes(node: TreeNode) -> int:
    """Estimate the bytes that an entity needs in the response, with its path and its texts."""
    chars = len(node.name) + len(node.type) + len(node.edge_type)
    return _ENTITY_BYTES + (node.depth + 1) * _STEP_BYTES + 4 * chars


def _path(node: TreeNode, by_id: Mapping[str, TreeNode]) -> list[str]:
    """Return the ids of the nodes from the root to a node, both included."""
    path = [node.node_id]
    while node.depth:
        path.append(node.parent_id)
        if node.parent_id not in by_id:  # deleted while the walk went on
            break
        node = by_id[node.parent_id]
    return path[::-1]


def _key(node: TreeNode) -> tuple[int, int, int]:
    """Return the sort key of a node in the manifest: the root comes first, then `created_at`, then `seq`."""
    return int(node.depth > 0), node.created_at_us, node.seq


def _after(key: list[Any]) -> tuple[int, int, int]:
    """Return the sort key in a page token's key; it is checked because a caller may have made it up."""
    if any(type(part) is not int for part in key):
        raise InvalidPageToken("page_token is malformed", field="page_token")
    rank, created_at_us, seq = key
    return rank, created_at_us, seq
