"""What writes texts, and how it fails; none of this knows where its model is."""

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
        """Return what a model says, within its time and that of the call under way.

        Args:
            system: What it is to do.
            user: With what.
            tokens_max: It may say so many.
            model: Which; empty: the first.

        Raises:
            ChatFailed: nothing that can be used.
        """
        ...
