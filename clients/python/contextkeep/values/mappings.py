"""Mappings, and what their rules do on nodes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from google.protobuf.json_format import MessageToDict

from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.values.base import Value, kept, parsed, parsed_object, time_of
from contextkeep.values.messages import ChatMessage


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChatMapping(Value):
    """A named rule set that makes messages of nodes, registered or built in."""

    app_id: str = ""  # empty: the tenant's shared scope
    mapping_name: str
    rules_json: str = "{}"
    rules_version: int = 0  # the author's own number; 0: none was given
    version: int = 0  # counts the changes; 0 for a built-in one
    built_in: bool = False
    error: str = ""  # why the rules no longer compile, after an upgrade; empty: they do
    created_at: datetime | None = None  # None for a built-in one
    updated_at: datetime | None = None
    _rules: Any = kept()

    @property
    def rules(self) -> dict[str, Any]:
        """Return the rules as a dict, as `register_mapping` takes them."""
        return self._kept_object("_rules", self.rules_json)

    def __str__(self) -> str:
        return f"{self.app_id}/{self.mapping_name}" if self.app_id else self.mapping_name

    @classmethod
    def from_proto(cls, mapping: history_pb.Mapping) -> ChatMapping:
        """Return the value of a message."""
        return cls(
            app_id=mapping.app_id,
            mapping_name=mapping.mapping_name,
            rules_json=json.dumps(MessageToDict(mapping.rules, preserving_proto_field_name=True), ensure_ascii=False),
            rules_version=mapping.rules_version,
            version=mapping.version,
            built_in=mapping.built_in,
            error=mapping.error,
            created_at=time_of(mapping.created_at) if mapping.HasField("created_at") else None,
            updated_at=time_of(mapping.updated_at) if mapping.HasField("updated_at") else None,
        )


class GivenMessage(NamedTuple):
    """A message, and the rule that gave it."""

    message: ChatMessage
    rule: str  # "rules.messages[0]", as if the rules had no shorthands


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRule:
    """A rule that gave no message of a node."""

    reason: str  # "filtered", "unmatched", "empty", "role_unknown" or "failed"
    rule: str  # the expression that decided, such as "rules.messages[0].when"
    error: str = ""  # what is wrong, of the last two reasons
    elements: int = 1  # how many of a `for_each` it happened to

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}" + (f" ({self.error})" if self.error else "")

    @classmethod
    def from_proto(cls, skipped: history_pb.SkippedRule) -> SkippedRule:
        """Return the value of a message."""
        reason = history_pb.SkipReason.Name(skipped.reason).removeprefix("SKIP_REASON_").lower()
        return cls(reason=reason, rule=skipped.rule, error=skipped.error, elements=skipped.elements)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AssembledNode(Value):
    """A node that a mapping has read, and what came of it."""

    node_id: str
    external_id: str
    name: str
    type: str
    general_type: str
    depth: int  # steps from the start node
    edge_id: str  # that reached it; empty for the start node, as the next two
    edge_type: str
    from_node_id: str  # that edge's other end
    created_at: datetime
    modified_at: datetime
    values_json: str  # what is at the paths that were asked for
    messages: tuple[GivenMessage, ...]
    skipped: tuple[SkippedRule, ...]  # rules that gave none

    @property
    def values(self) -> dict[str, Any]:
        """Return what is at the paths that were asked for, by path."""
        return parsed_object(self.values_json)

    def __str__(self) -> str:
        given = [str(given.message) for given in self.messages]
        return "; ".join(given or map(str, self.skipped)) or self.node_id

    @classmethod
    def from_proto(cls, node: history_pb.AssembledNode) -> AssembledNode:
        """Return the value of a message."""
        return cls(
            node_id=node.node_id,
            external_id=node.external_id,
            name=node.name,
            type=node.type,
            general_type=node.general_type,
            depth=node.depth,
            edge_id=node.edge_id,
            edge_type=node.edge_type,
            from_node_id=node.from_node_id,
            created_at=time_of(node.created_at),
            modified_at=time_of(node.modified_at),
            values_json=node.values_json,
            messages=tuple(GivenMessage(ChatMessage.from_proto(one.message), one.rule) for one in node.messages),
            skipped=tuple(map(SkippedRule.from_proto, node.skipped)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One run of one expression."""

    rule: str  # "rules.messages[0].when", as if the rules had no shorthands
    element: int | None  # of a `for_each`
    value_json: str  # empty: it failed, or `value_left_out`
    value_left_out: bool  # the value is larger than 16 KiB
    error: str  # why it failed; empty: it did not
    duration_us: int

    @property
    def value(self) -> Any:
        """Return the value; None if there is none."""
        return parsed(self.value_json)

    def __str__(self) -> str:
        place = self.rule if self.element is None else f"{self.rule} of element {self.element}"
        return f"{place}: {self.error or self.value_json or 'a large value'}"

    @classmethod
    def from_proto(cls, evaluation: history_pb.Evaluation) -> Evaluation:
        """Return the value of a message."""
        return cls(
            rule=evaluation.rule,
            element=evaluation.element if evaluation.HasField("element") else None,
            value_json=evaluation.value_json,
            value_left_out=evaluation.value_left_out,
            error=evaluation.error,
            duration_us=evaluation.duration_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTrial:
    """A node, and what rules did on it."""

    node_id: str
    included: bool  # it gives a message
    decided_by: str  # the rule of its first message, or the expression because of which there is none
    messages: tuple[GivenMessage, ...]
    skipped: tuple[SkippedRule, ...]  # rules that gave none
    evaluations: tuple[Evaluation, ...]  # in the order in which they ran; the first 256 KiB of them
    evaluations_left_out: int  # how many more ran
    duration_us: int  # of all of them

    def __str__(self) -> str:
        given = "; ".join(str(given.message) for given in self.messages)
        return f"{self.node_id}: {given or 'no message'} ({self.decided_by})"

    @classmethod
    def from_proto(cls, trial: history_pb.NodeTrial) -> NodeTrial:
        """Return the value of a message."""
        return cls(
            node_id=trial.node_id,
            included=trial.included,
            decided_by=trial.decided_by,
            messages=tuple(GivenMessage(ChatMessage.from_proto(one.message), one.rule) for one in trial.messages),
            skipped=tuple(map(SkippedRule.from_proto, trial.skipped)),
            evaluations=tuple(map(Evaluation.from_proto, trial.evaluations)),
            evaluations_left_out=trial.evaluations_left_out,
            duration_us=trial.duration_us,
        )
