"""The modules of the three packages that read a `.sql` file."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from service_runtime.statements.sql_files import SqlFile


@cache
def modules_with_sql() -> list[ModuleType]:
    """Import all modules, and return those with statements; each has its file as `SQL`."""
    found = []
    for package in ("context_service", "entity_service", "service_runtime"):
        root = importlib.import_module(package)
        for entry in pkgutil.walk_packages(root.__path__, f"{package}."):
            if entry.name.endswith("__main__"):
                continue
            module = importlib.import_module(entry.name)
            if isinstance(vars(module).get("SQL"), SqlFile):
                found.append(module)
    return found
