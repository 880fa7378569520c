"""The table of specialists."""

from __future__ import annotations

from context_service.kernel.catalog import Table

SPECIALISTS = Table(
    name="context.specialist",
    key="specialist_id",
    columns=("display_name", "instructions", "node_ids", "steps_max", "is_default"),
)
