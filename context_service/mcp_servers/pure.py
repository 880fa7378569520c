"""What an MCP tool is, and whether it may be asked. Pure.

A tool says of itself what it is; whoever approves it approves exactly what it said then, at the address where it said
it: a hash of both is the approval. Whatever is different afterwards is not approved.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from contextkeep.errors import InvalidArgument

QUESTION, LIMIT = "{question}", "{limit}"
DEFINITION_BYTES_MAX = 64 * 1024
_TITLE_CHARS, _DESCRIPTION_CHARS = 200, 4_000
_TOOL_NAME = re.compile(r"[\x21-\x7e]{1,128}")
_QUESTION_NAMES = ("query", "question", "q", "text")
_LIMIT_NAMES = ("limit", "max_results", "count", "top_k")
_HASH_CHARS = 12


class ToolState(Enum):
    """What became of a tool."""

    FOUND = "found"
    APPROVED = "approved"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What a tool says of itself."""

    name: str
    text: str  # all of it, as JSON of ASCII characters: the same for the same definition

    @property
    def sha256(self) -> str:
        """Its hash."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def said(self) -> Mapping[str, Any]:
        """What it says."""
        said: Mapping[str, Any] = json.loads(self.text)
        return said


def definition(
    name: str,
    *,
    title: str,
    description: str,
    input_schema: Mapping[str, Any],
    output_schema: Mapping[str, Any] | None,
    annotations: Mapping[str, Any],
    meta: Mapping[str, Any],
) -> Definition | None:
    """Return a definition; None: it is none that can be kept.

    Args:
        name: Its name.
        title: For people.
        description: For models.
        input_schema: Of its arguments.
        output_schema: Of what it answers.
        annotations: The hints, by their names of the protocol.
        meta: Its `_meta`: only whether it is search-safe counts, so that what else is in it may change.
    """
    if not _TOOL_NAME.fullmatch(name):
        return None
    text = json.dumps(
        {
            "name": name,
            "title": title,
            "description": description,
            "input_schema": input_schema,
            "output_schema": output_schema,
            "annotations": annotations,
            "search_safe": _is_search_safe(meta),
        },
        sort_keys=True,
        separators=(",", ":"),
    )
    return Definition(name=name, text=text) if len(text) <= DEFINITION_BYTES_MAX else None


def _is_search_safe(meta: Mapping[str, Any]) -> bool:
    engine = meta.get("contextEngine")
    return meta.get("contextkeep/searchSafe") is True or (
        isinstance(engine, Mapping) and engine.get("searchSafe") is True
    )


def approval_of(url: str, definition_sha256: str) -> str:
    """Return what an approval is for."""
    return hashlib.sha256(json.dumps([url, definition_sha256]).encode()).hexdigest()


def provider_id_of(server_id: str, tool_name: str) -> str:
    """Return by which id context query knows a tool: no other tool's, whatever both are called."""
    return f"mcp-{server_id}-{hashlib.sha256(tool_name.encode()).hexdigest()[:_HASH_CHARS]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as it was discovered last, and what administrators say of it."""

    server_id: str
    provider_id: str
    definition: Definition
    is_gone: bool
    discovered_at: datetime
    approved_sha256: str
    approved_by: str
    approved_at: datetime | None
    search_safe_recorded_by: str
    is_default: bool
    arguments: str
    server_name: str
    server_url: str
    server_is_disabled: bool
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names

    @property
    def name(self) -> str:
        """Its name on its server."""
        return self.definition.name

    @property
    def title(self) -> str:
        """What people may call it, in the server's words."""
        said = self.definition.said
        for text in (said["title"], said["annotations"].get("title"), self.name):
            if isinstance(text, str) and (line := " ".join(shown(text, chars_max=_TITLE_CHARS).split())):
                return line
        return self.name

    @property
    def description(self) -> str:
        """What it does, in the server's words."""
        return shown(self.definition.said["description"], chars_max=_DESCRIPTION_CHARS)

    @property
    def input_schema_json(self) -> str:
        """The schema of its arguments, of ASCII characters."""
        return json.dumps(self.definition.said["input_schema"])

    @property
    def declares_read_only(self) -> bool:
        """Whether it says that it changes nothing."""
        return self.definition.said["annotations"].get("readOnlyHint") is True

    @property
    def declares_search_safe(self) -> bool:
        """Whether it says that searching with it does no harm."""
        return self.definition.said["search_safe"] is True

    @property
    def state(self) -> ToolState:
        """What became of it."""
        if self.is_gone:
            return ToolState.GONE
        if not self.approved_sha256:
            return ToolState.FOUND
        is_same = self.approved_sha256 == approval_of(self.server_url, self.definition.sha256)
        return ToolState.APPROVED if is_same else ToolState.CHANGED

    @property
    def refused(self) -> str:
        """Why it does not run; empty: it may."""
        state = self.state
        if state is ToolState.GONE:
            return "its server has the tool no more"
        if state is ToolState.FOUND:
            return self.undeclared or "it is not approved"
        if state is ToolState.CHANGED:
            return "its definition, or the address of its server, is another one than was approved"
        if self.undeclared:
            return self.undeclared
        return "its server is disabled" if self.server_is_disabled else ""

    @property
    def undeclared(self) -> str:
        """What it lacks to be approved, besides that."""
        if not self.declares_read_only:
            return "it does not declare that it is read-only"
        if not self.declares_search_safe and not self.search_safe_recorded_by:
            return "nobody says that it is search-safe"
        return ""


def shown(text: object, *, chars_max: int) -> str:
    """Return a text of a server's as it can be sent and stored; empty if it is none."""
    if not isinstance(text, str):
        return ""
    return text[:chars_max].replace("\0", " ").encode("utf-8", "replace").decode()


def arguments_for(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tool whose schema says where the question goes.

    Args:
        said: Its definition.

    Raises:
        InvalidArgument: it does not.
    """
    properties = said["input_schema"].get("properties")
    properties = properties if isinstance(properties, Mapping) else {}

    def of_type(names: tuple[str, ...], kinds: tuple[str, ...]) -> str:
        for name in names:
            schema = properties.get(name)
            if isinstance(schema, Mapping) and schema.get("type") in kinds:
                return name
        return ""

    made: dict[str, Any] = {}
    if question := of_type(_QUESTION_NAMES, ("string",)):
        made[question] = QUESTION
    if limit := of_type(_LIMIT_NAMES, ("integer", "number")):
        made[limit] = LIMIT
    if not question or lacking(said, made):
        raise InvalidArgument(
            "the tool's schema does not say where the question goes: give arguments_json", field="arguments_json"
        )
    return made


def check_arguments(said: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments with which a tool cannot be asked.

    Raises:
        InvalidArgument: the question has no place in them, or the tool asks for more.
    """
    if not _has(arguments, QUESTION):
        raise InvalidArgument(f'arguments_json: no value is "{QUESTION}"', field="arguments_json")
    if missing := lacking(said, arguments):
        raise InvalidArgument(f"arguments_json: the tool asks for {', '.join(missing)}, too", field="arguments_json")


def lacking(said: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """Return which arguments a tool asks for that are not there."""
    required = said["input_schema"].get("required")
    names = required if isinstance(required, list) else []
    return [shown(name, chars_max=_TITLE_CHARS) for name in names if isinstance(name, str) and name not in arguments][
        :10
    ]


def filled(arguments: object, *, question: str, limit: int) -> Any:
    """Return arguments with a question in its place: a value that is a mark is replaced, one within a text not."""
    if isinstance(arguments, Mapping):
        return {name: filled(value, question=question, limit=limit) for name, value in arguments.items()}
    if isinstance(arguments, list):
        return [filled(value, question=question, limit=limit) for value in arguments]
    return question if arguments == QUESTION else limit if arguments == LIMIT else arguments


def _has(value: object, mark: str) -> bool:
    if isinstance(value, Mapping):
        return any(_has(one, mark) for one in value.values())
    return any(_has(one, mark) for one in value) if isinstance(value, list) else value == mark
