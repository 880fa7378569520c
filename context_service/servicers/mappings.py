"""Rules and mappings between messages and values."""

from __future__ import annotations

from typing import cast

from context_service.graph import Direction
from context_service.history.registry import Listed
from context_service.history.rules import DEPTH_DEFAULT, MessageRule, Order, Ordering, Rules
from context_service.servicers import wire
from contextkeep.context.v1 import chat_history_pb2 as pb


def rules(message: pb.MappingRules) -> Rules:
    """Return the rules of a message. Words that are none of a field's are found by `Rules.expanded`."""
    return Rules(
        edge_types=tuple(message.edge_types),
        direction=cast("Direction", message.direction or "out"),
        depth_max=message.depth_max or DEPTH_DEFAULT,
        entity_types=tuple(message.entity_types),
        include_start=message.include_start,
        include_archived=message.include_archived,
        filter=message.filter,
        messages=tuple(
            MessageRule(
                role=rule.role,
                content=rule.content,
                when=rule.when,
                for_each=rule.for_each,
                name=rule.name,
                parts=rule.parts,
                metadata=rule.metadata,
            )
            for rule in message.messages
        ),
        order_by=message.order_by,
        order=cast("Order", message.order or "ascending"),
        role_field=message.role_field,
        content_field=message.content_field,
        order_field=message.order_field,
        role_mapping=dict(message.role_mapping),
        ordering=cast("Ordering", message.ordering),
    )


def mapping(listed: Listed) -> pb.Mapping:
    """Return a mapping as it is shown."""
    shown = listed.rules
    return pb.Mapping(
        app_id=listed.app_id,
        mapping_name=listed.name,
        rules=pb.MappingRules(
            edge_types=shown.edge_types,
            direction=shown.direction,
            depth_max=shown.depth_max,
            entity_types=shown.entity_types,
            include_start=shown.include_start,
            include_archived=shown.include_archived,
            filter=shown.filter,
            messages=[
                pb.MessageRule(
                    role=rule.role,
                    content=rule.content,
                    when=rule.when,
                    for_each=rule.for_each,
                    name=rule.name,
                    parts=rule.parts,
                    metadata=rule.metadata,
                )
                for rule in shown.messages
            ],
            order_by=shown.order_by,
            order=shown.order,
            role_field=shown.role_field,
            content_field=shown.content_field,
            order_field=shown.order_field,
            role_mapping=shown.role_mapping,
            ordering=shown.ordering,
        ),
        rules_version=listed.rules_version,
        version=listed.version,
        built_in=not listed.version,
        error=listed.error,
        created_at=wire.timestamp(listed.created_at) if listed.created_at else None,
        updated_at=wire.timestamp(listed.updated_at) if listed.updated_at else None,
    )
