"""Rules tried out, and what they did, as they travel."""

from __future__ import annotations

from uuid import UUID

from context_service.history.trial import Evaluation, Sample, Trial, TriedNode
from context_service.servicers import assembled, mappings, messages, wire
from contextkeep.context.v1 import chat_history_pb2 as pb


def trial(request: pb.TestMappingRequest, node_id: UUID | None) -> Trial:
    """Return what a caller wants tried; `node_id` is the node that the request names.

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


def node_trial(tried: TriedNode) -> pb.NodeTrial:
    """Return what the rules did on a node."""
    message = pb.NodeTrial(
        node_id=tried.node_id,
        included=bool(tried.outcome.given),
        decided_by=tried.decided_by,
        skipped=map(assembled.skipped, tried.outcome.skips),
        evaluations=map(_evaluation, tried.evaluations),
        evaluations_left_out=tried.left_out,
        duration_us=tried.duration_us,
    )
    for given in tried.outcome.given:
        messages.fill(message.messages.add(rule=given.rule).message, given.message)
    return message


def _sample(field: str, node: pb.SampleNode) -> Sample:
    return Sample(
        id=node.id,
        external_id=node.external_id,
        name=node.name,
        type=node.type,
        general_type=node.general_type,
        status=node.status,
        data_json=node.data_json,
        input_json=node.input_json,
        output_json=node.output_json,
        created_at=wire.time_of(f"{field}.created_at", node.created_at) if node.HasField("created_at") else None,
        modified_at=wire.time_of(f"{field}.modified_at", node.modified_at) if node.HasField("modified_at") else None,
        edge_type=node.edge_type,
        depth=node.depth,
        edge_data_json=node.edge_data_json,
    )


def _evaluation(evaluation: Evaluation) -> pb.Evaluation:
    return pb.Evaluation(
        rule=evaluation.rule,
        element=evaluation.element,
        value_json=evaluation.value_json,
        value_left_out=evaluation.left_out,
        error=evaluation.error,
        duration_us=evaluation.duration_us,
    )
