"""The interface of models that write texts, and the errors; independent of the model's place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class ChatFailed(Exception):
    """No text came, and why."""


class Chat(Protocol):
    """Writes texts by a model of those that there are."""

    @property
    def models(self) -> Sequence[str]:
        """Names of the models that there are, the cheapest first."""
        ...

    async def text(self, *, system: str, user: str, tokens_max: int, model: str = "") -> str:
        """Return the answer of a model, within its timeout and the deadline of the call under way.

        Args:
            system: The instructions.
            user: The input.
            tokens_max: The longest answer.
            model: Its name; empty takes the first.

        Raises:
            ChatFailed: nothing that can be used.
        """
        ...
