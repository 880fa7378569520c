"""Specialists: the values that administrators write, and those that are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

_PROVIDER = "sub-agent-"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialistInput:
    """A specialist as an administrator describes it: its name, its folder and its instructions."""

    specialist_id: str
    display_name: str = ""  # empty means the id
    instructions: str = ""
    node_ids: tuple[UUID, ...] = ()  # the nodes that make up its folder; empty if it has no folder yet
    steps_max: int = 0  # the most searches and readings for a question; 0 means `STEPS_DEFAULT`
    is_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Specialist:
    """A specialist, as it is stored."""

    specialist_id: str
    display_name: str
    instructions: str
    node_ids: tuple[UUID, ...]
    steps_max: int
    is_default: bool
    version: int
    created_at: datetime
    updated_at: datetime
    updated_by: str
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names

    @property
    def provider_id(self) -> str:
        """The id of the provider in queries that this specialist is."""
        return f"{_PROVIDER}{self.specialist_id}"
