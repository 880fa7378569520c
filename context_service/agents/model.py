"""Agents and their templates: what administrators write, and what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderNames:
    """Providers of context query: all that are in either list."""

    ids: tuple[str, ...] = ()
    families: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """Who may name an agent, besides administrators and itself."""

    user_ids: tuple[str, ...] = ()
    agent_ids: tuple[str, ...] = ()  # those of credentials
    subjects: tuple[str, ...] = ()  # of keys and tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInput:
    """What an administrator says of an agent, or of a template."""

    agent_id: str
    display_name: str = ""
    template_id: str = ""  # of an agent
    node_ids: tuple[UUID, ...] = ()  # below which its files are
    knowledge_bases: tuple[str, ...] = ()
    allowed: ProviderNames | None = None  # whom it may ask; None: whom the tenant lets be asked
    defaults: ProviderNames | None = None  # who is asked where a question selects none; None: as the tenant has it
    callers: Callers | None = None  # of an agent; None: everybody of the tenant who is no other agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent, or a template, as it is stored."""

    said: AgentInput
    template: AgentInput | None  # of an agent that was read to be asked for
    version: int
    created_at: datetime
    updated_at: datetime
    updated_by: str
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names
