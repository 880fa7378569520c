"""The proto service `Contexts`: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from uuid import UUID

from context_service.contexts.model import (
    Artifact,
    Context,
    ContextFilter,
    ContextInput,
    ExternalId,
    Message,
    MessageInput,
    Retracted,
    Task,
)
from context_service.contexts.rules.find import (
    LIMIT_DEFAULT,
    PASSAGES_DEFAULT,
    ContextsFinding,
    ContextsQuery,
    FoundContext,
)
from context_service.contexts.rules.index_state import IndexState, IndexStates
from context_service.contexts.rules.messages import Messaging, SendTarget, SentMessages, written_before
from context_service.contexts.rules.recall import ITEMS_DEFAULT, TOKENS_DEFAULT, Recalled, Recalling, RecallQuery
from context_service.contexts.rules.sync_history import Syncing, SyncQuestion
from context_service.contexts.rules.watch import Happened, Watching
from context_service.contexts.store.erasures import Erasing, Erasure
from context_service.contexts.wire.headers import header_of
from context_service.contexts.wire.messages import fill as fill_message
from context_service.contexts.wire.recall import by_meaning, passages_of, recalled_item, which_of
from context_service.contexts.wire.requests import check_same_caller, ids_of, lifetime_of, messages_of, principal_of
from context_service.contexts.wire.tasks import artifact_of, task_of
from context_service.kernel.wire import times
from context_service.kernel.wire.learning_mode import text_of as learning_of
from context_service.kernel.wire.model_use import text_of
from context_service.kernel.wire.node_names import NodeNames
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import contexts_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.rpc.principal import Authenticator, Principal
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id, parse_optional_id


class ContextsServicer(contexts_pb2_grpc.ContextsServicer):
    """Answers the RPCs of `Contexts`."""

    def __init__(
        self,
        messaging: Messaging,
        recalling: Recalling,
        finding: ContextsFinding,
        erasing: Erasing,
        index_states: IndexStates,
        watching: Watching,
        callers: Authenticator,
        syncing: Syncing,
        names: NodeNames,
    ) -> None:
        self._messaging = messaging
        self._recalling = recalling
        self._finding = finding
        self._erasing = erasing
        self._index_states = index_states
        self._watching = watching
        self._callers = callers
        self._syncing = syncing
        self._names = names

    async def SendMessage(self, request: pb.SendMessageRequest, context: object) -> pb.SendMessageResponse:
        """Write one message."""
        principal = principal_of(request.subject_user_id)
        (draft,) = await messages_of({"message": request.message})  # first: it takes the secrets out of the request
        target = _target(request)
        query = _recall_after(request, draft)  # before anything is written: a malformed query refuses the call
        if request.standalone:
            if target.context_id or target.only:
                raise InvalidArgument(
                    "a message with standalone set must not have a context_id; leave out one of them",
                    field="standalone",
                )
            await self._messaging.check(draft, path="message", principal=principal)
            return pb.SendMessageResponse(message=pb.SentMessage(redacted_parts=draft.redacted))

        async def response(sent_messages: SentMessages) -> pb.SendMessageResponse:
            (sent,) = _sent_messages(sent_messages, [draft])
            response = pb.SendMessageResponse(
                context_id=str(sent_messages.context_id), message=sent, created=sent_messages.created
            )
            if query and (request.HasField("recall") or not sent_messages.created):
                until = _until(query, sent_messages.messages[0].seq - 1)
                response.recall.CopyFrom(await self._recalled_behind(sent_messages.context_id, until, principal))
            return response

        written = await self._messaging.send(
            target,
            [draft],
            paths=["message"],
            principal=principal,
            request=request_of("SendMessage", request, replay=lambda answer: response(written_before(answer))),
        )
        return await response(written)

    async def _recalled_behind(self, context_id: UUID, query: RecallQuery, principal: Principal) -> pb.Recalled:
        """Return the recalled passages for a stored message, or the reason of an error: the message stays."""
        await calls.take_turn()  # after the write: a message does not wait for the searches of others
        recalled = await self._recalling.recalled_or_error(context_id, query, principal=principal)
        return pb.Recalled(error=recalled) if isinstance(recalled, str) else _recall_message(recalled)

    async def AppendMessages(self, request: pb.AppendMessagesRequest, context: object) -> pb.AppendMessagesResponse:
        """Write several messages."""
        principal = principal_of(request.subject_user_id)
        sent = {f"messages[{place}]": item for place, item in enumerate(request.messages)}
        draft = await messages_of(sent)

        def response(sent_messages: SentMessages) -> pb.AppendMessagesResponse:
            return pb.AppendMessagesResponse(
                context_id=str(sent_messages.context_id),
                messages=_sent_messages(sent_messages, draft),
                created=sent_messages.created,
            )

        written = await self._messaging.send(
            _target(request),
            draft,
            paths=list(sent),
            principal=principal,
            request=request_of("AppendMessages", request, replay=lambda answer: response(written_before(answer))),
        )
        return response(written)

    async def Recall(self, request: pb.RecallRequest, context: object) -> pb.RecallResponse:
        """Find the passages of a context that matter to a text, within a budget of tokens."""
        recalled = await self._recalling.recall(
            parse_id("context_id", request.context_id),
            replace(
                _recall_query(request.text, request.options, "options"),
                reference_task_ids=ids_of("reference_task_ids", request.reference_task_ids),
            ),
            principal=principal_of(request.subject_user_id),
        )
        return pb.RecallResponse(recalled=_recall_message(recalled))

    async def SearchContext(self, request: pb.SearchContextRequest, context: object) -> pb.SearchContextResponse:
        """Find the passages of a context that contain the words of a query."""
        query = RecallQuery(
            text=request.query,
            items_max=request.limit or ITEMS_DEFAULT,
            profile=request.profile,
            which=which_of(request.filter, "filter"),
            with_features=request.with_features,
            score_min=request.score_min,  # unset is 0: a search shows weak hits, too
        )
        recall = await self._recalling.search(
            parse_id("context_id", request.context_id), query, principal=principal_of(request.subject_user_id)
        )
        return pb.SearchContextResponse(hits=map(recalled_item, recall.items), by_meaning=by_meaning(recall.meaning))

    async def SearchContexts(self, request: pb.SearchContextsRequest, context: object) -> pb.SearchContextsResponse:
        """Find the contexts that answer a question, with their best passages."""
        query = ContextsQuery(
            text=request.query,
            limit=request.limit or LIMIT_DEFAULT,
            passages_max=request.passages_max or PASSAGES_DEFAULT,
            profile=request.profile,
            contexts=_filter(request, owner_user_id=""),
            passages=passages_of(request),
            cursor=request.cursor,
            score_min=request.score_min,
        )
        search = await self._finding.find(query, principal=principal_of(request.subject_user_id))
        return pb.SearchContextsResponse(
            contexts=map(_found_context, search.contexts),
            searched_count=search.searched_count,
            by_meaning=by_meaning(search.meaning),
            next_cursor=search.next_cursor,
        )

    async def GetContext(self, request: pb.GetContextRequest, context: object) -> pb.GetContextResponse:
        """Read a context and its newest messages."""
        history_length = request.history_length if request.HasField("history_length") else None
        if history_length is not None and history_length < 0:
            raise InvalidArgument(f"history_length must be 0 or more (got {history_length})", field="history_length")
        principal = principal_of(request.subject_user_id)
        header, newest = await self._messaging.read(
            parse_id("context_id", request.context_id), principal=principal, history_length=history_length
        )
        response = pb.GetContextResponse(context=header_of(header), history_is_partial=newest.is_partial)
        response.context.index.CopyFrom(_index(await self._index_states.state(principal, header.context_id)))
        for message in newest.messages:
            fill_message(response.messages.add(), message)
        return response

    async def GetContextsByExternalId(
        self, request: pb.GetContextsByExternalIdRequest, context: object
    ) -> pb.GetContextsByExternalIdResponse:
        """List the contexts that carry an external id."""
        contexts, next_page_token = await self._messaging.contexts(
            ContextFilter(external_id=_external_id(request.external_id)),
            PageRequest(size=request.page_size, token=request.page_token),
            rpc="GetContextsByExternalId",
            principal=principal_of(request.subject_user_id),
        )
        return pb.GetContextsByExternalIdResponse(contexts=map(header_of, contexts), next_page_token=next_page_token)

    async def ListContexts(self, request: pb.ListContextsRequest, context: object) -> pb.ListContextsResponse:
        """List contexts."""
        contexts, next_page_token = await self._messaging.contexts(
            _filter(request, owner_user_id=request.owner_user_id),
            PageRequest(size=request.page_size, token=request.page_token),
            rpc="ListContexts",
            principal=principal_of(request.subject_user_id),
        )
        return pb.ListContextsResponse(contexts=map(header_of, contexts), next_page_token=next_page_token)

    async def UpdateContext(self, request: pb.UpdateContextRequest, context: object) -> pb.UpdateContextResponse:
        """Change fields of a context."""

        def response(context: Context) -> pb.UpdateContextResponse:
            return pb.UpdateContextResponse(context=header_of(context))

        changed = await self._messaging.update(
            parse_id("context_id", request.context_id),
            _input(request.context),
            tuple(dict.fromkeys(request.update_mask.paths)),
            principal=principal_of(request.subject_user_id),
            request=request_of("UpdateContext", request, response=response),
        )
        return response(changed)

    async def CloseContext(self, request: pb.CloseContextRequest, context: object) -> pb.CloseContextResponse:
        """Close a context."""

        def response(context: Context) -> pb.CloseContextResponse:
            return pb.CloseContextResponse(context=header_of(context))

        closed = await self._messaging.close(
            parse_id("context_id", request.context_id),
            principal=principal_of(request.subject_user_id),
            request=request_of("CloseContext", request, response=response),
        )
        return response(closed)

    async def ListMessages(self, request: pb.ListMessagesRequest, context: object) -> pb.ListMessagesResponse:
        """List the messages of a context."""
        messages, next_page_token = await self._messaging.messages(
            parse_id("context_id", request.context_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
            seq_from=request.seq_from,
            seq_to=request.seq_to,
            newest_first=request.newest_first,
        )
        response = pb.ListMessagesResponse(next_page_token=next_page_token)
        for message in messages:
            fill_message(response.messages.add(), message)
        return response

    async def GetMessage(self, request: pb.GetMessageRequest, context: object) -> pb.GetMessageResponse:
        """Read one message."""
        message = await self._messaging.message(
            parse_id("context_id", request.context_id),
            request.message_id,
            principal=principal_of(request.subject_user_id),
        )
        response = pb.GetMessageResponse()
        fill_message(response.message, message)
        return response

    async def RetractMessages(self, request: pb.RetractMessagesRequest, context: object) -> pb.RetractMessagesResponse:
        """Hide messages."""
        count = await self._messaging.retract(
            parse_id("context_id", request.context_id),
            request.message_ids,
            principal=principal_of(request.subject_user_id),
            request=request_of(
                "RetractMessages",
                request,
                replay=lambda answer: pb.RetractMessagesResponse(retracted_count=answer["retracted"]),
            ),
        )
        return pb.RetractMessagesResponse(retracted_count=count)

    async def SyncHistory(self, request: pb.SyncHistoryRequest, context: object) -> pb.SyncHistoryResponse:
        """Write the messages of a chat history of the entity graph to a context."""
        writer = principal_of(request.subject_user_id)
        target = _target(request)
        if not target.context_id and not target.only:
            raise InvalidArgument("set context_id or get_or_create", field="context_id")
        synced = await self._syncing.sync(
            target,
            SyncQuestion(
                node_id=str(await self._names.id_of("node_id", request.node_id, request)),
                app_id=request.app_id,
                mapping_name=request.mapping_name,
            ),
            reader=calls.principal(),
            writer=writer,
        )
        return copied(
            pb.SyncHistoryResponse,
            synced,
            appended_count=synced.appended,
            retracted_count=synced.retracted,
            unchanged_count=synced.unchanged,
            left_out_count=synced.left_out,
            left_out=[
                pb.LeftOutMessage(node_id=item.node_id, reason=item.error.reason, detail=item.error.message)
                for item in synced.shown
            ],
        )

    async def IssueContextKey(self, request: pb.IssueContextKeyRequest, context: object) -> pb.IssueContextKeyResponse:
        """Issue a short-lived API key that reaches only one context."""
        issued = await self._messaging.issue_key(
            parse_id("context_id", request.context_id),
            principal=principal_of(request.subject_user_id),
            scopes=_scopes(request.scopes),
            lifetime=lifetime_of("ttl_s", request.ttl_s),
        )
        return pb.IssueContextKeyResponse(key=issued.key, expires_at=times.timestamp(issued.expires_at))

    async def WaitForIndex(self, request: pb.WaitForIndexRequest, context: object) -> pb.WaitForIndexResponse:
        """Wait until the index of a context is complete."""
        state, is_complete = await self._index_states.wait(
            parse_id("context_id", request.context_id),
            seq=request.seq,
            timeout_s=request.timeout_s,
            principal=principal_of(request.subject_user_id),
        )
        return pb.WaitForIndexResponse(index=_index(state), is_complete=is_complete)

    async def DeleteContext(self, request: pb.DeleteContextRequest, context: object) -> pb.DeleteContextResponse:
        """Delete a context."""
        erasure = await self._erasing.delete(
            parse_id("context_id", request.context_id),
            principal=principal_of(request.subject_user_id),
            now=request.now,
            request=request_of("DeleteContext", request),
        )
        return pb.DeleteContextResponse(erasure=_erasure(erasure))

    async def GetErasure(self, request: pb.GetErasureRequest, context: object) -> pb.GetErasureResponse:
        """Read the receipt of a deleted context."""
        erasure = await self._erasing.receipt(
            parse_id("erasure_id", request.erasure_id), principal=principal_of(request.subject_user_id)
        )
        return pb.GetErasureResponse(erasure=_erasure(erasure))

    async def WatchContext(
        self, request: pb.WatchContextRequest, context: object
    ) -> AsyncIterator[pb.WatchContextResponse]:
        """Stream the events of a context."""
        calls.leave_place()  # watches have places of their own
        happened = self._watching.watch(
            parse_id("context_id", request.context_id),
            seq_from=request.seq_from,
            change_after=request.change_after,
            until_now=request.until_now,
            principal=principal_of(request.subject_user_id),
            check=partial(check_same_caller, self._callers),
        )
        async with aclosing(happened):
            async for item in happened:
                yield _event_message(item)


def _scopes(names: Sequence[str]) -> list[str]:
    """Return the scopes of a new key, sorted and without duplicates.

    Raises:
        InvalidArgument: a name is not `read` or `write`.
    """
    for place, name in enumerate(names):
        if name not in ("read", "write"):
            raise InvalidArgument(
                f"scopes[{place}] must be read or write (got {name[:100]!r})", field=f"scopes[{place}]"
            )
    return sorted(set(names))


def _recall_after(request: pb.SendMessageRequest, draft: MessageInput) -> RecallQuery | None:
    """Return the recall query that follows the write of a message, if there is one."""
    text = _text(draft)
    if not text or request.recall.off or not (request.HasField("recall") or draft.role == "user"):
        return None
    return replace(_recall_query(text, request.recall, "recall"), reference_task_ids=draft.reference_task_ids)


def _until(query: RecallQuery, seq: int) -> RecallQuery:
    """Return the query, limited to messages up to a `seq`."""
    seq_to = seq if query.which.seq_to is None else min(query.which.seq_to, seq)
    return replace(query, which=replace(query.which, seq_to=seq_to))


def _text(draft: MessageInput) -> str:
    return "\n".join([draft.content, *(part.text for part in draft.parts if part.text)]).strip()


def _recall_query(text: str, options: pb.RecallOptions, path: str) -> RecallQuery:
    """Return the query of a recall, with defaults for options that the caller left at 0.

    `path` names the options in errors.
    """
    query = RecallQuery(
        text=text,
        tokens_max=options.tokens_max or TOKENS_DEFAULT,
        items_max=options.items_max or ITEMS_DEFAULT,
        profile=options.profile,
        which=which_of(options.filter, f"{path}.filter"),
        with_features=options.with_features,
        score_min=options.score_min if options.HasField("score_min") else None,
    )
    return _until(query, options.not_after_seq) if options.not_after_seq else query


def _recall_message(recalled: Recalled) -> pb.Recalled:
    """Return the answer of a recall as protobuf."""
    return pb.Recalled(
        items=map(recalled_item, recalled.items),
        prompt_text=recalled.prompt_text,
        tokens=recalled.tokens,
        left_out_count=recalled.left_out,
        irrelevant_count=recalled.irrelevant,
        by_meaning=by_meaning(recalled.meaning),
    )


def _target(request: pb.SendMessageRequest | pb.AppendMessagesRequest | pb.SyncHistoryRequest) -> SendTarget:
    """Return the context that a request names: by its id, by an external id, or a new one."""
    return SendTarget(
        context_id=parse_optional_id("context_id", request.context_id),
        only=_external_id(request.get_or_create) if request.HasField("get_or_create") else None,
        new=_input(request.context),
    )


def _input(draft: pb.ContextInput) -> ContextInput:
    """Return the input for a new context, with each external id once."""
    return copied(
        ContextInput,
        draft,
        external_ids=tuple(dict.fromkeys(map(_external_id, draft.external_ids))),
        metadata_json=draft.metadata_json or "{}",
        entity_node_id=parse_optional_id("context.entity_node_id", draft.entity_node_id),
        expires_at=times.time_of("context.expires_at", draft.expires_at) if draft.HasField("expires_at") else None,
        models=text_of("context.models", draft.models),
        learning=learning_of("context.learning", draft.learning),
        is_findable=draft.is_findable if draft.HasField("is_findable") else None,
    )


def _external_id(message: pb.ExternalId) -> ExternalId:
    return ExternalId(system=message.system, id=message.id)


def _sent_messages(sent_messages: SentMessages, draft: Sequence[MessageInput]) -> Iterator[pb.SentMessage]:
    """Yield a `SentMessage` for each written message, with the numbers of its redacted parts.

    Drafts and written messages are paired by id; drafts without an id are paired in their order.
    """
    by_id = {item.message_id: item.redacted for item in draft if item.message_id}
    unnamed = iter([item.redacted for item in draft if not item.message_id])
    for item in sent_messages.messages:
        yield copied(
            pb.SentMessage,
            item,
            redacted_parts=by_id[item.message_id] if item.message_id in by_id else next(unnamed, ()),
        )


def _filter(request: pb.ListContextsRequest | pb.SearchContextsRequest, *, owner_user_id: str) -> ContextFilter:
    """Return the filter of contexts that a request asks for."""
    if request.state not in pb.ContextState.values():
        raise InvalidArgument(f"state is {request.state}, which is not a known state of contexts", field="state")
    return copied(
        ContextFilter,
        request,
        owner_user_id=owner_user_id,
        created_from=times.time_of("created_from", request.created_from) if request.HasField("created_from") else None,
        created_to=times.time_of("created_to", request.created_to) if request.HasField("created_to") else None,
        is_closed=None if not request.state else request.state == pb.CONTEXT_STATE_CLOSED,
        external_id=_external_id(request.external_id) if request.HasField("external_id") else None,
        metadata_contains_json=request.metadata_contains_json or "{}",
        entity_node_id=parse_optional_id("entity_node_id", request.entity_node_id),
    )


def _found_context(found_context: FoundContext) -> pb.FoundContext:
    """Return a context that was found as protobuf."""
    return copied(
        pb.FoundContext,
        found_context.context,
        external_ids=[copied(pb.ExternalId, external_id) for external_id in found_context.context.external_ids],
        score=found_context.score,
        passages=map(recalled_item, found_context.passages),
    )


def _index(state: IndexState) -> pb.ContextIndex:
    """Return the state of a context's search index as protobuf."""
    return pb.ContextIndex(
        passage_count=state.passages,
        indexed_count=state.indexed,
        pending_count=state.pending,
        failed_count=state.failed,
        without_text_count=state.without_text,
        oldest_pending_at=state.oldest_pending_at and times.timestamp(state.oldest_pending_at),
        error=state.error,
        unread=[copied(pb.UnreadRecord, item, working_memory_id=str(item.record_id)) for item in state.unread],
    )


def _erasure(erasure: Erasure) -> pb.Erasure:
    return copied(
        pb.Erasure, erasure, state=pb.ERASURE_STATE_FINISHED if erasure.finished_at else pb.ERASURE_STATE_RUNNING
    )


def _event_message(item: Happened) -> pb.WatchContextResponse:
    """Return the protobuf message of an event and of the positions after it; a heartbeat has only the positions."""
    response = pb.WatchContextResponse(seq_from=item.seq_from, change_after=item.change_after)
    if isinstance(item.what, Message):
        fill_message(response.message, item.what)
    elif isinstance(item.what, Task):
        response.task.CopyFrom(task_of(item.what))
    elif isinstance(item.what, Artifact):
        response.artifact.CopyFrom(artifact_of(item.what))
    elif isinstance(item.what, Retracted):
        response.retracted.seqs.extend(item.what.seqs)
        response.retracted.message_ids.extend(item.what.message_ids)
    elif isinstance(item.what, Context):
        response.context.CopyFrom(header_of(item.what))
    return response
