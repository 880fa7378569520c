"""MCP servers and their tools: the values that administrators write, and those that are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

TITLE_CHARS, _DESCRIPTION_CHARS = 200, 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInput:
    """An MCP server as an administrator describes it, without its secret."""

    server_id: str
    display_name: str
    url: str
    is_disabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server, as it is stored, but for its secret."""

    server_id: str
    display_name: str
    url: str
    is_disabled: bool
    has_secret: bool
    version: int
    created_at: datetime
    updated_at: datetime
    updated_by: str
    discovered_at: datetime | None
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The approval of a tool by an administrator: which definition, and how it is used."""

    server_id: str
    tool_name: str
    arguments_json: str
    is_default: bool
    records_search_safe: bool
    definition_sha256: str  # the hash of the definition that the administrator read; empty accepts the stored one


class ToolState(Enum):
    """Whether a tool may be called, and if not, why."""

    FOUND = "found"
    APPROVED = "approved"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The definition of a tool, as its server declares it."""

    name: str
    text: str  # the whole definition as JSON in ASCII; equal definitions have equal texts

    @property
    def sha256(self) -> str:
        """The hash of the definition, which an approval is bound to."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def said(self) -> Mapping[str, Any]:
        """The definition as JSON values."""
        said: Mapping[str, Any] = json.loads(self.text)
        return said


def approval_of(url: str, definition_sha256: str) -> str:
    """Return the hash that an approval is bound to: of the server's URL and the tool's definition."""
    return hashlib.sha256(json.dumps([url, definition_sha256]).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool in the definition of the last discovery, and the approval by administrators."""

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
        """The name of the tool on its server."""
        return self.definition.name

    @property
    def title(self) -> str:
        """The title of the tool for people, as the server declares it."""
        said = self.definition.said
        for text in (said["title"], said["annotations"].get("title"), self.name):
            if isinstance(text, str) and (line := " ".join(shown(text, chars_max=TITLE_CHARS).split())):
                return line
        return self.name

    @property
    def description(self) -> str:
        """The description of the tool, as the server declares it."""
        return shown(self.definition.said["description"], chars_max=_DESCRIPTION_CHARS)

    @property
    def input_schema_json(self) -> str:
        """The JSON schema of the tool's arguments, in ASCII characters."""
        return json.dumps(self.definition.said["input_schema"])

    @property
    def declares_read_only(self) -> bool:
        """Whether the tool declares that it changes nothing."""
        return self.definition.said["annotations"].get("readOnlyHint") is True

    @property
    def declares_search_safe(self) -> bool:
        """Whether the tool declares that searching with it does no harm."""
        return self.definition.said["search_safe"] is True

    @property
    def state(self) -> ToolState:
        """Whether the tool may be called, and if not, why."""
        if self.is_gone:
            return ToolState.GONE
        if not self.approved_sha256:
            return ToolState.FOUND
        is_same = self.approved_sha256 == approval_of(self.server_url, self.definition.sha256)
        return ToolState.APPROVED if is_same else ToolState.CHANGED

    @property
    def refused(self) -> str:
        """Why the tool may not be called; empty if it may."""
        state = self.state
        if state is ToolState.GONE:
            return "its server no longer has the tool"
        if state is ToolState.FOUND:
            return self.undeclared or "it is not approved"
        if state is ToolState.CHANGED:
            return "its definition, or the address of its server, changed after it was approved; approve it again"
        if self.undeclared:
            return self.undeclared
        return "its server is disabled" if self.server_is_disabled else ""

    @property
    def undeclared(self) -> str:
        """The declarations that the tool lacks to be approved."""
        if not self.declares_read_only:
            return "it does not declare itself read-only"
        if not self.declares_search_safe and not self.search_safe_recorded_by:
            return "neither the tool nor an administrator declares that it is search-safe"
        return ""


def shown(text: object, *, chars_max: int) -> str:
    """Return a text of a server in a form that can be sent and stored; empty if the value is not a text."""
    if not isinstance(text, str):
        return ""
    return text[:chars_max].replace("\0", " ").encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """The address of a server to call, with its secret."""

    url: str
    secret: str = field(default="", repr=False)
    protocol: str = ""  # the version of the protocol that it spoke before; empty if this is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """The tools that a server offers, and the protocol version that it speaks."""

    protocol: str
    tools: Sequence[Definition]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReply:
    """The answer of a tool."""

    structured: Any
    texts: Sequence[str]
    is_error: bool


class ToolRefused(Exception):
    """A tool was not called: its server does not define it as it was approved."""
