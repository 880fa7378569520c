# Generated from aio/_gen/contexts.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of contexts that are one RPC each, made by `make proto`."""

from __future__ import annotations

import builtins
from collections.abc import Generator, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, Unpack

from contextkeep.client import _context_messages as contexts
from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.context.v1 import summaries_pb2 as summaries_pb
from contextkeep.inputs import ContextInput, ExternalId, MessageInput, RecallFilter, RecallOptions
from contextkeep.values import (
    Context,
    ContextKey,
    ContextState,
    ContextSummary,
    Erasure,
    FoundContexts,
    Recalled,
    RecalledItem,
    SyncedHistory,
)
from contextkeep.values.contexts import ContextHistory, SentMessage
from contextkeep.values.messages import ChatMessage


class Contexts(Noun):
    """The calls of `client.contexts` that are one RPC each."""

    def send(
        self,
        message: MessageInput | str,
        context_id: Id | None = None,
        *,
        context: ContextInput | None = None,
        get_or_create: ExternalId | None = None,
        standalone: bool = False,
        recall: RecallOptions | Literal[False] | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> SentMessage:
        """Write one message.

        Without a `context_id`, it creates a context.

        When the call returns, the message is stored and indexed: the next call finds it by its words. `seq` has no
        gaps. A repeat with the same `message_id` and the same message writes nothing and gets the first answer. Secrets
        are removed before anything is stored, and the answer names the parts that held them.

        If recall fails after the message is stored, the call still succeeds: `recall.error` has the reason, and
        `contexts.recall` can be called again. For one day, a repeat with the same `request_id` gets the first answer,
        even if the context has been closed or has expired since. It gets ERASED (`NotFound`) if the context was
        deleted. This holds for all calls with a `request_id`.

        Args:
            message: The message, or the text of a user.
            context_id: Empty means the context of the message's task; without a task, the message creates a new
                context.
            context: The fields of a new context. Ignored if `context_id` is set or `get_or_create` finds a context.
            get_or_create: Instead of `context_id`. Names the one context that the owner has for this id in the app and
                agent bundle of `context`. The first caller creates it. The id becomes one of its `external_ids`.
            standalone: Check the message and store nothing. The answer has no context.
            recall: Options of the recall for the message; False recalls nothing. By default a message of a user in a
                context that existed before recalls passages, and other messages recall nothing.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            ContextClosed: The context is closed or past its lifetime, and takes no more messages.
            MessageExists: the context has a message with this id and other content.
            TaskNotFound: the context has no task with an id that the message names.
            TaskEnded: the task of `task_id` has ended.
            RecordNotFound: a part names a record that the caller cannot read.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            LimitExceeded: A value exceeds a limit.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            Erased: The object was deleted, retracted or erased, so a ref or the answer of a repeated request cannot be
                read.
        """
        request = contexts_pb.SendMessageRequest(
            context_id=messages.to_id(context_id),
            message=contexts.message_input(message, field="message"),
            context=contexts.context_input(context, self._options.app_id),
            get_or_create=contexts.external_id(get_or_create, field="get_or_create"),
            standalone=standalone,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
            recall=contexts.recall_for_message(recall),
        )
        answer: contexts_pb.SendMessageResponse = self._call("SendMessage", request, timeout_s=timeout_s)
        return SentMessage.of_answer(answer)

    def recall(
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
        score_min: float | None = None,
        reference_task_ids: Iterable[Id] = (),
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> Recalled:
        """Find the passages of a context that are relevant to a text, within a budget of tokens.

        The ranking uses words, neighboring passages, authors and dates. If the service has an embedder, it also uses
        meaning. If the embedder fails or takes too long, the ranking uses words alone, and `by_meaning` has the error.

        Items are sorted by relevance, best first. `prompt_text` has the same items as one block for a model, oldest
        first, each marked as a quotation with its ref. It never exceeds `tokens_max`. At most a third of the items are
        tool results. Near-duplicates are left out.

        Args:
            text: A question, or a message for which to find relevant passages. Only the first 20,000 characters count.
            tokens_max: Maximum number of tokens of `prompt_text`, up to 100,000. 0 means 2,000.
            items_max: Maximum number of items, up to 200. 0 means 20.
            profile: Name of the ranking: "default" or "conversation". Empty means the ranking of the context. If it has
                none, the service chooses: "conversation" where only people speak, else "default".
            not_after_seq: Recall only up to this `seq`. 0 means all. For callers that already hold the newest messages.
            filter: Which passages may be recalled.
            with_features: Return for each item the parts of its ranking.
            score_min: Recall only items with this score or a higher one, 0 to 1. 0 recalls items of any score. None
                means the default: nothing if the best item has less than 0.12, only the best item if it has less than
                0.17, otherwise items with 0.005 or more. So "Thanks, that's all" and a question about something that
                was never mentioned recall nothing.
            reference_task_ids: Up to 100 tasks of the context whose artifacts are ranked first. For a recall with
                `contexts.send`, the service uses the `reference_task_ids` of the message.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            TaskNotFound: of `reference_task_ids`.
            InvalidArgument: no text; an unknown `profile`.
            LimitExceeded: A value exceeds a limit.
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
                score_min=score_min,
            ),
            subject_user_id=subject_user_id,
            reference_task_ids=messages.ids("reference_task_ids", reference_task_ids),
        )
        answer: contexts_pb.RecallResponse = self._call("Recall", request, timeout_s=timeout_s)
        return Recalled.from_proto(answer.recalled)

    def search(
        self,
        context_id: Id,
        query: str,
        *,
        limit: int = 0,
        profile: str = "",
        filter: RecallFilter | None = None,
        with_features: bool = False,
        score_min: float | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> builtins.list[RecalledItem]:
        """Find passages of a context by the words of a query, best first.

        The ranking is that of `contexts.recall`, without a budget of tokens.

        Args:
            query: Words to find.
            limit: Maximum number of hits, up to 200. 0 means 20.
            profile: Name of the ranking, as in RecallOptions.
            filter: Which passages may be found.
            with_features: Return for each passage the parts of its ranking.
            score_min: Return only hits with this score or a higher one, 0 to 1. None means hits of any score.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            TaskNotFound: of `reference_task_ids`.
            InvalidArgument: no text; an unknown `profile`.
            LimitExceeded: A value exceeds a limit.
        """
        request = contexts_pb.SearchContextRequest(
            context_id=messages.to_id(context_id),
            query=query,
            limit=limit,
            profile=profile,
            filter=contexts.recall_filter(filter, field="filter"),
            with_features=with_features,
            subject_user_id=subject_user_id,
            score_min=score_min,
        )
        answer: contexts_pb.SearchContextResponse = self._call("SearchContext", request, timeout_s=timeout_s)
        return [RecalledItem.from_proto(item) for item in answer.hits]

    def find(
        self,
        query: str,
        *,
        limit: int = 0,
        passages_max: int = 0,
        agent_id: str = "",
        external_id: ExternalId | None = None,
        metadata_contains: Mapping[str, Any] | None = None,
        app_id: str = "",
        entity_node_id: Id | None = None,
        created_from: datetime | None = None,
        created_to: datetime | None = None,
        state: ContextState | None = None,
        roles: Iterable[str] = (),
        kinds: Iterable[str] = (),
        authors: Iterable[str] = (),
        said_from: datetime | None = None,
        said_to: datetime | None = None,
        profile: str = "",
        cursor: str = "",
        score_min: float | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> FoundContexts:
        """Search all conversations that the caller may find, and return the best passages of each.

        With a user, it finds the contexts of this user; without one, those that have no owner. A key of a context finds
        that context and its forks. Contexts that are not findable (`is_findable`) are left out. Words and meaning count
        as in `contexts.recall`, but a misspelt word is not replaced by a similar one.

        A call searches the newest 2,000 contexts that pass the filters, and compares at most 50,000 of their vectors.
        `next_cursor` continues with older contexts.

        Args:
            query: A question, or words to find. Only the first 20,000 characters count.
            limit: Maximum number of contexts, up to 100. 0 means 10.
            passages_max: Maximum number of passages of each context, up to 20. 0 means 3.
            agent_id: Contexts with a message of this agent.
            external_id: Contexts that have this external id.
            metadata_contains: A JSON object. Contexts whose metadata contain it.
            app_id: Empty means contexts of any app.
            entity_node_id: Contexts of this node of the entity graph.
            created_from: Contexts created at this time or later.
            created_to: Contexts created before this time.
            state: None means open and closed contexts.
            roles: Passages of these roles and kinds, as in RecallFilter.
            authors: Passages of these speakers.
            said_from: Passages said at `said_from` or later, and before `said_to`.
            profile: Name of the ranking, as in RecallOptions. Empty lets the service choose one by who speaks.
            cursor: To search older contexts: `next_cursor` of the answer to the same request. Empty means from the
                newest on.
            score_min: Return only passages with this score or a higher one, 0 to 1. None means passages of any score.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: of `cursor`.
            LimitExceeded: A value exceeds a limit.
        """
        request = contexts_pb.SearchContextsRequest(
            query=query,
            limit=limit,
            passages_max=passages_max,
            agent_id=agent_id,
            external_id=contexts.external_id(external_id, field="external_id"),
            metadata_contains_json=messages.to_object("metadata_contains_json", metadata_contains),
            app_id=app_id,
            entity_node_id=messages.to_id(entity_node_id),
            created_from=messages.to_timestamp("created_from", created_from),
            created_to=messages.to_timestamp("created_to", created_to),
            state=messages.choice_of("state", state, contexts_pb.ContextState),
            roles=messages.texts("roles", roles),
            kinds=messages.texts("kinds", kinds),
            authors=messages.texts("authors", authors),
            said_from=messages.to_timestamp("said_from", said_from),
            said_to=messages.to_timestamp("said_to", said_to),
            profile=profile,
            subject_user_id=subject_user_id,
            cursor=cursor,
            score_min=score_min,
        )
        answer: contexts_pb.SearchContextsResponse = self._call("SearchContexts", request, timeout_s=timeout_s)
        return FoundContexts.from_proto(answer)

    def get(
        self,
        context_id: Id,
        *,
        history_length: int | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> ContextHistory:
        """Read a context with its newest messages, sorted oldest first.

        Args:
            history_length: Return at most this many of the newest messages. None means as many as fit in 2 MiB; 0 means
                none.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
        """
        request = contexts_pb.GetContextRequest(
            context_id=messages.to_id(context_id), history_length=history_length, subject_user_id=subject_user_id
        )
        answer: contexts_pb.GetContextResponse = self._call("GetContext", request, timeout_s=timeout_s)
        return ContextHistory.from_proto(answer)

    def get_by_external_id(
        self, external_id: ExternalId, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[Context, None, None]:
        """List the contexts that have an id of another system, newest first.

        Several contexts may have the same id.

        Args:
            external_id: No context, one or several may have this id.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = contexts_pb.GetContextsByExternalIdRequest(
            external_id=contexts.external_id(external_id, field="external_id"),
            subject_user_id=subject_user_id,
            page_size=page_size,
        )
        while True:
            page: contexts_pb.GetContextsByExternalIdResponse = self._call(
                "GetContextsByExternalId", request, timeout_s=timeout_s
            )
            for item in page.contexts:
                yield Context.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def list(
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
    ) -> Generator[Context, None, None]:
        """List contexts, newest first.

        Args:
            agent_id: Contexts with a message of this agent.
            owner_user_id: Contexts of this owner, among those that the caller sees.
            created_from: Created at this time or later.
            created_to: Created before this time.
            state: None means open and closed contexts.
            external_id: Contexts that have this external id.
            metadata_contains: A JSON object. Contexts whose metadata contain it.
            app_id: Empty means contexts of any app.
            entity_node_id: Contexts of this node of the entity graph.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
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
            page: contexts_pb.ListContextsResponse = self._call("ListContexts", request, timeout_s=timeout_s)
            for item in page.contexts:
                yield Context.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def close(
        self, context_id: Id, *, subject_user_id: str = "", request_id: Id | None = None, timeout_s: float | None = None
    ) -> Context:
        """Close a context and all its forks.

        A closed context is read and recalled as before, and refuses new messages. Closing a closed context changes
        nothing.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
        """
        request = contexts_pb.CloseContextRequest(
            context_id=messages.to_id(context_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: contexts_pb.CloseContextResponse = self._call("CloseContext", request, timeout_s=timeout_s)
        return Context.from_proto(answer.context)

    def list_messages(
        self,
        context_id: Id,
        *,
        seq_from: int = 0,
        seq_to: int = 0,
        newest_first: bool = False,
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[ChatMessage, None, None]:
        """List the messages of a context by their `seq`, without retracted messages.

        A page ends at `page_size` messages or 2 MiB.

        Args:
            seq_from: First `seq` to list, included. 0 means from the first message.
            seq_to: Last `seq` to list, included. 0 means to the last message.
            newest_first: Sort newest first. Otherwise oldest first.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
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
            page: contexts_pb.ListMessagesResponse = self._call("ListMessages", request, timeout_s=timeout_s)
            for item in page.messages:
                yield ChatMessage.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def get_message(
        self, context_id: Id, message_id: str, *, subject_user_id: str = "", timeout_s: float | None = None
    ) -> ChatMessage:
        """Read one message.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            MessageNotFound: also of a retracted message.
        """
        request = contexts_pb.GetMessageRequest(
            context_id=messages.to_id(context_id), message_id=message_id, subject_user_id=subject_user_id
        )
        answer: contexts_pb.GetMessageResponse = self._call("GetMessage", request, timeout_s=timeout_s)
        return ChatMessage.from_proto(answer.message)

    def retract_messages(
        self,
        context_id: Id,
        message_ids: Iterable[str],
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> int:
        """Hide messages from reads, from recall and from windows that are packed later.

        Retracted messages keep their `seq` and their ids: sending one again does not bring it back. Retracting a
        retracted message changes nothing. Files of the context that no other message or artifact names are deleted.

        Args:
            message_ids: 1 to 500 ids.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            MessageNotFound: one of them does not exist; no message is retracted.
            ContextClosed: The context is closed or past its lifetime, and takes no more messages.
            LimitExceeded: A value exceeds a limit.
        """
        request = contexts_pb.RetractMessagesRequest(
            context_id=messages.to_id(context_id),
            message_ids=messages.texts("message_ids", message_ids),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: contexts_pb.RetractMessagesResponse = self._call("RetractMessages", request, timeout_s=timeout_s)
        return answer.retracted_count

    def sync_history(
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
        """Copy a chat history from the entity graph into a context.

        Call it regularly, so that recall finds the sessions of the graph.

        The service reads the graph as the caller, by a mapping (see `history.get`), in the order of the mapping. The id
        of a message is made from its node, the rule, its position and the version of the node. Messages that the
        context already has are not written again. If a node changed, its new message is appended and its old message is
        retracted. If the history no longer has a node, or a rule now fails on it, the messages of the node stay.

        A message that cannot be written is left out, and the answer has the reason. An older version of it stays, and
        the next call tries it again. Messages are written in batches of up to 500. If the call fails, the batches that
        were written stay, and the next call continues. Fill another context if you change the mapping.

        Args:
            node_id: The node of the history: its id, or the caller's own `external_id` in a graph.
            context_id: The context to fill. Set it, or `get_or_create`.
            get_or_create: Instead of `context_id`: the one context that has this id. The first message of the history
                creates it.
            context: The fields of a new context, as in `contexts.append`.
            app_id: The app in which the mapping is looked up. Empty means the app of the key if it has exactly one,
                otherwise the shared scope of the tenant.
            mapping_name: Empty means the default, as in `history.get`.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            ContextClosed: The context is closed or past its lifetime, and takes no more messages.
            NodeNotFound: No node that the caller may see has this id, external id or name.
            MappingNotFound: No mapping has this name in the requested app.
            CostExceeded: The expressions of a mapping cost more to evaluate than one call may spend.
            Unavailable: The service, or a dependency of it, does not answer.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            LimitExceeded: A value exceeds a limit.
            AnswerTooLarge: over 4 MiB: use `history.stream`; with a `format`, `max_messages` or `tokens_max`; with
                files, REFERENCES.
            MappingFailed: `strict`, or no node has a value for `order_by`; metadata `node_id`, `rule`.
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
        answer: contexts_pb.SyncHistoryResponse = self._call("SyncHistory", request, timeout_s=timeout_s)
        return SyncedHistory.from_proto(answer)

    def issue_key(
        self,
        context_id: Id,
        *,
        scopes: Iterable[str] = (),
        ttl_s: int = 0,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> ContextKey:
        """Create a short-lived key that reaches only this context and its forks, in both services.

        Give it to an agent that must not reach another context, even after a prompt injection. The key has at most the
        rights of the caller's key, and cannot create keys. It ends with the caller's credential: with a JWT when the
        token expires, and for an anonymous caller in development after one hour.

        Args:
            scopes: "read", "write". Empty means both, as far as the caller has them.
            ttl_s: Lifetime of the key in seconds, at most 86,400 (one day). 0 means 3,600 (one hour).
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            PermissionDenied: the caller lacks a scope, or calls with a key of a context.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
        """
        request = contexts_pb.IssueContextKeyRequest(
            context_id=messages.to_id(context_id),
            scopes=messages.texts("scopes", scopes),
            ttl_s=ttl_s,
            subject_user_id=subject_user_id,
        )
        answer: contexts_pb.IssueContextKeyResponse = self._call("IssueContextKey", request, timeout_s=timeout_s)
        return ContextKey.from_proto(answer)

    def delete(
        self,
        context_id: Id,
        *,
        now: bool = False,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Erasure:
        """Delete a context and its forks permanently.

        When the call returns, every caller gets `ContextNotFound`, the keys of the context have ended, and the id of
        `get_or_create` is free. The rest is removed after the call, in steps: the messages, the index, the external
        ids, the stored answers of repeated calls, and the records that were uploaded for the context and that nothing
        else refers to. The receipt shows the progress.

        A repeat changes nothing and returns the same receipt. A context that has passed its `expires_at` is removed in
        the same way, and has a receipt too. A credential with `admin` deletes contexts of any user. A key of a context
        deletes nothing.

        Args:
            now: Begin to remove its rows at once. Otherwise the next sweep begins, within SWEEP_INTERVAL_S.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = contexts_pb.DeleteContextRequest(
            context_id=messages.to_id(context_id),
            now=now,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: contexts_pb.DeleteContextResponse = self._call("DeleteContext", request, timeout_s=timeout_s)
        return Erasure.from_proto(answer.erasure)

    def get_erasure(self, erasure_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None) -> Erasure:
        """Read the current state of a receipt.

        A receipt is kept for one year after everything was removed. It has counts and times, and no content.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ErasureNotFound: No erasure that the caller may see has this id. The receipt of a context is kept for a
                year.
        """
        request = contexts_pb.GetErasureRequest(erasure_id=messages.to_id(erasure_id), subject_user_id=subject_user_id)
        answer: contexts_pb.GetErasureResponse = self._call("GetErasure", request, timeout_s=timeout_s)
        return Erasure.from_proto(answer.erasure)

    def get_summary(
        self,
        context_id: Id,
        *,
        tokens_max: int | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> ContextSummary:
        """Return one text about a conversation: how it began, and where it stands.

        The text has the goal, rules, values, decisions, next steps, open questions, errors and files that rules read in
        the messages, and the last words, within `tokens_max`. Each line has its speaker and a ref. Statements that a
        later one lifted or replaced are left out. It reads the first message and up to 1,000 of the newest messages, 1
        MiB of them.

        Args:
            tokens_max: Tokens of the text, from 1 to 32,000. None: 1,000.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: `tokens_max` is not between 1 and 32,000.
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
        """
        request = summaries_pb.GetContextSummaryRequest(
            context_id=messages.to_id(context_id), tokens_max=tokens_max, subject_user_id=subject_user_id
        )
        answer: summaries_pb.GetContextSummaryResponse = self._call("GetContextSummary", request, timeout_s=timeout_s)
        return ContextSummary.from_proto(answer)
