"""Request ids are kept a day, then forgotten, in every tenant."""

from __future__ import annotations

from entity_service.rules.sweep_requests import RequestSweep
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from service_runtime.statements.requests import Requests
from tests.conftest import OTHER_PRINCIPAL
from tests.entity_service.graph import Graph, new_id, node

AGE = "UPDATE entity.request SET created_at = created_at - %s::interval WHERE request_id = %s"


async def test_old_request_ids_are_forgotten_and_young_ones_are_not(graph: Graph, others: Graph, database: Database):
    tenants = {graph: database.tenant(DEFAULT_TENANT_ID), others: database.tenant(OTHER_PRINCIPAL.tenant_id)}
    old, young = new_id(), new_id()
    for view, tenant in tenants.items():
        for request_id, age in ((old, "25 hours"), (young, "23 hours")):
            await view.write(node(), request_id=request_id)
            await tenant.query(AGE, (age, request_id))

    await RequestSweep(database, Requests("entity")).once()

    for tenant in tenants.values():
        rows = await tenant.query("SELECT request_id::text AS id FROM entity.request")
        assert [row.id for row in rows] == [young]
