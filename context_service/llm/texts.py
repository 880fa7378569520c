"""What writes texts, and how it fails; none of this knows where its model is."""

from __future__ import annotations

from typing import Protocol


class ChatFailed(Exception):
    """No text came, and why."""


class Chat(Protocol):
    """Writes texts by one model."""

    async def text(self, *, system: str, user: str, tokens_max: int) -> str:
        """Return what the model says, within its time and that of the call under way.

        Args:
            system: What it is to do.
            user: With what.
            tokens_max: It may say so many.

        Raises:
            ChatFailed: nothing that can be used.
        """
        ...
