"""Values of contextkeep/context/v1/agents.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import agents_pb2 as pb
from contextkeep.values.base import Value, time_of



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProviderNames(Value):
    """All that are in either list; up to 64 names each. What no provider is called allows nothing."""

    ids: tuple[str, ...] = ()
    families: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.ProviderNames) -> ProviderNames:
        """Return the value of a message."""
        return cls(
            ids=tuple(message.ids),
            families=tuple(message.families),
        )

    def to_proto(self) -> pb.ProviderNames:
        """Return the message of the value."""
        return pb.ProviderNames(
            ids=self.ids,
            families=self.families,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AgentCallers(Value):
    """All that are in any list; up to 1,000 names each, of up to 512 characters."""

    # Users: of the key, or named by `subject_user_id`.
    user_ids: tuple[str, ...] = ()
    # Agents of credentials. The credential of an agent may name another one only where that one lists it.
    agent_ids: tuple[str, ...] = ()
    # Whom keys and tokens stand for.
    subjects: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.AgentCallers) -> AgentCallers:
        """Return the value of a message."""
        return cls(
            user_ids=tuple(message.user_ids),
            agent_ids=tuple(message.agent_ids),
            subjects=tuple(message.subjects),
        )

    def to_proto(self) -> pb.AgentCallers:
        """Return the message of the value."""
        return pb.AgentCallers(
            user_ids=self.user_ids,
            agent_ids=self.agent_ids,
            subjects=self.subjects,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Agent(Value):
    """An agent that can be asked for. Where it says nothing, its template does, and then the tenant."""

    agent_id: str = ""
    display_name: str = ""
    template_id: str = ""
    # Nodes of the graph: the agent's files are the records of these nodes and of all nodes below them.
    node_ids: tuple[str, ...] = ()
    knowledge_bases: tuple[str, ...] = ()
    # Unset: whom the others let it ask. Given and empty: nobody.
    allowed: ProviderNames | None = None
    # Who of them is asked where a question selects none. Unset: as the template has it, else the tenant.
    defaults: ProviderNames | None = None
    # Shown to administrators only.
    callers: AgentCallers | None = None
    # Counts how often it was put, from 1.
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    # Who put it last.
    updated_by: str = ""
    # Unset: no import wrote it, or it was put since.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.Agent) -> Agent:
        """Return the value of a message."""
        return cls(
            agent_id=message.agent_id,
            display_name=message.display_name,
            template_id=message.template_id,
            node_ids=tuple(message.node_ids),
            knowledge_bases=tuple(message.knowledge_bases),
            allowed=ProviderNames.from_proto(message.policy.allowed) if message.policy.HasField("allowed") else None,
            defaults=ProviderNames.from_proto(message.policy.defaults) if message.policy.HasField("defaults") else None,
            callers=AgentCallers.from_proto(message.callers) if message.HasField("callers") else None,
            version=message.version,
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            updated_at=time_of(message.updated_at) if message.HasField("updated_at") else None,
            updated_by=message.updated_by,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AgentTemplate(Value):
    """What many agents have in common."""

    template_id: str = ""
    display_name: str = ""
    # Below which nodes files are.
    node_ids: tuple[str, ...] = ()
    knowledge_bases: tuple[str, ...] = ()
    # Unset: whom the others let it ask. Given and empty: nobody.
    allowed: ProviderNames | None = None
    # Who of them is asked where a question selects none. Unset: as the template has it, else the tenant.
    defaults: ProviderNames | None = None
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    updated_by: str = ""
    # Unset: no import wrote it, or it was put since.
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
            created_at=time_of(message.created_at) if message.HasField("created_at") else None,
            updated_at=time_of(message.updated_at) if message.HasField("updated_at") else None,
            updated_by=message.updated_by,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )
