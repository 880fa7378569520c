"""Manifests: the records below a node."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.values.base import Value
from contextkeep.values.records import Record


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ManifestGroup(Value):
    """The records of an entity that have one memory type."""

    memory_type: str
    record_count: int  # of all of them
    size_bytes: int
    records: list[Record] = field(default_factory=list)  # newest first; not more than were asked for

    @classmethod
    def from_proto(cls, group: memory_pb.ManifestGroup) -> ManifestGroup:
        """Return the value of a message."""
        return cls(
            memory_type=group.memory_type,
            record_count=group.record_count,
            size_bytes=group.size_bytes,
            records=[Record.from_proto(record) for record in group.records],
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ManifestEntity(Value):
    """An entity that has records, and where it hangs below the root of a manifest."""

    entity_node_id: str
    name: str = ""  # of the node; empty, as its type, if the root is no node
    specific_type_name: str = ""
    parent_node_id: str = ""  # empty for the root, as the next one
    edge_type: str = ""
    depth: int = 0
    path: tuple[str, ...] = ()  # node ids from the root to this one
    groups: list[ManifestGroup] = field(default_factory=list)  # by memory type

    @property
    def record_count(self) -> int:
        """Return how many records there are, of all memory types."""
        return sum(group.record_count for group in self.groups)

    def __str__(self) -> str:
        label = " ".join(filter(None, (self.specific_type_name, self.name))) or self.entity_node_id
        counts = ", ".join(f"{group.record_count} {group.memory_type}" for group in self.groups)
        return f"{'  ' * self.depth}{label}: {counts}"

    @classmethod
    def from_proto(cls, entity: memory_pb.ManifestEntity) -> ManifestEntity:
        """Return the value of a message."""
        return cls(
            entity_node_id=entity.entity_node_id,
            name=entity.name,
            specific_type_name=entity.specific_type_name,
            parent_node_id=entity.parent_node_id,
            edge_type=entity.edge_type,
            depth=entity.depth,
            path=tuple(entity.path),
            groups=[ManifestGroup.from_proto(group) for group in entity.groups],
        )
