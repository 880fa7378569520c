"""What generated values do besides holding their fields: `Window` of `contextkeep._gen` extends `WindowBase`.

Bases name the fields that they use.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from contextkeep.values.base import LateValue, Value, parsed, parsed_object, shown, shown_size

if TYPE_CHECKING:
    from contextkeep import values

_TASK_ENDS = frozenset({"completed", "failed", "canceled", "rejected"})


class ContextKeyBase(Value):
    """A key shows when it ends."""

    __slots__ = ()
    expires_at: datetime

    def __str__(self) -> str:
        return f"a key until {shown(self.expires_at)}"


class BlobEntryBase(Value):
    """A blob shows its name, its memory type and its size."""

    __slots__ = ()
    name: str
    memory_type: str
    size_bytes: int

    def __str__(self) -> str:
        return f"{self.name} ({self.memory_type}, {shown_size(self.size_bytes)})"


class UploadBase(Value):
    """An upload shows how far it is."""

    __slots__ = ()
    id: str
    offset_bytes: int

    def __str__(self) -> str:
        return f"{self.id} ({shown_size(self.offset_bytes)} so far)"


class RecordBase(Value):
    """A record has content, and shows its name, its memory type and its size."""

    __slots__ = ()
    name: str
    memory_type: str
    size_bytes: int
    status: values.RecordStatus
    content_text: str
    content_json: str

    @property
    def content(self) -> Any:
        """Return the inline content: JSON parsed, text as it is; None where there is none."""
        return self.content_text or self._kept("_content", self.content_json)

    def __str__(self) -> str:
        archived = ", archived" if self.status == "archived" else ""
        return f"{self.name} ({self.memory_type}, {shown_size(self.size_bytes)}{archived})"


class RecordActionBase(Value):
    """An entry of a record's log shows its kind, its author and its time."""

    __slots__ = ()
    kind: values.RecordActionKind | Literal["unknown"]
    principal: str
    created_at: datetime

    def __str__(self) -> str:
        return f"{self.kind} by {self.principal} at {shown(self.created_at)}"


class ManifestEntityBase(Value):
    """An entity of a manifest shows its name, indented by its depth, and its counts."""

    __slots__ = ()
    specific_type_name: str
    name: str
    entity_node_id: str
    depth: int
    groups: tuple[values.ManifestGroup, ...]

    @property
    def record_count(self) -> int:
        """Return how many records there are, of all memory types."""
        return sum(group.record_count for group in self.groups)

    def __str__(self) -> str:
        label = " ".join(filter(None, (self.specific_type_name, self.name))) or self.entity_node_id
        counts = ", ".join(f"{group.record_count} {group.memory_type}" for group in self.groups)
        return f"{'  ' * self.depth}{label}: {counts}"


class UnreadRecordBase(Value):
    """A record that could not be read shows where it is and why."""

    __slots__ = ()
    seq: int
    part: int
    reason: str
    detail: str
    artifact_id: str

    def __str__(self) -> str:
        where = f"artifact {self.artifact_id}" if self.artifact_id else f"message {self.seq}"
        return f"part {self.part} of {where}: {self.reason} ({self.detail})"


class ContextIndexBase(Value):
    """An index shows how far it is."""

    __slots__ = ()
    indexed_count: int
    passage_count: int
    pending_count: int

    @property
    def is_complete(self) -> bool:
        """Whether nothing is pending."""
        return not self.pending_count

    def __str__(self) -> str:
        return f"{self.indexed_count} of {self.passage_count} passages have vectors, {self.pending_count} are pending"


class ContextBase(Value):
    """A context shows its title and how many messages it has."""

    __slots__ = ()
    context_id: str
    title: str
    state: values.ContextState
    message_count: int

    def __str__(self) -> str:
        closed = ", closed" if self.state == "closed" else ""
        return f"{self.title or self.context_id} ({self.message_count} messages{closed})"


class ErasureBase(Value):
    """The erasure of a context shows how far it is."""

    __slots__ = ()
    context_id: str
    state: values.ErasureState
    messages_removed: int
    message_count: int

    def __str__(self) -> str:
        done = "all" if self.state == "finished" else f"{self.messages_removed} of {self.message_count} messages"
        return f"erasure of {self.context_id} ({done} removed)"


class SubjectErasureBase(Value):
    """The erasure of a subject shows how far it is."""

    __slots__ = ()
    erasure_id: str
    state: values.ErasureState
    removed: dict[str, int]

    def __str__(self) -> str:
        return f"erasure {self.erasure_id} ({self.state}, {sum(self.removed.values())} removed)"


class TaskBase(Value):
    """A task shows its state."""

    __slots__ = ()
    task_id: str
    state: values.TaskState | Literal["unknown"]

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it changes any more."""
        return self.state in _TASK_ENDS

    def __str__(self) -> str:
        return f"{self.task_id} ({self.state})"


class HistoryEventBase(Value):
    """An event shows its time and kind."""

    __slots__ = ()
    time: datetime
    kind: str

    def __str__(self) -> str:
        return f"{self.time.isoformat()} {self.kind}"


class ImportedBase(Value):
    """An import shows its id, who ran it, and whom it names as authors."""

    __slots__ = ()
    import_id: str
    imported_by: str
    claimed_authors: tuple[values.ClaimedAuthor, ...]

    def __str__(self) -> str:
        claims = ", ".join(f"{claimed_author.field} {claimed_author.author}" for claimed_author in self.claimed_authors)
        return f"import {self.import_id} by {self.imported_by}" + (f" (claims {claims})" if claims else "")


class ChatMappingBase(Value):
    """A mapping shows its name."""

    __slots__ = ()
    app_id: str
    mapping_name: str

    def __str__(self) -> str:
        return f"{self.app_id}/{self.mapping_name}" if self.app_id else self.mapping_name


class SkippedRuleBase(Value):
    """A rule that gave no message shows why."""

    __slots__ = ()
    rule: str
    reason: str
    error: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}" + (f" ({self.error})" if self.error else "")


class WikiPageBase(Value):
    """A page shows its text."""

    __slots__ = ()
    markdown: str
    title: str

    def __str__(self) -> str:
        return self.markdown or self.title


class QueriedContextBase(Value):
    """An answer shows its text, or its hits if there is none."""

    __slots__ = ()
    answer_text: str
    hits: Sequence[values.QueryHit]

    def __str__(self) -> str:
        return self.answer_text or "\n".join(map(str, self.hits))


class NodeBase(Value):
    """A node shows its type, name and id."""

    __slots__ = ()
    id: str
    name: str
    general_type_name: str
    specific_type_name: str

    def __str__(self) -> str:
        name = f' "{self.name}"' if self.name else ""
        return f"{self.specific_type_name or self.general_type_name}{name} ({self.id})"


class EnvelopeBase(Value):
    """An entry of a timeline shows its time, type, status and message."""

    __slots__ = ()
    created_at: datetime
    type: values.EnvelopeType | Literal["unknown"]
    sub_type: str
    status: values.EnvelopeStatus | Literal[""]
    message: str

    def __str__(self) -> str:
        return " ".join(filter(None, (shown(self.created_at), self.type, self.sub_type, self.status, self.message)))


class CompressionProfileBase(Value):
    """A profile shows its name and version."""

    __slots__ = ()
    name: str
    version: int

    @property
    def is_built_in(self) -> bool:
        """Say whether it comes with the service."""
        return not self.version

    def __str__(self) -> str:
        return f"{self.name}@{self.version}" if self.version else self.name


class WindowBase(Value):
    """A window has tools, and shows its model, its context and its limit."""

    __slots__ = ()
    model: str
    context_id: str
    token_limit: int
    is_closed: bool
    tools_json: str

    @property
    def tools(self) -> list[Any]:
        """Return the list of tools."""
        return self._kept("_tools", self.tools_json) or []

    def __str__(self) -> str:
        closed = ", closed" if self.is_closed else ""
        return f"window of {self.model} on {self.context_id} ({self.token_limit} tokens{closed})"


class CheckpointBase(Value):
    """A checkpoint shows its number, its step and the reason."""

    __slots__ = ()
    number: int
    step_count: int
    reason: str
    label: str

    def __str__(self) -> str:
        label = f", {self.label}" if self.label else ""
        return f"checkpoint {self.number}, after step {self.step_count} ({self.reason}{label})"


class OriginalBase(Value):
    """An original has a text, and shows it."""

    __slots__ = ()
    content: bytes
    is_json: bool
    messages: tuple[values.ChatMessage, ...]

    @property
    def text(self) -> str:
        """Return `content` as a text; of a tool's answer that is a text, that text."""
        value = parsed(self.content.decode()) if self.is_json else None
        return value if isinstance(value, str) else self.content.decode(errors="replace")

    def __str__(self) -> str:
        return self.text or "\n".join(map(str, self.messages))


class PackBase(LateValue):
    """A pack has the body of a request, and shows it."""

    __slots__ = ()
    messages_json: str
    breakpoints: tuple[values.CacheBreakpoint, ...]
    spans: tuple[values.PackSpan, ...]
    files: tuple[values.BodyFile, ...]
    file_bytes: tuple[bytes, ...]

    @property
    def body(self) -> dict[str, Any]:
        """Return the body of a request: `messages` (and `system`), Gemini's `contents`, or Responses' `input`.

        With `tools`, if the window has some, and with the bytes of its files.
        """
        return body_with_files(self.messages_json, self.files, self.file_bytes)

    @property
    def body_json(self) -> str:
        """Return the body of a request as JSON, with the bytes of its files; `messages_json` is without them."""
        return json_with_files(self.messages_json, self.files, self.file_bytes)

    @property
    def cached_body(self) -> dict[str, Any]:
        """Return `body` for Anthropic, with a `cache_control` at each of `breakpoints`; of other formats as it is."""
        body = self.body
        for item in self.breakpoints:
            piece = _piece_at(body, item.pointer)
            is_block = item.pointer.startswith("/system/") or "/content/" in item.pointer  # of Anthropic
            if is_block and piece["type"] not in ("thinking", "redacted_thinking"):  # which take none
                piece["cache_control"] = {"type": "ephemeral"}
        return body

    def sources_of(self, text: str) -> tuple[values.PackSpan, ...]:
        """Return the spans that have a text: who wrote it. Refuse a tool call if only data has its arguments.

        Args:
            text: An argument of a tool call, such as an address or a command, as it was written.
        """
        body = self.body
        return tuple(span for span in self.spans if text in _text_of(_piece_at(body, span.pointer), span))

    def __str__(self) -> str:
        return self.messages_json


def body_with_files(text: str, files: Sequence[values.BodyFile], contents: Sequence[bytes]) -> dict[str, Any]:
    """Return the body of a request, parsed, with the base64 of its files.

    Args:
        text: The body, with an empty base64 for each file.
        files: The files.
        contents: The bytes of each file.
    """
    body = parsed_object(text)
    for file, content in zip(files, contents, strict=True):
        pointer, _, name = file.pointer.rpartition("/")
        holder = _piece_at(body, pointer)
        holder[int(name) if isinstance(holder, list) else name] += b64encode(content).decode()
    return body


def json_with_files(text: str, files: Sequence[values.BodyFile], contents: Sequence[bytes]) -> str:
    """Return the body of a request as JSON, with the base64 of its files; see `body_with_files`."""
    if not files:
        return text
    body, parts, at = text.encode(), [], 0
    for file, content in zip(files, contents, strict=True):
        parts += [body[at : file.offset_bytes], b64encode(content)]
        at = file.offset_bytes
    return b"".join([*parts, body[at:]]).decode()


def _piece_at(body: Any, pointer: str) -> Any:
    """Return the part of a body that a JSON Pointer names."""
    piece = body
    for name in pointer.split("/")[1:]:
        piece = piece[int(name) if isinstance(piece, list) else name]
    return piece


def _text_of(piece: Any, span: values.PackSpan) -> str:
    """Return the text of a piece, or the lines of it that a span names."""
    text = "\n".join(_strings(piece))
    return "\n".join(text.split("\n")[span.first_line - 1 : span.last_line]) if span.first_line else text


def _strings(piece: Any) -> list[str]:
    """Return the texts of a piece, without the names of its fields, its role and its type."""
    if isinstance(piece, dict):
        return [text for name, value in piece.items() if name not in ("role", "type") for text in _strings(value)]
    if isinstance(piece, list):
        return [text for value in piece for text in _strings(value)]
    return [piece] if isinstance(piece, str) else []


class AssembledNodeBase(Value):
    """A node that a mapping has read shows its messages, or why it has none."""

    __slots__ = ()
    node_id: str
    messages: tuple[values.GivenMessage, ...]
    skipped: tuple[values.SkippedRule, ...]

    def __str__(self) -> str:
        items = [str(items.message) for items in self.messages]
        return "; ".join(items or map(str, self.skipped)) or self.node_id


class EvaluationBase(Value):
    """A run of an expression shows its rule and its value or error."""

    __slots__ = ()
    rule: str
    element: int | None
    error: str
    value_json: str

    def __str__(self) -> str:
        place = self.rule if self.element is None else f"{self.rule} of element {self.element}"
        return f"{place}: {self.error or self.value_json or 'a large value'}"


class NodeTrialBase(Value):
    """A trial shows its messages and the rule that decided."""

    __slots__ = ()
    node_id: str
    messages: tuple[values.GivenMessage, ...]
    decided_by: str

    def __str__(self) -> str:
        text = "; ".join(str(text.message) for text in self.messages)
        return f"{self.node_id}: {text or 'no message'} ({self.decided_by})"
