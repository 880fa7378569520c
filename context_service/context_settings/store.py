"""The rows of settings for contexts, and whether they switch models off for a context."""

from __future__ import annotations

from context_service.kernel.catalog import Table
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
MODELS_ARE_OFF = SQL["models_are_off"]
IS_FINDABLE = SQL["is_findable"]
LEARNING = SQL["learning"]

SETTINGS = Table(name="context.context_setting", key="subject", columns=("models", "is_findable", "learning"))
