"""Changes of a node: each under the lock of its row, so that what was expected still holds when it is written."""

from __future__ import annotations

from dataclasses import dataclass

from contextkeep.errors import StatusConflict, VersionConflict
from entity_service.merge_patch import merge_patch
from entity_service.model import STATUS_DEFAULT, Node
from entity_service.node_io import clear_output
from entity_service.progress import append_status, clear_timeline
from entity_service.store import NODE, NODE_COLUMNS, node_not_found
from service_runtime.auth import Principal
from service_runtime.checks import check_size
from service_runtime.documents import beside_the_loop, check_containers
from service_runtime.postgres import Database, Transaction
from service_runtime.requests import Request, Requests

# Not FOR UPDATE: new edges to the node need not wait.
_LOCK = f"{NODE} FOR NO KEY UPDATE"
_LOCK_FOR_REMOVAL = f"{NODE} FOR UPDATE"

# The clock, because `now()` is from before the wait for the lock; never back behind the change before.
_SET_DATA = f"""
UPDATE entity.node n
SET data = %(data)s::jsonb, version = n.version + 1, modified_at = greatest(clock_timestamp(), n.modified_at)
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
RETURNING {NODE_COLUMNS}
"""  # noqa: S608
_SET_STATUS = f"""
UPDATE entity.node n
SET status = %(status)s, version = n.version + 1, modified_at = greatest(clock_timestamp(), n.modified_at)
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
RETURNING {NODE_COLUMNS}
"""  # noqa: S608
_SET_ARCHIVED = f"""
UPDATE entity.node n
SET is_archived = %(is_archived)s, version = n.version + 1, modified_at = greatest(clock_timestamp(), n.modified_at)
WHERE n.tenant_id = %(tenant_id)s AND n.id = %(id)s
RETURNING {NODE_COLUMNS}
"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class DataChange:
    """What UpdateNodeData or UpdateEdgeData is asked for."""

    id: str  # of the node or the edge
    data_json: str  # a JSON object
    replace: bool  # else it is a merge patch
    expected_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange:
    """What UpdateNodeStatus is asked for."""

    node_id: str
    status: str
    expected_status: str | None
    expected_version: int | None
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveChange:
    """What ArchiveNode is asked for."""

    node_id: str
    is_archived: bool
    expected_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """What ResetNode is asked for."""

    node_id: str
    expected_version: int | None


class NodeChanges:
    """Changes nodes."""

    def __init__(self, database: Database, *, document_bytes_max: int) -> None:
        self._database = database
        self._document_bytes_max = document_bytes_max
        self._requests = Requests("entity")

    async def update_data(self, principal: Principal, change: DataChange, request: Request | None) -> Node:
        """Merge into a node's data, or replace it.

        Raises:
            NodeNotFound: there is no such node.
            VersionConflict: it has another version than expected.
            LimitExceeded: the result is too large.
            RequestIdReused: the request id was used with other content.
        """

        async def work(transaction: Transaction) -> Node:
            node = await _locked(transaction, change.id)
            check_version(node, change.expected_version)
            data_json = await changed_data(node.data_json, change, size_bytes_max=self._document_bytes_max)
            # All of it is the answer: nothing else remembers what it was after this change.
            return await _changed(transaction, _SET_DATA, node, data=data_json)

        return await self._database.of(principal).transaction(self._requests.once(request, work))

    async def update_status(self, principal: Principal, change: StatusChange) -> Node:
        """Change a node's status and append the envelope that says so; a node that has it is left alone.

        Raises:
            NodeNotFound: there is no such node.
            StatusConflict, VersionConflict: it has another status or version than expected.
        """

        async def work(transaction: Transaction) -> Node:
            node = await _locked(transaction, change.node_id)
            if node.status == change.status:
                return node
            if change.expected_status is not None and node.status != change.expected_status:
                raise StatusConflict("the node has another status", status=node.status)
            check_version(node, change.expected_version)
            await append_status(transaction, principal, node, status=change.status, message=change.message)
            return await _changed(transaction, _SET_STATUS, node, status=change.status)

        return await self._database.of(principal).transaction(work)

    async def reset(self, principal: Principal, reset: Reset) -> Node:
        """Put a node back to before its run: its first status, no output, no timeline.

        Raises:
            NodeNotFound: there is no such node.
            VersionConflict: it has another version than expected, and there is something to put back.
        """

        async def work(transaction: Transaction) -> Node:
            node = await _locked(transaction, reset.node_id)
            cleared = await clear_output(transaction, reset.node_id) + await clear_timeline(transaction, reset.node_id)
            if node.status == STATUS_DEFAULT and not cleared:
                return node
            check_version(node, reset.expected_version)
            if node.status == STATUS_DEFAULT:
                return node
            return await _changed(transaction, _SET_STATUS, node, status=STATUS_DEFAULT)

        return await self._database.of(principal).transaction(work)

    async def archive(self, principal: Principal, change: ArchiveChange) -> Node:
        """Archive a node or bring it back; one that is so already is left alone.

        Raises:
            NodeNotFound: there is no such node.
            VersionConflict: it has another version than expected.
        """

        async def work(transaction: Transaction) -> Node:
            node = await _locked(transaction, change.node_id)
            if node.is_archived == change.is_archived:
                return node
            check_version(node, change.expected_version)
            return await _changed(transaction, _SET_ARCHIVED, node, is_archived=change.is_archived)

        return await self._database.of(principal).transaction(work)


async def changed_data(data_json: str, change: DataChange, *, size_bytes_max: int) -> str:
    """Return what a document is after a change.

    Raises:
        LimitExceeded: it is too large then.
    """
    if change.replace:
        return change.data_json
    size_bytes = len(data_json) + len(change.data_json)
    changed = await beside_the_loop(size_bytes, merge_patch, data_json, change.data_json)
    check_size("data_json", changed, size_bytes_max=size_bytes_max)
    check_containers("data_json", changed)
    return changed


def check_version(node: Node, expected_version: int | None) -> None:
    """Refuse a change of a node that is not as expected.

    Raises:
        VersionConflict: it has another version.
    """
    if expected_version is not None and node.version != expected_version:
        raise VersionConflict("the node was changed meanwhile", version=node.version)


async def lock_node_for_removal(transaction: Transaction, node_id: str) -> Node:
    """Return a node that nothing can be hung on until the transaction ends.

    Raises:
        NodeNotFound: the tenant has none of this id.
    """
    return await _locked(transaction, node_id, _LOCK_FOR_REMOVAL)


async def _locked(transaction: Transaction, node_id: str, statement: str = _LOCK) -> Node:
    rows = await transaction.query(statement, {"id": node_id}, named=False)
    if not rows:
        raise node_not_found(node_id)
    return Node._make(rows[0])


async def _changed(transaction: Transaction, statement: str, node: Node, **values: object) -> Node:
    parameters = {"id": node.id, **values}
    (row,) = await transaction.query(statement, parameters, named=False)
    return Node._make(row)
