"""Nodes of a history with their messages, as protobuf."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp

from context_service.history.pure.node_mapper import Skip, SkipReason
from context_service.history.rules.assemble_context import AssembledNode
from context_service.history.wire import messages
from contextkeep.context.v1 import chat_history_pb2 as pb
from service_runtime.values.copying import copied

_REASONS = {
    SkipReason.FILTERED: pb.SKIP_REASON_FILTERED,
    SkipReason.UNMATCHED: pb.SKIP_REASON_UNMATCHED,
    SkipReason.EMPTY: pb.SKIP_REASON_EMPTY,
    SkipReason.ROLE_UNKNOWN: pb.SKIP_REASON_ROLE_UNKNOWN,
    SkipReason.FAILED: pb.SKIP_REASON_FAILED,
}


def fill(target: pb.AssembledNode, row: AssembledNode) -> None:
    """Fill the protobuf message of a node in place."""
    node, links = row.node, row.node.reached
    assert links is not None, "the walk returns how it reached its nodes"
    target.node_id = node.node_id
    target.external_id = node.entity["external_id"]
    target.name = node.entity["name"]
    target.type = node.entity["type"]
    target.general_type = node.entity["general_type"]
    target.depth = links.depth
    target.edge_id = links.edge_id
    target.edge_type = links.edge_type
    target.from_node_id = links.from_node_id
    _fill_time(target.created_at, node.created_at_us)
    _fill_time(target.modified_at, links.modified_at_us)
    target.values_json = row.values_json
    for rule_message in row.outcome.given:
        message = target.messages.add(rule=rule_message.rule)
        messages.fill(message.message, rule_message.message)
    target.skipped.extend(map(skipped, row.outcome.skips))


def skipped(skip: Skip) -> pb.SkippedRule:
    """Return the protobuf message of a rule that gave no message."""
    return copied(pb.SkippedRule, skip, reason=_REASONS[skip.reason])


def _fill_time(target: Timestamp, time_us: int) -> None:
    target.seconds, microseconds = divmod(time_us, 1_000_000)
    target.nanos = microseconds * 1000
