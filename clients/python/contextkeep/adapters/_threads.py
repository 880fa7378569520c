"""The one context that a framework's thread has here: found by the thread's own name, begun by its first message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.errors import ContextNotFound
from contextkeep.inputs import ContextInput, ExternalId, MessageInput
from contextkeep.values import ChatMessage, Context, SentMessage

_PAGE = 500


def own_context(found: Iterable[Context], subject_user_id: str) -> Context | None:
    """Return the caller's own of the contexts of a name; None: there is none.

    A user sees what is nobody's, too; what it writes goes to its own.
    """
    own = [one for one in found if subject_user_id in ("", one.owner_user_id)]
    return min(own, key=lambda one: not one.owner_user_id) if own else None


class Thread:
    """A conversation of a framework. It is there once it has a message; whoever writes the first one begins it."""

    def __init__(
        self, client: AsyncContextClient, name: ExternalId, *, title: str = "", subject_user_id: str = ""
    ) -> None:
        """Remember where it is; nothing is asked yet.

        Args:
            client: Of the Context Service; it stays the caller's to close.
            name: What the framework calls it.
            title: Of a context that is begun.
            subject_user_id: For which user a key without one calls.
        """
        self.client = client
        self.name = name
        self.subject_user_id = subject_user_id
        self._title = title
        self._context_id: str | None = None

    async def context_id(self) -> str | None:
        """Return the id of its context; None: it has no message yet, or was deleted."""
        if self._context_id is None:
            context = await self.context()
            self._context_id = context.context_id if context else None
        return self._context_id

    async def context(self) -> Context | None:
        """Return its context as it is now; None: there is none."""
        listed = self.client.contexts.get_by_external_id(self.name, subject_user_id=self.subject_user_id)
        return own_context([one async for one in listed], self.subject_user_id)

    async def append(self, said: Iterable[MessageInput]) -> list[SentMessage]:
        """Write messages in their order, as `contexts.append` does.

        Raises:
            ContextKeepError: those of `contexts.append`.
        """
        messages = list(said)
        if not messages:
            return []
        written = await self.client.contexts.append(
            messages,
            get_or_create=self.name,
            context=ContextInput(title=self._title),
            subject_user_id=self.subject_user_id,
        )
        self._context_id = written[0].context_id
        return written

    async def messages(self, *, newest: int | None = None) -> Sequence[ChatMessage]:
        """Return what was said, oldest first.

        Args:
            newest: Only so many of the last; None: all.
        """
        try:
            context_id = await self.context_id()
            if context_id is None or newest == 0:
                return []
            found: list[ChatMessage] = []
            listed = self.client.contexts.list_messages(
                context_id,
                newest_first=newest is not None,
                page_size=_PAGE if newest is None else min(newest, _PAGE),
                subject_user_id=self.subject_user_id,
            )
            async for message in listed:
                found.append(message)
                if len(found) == newest:
                    break
            await listed.aclose()
        except ContextNotFound:
            self.forget()
            return []
        return found if newest is None else found[::-1]

    async def retract(self, message: ChatMessage) -> bool:
        """Hide a message for good; return whether this call did."""
        context_id = await self.context_id()
        assert context_id is not None, "its message was read"
        hidden = await self.client.contexts.retract_messages(
            context_id, [message.message_id], subject_user_id=self.subject_user_id
        )
        return hidden == 1

    def forget(self) -> None:
        """Look for the context anew with the next call: somebody else deleted it."""
        self._context_id = None

    async def delete(self) -> None:
        """Delete its context with all that it has; the next message begins another one."""
        context_id, self._context_id = await self.context_id(), None
        if context_id is not None:
            try:
                await self.client.contexts.delete(context_id, now=True, subject_user_id=self.subject_user_id)
            except ContextNotFound:
                return  # somebody else did


def joined(*names: str) -> str:
    """Return names with slashes between them, so that other names never give the same."""
    return "/".join(name.replace("%", "%25").replace("/", "%2F") for name in names)
