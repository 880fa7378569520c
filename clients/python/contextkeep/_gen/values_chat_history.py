"""Values of contextkeep/context/v1/chat_history.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.values.base import kept, time_of
from contextkeep.values.bases import AssembledNodeBase
from contextkeep.values.bases import ChatMappingBase
from contextkeep.values.bases import EvaluationBase
from contextkeep.values.bases import HistoryEventBase
from contextkeep.values.bases import NodeTrialBase
from contextkeep.values.bases import SkippedRuleBase
from contextkeep.values.conversions import mapping_rules_json
from contextkeep.values.mappings import GivenMessage

# Whose messages.
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
# What happened, and what the event's document holds.
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
class SkippedRule(SkippedRuleBase):
    """A rule that gave no message."""

    reason: SkipReason | Literal[""] = ""
    # The expression that decided, such as "rules.messages[0].when".
    rule: str = ""
    # What is wrong, with ROLE_UNKNOWN and FAILED.
    error: str = ""
    # How many elements of a `for_each` it happened to; else 1.
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
    """A node that a mapping has read, and what came of it."""

    node_id: str = ""
    external_id: str = ""
    name: str = ""
    type: str = ""
    general_type: str = ""
    # Steps from the start node, which is 0.
    depth: int = 0
    # The edge that reached it, and that edge's other end. Empty for the start node.
    edge_id: str = ""
    edge_type: str = ""
    # The other end of that edge.
    from_node_id: str = ""
    created_at: datetime
    modified_at: datetime
    # A JSON object: each of `data_paths` at which there is something, with its value. Empty: none was asked for.
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

    # Empty: the tenant's shared scope.
    app_id: str = ""
    mapping_name: str = ""
    rules_json: str = "{}"
    # The author's own number; 0: none was given.
    rules_version: int = 0
    # Counts the changes, from 1; 0 for a built-in one.
    version: int = 0
    # It is in the service, or in one of its files: no call made it, and none removes it.
    built_in: bool = False
    # Why the rules no longer compile, after an upgrade; empty: they do.
    error: str = ""
    # Unset: it is built in.
    created_at: datetime | None = None
    updated_at: datetime | None = None
    # Unset: no import wrote it, or its rules were replaced since.
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

    # "rules.messages[0].when", as if the rules had no shorthands.
    rule: str = ""
    # Of a `for_each`, which one.
    element: int | None = None
    # As JSON. Empty: it failed, or the value is left out.
    value_json: str = ""
    # The value is larger than 16 KiB.
    value_left_out: bool = False
    # Why it failed; empty: it did not.
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
    """A node, and what the rules did on it."""

    node_id: str = ""
    # It gives a message.
    included: bool = False
    # Of a node that is included the rule of its first message ("rules.messages[0]"), else the expression because of
    # which there is none ("rules.filter").
    decided_by: str = ""
    messages: tuple[GivenMessage, ...] = ()
    # Rules that gave no message.
    skipped: tuple[SkippedRule, ...] = ()
    # In the order in which they ran; the first 256 KiB of them.
    evaluations: tuple[Evaluation, ...] = ()
    # How many more ran.
    evaluations_left_out: int = 0
    # Of all of them together, in microseconds.
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
    """Something that happened to an entity."""

    kind: HistoryEventKind | Literal[""] = ""
    time: datetime
    # Whom the key of the call stood for, where that is kept: not of edges, nor of a node's changes.
    principal: str = ""
    # The entity that the event is about.
    node_id: str = ""
    # Of an edge.
    edge_id: str = ""
    # Of a record.
    working_memory_id: str = ""
    # Of the call, where a record's log has it.
    request_id: str = ""
    # A JSON object. Of an event of an imported log it has `imported`; see WMRecordAction.details_json.
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
