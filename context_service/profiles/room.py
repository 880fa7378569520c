"""Composition of the package profiles: compression profiles, and the learning of new versions."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.profiles.api import CompressionProfilesServicer
from context_service.profiles.rules.learning import Learning
from context_service.profiles.rules.profiles import OwnProfiles
from context_service.profiles.store.learning import LearningRows
from contextkeep.context.v1.context_windows_pb2_grpc import add_CompressionProfilesServicer_to_server
from service_runtime.grpc_server.server import Service

if TYPE_CHECKING:
    from context_service.windows.room import Telemetry

__all__ = ["Learning", "OwnProfiles", "profiles_of"]


def profiles_of(
    deps: Dependencies, telemetry: Telemetry, stack: AsyncExitStack
) -> tuple[OwnProfiles, Learning, Room[CompressionProfilesServicer]]:
    """Return the profiles of tenants, the rules that learn for them, and the servicer of both."""
    profiles = OwnProfiles(deps.database, requests=REQUESTS)
    stack.callback(profiles.end)
    learning = Learning(deps.database, LearningRows(deps.log), profiles, requests=REQUESTS, telemetry=telemetry)
    servicer = CompressionProfilesServicer(profiles, learning)
    service = Service(
        full_name="contextkeep.context.v1.CompressionProfiles",
        add=partial(add_CompressionProfilesServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return profiles, learning, Room(servicer, service)
