"""The text about a user: reads memories and conversations for `pure/user_context.py`."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from context_service.context_settings.room import OFF
from context_service.contexts.model import Context, ContextFilter
from context_service.contexts.room import FindableContexts
from context_service.memories.model import Memory, MemoryFilter
from context_service.memories.room import Memories
from context_service.packing.pure.texts.quotation import speaker_of
from context_service.packing.pure.texts.units import own_texts
from context_service.summaries.model import Conversation, UserContext, UserMessage
from context_service.summaries.pure.user_context import user_context
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.inputs.pages import PAGE_SIZE_MAX, PageRequest
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_between

TOKENS_DEFAULT, TOKENS_MAX = 2_000, 32_000
MEMORIES_MAX = 1_000  # the newest memories that are read
CONTEXTS_MAX = 100  # the newest conversations that are read
MESSAGES_MAX, MESSAGES_BYTES_MAX = 2_000, 512 * 1024  # of users in these
_ANALYZING = 16  # times as long as parsing: sentences are cut, words are stemmed, and tokens counted
_MEMORY_BYTES = 400  # ranking and counting a memory takes as long as parsing this many bytes


class UserContexts:
    """Makes the text about a user; each call acts for its principal, which has a user.

    Args:
        memories: The memories of users.
        findable: The conversations of users, without those that are not findable.
        count: Counts the tokens of a text.
    """

    def __init__(self, memories: Memories, findable: FindableContexts, *, count: Callable[[str], int]) -> None:
        self._memories = memories
        self._findable = findable
        self._count = count

    async def read(self, *, tokens_max: int, principal: Principal) -> UserContext:
        """Return the text about the principal's user, within a number of tokens.

        Raises:
            InvalidArgument: `tokens_max` is not between 1 and 32,000.
        """
        check_between("tokens_max", tokens_max, 1, TOKENS_MAX)
        principal = principal.without_admin()
        memories = await self._holding(principal)
        conversations = await self._conversations(principal)
        messages = await self._messages(list(conversations), principal)
        size = _MEMORY_BYTES * len(memories) + _ANALYZING * sum(len(message.text) for message in messages)
        return await beside_the_loop(
            size,
            user_context,
            memories,
            list(conversations.values()),
            messages,
            tokens_max=tokens_max,
            count=self._count,
        )

    async def _holding(self, principal: Principal) -> list[Memory]:
        """Return the newest memories that hold."""
        memories: list[Memory] = []
        token, which = "", MemoryFilter(holding_only=True)
        while len(memories) < MEMORIES_MAX:
            page, token = await self._memories.page(
                which, PageRequest(size=PAGE_SIZE_MAX, token=token), principal=principal
            )
            memories += page
            if not token:
                break
        return memories[:MEMORIES_MAX]

    async def _conversations(self, principal: Principal) -> dict[UUID, Conversation]:
        """Return the newest conversations that may be quoted, the newest first."""
        which = ContextFilter(owner_user_id=principal.user_id)
        candidates = await self._findable.candidates(which, after=None, count=CONTEXTS_MAX, principal=principal)
        ids = [candidate.context_id for candidate in candidates]
        headers = await self._findable.headers(ids, principal=principal) if ids else {}
        return {
            context_id: Conversation(
                context_id=context_id,
                title=header.title,
                updated_at=header.updated_at,
                message_count=header.message_count,
            )
            for context_id in ids
            if (header := headers.get(context_id)) and _may_be_quoted(header)
        }

    async def _messages(self, ids: list[UUID], principal: Principal) -> list[UserMessage]:
        """Return the messages of users in conversations, without data and files."""
        if not ids:
            return []
        found = await self._findable.messages_of_users(
            ids, count=MESSAGES_MAX, bytes_max=MESSAGES_BYTES_MAX, principal=principal
        )
        return [
            UserMessage(
                context_id=context_id,
                seq=message.seq,
                speaker=speaker_of(message.role, message.name, is_imported=message.is_imported),
                text="\n".join(own_texts(message)),
                said_at=message.said_at,
            )
            for context_id, message in found
        ]


def _may_be_quoted(context: Context) -> bool:
    """Return whether a context may be quoted elsewhere. The users of forks are agents."""
    return context.learning != OFF and len(context.ancestors) == 1
