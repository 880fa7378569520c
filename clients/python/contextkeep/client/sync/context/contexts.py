# Generated from aio/context/contexts.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Contexts and their messages."""

from __future__ import annotations

import builtins
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _context_messages as contexts
from contextkeep.client import _messages as messages
from contextkeep.client._batches import MESSAGES_MAX, batches
from contextkeep.client._context_messages import ContextChanges
from contextkeep.client._handles import Bound, BoundSecond, Handle
from contextkeep.client._messages import Id
from contextkeep.client.sync._gen import contexts as gen
from contextkeep.client.sync.context.message_files import WithUploads
from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.errors import Unavailable
from contextkeep.inputs import ContextInput, ExternalId, MessageInput
from contextkeep.values import (
    Context,
    ContextEvent,
    ContextIndex,
    SentMessage,
)

_WAIT_BESIDE_S = 5  # added to the wait, for the deadline of a call


class Contexts(WithUploads, gen.Contexts):
    """Contexts.

    A context that belongs to another tenant or user, is outside the bounds of the key, has expired, or does not exist
    is `ContextNotFound`. A key without a user names the user to act for in `subject_user_id`, for which it needs the
    scope `delegate`; otherwise it sees data without an owner.
    """

    def handle(self, context_id: Id, *, subject_user_id: str = "") -> ContextHandle:
        """Return the methods that are about one context, for a user if one is given. Makes no call."""
        return ContextHandle(self, context_id, subject_user_id)

    def append(
        self,
        new_messages: Iterable[MessageInput | str],
        context_id: Id | None = None,
        *,
        context: ContextInput | None = None,
        get_or_create: ExternalId | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> builtins.list[SentMessage]:
        """Write messages in their order, and return a receipt for each.

        Up to 500 messages and 4 MiB are sent in one call, which writes all of them or none. More messages are sent in
        several calls, one after the other. With the same `request_id` you can send everything again.

        Args:
            new_messages: The messages, oldest first; a text is a user's.
            context_id: The context to write to. Default: a new context.
            context: The fields of the context, if it is a new one.
            get_or_create: As in `send`.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.
            request_id: As in `send`.
            timeout_s: Deadline of one call in seconds. None means the client's.

        Raises:
            ContextKeepError: the same errors as `send`. Earlier calls have written their messages.
        """
        request = contexts_pb.AppendMessagesRequest(
            context_id=messages.to_id(context_id),
            messages=contexts.message_inputs(new_messages),
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
            context_id: The context.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.
            request_id: As in `send`.
            timeout_s: Deadline in seconds. None means the client's.
            **changes: The fields of `ContextChanges` and their new values. None empties a field.

        Raises:
            ContextNotFound: the context does not exist.
            ContextClosed: the context is closed.
            InvalidArgument: no field is given, or a value is not allowed.
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

    def wait_for_index(
        self,
        context_id: Id,
        *,
        seq: int = 0,
        wait_s: int = 30,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> ContextIndex:
        """Wait until messages are found by all indexes, and return the state of the index.

        A message can be found by its words as soon as it is sent. Vectors (if the service has an embedder) and texts of
        records that messages refer to follow. If it takes longer than `wait_s`, the returned index is not
        `is_complete`, and `error` says why.

        Args:
            context_id: The context.
            seq: The last message that must be indexed. 0 means the newest one at the time of the call.
            wait_s: Seconds to wait, 1 to 300.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.
            timeout_s: Deadline. Default: a little more than `wait_s`.

        Raises:
            ContextNotFound: the context does not exist, or was deleted meanwhile.
            LimitExceeded: `wait_s` is too large, or too many calls wait.
        """
        request = contexts_pb.WaitForIndexRequest(
            context_id=messages.to_id(context_id), seq=seq, timeout_s=wait_s, subject_user_id=subject_user_id
        )
        response: contexts_pb.WaitForIndexResponse = self._call(
            "WaitForIndex", request, timeout_s=wait_s + _WAIT_BESIDE_S if timeout_s is None else timeout_s
        )
        return ContextIndex.from_proto(response.index)

    def watch(
        self,
        context_id: Id,
        *,
        seq_from: int = 0,
        change_after: int = 0,
        until_now: bool = False,
        subject_user_id: str = "",
    ) -> Generator[ContextEvent, None, None]:
        """Yield the events of a context: its messages, and each changed task, artifact or header in its new state.

        Retracted messages are events, too, so that a copy can drop them.

        If a replica stops, the stream continues on another one. It ends when the context is closed.

        Args:
            context_id: The context.
            seq_from: The first message; 0 means the first of the context. A `ContextEvent` has the value for the next
                call.
            change_after: Only changes after this number; messages have none. 0 means all.
            until_now: Stop after the events that exist now.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.

        Raises:
            ContextNotFound: the context does not exist, or was deleted meanwhile.
            Unauthenticated: the key was revoked, or has expired.
            TooManyCalls: too many watches are open.
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

    __slots__ = ("_noun", "_user_id", "context_id")
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
    get_summary = Bound(Contexts.get_summary)
    issue_key = Bound(Contexts.issue_key)
    watch = Bound(Contexts.watch)

    def __init__(self, contexts: Contexts, context_id: Id, subject_user_id: str = "") -> None:
        self._noun = contexts
        self._user_id = subject_user_id
        self.context_id = messages.to_id(context_id)
