"""Tests of rules and their results, between protobuf and values."""

from __future__ import annotations

from uuid import UUID

from context_service.history.rules.trial import Evaluation, Sample, Trial, TriedNode
from context_service.history.wire import mappings, messages, nodes
from context_service.kernel.wire import times
from contextkeep.context.v1 import chat_history_pb2 as pb
from service_runtime.values.copying import copied


def trial(request: pb.TestMappingRequest, node_id: UUID | None) -> Trial:
    """Return the test that a caller asks for; `node_id` is the node that the request names.

    Raises:
        InvalidArgument: a time is malformed.
    """
    return Trial(
        rules=mappings.rules(request.rules),
        node_id=str(node_id or ""),
        samples=[_sample(f"nodes[{index}]", node) for index, node in enumerate(request.nodes)],
        root=_sample("root", request.root) if request.HasField("root") else None,
        page_size=request.page_size,
        page_token=request.page_token,
    )


def node_trial(trial: TriedNode) -> pb.NodeTrial:
    """Return the protobuf message of a node with the results of the rules."""
    message = pb.NodeTrial(
        node_id=trial.node_id,
        included=bool(trial.outcome.given),
        decided_by=trial.decided_by,
        skipped=map(nodes.skipped, trial.outcome.skips),
        evaluations=map(_evaluation, trial.evaluations),
        evaluations_left_out=trial.left_out,
        duration_us=trial.duration_us,
    )
    for rule_message in trial.outcome.given:
        messages.fill(message.messages.add(rule=rule_message.rule).message, rule_message.message)
    return message


def _sample(field: str, node: pb.SampleNode) -> Sample:
    """Parse a sample node, with the times that it has."""
    return copied(
        Sample,
        node,
        created_at=times.time_of(f"{field}.created_at", node.created_at) if node.HasField("created_at") else None,
        modified_at=times.time_of(f"{field}.modified_at", node.modified_at) if node.HasField("modified_at") else None,
    )


def _evaluation(evaluation: Evaluation) -> pb.Evaluation:
    return copied(pb.Evaluation, evaluation, value_left_out=evaluation.left_out)
