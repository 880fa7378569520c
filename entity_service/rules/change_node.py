"""Changes of a node: each under the lock of its row, so that an expected version still holds when it is written."""

from __future__ import annotations

from contextkeep.errors import StatusConflict
from entity_service.model.nodes import STATUS_DEFAULT, ArchiveChange, DataChange, Node, Reset, StatusChange
from entity_service.pure.versions import check_version
from entity_service.rules.data_change import changed_data
from entity_service.store.node_changes import SET_ARCHIVED, SET_DATA, SET_STATUS, changed_node, locked_node
from entity_service.store.node_io import clear_output
from entity_service.store.progress import append_status, clear_timeline
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests


class NodeChanges:
    """Changes the data and the status of nodes, archives them, and resets them."""

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
            node = await locked_node(transaction, change.id)
            check_version(node, change.expected_version)
            data_json = await changed_data(node.data_json, change, size_bytes_max=self._document_bytes_max)
            # The whole node is stored as the answer, since later changes overwrite the row.
            return await changed_node(transaction, SET_DATA, node, data=data_json)

        return await self._database.of(principal).transaction(self._requests.once(request, work))

    async def update_status(self, principal: Principal, change: StatusChange) -> Node:
        """Change a node's status, and append an envelope about it to the node's timeline.

        A node that has the status already is not changed.

        Raises:
            NodeNotFound: there is no such node.
            StatusConflict: the node has another status than expected.
            VersionConflict: the node has another version than expected.
        """

        async def work(transaction: Transaction) -> Node:
            node = await locked_node(transaction, change.node_id)
            if node.status == change.status:
                return node
            if change.expected_status is not None and node.status != change.expected_status:
                raise StatusConflict(
                    f"the node has the status {node.status}, not the expected {change.expected_status}",
                    status=node.status,
                )
            check_version(node, change.expected_version)
            await append_status(transaction, principal, node, status=change.status, message=change.message)
            return await changed_node(transaction, SET_STATUS, node, status=change.status)

        return await self._database.of(principal).transaction(work)

    async def reset(self, principal: Principal, reset: Reset) -> Node:
        """Reset a node to its state before it ran: the first status, no output, no timeline.

        Raises:
            NodeNotFound: there is no such node.
            VersionConflict: the node has another version than expected, and there is something to reset.
        """

        async def work(transaction: Transaction) -> Node:
            node = await locked_node(transaction, reset.node_id)
            cleared = await clear_output(transaction, reset.node_id) + await clear_timeline(transaction, reset.node_id)
            if node.status == STATUS_DEFAULT and not cleared:
                return node
            check_version(node, reset.expected_version)
            if node.status == STATUS_DEFAULT:
                return node
            return await changed_node(transaction, SET_STATUS, node, status=STATUS_DEFAULT)

        return await self._database.of(principal).transaction(work)

    async def archive(self, principal: Principal, change: ArchiveChange) -> Node:
        """Archive a node or restore it; a node that is in the wanted state already is not changed.

        Raises:
            NodeNotFound: there is no such node.
            VersionConflict: it has another version than expected.
        """

        async def work(transaction: Transaction) -> Node:
            node = await locked_node(transaction, change.node_id)
            if node.is_archived == change.is_archived:
                return node
            check_version(node, change.expected_version)
            return await changed_node(transaction, SET_ARCHIVED, node, is_archived=change.is_archived)

        return await self._database.of(principal).transaction(work)
