# Generated from aio/context/history.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Chat history, and the history of an entity."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Literal, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import ByExternalId, Id
from contextkeep.client.sync._gen import history as gen
from contextkeep.client.sync.body_files import contents_of
from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.values import ChatHistory, ChatMessage, FormattedHistory, MessageFormat


class History(gen.History):
    """Histories."""

    def stream(
        self,
        node_id: Id | None = None,
        *,
        mapping_name: str = "",
        app_id: str | None = None,
        max_messages: int = 0,
        tokens_max: int = 0,
        strict: bool = False,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> ChatHistory:
        """Return the messages of a conversation, oldest first, however many they are.

        Args:
            node_id: The conversation's node; or name it by `external_id`.
            mapping_name: The mapping that turns nodes into messages. Empty: "simple_chat".
            app_id: The app whose mapping is used. Default: the client's app.
            max_messages: Return only this many of the newest messages. 0 means all.
            tokens_max: Return only the newest messages that fit; a call comes with all its results or not at all. 0
                means all.
            strict: Fail if a rule fails on a node, instead of counting the node.
            timeout_s: Deadline of the whole stream. Default: none, but it fails if no data arrive for `idle_timeout_s`.
            **named: The `external_id` of the node instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is no such node.
            MappingNotFound: the mapping is not registered; `apps` in the metadata names the apps that have it.
            MappingFailed: `strict` is set, and a rule failed: `node_id` and `rule` in the metadata.
        """
        request = history_pb.StreamChatHistoryRequest(
            node_id=messages.given_node_id(node_id, **named),
            **named,
            mapping_name=mapping_name,
            app_id=self._options.app(app_id),
            max_messages=max_messages,
            tokens_max=tokens_max,
            strict=strict,
        )
        attempts = self._attempts(timeout_s)

        def attempt() -> ChatHistory:
            result: list[ChatMessage] = []
            last = history_pb.StreamChatHistoryResponse()
            answers = self._streamed("StreamChatHistory", request, attempts)
            with closing(answers):
                for last in answers:
                    result.extend(map(ChatMessage.from_proto, last.messages))
            return ChatHistory.from_proto(result, last)

        return self._repeated(attempts, attempt)

    def get(
        self,
        node_id: Id | None = None,
        *,
        mapping_name: str = "",
        app_id: str | None = None,
        max_messages: int = 0,
        tokens_max: int = 0,
        strict: bool = False,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> ChatHistory:
        """Return the messages of a conversation that fit one answer; `stream` has no such limit.

        Args:
            node_id: The conversation's node; or name it by `external_id`.
            mapping_name: The mapping that turns nodes into messages. Empty: "simple_chat".
            app_id: The app whose mapping is used. Default: the client's app.
            max_messages: Return only this many of the newest messages. 0 means all.
            tokens_max: Return only the newest messages that fit; a call comes with all its results or not at all. 0
                means all.
            strict: Fail if a rule fails on a node, instead of counting the node.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The `external_id` of the node instead: `ByExternalId`.

        Raises:
            AnswerTooLarge: the answer has more than 4 MiB.
            ContextKeepError: the same errors as `stream`.
        """
        request = history_pb.GetChatHistoryRequest(
            node_id=messages.given_node_id(node_id, **named),
            **named,
            mapping_name=mapping_name,
            app_id=self._options.app(app_id),
            max_messages=max_messages,
            tokens_max=tokens_max,
            strict=strict,
        )
        response: history_pb.GetChatHistoryResponse = self._call("GetChatHistory", request, timeout_s=timeout_s)
        return ChatHistory.from_proto(map(ChatMessage.from_proto, response.messages), response)

    def formatted(
        self,
        node_id: Id | None = None,
        message_format: MessageFormat | Literal[""] = "",
        *,
        mapping_name: str = "",
        app_id: str | None = None,
        max_messages: int = 0,
        tokens_max: int = 0,
        strict: bool = False,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> FormattedHistory:
        """Return the messages of a conversation in a model vendor's format, with tool calls next to their results.

        Args:
            node_id: The conversation's node; or name it by `external_id`.
            message_format: Required. The format: "openai" (Chat Completions), "openai_responses", "anthropic" or
                "gemini".
            mapping_name: The mapping that turns nodes into messages. Empty: "simple_chat".
            app_id: The app whose mapping is used. Default: the client's app.
            max_messages: Return only this many of the newest messages. 0 means all.
            tokens_max: Return only the newest messages that fit; a call comes with all its results or not at all. 0
                means all.
            strict: Fail if a rule fails on a node, instead of counting the node.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The `external_id` of the node instead: `ByExternalId`.

        Raises:
            AnswerTooLarge: the answer has more than 4 MiB.
            ContextKeepError: the same errors as `stream`.
        """
        request = history_pb.GetChatHistoryRequest(
            node_id=messages.given_node_id(node_id, **named),
            **named,
            mapping_name=mapping_name,
            app_id=self._options.app(app_id),
            max_messages=max_messages,
            tokens_max=tokens_max,
            strict=strict,
            format=messages.choice_of("message_format", message_format, history_pb.MessageFormat),
            files=history_pb.FILE_DELIVERY_REFERENCES,
        )
        history = FormattedHistory.from_proto(self._call("GetChatHistory", request, timeout_s=timeout_s))
        return replace(history, file_bytes=contents_of(history.files, self._file_cache, self._stream))
