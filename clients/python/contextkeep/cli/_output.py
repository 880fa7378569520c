"""How answers are printed: tables for people, JSON and bare values for programs."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

_PIPE_COLUMNS = 100_000  # a table that no terminal shows is never cut
_CELL_CHARS_MAX = 200
_ID_CHARS = 36


class Format(StrEnum):
    """What an answer is printed as."""

    TABLE = "table"
    JSON = "json"
    RAW = "raw"


class Output:
    """Prints answers to stdout and all else to stderr."""

    def __init__(self, output_format: Format) -> None:
        self.format = output_format

    def one(self, value: Any, *columns: str) -> None:
        """Print one value: its fields, or those of `columns`."""
        plain = to_plain(value)
        if self.format is Format.JSON:
            click.echo(_json(plain))
            return
        names = columns or tuple(name for name, field in plain.items() if field not in (None, "", [], {}))
        if self.format is Format.RAW:
            click.echo("\t".join(_bare(plain.get(name)) for name in names))
            return
        table = Table(box=None, show_header=False, pad_edge=False)
        for name in names:
            table.add_row(Text(name, "bold"), Text(_cell(plain.get(name))))
        _print(table)

    def line(self, value: Any, *columns: str) -> None:
        """Print one value of many that come now and then, at once: its `columns`; as JSON all of it, on a line."""
        plain = to_plain(value)
        is_json = self.format is Format.JSON
        click.echo(_json(plain, indent=None) if is_json else "\t".join(_bare(plain.get(name)) for name in columns))

    def many(self, values: Iterable[Any], *columns: str, limit: int = 0) -> None:
        """Print a list: a row of `columns` each; JSON has all fields.

        Args:
            values: What `to_plain` takes; read as far as is printed.
            columns: Names of fields.
            limit: Maximum number of rows; 0: all. If there are more, a line on stderr says so.
        """
        rows = map(to_plain, values)
        shown = itertools.islice(rows, limit) if limit else rows
        printer = {Format.JSON: _print_array, Format.RAW: _print_bare, Format.TABLE: _print_table}[self.format]
        count = printer(shown, columns)
        if limit and count == limit and next(rows, None) is not None:
            click.echo(f"there are more than {limit} rows; give a higher --limit", err=True)


def to_plain(value: Any) -> Any:
    """Return a value as JSON has it: fields by name, stored JSON parsed, times in ISO 8601, bytes in base64."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields({each.name: getattr(value, each.name) for each in dataclasses.fields(value)})
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _fields(value._asdict())
    if isinstance(value, dict):
        return {str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def _fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the public fields of a value for JSON. A field such as `data_json` becomes the JSON that it holds."""
    plain: dict[str, Any] = {}
    for name, value in fields.items():
        if name.startswith("_"):
            continue
        if name.endswith("_json") and name.removesuffix("_json") not in fields:  # of a reasoning: data, and data_json
            plain[name.removesuffix("_json")] = json.loads(value) if value else None
        else:
            plain[name] = to_plain(value)
    return plain


def printable(text: str) -> str:
    """Return text that cannot steer a terminal: control characters are spelled out."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show a bar on a terminal for the block, and nothing elsewhere; yields what a client takes as `on_progress`."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(title).replace("[", "\\["), total=None)

        def on_progress(done_bytes: int, total_bytes: int | None) -> None:
            bar.update(task, completed=done_bytes, total=total_bytes)

        yield on_progress


def _json(value: Any, **how: Any) -> str:
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not is_unicode, **({"indent": 2} | how))


def _print_array(rows: Iterator[Any], _columns: Sequence[str]) -> int:
    """Print rows as one JSON array while they arrive, and return their number."""
    count = 0
    for row in rows:
        click.echo(("[\n" if count == 0 else ",\n") + _json(row, indent=None), nl=False)
        count += 1
    click.echo("\n]" if count else "[]")
    return count


def _print_bare(rows: Iterator[Any], columns: Sequence[str]) -> int:
    """Print rows with tabs between their values, and return their number."""
    count = 0
    for row in rows:
        click.echo("\t".join(_bare(row.get(name)) for name in columns))
        count += 1
    return count


def _print_table(rows: Iterator[Any], columns: Sequence[str]) -> int:
    """Print rows as a table, and return their number. Rows that came before an error are printed, too."""
    shown: list[list[Any]] = []
    try:
        for row in rows:
            shown.append([row.get(name) for name in columns])
    finally:  # what came before an error is shown, as in the other formats
        if shown:
            _print(_table(columns, shown))
    if not shown:
        click.echo("nothing found", err=True)
    return len(shown)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return the table of rows; numbers are aligned to the right."""
    # An id that is broken over two lines cannot be copied, so other columns shrink while there is room.
    ids = [name for name in columns if name.endswith("id")]
    whole = ids if len(ids) * _ID_CHARS <= Console().width // 2 else []
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, values in zip(columns, zip(*rows, strict=True), strict=True):
        justify: Literal["left", "right"] = "right" if _are_numbers(values) else "left"
        table.add_column(name, overflow="fold", justify=justify, no_wrap=name in whole)
    for row in rows:
        table.add_row(*(Text(_to_second(name, _cell(value))) for name, value in zip(columns, row, strict=True)))
    return table


def _to_second(name: str, cell: str) -> str:
    return f"{cell[:19].replace('T', ' ')}Z" if name.endswith("_at") and cell else cell


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values if value is not None)


def _print(table: Table) -> None:
    """Print a table: in the width of the terminal, or in a fixed width if the output is a pipe."""
    if sys.stdout.isatty():
        Console().print(table)
        return
    console = Console(width=_PIPE_COLUMNS)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def _bare(value: Any) -> str:
    text = _text_of(value)
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _cell(value: Any) -> str:
    text = printable(_text_of(value))
    return text if len(text) <= _CELL_CHARS_MAX else f"{text[:_CELL_CHARS_MAX]}..."


def _text_of(value: Any) -> str:
    """Return a value as the text of a table cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return " ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
