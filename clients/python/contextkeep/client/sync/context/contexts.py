# Generated from aio/context/contexts.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Contexts and their messages."""

from __future__ import annotations

import builtins
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing
from datetime import datetime
from typing import Any, Literal, Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _context_messages as contexts
from contextkeep.client import _messages as messages
from contextkeep.client._batches import MESSAGES_MAX, batches
from contextkeep.client._context_messages import ContextChanges, GivenState, KeyScope
from contextkeep.client._handles import Bound, BoundSecond, Handle
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.errors import Unavailable
from contextkeep.inputs import ContextInput, ExternalId, MessageInput, RecallFilter, RecallOptions
from contextkeep.values import (
    ChatMessage,
    Context,
    ContextEvent,
    ContextHistory,
    ContextIndex,
    ContextKey,
    Erasure,
    Recalled,
    RecalledItem,
    SentMessage,
    SyncedHistory,
)

_WAIT_BESIDE_S = 5  # of a call's deadline, beside what it waits


class Contexts(Noun):
    """Contexts.

    A context that is another tenant's or user's, outside of what the key is bound to, expired, or not there at all is
    `ContextNotFound`. A key without a user names the one that it acts for in `subject_user_id`, for which it needs
    the scope `delegate`; without one it sees what has no owner.
    """

    def handle(self, context_id: Id) -> ContextHandle:
        """Return the methods that are about one context, without a call."""
        return ContextHandle(self, context_id)

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
        """Write a message, and return what became of it; without a `context_id` it begins a new context.

        When this returns, the message is stored and indexed, and what of the context's past matters to it is in
        `recalled`. The same `message_id` again is the same message, and answers as the first time.

        Args:
            message: A `MessageInput`, or the text of a user.
            context_id: Where it goes.
            context: What to say of a new context; of one that is there, it is left aside.
            get_or_create: Instead of a `context_id`: the one context that tenant and owner have for this id, made by
                whoever is first.
            standalone: Store nothing; the message is only checked.
            recall: How much is recalled for it. None: with the defaults for a user's message in a context that was
                there, and nothing for others. False: nothing.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again answers as the first time and writes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: there is no such context; nothing was made.
            ContextClosed: it takes no more messages.
            MessageExists: the `message_id` is that of another message of the context.
            TaskNotFound: a task that it names is not of the context.
            TaskEnded: the task that it belongs to has ended.
            RecordNotFound: a part names a record that the caller cannot read.
            LimitExceeded: a text, a document or the whole is too large: `limit` and `value` in the metadata.
            PermissionDenied: the key may not write, or not for this user.
        """
        request = contexts_pb.SendMessageRequest(
            context_id=messages.to_id(context_id),
            message=contexts.message_input(message, field="message"),
            context=contexts.context_input(context, self._options.app_id),
            get_or_create=contexts.external_id(get_or_create, field="get_or_create"),
            standalone=standalone,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
            recall=contexts.recall_behind(recall),
        )
        response: contexts_pb.SendMessageResponse = self._call("SendMessage", request, timeout_s=timeout_s)
        return SentMessage.from_proto(response.message, response)

    def append(
        self,
        said: Iterable[MessageInput | str],
        context_id: Id | None = None,
        *,
        context: ContextInput | None = None,
        get_or_create: ExternalId | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> builtins.list[SentMessage]:
        """Write messages in their order, and return what became of each.

        Up to 500 messages and 4 MiB are one call: all or none. More are several calls, one after the other, each all
        or none; with the same `request_id` the whole can be sent again.

        Args:
            said: The messages, oldest first; a text is a user's.
            context_id: Where they go; None: a new context.
            context: What to say of a new context.
            get_or_create: As in `send`.
            subject_user_id: For which user a key without one calls.
            request_id: As in `send`.
            timeout_s: Deadline of one call; None: the client's.

        Raises:
            ContextKeepError: those of `send`. Earlier calls have written their messages.
        """
        request = contexts_pb.AppendMessagesRequest(
            context_id=messages.to_id(context_id),
            messages=contexts.message_inputs(said),
            context=contexts.context_input(context, self._options.app_id),
            get_or_create=contexts.external_id(get_or_create, field="get_or_create"),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        written: list[SentMessage] = []
        for batch in batches(request, ["messages"], count_max=MESSAGES_MAX):
            if written:
                batch.context_id = written[0].context_id
                batch.ClearField("context")
                batch.ClearField("get_or_create")
            response: contexts_pb.AppendMessagesResponse = self._call("AppendMessages", batch, timeout_s=timeout_s)
            written += [SentMessage.from_proto(sent, response) for sent in response.messages]
        return written

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
        reference_task_ids: Iterable[Id] = (),
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> Recalled:
        """Return what of a context's past matters to a text, within a budget of tokens.

        Args:
            context_id: Where to look.
            text: A question, or the message to which it is to matter; its first 20,000 characters count.
            tokens_max: Of the prompt text, up to 100,000; it is never of more. 0: 2,000.
            items_max: Up to 200. 0: 20.
            profile: The ranking: "default", "conversation". Empty: the context's, else the default.
            not_after_seq: Only what stands up to this `seq`, for who holds the newest messages. 0: all.
            filter: Which passages are meant.
            with_features: Say of each item what its score is made of.
            reference_task_ids: Up to 100 tasks of the context, whose artifacts come first.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: there is none.
            TaskNotFound: it has not all tasks that are referred to.
            InvalidArgument: the text is empty, or there is no such profile.
            LimitExceeded: more is asked for than there may be.
        """
        options = RecallOptions(
            tokens_max=tokens_max,
            items_max=items_max,
            profile=profile,
            not_after_seq=not_after_seq,
            filter=filter,
            with_features=with_features,
        )
        request = contexts_pb.RecallRequest(
            context_id=messages.to_id(context_id),
            text=text,
            options=contexts.recall_options(options),
            subject_user_id=subject_user_id,
            reference_task_ids=messages.ids("reference_task_ids", reference_task_ids),
        )
        response: contexts_pb.RecallResponse = self._call("Recall", request, timeout_s=timeout_s)
        return Recalled.from_proto(response.recalled)

    def search(
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
        """Return the passages of a context that a query finds, the best first: as `recall`, without a budget.

        Args:
            context_id: Where to look.
            query: Words to find.
            limit: Passages at most, up to 200. 0: 20.
            profile: As in `recall`.
            filter: Which passages are meant.
            with_features: Say of each what its score is made of.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextKeepError: those of `recall`.
        """
        request = contexts_pb.SearchContextRequest(
            context_id=messages.to_id(context_id),
            query=query,
            limit=limit,
            profile=profile,
            filter=contexts.recall_filter(filter),
            with_features=with_features,
            subject_user_id=subject_user_id,
        )
        response: contexts_pb.SearchContextResponse = self._call("SearchContext", request, timeout_s=timeout_s)
        return [RecalledItem.from_proto(hit) for hit in response.hits]

    def get(
        self,
        context_id: Id,
        *,
        history_length: int | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> ContextHistory:
        """Return a context and its newest messages, oldest of them first; `list_messages` has all of them.

        Args:
            context_id: Which.
            history_length: Messages to return; None: as many as fit 2 MiB. 0: none.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: there is none.
        """
        request = contexts_pb.GetContextRequest(
            context_id=messages.to_id(context_id), history_length=history_length, subject_user_id=subject_user_id
        )
        response: contexts_pb.GetContextResponse = self._call("GetContext", request, timeout_s=timeout_s)
        return ContextHistory(
            Context.from_proto(response.context), [ChatMessage.from_proto(one) for one in response.messages]
        )

    def get_by_external_id(
        self,
        external_id: ExternalId,
        *,
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[Context, None, None]:
        """Yield the contexts that carry an id of another system, newest first, following the pages.

        Args:
            external_id: Which. Several contexts may carry it, or none.
            subject_user_id: For which user a key without one calls.
            page_size: Contexts of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = contexts_pb.GetContextsByExternalIdRequest(
            external_id=contexts.external_id(external_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: contexts_pb.GetContextsByExternalIdResponse = self._call(
                "GetContextsByExternalId", request, timeout_s=timeout_s
            )
            for context in page.contexts:
                yield Context.from_proto(context)
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
        state: GivenState = "",
        external_id: ExternalId | None = None,
        metadata_contains: Mapping[str, Any] | None = None,
        app_id: str = "",
        entity_node_id: Id | None = None,
        subject_user_id: str = "",
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> Generator[Context, None, None]:
        """Yield contexts, newest first, following the pages. All that is said must hold of a context.

        Args:
            agent_id: In which this agent has spoken.
            owner_user_id: Of this owner, of those that the caller sees.
            created_from: Created then or later.
            created_to: Created before.
            state: "open" or "closed". Empty: either.
            external_id: That carry it.
            metadata_contains: A JSON object that the metadata must contain.
            app_id: Empty: of any app.
            entity_node_id: That hang on this node.
            subject_user_id: For which user a key without one calls.
            page_size: Contexts of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = contexts_pb.ListContextsRequest(
            agent_id=agent_id,
            owner_user_id=owner_user_id,
            created_from=messages.to_timestamp("created_from", created_from),
            created_to=messages.to_timestamp("created_to", created_to),
            state=messages.choice("state", state, contexts.STATES),
            external_id=contexts.external_id(external_id),
            metadata_contains_json=messages.to_object("metadata_contains_json", metadata_contains),
            app_id=app_id,
            entity_node_id=messages.to_id(entity_node_id),
            subject_user_id=subject_user_id,
            page_size=page_size,
        )
        while True:
            page: contexts_pb.ListContextsResponse = self._call("ListContexts", request, timeout_s=timeout_s)
            for context in page.contexts:
                yield Context.from_proto(context)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def update(
        self,
        context_id: Id,
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **changes: Unpack[ContextChanges],
    ) -> Context:
        """Change the given fields of a context, each as a whole, and return it. Metadata is replaced, not merged.

        Args:
            context_id: Which.
            subject_user_id: For which user a key without one calls.
            request_id: As in `send`.
            timeout_s: Deadline; None: the client's.
            **changes: The fields of `ContextChanges` and their new values. None empties a field.

        Raises:
            ContextNotFound: there is none.
            ContextClosed: it is closed.
            InvalidArgument: nothing is named, or something cannot be so.
        """
        context, paths = contexts.context_changes(changes)
        request = contexts_pb.UpdateContextRequest(
            context_id=messages.to_id(context_id),
            context=context,
            update_mask=FieldMask(paths=paths),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: contexts_pb.UpdateContextResponse = self._call("UpdateContext", request, timeout_s=timeout_s)
        return Context.from_proto(response.context)

    def close(
        self,
        context_id: Id,
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Context:
        """Close a context for good, and return it: it is read as before, and takes no more messages. Again is harmless.

        Raises:
            ContextNotFound: there is none.
        """
        request = contexts_pb.CloseContextRequest(
            context_id=messages.to_id(context_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: contexts_pb.CloseContextResponse = self._call("CloseContext", request, timeout_s=timeout_s)
        return Context.from_proto(response.context)

    def wait_for_index(
        self,
        context_id: Id,
        *,
        seq: int = 0,
        wait_s: int = 30,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> ContextIndex:
        """Wait until what was written is found by all that it is found by, and return how far that is.

        Words find a message as soon as it is sent; vectors, where the service has an embedder, follow, and so does what
        records say that messages point at. If it takes longer than `wait_s`, what comes back is not `is_complete`, and
        `error` says why.

        Args:
            context_id: Which.
            seq: Up to which message. 0: all that are written now.
            wait_s: Seconds to wait, 1 to 300.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: a little more than `wait_s`.

        Raises:
            ContextNotFound: there is none, or it was deleted meanwhile.
            LimitExceeded: it is to wait for longer than it may, or too many wait.
        """
        request = contexts_pb.WaitForIndexRequest(
            context_id=messages.to_id(context_id), seq=seq, timeout_s=wait_s, subject_user_id=subject_user_id
        )
        response: contexts_pb.WaitForIndexResponse = self._call(
            "WaitForIndex", request, timeout_s=wait_s + _WAIT_BESIDE_S if timeout_s is None else timeout_s
        )
        return ContextIndex.from_proto(response.index)

    def delete(
        self,
        context_id: Id,
        *,
        now: bool = False,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Erasure:
        """Delete a context for good, and return the receipt of it; again is harmless, and returns the same.

        When this returns, the context is there for nobody. What is stored of it is removed behind that; `get_erasure`
        tells how far that is.

        Args:
            context_id: Which.
            now: Begin to remove at once, and not with the next pass of the service.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: there is, and was, none.
        """
        request = contexts_pb.DeleteContextRequest(
            context_id=messages.to_id(context_id),
            now=now,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: contexts_pb.DeleteContextResponse = self._call("DeleteContext", request, timeout_s=timeout_s)
        return Erasure.from_proto(response.erasure)

    def get_erasure(self, erasure_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None) -> Erasure:
        """Return a receipt as it is now. It is kept for a year after all was removed.

        Raises:
            ErasureNotFound: there is none with this id.
        """
        request = contexts_pb.GetErasureRequest(erasure_id=messages.to_id(erasure_id), subject_user_id=subject_user_id)
        response: contexts_pb.GetErasureResponse = self._call("GetErasure", request, timeout_s=timeout_s)
        return Erasure.from_proto(response.erasure)

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
        """Yield the messages of a context by their `seq`, following the pages. Retracted ones are left out.

        Args:
            context_id: Which.
            seq_from: From this `seq` on. 0: from the first.
            seq_to: Up to this one, included. 0: to the last.
            newest_first: The other way round.
            subject_user_id: For which user a key without one calls.
            page_size: Messages of one call, which ends at 2 MiB, too; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            ContextNotFound: there is none.
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
            for message in page.messages:
                yield ChatMessage.from_proto(message)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def get_message(
        self, context_id: Id, message_id: str, *, subject_user_id: str = "", timeout_s: float | None = None
    ) -> ChatMessage:
        """Return one message.

        Raises:
            ContextNotFound: there is no such context.
            MessageNotFound: it has no such message, or it is retracted.
        """
        request = contexts_pb.GetMessageRequest(
            context_id=messages.to_id(context_id), message_id=message_id, subject_user_id=subject_user_id
        )
        response: contexts_pb.GetMessageResponse = self._call("GetMessage", request, timeout_s=timeout_s)
        return ChatMessage.from_proto(response.message)

    def retract_messages(
        self,
        context_id: Id,
        message_ids: Iterable[str],
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> int:
        """Hide messages for good from reads, recall and later windows, and return how many this call hid.

        Their places and ids stay theirs: sent again, they stay retracted. Again is harmless.

        Args:
            context_id: Where they are.
            message_ids: 1 to 500.
            subject_user_id: For which user a key without one calls.
            request_id: As in `send`.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: there is no such context.
            MessageNotFound: it has not all of them; then none is retracted.
            ContextClosed: it is closed.
            LimitExceeded: there are more than 500.
        """
        request = contexts_pb.RetractMessagesRequest(
            context_id=messages.to_id(context_id),
            message_ids=messages.texts("message_ids", message_ids),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: contexts_pb.RetractMessagesResponse = self._call("RetractMessages", request, timeout_s=timeout_s)
        return response.retracted_count

    def sync_history(
        self,
        node_id: Id | None = None,
        *,
        context_id: Id | None = None,
        get_or_create: ExternalId | None = None,
        context: ContextInput | None = None,
        mapping_name: str = "",
        app_id: str | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> SyncedHistory:
        """Fill a context from a chat history of the graph, and return what changed; call it again as often as you like.

        What is there already is not written again. Of a node that changed the new message is appended, and the old one
        retracted. A call that fails half-way leaves what it wrote, and the next one goes on.

        Args:
            node_id: The conversation's node; or name it by `external_id`.
            context_id: Which context is filled.
            get_or_create: Instead: the one context of this id, which the first message begins.
            context: What to say of a new context.
            mapping_name: How its nodes become messages. Empty: "simple_chat".
            app_id: Where the mapping is looked up. None: the client's app.
            subject_user_id: For which user a key without one writes; the graph is read as the key's own.
            timeout_s: Deadline; None: the client's. A long history may need more than one call.
            **named: Its `external_id` instead: `ByExternalId`.

        Raises:
            ContextNotFound: there is no such context.
            ContextClosed: it takes no messages.
            NodeNotFound, MappingNotFound, CostExceeded, Unavailable: as of `history.stream`.
        """
        request = contexts_pb.SyncHistoryRequest(
            context_id=messages.to_id(context_id),
            get_or_create=contexts.external_id(get_or_create, field="get_or_create"),
            context=contexts.context_input(context, self._options.app_id),
            node_id=messages.given_node_id(node_id, **named),
            **named,
            app_id=self._options.app(app_id),
            mapping_name=mapping_name,
            subject_user_id=subject_user_id,
        )
        response: contexts_pb.SyncHistoryResponse = self._call("SyncHistory", request, timeout_s=timeout_s)
        return SyncedHistory.from_proto(response)

    def issue_key(
        self,
        context_id: Id,
        *,
        scopes: Iterable[KeyScope] = (),
        ttl_s: int = 0,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> ContextKey:
        """Return a new short-lived key that reaches this context, those forked from it, and nothing else.

        For an agent that shall not be able to reach another context, whatever it is talked into. It dies with the key
        that asked for it. A call that is tried again may leave a key that nobody has seen, until it ends.

        Args:
            context_id: Which.
            scopes: "read", "write". Empty: those of both that the caller has.
            ttl_s: Seconds until it ends, at most a day. 0: an hour.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: there is none.
            PermissionDenied: the caller lacks a scope, or calls with such a key itself.
        """
        request = contexts_pb.IssueContextKeyRequest(
            context_id=messages.to_id(context_id),
            scopes=messages.texts("scopes", scopes),
            ttl_s=ttl_s,
            subject_user_id=subject_user_id,
        )
        return ContextKey.from_proto(self._call("IssueContextKey", request, timeout_s=timeout_s))

    def watch(
        self,
        context_id: Id,
        *,
        seq_from: int = 0,
        change_after: int = 0,
        until_now: bool = False,
        subject_user_id: str = "",
    ) -> Generator[ContextEvent, None, None]:
        """Yield what happens in a context: messages, and what changed, as it is then: tasks, artifacts, the header.

        Messages that are retracted are told, too: whoever keeps a copy removes them from it.

        It goes on from where it was when a replica stops, and ends when the context is closed.

        Args:
            context_id: Which.
            seq_from: The first message; 0: from the first. A `ContextEvent` says from where on there is more.
            change_after: What changed behind this number; all but messages has one. 0: all.
            until_now: End when all is told that is there.
            subject_user_id: For which user a key without one calls.

        Raises:
            ContextNotFound: there is none, or none any more.
            Unauthenticated: the key is revoked, or over.
            TooManyCalls: there are as many watches as there may be.
            Unavailable: no replica answers.
        """
        request = contexts_pb.WatchContextRequest(
            until_now=until_now,
            context_id=messages.to_id(context_id),
            seq_from=seq_from,
            change_after=change_after,
            subject_user_id=subject_user_id,
        )
        while True:
            begun = False
            try:
                answers = self._stream("WatchContext", request)
                with closing(answers):
                    for answer in answers:
                        begun = True
                        request.seq_from, request.change_after = answer.seq_from, answer.change_after
                        if answer.WhichOneof("event"):
                            yield ContextEvent.from_proto(answer)
                return
            except Unavailable:
                if not begun:
                    raise


class ContextHandle(Handle):
    """A context by its id: the methods of `contexts` that are about one context."""

    __slots__ = ("_noun", "context_id")
    _id_field = "context_id"

    send = BoundSecond(Contexts.send)
    append = BoundSecond(Contexts.append)
    recall = Bound(Contexts.recall)
    search = Bound(Contexts.search)
    get = Bound(Contexts.get)
    update = Bound(Contexts.update)
    close = Bound(Contexts.close)
    wait_for_index = Bound(Contexts.wait_for_index)
    delete = Bound(Contexts.delete)
    list_messages = Bound(Contexts.list_messages)
    get_message = Bound(Contexts.get_message)
    retract_messages = Bound(Contexts.retract_messages)
    issue_key = Bound(Contexts.issue_key)
    watch = Bound(Contexts.watch)

    def __init__(self, contexts: Contexts, context_id: Id) -> None:
        self._noun = contexts
        self.context_id = messages.to_id(context_id)
