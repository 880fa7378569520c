"""What `check-config` asks before the service starts."""

from __future__ import annotations

from contextlib import AsyncExitStack

from context_service.blobs.providers import open_storage
from context_service.history.room import history_limits_of
from context_service.kernel.llm.reranking import RerankerFailed
from context_service.resources import (
    ENTITY_SERVICE,
    embedder_of,
    entity_address_of,
    entity_service_of,
    file_mappings_of,
    migrations,
    reranker_of,
)
from context_service.settings import Settings
from context_service.working_memory.room import fact_reader_of
from contextkeep.errors import Unavailable
from service_runtime.auth import access
from service_runtime.cli import database_probes
from service_runtime.grpc_server import probe, server
from service_runtime.grpc_server.server import Check
from service_runtime.network import tls


def check_exposure(settings: Settings, *, authenticated: bool) -> None:
    """Refuse to listen on an address that is open to everybody, unless callers need a key."""
    hosts = [settings.context_service_host]
    hosts += [] if settings.http_port is None else [settings.http_host]
    hosts += [] if settings.mcp_port is None else [settings.mcp_host]
    for host in hosts:
        server.check_exposure(host, authenticated=authenticated, allow_insecure=settings.allow_insecure)


def probes(settings: Settings) -> dict[str, Check]:
    """Return what `check-config` asks."""

    async def listening() -> None:
        check_exposure(settings, authenticated=access.needs_key(settings))
        if files := tls.files_of(settings):
            tls.server_credentials(files)

    async def blobs() -> None:
        async with open_storage(settings) as storage:
            await storage.check_writable()

    async def entity() -> None:
        async with entity_service_of(settings) as connection:
            await probe.health_check(connection, ENTITY_SERVICE)()

    checks: dict[str, Check] = {
        f"listening on {settings.context_service_host}": listening,
        **database_probes.of_services(settings, migrations()),
        "the place of the blobs": blobs,
        "the reading of pictures and PDFs": fact_reader_of(settings).check,
    }
    checks[f"the Entity Service at {entity_address_of(settings)}"] = entity
    if settings.embedder == "local":

        async def local_model() -> None:
            async with AsyncExitStack() as stack:
                embedder = await embedder_of(settings, stack)
                assert embedder is not None
                await embedder.embed_text("a text")

        checks["the local model for vectors"] = local_model
    if settings.reranker_provider != "none":

        async def reranker() -> None:
            async with AsyncExitStack() as stack:
                opened = await reranker_of(settings, stack)
                assert opened is not None
                try:
                    await opened.scores("a question", ["a text", "another text"])
                except RerankerFailed as error:
                    raise Unavailable(str(error), dependency="reranker") from error

        checks[f"the reranker at {settings.reranker_url}"] = reranker
    if settings.mappings_path is not None:

        async def mappings() -> None:
            await file_mappings_of(settings, history_limits_of(settings))

        checks[f"the mappings in {settings.mappings_path}"] = mappings
    return checks | database_probes.of_owner(settings, migrations())
