"""The lesson of a window, which the room of usage hands to the room of memories."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID


class Lesson(NamedTuple):
    """What an agent learned from steps of a window, and the window's goal, context and app."""

    text: str
    goal: str
    is_success: bool
    quality: float | None
    context_id: UUID
    app_id: str
    agent_bundle_id: str
