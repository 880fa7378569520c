"""Tables: rows of values, shown on a page and exported whole as CSV or JSON."""

from __future__ import annotations

import base64
import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from starlette.responses import Response

ROWS = 50  # of a page, at first
ROWS_MAX = 10_000  # of a page, and of an export
_STEPS = (ROWS, 500, ROWS_MAX)

Kind = Literal["text", "prose", "id", "ref", "number", "size", "time", "share", "state"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column."""

    name: str
    value: Callable[[Any], Any]  # of a row
    kind: Kind = "text"
    link: Callable[[Any], str] | None = None  # where the cell leads; an empty one leads nowhere
    # Of the row: the id of a record with a picture, which is drawn small before the value; empty if there is none.
    picture: Callable[[Any], str] | None = None
    is_minor: bool = False  # left out where there is little room


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows, and their captions."""

    name: str  # in addresses and of exported files
    title: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    empty: str = "There is nothing here."  # and what to do
    lacks: str = ""  # rows that are missing, and why
    limit: int = 0  # rows that were asked for; 0: these are all
    has_more: bool = False  # there are more rows than the limit

    @property
    def next_limit(self) -> int:
        """How many rows to show next; 0: there are no more, or no more are shown."""
        return next((step for step in _STEPS if step > self.limit), 0) if self.has_more else 0

    def exported(self, kind: str) -> Response:
        """Return all rows as a file, "csv" or "json"."""
        if kind == "json":
            text = json.dumps([plain(row) for row in self.rows], ensure_ascii=False, indent=1)
            return _file(text, f"{self.name}.json", "application/json")
        lines = io.StringIO()
        writer = csv.writer(lines)
        writer.writerow([column.name for column in self.columns])
        for row in self.rows:
            writer.writerow([_cell(column.value(row)) for column in self.columns])
        return _file(lines.getvalue(), f"{self.name}.csv", "text/csv; charset=utf-8")


def plain(value: Any) -> Any:
    """Return a value as JSON has it: stored JSON parsed, times in ISO 8601, bytes in base64."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields({each.name: getattr(value, each.name) for each in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def _fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as JSON: private ones are left out, and texts of JSON (`x_json`) are parsed under the name `x`."""
    values: dict[str, Any] = {}
    for name, value in fields.items():
        if name.startswith("_"):
            continue
        if name.endswith("_json") and name.removesuffix("_json") not in fields:
            values[name.removesuffix("_json")] = json.loads(value) if value else None
        else:
            values[name] = plain(value)
    return values


def _cell(value: Any) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    value = plain(value)
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _file(text: str, name: str, content_type: str) -> Response:
    # Text that is not UTF-8, such as half of a surrogate pair from JSON, is escaped.
    body = text.encode("utf-8", "backslashreplace")
    return Response(body, media_type=content_type, headers={"content-disposition": f'attachment; filename="{name}"'})


def facts(rows: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return what there is to say of something: names and values that are not empty."""
    return [(name, value) for name, value in rows if value not in (None, "", (), [], {})]
