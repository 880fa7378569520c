"""The input and the output of a node, in a table of their own: one statement each."""

from __future__ import annotations

from entity_service.model.nodes import NodeIO, NodeIOChange
from entity_service.model.refusals import node_not_found
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
_SET = SQL["set"]
_GET = SQL["get"]
_CLEAR_OUTPUT = SQL["clear_output"]


class NodeIOStore:
    """The inputs and outputs of all tenants' nodes; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def set(self, principal: Principal, change: NodeIOChange) -> int:
        """Replace the sides that are given, and return the time of that.

        Raises:
            NodeNotFound: the tenant has no such node.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(
            _SET,
            {"id": change.node_id, "input": change.input_json, "output": change.output_json},
            named=False,
        )
        if not rows:
            raise node_not_found(change.node_id)
        modified_at: int = rows[0][0]
        return modified_at

    async def get(self, principal: Principal, node_id: str) -> NodeIO:
        """Return a node's input and output.

        Raises:
            NodeNotFound: the tenant has no such node.
        """
        tenant = self._database.of(principal)
        rows = await tenant.query(_GET, {"id": node_id}, named=False)
        if not rows:
            raise node_not_found(node_id)
        return NodeIO._make(rows[0])


async def clear_output(transaction: Transaction, node_id: str) -> bool:
    """Remove the output of a node; return whether it had one."""
    return bool(await transaction.query(_CLEAR_OUTPUT, {"id": node_id}))
