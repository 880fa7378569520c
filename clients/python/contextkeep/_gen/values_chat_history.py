"""Values of contextkeep/context/v1/chat_history.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.bases import AssembledNodeBase
from contextkeep.values.bases import ChatMappingBase
from contextkeep.values.bases import EvaluationBase
from contextkeep.values.bases import HistoryEventBase
from contextkeep.values.bases import NodeTrialBase
from contextkeep.values.bases import SkippedRuleBase
from contextkeep.values.conversions import mapping_rules_json
from contextkeep.values.mappings import GivenMessage

# How the bytes of files come in the body of a request to a model.
FileDelivery = Literal[
    "inline",
    "references",
]
FILE_DELIVERYS: dict[int, FileDelivery] = {
    1: "inline",
    2: "references",
}
# The API for which messages are formatted.
MessageFormat = Literal[
    "openai",
    "anthropic",
    "gemini",
    "openai_responses",
]
MESSAGE_FORMATS: dict[int, MessageFormat] = {
    1: "openai",
    2: "anthropic",
    3: "gemini",
    4: "openai_responses",
}
# Why a rule gave no message.
SkipReason = Literal[
    "filtered",
    "unmatched",
    "empty",
    "role_unknown",
    "failed",
]
SKIP_REASONS: dict[int, SkipReason] = {
    1: "filtered",
    2: "unmatched",
    3: "empty",
    4: "role_unknown",
    5: "failed",
}
# Kind of an event, and the content of its document.
HistoryEventKind = Literal[
    "node_created",
    "node_changed",
    "io_set",
    "status",
    "progress",
    "edge_created",
    "record_created",
    "record_updated",
    "record_archived",
    "record_restored",
    "record_moved",
    "record_purged",
]
HISTORY_EVENT_KINDS: dict[int, HistoryEventKind] = {
    1: "node_created",
    2: "node_changed",
    3: "io_set",
    4: "status",
    5: "progress",
    6: "edge_created",
    7: "record_created",
    8: "record_updated",
    9: "record_archived",
    10: "record_restored",
    11: "record_moved",
    12: "record_purged",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BodyFile(Value):
    """A file of a body whose base64 is empty."""

    # The position in the whole body, in bytes, at which to insert the base64. Positions count in the body as it came,
    # without other files; insert the last file first. Never search the text for the place: texts of a conversation may
    # look like it.
    offset_bytes: int = 0
    # The same place for callers who parse the body: append the base64 to the string at this JSON Pointer.
    pointer: str = ""
    # The record with the bytes, for GetBlob.
    working_memory_id: str = ""
    # Hash of the bytes in hexadecimal.
    sha256: str = ""
    size_bytes: int = 0
    media_type: str = ""

    def __str__(self) -> str:
        return f"{self.media_type} {self.sha256}"

    @classmethod
    def from_proto(cls, message: pb.BodyFile) -> BodyFile:
        """Return the value of a message."""
        return cls(
            offset_bytes=message.offset_bytes,
            pointer=message.pointer,
            working_memory_id=message.working_memory_id,
            sha256=message.sha256,
            size_bytes=message.size_bytes,
            media_type=message.media_type,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SkippedRule(SkippedRuleBase):
    """A rule that gave no message."""

    reason: SkipReason | Literal[""] = ""
    # The expression that decided, such as "rules.messages[0].when".
    rule: str = ""
    # The error, for ROLE_UNKNOWN and FAILED.
    error: str = ""
    # Number of elements of a `for_each` with this reason; otherwise 1.
    elements: int = 0

    @classmethod
    def from_proto(cls, message: pb.SkippedRule) -> SkippedRule:
        """Return the value of a message."""
        return cls(
            reason=SKIP_REASONS.get(message.reason, ""),
            rule=message.rule,
            error=message.error,
            elements=message.elements,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AssembledNode(AssembledNodeBase):
    """A node that a mapping read, and its messages."""

    node_id: str = ""
    external_id: str = ""
    name: str = ""
    type: str = ""
    general_type: str = ""
    # Steps from the start node, which has 0.
    depth: int = 0
    # The edge by which the walk reached the node. Empty for the start node.
    edge_id: str = ""
    edge_type: str = ""
    # The other end of that edge.
    from_node_id: str = ""
    created_at: datetime
    modified_at: datetime
    # A JSON object with the value at each of `data_paths` that has one. Empty if the request has no `data_paths`.
    values_json: str = "{}"
    # In the order of the rules.
    messages: tuple[GivenMessage, ...] = ()
    # Rules that gave no message.
    skipped: tuple[SkippedRule, ...] = ()
    _values: Any = kept()

    @property
    def values(self) -> dict[str, Any]:
        """Return `values_json`, parsed."""
        return self._kept_object("_values", self.values_json)

    @classmethod
    def from_proto(cls, message: pb.AssembledNode) -> AssembledNode:
        """Return the value of a message."""
        return cls(
            node_id=message.node_id,
            external_id=message.external_id,
            name=message.name,
            type=message.type,
            general_type=message.general_type,
            depth=message.depth,
            edge_id=message.edge_id,
            edge_type=message.edge_type,
            from_node_id=message.from_node_id,
            created_at=time_of(message.created_at),
            modified_at=time_of(message.modified_at),
            values_json=message.values_json,
            messages=tuple(map(GivenMessage.from_proto, message.messages)),
            skipped=tuple(map(SkippedRule.from_proto, message.skipped)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChatMapping(ChatMappingBase):
    """A registered or built-in mapping."""

    # Empty means the shared scope of the tenant.
    app_id: str = ""
    mapping_name: str = ""
    rules_json: str = "{}"
    # The author's own version number. 0 means that the author gave none.
    rules_version: int = 0
    # Number of the newest change, from 1. 0 for a built-in mapping.
    version: int = 0
    # The mapping is part of the service or in one of its files. No call can create or remove it.
    built_in: bool = False
    # Why the rules no longer compile after an upgrade. Empty if they compile.
    error: str = ""
    # Unset if the mapping is built in.
    created_at: datetime | None = None
    updated_at: datetime | None = None
    # Unset if no import wrote it, or its rules were replaced after the import.
    imported: Imported | None = None
    _rules: Any = kept()

    @property
    def rules(self) -> dict[str, Any]:
        """Return `rules_json`, parsed."""
        return self._kept_object("_rules", self.rules_json)

    @classmethod
    def from_proto(cls, message: pb.Mapping) -> ChatMapping:
        """Return the value of a message."""
        return cls(
            app_id=message.app_id,
            mapping_name=message.mapping_name,
            rules_json=mapping_rules_json(message.rules),
            rules_version=message.rules_version,
            version=message.version,
            built_in=message.built_in,
            error=message.error,
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            updated_at=time_of(message.updated_at) if message.HasField("updated_at") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Evaluation(EvaluationBase):
    """One run of one expression."""

    # Name of the expression in the long form, such as "rules.messages[0].when", also if the mapping uses shorthands.
    rule: str = ""
    # Position of the element, for a `for_each`.
    element: int | None = None
    # The value as JSON. Empty if the expression failed or the value is left out.
    value_json: str = ""
    # True if the value is larger than 16 KiB.
    value_left_out: bool = False
    # Why the expression failed. Empty if it did not fail.
    error: str = ""
    duration_us: int = 0
    _value: Any = kept()

    @property
    def value(self) -> Any:
        """Return `value_json`, parsed; None if it is empty."""
        return self._kept("_value", self.value_json)

    @classmethod
    def from_proto(cls, message: pb.Evaluation) -> Evaluation:
        """Return the value of a message."""
        return cls(
            rule=message.rule,
            element=message.element if message.HasField("element") else None,
            value_json=message.value_json,
            value_left_out=message.value_left_out,
            error=message.error,
            duration_us=message.duration_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NodeTrial(NodeTrialBase):
    """A node, and the result of the rules on it."""

    node_id: str = ""
    # True if the node gives a message.
    included: bool = False
    # For a node with messages, the rule of the first message ("rules.messages[0]"). Otherwise the expression that
    # prevented a message ("rules.filter").
    decided_by: str = ""
    messages: tuple[GivenMessage, ...] = ()
    # Rules that gave no message.
    skipped: tuple[SkippedRule, ...] = ()
    # In the order in which they ran. Only the first 256 KiB.
    evaluations: tuple[Evaluation, ...] = ()
    # Number of further evaluations that were left out.
    evaluations_left_out: int = 0
    # Time of all evaluations together, in microseconds.
    duration_us: int = 0

    @classmethod
    def from_proto(cls, message: pb.NodeTrial) -> NodeTrial:
        """Return the value of a message."""
        return cls(
            node_id=message.node_id,
            included=message.included,
            decided_by=message.decided_by,
            messages=tuple(map(GivenMessage.from_proto, message.messages)),
            skipped=tuple(map(SkippedRule.from_proto, message.skipped)),
            evaluations=tuple(map(Evaluation.from_proto, message.evaluations)),
            evaluations_left_out=message.evaluations_left_out,
            duration_us=message.duration_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HistoryEvent(HistoryEventBase):
    """An event of an entity."""

    kind: HistoryEventKind | Literal[""] = ""
    time: datetime
    # Subject of the credential of the call, if it is stored. It is not stored for edges and for changes of a node.
    principal: str = ""
    # The entity of the event.
    node_id: str = ""
    # The edge, for events of edges.
    edge_id: str = ""
    # The record, for events of records.
    working_memory_id: str = ""
    # Id of the call, if the log of the record has it.
    request_id: str = ""
    # A JSON object. For an event of an imported log it has `imported`; see WMRecordAction.details_json.
    document_json: str = "{}"
    _document: Any = kept()

    @property
    def document(self) -> dict[str, Any]:
        """Return `document_json`, parsed."""
        return self._kept_object("_document", self.document_json)

    @classmethod
    def from_proto(cls, message: pb.HistoryEvent) -> HistoryEvent:
        """Return the value of a message."""
        return cls(
            kind=HISTORY_EVENT_KINDS.get(message.kind, ""),
            time=time_of(message.time),
            principal=message.principal,
            node_id=message.node_id,
            edge_id=message.edge_id,
            working_memory_id=message.working_memory_id,
            request_id=message.request_id,
            document_json=message.document_json,
        )
