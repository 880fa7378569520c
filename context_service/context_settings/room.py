"""Composes the room context_settings: returns its servicer and the rules that others use."""

from __future__ import annotations

from functools import partial

from context_service.context_settings.api import ContextSettingsServicer
from context_service.context_settings.rules import OFF, ContextSettings
from context_service.context_settings.store import SQL as CONTEXT_SETTINGS_SQL
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from contextkeep.context.v1.context_settings_pb2_grpc import add_ContextSettingsServicer_to_server
from service_runtime.grpc_server.server import Service

# What other rooms use.
__all__ = [
    "CONTEXT_SETTINGS_SQL",
    "OFF",
    "ContextSettings",
    "context_settings_of",
]


def context_settings_of(deps: Dependencies) -> tuple[Room[ContextSettingsServicer], ContextSettings]:
    """Return the servicer and the rules of settings for contexts."""
    settings = ContextSettings(
        deps.database,
        requests=REQUESTS,
        name_chars_max=deps.settings.name_chars_max,
        learning_default=deps.settings.learning_default,
    )
    servicer = ContextSettingsServicer(settings)
    service = Service(
        full_name="contextkeep.context.v1.ContextSettings",
        add=partial(add_ContextSettingsServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service), settings
