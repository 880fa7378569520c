"""Lets a model write the answer to a question about a user, from memories that were found for it.

The answer cites only these memories and is checked. If it cannot be used, or no model may read them, the sentences
of the memories themselves answer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from context_service.context_settings.room import ContextSettings
from context_service.kernel.llm.budget import TokenBudget
from context_service.kernel.llm.texts import Chat, ChatFailed
from context_service.kernel.tokens import TokenCounter
from context_service.memories.model import MemoryQuery, ReflectedMemories
from context_service.memories.pure.written_reflection import METHOD, SHOWN_MAX, instructions, prompt_of, written
from context_service.memories.rules.model_use import readable_by_models
from context_service.retrieval.pure.citations import NotGrounded
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc import calls
from service_runtime.rpc.principal import Principal

_log = logging.getLogger("reflection")
_MORE_TOKENS = 100  # of an answer, for its citations


class WrittenReflection:
    """Writes answers; each call acts for its principal, which has a user.

    Args:
        chat: The client of the models.
        settings: Says whether a model may read text of a context.
        budget: Counts the tokens of each tenant, and says when those of the day are spent.
        tokens: Counts the tokens of texts.
    """

    def __init__(self, chat: Chat, *, settings: ContextSettings, budget: TokenBudget, tokens: TokenCounter) -> None:
        self._chat = chat
        self._settings = settings
        self._budget = budget
        self._tokens = tokens

    async def write(
        self, query: MemoryQuery, reflected: ReflectedMemories, *, tokens_max: int, principal: Principal
    ) -> ReflectedMemories:
        """Return a reflection with the statement of a model, or the reflection as it is if there is none.

        Args:
            query: The question.
            reflected: The reflection without a model.
            tokens_max: The largest number of tokens of the statement.
            principal: The caller.
        """
        if not reflected.memories or not await self._budget.has_room(principal):
            return reflected
        # Those that answer without a model first; then the others that were found and hold.
        first = {memory.memory_id: memory for memory in reflected.memories}
        others = {
            memory.memory_id: memory
            for memory, _ in reflected.recalled.memories
            if query.which.as_of or memory.superseded_by is None
        }
        memories = list({**first, **others}.values())[:SHOWN_MAX]
        memories = await readable_by_models(memories, self._settings, principal=principal)
        if not memories:
            return reflected
        calls.end_turn()  # only the model remains, which is slow
        system, user = instructions(limit=query.limit, tokens_max=tokens_max), prompt_of(query.query, memories)
        await self._spend([system, user], principal)
        try:
            answer = await self._chat.text(system=system, user=user, tokens_max=tokens_max + _MORE_TOKENS)
            await self._spend([answer], principal)
            statement, rests_on = await beside_the_loop(
                len(answer),
                written,
                answer,
                query.query,
                memories,
                limit=query.limit,
                tokens_max=tokens_max,
                count=self._tokens.count,
            )
        except (ChatFailed, NotGrounded) as error:
            _log.warning("sentences of memories answer instead of the model", extra={"reason": str(error)})
            return reflected
        return replace(reflected, statement=statement, memories=rests_on, method=METHOD)

    async def _spend(self, texts: Sequence[str], principal: Principal) -> None:
        """Count tokens for the budget of the tenant."""
        await self._budget.spend(principal, sum(await self._tokens.counts(texts)))
