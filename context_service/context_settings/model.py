"""The setting for the contexts of a tenant, of an app, or of an agent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSetting:
    """A setting, as it is stored. Without an app and an agent it is the tenant's."""

    app_id: str = ""
    agent_id: str = ""
    models: str  # "on", "off", or empty: as the wider settings say
    is_findable: bool | None  # whether `SearchContexts` finds them; None if the wider settings decide
    learning: str  # "rules", "model", "off", or empty: as the wider settings say
    updated_at: datetime
    updated_by: str
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names
