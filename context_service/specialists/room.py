"""Composes the room specialists: returns its servicer and the rules that others use."""

from __future__ import annotations

from functools import partial

from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.specialists.api import SpecialistsServicer
from context_service.specialists.rules import ID_CHARS_MAX, INSTRUCTIONS_CHARS_MAX, NAME_CHARS_MAX, Specialists
from contextkeep.context.v1.specialists_pb2_grpc import add_SpecialistsServicer_to_server
from service_runtime.grpc_server.server import Service

# What other rooms use.
__all__ = [
    "ID_CHARS_MAX",
    "INSTRUCTIONS_CHARS_MAX",
    "NAME_CHARS_MAX",
    "Specialists",
    "specialists_of",
]


def specialists_of(deps: Dependencies) -> tuple[Room[SpecialistsServicer], Specialists]:
    """Return the servicer and the rules of specialists."""
    specialists = Specialists(deps.database, requests=REQUESTS)
    servicer = SpecialistsServicer(specialists)
    service = Service(
        full_name="contextkeep.context.v1.Specialists",
        add=partial(add_SpecialistsServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service), specialists
