"""Composition of the room packing: catches up with logs, packs windows and explains packs."""

from __future__ import annotations

from functools import partial

from context_service.kernel.dependencies import Dependencies, Room
from context_service.packing.api import PackingServicer
from context_service.packing.rules.pack import Packing
from context_service.windows.rules.explain import Accounts
from contextkeep.context.v1.context_windows_pb2_grpc import add_PackingServicer_to_server
from service_runtime.server import Service


def packing_of(deps: Dependencies, packing: Packing, accounts: Accounts) -> Room[PackingServicer]:
    """Return the servicer of packs."""
    servicer = PackingServicer(packing, accounts)
    service = Service(
        full_name="contextkeep.context.v1.Packing",
        add=partial(add_PackingServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service)
