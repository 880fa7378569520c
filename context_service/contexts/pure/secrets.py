"""Secrets that callers hand on in parts: they are taken out before anything is written, logged, embedded or hashed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from context_service.kernel.parts import Part
from contextkeep.errors import LimitExceeded
from service_runtime.documents import check_containers

REDACTED_JSON = '{"redacted": true}'
_TYPES = frozenset({"token", "credentials"})


def without_secret(part: Part) -> Part | None:
    """Return what is kept of a part that is a secret; None of one that is none.

    A secret is an object whose `type` is "token" or "credentials" (any case), as agents hand credentials to tools, at
    any depth of a data part: the object is replaced and the rest stays. So is any part whose metadata say `secret`. Of
    calls and their results the ids stay, so that they still pair. What is no JSON is no secret: it is refused where it
    is checked.
    """
    if _says_secret(part.metadata_json):
        if part.tool_call:
            return Part(tool_call=replace(part.tool_call, arguments_json=REDACTED_JSON))
        if part.tool_result:
            return Part(tool_result=replace(part.tool_result, content_json=REDACTED_JSON))
        return Part(data_json=REDACTED_JSON)
    if part.data_json is not None and (kept := _without_credentials(part.data_json)) is not None:
        return Part(data_json=kept, media_type=part.media_type)
    return None


def _says_secret(metadata_json: str) -> bool:
    # A look at the text first: nearly all have none, and parsing costs.
    if "secret" not in metadata_json and "\\u" not in metadata_json:
        return False
    metadata = _parsed(metadata_json)
    return isinstance(metadata, dict) and metadata.get("secret") not in (None, False)


def _without_credentials(data_json: str) -> str | None:
    """Return a document with each object that is a credential replaced; None: it has none.

    The walk meets each container once, and `check_containers` bounds how many there are.
    """
    if '"type"' not in data_json and "\\u" not in data_json:
        return None
    whole = [_parsed(data_json)]
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
    (kept,) = whole
    if kept == {"redacted": True}:
        return REDACTED_JSON
    try:
        return orjson.dumps(kept).decode()
    except orjson.JSONEncodeError:  # it reads deeper documents than it writes
        return REDACTED_JSON


def _is_credential(value: object) -> bool:
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind.strip().lower() in _TYPES


def _parsed(text: str) -> object:
    try:
        check_containers("", text)  # what holds more of them is refused later, and takes long to parse
        return orjson.loads(text)
    except (LimitExceeded, orjson.JSONDecodeError):
        return None
