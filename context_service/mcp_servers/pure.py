"""Definitions of MCP tools, and the arguments of their calls. Pure.

An approval is the hash of a tool's definition and of the address of its server. If either changes afterwards, the tool
is no longer approved.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from context_service.mcp_servers.model import TITLE_CHARS, Definition, shown
from contextkeep.errors import InvalidArgument

QUESTION, LIMIT = "{question}", "{limit}"
DEFINITION_BYTES_MAX = 64 * 1024
_TOOL_NAME = re.compile(r"[\x21-\x7e]{1,128}")
_QUESTION_NAMES = ("query", "question", "q", "text")
_LIMIT_NAMES = ("limit", "max_results", "count", "top_k")
_HASH_CHARS = 12


def definition(
    name: str,
    *,
    title: str,
    description: str,
    input_schema: Mapping[str, Any],
    output_schema: Mapping[str, Any] | None,
    annotations: Mapping[str, Any],
    meta: Mapping[str, Any],
) -> Definition | None:
    """Return the definition of a tool, or None if it cannot be stored.

    Args:
        name: The tool's name on its server.
        title: The tool's title for people.
        description: What the tool does, for models.
        input_schema: The JSON schema of the tool's arguments.
        output_schema: The JSON schema of the tool's answer; None if it declares none.
        annotations: The hints about the tool, by their names in the protocol.
        meta: The tool's `_meta`. Only its search-safe mark is kept, so that other entries may change.
    """
    if not _TOOL_NAME.fullmatch(name):
        return None
    text = json.dumps(
        {
            "name": name,
            "title": title,
            "description": description,
            "input_schema": input_schema,
            "output_schema": output_schema,
            "annotations": annotations,
            "search_safe": _is_search_safe(meta),
        },
        sort_keys=True,
        separators=(",", ":"),
    )
    return Definition(name=name, text=text) if len(text) <= DEFINITION_BYTES_MAX else None


def _is_search_safe(meta: Mapping[str, Any]) -> bool:
    """Say whether a tool's `_meta` declares that searching with the tool does no harm."""
    engine = meta.get("contextEngine")
    return meta.get("contextkeep/searchSafe") is True or (
        isinstance(engine, Mapping) and engine.get("searchSafe") is True
    )


def provider_id_of(server_id: str, tool_name: str) -> str:
    """Return the provider id of a tool in context query. It is unique for any names."""
    return f"mcp-{server_id}-{hashlib.sha256(tool_name.encode()).hexdigest()[:_HASH_CHARS]}"


def arguments_for(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for a call of a tool, derived from its schema: it must say where the question goes.

    Args:
        arguments: The tool's definition as JSON values.

    Raises:
        InvalidArgument: the schema does not say where the question goes.
    """
    properties = arguments["input_schema"].get("properties")
    properties = properties if isinstance(properties, Mapping) else {}

    def of_type(names: tuple[str, ...], kinds: tuple[str, ...]) -> str:
        """Return the first of these names that the schema has with one of these types; empty if there is none."""
        for name in names:
            schema = properties.get(name)
            if isinstance(schema, Mapping) and schema.get("type") in kinds:
                return name
        return ""

    made: dict[str, Any] = {}
    if question := of_type(_QUESTION_NAMES, ("string",)):
        made[question] = QUESTION
    if limit := of_type(_LIMIT_NAMES, ("integer", "number")):
        made[limit] = LIMIT
    if not question or lacking(arguments, made):
        raise InvalidArgument(
            "the tool's schema does not show which argument takes the question; give arguments_json",
            field="arguments_json",
        )
    return made


def check_arguments(said: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Check that arguments contain a place for the question, and all arguments that the tool requires.

    Raises:
        InvalidArgument: the place for the question is missing, or a required argument is.
    """
    if not _has(arguments, QUESTION):
        raise InvalidArgument(
            f'arguments_json must have the value "{QUESTION}", which the question replaces', field="arguments_json"
        )
    if missing := lacking(said, arguments):
        raise InvalidArgument(
            f"arguments_json must also have {', '.join(missing)}, which the tool requires", field="arguments_json"
        )


def lacking(said: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """Return the names of the required arguments that are missing."""
    required = said["input_schema"].get("required")
    names = required if isinstance(required, list) else []
    return [shown(name, chars_max=TITLE_CHARS) for name in names if isinstance(name, str) and name not in arguments][
        :10
    ]


def filled(arguments: object, *, question: str, limit: int) -> Any:
    """Return arguments with the question filled in. Only a value that is exactly the placeholder is replaced."""
    if isinstance(arguments, Mapping):
        return {name: filled(value, question=question, limit=limit) for name, value in arguments.items()}
    if isinstance(arguments, list):
        return [filled(value, question=question, limit=limit) for value in arguments]
    return question if arguments == QUESTION else limit if arguments == LIMIT else arguments


def _has(value: object, mark: str) -> bool:
    """Say whether a placeholder is one of the values in the arguments, at any depth."""
    if isinstance(value, Mapping):
        return any(_has(item, mark) for item in value.values())
    return any(_has(item, mark) for item in value) if isinstance(value, list) else value == mark
