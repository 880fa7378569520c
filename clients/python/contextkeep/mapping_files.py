"""Mappings in YAML files: one format for the service's `MAPPINGS_PATH` and for the command `contextkeep mapping`.

    app_id: support
    mappings:
      typed: {edge_types: [Contains], role_field: role, content_field: content}

Needs PyYAML, which comes with the extra `cli` and with the service.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.errors import InvalidArgument
from contextkeep.slips import meant

_FILE_FIELDS = ("app_id", "mappings")
_RULE_FIELDS = tuple(history_pb.MappingRules.DESCRIPTOR.fields_by_name)
_MESSAGE_FIELDS = tuple(history_pb.MessageRule.DESCRIPTOR.fields_by_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMapping:
    """A mapping as a file has it."""

    place: str  # "support.yaml: mappings.typed"; for errors
    app_id: str | None  # None: the file names no app
    mapping_name: str
    rules: dict[str, Any]  # has only known fields, whose values are not checked


def files_of(folder: Path) -> list[Path]:
    """Return all `*.yaml` and `*.yml` of a folder by their names, not of those below."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))


def read(path: Path) -> Iterator[FileMapping]:
    """Yield the mappings of a file, in its order.

    Raises:
        InvalidArgument: it cannot be read, or has another form: the message names file and place.
    """
    content = load(path)
    if content is None:
        return
    check_fields(f"{path}", content, _FILE_FIELDS)
    mappings = content.get("mappings", {})
    if not isinstance(content.get("app_id", ""), str) or not isinstance(mappings, dict):
        raise InvalidArgument(f"{path}: app_id is a text, and mappings an object: names, and the rules of each")
    for name, rules in mappings.items():
        place = f"{path}: mappings.{name}"
        if not isinstance(name, str):
            raise InvalidArgument(f"{place}: a name must be a text; put it in quotes")
        check_fields(place, rules, _RULE_FIELDS)
        messages = rules.get("messages")
        for position, message in enumerate(messages if isinstance(messages, list) else ()):
            check_fields(f"{place}.messages[{position}]", message, _MESSAGE_FIELDS)
        yield FileMapping(place=place, app_id=content.get("app_id"), mapping_name=name, rules=rules)


def load(path: Path) -> Any:
    """Return what a YAML file says.

    Raises:
        InvalidArgument: it cannot be read: the message names file and place.
    """
    try:
        return yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506 (it is a SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InvalidArgument(f"{path} cannot be read: {place}{error.problem or error.context}") from error
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:  # ValueError: a date such as 2026-99-99
        raise InvalidArgument(f"{path} cannot be read: {error}") from error


def check_fields(place: str, value: object, allowed: Collection[str]) -> None:
    """Refuse a value that is not an object, or has unknown fields.

    Raises:
        InvalidArgument: the message names the place.
    """
    if not isinstance(value, dict):
        raise InvalidArgument(f"{place} must be an object")
    for name in value:
        if name not in allowed:
            raise InvalidArgument(f"{place}: {name!r} is not one of {', '.join(sorted(allowed))}{meant(name, allowed)}")


class _Loader(yaml.SafeLoader):
    """Refuse a key that occurs twice, because only the last one would count."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Construct a mapping of YAML.

        Raises:
            ConstructorError: a key is there twice; YAML itself would take the last one.
        """
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is there twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)
