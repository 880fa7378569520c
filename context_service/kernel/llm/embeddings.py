"""The interface of embedders: vectors of texts, and the errors; independent of the model's place."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from context_service.kernel.embedding import Embedding
from contextkeep.errors import FieldViolation, InvalidArgument, Unavailable
from service_runtime.rpc.calls import answer_s, aside, remaining_s

_CALL_S_MAX = 60.0


class EmbedderFailed(Exception):
    """The embedder made no vectors, and not because of the text. Try again later.

    Attributes:
        retry_after_s: Seconds that the embedder asks us to wait; 0 if it does not say.
    """

    def __init__(self, message: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EmbedderMisconfigured(EmbedderFailed):
    """The embedder will fail until an operator changes the key, the URL or the model."""


class TextRefused(Exception):
    """The model refuses one of the texts, but would take others.

    Args:
        message: A message without the text, which any caller may read.
        words: The message of the endpoint, which may repeat the text.
    """

    def __init__(self, message: str, *, words: str = "") -> None:
        super().__init__(f"{message}: {words}" if words else message)
        self.message = message


class Embedder(ABC):
    """Makes vectors of texts by one model.

    Attributes:
        model: The name of the model, stored with each vector: vectors of different models are not compared.
        unrelated: The cosine up to which two texts are unrelated; 0 if it is not known.
        calls_wait: Says whether calls are under way; then background work takes less of this machine, if it takes any.
    """

    model: str
    unrelated: float = 0.0

    def __init__(self) -> None:
        self.calls_wait: Callable[[], bool] = lambda: False

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of texts, in their order.

        Raises:
            TextRefused: one of the texts is too long, or otherwise not taken.
            EmbedderFailed: it does not answer as it should.
        """

    async def embed_in_background(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of texts that no call waits for; raises as `embed`."""
        return await self.embed(texts)

    async def embed_text(self, text: str, *, timeout_s: float = _CALL_S_MAX) -> Embedding:
        """Return the vector of a caller's text, within its deadline and `timeout_s`.

        Raises:
            InvalidArgument: the endpoint does not take the text.
            Unavailable: it gives no vector.
        """
        try:
            async with aside(), asyncio.timeout(min(answer_s(remaining_s()), timeout_s)):
                (embedding,) = await self.embed([text])
        except TextRefused as error:
            # The log of calls gets the message, but not the violations, which may repeat the text.
            raise InvalidArgument(error.message, violations=[FieldViolation("text", str(error))]) from error
        except (EmbedderFailed, TimeoutError) as error:
            message = str(error) or "the embedder did not answer in time"
            raise Unavailable(message, dependency="embedder") from error
        return embedding


def give_way(embedder: Embedder | None, calls_wait: Callable[[], bool]) -> None:
    """Let background work of an embedder take less of this machine while calls are under way."""
    if embedder is not None:
        embedder.calls_wait = calls_wait
