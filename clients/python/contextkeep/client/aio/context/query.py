"""One question to every source."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Unpack

from contextkeep.client._messages import Id
from contextkeep.client._query_messages import QueryOptions, question_request
from contextkeep.client.aio._gen import query as gen
from contextkeep.values import (
    MemoryQueryMode,
    QueriedContext,
    QueryDepth,
    QueryEvent,
    QueryMode,
    QueryScope,
)


class Query(gen.Query):
    """Context query."""

    async def ask(
        self,
        query: str,
        *,
        mode: QueryMode = "results",
        scope: QueryScope = "auto",
        depth: QueryDepth = "quick",
        limit: int = 20,
        provider_ids: Sequence[str] | None = None,
        families: Sequence[str] | None = None,
        node_ids: Sequence[Id] | None = None,
        memory_mode: MemoryQueryMode | None = None,
        context_ids: Sequence[Id] = (),
        tokens_max: int = 0,
        time_from: datetime | None = None,
        time_to: datetime | None = None,
        explain: bool = False,
        expand_refs: Sequence[str] = (),
        score_min: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        agent_id: str = "",
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> QueriedContext:
        """Ask every source a question, and return the hits, with their sources, and the status of each source.

        If a source fails, its status has the error, and the other sources still answer.

        Args:
            query: The question: not blank, up to 8,000 characters.
            mode: "results", or "answer", which also returns quotations of the best hits.
            scope: "auto", "personal": the user's data; "team": data without an owner.
            depth: "quick", or "deep": more time, more hits, and a second pass.
            limit: Maximum number of hits, 1 to 50.
            provider_ids: The providers to search, in addition to those of `families`. By default the default providers.
            families: Families whose providers are all searched, such as "mcp".
            node_ids: The nodes whose files the provider `workspace` searches, up to 20. Default: all.
            memory_mode: The provider `memory` returns a hit for each memory ("recall"), or one statement ("reflect").
            context_ids: The contexts that the provider `context` searches, up to 16.
            tokens_max: Also return `prompt_text` with at most this many tokens. 0 means no text.
            time_from: Return only hits from this time on. It must have a time zone.
            time_to: Return only hits from before this time. It must have a time zone.
            explain: Also return the hits of each provider, as they were before merging.
            expand_refs: Refs of hits of earlier answers, up to 20, whose whole texts are returned, too.
            score_min: Return only hits with this score or a higher one, 0 to 1. Default: 0.25 in mode "answer", else 0.
            metadata: Return only hits whose metadata have these values: texts, numbers and booleans. None: any.
            agent_id: The agent to search as: its policy applies, and its files are searched. Empty: the key's agent, if
                any.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.
            timeout_s: Deadline in seconds; the answer has the hits that arrive by then. None means the client's.

        Raises:
            InvalidArgument: the question is blank, or a value is unknown; the error names the field.
            LimitExceeded: a list has too many items.
            AgentNotFound: the agent does not exist, or the caller may not name it.
            ProviderNotAllowed: the agent may not use a named provider.
            PermissionDenied: the key may not act for this user.
        """
        request = question_request(
            query,
            mode=mode,
            scope=scope,
            depth=depth,
            limit=limit,
            provider_ids=provider_ids,
            families=families,
            node_ids=node_ids,
            memory_mode=memory_mode,
            context_ids=context_ids,
            tokens_max=tokens_max,
            time_from=time_from,
            time_to=time_to,
            explain=explain,
            expand_refs=expand_refs,
            score_min=score_min,
            metadata=metadata,
            agent_id=agent_id,
            subject_user_id=subject_user_id,
        )
        return QueriedContext.from_proto(await self._call("QueryContext", request, timeout_s=timeout_s))

    async def stream(
        self, query: str, *, timeout_s: float | None = None, **options: Unpack[QueryOptions]
    ) -> AsyncGenerator[QueryEvent, None]:
        """Ask like `ask`, and yield the answer of each source as it arrives. The last value is what `ask` would return.

        If you stop reading early, the searches that still run are cancelled.

        Args:
            query: The question: not blank, up to 8,000 characters.
            timeout_s: Deadline in seconds; the answer has the hits that arrive by then. None means the client's.
            **options: The same as for `ask`.

        Raises:
            InvalidArgument: the question is blank, or a value is unknown; the error names the field.
            LimitExceeded: a list has too many items.
            AgentNotFound: the agent does not exist, or the caller may not name it.
            ProviderNotAllowed: the agent may not use a named provider.
            PermissionDenied: the key may not act for this user.
        """
        within_s = self._options.timeout_s if timeout_s is None else timeout_s
        answers = self._stream("StreamQueryContext", question_request(query, **options), timeout_s=within_s)
        async with aclosing(answers):
            async for answer in answers:
                yield QueryEvent.from_proto(answer)
