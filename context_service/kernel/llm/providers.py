"""Opens the models that the settings name; the code of a provider is imported only if it is used."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from context_service.kernel.llm.embeddings import Embedder
from context_service.kernel.llm.reranking import Reranker
from context_service.kernel.llm.texts import Chat
from context_service.settings import Settings
from contextkeep.errors import FailedPrecondition
from service_runtime.imports.extras import install


def open_embedder(settings: Settings) -> AbstractAsyncContextManager[Embedder] | None:
    """Return a context manager that opens the embedder, or None if the settings name none.

    Raises:
        FailedPrecondition: its packages are not installed.
    """
    if settings.embedder == "local":
        from context_service.kernel.llm.local import open_local

        return open_local(settings)
    if settings.embedder == "none":
        return None
    try:
        from context_service.kernel.llm.embedder import open_endpoint
    except ModuleNotFoundError as error:
        raise FailedPrecondition(f"EMBEDDING_URL needs the package aiohttp: {install('embedding')}") from error
    return open_endpoint(settings)


def open_chat(settings: Settings) -> AbstractAsyncContextManager[Chat] | None:
    """Return a context manager that opens the model that writes texts, or None if the settings name none.

    Raises:
        FailedPrecondition: its packages are not installed.
    """
    if not settings.llm_url:
        return None
    try:
        from context_service.kernel.llm.chat import open_endpoint
    except ModuleNotFoundError as error:
        raise FailedPrecondition(f"LLM_URL needs the package aiohttp: {install('embedding')}") from error
    return open_endpoint(settings)


def open_reranker(settings: Settings) -> AbstractAsyncContextManager[Reranker] | None:
    """Return a context manager that opens the reranker, or None if the settings name none.

    Raises:
        FailedPrecondition: its packages are not installed.
    """
    if settings.reranker_provider == "none":
        return None
    try:
        from context_service.kernel.llm.reranker import open_endpoint
    except ModuleNotFoundError as error:
        raise FailedPrecondition(f"RERANKER_PROVIDER=http needs the package aiohttp: {install('embedding')}") from error
    return open_endpoint(settings)


def model_of(settings: Settings) -> str:
    """Return the name of the embedder's model, or an empty text without an embedder."""
    if settings.embedder == "local":
        from context_service.kernel.llm.local import MODEL

        return MODEL
    return settings.embedding_model if settings.embedder == "openai" else ""
