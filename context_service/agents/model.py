"""Agents and their templates: the values that administrators write, and those that are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderNames:
    """Providers of context query, named by id or by family: all that are in either list."""

    ids: tuple[str, ...] = ()
    families: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """The callers that may name an agent, in addition to administrators and the agent itself."""

    user_ids: tuple[str, ...] = ()
    agent_ids: tuple[str, ...] = ()  # ids of agents, as their credentials name them
    subjects: tuple[str, ...] = ()  # subjects of keys and tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInput:
    """The values that an administrator writes for an agent or a template."""

    agent_id: str
    display_name: str = ""
    template_id: str = ""  # the template of an agent; empty for a template
    node_ids: tuple[UUID, ...] = ()  # below which its files are
    knowledge_bases: tuple[str, ...] = ()
    allowed: ProviderNames | None = None  # the providers that it may query; None means those of the tenant
    defaults: ProviderNames | None = None  # for questions that select none; None means the tenant's
    callers: Callers | None = None  # None admits all callers of the tenant except other agents


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent, or a template, as it is stored."""

    content: AgentInput
    template: AgentInput | None  # the agent's template, if the agent was read for a question
    version: int
    created_at: datetime
    updated_at: datetime
    updated_by: str
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names
