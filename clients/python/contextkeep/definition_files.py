"""Definitions of pages in YAML files, for the command `contextkeep knowledge`.

    definitions:
      customers: {node_type: Customer, title: entity.name, facets: [...]}

Needs PyYAML, which comes with the extra `cli`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextkeep.errors import InvalidArgument
from contextkeep.mapping_files import check_fields, load


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDefinition:
    """A definition as a file has it."""

    place: str  # "customers.yaml: definitions.customers"; for errors
    name: str
    rules: dict[str, Any]  # their fields are not checked


def read(path: Path) -> Iterator[FileDefinition]:
    """Yield the definitions of a file, in its order.

    Raises:
        InvalidArgument: it cannot be read, or has another form: the message names file and place.
    """
    content = load(path)
    if content is None:
        return
    check_fields(f"{path}", content, ("definitions",))
    definitions = content.get("definitions", {})
    if not isinstance(definitions, dict):
        raise InvalidArgument(f"{path}: definitions is an object: names, and the rules of each")
    for name, rules in definitions.items():
        place = f"{path}: definitions.{name}"
        if not isinstance(name, str):
            raise InvalidArgument(f"{place}: a name must be a text; put it in quotes")
        if not isinstance(rules, dict):
            raise InvalidArgument(f"{place} must be an object")
        yield FileDefinition(place=place, name=name, rules=rules)
