"""The context that stores a framework's thread: found by the thread's name, and created by its first message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contextkeep.client.aio.context import AsyncContextClient
from contextkeep.errors import ContextNotFound
from contextkeep.inputs import ContextInput, ExternalId, MessageInput
from contextkeep.values import ChatMessage, Context, SentMessage

_PAGE = 500


def own_context(contexts: Iterable[Context], subject_user_id: str) -> Context | None:
    """Return the caller's own context among those with one name, or None.

    A user also sees contexts without an owner, but writes to its own.
    """
    own = [item for item in contexts if subject_user_id in ("", item.owner_user_id)]
    return min(own, key=lambda row: not row.owner_user_id) if own else None


class Thread:
    """A conversation of a framework. The first message creates it."""

    def __init__(
        self, client: AsyncContextClient, name: ExternalId, *, title: str = "", subject_user_id: str = ""
    ) -> None:
        """Remember the name of the conversation. Makes no call.

        Args:
            client: Client of the Context Service; the caller closes it.
            name: Name of the thread in the framework.
            title: Title of the context, if it is created.
            subject_user_id: The user to call for, with a key that has no user.
        """
        self.client = client
        self.name = name
        self.subject_user_id = subject_user_id
        self._title = title
        self._context_id: str | None = None

    async def context_id(self) -> str | None:
        """Return the id of its context; None if it has no message yet, or was deleted."""
        if self._context_id is None:
            context = await self.context()
            self._context_id = context.context_id if context else None
        return self._context_id

    async def context(self) -> Context | None:
        """Return its context as it is now, or None."""
        contexts = self.client.contexts.get_by_external_id(self.name, subject_user_id=self.subject_user_id)
        return own_context([item async for item in contexts], self.subject_user_id)

    async def append(self, new_messages: Iterable[MessageInput]) -> list[SentMessage]:
        """Write messages in their order, as `contexts.append` does.

        Raises:
            ContextKeepError: those of `contexts.append`.
        """
        messages = list(new_messages)
        if not messages:
            return []
        receipt = await self.client.contexts.append(
            messages,
            get_or_create=self.name,
            context=ContextInput(title=self._title),
            subject_user_id=self.subject_user_id,
        )
        self._context_id = receipt[0].context_id
        return receipt

    async def messages(self, *, newest: int | None = None) -> Sequence[ChatMessage]:
        """Return the messages, oldest first.

        Args:
            newest: Return only this many of the newest. Default: all.
        """
        try:
            context_id = await self.context_id()
            if context_id is None or newest == 0:
                return []
            messages: list[ChatMessage] = []
            listed = self.client.contexts.list_messages(
                context_id,
                newest_first=newest is not None,
                page_size=_PAGE if newest is None else min(newest, _PAGE),
                subject_user_id=self.subject_user_id,
            )
            async for message in listed:
                messages.append(message)
                if len(messages) == newest:
                    break
            await listed.aclose()
        except ContextNotFound:
            self.forget()
            return []
        return messages if newest is None else messages[::-1]

    async def retract(self, message: ChatMessage) -> bool:
        """Hide a message for good; return whether this call did."""
        context_id = await self.context_id()
        assert context_id is not None, "its message was read"
        hidden = await self.client.contexts.retract_messages(
            context_id, [message.message_id], subject_user_id=self.subject_user_id
        )
        return hidden == 1

    def forget(self) -> None:
        """Look up the context again in the next call, because another caller deleted it."""
        self._context_id = None

    async def delete(self) -> None:
        """Delete its context with all that it has; the next message begins another one."""
        context_id, self._context_id = await self.context_id(), None
        if context_id is not None:
            try:
                await self.client.contexts.delete(context_id, now=True, subject_user_id=self.subject_user_id)
            except ContextNotFound:
                return  # another caller deleted it


def joined(*names: str) -> str:
    """Return names with slashes between them, so that other names never give the same."""
    return "/".join(name.replace("%", "%25").replace("/", "%2F") for name in names)
