"""Removes secrets from parts, before anything is written, logged, embedded or hashed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from context_service.kernel.parts import Part
from contextkeep.errors import LimitExceeded
from service_runtime.inputs.documents import check_containers

REDACTED_JSON = '{"redacted": true}'
_TYPES = frozenset({"token", "credentials"})


def without_secret(part: Part) -> Part | None:
    """Return the redacted form of a part that has a secret; None if the part has none.

    A secret is an object whose `type` is "token" or "credentials" (any case), as agents pass credentials to tools, at
    any depth of a data part: the object is replaced and the rest stays. A part whose metadata has `secret`
    is replaced as a whole. Tool calls and results keep their ids, so that they still pair. Text that is not JSON has no
    secret here: a later check refuses it.
    """
    if _says_secret(part.metadata_json):
        if part.tool_call:
            return Part(tool_call=replace(part.tool_call, arguments_json=REDACTED_JSON))
        if part.tool_result:
            return Part(tool_result=replace(part.tool_result, content_json=REDACTED_JSON))
        return Part(data_json=REDACTED_JSON)
    if part.data_json is not None and (redacted := _without_credentials(part.data_json)) is not None:
        return Part(data_json=redacted, media_type=part.media_type)
    return None


def _says_secret(metadata_json: str) -> bool:
    """Return whether the metadata of a part has `secret`, with a value other than null and false."""
    # Search the text first: nearly all parts have no secret, and parsing is expensive.
    if "secret" not in metadata_json and "\\u" not in metadata_json:
        return False
    metadata = _parse(metadata_json)
    return isinstance(metadata, dict) and metadata.get("secret") not in (None, False)


def _without_credentials(data_json: str) -> str | None:
    """Return a document with each credential replaced; None if it has none.

    The walk visits each container once, and `check_containers` bounds their number.
    """
    if '"type"' not in data_json and "\\u" not in data_json:
        return None
    whole = [_parse(data_json)]
    rest: list[Any] = [whole]
    is_found = False
    while rest:
        container = rest.pop()
        places = container.items() if isinstance(container, dict) else enumerate(container)
        for place, value in list(places):
            if _is_credential(value):
                container[place] = {"redacted": True}
                is_found = True
            elif isinstance(value, dict | list):
                rest.append(value)
    if not is_found:
        return None
    (redacted,) = whole
    if redacted == {"redacted": True}:
        return REDACTED_JSON
    try:
        return orjson.dumps(redacted).decode()
    except orjson.JSONEncodeError:  # orjson reads deeper documents than it can write
        return REDACTED_JSON


def _is_credential(value: object) -> bool:
    """Return whether a value is an object whose `type` is one of credentials."""
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind.strip().lower() in _TYPES


def _parse(text: str) -> object:
    """Parse JSON; return None if the text is not JSON, or has too many containers."""
    try:
        check_containers("", text)  # a document with more is refused later, and takes long to parse
        return orjson.loads(text)
    except (LimitExceeded, orjson.JSONDecodeError):
        return None
