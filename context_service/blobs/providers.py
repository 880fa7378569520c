"""The backends, and which of them this deployment uses.

A backend is one module with a function `opened(settings)`, imported only when it is used: a deployment in one cloud
needs no library of another.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from context_service.blobs.storage import BlobBackend, BlobStorage
from context_service.settings import Settings
from contextkeep.errors import ProviderNotConfigured
from service_runtime.imports.extras import install

_log = logging.getLogger("blobs")

BACKENDS = {
    "azure": "context_service.blobs.azure",
    "gcs": "context_service.blobs.gcs",
    "s3": "context_service.blobs.s3",
    "local": "context_service.blobs.local",
}

# A provider whose own variable is set is also opened when new blobs are stored elsewhere: its blobs stay readable.
OWN_VARIABLES = {
    "azure": "WORKING_MEMORY_STORAGE_ACCOUNT",
    "gcs": "WORKING_MEMORY_GCS_BUCKET",
    "s3": "WORKING_MEMORY_S3_BUCKET",
    "local": "WORKING_MEMORY_STORAGE_PATH",
}


@asynccontextmanager
async def open_storage(settings: Settings) -> AsyncIterator[BlobStorage]:
    """Open the backends that the settings name, for the block: one for new blobs, the others for older blobs.

    Raises:
        ProviderNotConfigured: no provider is chosen, or the chosen one cannot be used; the message says what to set.
        Unavailable: a container must be created, and the provider does not answer.
    """
    provider, decided_by = chosen_provider(settings)
    async with AsyncExitStack() as stack:
        backends = {provider: await _open(stack, settings, provider)}
        absent = {}
        for other, variable in OWN_VARIABLES.items():
            if other == provider:
                continue
            if not getattr(settings, variable.lower()):
                absent[other] = f"set {variable}"
                continue
            try:
                backends[other] = await _open(stack, settings, other)
            except ProviderNotConfigured as error:
                absent[other] = error.message
                _log.warning("older blobs cannot be read", extra={"provider": other, "error": str(error)})
        _log.info("blob storage", extra={"provider": provider, "decided_by": decided_by, "readable": sorted(backends)})
        yield BlobStorage(backends, provider=provider, absent=absent)


def chosen_provider(settings: Settings) -> tuple[str, str]:
    """Return the provider of new blobs, and the variable that decided it.

    Raises:
        ProviderNotConfigured: none is set in production, two clouds are set and none is chosen, or a container is set
            without a provider.
    """
    provider = settings.working_memory_storage_provider
    if provider is not None:
        return provider, (
            "BLOB_STORAGE_PROVIDER" if settings.blob_storage_provider else "WORKING_MEMORY_STORAGE_PROVIDER"
        )
    # GOOGLE_CLOUD_PROJECT and Google's credentials are in many environments for other reasons: only a bucket counts.
    azure = "WORKING_MEMORY_STORAGE_ACCOUNT" if settings.working_memory_storage_account else ""
    gcs = "WORKING_MEMORY_GCS_BUCKET" if settings.working_memory_gcs_bucket else ""
    if azure and gcs:
        raise ProviderNotConfigured(
            f"{azure} and {gcs} are both set: choose with WORKING_MEMORY_STORAGE_PROVIDER=azure or =gcs"
        )
    if azure:
        return "azure", azure
    if gcs:
        return "gcs", gcs
    if settings.environment == "production":
        raise ProviderNotConfigured(
            "WORKING_MEMORY_STORAGE_PROVIDER is required in production: set azure, gcs, s3 or local"
        )
    if settings.working_memory_storage_container:
        raise ProviderNotConfigured(
            "WORKING_MEMORY_STORAGE_CONTAINER is set without its provider: set WORKING_MEMORY_STORAGE_PROVIDER "
            "to azure, gcs or s3"
        )
    return "local", "ENVIRONMENT"


async def _open(stack: AsyncExitStack, settings: Settings, provider: str) -> BlobBackend:
    """Import the module of a provider, and open its backend until the stack ends.

    Raises:
        ProviderNotConfigured: a library that the provider needs is not installed.
    """
    try:
        module = importlib.import_module(BACKENDS[provider])
    except ImportError as error:
        raise ProviderNotConfigured(
            f"the provider {provider} needs a library that is not installed ({error.name}): {install(provider)}",
            provider=provider,
        ) from error
    backend: BlobBackend = await stack.enter_async_context(module.opened(settings))
    return backend
