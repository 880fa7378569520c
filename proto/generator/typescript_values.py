"""Write clients/typescript/src/_gen: the values that the TypeScript client returns, made of the protos' messages.

The rules: a 64-bit number is a `number`; a timestamp is a text, empty if it is unset; the JSON text `x_json` is the
parsed `x`; an enum is a text in lower case; what else is unset is absent; a
list of messages with two fields, one of them `count`, is a record. `clients_table.py` and `typescript_table.py` have
exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import clients_table
from clients_table import ANY_JSON, pair
from model import Enum, Field, Message, Model, Rpc
from typescript_table import BY_HAND, NAMES, VALUES, Entry, Hand

from contextkeep.errors import ContextKeepError, error_classes

ERRORS = {error.reason: error.__name__ for error in error_classes() if error.__module__ == ContextKeepError.__module__}
TIMESTAMP = "google.protobuf.Timestamp"
LINE = 120
INTS64 = frozenset({"int64", "uint64", "sint64", "fixed64", "sfixed64"})
# The type and the empty value of JSON that need not be an object.
JSON_TYPES = {**dict.fromkeys(ANY_JSON, ("unknown", "undefined")), "tools_json": ("unknown[]", "[]")}
TYPES = {"string": "string", "bool": "boolean", "bytes": "Uint8Array"}  # all others are numbers


def files(model: Model) -> Iterator[tuple[str, str]]:
    """Yield the name and the content of each file: one for each proto that has values."""
    values = reached(model)
    by_proto: dict[str, list[Message]] = {}
    for message in model.messages.values():
        if message.full_name in values:
            by_proto.setdefault(message.file, []).append(message)
    exports = []
    for proto, messages in by_proto.items():
        yield f"{_stem(proto)}.ts", _Values(model, values, proto).text(messages)
        names = ", ".join(sorted(values[message.full_name].name for message in messages))
        exports.append(f'export type {{ {names} }} from "./{_stem(proto)}.js";')
    exports.append('export type * from "./options.js";')
    yield "index.ts", "\n".join(["// All values; made from the protos by `make proto`.", "", *sorted(exports), ""])


def reached(model: Model) -> Mapping[str, Entry]:
    """Return the values by the full names of their messages."""
    values = clients_table.values_of(model, model.rpcs, VALUES, Entry(), NAMES, BY_HAND)
    names = [value.name for value in values.values()]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"several values have the same name: {sorted(twice)}; rename them in typescript_table.py")
    return values


class Writer:
    """A file, and what it has to import."""

    folder = ""  # of the file, in that of the values

    def __init__(self, model: Model, values: Mapping[str, Entry], proto: str = "") -> None:
        self.model = model
        self.values = values
        self._proto = proto
        self._stubs: dict[str, bool] = {}  # by proto: whether it is needed at run time
        self._imported: dict[str, set[str]] = {}
        self._fields = {field.name for message in model.messages.values() for field in message.fields}
        self._rpcs = {rpc.name: client_name(rpc) for rpc in model.rpcs}

    def file(self, source: str, body: Sequence[str]) -> str:
        """Return the whole file; `source` is what it is made from."""
        head = [f"// Made from {source} by `make proto`.", ""]
        for proto, is_needed in sorted(self._stubs.items()):
            kind = "" if is_needed else "type "
            path = proto.removesuffix(".proto")
            head.append(f'import {kind}* as {self._alias(proto)} from "{self._from("../gen")}/{path}_pb.js";')
        for module, imported in sorted(self._imported.items()):
            names = {name for name in imported if name.removeprefix("type ") == name or name[5:] not in imported}
            are_types = all(name.startswith("type ") for name in names)
            bare = {name: name.removeprefix("type ") for name in names}
            ordered = [bare[name] if are_types else name for name in sorted(names, key=lambda name: bare[name])]
            line = f'import {"type " if are_types else ""}{{ {", ".join(ordered)} }} from "{self._from(module)}";'
            head.append(wrapped(line))
        return "\n".join([*head, *body, ""])

    def _from(self, module: str) -> str:
        """Return the path of a module as the file sees it; it is given as the values see it."""
        if not self.folder or not module.startswith("."):
            return module
        return f"../{module.removeprefix('./')}"

    def nested_type(self, full_name: str) -> str:
        """Return the type of a value, and import it."""
        if hand := BY_HAND.get(short(full_name)):
            return self._hand_type(hand)
        name = self.values[full_name].name
        self._import_value(full_name, f"type {name}")
        return name

    def nested_function(self, full_name: str) -> str:
        """Return the function that makes a value of its message, and import it."""
        if hand := BY_HAND.get(short(full_name)):
            self.imports(f"../{hand.module}.js", hand.function)
            return hand.function
        function = _function(self.values[full_name].name)
        self._import_value(full_name, function)
        return function

    def _import_value(self, full_name: str, name: str) -> None:
        proto = self.model.messages[full_name].file
        if proto != self._proto:
            self.imports(f"./{_stem(proto)}.js", name)

    def _hand_type(self, hand: Hand) -> str:
        if hand.imports_type:
            self.imports(
                f"../{hand.module}.js",
                *(f"type {name}" for name in sorted({*re.findall(r"\b[A-Z]\w+", hand.type)} - {"Pick", "Uppercase"})),
            )
        elif hand.type == "JsonObject":
            self.imports("../json.js", "type JsonObject")
        return hand.type

    def _hand_call(self, hand: Hand) -> str:
        self.imports(f"../{hand.module}.js", hand.function)
        return f"{hand.function}(message)"

    def stub(self, thing: Message | Enum, *, at_run_time: bool = False) -> str:
        """Return the generated message or enum."""
        self._stubs[thing.file] = self._stubs.get(thing.file, False) or at_run_time
        name = thing.full_name.split(".v1.")[-1].replace(".", "_")
        return f"{self._alias(thing.file)}.{name}"

    def stub_of_service(self, rpc: Rpc) -> str:
        """Return the generated service of a call."""
        self._stubs[rpc.file] = True
        return f"{self._alias(rpc.file)}.{rpc.service.rpartition('.')[2]}"

    def _alias(self, proto: str) -> str:
        return "pb" if proto == self._proto else f"{camel(Path(proto).stem)}Pb"

    def imports(self, module: str, *names: str) -> None:
        """Import names; a type begins with "type "."""
        self._imported.setdefault(module, set()).update(names)

    def comment(self, comment: str, indent: str) -> Iterator[str]:
        """Yield a comment, with the names of fields and calls as the client has them."""
        if not comment:
            return
        text = re.sub(r"`([A-Za-z_]+)`", lambda row: f"`{self._client_name(row[1])}`", comment)
        text = re.sub(r"\b[A-Z][A-Z_]+[A-Z]\b", lambda row: ERRORS.get(row[0], row[0]), text)
        lines = re.sub(r"\b(?:[A-Z][a-z]+){2,}\b", self._method_name, text).replace("Reasons: ", "Throws ").splitlines()
        if len(lines) == 1:
            yield f"{indent}/** {lines[0]} */"
            return
        yield f"{indent}/**"
        yield from (f"{indent} * {line}".rstrip() for line in lines)
        yield f"{indent} */"

    def _client_name(self, name: str) -> str:
        if name in self._fields:
            return camel(name)
        return self._rpcs.get(name, name)

    def _method_name(self, match: re.Match[str]) -> str:
        return self._rpcs.get(match[0], match[0])


class _Values(Writer):
    """The values of one proto."""

    def text(self, messages: Sequence[Message]) -> str:
        """Return the file."""
        body = [line for message in messages for line in self._value(message, self.values[message.full_name])]
        return self.file(self._proto, body)

    def _value(self, message: Message, value: Entry) -> Iterator[str]:
        name = value.name
        fields = list(self._fields_of(message, value))
        yield ""
        yield from self.comment(message.comment, "")
        yield f"export interface {name} {{"
        for field, _ in fields:
            is_time = field.type_name == TIMESTAMP
            yield from self.comment(field.comment.replace("Unset", "Empty") if is_time else field.comment, "  ")
            mark = "?" if self._is_optional(field, value) else ""
            yield f"  {self._member(field, value)}{mark}: {self._type(field, value)};"
        for extra, hand in value.more.items():
            yield from self.comment(hand.comment, "  ")
            yield f"  {extra}: {self._hand_type(hand)};"
        yield "}"
        yield ""
        yield f"export function {_function(name)}(message: {self.stub(message)}): {name} {{"
        optional = [(field, source) for field, source in fields if self._is_optional(field, value)]
        yield f"  const value: {name} = {{" if optional else "  return {"
        for field, source in fields:
            if (field, source) not in optional:
                yield f"    {self._member(field, value)}: {self._expression(field, value, source)},"
        for extra, hand in value.more.items():
            yield f"    {extra}: {self._hand_call(hand)},"
        yield "  };"
        for field, source in optional:
            yield f"  {self._optional(field, value, source)}"
        if optional:
            yield "  return value;"
        yield "}"

    def _fields_of(self, message: Message, value: Entry) -> Iterator[tuple[Field, str]]:
        """Yield the fields of a value, and where the message has them."""
        for field in message.fields:
            source = f"message.{camel(field.name)}"
            if field.name == value.flat:
                for inner in self.model.messages[field.type_name].fields:
                    yield replace(inner, is_optional=True), f"{source}?.{camel(inner.name)}"
            elif field.name not in value.without.split():
                yield field, source

    def _optional(self, field: Field, value: Entry, source: str) -> str:
        target = f"value.{self._member(field, value)}"
        if field.oneof:
            chosen = f"message.{camel(field.oneof)}"
            converted = self._expression(field, value, f"{chosen}.value")
            return f'if ({chosen}.case === "{camel(field.name)}") {target} = {converted};'
        return f"if ({source} !== undefined) {target} = {self._expression(field, value, source)};"

    def _is_optional(self, field: Field, value: Entry) -> bool:
        if field.name in {*value.hands, *value.always} or field.type_name == TIMESTAMP:
            return False
        return field.is_optional or bool(field.oneof)

    def _member(self, field: Field, value: Entry) -> str:
        if field.name in value.names:
            return value.names[field.name]
        return camel(field.name.removesuffix("_json") if self._is_parsed(field, value) else field.name)

    def _is_parsed(self, field: Field, value: Entry) -> bool:
        return field.scalar == "string" and field.name.endswith("_json") and field.name not in value.exact.split()

    def _pair(self, field: Field) -> tuple[str, ...]:
        """Return the fields of a list that is a record: its key and its value."""
        message = self.model.messages.get(field.type_name)
        return pair(message) if message and field.is_repeated else ()

    def _type(self, field: Field, value: Entry) -> str:
        if hand := value.hands.get(field.name):
            return self._hand_type(hand)
        if field.map_of:
            return f"Record<string, {self._type(field.map_of[1], value)}>"
        if keys := self._pair(field):
            number = next(item for item in self.model.messages[field.type_name].fields if item.name == keys[1])
            return f"Record<string, {self._type(number, value)}>"
        result = self._type_of_one(field, value)
        if not field.is_repeated:
            return result
        return f"({result})[]" if " " in result else f"{result}[]"

    def _type_of_one(self, field: Field, value: Entry) -> str:
        if field.type_name == TIMESTAMP:
            return "string"
        if field.is_enum:
            names = enum_texts(self.model.enums[field.type_name])
            return " | ".join(f'"{name}"' for name in (*names, "unknown"))
        if field.type_name:
            return self.nested_type(field.type_name)
        if self._is_parsed(field, value) and field.name in JSON_TYPES:
            return JSON_TYPES[field.name][0]
        if self._is_parsed(field, value):
            self.imports("../json.js", "type JsonObject")
            return "JsonObject"
        if field.scalar in INTS64 and field.name in value.exact.split():
            return "bigint"
        return TYPES.get(field.scalar, "number")

    def _expression(self, field: Field, value: Entry, source: str) -> str:
        """Return the TypeScript that converts `source`."""
        if hand := value.hands.get(field.name):
            return self._hand_call(hand)
        if field.map_of:
            item = self._expression_of_one(field.map_of[1], value, "item")
            if item == "item":
                return source
            return f"Object.fromEntries(Object.entries({source}).map(([key, item]) => [key, {item}]))"
        if not field.is_repeated:
            return self._expression_of_one(field, value, source)
        if keys := self._pair(field):
            by_name = {entry.name: entry for entry in self.model.messages[field.type_name].fields}
            (key, number) = (self._expression_of_one(by_name[name], value, f"item.{camel(name)}") for name in keys)
            return f"Object.fromEntries({source}.map((item) => [{key}, {number}]))"
        item = self._expression_of_one(field, value, "item")
        if item == "item":
            return source
        function = item.removesuffix("(item)")
        return f"{source}.map({function if '(' not in function else f'(item) => {item}'})"

    def _expression_of_one(self, field: Field, value: Entry, source: str) -> str:
        if field.type_name == TIMESTAMP:
            self.imports("../times.js", "timeText")
            return f"timeText({source})"
        if field.is_enum:
            self.imports("../messages.js", "enumText")
            enum = self.model.enums[field.type_name]
            return f"enumText({self.stub(enum, at_run_time=True)}, {source})"
        if field.type_name:
            if field.name in value.always:
                self.imports("@bufbuild/protobuf", "create")
                stub = self.stub(self.model.messages[field.type_name], at_run_time=True)
                source = f"{source} ?? create({stub}Schema)"
            return f"{self.nested_function(field.type_name)}({source})"
        if self._is_parsed(field, value) and field.name in JSON_TYPES:
            self.imports("../json.js", "parseJson")
            return f"{source} ? parseJson({source}) : {JSON_TYPES[field.name][1]}"
        if self._is_parsed(field, value):
            self.imports("../json.js", "parseObject")
            return f"parseObject({source})"
        if field.scalar in INTS64 and field.name not in value.exact.split():
            return f"Number({source})"
        return source


def enum_texts(enum: Enum) -> list[str]:
    """Return the texts of an enum's values, without the one that is unspecified: `RECORD_STATUS_ACTIVE` is "active"."""
    prefix = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enum.full_name.rpartition(".")[2]).upper() + "_"
    return [name.removeprefix(prefix).lower() for name, (number, _) in enum.values.items() if number]


def _function(name: str) -> str:
    """Return the name of the function that makes a value: `WMRecord` comes of `wmRecordOf`."""
    return re.sub(r"^[A-Z]+(?=[A-Z][a-z])|^[A-Z]", lambda row: row[0].lower(), name) + "Of"


def short(full_name: str) -> str:
    """Return the name of a message in the tables."""
    return full_name.rpartition(".")[2]


def _stem(proto: str) -> str:
    return Path(proto).stem.replace("_", "-")


def wrapped(line: str) -> str:
    """Return a line that may be too long with each of its outermost items on a line of its own."""
    if len(line) <= LINE:
        return line
    brackets = {"(": ")", "{": "}", "[": "]"}
    start = next((place for place, character in enumerate(line) if character in brackets), None)
    if start is None:
        return line
    items, depth, end = [""], 0, ","
    for place in range(start, len(line)):
        character = line[place]
        depth += (character in brackets) - (character in brackets.values())
        if depth == 0:
            break
        if depth == 1 and character in ",;":
            items.append("")
            end = character
        elif place > start:
            items[-1] += character
    if len(items) == 1:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    inner = "".join(f"\n{wrapped(f'{indent}  {item.strip()}{end}')}" for item in items if item.strip())
    return f"{line[: start + 1].rstrip()}{inner}\n{indent}{line[place:].lstrip()}"


def method_name(rpc: str) -> str:
    """Return the name that a call has in TypeScript."""
    return rpc[0].lower() + rpc[1:]


def client_name(rpc: Rpc) -> str:
    """Return the method of the client that makes a call: "contexts.getByExternalId"."""
    return f"{camel(rpc.noun)}.{camel(rpc.verb)}"


def camel(name: str) -> str:
    """Return the name that a field of a proto has in TypeScript."""
    return re.sub(r"_([a-z0-9])", lambda row: row[1].upper(), name)
