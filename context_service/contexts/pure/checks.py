"""What callers may say of contexts and messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from context_service.contexts.model import MESSAGES_MAX, ContextFilter, ContextInput, ExternalId, MessageInput
from context_service.kernel.parts import Part
from contextkeep.errors import InvalidArgument
from service_runtime.checks import check_bytes, check_count, check_long_text, check_text, utf8_bytes
from service_runtime.documents import parse_json, parse_object
from service_runtime.ids import parse_id

EXTERNAL_IDS_MAX = 20
CONTENT_BYTES_MAX = 1024 * 1024
TITLE_CHARS_MAX = 400
EXTERNAL_ID_CHARS_MAX = 400
SYSTEM_CHARS_MAX = 100
_MESSAGE_ID_CHARS_MAX = 200
_SESSION_CHARS_MAX = 200
_MEDIA_TYPE_CHARS_MAX = 255
_URL_CHARS_MAX = 8192
PROFILE_CHARS_MAX = 100
_REFERENCES_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageChecks:
    """The checks, with the limits that are settings."""

    message_bytes_max: int
    parts_max: int
    metadata_bytes_max: int
    nesting_max: int  # of any JSON
    name_chars_max: int

    def check_messages(self, messages: Sequence[MessageInput], *, sizes: Sequence[int], paths: Sequence[str]) -> None:
        """Refuse messages that cannot be stored.

        Args:
            messages: In their order.
            sizes: `size_of` each.
            paths: Of each in its request, for the error.

        Raises:
            InvalidArgument: there is none, or a field is malformed or missing.
            LimitExceeded: one is too large, or they are too many.
        """
        if not messages:
            raise InvalidArgument("messages is empty", field="messages")
        check_count("messages", len(messages), MESSAGES_MAX)
        for said, size_bytes, path in zip(messages, sizes, paths, strict=True):
            self.check_message(said, size_bytes, path=path)

    def check_message(self, said: MessageInput, size_bytes: int, *, path: str) -> None:
        """Refuse a message that cannot be stored, and is of a size; raises as `check_messages`."""
        check_text(f"{path}.message_id", said.message_id, chars_max=_MESSAGE_ID_CHARS_MAX)
        check_text(f"{path}.name", said.name, chars_max=self.name_chars_max)
        check_text(f"{path}.agent_id", said.agent_id, chars_max=self.name_chars_max)
        check_text(f"{path}.session", said.session, chars_max=_SESSION_CHARS_MAX)
        if not said.content and not said.parts:
            raise InvalidArgument(f"{path} has neither content nor parts", field=f"{path}.content")
        check_long_text(f"{path}.content", said.content, size_bytes_max=CONTENT_BYTES_MAX)
        self.check_metadata(f"{path}.metadata_json", said.metadata_json)
        check_references(f"{path}.reference_task_ids", said.reference_task_ids)
        check_count(f"{path}.parts", len(said.parts), self.parts_max)
        for place, part in enumerate(said.parts):
            self._check_part(part, path=f"{path}.parts[{place}]")
        check_bytes(path, size_bytes, self.message_bytes_max)

    def check_context(self, said: ContextInput, *, path: str) -> None:
        """Refuse a header that cannot be stored.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: one is too large.
        """
        check_text(f"{path}.title", said.title, chars_max=TITLE_CHARS_MAX)
        check_text(f"{path}.app_id", said.app_id, chars_max=self.name_chars_max)
        check_text(f"{path}.agent_bundle_id", said.agent_bundle_id, chars_max=self.name_chars_max)
        check_text(f"{path}.recall_profile", said.recall_profile, chars_max=PROFILE_CHARS_MAX)
        self.check_metadata(f"{path}.metadata_json", said.metadata_json)
        check_count(f"{path}.external_ids", len(said.external_ids), EXTERNAL_IDS_MAX)
        for place, one in enumerate(said.external_ids):
            check_external_id(one, path=f"{path}.external_ids[{place}]")

    def check_filter(self, which: ContextFilter) -> None:
        """Refuse a filter that no context can match; raises as `check_context`."""
        for name in ("agent_id", "owner_user_id", "app_id"):
            check_text(name, getattr(which, name), chars_max=self.name_chars_max)
        self.check_metadata("metadata_contains_json", which.metadata_contains_json)
        if which.external_id:
            check_external_id(which.external_id, path="external_id")

    def check_metadata(self, field: str, text: str) -> None:
        """Refuse metadata that are no JSON object, or too large; raises as `check_context`."""
        if text:
            parse_object(field, text, size_bytes_max=self.metadata_bytes_max, nesting_max=self.nesting_max)

    def _check_part(self, part: Part, *, path: str) -> None:
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
            call = part.tool_call
            check_text(f"{path}.tool_call.id", call.id, chars_max=self.name_chars_max, required=True)
            check_text(f"{path}.tool_call.name", call.name, chars_max=self.name_chars_max, required=True)
            if call.arguments_json:
                self._check_document(f"{path}.tool_call.arguments_json", call.arguments_json)
        elif part.tool_result:
            result = part.tool_result
            name = f"{path}.tool_result.tool_call_id"
            check_text(name, result.tool_call_id, chars_max=self.name_chars_max, required=True)
            if result.content_json:
                self._check_document(f"{path}.tool_result.content_json", result.content_json)
        elif part.reasoning:
            block = part.reasoning
            check_text(f"{path}.reasoning.provider", block.provider, chars_max=self.name_chars_max, required=True)
            check_long_text(f"{path}.reasoning.text", block.text, size_bytes_max=CONTENT_BYTES_MAX)
            if block.data_json:
                self._check_document(f"{path}.reasoning.data_json", block.data_json)
        else:
            raise InvalidArgument(f"{path} has no content", field=path)

    def _check_document(self, field: str, text: str) -> None:
        parse_json(field, text, size_bytes_max=self.message_bytes_max, nesting_max=self.nesting_max)


def check_external_id(one: ExternalId, *, path: str) -> None:
    """Refuse an external id that is incomplete or too long."""
    check_text(f"{path}.system", one.system, chars_max=SYSTEM_CHARS_MAX, required=True)
    check_text(f"{path}.id", one.id, chars_max=EXTERNAL_ID_CHARS_MAX, required=True)


def check_references(field: str, task_ids: Sequence[UUID]) -> None:
    """Refuse too many tasks that are referred to.

    Raises:
        LimitExceeded: there are more than there may be.
    """
    check_count(field, len(task_ids), _REFERENCES_MAX)


def check_message_ids(message_ids: Sequence[str], *, path: str) -> None:
    """Refuse a list of ids that is empty, too long, or has an id that no message can have."""
    if not message_ids:
        raise InvalidArgument(f"{path} is empty", field=path)
    check_count(path, len(message_ids), MESSAGES_MAX)
    for place, one in enumerate(message_ids):
        check_text(f"{path}[{place}]", one, chars_max=_MESSAGE_ID_CHARS_MAX, required=True)


def size_of(said: MessageInput) -> int:
    """Return the bytes of all texts of a message, and what each part takes besides."""
    size = utf8_bytes(said.content) + utf8_bytes(said.metadata_json) + utf8_bytes(said.name)
    for part in said.parts:
        data = part.reasoning.data if part.reasoning else b""
        size += _PART_BYTES + len(data) + sum(map(utf8_bytes, part.texts))
    return size


_PART_BYTES = 64  # the id of a record, and what marks the fields
