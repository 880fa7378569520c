"""The interface of models that write texts, and the errors; independent of the model's place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class ChatFailed(Exception):
    """No text came, and why."""


class ChatRefused(ChatFailed):
    """The model gave no usable answer to this text; it may answer others."""


class Chat(Protocol):
    """The interface of models that write texts."""

    @property
    def models(self) -> Sequence[str]:
        """The names of the available models, the cheapest first."""
        ...

    async def text(self, *, system: str, user: str, tokens_max: int, model: str = "") -> str:
        """Return the answer of a model, within its timeout and the deadline of the call under way.

        Args:
            system: The system prompt of the request.
            user: The user prompt of the request.
            tokens_max: The number of tokens that the answer may have.
            model: The name of the model; empty takes the cheapest.

        Raises:
            ChatFailed: there is no usable answer.
        """
        ...
