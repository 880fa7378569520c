"""Composition of the room folding: folds windows now, or as was prepared."""

from __future__ import annotations

from functools import partial

from context_service.folding.api import FoldingServicer
from context_service.folding.rules.fold import Folding
from context_service.kernel.dependencies import Dependencies, Room
from contextkeep.context.v1.context_windows_pb2_grpc import add_FoldingServicer_to_server
from service_runtime.server import Service


def folding_of(deps: Dependencies, folding: Folding) -> Room[FoldingServicer]:
    """Return the servicer of folds."""
    servicer = FoldingServicer(folding)
    service = Service(
        full_name="contextkeep.context.v1.Folding",
        add=partial(add_FoldingServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service)
