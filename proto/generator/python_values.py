"""Write clients/python/contextkeep/_gen/values_*.py: the messages of answers as immutable values.

Values are the messages that the answers of generated methods have, except those of `python_table.BY_HAND`. The rules of
translation, to which `clients_table.py` and `python_table.py` name the exceptions:

- A scalar has the proto's default; an `optional` one that is absent is None.
- A repeated field is a tuple, a map a dict.
- A `google.protobuf.Timestamp` is an aware datetime in UTC. It, and each other message, is None if it is absent, unless
  `ALWAYS` says that the server always sets it.
- An enum is its name without the prefix, in lower case, as a `Literal`; one that is unspecified, or unknown to this
  client, is "", or as the table says.
- A list of messages with two fields, one of them `count`, is a dict.
- A field `x_json` stays the text that came, and a property `x` parses it.
- `values/bases.py` has what a value does besides: `Window` extends `WindowBase` if there is one.

The code is written out instead of looked up at run time, because answers are converted on the hot path.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import clients_table
from clients_table import GIVEN, always, is_by_hand, pair
from model import Enum, Field, Message, Model
from protos import ROOT
from python_table import BY_HAND, CALLS_BY_HAND, INPUTS, JSON_TYPES, NAMES, UNKNOWN, VALUES, Entry

GENERATED = Path("clients/python/contextkeep/_gen")
NAMES_MODULE = Path("clients/python/contextkeep/_value_names.py")  # in no package, so that it imports no value
_VALUES = ROOT / "clients/python/contextkeep/values/__init__.py"
_BASES = ROOT / "clients/python/contextkeep/values/bases.py"
TIME = "google.protobuf.Timestamp"
WIDTH = 120
# A value that is unpickled imports its module first.
_PACKAGE = '''"""Values of all protos, made by `make proto`: `contextkeep.values` has them."""

import contextkeep.values  # first, so that modules of both packages are imported in one order
'''
_SCALARS = {
    "bool": ("bool", "False"),
    "bytes": ("bytes", 'b""'),
    "double": ("float", "0.0"),
    "float": ("float", "0.0"),
    "string": ("str", '""'),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attribute:
    """An attribute of a value."""

    name: str
    type: str
    default: str  # an expression; empty: it must be given
    source: str  # the expression that reads it from the message `message`
    comment: str
    is_json: bool


def values_of(model: Model) -> Mapping[str, Entry]:
    """Return the values by the names of their messages."""
    methods = [rpc for rpc in model.rpcs if not is_by_hand(rpc) and rpc.name not in CALLS_BY_HAND]
    values = clients_table.values_of(model, methods, VALUES, Entry(), NAMES, BY_HAND)
    return {(result := model.messages[name]).name: _spread(model, result, value) for name, value in values.items()}


def _spread(model: Model, message: Message, value: Entry) -> Entry:
    """Return a value with the places of attributes that come from a message, or from a list that is a dict."""
    fields = dict(value.fields)
    for field in message.fields:
        inner = model.messages.get(field.type_name)
        if inner and field.name == value.flat:
            fields |= {item.name: f"{field.name}.{item.name}" for item in inner.fields}
        elif inner and (keys := pair(inner)):
            fields[field.name] = f"{field.name}{{{': '.join(keys)}}}"
    return replace(value, fields=fields)


def is_input(name: str) -> bool:
    """Return whether requests have a value, too, so that it has `to_proto`."""
    return name in GIVEN.split() and name not in INPUTS


def files(model: Model) -> Iterator[tuple[Path, str]]:
    """Yield the path and the content of every module of values."""
    values = values_of(model)
    by_file: dict[str, list[Message]] = {}
    for message in model.messages.values():
        if message.name in values:
            by_file.setdefault(message.file, []).append(message)
    writer = _Writer(model, values)
    for _ in range(2):  # the first time finds out which enums the values of other files have
        modules = {file: writer.module(file, in_file) for file, in_file in sorted(by_file.items())}
    for file, module in modules.items():
        yield GENERATED / f"{_module(file)}.py", module
    yield GENERATED / "__init__.py", _PACKAGE
    yield GENERATED / "values.py", writer.all_values(by_file)
    yield NAMES_MODULE, _names_module(writer.names(by_file))


class _Writer:
    """Writes modules; a module's imports are collected while its values are written."""

    def __init__(self, model: Model, values: Mapping[str, Entry]) -> None:
        self._model = model
        self._values = values
        self._bases = _names_of_bases()
        self._imports: dict[str, set[str]] = {}
        self._enums = _enums_of_requests(model)  # and those that values have, of any module
        self._file = ""

    def module(self, file: str, messages: Sequence[Message]) -> str:
        """Return the module of the values of a file of the protos."""
        self._file = file
        package, _, stem = file.removesuffix(".proto").replace("/", ".").rpartition(".")
        self._imports = {"dataclasses": {"dataclass"}, package: {f"{stem}_pb2 as pb"}}
        bodies = [self._value(message) for message in _used_first(messages)]
        enums = [
            self._enum(enum) for enum in self._model.enums.values() if enum.file == file and enum.name in self._enums
        ]
        head = [f'"""Values of {file}, made by `make proto`."""', "", "from __future__ import annotations", ""]
        return "\n".join([*head, *import_lines(self._imports), *enums, *bodies, ""])

    def names(self, by_file: Mapping[str, Sequence[Message]]) -> dict[str, list[str]]:
        """Return the names of all values, and of the enums that they or requests have, by their modules."""
        return {
            _module(file): sorted(
                [self._values[message.name].name for message in messages]
                + [enum.name for enum in self._model.enums.values() if enum.file == file and enum.name in self._enums]
            )
            for file, messages in sorted(by_file.items())
        }

    def all_values(self, by_file: Mapping[str, Sequence[Message]]) -> str:
        """Return the module that has all values and the names of enums."""
        names = self.names(by_file)
        lines = ['"""Values of all protos, made by `make proto`."""', ""]
        lines += [f"from contextkeep._gen.{module} import {name}" for module, each in names.items() for name in each]
        lines += ["", "__all__ = ["]
        lines += [f'    "{name}",' for name in sorted(name for each in names.values() for name in each)]
        return "\n".join([*lines, "]", ""])

    def _value(self, message: Message) -> str:
        entry = self._values[message.name]
        name = entry.name
        attributes = list(self._attributes(message, entry))
        defined = self._bases.get(f"{name}Base")
        base = "Value" if defined is None else f"{name}Base"
        self._import("contextkeep.values.base" if defined is None else "contextkeep.values.bases", base)
        lines = ["", "", "@dataclass(frozen=True, slots=True, kw_only=True, repr=False)", f"class {name}({base}):"]
        lines += _docstring(message.comment)
        for result in attributes:
            lines += _comment(result.comment)
            lines.append(f"    {result.name}: {result.type}" + (f" = {result.default}" if result.default else ""))
        others = {attribute.name for attribute in attributes}
        texts = [
            attribute
            for attribute in attributes
            if attribute.is_json and attribute.name.removesuffix("_json") not in others
        ]
        for element in texts:
            self._import("typing", "Any")
            self._import("contextkeep.values.base", "kept")
            lines.append(f"    _{element.name.removesuffix('_json')}: Any = kept()")
        late = [attribute for attribute in attributes if attribute.name in entry.late.split()]
        lines += [f"    _late_{attribute.name}: Any = kept()" for attribute in late]
        for item in texts:
            if item.name.removesuffix("_json") not in (defined or ()):
                lines += self._parsed(item)
        if entry.shows:
            text = re.sub(r"({| or )(\w)", r"\1self.\2", entry.shows)
            lines += ["", "    def __str__(self) -> str:", f'        return f"{text}"']
        lines += _from_proto(message, name, [each for each in attributes if each.source and each not in late], late)
        if is_input(message.name):
            lines += [
                "",
                f"    def to_proto(self) -> pb.{message.name}:",
                '        """Return the message of the value."""',
            ]
            lines += [f"        return pb.{message.name}("]
            lines += [
                *(f"            {attribute.name}=self.{attribute.name}," for attribute in attributes),
                "        )",
            ]
        return "\n".join(lines)

    def _attributes(self, message: Message, entry: Entry) -> Iterator[_Attribute]:
        """Yield the attributes of a value, in the order of the message's fields."""
        for field in message.fields:
            if field.name in entry.without.split():
                continue
            sources = [(name, path) for name, path in entry.fields.items() if _first(path) == field.name]
            for name, path in sources or [(field.name, field.name)]:
                yield self._attribute(name, path, message, field, entry)
        for name, kind in entry.more.items():
            default = "()"
            if name in entry.hidden.split():
                self._import("dataclasses", "field")
                default = "field(default=(), repr=False)"
            yield _Attribute(name=name, type=kind, default=default, source="", comment="", is_json=False)

    def _attribute(self, name: str, path: str, message: Message, field: Field, entry: Entry) -> _Attribute:
        path, _, pair = path.rstrip("}").partition("{")
        owner, comment = "message", field.comment
        for step in path.split(".")[1:]:
            owner += f".{field.name}"
            message = self._model.messages[field.type_name]
            field = next(item for item in message.fields if item.name == step)
            comment = field.comment or comment
        place = f"{owner}.{field.name}"
        if pair:
            kind, default, source = self._pairs(place, field, pair)
        elif field.map_of:
            kind, default, source = self._map(place, field)
        elif field.is_repeated:
            kind, default, source = self._repeated(place, field)
        else:
            kind, default, source = self._single(owner, field, is_always=field.name in always(message))
        is_hidden = name in entry.hidden.split()
        if default.startswith("factory:"):
            self._import("dataclasses", "field")
            default = f"field(default_factory={default.removeprefix('factory:')}, hash=False)"
        elif is_hidden:
            self._import("dataclasses", "field")
            default = f"field(default={default}, repr=False)"
        is_json = name.endswith("_json") and kind == "str"
        if is_json and JSON_TYPES.get(name, _OBJECT) == _OBJECT:
            default = '"{}"'
        return _Attribute(name=name, type=kind, default=default, source=source, comment=comment, is_json=is_json)

    def _single(self, owner: str, field: Field, *, is_always: bool) -> tuple[str, str, str]:
        place = f"{owner}.{field.name}"
        kind, default, convert = self._translation(field)
        source = convert.format(place)
        if is_always:
            return kind, "factory:dict" if kind.startswith("dict[") else "", source
        if field.is_optional:
            return f"{kind} | None", "None", f'{source} if {owner}.HasField("{field.name}") else None'
        return kind, default, source

    def _repeated(self, place: str, field: Field) -> tuple[str, str, str]:
        kind, _, convert = self._translation(field)
        return f"tuple[{kind}, ...]", "()", _tuple(convert, place)

    def _map(self, place: str, field: Field) -> tuple[str, str, str]:
        assert field.map_of
        (key, _, _), (kind, _, convert) = map(self._translation, field.map_of)
        source = f"dict({place})"
        if convert != "{}":
            source = f"{{key: {convert.format('one')} for key, one in {place}.items()}}"
        return f"dict[{key}, {kind}]", "factory:dict", source

    def _pairs(self, place: str, field: Field, pair: str) -> tuple[str, str, str]:
        """Return how a repeated message of a key and a value becomes a dict."""
        fields = {item.name: item for item in self._model.messages[field.type_name].fields}
        key, value = (fields[name] for name in pair.split(": "))
        key_kind, _, key_convert = self._translation(key)
        kind, _, convert = self._translation(value)
        source = convert.format(f"one.{value.name}")
        if value.is_repeated:
            kind, source = f"tuple[{kind}, ...]", _tuple(convert, f"one.{value.name}")
        source = f"{{{key_convert.format(f'one.{key.name}')}: {source} for one in {place}}}"
        return f"dict[{key_kind}, {kind}]", "factory:dict", source

    def _translation(self, field: Field) -> tuple[str, str, str]:
        """Return the type and default of a field that is there once, and the format of the expression that reads it."""
        if field.scalar:
            return (*_SCALARS.get(field.scalar, ("int", "0")), "{}")
        if field.is_enum:
            enum = self._model.enums[field.type_name]
            alias, unknown = enum.name, UNKNOWN.get(enum.name, "")
            table = _constant(enum)
            self._enums.add(enum.name)
            if enum.file != self._file:
                self._import(f"contextkeep._gen.{_module(enum.file)}", table, alias)
            kind = alias
            if unknown not in _texts(enum).values():
                self._import("typing", "Literal")
                kind = f'{alias} | Literal["{unknown}"]'
            return kind, f'"{unknown}"', f'{table}.get({{}}, "{unknown}")'
        if field.type_name == TIME:
            self._import("datetime", "datetime")
            self._import("contextkeep.values.base", "time_of")
            return "datetime", "", "time_of({})"
        message = self._model.messages[field.type_name]
        if by_hand := BY_HAND.get(message.name):
            for module, name in by_hand.imports.items():
                self._import(module, name)
            return by_hand.type, "", f"{by_hand.function}({{}})"
        name = self._values[message.name].name
        if message.file != self._file:
            self._import(f"contextkeep._gen.{_module(message.file)}", name)
        return name, "", f"{name}.from_proto({{}})"

    def _parsed(self, item: _Attribute) -> list[str]:
        name, kind = item.name.removesuffix("_json"), JSON_TYPES.get(item.name, _OBJECT)
        returned = f'self._kept_object("_{name}", self.{item.name})'
        if kind != _OBJECT:
            returned = f'self._kept("_{name}", self.{item.name})'
        return [
            "",
            "    @property",
            f"    def {name}(self) -> {kind}:",
            f'        """Return `{item.name}`, parsed{"" if kind == _OBJECT else "; None if it is empty"}."""',
            f"        return {returned}",
        ]

    def _enum(self, enum: Enum) -> str:
        texts = _texts(enum)
        self._import("typing", "Literal")
        lines = [*_comment(enum.comment, indent=""), f"{enum.name} = Literal["]
        lines += [*(f'    "{text}",' for text in texts.values()), "]"]
        lines += [f"{_constant(enum)}: dict[int, {enum.name}] = {{"]
        lines += [*(f'    {number}: "{text}",' for number, text in texts.items()), "}"]
        return "\n".join(lines)

    def _import(self, module: str, *names: str) -> None:
        self._imports.setdefault(module, set()).update(names)


_OBJECT = "dict[str, Any]"


def _names_module(generated: Mapping[str, Sequence[str]]) -> str:
    """Return the module of the names of `contextkeep.values`, generated or by hand."""
    names = {name for each in generated.values() for name in each}
    for item in ast.parse(_VALUES.read_text("utf-8")).body:
        if isinstance(item, ast.ImportFrom) and item.module != "contextkeep._gen.values":
            names |= {alias.name for alias in item.names if alias.asname is None}
    listed = "\n".join(f"        {name}," for name in sorted(names, key=str.lower))
    return f'''"""The names of all values, made by `make proto`; importing them imports no value."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextkeep.values import (
{listed}
    )

__all__ = [
{"".join(f'    "{name}",' + chr(10) for name in sorted(names))}]
'''


def import_lines(imports: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the lines that import names by their modules, our own modules last."""
    for is_ours in (False, True):
        for module in sorted(module for module in imports if module.startswith("contextkeep") == is_ours):
            line = f"from {module} import {', '.join(sorted(imports[module]))}"
            if len(line) <= WIDTH:
                yield line
            else:
                yield from (f"from {module} import {name}" for name in sorted(imports[module]))
        yield ""


def _names_of_bases() -> Mapping[str, set[str]]:
    """Return the classes of values/bases.py, and what each defines."""
    classes = [item for item in ast.parse(_BASES.read_text("utf-8")).body if isinstance(item, ast.ClassDef)]
    return {class_.name: {each.name for each in class_.body if isinstance(each, ast.FunctionDef)} for class_ in classes}


def _enums_of_requests(model: Model) -> set[str]:
    """Return the enums that requests have."""
    enums, reached = set(), {rpc.request.full_name for rpc in model.rpcs}
    todo = [*reached]
    while todo:
        for field in model.messages[todo.pop()].fields:
            if field.is_enum:
                enums.add(model.enums[field.type_name].name)
            elif field.type_name in model.messages and field.type_name not in reached:
                reached.add(field.type_name)
                todo.append(field.type_name)
    return enums


def _used_first(messages: Sequence[Message]) -> list[Message]:
    """Return the messages, those that others have as fields first."""
    ordered: dict[str, Message] = {}
    by_name = {message.full_name: message for message in messages}

    def add(message: Message) -> None:
        for field in message.fields:
            if field.type_name in by_name and field.type_name != message.full_name:
                add(by_name[field.type_name])
        ordered.setdefault(message.full_name, message)

    for message in messages:
        add(message)
    return list(ordered.values())


def _from_proto(
    message: Message, name: str, attributes: Sequence[_Attribute], late: Sequence[_Attribute]
) -> Iterator[str]:
    """Yield the lines of the method that makes a value from a message."""
    yield from ("", "    @classmethod", f"    def from_proto(cls, message: pb.{message.name}) -> {name}:")
    yield '        """Return the value of a message."""'
    yield "        value = cls(" if late else "        return cls("
    yield from (f"            {attribute.name}={attribute.source}," for attribute in attributes)
    yield "        )"
    for attribute in late:
        yield f'        value._make_late("{attribute.name}", lambda: {attribute.source})'
    if late:
        yield "        return value"


def _tuple(convert: str, place: str) -> str:
    if convert == "{}":
        return f"tuple({place})"
    function, _, arguments = convert.partition("(")
    if arguments == "{})":
        return f"tuple(map({function}, {place}))"
    return f"tuple([{convert.format('one')} for one in {place}])"


def _first(path: str) -> str:
    return path.partition("{")[0].partition(".")[0]


def _module(file: str) -> str:
    return f"values_{Path(file).stem}"


def _constant(enum: Enum) -> str:
    """Return the name of the table of an enum: "JOB_STATES" of "JobState"."""
    return "".join(f"_{item}" if item.isupper() else item.upper() for item in enum.name).lstrip("_") + "S"


def _texts(enum: Enum) -> dict[int, str]:
    """Return the names of an enum's values in Python by their numbers, without that of the unspecified one."""
    prefix = next(iter(enum.values)).removesuffix("UNSPECIFIED")
    return {number: name.removeprefix(prefix).lower() for name, (number, _) in enum.values.items() if number}


def _docstring(comment: str) -> list[str]:
    """Return a comment as the docstring of a class."""
    text = " ".join(comment.split()).replace("\\", "\\\\")
    if text.endswith('"'):
        text = text[:-1] + '\\"'
    if len(text) <= WIDTH - 10:
        return [f'    """{text}"""', ""]
    summary, _, rest = text.partition(". ")
    wrapped = textwrap.wrap(text, WIDTH - 7)
    if rest and len(summary) < WIDTH - 10:
        wrapped = [f"{summary}.", "", *textwrap.wrap(rest, WIDTH - 4)]
    return [f'    """{wrapped[0]}', *(f"    {line}" if line else "" for line in wrapped[1:]), '    """', ""]


def _comment(comment: str, indent: str = "    ") -> list[str]:
    text = " ".join(comment.split())
    return [f"{indent}# {line}" for line in textwrap.wrap(text, WIDTH - len(indent) - 2)]
