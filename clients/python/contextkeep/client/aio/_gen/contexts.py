"""The calls of contexts that are one RPC each, made by `make proto`."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator, Iterable, Mapping
from datetime import datetime
from typing import Any, Unpack

from contextkeep.client import _context_messages as contexts, _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.inputs import ContextInput, ExternalId, RecallFilter
from contextkeep.values import Context, ContextKey, ContextState, Erasure, Recalled, RecalledItem, SyncedHistory
from contextkeep.values.messages import ChatMessage


class Contexts(Noun):
    """The calls of `client.contexts` that are one RPC each."""

    async def recall(
        self,
        context_id: Id,
        text: str,
        *,
        tokens_max: int = 0,
        items_max: int = 0,
        profile: str = "",
        not_after_seq: int = 0,
        filter: RecallFilter | None = None,
        with_features: bool = False,
        reference_task_ids: Iterable[Id] = (),
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> Recalled:
        """Finds the passages of a context that matter to a text, within a budget of tokens.

        It looks at words, at what stands next to them, at authors and dates, and, where the service has an embedder, at
        meaning. An embedder that fails, or takes too long, leaves words; `by_meaning` says so.

        Items come the most relevant first; `prompt_text` has the same as one block for a model, oldest first, each
        marked as a quotation with its ref, and never of more than `tokens_max`. Tool results are at most a third of the
        items, and near-duplicates are left out.

        Args:
            text: A question, or the message to which it is to matter. The first 20,000 characters count.
            tokens_max: Of `prompt_text`, at most; 0: 2,000. Up to 100,000.
            items_max: 0: 20. Up to 200.
            profile: The ranking: "default", "conversation". Empty: the context's, else the default.
            not_after_seq: Only what stands up to this `seq`; 0: all. For callers who hold the newest messages already.
            filter: Which passages may be recalled.
            with_features: Say of each item what its score is made of.
            reference_task_ids: Up to 100 tasks of the context, whose artifacts come first. Of a message that is sent,
                its `reference_task_ids` are meant.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
            TaskNotFound: of `reference_task_ids`.
            InvalidArgument: no text; an unknown `profile`.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
        """
        request = contexts_pb.RecallRequest(
            context_id=messages.to_id(context_id),
            text=text,
            options=contexts_pb.RecallOptions(
                tokens_max=tokens_max,
                items_max=items_max,
                profile=profile,
                not_after_seq=not_after_seq,
                filter=contexts.recall_filter(filter, field="options.filter"),
                with_features=with_features,
            ),
            subject_user_id=subject_user_id,
            reference_task_ids=messages.ids("reference_task_ids", reference_task_ids),
        )
        answer: contexts_pb.RecallResponse = await self._call("Recall", request, timeout_s=timeout_s)
        return Recalled.from_proto(answer.recalled)

    async def search(
        self,
        context_id: Id,
        query: str,
        *,
        limit: int = 0,
        profile: str = "",
        filter: RecallFilter | None = None,
        with_features: bool = False,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> builtins.list[RecalledItem]:
        """Finds passages of a context by the words of a query, the best first: what Recall ranks, without a budget.

        Args:
            query: Words to find.
            limit: 0: 20. Up to 200.
            profile: As of RecallOptions.
            filter: Which passages may be found.
            with_features: Say of each passage what its score is made of.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
            TaskNotFound: of `reference_task_ids`.
            InvalidArgument: no text; an unknown `profile`.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
        """
        request = contexts_pb.SearchContextRequest(
            context_id=messages.to_id(context_id),
            query=query,
            limit=limit,
            profile=profile,
            filter=contexts.recall_filter(filter, field="filter"),
            with_features=with_features,
            subject_user_id=subject_user_id,
        )
        answer: contexts_pb.SearchContextResponse = await self._call("SearchContext", request, timeout_s=timeout_s)
        return [RecalledItem.from_proto(one) for one in answer.hits]

    async def get_by_external_id(
        self, external_id: ExternalId, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> AsyncGenerator[Context, None]:
        """Lists the contexts that carry an id of another system, newest first: there may be several.

        Args:
            external_id: Several contexts may carry it, or none.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = contexts_pb.GetContextsByExternalIdRequest(
            external_id=contexts.external_id(external_id, field="external_id"),
            subject_user_id=subject_user_id,
            page_size=page_size,
        )
        while True:
            page: contexts_pb.GetContextsByExternalIdResponse = await self._call(
                "GetContextsByExternalId", request, timeout_s=timeout_s
            )
            for one in page.contexts:
                yield Context.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def list(
        self,
        *,
        agent_id: str = "",
        owner_user_id: str = "",
        created_from: datetime | None = None,
        created_to: datetime | None = None,
        state: ContextState | None = None,
        external_id: ExternalId | None = None,
        metadata_contains: Mapping[str, Any] | None = None,
        app_id: str = "",
        entity_node_id: Id | None = None,
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[Context, None]:
        """Lists contexts, newest first.

        Args:
            agent_id: Contexts in which this agent has spoken.
            owner_user_id: Contexts of this owner, of those that the caller sees.
            created_from: Created at or after, and before.
            created_to: Created before.
            state: None: open and closed ones.
            external_id: Contexts that carry it.
            metadata_contains: A JSON object: contexts whose metadata contain it.
            app_id: Empty: of any app.
            entity_node_id: Contexts that hang at this node.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidArgument: A field is malformed; `violations` name it.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = contexts_pb.ListContextsRequest(
            agent_id=agent_id,
            owner_user_id=owner_user_id,
            created_from=messages.to_timestamp("created_from", created_from),
            created_to=messages.to_timestamp("created_to", created_to),
            state=messages.choice_of("state", state, contexts_pb.ContextState),
            external_id=contexts.external_id(external_id, field="external_id"),
            metadata_contains_json=messages.to_object("metadata_contains_json", metadata_contains),
            app_id=app_id,
            entity_node_id=messages.to_id(entity_node_id),
            subject_user_id=subject_user_id,
            page_size=page_size,
        )
        while True:
            page: contexts_pb.ListContextsResponse = await self._call("ListContexts", request, timeout_s=timeout_s)
            for one in page.contexts:
                yield Context.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def close(
        self, context_id: Id, *, subject_user_id: str = "", request_id: Id | None = None, timeout_s: float | None = None
    ) -> Context:
        """Closes a context, and what was forked from it: it is read and recalled as before, and takes no more messages.

        Again is harmless.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
        """
        request = contexts_pb.CloseContextRequest(
            context_id=messages.to_id(context_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: contexts_pb.CloseContextResponse = await self._call("CloseContext", request, timeout_s=timeout_s)
        return Context.from_proto(answer.context)

    async def list_messages(
        self,
        context_id: Id,
        *,
        seq_from: int = 0,
        seq_to: int = 0,
        newest_first: bool = False,
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[ChatMessage, None]:
        """Lists the messages of a context by their `seq`.

        Retracted ones are left out.

        A page ends at `page_size` messages or 2 MiB.

        Args:
            seq_from: From this `seq` on, and up to this one, both included; 0: from the first, to the last.
            seq_to: Up to this one, included. 0: to the last.
            newest_first: The newest first; else the oldest.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = contexts_pb.ListMessagesRequest(
            context_id=messages.to_id(context_id),
            seq_from=seq_from,
            seq_to=seq_to,
            newest_first=newest_first,
            subject_user_id=subject_user_id,
            page_size=page_size,
        )
        while True:
            page: contexts_pb.ListMessagesResponse = await self._call("ListMessages", request, timeout_s=timeout_s)
            for one in page.messages:
                yield ChatMessage.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def get_message(
        self, context_id: Id, message_id: str, *, subject_user_id: str = "", timeout_s: float | None = None
    ) -> ChatMessage:
        """Reads one message.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
            MessageNotFound: also of a retracted one.
        """
        request = contexts_pb.GetMessageRequest(
            context_id=messages.to_id(context_id), message_id=message_id, subject_user_id=subject_user_id
        )
        answer: contexts_pb.GetMessageResponse = await self._call("GetMessage", request, timeout_s=timeout_s)
        return ChatMessage.from_proto(answer.message)

    async def retract_messages(
        self,
        context_id: Id,
        message_ids: Iterable[str],
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> int:
        """Hides messages from reads, recall and later windows.

        Their `seq` stays theirs, and so do their ids: sent again, they stay retracted. Again is harmless.

        Args:
            message_ids: 1 to 500.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
            MessageNotFound: of any of them: then none is retracted.
            ContextClosed: The context takes no more messages.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
        """
        request = contexts_pb.RetractMessagesRequest(
            context_id=messages.to_id(context_id),
            message_ids=messages.texts("message_ids", message_ids),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: contexts_pb.RetractMessagesResponse = await self._call("RetractMessages", request, timeout_s=timeout_s)
        return answer.retracted_count

    async def sync_history(
        self,
        node_id: Id | None = None,
        *,
        context_id: Id | None = None,
        get_or_create: ExternalId | None = None,
        context: ContextInput | None = None,
        app_id: str | None = None,
        mapping_name: str = "",
        subject_user_id: str = "",
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> SyncedHistory:
        """Fills a context from a chat history of the entity graph.

        Call it again and again, so that sessions of the graph are recalled.

        The graph is read as the caller, by a mapping as of `history.get`, in the mapping's order. A message gets its id
        from its node, rule and place, and the node's version: what is there already is not written again, and of a node
        that changed the new message is appended and the old one retracted. What came of nodes that the history has no
        longer, or on which a rule fails now, stays. A message that cannot be written is left out, and the answer says
        why: an older version of it stays, and the next call tries it again. Messages are written in batches of up to
        500: if the call fails half-way, what is written stays, and the next one goes on. After another mapping, fill
        another context.

        Args:
            node_id: Which history: a node by its id, or by the caller's own in a graph.
            context_id: Which context: this, or the one of `get_or_create`, which the first message of the history
                begins.
            get_or_create: Instead of `context_id`: the one context of this id, which the first message begins.
            context: Of a new context, as of `contexts.append`.
            app_id: The app that the mapping is looked up in; empty: the key's if it has exactly one, else the tenant's
                shared scope.
            mapping_name: Empty: the default, as of `history.get`.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
            ContextClosed: The context takes no more messages.
            NodeNotFound: No node has this id, external id or name.
            MappingNotFound: No mapping has this name where it was looked up; `apps` in the metadata names where it is.
            CostExceeded: The expressions of a mapping cost more than a call may spend.
            Unavailable: A dependency, or the service itself, does not answer: `dependency` in the metadata. Try again.
            InvalidArgument: A field is malformed; `violations` name it.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            AnswerTooLarge: over 4 MiB: use `history.stream`; with a `format`, `max_messages` or `tokens_max`.
            MappingFailed: `strict`; metadata `node_id`, `rule`.
        """
        request = contexts_pb.SyncHistoryRequest(
            context_id=messages.to_id(context_id),
            get_or_create=contexts.external_id(get_or_create, field="get_or_create"),
            context=contexts.context_input(context, self._options.app_id),
            node_id=messages.given_node_id(node_id, **named),
            app_id=self._options.app(app_id),
            mapping_name=mapping_name,
            subject_user_id=subject_user_id,
            **named,
        )
        answer: contexts_pb.SyncHistoryResponse = await self._call("SyncHistory", request, timeout_s=timeout_s)
        return SyncedHistory.from_proto(answer)

    async def issue_key(
        self,
        context_id: Id,
        *,
        scopes: Iterable[str] = (),
        ttl_s: int = 0,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> ContextKey:
        """Makes a short-lived key that reaches this context, its forks, and nothing else in either service.

        It is for an agent that must not reach another context, whatever it is talked into. It has no more than the key
        that asks, makes no keys, and dies with it: of a JWT with the token, of an anonymous caller in development after
        an hour.

        Args:
            scopes: "read", "write". Empty: those of both that the caller has.
            ttl_s: Seconds until it ends, at most a day. 0: an hour.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
            PermissionDenied: a scope that the caller lacks; a key of a context asks.
            InvalidArgument: A field is malformed; `violations` name it.
        """
        request = contexts_pb.IssueContextKeyRequest(
            context_id=messages.to_id(context_id),
            scopes=messages.texts("scopes", scopes),
            ttl_s=ttl_s,
            subject_user_id=subject_user_id,
        )
        answer: contexts_pb.IssueContextKeyResponse = await self._call("IssueContextKey", request, timeout_s=timeout_s)
        return ContextKey.from_proto(answer)

    async def delete(
        self,
        context_id: Id,
        *,
        now: bool = False,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Erasure:
        """Deletes a context for good, with its forks.

        When this is answered, the context is `ContextNotFound` for everybody, its keys are ended, and the id of
        `get_or_create` is free. Its messages, its index, its external ids, the records that were uploaded for it and
        that nothing else refers to, and the answers that repeated calls would get are removed after that, in steps; the
        receipt says how far that is. Again is harmless, and answers the same receipt. A context that is past its
        `expires_at` is removed by itself in the same way, and has a receipt, too. A credential with `admin` deletes
        what is any user's; a key of a context deletes nothing.

        Args:
            now: Begins to remove its rows at once. Else the next pass does, within SWEEP_INTERVAL_S.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = contexts_pb.DeleteContextRequest(
            context_id=messages.to_id(context_id),
            now=now,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: contexts_pb.DeleteContextResponse = await self._call("DeleteContext", request, timeout_s=timeout_s)
        return Erasure.from_proto(answer.erasure)

    async def get_erasure(
        self, erasure_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None
    ) -> Erasure:
        """Reads a receipt as it is now.

        It is kept for a year after all was removed, and has numbers and times, nothing of what was said.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            ErasureNotFound: There is no erasure with this id that the caller may see; a receipt of a context is kept
                for a year.
        """
        request = contexts_pb.GetErasureRequest(erasure_id=messages.to_id(erasure_id), subject_user_id=subject_user_id)
        answer: contexts_pb.GetErasureResponse = await self._call("GetErasure", request, timeout_s=timeout_s)
        return Erasure.from_proto(answer.erasure)
