"""Asks a model which memories change, given messages of a context and memories of its owner.

The model reads texts of the user and the assistant, and memories of the owner that hold, of the same app and agent
bundle. It reads no text of a context for which models are switched off. Its answer is checked (`model_changes`).
Tokens are counted for the tenant, and share the budget of the day with folds of windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from uuid import UUID

from context_service.context_settings.room import ContextSettings
from context_service.kernel.llm.budget import TokenBudget
from context_service.kernel.llm.texts import Chat, ChatRefused
from context_service.kernel.tokens import TokenCounter
from context_service.learning.model import Statement, Utterance
from context_service.learning.pure.model_changes import (
    ANSWER_TOKENS_MAX,
    INSTRUCTIONS,
    Exchange,
    NotUsable,
    exchanges_of,
    prompt_of,
    statements_in,
)
from context_service.learning.store.queue import QueuedContext
from context_service.memories.model import LIMIT_MAX, Memory, MemoryQuery
from context_service.memories.pure.checks import QUERY_CHARS_MAX
from context_service.memories.room import MemoryRecalling, readable_by_models
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.telemetry.metrics import Metrics

KNOWN_MAX = 30  # memories that a model reads, those nearest to the messages
_CHECKING = 200  # times as long as parsing: messages are cut into sentences, and each change is compared with one


class BudgetSpent(Exception):
    """The tenant has spent the tokens of the day."""


class LearningByModel:
    """Finds statements by a model; each call acts for the owner of a context.

    Args:
        chat: The client of the models.
        recalling: Finds memories of the owner.
        settings: Says whether a model may read text of a context.
        budget: Counts the tokens of each tenant, and says when those of the day are spent.
        tokens: Counts the tokens of texts.
        metrics: The registry of the server's metrics.
    """

    def __init__(
        self,
        chat: Chat,
        recalling: MemoryRecalling,
        *,
        settings: ContextSettings,
        budget: TokenBudget,
        tokens: TokenCounter,
        metrics: Metrics,
    ) -> None:
        self._chat = chat
        self._recalling = recalling
        self._settings = settings
        self._budget = budget
        self._tokens = tokens
        self._count_tokens = metrics.counter(
            "contextkeep_learning_model_tokens",
            "Tokens that a model was asked and answered for memories, as this service counts them",
            part=("asked", "answered"),
        )
        self._count_changes = metrics.counter(
            "contextkeep_learning_changes",
            "Changes of memories that a model named: kept, or refused by a check",
            verdict=("kept", "refused"),
        )

    async def may_ask(self, context_id: UUID, *, principal: Principal) -> bool:
        """Return whether the settings let a model read text of a context."""
        return await self._settings.may_use_models(context_id, principal=principal)

    async def statements(
        self, utterances: Sequence[Utterance], context: QueuedContext, *, owner: Principal
    ) -> list[Statement]:
        """Return the statements that a model finds in the messages after the place that a context has reached.

        Raises:
            BudgetSpent: the tenant has spent the tokens of the day.
            ChatRefused: the model cannot answer these messages, or its answer is not usable.
            ChatFailed: the model does not answer.
            Unavailable: Postgres does not answer.
        """
        size = _CHECKING * sum(len(utterance.text) for utterance in utterances)
        exchanges = await beside_the_loop(size, exchanges_of, utterances, reached_seq=context.reached_seq)
        if not exchanges:
            return []
        if not await self._budget.has_room(owner):
            raise BudgetSpent("the tenant has spent the tokens of the day")
        known = await self._known(exchanges, context, owner)
        prompt = prompt_of(exchanges, [memory.text for memory in known])
        await self._spend("asked", [INSTRUCTIONS, prompt], owner)
        answer = await self._chat.text(system=INSTRUCTIONS, user=prompt, tokens_max=ANSWER_TOKENS_MAX)
        await self._spend("answered", [answer], owner)
        ids = [memory.memory_id for memory in known]
        try:
            found, refused = await beside_the_loop(size + len(answer), statements_in, answer, exchanges, ids)
        except NotUsable as error:
            raise ChatRefused(str(error)) from error
        for verdict, count in (("kept", len(found)), ("refused", len(refused))):
            self._count_changes(count, verdict=verdict)
        return found

    async def _known(self, exchanges: Sequence[Exchange], context: QueuedContext, owner: Principal) -> list[Memory]:
        """Return memories of the owner about the subjects of the messages, if the model may read them."""
        words = "\n".join(exchange.quotable for exchange in exchanges)[:QUERY_CHARS_MAX]
        recalled = await self._recalling.recall(MemoryQuery(query=words, limit=LIMIT_MAX), principal=owner)
        group = context.app_id, context.agent_bundle_id
        holding = (
            memory
            for memory, _ in recalled.memories
            if memory.superseded_by is None and (memory.app_id, memory.agent_bundle_id) == group
        )
        return await readable_by_models(list(islice(holding, KNOWN_MAX)), self._settings, principal=owner)

    async def _spend(self, part: str, texts: Sequence[str], owner: Principal) -> None:
        """Count tokens for the metrics and for the budget of the tenant."""
        tokens = sum(await self._tokens.counts(texts))
        self._count_tokens(tokens, part=part)
        await self._budget.spend(owner, tokens)
