"""Values that callers pass to the clients: rows of `graph.write`, filters of nodes, contexts and their messages.

Rows get their ids here, so that an edge can name a node of the same call:

    session = NodeInput("Session")
    turn = NodeInput("Turn", data={"user_input": "Hello"})
    graph.write_graph([session, turn], [EdgeInput(session.id, turn.id, "Contains")])
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol
from uuid import UUID

from contextkeep.ids import new_id

if TYPE_CHECKING:
    from contextkeep.values import File, LearningMode, ModelUse, Part, Reasoning


@dataclass(frozen=True, slots=True)
class NodeInput:
    """A new node."""

    general_type_name: str
    _: KW_ONLY
    id: str = field(default_factory=new_id)
    external_id: str = ""  # the caller's own id, unique in the graph; up to 512 bytes
    graph_name: str = ""  # empty: "default"
    agent_bundle_id: str = ""
    specific_type_name: str = ""  # empty: the general type name
    name: str = ""
    status: str = ""  # empty: "Created"
    data: Mapping[str, Any] | None = None
    created_at: datetime | None = None  # aware; for imports and replays; default: the server's time


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """A new edge."""

    from_node_id: str
    to_node_id: str
    edge_type: str
    _: KW_ONLY
    id: str = field(default_factory=new_id)
    graph_name: str = ""  # empty: "default"; both ends are in it
    data: Mapping[str, Any] | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleNode:
    """A node to try a mapping's rules on. It need not exist."""

    data: Mapping[str, Any] | None = None
    type: str = ""
    general_type: str = ""  # empty: the type
    id: str = ""  # any text; empty: its place among the nodes
    external_id: str = ""
    name: str = ""
    status: str = ""  # empty: "Created"
    io: Mapping[str, Any] | None = None  # "input" and "output": any JSON, each only where it was ever set
    created_at: datetime | None = None  # aware; default: the start of 1970
    modified_at: datetime | None = None  # aware; default: `created_at`
    edge_type: str = ""  # how it was reached, as the next two
    depth: int = 1
    edge_data: Mapping[str, Any] | None = None
    edges: Sequence[Mapping[str, Any]] | None = None  # what expressions see as `edges` and `path`
    path: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class ConnectedTo:
    """Nodes that a walk from a node reaches; the node itself is not one of them."""

    node_id: str | None = None
    _: KW_ONLY
    external_id: str = ""  # the caller's own id of the node, in the place of `node_id`; in the graph of the search
    edge_types: Iterable[str] = ()  # empty: all
    direction: Literal["out", "in", "both"] = "out"
    depth_max: int = 0  # 1 to 100; 0: 3


@dataclass(frozen=True, slots=True)
class ExternalId:
    """The id of a context in another system."""

    system: str  # up to 100 characters
    id: str  # up to 400 characters


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextInput:
    """The fields of a new context."""

    title: str = ""  # up to 400 characters
    external_ids: Iterable[ExternalId] = ()  # up to 20; other contexts may carry the same
    metadata: Mapping[str, Any] | None = None  # up to 64 KiB of JSON
    entity_node_id: str | UUID | None = None  # where it hangs in the graph; not checked against it
    app_id: str | None = None  # None: the client's
    agent_bundle_id: str = ""
    expires_at: datetime | None = None  # aware; default: never
    recall_profile: str = ""  # empty: the default
    models: ModelUse | Literal[""] = ""  # "off": no text of it is sent to a model of the operator
    is_findable: bool | None = None  # whether `contexts.find` finds it; by default as its app says
    learning: LearningMode | Literal[""] = ""  # "off": no memories are learned from it


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFilter:
    """A filter of passages of a context for recall and search; empty fields do not filter."""

    roles: Iterable[str] = ()  # "user", "assistant", "system", "tool"
    kinds: Iterable[str] = ()  # "text", "data", "tool_call", "tool_result", "file", "artifact"
    authors: Iterable[str] = ()  # names of those who spoke
    said_from: datetime | None = None  # aware; said then or later
    said_to: datetime | None = None  # aware; said before
    seq_from: int = 0  # from this `seq` on
    seq_to: int = 0  # up to this one, included; 0: to the last
    task_ids: Iterable[str | UUID] = ()  # messages and artifacts of these tasks
    # About any of these nodes of the graph, up to 100: a part names a record of it, or it was synced from it. All of a
    # context that hangs at one.
    entity_node_ids: Iterable[str | UUID] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallOptions:
    """How much to recall for a message that is sent, and which passages."""

    tokens_max: int = 0  # of the prompt text, up to 100,000; 0: 2,000
    items_max: int = 0  # up to 200; 0: 20
    profile: str = ""  # the ranking: "default", "conversation"; empty: the context's, else the default
    not_after_seq: int = 0  # recall only up to this `seq`, for callers that hold the newest messages; 0: all
    filter: RecallFilter | None = None
    with_features: bool = False  # say of each item the parts of its ranking
    score_min: float | None = None  # only items with this score or a higher one; None takes the default, 0 all items


@dataclass(frozen=True, slots=True)
class StateEntryInput:
    """An entry of the state of a window's work. To remove an entry, its section and key are enough."""

    # "goal", "sub_goal", "constraint", "value", "decision", "question", "error", "artifact" or "progress"
    section: str
    key: str = ""  # what it is of, and what takes its place later; of "goal" and "progress" there is one, without a key
    text: str = ""  # one line; of a value it may be empty; of an entry to be removed that has no key, its text
    value: str = ""  # of a value, what it is; of a sub-goal "open", "done" or "dropped"; empty: "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallInput:
    """The call of a tool by a model."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str = ""  # a text is taken for JSON, as models write it


class SavedImage(Protocol):
    """An image of Pillow."""

    @property
    def format(self) -> str | None:
        """Return the format of the file that the image was read from, such as "JPEG"."""
        ...

    def save(self, fp: Any, format: str) -> None:
        """Write the image in a format."""
        ...


FileData = bytes | bytearray | memoryview | os.PathLike[str] | SavedImage


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInput:
    """A file of a new message, up to 20 MiB, which its context stores. Give one of the first three fields."""

    data: FileData | None = None  # bytes, the path of a file, which is read at once, or an image of Pillow
    url: str | None = None  # an http or https address, which the service does not read; or a `data:` URL
    working_memory_id: str | UUID | None = None  # of a record that the caller may read
    media_type: str = ""  # such as "image/png"
    name: str = ""
    alt: str = ""  # a description for readers who cannot see the file; search finds the file by it


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultInput:
    """The result of a tool call."""

    tool_call_id: str  # the id of the call that it answers
    content: Any = None  # any JSON value, or None
    is_error: bool = False
    files: Iterable[FileInput | File | FileData | str] = ()  # up to 100, such as screenshots; as `PartInput.file`


@dataclass(frozen=True, slots=True, kw_only=True)
class PartInput:
    """A part of a new message. Exactly one of the first eight fields must be given."""

    text: str | None = None
    data: Any = None  # any JSON value but null
    working_memory_id: str | UUID | None = None  # of a record that the caller may read
    url: str | None = None
    tool_call: ToolCallInput | None = None
    tool_result: ToolResultInput | None = None
    reasoning: Reasoning | None = None
    # A picture, a PDF, a recording or another file: also bytes, an image of Pillow, a path or an address.
    file: FileInput | File | FileData | str | None = None
    media_type: str = ""
    file_name: str = ""
    metadata: Mapping[str, Any] | None = None  # `index: False`: not to be found; `secret: True`: not to be kept


@dataclass(frozen=True, slots=True)
class MessageInput:
    """A new message of a context: its text, its parts, or both."""

    content: str = ""  # up to 1 MiB
    _: KW_ONLY
    role: Literal["", "user", "assistant", "agent", "system", "tool"] = ""  # empty: "user"; "agent" is "assistant"
    parts: Iterable[PartInput | Part] = ()  # up to 100; a part that was read goes as it came
    message_id: str = ""  # the sender's own, up to 200 characters; empty: the server makes one
    name: str = ""  # who speaks, where several share a role
    agent_id: str = ""
    metadata: Mapping[str, Any] | None = None  # up to 64 KiB of JSON
    said_at: datetime | None = None  # aware; default: now
    session: str = ""  # what the sender calls it; empty: four hours without a message begin a new one
    task_id: str | UUID | None = None  # that it belongs to; without a context it goes to that of the task
    reference_task_ids: Iterable[str | UUID] = ()  # up to 100 of its context, which it is about
    is_imported: bool = False  # another system names the author: windows quote the text as data


@dataclass(frozen=True, slots=True)
class ArtifactInput:
    """A new version of an artifact, or a chunk of one."""

    parts: Iterable[PartInput | Part] = ()  # 1 to 100 of one call, up to 1,000 of a version; of 2 MiB together
    _: KW_ONLY
    artifact_id: str = ""  # the sender's own, up to 200 characters, unique in its task; empty: the server makes one
    name: str = ""  # up to 200 characters; later chunks do not change it, nor the next two
    description: str = ""  # up to 1,000 characters
    metadata: Mapping[str, Any] | None = None  # up to 64 KiB of JSON
