"""Statements in `.sql` files: named, whole, and next to the store that runs them.

`log.py` reads `log.sql` once, when it is imported:

    SQL = SqlFile.of(__file__, passages=passages.SQL, forks_max=FORKS_MAX)
    _READ = SQL["read"]

A file consists of paragraphs. The first line of each is its name. Comments with the reason may follow, then the text:

    -- alive
    -- Expired contexts are hidden until the sweeper deletes them.
    (deleted_at IS NULL AND (expires_at IS NULL OR expires_at > now()))

    -- read
    SELECT {{header}} FROM context.context WHERE tenant_id = %s AND context_id = %s AND {{alive}};

    -- page(order)
    SELECT seq FROM context.message WHERE context_id = %s ORDER BY {{order}}

    -- page_newest_first
    {{page(seq DESC)}};

- A text that ends with `;` is a whole statement. It is sent to Postgres without the `;`. Any other text is a part.
- `{{name}}` includes the text of that name, or a value of that name that was passed to `SqlFile.of`.
- `{{file.name}}` includes a text of another file, which was passed under the name `file`.
- A name may have slots: `page(order)`. `{{page(seq DESC)}}` includes its text and fills the slots in order. Commas
  within parentheses do not separate arguments. An argument may have includes of its own.
- A paragraph that has only comments is about the file.

Each mistake is an error at import: an unknown name, a name that is used twice, a cycle, a wrong number of arguments, a
slot or a value that no text includes. Tests hold that no text is unused, and that Postgres can prepare each statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_HEADING = re.compile(r"-- (?P<name>[a-z]\w*)(?:\((?P<slots>\w+(?:, \w+)*)\))?")
_INCLUDE = re.compile(r"(?P<name>[a-z]\w*(?:\.[a-z]\w*)?)(?:\((?P<arguments>.*)\))?", re.DOTALL)


class SqlFileInvalid(Exception):
    """A `.sql` file breaks the rules of this module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    slots: tuple[str, ...]
    sql: str
    is_whole: bool


class SqlFile:
    """The texts of a `.sql` file, with their includes resolved.

    Args:
        name: Name of the file, which errors show.
        source: Text of the `.sql` file.
        values: Further texts to include: other files, and constants of the module.

    Raises:
        SqlFileInvalid: see the docstring of the module.
    """

    def __init__(self, name: str, source: str, values: Mapping[str, SqlFile | str | int]) -> None:
        self.name = name
        self._values = values
        self._texts = dict(self._paragraphs(source))
        self._used: set[str] = set()
        self._filled: dict[str, str] = {}
        if both := self._texts.keys() & values.keys():
            raise SqlFileInvalid(f"{name}: {min(both)} is a text and a value")
        self._resolved = {
            text_name: self._resolve(text.sql, {slot: slot for slot in text.slots}, (text_name,))
            for text_name, text in self._texts.items()
        }
        if unused := values.keys() - self._used:
            raise SqlFileInvalid(f"{name}: no text includes the value {min(unused)}")

    @classmethod
    def of(cls, module_file: str, **values: SqlFile | str | int) -> SqlFile:
        """Read the `.sql` file that has the name of a module and lies next to it."""
        path = Path(module_file).with_suffix(".sql")
        return cls("/".join(path.parts[-3:]), path.read_text(encoding="utf-8"), values)

    def __getitem__(self, name: str) -> str:
        """Return a text that has no slots."""
        text = self._text(name)
        if text.slots:
            raise SqlFileInvalid(f"{self.name}: {name} has slots to fill: {', '.join(text.slots)}")
        self._used.add(name)
        return self._resolved[name]

    def filled(self, name: str, **arguments: str | int) -> str:
        """Return a text with its slots filled. Arguments are constants of modules, never values that a caller sent."""
        text = self._text(name)
        if arguments.keys() != set(text.slots):
            raise SqlFileInvalid(f"{self.name}: {name} needs values for {', '.join(text.slots) or 'no slot'}")
        sql = self._include(name, [str(arguments[slot]) for slot in text.slots], ())
        if text.is_whole:
            self._filled[f"{name}({', '.join(f'{slot}={arguments[slot]}' for slot in text.slots)})"] = sql
        return sql

    def whole(self) -> dict[str, str]:
        """Return each whole statement by its name, those with slots as often as they were filled."""
        plain = {name: self._resolved[name] for name, text in self._texts.items() if text.is_whole and not text.slots}
        return plain | self._filled

    def unused(self) -> list[str]:
        """Return the names of texts that no module looked up and no text includes."""
        return sorted(self._texts.keys() - self._used)

    def _paragraphs(self, source: str) -> Iterator[tuple[str, _Text]]:
        """Yield the name and the text of each paragraph that has a name.

        Raises:
            SqlFileInvalid: a paragraph has no name, no text, or a name that is used before, or does not include a slot.
        """
        names: set[str] = set()
        for paragraph in re.split(r"\n{2,}", source.strip("\n")):
            lines = paragraph.split("\n")
            heading = _HEADING.fullmatch(lines[0])
            body = 1 if heading else 0
            while body < len(lines) and lines[body].startswith("--"):
                body += 1
            if heading is None:
                if body < len(lines):
                    raise SqlFileInvalid(f"{self.name}: a paragraph begins without a name: {lines[0]!r}")
                continue
            name = heading["name"]
            if body == len(lines):
                raise SqlFileInvalid(f"{self.name}: {name} has no text")
            if name in names:
                raise SqlFileInvalid(f"{self.name}: {name} is there twice")
            names.add(name)
            sql = "\n".join(lines[body:])
            slots = tuple(heading["slots"].split(", ")) if heading["slots"] else ()
            if missing := [slot for slot in slots if f"{{{{{slot}}}}}" not in sql]:
                raise SqlFileInvalid(f"{self.name}: {name} does not include its slot {missing[0]}")
            yield name, _Text(slots=slots, sql=sql.removesuffix(";"), is_whole=sql.endswith(";"))

    def _text(self, name: str) -> _Text:
        """Return a statement of the file.

        Raises:
            SqlFileInvalid: the file has none with this name.
        """
        try:
            return self._texts[name]
        except KeyError:
            raise SqlFileInvalid(f"{self.name}: there is no {name}") from None

    def _resolve(self, sql: str, slots: Mapping[str, str], path: tuple[str, ...]) -> str:
        """Return a text with its included parts; `path` is the names that led to it."""
        parts: list[str] = []
        place = 0
        while (start := sql.find("{{", place)) >= 0:
            end = self._end(sql, start)
            include = _INCLUDE.fullmatch(sql[start + 2 : end - 2])
            if include is None:
                raise SqlFileInvalid(f"{self.name}: {path[-1]} has an include without a name: {sql[start:end]!r}")
            name, written = include["name"], include["arguments"]
            arguments = [] if written is None else [self._resolve(a, slots, path) for a in _arguments_of(written)]
            parts += (sql[place:start], slots[name] if name in slots else self._include(name, arguments, path))
            place = end
        return "".join([*parts, sql[place:]])

    def _include(self, name: str, arguments: list[str], path: tuple[str, ...]) -> str:
        """Return the text that an include stands for; `path` is the names that led to it.

        Raises:
            SqlFileInvalid: the name is unknown, includes itself, or gets a wrong number of arguments.
        """
        first, _, rest = name.partition(".")
        value = self._values.get(first)
        if isinstance(value, SqlFile) and rest:
            self._used.add(first)
            return value._include(rest, arguments, ())
        if value is not None and not isinstance(value, SqlFile) and not rest and not arguments:
            self._used.add(first)
            return str(value)
        if name not in self._texts:
            raise SqlFileInvalid(
                f"{self.name}: {path[-1] if path else 'another file'} includes {name}, which is unknown"
            )
        if name in path:
            raise SqlFileInvalid(f"{self.name}: {' includes '.join([*path, name])}")
        text = self._texts[name]
        if len(arguments) != len(text.slots):
            raise SqlFileInvalid(
                f"{self.name}: {name} has {len(text.slots)} slots, and is included with {len(arguments)}"
            )
        self._used.add(name)
        return self._resolve(text.sql, dict(zip(text.slots, arguments, strict=True)), (*path, name))

    def _end(self, sql: str, start: int) -> int:
        """Return where an include ends that begins at `start`."""
        depth = 0
        for bracket in re.finditer(r"\{\{|\}\}", sql[start:]):
            depth += 1 if bracket[0] == "{{" else -1
            if depth == 0:
                return start + bracket.end()
        raise SqlFileInvalid(f"{self.name}: an include does not end: {sql[start : start + 40]!r}")


def _arguments_of(written: str) -> list[str]:
    """Split the arguments of an include at the commas outside of parentheses and of other includes."""
    arguments, depth = [""], 0
    for character in written:
        if character == "," and depth == 0:
            arguments.append("")
            continue
        depth += (character in "({") - (character in ")}")
        arguments[-1] += character
    return [argument.strip() for argument in arguments]
