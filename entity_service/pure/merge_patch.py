"""JSON merge patch (RFC 7396) on documents as text."""

from __future__ import annotations

import json
from typing import Any

import orjson


def merge_patch(document: str, patch: str) -> str:
    """Return `document` changed by `patch`; both are valid JSON.

    Numbers are kept as text, so that all keep every digit; a parser that converts them to doubles would lose digits.
    """
    return orjson.dumps(_merge(_parsed(document), _parsed(patch))).decode()


def _parsed(text: str) -> Any:
    # orjson has no hook for numbers; it writes a Fragment as the Fragment's text.
    return json.loads(text, parse_int=orjson.Fragment, parse_float=orjson.Fragment)


def _merge(target: Any, patch: Any) -> Any:
    """Return a value changed by a patch; a member that is null in the patch is removed."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), value)
    return merged
