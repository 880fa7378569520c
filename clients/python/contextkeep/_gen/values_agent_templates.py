"""Values of contextkeep/context/v1/agent_templates.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep._gen.values_agents import ProviderNames
from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import agent_templates_pb2 as pb
from contextkeep.values.base import Value, time_of



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AgentTemplate(Value):
    """Settings that several agents share."""

    template_id: str = ""
    display_name: str = ""
    # Nodes of the graph: the files of the agents are the records of these nodes and of all nodes below them.
    node_ids: tuple[str, ...] = ()
    knowledge_bases: tuple[str, ...] = ()
    # The allowed providers. Unset: no restriction by this policy. Given but empty: none is allowed.
    allowed: ProviderNames | None = None
    # The allowed providers to query if a question selects none. Unset: those of the template, else those of the tenant.
    defaults: ProviderNames | None = None
    # Counts the puts of the template, from 1.
    version: int = 0
    created_at: datetime
    updated_at: datetime
    # The subject of the credential that put it last.
    updated_by: str = ""
    # Where an import took it from. Unset: no import wrote it, or it was put since.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.AgentTemplate) -> AgentTemplate:
        """Return the value of a message."""
        return cls(
            template_id=message.template_id,
            display_name=message.display_name,
            node_ids=tuple(message.node_ids),
            knowledge_bases=tuple(message.knowledge_bases),
            allowed=ProviderNames.from_proto(message.policy.allowed) if message.policy.HasField("allowed") else None,
            defaults=ProviderNames.from_proto(message.policy.defaults) if message.policy.HasField("defaults") else None,
            version=message.version,
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            updated_by=message.updated_by,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )
