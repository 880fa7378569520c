"""The checks that `check-config` makes before the Entity Service starts."""

from __future__ import annotations

from entity_service.room import migrations
from entity_service.settings import Settings
from service_runtime.auth import access
from service_runtime.cli import database_probes
from service_runtime.grpc_server import server
from service_runtime.grpc_server.server import Check
from service_runtime.network import tls


def check_exposure(settings: Settings, *, authenticated: bool) -> None:
    """Refuse to listen on an address that is open to the network, unless callers need a key."""
    for host in (settings.entity_service_host, *([] if settings.http_port is None else [settings.http_host])):
        server.check_exposure(host, authenticated=authenticated, allow_insecure=settings.allow_insecure)


def probes(settings: Settings) -> dict[str, Check]:
    """Return the checks of `check-config`."""

    async def listening() -> None:
        check_exposure(settings, authenticated=access.needs_key(settings))
        if files := tls.files_of(settings):
            tls.server_credentials(files)

    checks: dict[str, Check] = {
        f"listening on {settings.entity_service_host}": listening,
        **database_probes.of_services(settings, migrations()),
        **database_probes.of_owner(settings, migrations()),
    }
    return checks
