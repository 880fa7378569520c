"""Writes contexts and messages: begins contexts, checks and appends messages, and answers retries."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

import orjson

from context_service.contexts.model import (
    Context,
    ContextFilter,
    ContextInput,
    ExternalId,
    Message,
    MessageInput,
    NewestMessages,
    NewMessage,
    Sent,
)
from context_service.contexts.pure.checks import MessageChecks, check_external_id, check_message_ids, size_of
from context_service.contexts.pure.files import bytes_of_files, with_files_apart
from context_service.contexts.pure.passages import passages_of
from context_service.contexts.rules.message_files import FileSources, MessageFiles, Store
from context_service.contexts.rules.references import References, named_by, task_not_found
from context_service.contexts.store.log import SEQ_MAX, AlreadyThere, Known, Log, Taken
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.kernel.parts import Part, to_json, tokens_of
from context_service.kernel.tokens import TokenCounter
from contextkeep.errors import (
    Aborted,
    ContextClosed,
    ContextKeepError,
    ContextNotFound,
    InvalidArgument,
    InvalidPageToken,
    MessageExists,
    MessageNotFound,
    PermissionDenied,
    TaskEnded,
    TaskNotFound,
)
from service_runtime.auth.derived_keys import IssuedKey, make_context_key
from service_runtime.inputs import pages
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Transaction
from service_runtime.rpc.calls import give_way
from service_runtime.rpc.fair_queue import SLICE_S
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.statements.requests import AnsweredBefore, Request, Requests
from service_runtime.values.copying import copied
from service_runtime.values.ids import new_id

CHANGEABLE = frozenset(
    {
        "title",
        "external_ids",
        "metadata_json",
        "entity_node_id",
        "expires_at",
        "recall_profile",
        "models",
        "is_findable",
        "learning",
    }
)
_NO_FILES: FileSources = {}
_DECODING = 4  # cost of finding and hashing files, in parses of the same bytes
_CUTTING = 16  # cost of preparing a message, in parses of the same bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessages:
    """The result of a write: the context, and its messages in the order of their `seq`."""

    context_id: UUID
    messages: list[Sent]
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SendTarget:
    """The context to write to: the one with the id, the only one of an external id, or a new one."""

    context_id: UUID | None = None
    only: ExternalId | None = None
    new: ContextInput = ContextInput()


class Messaging:
    """Writes contexts and their messages, and reads them; each call acts for its principal.

    Args:
        log: The SQL statements on contexts and their messages.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        checks: Checks the sizes and forms of messages and headers.
        tokens: Counts the tokens of messages and passages.
        files: Stores the files of messages, and checks the records that parts name.
        references: Checks the tasks that messages name.
        writer_locks: Locks by context: in this process, one call at a time appends to a context.
    """

    def __init__(
        self,
        log: Log,
        *,
        requests: Requests,
        checks: MessageChecks,
        tokens: TokenCounter,
        files: MessageFiles,
        references: References,
        writer_locks: KeyedLocks,
    ) -> None:
        self._log = log
        self._requests = requests
        self._checks = checks
        self._tokens = tokens
        self._files = files
        self._references = references
        self._writer_locks = writer_locks

    async def check(self, draft: MessageInput, *, path: str, principal: Principal) -> None:
        """Refuse a standalone message that could not be sent; store nothing."""
        (draft,) = await files_apart([draft])
        size_bytes = size_of(draft)
        await beside_the_loop(size_bytes, self._checks.check_message, draft, size_bytes, path=path)
        if draft.task_id or draft.reference_task_ids:
            raise InvalidArgument(
                "a message with standalone set must not have a task_id; leave out one of them", field="standalone"
            )
        await self._files.sources_of(draft.parts, principal=principal)

    async def send(
        self,
        target: SendTarget,
        messages: Sequence[MessageInput],
        *,
        paths: Sequence[str],
        principal: Principal,
        request: Request | None,
    ) -> SentMessages:
        """Write messages in order, all or none; to a new context, if the target names none.

        Idempotent by message id: a message that is already in the log is not written again.

        Args:
            target: The context to write to, or how to begin a new one.
            messages: The messages to write, in their order.
            paths: Path of each message in its request, for errors.
            principal: The caller, acting for a user or not.
            request: The idempotency key of the call; None if the call has none.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            ContextClosed: the context is closed.
            MessageExists: another message has the same id.
            RecordNotFound: a part names a record that the principal cannot read.
            TaskNotFound: a message names a task that is not of the context.
            TaskEnded: a message belongs to a task that has ended.
            PermissionDenied: the caller's key is bound to a context and may not begin one, or the new context is
                outside of the bounds of the key.
            RequestIdReused: the request id was used before, for another request.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a message is too large, or there are too many messages.
        """
        if target.context_id and target.only:
            raise InvalidArgument("set context_id or get_or_create, not both", field="get_or_create")
        if target.only:
            check_external_id(target.only, path="get_or_create")
        messages = await files_apart(messages)
        sizes = [size_of(draft) for draft in messages]
        await beside_the_loop(sum(sizes), self._checks.check_messages, messages, sizes=sizes, paths=paths)
        sources = await self._files.sources_of(_parts_of(messages), principal=principal)
        if sources:
            messages = [replace(draft, parts=self._files.with_files(draft.parts, sources)) for draft in messages]
        new = await self._prepare_new(messages, sizes=sizes, paths=paths, sources=sources)
        asks_task = not target.context_id and not target.only and any(draft.task_id for draft in messages)
        if asks_task:
            target = replace(target, context_id=await self._references.context_meant(messages, principal=principal))
        if target.context_id:
            return await self._append(target.context_id, new, sources, principal=principal, request=request)
        return await self._begin(target, new, sources, principal=principal, request=request)

    async def taking(self, target: SendTarget, *, principal: Principal) -> UUID | None:
        """Return the context that messages would be written to; None if the first message would begin it.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            ContextClosed: the context is closed.
            InvalidArgument: the target names a context in two ways.
        """
        if target.context_id and target.only:
            raise InvalidArgument("set context_id or get_or_create, not both", field="get_or_create")
        context_id = target.context_id
        if target.only:
            check_external_id(target.only, path="get_or_create")
            draft = _within_bounds(target.new, principal)
            context_id = await self._log.find_only(target.only, draft, principal=principal)
        if context_id:
            context = await self._log.read(context_id, principal=principal.without_admin())
            if context is None or context.closed_at:
                raise await self._refusal(context_id, principal)
        return context_id

    async def ids_beginning(
        self, context_id: UUID, prefixes: Sequence[str], *, principal: Principal
    ) -> dict[str, bool]:
        """Return the message ids of a context that begin with one of the prefixes, and whether each is retracted."""
        return await self._log.ids_beginning(context_id, prefixes, principal=principal)

    async def _begin(
        self,
        target: SendTarget,
        messages: Sequence[NewMessage],
        sources: FileSources,
        *,
        principal: Principal,
        request: Request | None,
    ) -> SentMessages:
        """Write messages to a new context, or to the only context of an external id if there is one.

        The insert may lose against a concurrent call, or meet an expired context that still has the external id: then
        it is retried.
        """
        self._checks.check_context(target.new, path="context")
        _check_expiry(target.new)
        draft = _within_bounds(target.new, principal)
        if target.only and target.only not in draft.external_ids:
            draft = replace(draft, external_ids=(target.only, *draft.external_ids))

        async def begun() -> SentMessages:
            if target.only and (existing_id := await self._log.find_only(target.only, draft, principal=principal)):
                return await self._append(existing_id, messages, sources, principal=principal, request=request)
            for task_id in named_by([message.draft for message in messages]):  # a new context has none
                raise task_not_found(task_id)
            context_id = new_id()
            try:
                async with self._with_files(context_id, messages, sources, principal) as (filed, store):
                    stored_messages = await self._log.begin(
                        context_id, draft, filed, principal=principal, only=target.only, files=store, request=request
                    )
                return SentMessages(context_id=context_id, messages=stored_messages, created=True)
            except AlreadyThere as error:
                if error.taken is Taken.REQUEST and request:
                    await self._requests.answered(self._log.of(principal, context_id), request)
                    raise _answered_long_ago() from error
                if error.taken is not Taken.ONLY or not target.only:
                    raise
                # A concurrent call was first; or an expired context still has the external id, which is released here.
                await self._log.release_expired(target.only, draft, principal=principal)
                raise RowsChanged from error

        return await until_written(begun, what="the external id")

    @asynccontextmanager
    async def _with_files(
        self, context_id: UUID, messages: Sequence[NewMessage], sources: FileSources, principal: Principal
    ) -> AsyncIterator[tuple[Sequence[NewMessage], Store | None]]:
        """Yield messages as they are stored in a context, and what stores their files; see `ContextFiles.stored`."""
        if not sources:
            yield messages, None
            return
        filed = [
            replace(
                message,
                draft=replace(
                    message.draft,
                    parts=self._files.placed(message.draft.parts, context_id, sources, tenant_id=principal.tenant_id),
                ),
            )
            for message in messages
        ]
        parts = _parts_of([message.draft for message in messages])
        async with self._files.stored(context_id, parts, sources, principal=principal) as store:
            yield filed, store

    async def _append(
        self,
        context_id: UUID,
        messages: Sequence[NewMessage],
        sources: FileSources,
        *,
        principal: Principal,
        request: Request | None,
    ) -> SentMessages:
        """Store the files of messages, and append the messages to a context; see `_append_filed`."""
        async with self._with_files(context_id, messages, sources, principal) as (filed, store):
            return await self._append_filed(context_id, filed, store, principal=principal, request=request)

    async def _append_filed(
        self,
        context_id: UUID,
        messages: Sequence[NewMessage],
        store: Store | None,
        *,
        principal: Principal,
        request: Request | None,
    ) -> SentMessages:
        """Append messages to an existing context, without those that are already in its log.

        The insert is tried first. If it is refused, the messages that the log already has are read: they were written
        by an earlier call with the same content, and the insert is retried without them.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            ContextClosed: the context is closed.
            TaskNotFound: a message names a task that the context does not have.
            TaskEnded: a message names a task that has ended.
            MessageExists: the log has other content under the same message id.
        """
        known: dict[str, Known] = {}

        async def appended() -> SentMessages:
            nonlocal known
            missing = [message for message in messages if message.draft.message_id not in known]
            stored_messages: Sequence[Sent] = []
            if missing:
                try:
                    stored_messages = await self._log.append(
                        context_id,
                        missing,
                        known=known.values(),
                        hold=self._references.hold(context_id, [message.draft for message in missing]),
                        files=store,
                        principal=principal,
                        request=request,
                    )
                except (TaskNotFound, TaskEnded) as error:
                    # Some of the messages may have been written before the task ended.
                    known = await self._stored_messages(context_id, messages, principal)
                    if len(known) < len(messages):
                        raise await self._refused_by_task(context_id, principal, error) from None
                    raise RowsChanged from error
                except AlreadyThere as error:
                    if error.taken is Taken.REQUEST and request:
                        await self._requests.answered(self._log.of(principal, context_id), request)
                        raise _answered_long_ago() from error
                    known = await self._stored_messages(context_id, messages, principal)
                    raise RowsChanged from error
                if not stored_messages:
                    # Refused; some of the messages may have been written before the context was closed.
                    known = await self._stored_messages(context_id, messages, principal)
                    if len(known) < len(messages):
                        raise await self._refusal(context_id, principal)
            before = sorted(
                (known_message.sent for known_message in known.values()),
                key=lambda stored_messages: stored_messages.seq,
            )
            return SentMessages(context_id=context_id, messages=[*before, *stored_messages], created=False)

        async with self._writer_locks.hold((principal.tenant_id, context_id)):
            return await until_written(appended, what="the same messages")

    async def _refused_by_task(
        self, context_id: UUID, principal: Principal, error: TaskNotFound | TaskEnded
    ) -> ContextKeepError:
        """Return the error to raise after an error of a task: the context's error if it is closed or does not exist."""
        context = await self._log.read(context_id, principal=principal.without_admin())
        if context is None or context.closed_at:
            return await self._refusal(context_id, principal)
        return error

    async def _stored_messages(
        self, context_id: UUID, messages: Sequence[NewMessage], principal: Principal
    ) -> dict[str, Known]:
        """Return the messages that are already in the log.

        Raises:
            MessageExists: one of them has other content in the log.
        """
        by_id = {message.draft.message_id: message for message in messages}
        known = await self._log.known(context_id, list(by_id), principal=principal)
        for message_id, known_message in known.items():
            if known_message.sha256 != by_id[message_id].sha256:
                raise MessageExists(f"message {message_id} exists with other content", message_id=message_id)
        return known

    async def _refusal(self, context_id: UUID, principal: Principal) -> ContextNotFound | ContextClosed:
        """Return why a context refused messages: it is closed, or the caller does not see it."""
        if await self._log.read(context_id, principal=principal.without_admin()):
            return _closed_error(context_id)
        return not_found(context_id)

    async def _prepare_new(
        self,
        messages: Sequence[MessageInput],
        *,
        sizes: Sequence[int],
        paths: Sequence[str],
        sources: FileSources = _NO_FILES,
    ) -> list[NewMessage]:
        """Return the messages without duplicates, each with its id, tokens and passages."""
        prepared: dict[str, NewMessage] = {}
        pause_at = time.perf_counter() + SLICE_S
        for draft, size_bytes, path in zip(messages, sizes, paths, strict=True):
            # Prepare one message after another, so that other calls with long texts can run in between.
            message = await beside_the_loop(_CUTTING * size_bytes, self._new, draft, size_bytes, sources)
            if time.perf_counter() > pause_at:  # short messages are prepared on the event loop, so yield to it
                await give_way()
                pause_at = time.perf_counter() + SLICE_S
            if prepared.setdefault(message.draft.message_id, message).sha256 != message.sha256:
                raise InvalidArgument(
                    f"{path}.message_id is also that of another message with other content",
                    field=f"{path}.message_id",
                )
        return list(prepared.values())

    def _new(self, draft: MessageInput, size_bytes: int, sources: FileSources) -> NewMessage:
        """Return a message to write, with its id, its hash, its tokens and its passages."""
        draft = draft if draft.message_id else replace(draft, message_id=str(new_id()))
        count = cache(self._tokens.count)  # a short text is counted as a text, and as a passage
        return NewMessage(
            draft=draft,
            said_at=draft.said_at,
            tokens=tokens_of(draft.content, draft.parts, count=count),
            size_bytes=size_bytes,
            sha256=_sha256(replace(draft, parts=self._files.hashed(draft.parts, sources)) if sources else draft),
            passages=passages_of(draft, count=count),
        )

    async def prepared(self, draft: MessageInput, *, path: str) -> NewMessage:
        """Return a message without references, ready for a write that other code makes in its own transaction.

        Raises:
            InvalidArgument: a field of the message is malformed.
            LimitExceeded: the message is too large.
        """
        size_bytes = size_of(draft)
        await beside_the_loop(size_bytes, self._checks.check_message, draft, size_bytes, path=path)
        (message,) = await self._prepare_new([draft], sizes=[size_bytes], paths=[path])
        return message

    async def read(
        self, context_id: UUID, *, principal: Principal, history_length: int | None
    ) -> tuple[Context, NewestMessages]:
        """Return a context with its newest messages; `history_length` None reads as many as fit.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
        """
        context = await self._log.read(context_id, principal=principal)
        if context is None:
            raise not_found(context_id)
        if history_length == 0:
            return context, NewestMessages()
        messages = await self._log.newest(context_id, principal=principal, count=history_length)
        if messages is None:
            raise not_found(context_id)
        return context, messages

    async def messages(
        self,
        context_id: UUID,
        page: pages.PageRequest,
        *,
        principal: Principal,
        seq_from: int,
        seq_to: int,
        newest_first: bool,
    ) -> tuple[list[Message], str]:
        """Return a page of messages between two places, and the token of the next page.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            InvalidArgument: the page size is negative.
            InvalidPageToken: the page token is malformed, or belongs to another query.
        """
        for name, value in (("seq_from", seq_from), ("seq_to", seq_to)):
            if value < 0:
                raise InvalidArgument(f"{name} must be 0 or more (got {value})", field=name)
        query = ("ListMessages", principal.tenant_id, context_id, seq_from, seq_to, newest_first)
        low, high = max(seq_from, 1), seq_to or SEQ_MAX
        if seq := pages.decode_number(query, page.token, number_min=1):
            low, high = (low, seq - 1) if newest_first else (seq + 1, high)
        count = pages.page_size(page.size)
        messages = await self._log.page(
            context_id, principal=principal, seq_from=low, seq_to=high, count=count, newest_first=newest_first
        )
        if messages is None:
            raise not_found(context_id)
        if not messages or (messages[-1].seq <= low if newest_first else messages[-1].seq >= high):
            return messages, ""
        # No message may follow: then the next page is empty.
        return messages, pages.encode_token(query, (messages[-1].seq,))

    async def message(self, context_id: UUID, message_id: str, *, principal: Principal) -> Message:
        """Return one message.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            MessageNotFound: the context has no such message, or the message is retracted.
        """
        check_message_ids([message_id], path="message_id")
        messages = await self._log.message(context_id, message_id, principal=principal)
        if messages is None:
            raise not_found(context_id)
        for message in messages:
            return message
        raise _no_message(message_id)

    async def contexts(
        self, which: ContextFilter, page: pages.PageRequest, *, rpc: str, principal: Principal
    ) -> tuple[list[Context], str]:
        """Return a page of contexts, newest first, and the token of the next page.

        Raises:
            InvalidArgument: a field of the request is malformed or out of range.
            InvalidPageToken: the page token is malformed, or belongs to another query.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
        """
        self._checks.check_filter(which)
        query = (rpc, principal.tenant_id, principal.user_id, *(getattr(which, field.name) for field in fields(which)))
        after = place_of_token(pages.decode_token(query, page.token, parts=2))
        count = pages.page_size(page.size)
        contexts = await self._log.headers(which, principal=principal, after=after, count=count + 1)
        return pages.cut(query, contexts, count, key=lambda context: (context.created_at, context.context_id))

    async def update(
        self,
        context_id: UUID,
        draft: ContextInput,
        names: Sequence[str],
        *,
        principal: Principal,
        request: Request | None,
    ) -> Context:
        """Change the fields `names` of a context.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            ContextClosed: the context is closed.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
        """
        for name in names:
            if name not in CHANGEABLE:
                known = ", ".join(sorted(CHANGEABLE))
                raise InvalidArgument(f"update_mask may name {known} (got {name[:100]!r})", field="update_mask")
        if not names:
            raise InvalidArgument("update_mask must name at least one field", field="update_mask")
        self._checks.check_context(draft, path="context")
        if "expires_at" in names:
            _check_expiry(draft)

        async def change(transaction: Transaction, context: Context) -> Context:
            if context.closed_at:
                raise _closed_error(context_id)
            before = copied(ContextInput, context, app_id="", agent_bundle_id="")
            after = replace(before, **{name: getattr(draft, name) for name in names})
            return await self._log.update(transaction, context_id, after)

        return await self._change_header(context_id, change, principal=principal, request=request)

    async def close(self, context_id: UUID, *, principal: Principal, request: Request | None) -> Context:
        """Close a context, and the contexts that were forked from it.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            RequestIdReused: the request id was used before, for another request.
        """

        async def change(transaction: Transaction, _: Context) -> Context:
            return await self._log.close(transaction, context_id)

        try:
            closed = await self._change_header(context_id, change, principal=principal, request=request)
        except AnsweredBefore:  # the first call may have been killed before the next line
            await self._log.close_below(context_id, principal=principal)
            raise
        await self._log.close_below(context_id, principal=principal)
        return closed

    async def _change_header(
        self,
        context_id: UUID,
        change: Callable[[Transaction, Context], Awaitable[Context]],
        *,
        principal: Principal,
        request: Request | None,
    ) -> Context:
        """Change the header of a context, and return it. A repeated request gets the first answer.

        Args:
            context_id: The context.
            change: Writes the change, given the locked header.
            principal: The caller.
            request: The idempotency key of the call; None if the call has none.
        """

        async def work(transaction: Transaction) -> Context:
            context = await self._lock(transaction, context_id)
            return await change(transaction, context)

        async with self._writer_locks.hold((principal.tenant_id, context_id)):
            write = self._requests.once(request, work, about_id=context_id)
            return await self._log.of(principal, context_id).transaction(write)

    async def retract(
        self, context_id: UUID, message_ids: Sequence[str], *, principal: Principal, request: Request | None
    ) -> int:
        """Hide messages, all or none, and return how many of them this call has hidden.

        Files of the context that no other message, artifact or task names are deleted: their bytes could be read by
        their ids.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            ContextClosed: the context is closed.
            MessageNotFound: one of the messages does not exist.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
        """
        check_message_ids(message_ids, path="message_ids")
        unique_ids = list(dict.fromkeys(message_ids))

        async def work(transaction: Transaction) -> int:
            context = await self._lock(transaction, context_id)
            if context.closed_at:
                raise _closed_error(context_id)
            known_ids = await self._log.known_of(transaction, context_id, unique_ids)
            for message_id in unique_ids:
                if message_id not in known_ids:
                    raise _no_message(message_id)
            seqs = await self._log.retract(transaction, context_id, unique_ids)
            if seqs and (file_ids := await self._log.lone_files(transaction, context_id, seqs)):
                await self._files.remove(transaction, file_ids, principal=principal)
            return len(seqs)

        async with self._writer_locks.hold((principal.tenant_id, context_id)):
            write = self._requests.once(
                request, work, about_id=context_id, values=lambda retracted: {"retracted": retracted}
            )
            return await self._log.of(principal, context_id).transaction(write)

    async def issue_key(
        self, context_id: UUID, *, principal: Principal, scopes: Sequence[str], lifetime: timedelta
    ) -> IssuedKey:
        """Make a short-lived key that reaches one context; see `derived_keys.make_context_key`.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            PermissionDenied: the caller's own key is bound to a context.
            InvalidArgument: a field of the request is malformed or out of range.
        """
        if principal.context_id:
            raise PermissionDenied("a key of a context cannot make keys")

        async def work(transaction: Transaction) -> IssuedKey:
            if not await self._log.hold(transaction, context_id):
                raise not_found(context_id)
            return await make_context_key(transaction, principal, context_id, scopes=scopes, lifetime=lifetime)

        return await self._log.of(principal, context_id).transaction(work)

    async def _lock(self, transaction: Transaction, context_id: UUID) -> Context:
        """Lock a context until the transaction ends, and return its header.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
        """
        context = await self._log.lock(transaction, context_id)
        if context is None:
            raise not_found(context_id)
        return context


def not_found(context_id: UUID) -> ContextNotFound:
    """Return the error for any context that the caller does not see."""
    return ContextNotFound(f"context {context_id} does not exist", context_id=context_id)


def _closed_error(context_id: UUID) -> ContextClosed:
    return ContextClosed(f"context {context_id} is closed; write to another one", context_id=context_id)


def _no_message(message_id: str) -> MessageNotFound:
    return MessageNotFound(f"the context has no message {message_id[:200]!r}", message_id=message_id)


def _within_bounds(draft: ContextInput, principal: Principal) -> ContextInput:
    """Return the draft of a new context within the bounds of the caller's key.

    If the draft names no app or agent bundle, it gets those of the key.

    Raises:
        PermissionDenied: the draft names another app or agent bundle than the key is bound to, or the key is bound to
            a context or to graphs.
    """
    if principal.context_id:
        raise PermissionDenied("the key is bound to a context: set its id as context_id")
    draft = replace(
        draft,
        app_id=draft.app_id or principal.app_default,
        agent_bundle_id=draft.agent_bundle_id or principal.agent_bundle_id,
    )
    principal.check_bounds(graph_name="", agent_bundle_id=draft.agent_bundle_id, app_id=draft.app_id)
    return draft


def _parts_of(messages: Iterable[MessageInput]) -> list[Part]:
    return [part for draft in messages for part in draft.parts]


async def files_apart(messages: Sequence[MessageInput]) -> list[MessageInput]:
    """Return messages whose `data:` URLs and media blocks have become files, off the event loop if they are large."""
    size_bytes = sum(size_of(draft) + bytes_of_files(draft) for draft in messages)
    return await beside_the_loop(_DECODING * size_bytes, lambda: list(map(with_files_apart, messages)))


def _answered_long_ago() -> Aborted:
    """Return the error of a request whose stored answer was deleted just now, a day after the first call."""
    return Aborted("the request was answered long ago; use a new request id")


def written_before(answer: Mapping[str, Any]) -> SentMessages:
    """Return the result of the first call, from its stored answer."""
    messages = [
        Sent(message_id=message_id, seq=seq, created_at=_utc(created_at), tokens=tokens)
        for message_id, seq, created_at, tokens in answer["messages"]
    ]
    return SentMessages(context_id=UUID(answer["context_id"]), messages=messages, created=answer["created"])


def _check_expiry(draft: ContextInput) -> None:
    if draft.expires_at and draft.expires_at <= datetime.now(UTC):
        raise InvalidArgument("context.expires_at must be in the future", field="context.expires_at")


def _sha256(draft: MessageInput) -> bytes:
    """Return the hash that distinguishes a retry from another message with the same id."""
    content: list[object] = [
        draft.role,
        draft.content,
        to_json(draft.parts),
        draft.name,
        draft.agent_id,
        draft.metadata_json,
        draft.said_at,
        draft.session,
    ]
    if draft.task_id or draft.reference_task_ids:
        content += [draft.task_id, draft.reference_task_ids]
    return hashlib.sha256(orjson.dumps(content)).digest()


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def place_of_token(key: Sequence[object] | None, *, field: str = "page_token") -> tuple[datetime, UUID] | None:
    """Return the time and the id of the last context of a page, from its token; None for the first page.

    Raises:
        InvalidPageToken: the token is malformed.
    """
    if key is None:
        return None
    try:
        created_at, context_id = datetime.fromisoformat(str(key[0])), UUID(str(key[1]))
        if created_at.tzinfo is None:
            raise ValueError("the time has no time zone")
    except ValueError:
        raise InvalidPageToken(f"{field} is malformed", field=field) from None
    return created_at, context_id
