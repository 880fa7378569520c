"""Which backends there are, and which of them this deployment uses.

A backend is one module with a function `opened(settings)`, imported only when it is used: a user of one cloud needs
no library of another.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from context_service.blobs.storage import BlobBackend, BlobStorage
from context_service.settings import Settings
from contextgraph.errors import ProviderNotConfigured

_log = logging.getLogger("blobs")

BACKENDS = {"local": "context_service.blobs.local"}


@asynccontextmanager
async def open_storage(settings: Settings) -> AsyncIterator[BlobStorage]:
    """Open the backends that the settings name, for the block.

    Raises:
        ProviderNotConfigured: none is chosen, or what is chosen cannot be used; the message says what to set.
    """
    provider, decided_by = chosen_provider(settings)
    async with AsyncExitStack() as stack:
        backends: dict[str, BlobBackend] = {
            provider: await stack.enter_async_context(importlib.import_module(BACKENDS[provider]).opened(settings))
        }
        _log.info("blob storage", extra={"provider": provider, "decided_by": decided_by})
        yield BlobStorage(backends, provider=provider, size_bytes_max=settings.blob_bytes_max)


def chosen_provider(settings: Settings) -> tuple[str, str]:
    """Return where new blobs go, and the variable that decided it.

    Raises:
        ProviderNotConfigured: nothing is named in production, or what is named has no backend.
    """
    provider = settings.working_memory_storage_provider
    if provider is None:
        if settings.environment == "production":
            raise ProviderNotConfigured(
                "WORKING_MEMORY_STORAGE_PROVIDER is required in production: where blobs go is not guessed"
            )
        return "local", "ENVIRONMENT"
    variable = "BLOB_STORAGE_PROVIDER" if settings.blob_storage_provider else "WORKING_MEMORY_STORAGE_PROVIDER"
    if provider not in BACKENDS:
        raise ProviderNotConfigured(
            f"{variable}={provider}: this version has no backend for {provider}; it has {', '.join(BACKENDS)}",
            provider=provider,
        )
    return provider, variable
