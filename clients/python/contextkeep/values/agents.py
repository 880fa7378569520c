"""Agents that can be asked for, and templates of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep.context.v1 import agents_pb2 as agents_pb
from contextkeep.values.base import Value, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProviderNames(Value):
    """Providers of context query: all that are in either."""

    ids: tuple[str, ...] = ()
    families: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AgentCallers(Value):
    """Who may name an agent, besides administrators and the agent's own credential; nobody in any: nobody else."""

    user_ids: tuple[str, ...] = ()
    agent_ids: tuple[str, ...] = ()  # those of credentials
    subjects: tuple[str, ...] = ()  # of keys and tokens


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AgentTemplate(Value):
    """What many agents have in common."""

    template_id: str
    display_name: str = ""
    node_ids: tuple[str, ...] = ()  # below which files are
    knowledge_bases: tuple[str, ...] = ()
    allowed: ProviderNames | None = None  # whom it may ask; None: whom the tenant lets be asked
    defaults: ProviderNames | None = None  # who is asked where a question selects none; None: as the tenant has it
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    updated_by: str = ""

    @classmethod
    def from_proto(cls, template: agents_pb.AgentTemplate) -> AgentTemplate:
        """Return the value of a message."""
        return cls(
            template_id=template.template_id,
            display_name=template.display_name,
            node_ids=tuple(template.node_ids),
            knowledge_bases=tuple(template.knowledge_bases),
            allowed=_names(template.policy.allowed) if template.policy.HasField("allowed") else None,
            defaults=_names(template.policy.defaults) if template.policy.HasField("defaults") else None,
            version=template.version,
            created_at=time_of(template.created_at),
            updated_at=time_of(template.updated_at),
            updated_by=template.updated_by,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Agent(Value):
    """An agent that can be asked for. What it does not say, its template says, and then the tenant."""

    agent_id: str
    display_name: str = ""
    template_id: str = ""
    node_ids: tuple[str, ...] = ()  # below which its files are
    knowledge_bases: tuple[str, ...] = ()
    allowed: ProviderNames | None = None  # whom it may ask
    defaults: ProviderNames | None = None  # who is asked where a question selects none
    callers: AgentCallers | None = None  # None: everybody of the tenant, or the reader is no administrator
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    updated_by: str = ""

    @classmethod
    def from_proto(cls, agent: agents_pb.Agent) -> Agent:
        """Return the value of a message."""
        return cls(
            agent_id=agent.agent_id,
            display_name=agent.display_name,
            template_id=agent.template_id,
            node_ids=tuple(agent.node_ids),
            knowledge_bases=tuple(agent.knowledge_bases),
            allowed=_names(agent.policy.allowed) if agent.policy.HasField("allowed") else None,
            defaults=_names(agent.policy.defaults) if agent.policy.HasField("defaults") else None,
            callers=_callers(agent.callers) if agent.HasField("callers") else None,
            version=agent.version,
            created_at=time_of(agent.created_at),
            updated_at=time_of(agent.updated_at),
            updated_by=agent.updated_by,
        )


def _names(names: agents_pb.ProviderNames) -> ProviderNames:
    return ProviderNames(ids=tuple(names.ids), families=tuple(names.families))


def _callers(callers: agents_pb.AgentCallers) -> AgentCallers:
    return AgentCallers(
        user_ids=tuple(callers.user_ids), agent_ids=tuple(callers.agent_ids), subjects=tuple(callers.subjects)
    )
