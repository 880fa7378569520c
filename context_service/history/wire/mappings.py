"""Rules and mappings between messages and values."""

from __future__ import annotations

from typing import cast

from context_service.history.pure.mapping_rules import DEPTH_DEFAULT, MessageRule, Order, Ordering, Rules
from context_service.history.rules.registry import Listed
from context_service.kernel.graph_values import Direction
from context_service.kernel.wire.imported import imported_of
from contextkeep.context.v1 import chat_history_pb2 as pb
from service_runtime.values.copying import copied


def rules(message: pb.MappingRules) -> Rules:
    """Return the rules of a message. `Rules.expanded` later refuses unknown values."""
    return copied(
        Rules,
        message,
        direction=cast("Direction", message.direction or "out"),
        depth_max=message.depth_max or DEPTH_DEFAULT,
        messages=tuple(copied(MessageRule, rule) for rule in message.messages),
        order=cast("Order", message.order or "ascending"),
        role_mapping=dict(message.role_mapping),
        ordering=cast("Ordering", message.ordering),
    )


def mapping(description: Listed) -> pb.Mapping:
    """Return the protobuf message of a mapping."""
    rules = description.rules
    return copied(
        pb.Mapping,
        description,
        mapping_name=description.name,
        rules=copied(
            pb.MappingRules,
            rules,
            messages=[copied(pb.MessageRule, rule) for rule in rules.messages],
        ),
        built_in=not description.version,
        imported=imported_of(description.imported_json),
    )
