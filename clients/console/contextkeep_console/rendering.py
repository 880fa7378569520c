"""Templates, and the formats of values in them: times, sizes, JSON, text from users."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from contextkeep import File
from contextkeep_console.files.kinds import kind_of
from contextkeep_console.marks import marked
from contextkeep_console.prose import prose
from contextkeep_console.tables import plain
from contextkeep_console.trees import tree

TEXT_CHARS_MAX = 20_000  # of one text on a page
_CELL_CHARS_MAX = 160
THUMBNAIL_WIDTH, THUMBNAIL_HEIGHT = 240, 180  # pixels on a page


def environment() -> Environment:
    """Return the templates. All that they print is escaped."""
    result = Environment(
        loader=PackageLoader("contextkeep_console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    result.filters.update(
        cell=cell,
        file_kind=file_kind,
        marked=marked,
        number=number,
        pretty=pretty,
        prose=prose,
        query=query,
        short_id=short_id,
        short_ref=short_ref,
        size=size,
        text=text,
        thumbnail_size=thumbnail_size,
        tree=tree,
        when=when,
    )
    result.filters["path"] = path
    return result


def when(value: datetime | None) -> Markup:
    """Return a time, to the second, in UTC; the browser's script says when that is here."""
    if value is None:
        return Markup("-")
    result = value.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        result.isoformat().replace("+00:00", "Z"), result.strftime("%Y-%m-%d %H:%M:%S")
    )


def size(value: int | None) -> str:
    """Return a size with its unit."""
    if value is None:
        return "-"
    amount = float(value)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 999.5:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 99.5 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def number(value: float | None, digits: int = 0) -> str:
    """Return a number in groups of three."""
    if value is None:
        return "-"
    return f"{value:,.{digits}f}"


def pretty(value: Any) -> str:
    """Return JSON for people: a text that holds some, or a value."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return text(value)
    try:
        return text(json.dumps(plain(value), ensure_ascii=False, indent=2))
    except (ValueError, RecursionError):
        return text(str(value))


def text(value: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    """Return a text as a page can show it: not too long, and what breaks UTF-8 spelled out."""
    cut = value if len(value) <= chars_max else f"{value[:chars_max]}… ({len(value):,} characters)"
    return cut.encode("utf-8", "backslashreplace").decode()


def cell(value: Any) -> str:
    """Return a value for a cell of a table, shortened."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    result = value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
    return text(result if len(result) <= _CELL_CHARS_MAX else f"{result[:_CELL_CHARS_MAX]}…")


def short_id(value: str) -> str:
    """Return the end of an id, which tells those of one minute apart; the beginning is a time."""
    return f"…{value[-8:]}" if len(value) == 36 else value


def short_ref(value: str) -> str:
    """Return a ref as it fits into a table: whose it is, and its end."""
    kind, _, rest = value.partition(":")
    return f"{kind}:…{rest[-12:]}" if len(rest) > 16 else text(value)


def file_kind(value: File) -> str:
    """Return how a page shows a file of a message: "picture", "pdf", "audio" or "other"."""
    return kind_of(value).value


def thumbnail_size(value: File) -> Markup:
    """Return the attributes with the size of a picture's thumbnail, so that nothing moves when it arrives."""
    if not (value.width and value.height):
        return Markup("")
    scale = min(1.0, THUMBNAIL_WIDTH / value.width, THUMBNAIL_HEIGHT / value.height)
    width, height = (max(1, round(pixels * scale)) for pixels in (value.width, value.height))
    return Markup(' width="{}" height="{}"').format(width, height)


def path(value: str) -> str:
    """Return a text as one step of an address."""
    return quote(value, safe="", errors="replace")


def query(values: dict[str, Any]) -> Markup:
    """Return the values that are not empty as the query of an address."""
    result = {name: value for name, value in values.items() if value not in (None, "")}
    return escape(f"?{urlencode(result, errors='replace')}") if result else Markup("")
