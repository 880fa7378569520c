"""Checks imported rows against the limits that the calls have which write such rows.

Messages, artifacts, status messages of tasks, metadata of contexts, and records pass the same checks as in those calls.
For other tables, `COLUMNS` has limits by column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from context_service.agents import room as agents
from context_service.compiled_pages.pure import definition
from context_service.contexts.model import MessageInput
from context_service.contexts.pure import checks as contexts
from context_service.contexts.pure.checks import MessageChecks, size_of
from context_service.contexts.room import artifacts, read_message
from context_service.kernel.parts import of_json
from context_service.knowledge_bases import model as knowledge_base
from context_service.mcp_servers import room as mcp_servers
from context_service.mcp_servers.pure import DEFINITION_BYTES_MAX
from context_service.memories.pure import checks as memories
from context_service.profiles import model as profile
from context_service.query.room import LABEL_CHARS_MAX
from context_service.retrieval.documents.reading import TEXT_CHARS_MAX as DOCUMENT_CHARS_MAX
from context_service.specialists import room as specialists
from context_service.wiki import model as page
from context_service.windows.pure import head
from context_service.working_memory.pure.fields import FieldChecks, RecordInput
from contextkeep.errors import InvalidArgument
from service_runtime.values.checks import check_count, check_size, check_text, utf8_bytes


class Column(NamedTuple):
    """The limits of a column's values; for a list, of each text in it."""

    chars: int = 0  # the most characters of a text; 0 sets no limit
    size_bytes: int = 0  # the most bytes of a text; 0 sets no limit
    items: int = 0  # the most items of a list; 0 sets no limit


COLUMNS: Mapping[str, Mapping[str, Column]] = {
    "agent": {"agent_id": Column(agents.ID_CHARS_MAX), "template_id": Column(agents.ID_CHARS_MAX)},
    "artifact": {
        "artifact_id": Column(artifacts.ID_CHARS_MAX),
        "name": Column(artifacts.NAME_CHARS_MAX),
        "description": Column(artifacts.DESCRIPTION_CHARS_MAX),
    },
    "context": {
        "title": Column(contexts.TITLE_CHARS_MAX),
        "recall_profile": Column(contexts.PROFILE_CHARS_MAX),
        "external_ids": Column(items=contexts.EXTERNAL_IDS_MAX),
    },
    "context_external_id": {"system": Column(contexts.SYSTEM_CHARS_MAX), "id": Column(contexts.EXTERNAL_ID_CHARS_MAX)},
    "context_window": {
        "system_prompt": Column(size_bytes=head.SYSTEM_PROMPT_BYTES_MAX),
        "goal": Column(size_bytes=head.GOAL_BYTES_MAX),
        "tools": Column(size_bytes=head.TOOLS_BYTES_MAX),
    },
    "definition": {
        "name": Column(definition.NAME_CHARS_MAX),
        "rules": Column(size_bytes=definition.RULES_BYTES_MAX),
    },
    "knowledge_base": {
        "name": Column(knowledge_base.NAME_CHARS_MAX),
        "description": Column(knowledge_base.DESCRIPTION_CHARS_MAX),
    },
    "knowledge_document": {
        "name": Column(knowledge_base.DOCUMENT_NAME_CHARS_MAX),
        "uri": Column(knowledge_base.URI_CHARS_MAX),
        "content_type": Column(knowledge_base.TYPE_CHARS_MAX),
        "text": Column(DOCUMENT_CHARS_MAX),
    },
    "mcp_server": {
        "server_id": Column(mcp_servers.SERVER_ID_CHARS_MAX),
        "display_name": Column(mcp_servers.NAME_CHARS_MAX),
        "url": Column(mcp_servers.URL_CHARS_MAX),
    },
    "mcp_tool": {
        "tool_name": Column(mcp_servers.TOOL_CHARS_MAX),
        "definition": Column(size_bytes=DEFINITION_BYTES_MAX),
        "arguments": Column(size_bytes=mcp_servers.ARGUMENTS_BYTES_MAX),
    },
    "memory": {
        "text": Column(memories.TEXT_CHARS_MAX),
        "key": Column(memories.KEY_CHARS_MAX),
        "goal": Column(memories.EXPERIENCE_CHARS_MAX),
        "outcome": Column(memories.EXPERIENCE_CHARS_MAX),
        "app_id": Column(memories.NAME_CHARS_MAX),
        "agent_bundle_id": Column(memories.NAME_CHARS_MAX),
        "metadata": Column(size_bytes=memories.METADATA_BYTES_MAX),
        "tags": Column(memories.TAG_CHARS_MAX, items=memories.TAGS_MAX),
    },
    "memory_refusal": {
        "app_id": Column(memories.NAME_CHARS_MAX),
        "agent_bundle_id": Column(memories.NAME_CHARS_MAX),
    },
    "memory_revision": {
        "text": Column(memories.TEXT_CHARS_MAX),
        "key": Column(memories.KEY_CHARS_MAX),
        "goal": Column(memories.EXPERIENCE_CHARS_MAX),
        "outcome": Column(memories.EXPERIENCE_CHARS_MAX),
        "app_id": Column(memories.NAME_CHARS_MAX),
        "agent_bundle_id": Column(memories.NAME_CHARS_MAX),
        "metadata": Column(size_bytes=memories.METADATA_BYTES_MAX),
        "tags": Column(memories.TAG_CHARS_MAX, items=memories.TAGS_MAX),
    },
    "source_test": {"label": Column(LABEL_CHARS_MAX)},
    "specialist": {
        "specialist_id": Column(specialists.ID_CHARS_MAX),
        "display_name": Column(specialists.NAME_CHARS_MAX),
        "instructions": Column(specialists.INSTRUCTIONS_CHARS_MAX),
    },
    "wiki_page": {"slug": Column(page.SLUG_CHARS_MAX), "title": Column(page.TITLE_CHARS_MAX)},
    "wiki_page_version": {
        "title": Column(page.TITLE_CHARS_MAX),
        "markdown": Column(size_bytes=page.PAGE_BYTES_MAX),
        "aliases": Column(page.ALIAS_CHARS_MAX, items=page.ALIASES_MAX),
    },
    "window_learning": {"app_id": Column(profile.APP_CHARS_MAX)},
    "window_profile_version": {
        "name": Column(profile.NAME_CHARS_MAX),
        "text": Column(size_bytes=profile.PROFILE_BYTES_MAX),
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChecks:
    """Checks imported rows against the configured limits, as the calls that write such rows do."""

    messages: MessageChecks
    records: FieldChecks

    def check(self, table: str, row: Mapping[str, Any]) -> None:
        """Refuse a row that no call of a client could have written.

        Raises:
            InvalidArgument: a value does not have the form that its column requires.
            LimitExceeded: a value is too large.
        """
        for name, column in COLUMNS.get(table, {}).items():
            _check_column(name, row.get(name), column)
        try:
            match table:
                case "message":
                    self._check_message(_message(row))
                case "artifact":
                    self._check_message(_message({"parts": row.get("parts"), "metadata": row.get("metadata")}))
                case "task" if row.get("status_message"):
                    self._check_message(read_message(row["status_message"]))
                case "context":
                    self.messages.check_metadata("metadata", _compact(row.get("metadata") or ""))
                case "wm_record":
                    self.records.check(_record(row), path="record")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidArgument("a value does not have the type of its column") from error

    def _check_message(self, message: MessageInput) -> None:
        if message.content or message.parts:  # a message whose content was erased has neither, which is valid here
            checks = replace(self.messages, parts_max=max(artifacts.PARTS_MAX, self.messages.parts_max))
            checks.check_message(message, size_of(message), path="message")


def _check_column(name: str, value: object, column: Column) -> None:
    """Check a value, or each text of a list, against the limits of its column.

    Raises:
        LimitExceeded: a text or a list is too large.
    """
    values = value if isinstance(value, list) else [value]
    if column.items:
        check_count(name, len(values), column.items)
    for text in values:
        if not isinstance(text, str):
            continue  # Postgres refuses a value of a wrong type
        if column.chars:
            check_text(name, text, chars_max=column.chars)
        elif column.size_bytes and utf8_bytes(text) > column.size_bytes:
            check_size(name, _compact(text), size_bytes_max=column.size_bytes)


def _message(row: Mapping[str, Any]) -> MessageInput:
    """Return the parts of a row of a message or an artifact that the checks of messages read."""
    return MessageInput(
        message_id=row.get("message_id", ""),
        role="",
        content=row.get("content", ""),
        name=row.get("name", ""),
        agent_id=row.get("agent_id", ""),
        parts=of_json(row["parts"]) if row.get("parts") else (),
        metadata_json=row.get("metadata") or "",
    )


def _record(row: Mapping[str, Any]) -> RecordInput:
    """Return the parts of a row of a record that the checks of records read."""
    names = ("memory_type", "subtype", "semantic_purpose", "name", "description", "reasoning", "content_type")
    texts: dict[str, Any] = {name: row.get(name) or "" for name in (*names, "graph_name", "agent_bundle_id", "app_id")}
    return RecordInput(
        **texts,
        metadata_json=_compact(row.get("metadata") or ""),
        content_json=row.get("content") or "",
        content_text=row.get("content_text") or "",
        tags=tuple(row.get("tags") or ()),
    )


def _compact(text: str) -> str:
    """Return a document without the spaces that Postgres writes into JSON; other text stays unchanged."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return orjson.dumps(orjson.loads(text)).decode()
    except orjson.JSONDecodeError:
        return text
