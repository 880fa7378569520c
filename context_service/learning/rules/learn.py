"""Learns memories from contexts in the background.

The worker takes turns by tenant: a number of messages of one context each. When a context has been idle for a while, or
is closed, it reads the messages since last time, finds the statements of the owner by rules or by a model, and retains
them as memories of the owner with the refs of the messages. The memories and the new place in the queue are written in
one transaction, which first makes sure that the claim is still its own. So each message is learned from exactly once,
whatever is killed and however many replicas there are.

A model that fails delays the work. If it answers, but not usefully, and does so again, rules read these messages.

Refused statements are not learned again: `Memories.forget` remembers what a user has refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from uuid import UUID

from context_service.context_settings.room import OFF, ContextSettings
from context_service.contexts.model import Message
from context_service.contexts.room import Log
from context_service.kernel.llm.texts import ChatFailed, ChatRefused
from context_service.learning.model import Statement, StatementKind, Utterance
from context_service.learning.pure.model_changes import that_fit
from context_service.learning.pure.statements import statements_of, taken_back
from context_service.learning.rules.learn_by_model import BudgetSpent, LearningByModel
from context_service.learning.store.queue import LearningQueue, QueuedContext
from context_service.memories.model import MemoryInput, MemoryKind, MemorySource
from context_service.memories.pure.subjects import subject_of
from context_service.memories.room import Memories
from context_service.packing.pure.texts.units import own_texts
from context_service.windows.pure.refs import refs_between
from contextkeep.errors import ContextKeepError
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work.outbox import QueuedItem
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.telemetry.metrics import Metrics

SUBJECT = "learning"  # the subject of the principal that retains learned memories
MESSAGES_AT_ONCE = 200  # messages of a context in one step
STALE_AT_ONCE = 100  # memories that one query returns to be forgotten
BEFORE = 4  # earlier messages that are read for what a reply confirms or takes back
AT_ONCE = 4  # tenants with a step under way in this process; a model may be slow
BY_MODEL = "model"
MODEL_ATTEMPTS_MAX = 3  # then rules read messages to which the model gives no usable answer
INTERVAL_S = 2.0
DELAY_S, DELAY_S_MAX = 5.0, 3_600.0  # before the second attempt; doubled after each
_READING = 200  # times as long as parsing the same bytes: a message is cut into clauses, and rules try each


class Outcome(StrEnum):
    """The result of a step of learning."""

    LEARNED = "learned"
    NOTHING = "nothing"  # no statement in the messages
    OFF = "off"  # the settings do not allow it, or the context is gone
    FAILED = "failed"


class Learning:
    """The worker; memories are retained as those of the context's owner.

    Args:
        database: The database that has the queue.
        queue: The queued contexts.
        log: The contexts and their messages.
        settings: Decides whether a context may be learned from.
        memories: Retains the statements.
        by_model: Finds statements by a model; None if there is no model, and then rules find them.
        metrics: The registry of the server's metrics.
    """

    def __init__(
        self,
        database: Database,
        queue: LearningQueue,
        log: Log,
        *,
        settings: ContextSettings,
        memories: Memories,
        by_model: LearningByModel | None,
        metrics: Metrics,
    ) -> None:
        self._database = database
        self._queue = queue
        self._log = log
        self._settings = settings
        self._memories = memories
        self._by_model = by_model
        self._rounds = Rounds(database, self._learn_one, at_once=AT_ONCE, queue=queue.outbox.queue)
        self._lag_s = self._lag_of_pass_s = 0.0
        self._counted = metrics.counter(
            "contextkeep_learning_steps", "Steps of learning memories from contexts", outcome=tuple(Outcome)
        )
        metrics.watch(
            "contextkeep_learning_lag_seconds",
            "Longest time that a context waited for learning after it was idle, in the last pass",
            lambda: self._lag_s,
        )

    async def keep_learning(self) -> None:
        """Learn from queued contexts until cancelled."""
        await self._rounds.keep_running(self.learn_due, interval_s=INTERVAL_S)

    async def learn_due(self) -> int:
        """Learn from the contexts that are due, a step of each tenant in turn; return the number of steps.

        Raises:
            Unavailable: Postgres does not answer.
        """
        self._lag_of_pass_s = 0.0
        steps = await self._rounds.run()
        self._lag_s = self._lag_of_pass_s
        return steps

    async def _learn_one(self, tenant: Tenant) -> tuple[int, bool]:
        """Do a step of one due context of a tenant; return 1 if there was one, and whether there may be more."""
        return await self._queue.outbox.each_due(tenant, partial(self._attempt, tenant), for_s=0.0)

    async def _attempt(self, tenant: Tenant, item: QueuedItem) -> None:
        """Do a step of a claimed context; if that fails, it is tried again later."""
        try:
            await self._forget_stale(tenant, item.subject_id)
            context = await self._queue.read(tenant, item)
            if context is None:
                await self._queue.outbox.settle(tenant, item)
                self._counted(outcome=Outcome.OFF)
            elif context.idle_in_s > 0:
                await self._queue.outbox.settle(tenant, item, again_in_s=context.idle_in_s)
            else:
                self._lag_of_pass_s = max(self._lag_of_pass_s, -context.idle_in_s)
                self._counted(outcome=await self._learn(item, context, tenant))
        except (ContextKeepError, ChatFailed, BudgetSpent) as error:  # such as a database that does not answer
            self._counted(outcome=Outcome.FAILED)
            delay_s = item.delay_s(first_s=DELAY_S, max_s=DELAY_S_MAX)
            await self._queue.outbox.settle(tenant, item, again_in_s=delay_s, error=str(error))

    async def _forget_stale(self, tenant: Tenant, context_id: UUID) -> None:
        """Forget memories whose only sources are in a context, or in messages of it, that are gone."""
        while stale := await self._queue.stale(tenant, context_id, count=STALE_AT_ONCE):
            for memory in stale:
                owner = _owner(tenant, memory.owner_user_id)
                await self._memories.drop_sources(memory.memory_id, str(context_id), memory.refs, principal=owner)

    async def _forget_taught_by(self, seqs: Sequence[int], context: QueuedContext, owner: Principal) -> None:
        """Forget the memories that were learned from some messages, because the user has taken these back.

        Args:
            seqs: The `seq` of each message.
            context: Their context.
            owner: The user, as the principal that may forget.
        """
        tenant = self._database.of(owner)
        for seq in seqs:
            ref = refs_between(seq, seq)
            ids = await self._queue.taught_by(tenant, context.context_id, ref, owner_user_id=owner.user_id)
            for memory_id in ids:
                await self._memories.forget(memory_id, principal=owner, request=None)

    async def _learn(self, item: QueuedItem, context: QueuedContext, tenant: Tenant) -> Outcome:
        """Learn from the next messages of a context.

        Raises:
            LimitExceeded: the owner has too many memories.
            BudgetSpent, ChatFailed: a model is to read them, and may not or does not answer.
            Unavailable: Postgres does not answer.
        """
        owner = _owner(tenant, context.owner_user_id)
        mode = await self._settings.learning(context.context_id, principal=owner)
        if mode == OFF:
            await self._queue.outbox.settle(tenant, item)
            return Outcome.OFF
        messages = await self._log.page(
            context.context_id,
            principal=owner,
            seq_from=max(context.reached_seq + 1 - BEFORE, 1),
            seq_to=context.last_seq,
            count=MESSAGES_AT_ONCE,
            newest_first=False,
        )
        speaker = await self._queue.first_speaker(self._log.of(owner, context.context_id), context.context_id)
        utterances: Sequence[Utterance] = _utterances(messages or (), speaker)
        reached_seq = max([message.seq for message in messages or ()], default=context.last_seq)
        by_model = self._by_model if mode == BY_MODEL else None
        if by_model and await by_model.may_ask(context.context_id, principal=owner):
            fitting = that_fit(utterances, reached_seq=context.reached_seq)
            if len(fitting) < len(utterances):
                utterances, reached_seq = fitting, fitting[-1].seq
            new = await self._found_by(by_model, item, context, utterances, owner)
        else:
            new = await _found_by_rules(utterances, context)
        earlier = [seq for seq in taken_back(utterances) if seq <= context.reached_seq]
        await self._forget_taught_by(earlier, context, owner)
        await self._write(item, context, new, reached_seq=reached_seq, owner=owner)
        return Outcome.LEARNED if new else Outcome.NOTHING

    async def _found_by(
        self,
        by_model: LearningByModel,
        item: QueuedItem,
        context: QueuedContext,
        utterances: Sequence[Utterance],
        owner: Principal,
    ) -> list[Statement]:
        """Return the new statements that a model finds; those of rules if it has given no usable answer several times.

        Raises:
            BudgetSpent, ChatFailed: it may not or does not answer.
            Unavailable: Postgres does not answer.
        """
        try:
            return await by_model.statements(utterances, context, owner=owner)
        except ChatRefused:
            if item.attempts < MODEL_ATTEMPTS_MAX:
                raise
            return await _found_by_rules(utterances, context)

    async def _write(
        self,
        item: QueuedItem,
        context: QueuedContext,
        statements: Sequence[Statement],
        *,
        reached_seq: int,
        owner: Principal,
    ) -> None:
        """Retain statements, and advance or settle the item, in one transaction."""
        prepared = [
            (statement, await self._memories.prepare(_memory(statement, context), principal=owner))
            for statement in statements
        ]

        async def work(transaction: Transaction) -> None:
            # Lock the header first, as writers of messages do: a message is either read here, or queued again.
            header = await self._log.lock(transaction, context.context_id)
            if header is None or not await self._queue.outbox.hold(transaction, item):
                return
            standing = await self._queue.standing(
                transaction, context.context_id, [statement.seq for statement in statements]
            )
            for statement, (new_memory, pieces) in prepared:
                if statement.seq in standing:
                    await self._memories.keep_learned(transaction, new_memory, pieces, replaces=statement.replaces)
            if reached_seq < header.last_seq:
                await self._queue.advance(transaction, item, reached_seq=reached_seq)
            else:
                await self._queue.outbox.done(transaction, item)

        await self._log.of(owner, context.context_id).transaction(work)


async def _found_by_rules(utterances: Sequence[Utterance], context: QueuedContext) -> list[Statement]:
    """Return the statements that rules find in the messages after the place that a context has reached."""
    size = _READING * sum(len(utterance.text) for utterance in utterances)
    statements = await beside_the_loop(size, statements_of, utterances)
    return [statement for statement in statements if statement.seq > context.reached_seq]


def _owner(tenant: Tenant, user_id: str) -> Principal:
    """Return the principal that retains and forgets learned memories of a user."""
    return Principal(tenant_id=tenant.tenant_id, subject=SUBJECT, scopes=frozenset(), user_id=user_id)


def _memory(statement: Statement, context: QueuedContext) -> MemoryInput:
    """Return the memory of a statement.

    An event that changes something, such as a move, is retained as a fact: it ends the statement that held before.
    """
    ref = refs_between(statement.seq, statement.seq)
    memory_input = MemoryInput(
        text=statement.text,
        kind=MemoryKind(statement.kind.value),
        source=MemorySource(label=statement.label, context_id=str(context.context_id), ref=ref),
        happened_at=statement.said_at,
        app_id=context.app_id,
        agent_bundle_id=context.agent_bundle_id,
        is_learned=True,
    )
    as_fact = replace(memory_input, kind=MemoryKind.FACT)
    is_change = statement.kind is StatementKind.EVENT and subject_of(as_fact, said_at=statement.said_at)[0]
    return as_fact if is_change else memory_input


def _utterances(messages: Sequence[Message], speaker: str) -> list[Utterance]:
    """Return the words of the first user and of assistants in messages, without results of tools, data and files.

    Args:
        messages: Messages of one context, in order.
        speaker: The name of its first user. The words of other users are not those of the owner.
    """
    utterances = []
    for message in messages:
        is_user = message.role == "user"
        if message.is_imported:  # who said it is a claim
            continue
        if message.role != "assistant" and (not is_user or message.name != speaker):
            continue
        text = "\n".join(own_texts(message))
        utterances.append(Utterance(seq=message.seq, is_user=is_user, text=text, said_at=message.said_at))
    return utterances
