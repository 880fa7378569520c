"""Values of contextkeep/context/v1/agents.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import agents_pb2 as pb
from contextkeep.values.base import Value, time_of



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProviderNames(Value):
    """All providers that are in either list; up to 64 names each. A name that no provider has allows nothing."""

    # Ids of providers.
    ids: tuple[str, ...] = ()
    # Families of providers: all providers of the family.
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
    """All callers that are in any of the lists; up to 1,000 names each, of up to 512 characters."""

    # Users: of the key, or named in `subject_user_id`.
    user_ids: tuple[str, ...] = ()
    # Agents of credentials. The credential of an agent may name another agent only if that agent lists it here.
    agent_ids: tuple[str, ...] = ()
    # Subjects of keys and tokens.
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
    """An agent. Its template supplies the fields that it leaves empty, and after it the tenant's settings."""

    agent_id: str = ""
    display_name: str = ""
    template_id: str = ""
    # Nodes of the graph: the agent's files are the records of these nodes and of all nodes below them.
    node_ids: tuple[str, ...] = ()
    knowledge_bases: tuple[str, ...] = ()
    # The allowed providers. Unset: no restriction by this policy. Given but empty: none is allowed.
    allowed: ProviderNames | None = None
    # The allowed providers to query if a question selects none. Unset: those of the template, else those of the tenant.
    defaults: ProviderNames | None = None
    # Only administrators see it.
    callers: AgentCallers | None = None
    # Counts the puts of the agent, from 1.
    version: int = 0
    created_at: datetime
    updated_at: datetime
    # The subject of the credential that put it last.
    updated_by: str = ""
    # Where an import took it from. Unset: no import wrote it, or it was put since.
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
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            updated_by=message.updated_by,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )
