"""Checks of contexts and messages, as callers describe them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from context_service.contexts.model import (
    FILES_OF_RESULT_MAX,
    MESSAGES_MAX,
    ContextFilter,
    ContextInput,
    ExternalId,
    MessageInput,
)
from context_service.kernel.files.reading import FILE_BYTES_MAX
from context_service.kernel.parts import File, Part, Reasoning, ToolCall, ToolResult
from contextkeep.errors import InvalidArgument
from service_runtime.inputs.documents import parse_json, parse_object
from service_runtime.values.checks import check_bytes, check_count, check_long_text, check_text, utf8_bytes
from service_runtime.values.ids import parse_id

EXTERNAL_IDS_MAX = 20
CONTENT_BYTES_MAX = 1024 * 1024
TITLE_CHARS_MAX = 400
EXTERNAL_ID_CHARS_MAX = 400
SYSTEM_CHARS_MAX = 100
_MESSAGE_ID_CHARS_MAX = 200
_SESSION_CHARS_MAX = 200
_MEDIA_TYPE_CHARS_MAX = 255
_URL_CHARS_MAX = 8192
_ALT_CHARS_MAX = 2000
FILES_MAX = 500  # files of one call that have their bytes
PROFILE_CHARS_MAX = 100
_REFERENCES_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageChecks:
    """The checks, with the limits that are settings."""

    message_bytes_max: int
    parts_max: int
    metadata_bytes_max: int
    nesting_max: int  # nesting of any JSON document
    name_chars_max: int
    takes_bytes: bool = False  # files may have their bytes, which are stored then

    def check_messages(self, messages: Sequence[MessageInput], *, sizes: Sequence[int], paths: Sequence[str]) -> None:
        """Refuse messages that cannot be stored.

        Args:
            messages: The messages of one request, in their order.
            sizes: The `size_of` of each message, in the same order.
            paths: Path of each message in its request, for the error.

        Raises:
            InvalidArgument: there is no message, or a field is malformed or missing.
            LimitExceeded: a message is too large, or there are too many.
        """
        if not messages:
            raise InvalidArgument("messages must have at least one message", field="messages")
        check_count("messages", len(messages), MESSAGES_MAX)
        _check_files(part for draft in messages for part in draft.parts)
        for draft, size_bytes, path in zip(messages, sizes, paths, strict=True):
            self.check_message(draft, size_bytes, path=path)

    def check_message(self, draft: MessageInput, size_bytes: int, *, path: str) -> None:
        """Refuse a message of `size_bytes` that cannot be stored; raises as `check_messages`."""
        check_text(f"{path}.message_id", draft.message_id, chars_max=_MESSAGE_ID_CHARS_MAX)
        check_text(f"{path}.name", draft.name, chars_max=self.name_chars_max)
        check_text(f"{path}.agent_id", draft.agent_id, chars_max=self.name_chars_max)
        check_text(f"{path}.session", draft.session, chars_max=_SESSION_CHARS_MAX)
        if not draft.content and not draft.parts:
            raise InvalidArgument(f"{path} must have content or parts", field=f"{path}.content")
        check_long_text(f"{path}.content", draft.content, size_bytes_max=CONTENT_BYTES_MAX)
        self.check_metadata(f"{path}.metadata_json", draft.metadata_json)
        check_references(f"{path}.reference_task_ids", draft.reference_task_ids)
        check_count(f"{path}.parts", len(draft.parts), self.parts_max)
        for place, part in enumerate(draft.parts):
            self._check_part(part, path=f"{path}.parts[{place}]")
        _check_files(draft.parts)
        check_bytes(path, size_bytes, self.message_bytes_max)

    def check_context(self, draft: ContextInput, *, path: str) -> None:
        """Refuse a header that cannot be stored.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too large.
        """
        check_text(f"{path}.title", draft.title, chars_max=TITLE_CHARS_MAX)
        check_text(f"{path}.app_id", draft.app_id, chars_max=self.name_chars_max)
        check_text(f"{path}.agent_bundle_id", draft.agent_bundle_id, chars_max=self.name_chars_max)
        check_text(f"{path}.recall_profile", draft.recall_profile, chars_max=PROFILE_CHARS_MAX)
        self.check_metadata(f"{path}.metadata_json", draft.metadata_json)
        check_count(f"{path}.external_ids", len(draft.external_ids), EXTERNAL_IDS_MAX)
        for place, external_id in enumerate(draft.external_ids):
            check_external_id(external_id, path=f"{path}.external_ids[{place}]")

    def check_filter(self, which: ContextFilter) -> None:
        """Refuse a filter that no context can match; raises as `check_context`."""
        for name in ("agent_id", "owner_user_id", "app_id"):
            check_text(name, getattr(which, name), chars_max=self.name_chars_max)
        self.check_metadata("metadata_contains_json", which.metadata_contains_json)
        if which.external_id:
            check_external_id(which.external_id, path="external_id")

    def check_metadata(self, field: str, text: str) -> None:
        """Refuse metadata that is not a JSON object, or too large; raises as `check_context`."""
        if text:
            parse_object(field, text, size_bytes_max=self.metadata_bytes_max, nesting_max=self.nesting_max)

    def _check_part(self, part: Part, *, path: str) -> None:
        """Refuse a part whose fields are too long, malformed or missing, for the kind of its content.

        Raises:
            InvalidArgument: a field is malformed, or the part has no content.
            LimitExceeded: a field is too large.
        """
        check_text(f"{path}.media_type", part.media_type, chars_max=_MEDIA_TYPE_CHARS_MAX)
        check_text(f"{path}.file_name", part.file_name, chars_max=self.name_chars_max)
        self.check_metadata(f"{path}.metadata_json", part.metadata_json)
        if part.text is not None:
            check_long_text(f"{path}.text", part.text, size_bytes_max=CONTENT_BYTES_MAX)
        elif part.data_json is not None:
            self._check_document(f"{path}.data_json", part.data_json)
        elif part.working_memory_id is not None:
            parse_id(f"{path}.working_memory_id", part.working_memory_id)
        elif part.url is not None:
            check_text(f"{path}.url", part.url, chars_max=_URL_CHARS_MAX, required=True)
        elif part.tool_call:
            self._check_call(part.tool_call, path=f"{path}.tool_call")
        elif part.tool_result:
            self._check_result(part.tool_result, path=f"{path}.tool_result")
        elif part.reasoning:
            self._check_reasoning(part.reasoning, path=f"{path}.reasoning")
        elif part.file:
            self._check_file(part.file, path=f"{path}.file")
        else:
            raise InvalidArgument(f"{path} must have one kind of content, such as text", field=path)

    def _check_call(self, call: ToolCall, *, path: str) -> None:
        """Check the call of a tool; `path` names it in errors."""
        check_text(f"{path}.id", call.id, chars_max=self.name_chars_max, required=True)
        check_text(f"{path}.name", call.name, chars_max=self.name_chars_max, required=True)
        if call.arguments_json:
            self._check_document(f"{path}.arguments_json", call.arguments_json)

    def _check_result(self, result: ToolResult, *, path: str) -> None:
        """Check the result of a tool call; `path` names it in errors."""
        check_text(f"{path}.tool_call_id", result.tool_call_id, chars_max=self.name_chars_max, required=True)
        if result.content_json:
            self._check_document(f"{path}.content_json", result.content_json)
        check_count(f"{path}.files", len(result.files), FILES_OF_RESULT_MAX)
        for place, file in enumerate(result.files):
            self._check_file(file, path=f"{path}.files[{place}]")

    def _check_reasoning(self, block: Reasoning, *, path: str) -> None:
        """Check a reasoning block of a model; `path` names it in errors."""
        check_text(f"{path}.provider", block.provider, chars_max=self.name_chars_max, required=True)
        check_long_text(f"{path}.text", block.text, size_bytes_max=CONTENT_BYTES_MAX)
        if block.data_json:
            self._check_document(f"{path}.data_json", block.data_json)

    def _check_file(self, file: File, *, path: str) -> None:
        """Refuse a file without a source, or with a malformed or long field; raises as `_check_part`."""
        check_text(f"{path}.media_type", file.media_type, chars_max=_MEDIA_TYPE_CHARS_MAX)
        check_text(f"{path}.name", file.name, chars_max=self.name_chars_max)
        check_text(f"{path}.alt", file.alt, chars_max=_ALT_CHARS_MAX)
        if file.data is not None:
            self._check_bytes(file.data, path=path)
        elif file.working_memory_id is not None:
            parse_id(f"{path}.working_memory_id", file.working_memory_id)
        elif file.url is not None:
            check_text(f"{path}.url", file.url, chars_max=_URL_CHARS_MAX, required=True)
            if not file.url.lower().startswith(("http://", "https://")):
                raise InvalidArgument(f"{path}.url must be an http or https address", field=f"{path}.url")
        else:
            raise InvalidArgument(f"{path} must have a source, such as url", field=path)

    def _check_bytes(self, data: bytes, *, path: str) -> None:
        """Check the bytes of a file that a message brings; `path` names the file in errors.

        Raises:
            InvalidArgument: bytes are not allowed here, or there are none.
            LimitExceeded: there are too many bytes.
        """
        if not self.takes_bytes:
            raise InvalidArgument(f"{path} must have a url or a record here: upload its bytes first", field=path)
        if not data:
            raise InvalidArgument(f"{path}.data must have at least one byte", field=f"{path}.data")
        check_bytes(f"{path}.data", len(data), FILE_BYTES_MAX)

    def _check_document(self, field: str, text: str) -> None:
        parse_json(field, text, size_bytes_max=self.message_bytes_max, nesting_max=self.nesting_max)


def _check_files(parts: Iterable[Part]) -> None:
    """Refuse too many files with bytes in the parts of a call."""
    count = sum(file.data is not None for part in parts for file in part.files)
    check_count("files with bytes", count, FILES_MAX)


def check_external_id(external_id: ExternalId, *, path: str) -> None:
    """Refuse an external id that is incomplete or too long."""
    check_text(f"{path}.system", external_id.system, chars_max=SYSTEM_CHARS_MAX, required=True)
    check_text(f"{path}.id", external_id.id, chars_max=EXTERNAL_ID_CHARS_MAX, required=True)


def check_references(field: str, task_ids: Sequence[UUID]) -> None:
    """Refuse too many references to tasks.

    Raises:
        LimitExceeded: the list has too many items.
    """
    check_count(field, len(task_ids), _REFERENCES_MAX)


def check_message_ids(message_ids: Sequence[str], *, path: str) -> None:
    """Refuse a list of message ids that is empty or too long, or has an invalid id."""
    if not message_ids:
        raise InvalidArgument(f"{path} must have at least one message id", field=path)
    check_count(path, len(message_ids), MESSAGES_MAX)
    for place, external_id in enumerate(message_ids):
        check_text(f"{path}[{place}]", external_id, chars_max=_MESSAGE_ID_CHARS_MAX, required=True)


def size_of(draft: MessageInput) -> int:
    """Return the bytes of all texts of a message, plus a constant for each part."""
    size = utf8_bytes(draft.content) + utf8_bytes(draft.metadata_json) + utf8_bytes(draft.name)
    for part in draft.parts:
        data = part.reasoning.data if part.reasoning else b""
        size += _PART_BYTES + len(data) + sum(map(utf8_bytes, part.texts))
    return size


_PART_BYTES = 64  # for the id of a record, and field tags
