"""Write clients/python/contextkeep/client/aio/_gen: the methods of the Python client that are one call each.

One module and one class a noun of `option (contextkeep.client)`. The rules, from which `clients_table.py` and
`python_table.py` say where a method differs:

- Fields that are required, also those of a message that has no value in Python, are positional arguments, in the order
  of the proto; the others are keyword arguments with the proto's default, or None where a field can be absent.
- Ids are texts or UUIDs; `x_json` is `x`, an object; times are aware datetimes; an enum is its name in lower case.
- The fields next to an `update_mask` are arguments too; None leaves a field as it is, and the mask names the others.
- A node that the request can name by `external_id`, or that the client looks up, is named by `**named`.
- A list with a `next_page_token` is a generator that follows the pages; so is a stream. An answer with one field is
  the value of this field; an empty one is None.
- The docstring is the comment of the RPC; its "Reasons" become "Raises".

An RPC of `CALLS_BY_HAND`, of either table, has no method here.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from clients_table import ANSWERS, ANY_JSON, ARGS, NODE_OPTIONAL, NOT_GIVEN, OF_CLIENT, TEXTS, is_by_hand, is_flat
from model import Enum, Field, Message, Model, Rpc
from python_table import (
    APART,
    BY_HAND,
    CALLS,
    CALLS_BY_HAND,
    COMMENTS,
    INPUTS,
    NOUNS,
    TOGETHER,
    Call,
    Entry,
    Input,
    Several,
)
from python_values import TIME, WIDTH, import_lines, values_of

from contextkeep import errors

GENERATED = Path("clients/python/contextkeep/client/aio/_gen")
_PACKAGE = '"""The calls of all nouns, made by `make proto`: see `proto/generator/python_calls.py`."""\n'
_SCALARS = {
    "bool": ("bool", "False"),
    "bytes": ("bytes", 'b""'),
    "double": ("float", "0.0"),
    "float": ("float", "0.0"),
    "string": ("str", '""'),
}
_LAST = ("subject_user_id", "page_size", "request_id")  # of the keyword arguments
_NODES = ("node_id", "entity_node_id", "root_node_id")
_ID = ("Id | None", "None")
_MASK = "google.protobuf.FieldMask"

_ERRORS: Mapping[str, type[errors.ContextKeepError]] = {
    error.reason: error
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, errors.ContextKeepError)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Argument:
    """An argument of a method."""

    name: str
    type: str
    default: str  # empty: it must be given
    comment: str

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + (f" = {self.default}" if self.default else "")


def files(model: Model) -> Iterator[tuple[Path, str]]:
    """Yield the path and the content of the module of every noun, and of the package."""
    nouns: dict[str, list[Rpc]] = {}
    for rpc in model.rpcs:
        if rpc.noun and not is_by_hand(rpc) and rpc.name not in CALLS_BY_HAND:
            nouns.setdefault(rpc.noun, []).append(rpc)
    yield GENERATED / "__init__.py", _PACKAGE
    values = values_of(model)
    yield from formatted(
        {GENERATED / f"{noun}.py": _Noun(model, values, noun, nouns[noun]).text() for noun in sorted(nouns)}
    )


def formatted(modules: Mapping[Path, str]) -> Iterator[tuple[Path, str]]:
    """Yield modules in the format of the house."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in modules.items():
            Path(folder, path.name).write_text(text, "utf-8")
        ruff = [sys.executable, "-m", "ruff", "format", "--quiet", "--isolated", f"--line-length={WIDTH}", folder]
        subprocess.run(ruff, check=True)
        for path in modules:
            yield path, Path(folder, path.name).read_text("utf-8")


def _call_of(rpc: Rpc, model: Model) -> Call:
    """Return what both tables say of a method."""
    call = CALLS.get(rpc.name, Call())
    changed = [field for field in rpc.request.fields if field.type_name == _MASK]
    inner = [model.messages[field.type_name] for field in rpc.request.fields if changed and is_flat(model, field)]
    return replace(
        call,
        required=f"{call.required} {ARGS.get(rpc.name, '')}",
        without=f"{call.without} {NOT_GIVEN.get(rpc.name, '')}",
        texts=TEXTS.get(rpc.name, ""),
        is_of_client=rpc.name in OF_CLIENT,
        needs_node=rpc.name not in NODE_OPTIONAL,
        answer=ANSWERS.get(rpc.name),
        masked={field.name for message in inner for field in message.fields},
    )


class _Noun:
    """Writes the module of a noun; its imports are collected while its methods are written."""

    def __init__(self, model: Model, values: Mapping[str, Entry], noun: str, rpcs: Sequence[Rpc]) -> None:
        self._model = model
        self._values = values
        self._noun = noun
        self._rpcs = rpcs
        self._names = {rpc.name: f"`{rpc.client}`" for rpc in model.rpcs}
        self._names |= {reason: f"`{error.__name__}`" for reason, error in _ERRORS.items()}
        self._imports: dict[str, set[str]] = {}
        self._is_entity = rpcs[0].service.startswith("contextkeep.entity.")
        self._late: set[str] = set()  # arguments of a method that must be given, though they have a default
        self._list = "builtins.list" if any(rpc.verb == "list" for rpc in rpcs) else "list"

    def text(self) -> str:
        """Return the module."""
        base = "Noun"
        if any(self._is_entity and self._named(rpc.request) for rpc in self._rpcs):
            base = "NamedNodes"
            self._import("contextkeep.client.aio.entity.names", base)
        else:
            self._import("contextkeep.client.aio.client", base)
        name = "".join(part.capitalize() for part in self._noun.split("_"))
        body = [line for rpc in self._rpcs for line in ("", *self._method(rpc))]
        return "\n".join(
            [
                f'"""The calls of {self._noun} that are one RPC each, made by `make proto`."""',
                "",
                "from __future__ import annotations",
                "",
                *(["import builtins"] if any("builtins." in line for line in body) else []),
                *import_lines(self._imports),
                "",
                f"class {name}({base}):",
                f'    """{NOUNS.get(self._noun) or f"The calls of `client.{self._noun}` that are one RPC each."}"""',
                *body,
                "",
            ]
        )

    def _method(self, rpc: Rpc) -> Iterator[str]:
        call = _call_of(rpc, self._model)
        is_page = any(field.name == "next_page_token" for field in rpc.response.fields)
        arguments = list(self._arguments(rpc.request, call))
        positional = self._positional(rpc.request, arguments, call)
        taken = {entry.name for entry in positional}
        keyword = [argument for argument in arguments if argument.name not in taken]
        keyword.sort(key=lambda row: _LAST.index(row.name) if row.name in _LAST else -1)
        named = "**named: Unpack[ByExternalId]" if self._named(rpc.request) else ""
        if named:
            self._import("contextkeep.client._messages", "ByExternalId")
            self._import("typing", "Unpack")
        texts = ["self", *map(str, positional), "*", *map(str, keyword), "timeout_s: float | None = None"]
        texts += [named] if named else []
        kind, convert = self._answer(rpc, call)
        is_many = (is_page and not call.at_once) or rpc.server_streaming
        if is_many:
            self._import("collections.abc", "AsyncGenerator")
        returned = f"AsyncGenerator[{kind}, None]" if is_many else f"{self._list}[{kind}]" if call.at_once else kind
        yield f"    async def {rpc.verb}({', '.join(texts)}) -> {returned}:"
        yield from self._docstring(rpc, [*positional, *keyword], is_named=bool(named), is_page=is_page)
        yield from (f"        {line}" for line in self._request(rpc.request, rpc, call))
        repeat = f", may_repeat={call.may_repeat}" if call.may_repeat else ""
        place = f'self._call("{rpc.name}", request, timeout_s=timeout_s{repeat})'
        if is_page:
            (field,) = self._fields_of_answer(rpc, call)
            item = f"{convert.format('item')}"
            if call.at_once:
                yield f"        items: {returned} = []"
            yield "        while True:"
            yield f"            page: {self._stub(rpc.response)} = await {place}"
            yield f"            for item in page.{field.name}:"
            yield f"                items.append({item})" if call.at_once else f"                yield {item}"
            yield "            if not page.next_page_token:"
            yield "                return items" if call.at_once else "                return"
            yield "            request.page_token = page.next_page_token"
        elif rpc.server_streaming:
            self._import("contextlib", "aclosing")
            yield f'        async with aclosing(self._stream("{rpc.name}", request, timeout_s=timeout_s)) as answers:'
            yield "            async for answer in answers:"
            yield f"                yield {convert.format('answer')}"
        elif kind == "None":
            yield f"        await {place}"
        else:
            yield f"        answer: {self._stub(rpc.response)} = await {place}"
            yield f"        return {convert.format('answer')}"

    # Arguments

    def _inputs(self, message: Message, call: Call, *, is_request: bool = True) -> Iterator[Field]:
        """Yield the fields of a request that are arguments."""
        looked_up = {"external_id", "graph_name"} if is_request and self._named(message) else set()
        together = TOGETHER[call.together][0].split() if call.together else ()
        for field in message.fields:
            if field.name in {"page_token", *looked_up, *together, *call.without.split()} or field.type_name == _MASK:
                continue
            if self._is_flat(field, call):
                yield from self._inputs(self._model.messages[field.type_name], call, is_request=False)
            else:
                yield field

    def _is_flat(self, field: Field, call: Call) -> bool:
        if field.name in call.whole.split() or self._apart(field):
            return False
        return field.name in call.flat.split() or is_flat(self._model, field)

    @staticmethod
    def _apart(field: Field) -> Several | None:
        """Return how a field is given whose message is several arguments."""
        return APART.get(field.type_name.rpartition(".")[2])

    def _arguments(self, message: Message, call: Call) -> Iterator[_Argument]:
        if call.together:
            yield from self._several(TOGETHER[call.together][1], ())
        for field in self._inputs(message, call):
            if apart := self._apart(field):
                yield from self._several(apart, self._model.messages[field.type_name].fields)
                continue
            name = self._name(field, call)
            kind, default = self._type(field, call)
            result = self._given(field)
            comment = (result.comment if result else "") or field.comment or COMMENTS.get(name, "")
            yield _Argument(name=name, type=kind, default=default, comment=comment)

    def _several(self, several: Several, fields: Sequence[Field]) -> Iterator[_Argument]:
        for module, name in several.imports.items():
            self._import(module, name)
        for place, (name, text) in enumerate(several.arguments.items()):
            kind, _, comment = text.partition(": ")
            default = "None" if kind.endswith("None") else '""' if kind == "str" else ""
            yield _Argument(name=name, type=kind, default=default, comment=comment or fields[place].comment)

    def _positional(self, message: Message, arguments: Sequence[_Argument], call: Call) -> list[_Argument]:
        if not call.args:
            named = self._named(message)
            is_first = call.needs_node or named in call.required.split()
            return [argument for argument in arguments if not argument.default or (is_first and argument.name == named)]
        by_name = {argument.name: argument for argument in arguments}
        positional: list[_Argument] = []
        self._late = set()
        for name in call.args.split():
            argument = by_name[name]
            if positional and positional[-1].default and not argument.default:  # nothing is required after a node
                kind, _, _ = argument.type.partition("[")
                default = {"str": '""', "int": "0", "Iterable": "()", "Mapping": "None"}[kind]
                argument = replace(argument, default=default)
                if default == "None":
                    argument = replace(argument, type=f"{argument.type} | None")
                    self._late.add(name)
            positional.append(argument)
        return positional

    def _name(self, field: Field, call: Call) -> str:
        if field.name in call.names:
            return call.names[field.name]
        return field.name if self._is_text(field, call) else field.name.removesuffix("_json")

    def _type(self, field: Field, call: Call) -> tuple[str, str]:
        """Return the type of an argument, and its default."""
        is_required = field.rule.required or (field.name in call.required.split() and field.name not in _NODES)
        kind, default = self._kind(field, call)
        if field.name in call.masked and field.is_repeated:
            self._import("collections.abc", "Iterable")
            return f"Iterable[{kind}] | None", "None"
        if field.name in call.masked:
            return f"{kind} | None", "None"
        if field.is_repeated:
            self._import("collections.abc", "Iterable")
            return f"Iterable[{kind}]", "" if is_required else "()"
        if default == "NOT_GIVEN":
            return kind, default
        if field.name in call.defaults:
            default = call.defaults[field.name]
            return (f"{kind} | None" if default == "None" else kind), default
        if is_required and not (field.name in _NODES and self._is_entity):
            return kind, ""
        if field.is_optional or default == "None":
            return f"{kind} | None", "None"
        return kind, default

    def _kind(self, field: Field, call: Call) -> tuple[str, str]:
        """Return the type of one value of a field, and its default."""
        if field.type_name == TIME:
            self._import("datetime", "datetime")
            return "datetime", "None"
        if result := self._given(field):
            for module, name in result.imports.items():
                self._import(module, name)
            for name in re.findall(r"\b[A-Z]\w+Input\b", result.type):
                self._import("contextkeep.inputs", name)
            return result.type, result.default
        if field.is_enum:
            name = self._model.enums[field.type_name].name
            self._import("contextkeep.values", name)
            return name, "None"
        if field.name in ANY_JSON and not self._is_text(field, call):
            self._import("typing", "Any")
            self._import("contextkeep.client._messages", "NOT_GIVEN", "NotGiven")
            return "Any | NotGiven", "NOT_GIVEN"
        if field.rule.id or field.name in _NODES or field.name == "request_id":
            self._import("contextkeep.client._messages", "Id")
            return "Id", "None"
        if call.is_of_client and field.name == "app_id":
            return "str", "None"
        if field.name.endswith("_json") and not self._is_text(field, call):
            self._import("collections.abc", "Mapping")
            self._import("typing", "Any")
            return "Mapping[str, Any]", "None"
        return _SCALARS.get(field.scalar, ("int", "0"))

    @staticmethod
    def _is_text(field: Field, call: Call) -> bool:
        return not field.name.endswith("_json") or field.name in call.texts.split()

    def _given(self, field: Field) -> Input | None:
        """Return how a field is given that is more than a scalar; None for a scalar."""
        name = field.type_name.rpartition(".")[2] or field.name
        if name in INPUTS:
            return INPUTS[name]
        if not field.type_name or field.is_enum or field.type_name in (TIME, _MASK):
            return None
        name = self._values[name].name
        return Input(type=name, convert="{}.to_proto()", imports={"contextkeep.values": name})

    def _named(self, message: Message) -> str:
        """Return the field of a node that can be named by the caller's own id; empty: none."""
        names = [field.name for field in message.fields]
        node = next((name for name in names if name in _NODES), "")
        if self._is_entity:
            return node if "external_id" not in names and len(set(names) & {*_NODES}) == 1 else ""
        return node if "external_id" in names and "graph_name" in names else ""

    # The request

    def _request(self, message: Message, rpc: Rpc, call: Call) -> Iterator[str]:
        yield f"request = {self._built(message, rpc, call, '')}"

    def _built(self, message: Message, rpc: Rpc, call: Call, path: str) -> str:
        """Return the expression of a message."""
        named = self._named(message) if not path else ""
        looked_up = {"external_id", "graph_name"} if named else set()
        together, several = TOGETHER[call.together] if call.together and not path else ("", None)
        parts = [several.convert] if several else []
        for field in message.fields:
            place = f"{path}{field.name}"
            if field.name in looked_up or field.name in {"page_token", *together.split(), *call.without.split()}:
                continue
            if field.type_name == _MASK:
                value = self._mask(message, call)
            elif apart := self._apart(field):
                value = apart.convert
            elif self._is_flat(field, call):
                value = self._built(self._model.messages[field.type_name], rpc, call, f"{place}.")
            elif field.name == named and self._is_entity:
                value = f"await self._node_id({field.name}, **named)"
            elif field.name == named and call.needs_node:
                self._import("contextkeep.client", "_messages as messages")
                other = f', field="{field.name}"' if field.name != "node_id" else ""
                value = f"messages.given_node_id({field.name}{other}, **named)"
            else:
                value = self._converted(field, place, call)
            parts.append(f"{field.name}={value}")
        if named and not self._is_entity:
            parts.append("**named")
        return f"{self._stub(message)}({', '.join(parts)})"

    def _mask(self, message: Message, call: Call) -> str:
        """Return the expression of the mask of the fields that change."""
        self._import("contextkeep.client", "_messages as messages")
        (changed,) = (field for field in message.fields if self._is_flat(field, call))
        arguments = []
        for field in self._model.messages[changed.type_name].fields:
            if field.name not in call.without.split():
                apart = self._apart(field)
                arguments.append(f"{field.name}={next(iter(apart.arguments)) if apart else self._name(field, call)}")
        return f"messages.mask({', '.join(arguments)})"

    def _converted(self, field: Field, place: str, call: Call) -> str:
        """Return the expression that makes the field of its argument."""
        name = self._name(field, call)
        if name in self._late:
            self._import("contextkeep.client", "_messages as messages")
            name = f'messages.given("{place}", {name})'
        if call.is_of_client and field.name == "app_id":
            return f"self._options.app({name})"
        if result := self._given(field):
            is_required = not self._type(field, call)[1]
            return self._message(result, field, place, name, is_required=is_required)
        function = self._function(field, call)
        if not function:
            return name
        self._import("contextkeep.client", "_messages as messages")
        if field.name == "request_id":
            return f"messages.new_request_id({name})"
        is_many = field.is_repeated
        if function == "to_json":
            return f'None if {name} is NOT_GIVEN else messages.to_json("{place}", {name})'
        if field.is_enum:
            stub = self._stub(self._model.enums[field.type_name])
            return f'messages.{"choices_of" if is_many else "choice_of"}("{place}", {name}, {stub})'
        if function == "to_id":
            return f'messages.ids("{place}", {name})' if is_many else f"messages.to_id({name})"
        if function == "texts" and field.name in call.masked:
            return f'None if {name} is None else messages.texts("{place}", {name})'
        if field.is_optional and not field.type_name and field.name.endswith("_json"):
            return f'None if {name} is None else messages.{function}("{place}", {name})'
        return f'messages.{function}("{place}", {name})'

    def _function(self, field: Field, call: Call) -> str:
        kind = self._kind(field, call)[0]
        if field.is_enum:
            return "choice"
        if kind == "Id":
            return "to_id"
        if kind == "datetime":
            return "to_timestamp"
        if kind == "Any | NotGiven":
            return "to_json"
        if kind == "Mapping[str, Any]":
            return "to_object"
        if field.is_repeated:
            return "texts" if field.scalar == "string" else "vector"
        return ""

    @staticmethod
    def _message(given: Input, field: Field, place: str, name: str, *, is_required: bool) -> str:
        if field.is_repeated and not given.takes_list:
            if "{place}" in given.convert:
                inner = given.convert.format("item", place=f"{place}[{{index}}]").replace('"', 'f"', 1)
                return f"[{inner} for index, item in enumerate({name})]"
            return f"[{given.convert.format('item')} for item in {name}]"
        value = given.convert.format(name, place=place)
        is_safe = given.takes_none or given.takes_list or given.default != "None"
        return value if is_safe or is_required else f"None if {name} is None else {value}"

    # The answer

    def _fields_of_answer(self, rpc: Rpc, call: Call) -> list[Field]:
        fields = [field for field in rpc.response.fields if field.name != "next_page_token"]
        return [field for field in fields if call.answer in (None, field.name)]

    def _answer(self, rpc: Rpc, call: Call) -> tuple[str, str]:
        """Return the return type of a method, and the expression that converts the answer `{}`."""
        is_page = any(field.name == "next_page_token" for field in rpc.response.fields)
        if rpc.response.name in {*self._values, *BY_HAND} and call.answer is None:
            return self._value(rpc.response)
        fields = self._fields_of_answer(rpc, call)
        if not fields:
            return "None", ""
        if len(fields) != 1:
            raise ValueError(f"the answer of {rpc.name} has several fields: make it a value, or name one")
        (field,) = fields
        if not field.type_name:
            kind = _SCALARS.get(field.scalar, ("int",))[0]
            if field.name == "result_json":
                self._import("typing", "Any")
                self._import("contextkeep.client", "_messages as messages")
                return "Any", f"messages.parsed({{}}.{field.name})"
            return (
                (f"{self._list}[{kind}]", f"list({{}}.{field.name})")
                if field.is_repeated
                else (kind, f"{{}}.{field.name}")
            )
        if field.type_name == TIME:
            self._import("datetime", "datetime")
            self._import("contextkeep.values.base", "time_of")
            return "datetime", f"time_of({{}}.{field.name})"
        kind, convert = self._value(self._model.messages[field.type_name])
        if is_page:
            return kind, convert
        if field.is_repeated:
            return f"{self._list}[{kind}]", f"[{convert.format('item')} for item in {{}}.{field.name}]"
        value = convert.format(f"{{0}}.{field.name}")
        if call.maybe:
            return f"{kind} | None", f'{value} if {{0}}.HasField("{field.name}") else None'
        return kind, value

    def _value(self, message: Message) -> tuple[str, str]:
        if message.name in BY_HAND:
            by_hand = BY_HAND[message.name]
            for module, name in by_hand.imports.items():
                self._import(module, name)
            return by_hand.type, f"{by_hand.function}({{}})"
        name = self._values[message.name].name
        self._import("contextkeep.values", name)
        return name, f"{name}.from_proto({{}})"

    # The docstring

    def _docstring(self, rpc: Rpc, arguments: Sequence[_Argument], *, is_named: bool, is_page: bool) -> Iterator[str]:
        comment, _, reasons = rpc.comment.partition("Reasons:")
        _, _, rest = " ".join(reasons.split()).partition(". ")
        first, *paragraphs = (" ".join(item.split()) for item in comment.strip().split("\n\n"))
        summary, _, more = first.partition(". ")
        lines = [self._plain(summary).rstrip(".:") + "."]
        if len(lines[0]) > WIDTH - 11:
            raise ValueError(f"the first sentence of {rpc.name} is {len(lines[0])} characters long: shorten it")
        for paragraph in (more, *paragraphs, rest):
            if paragraph:
                lines += ["", *textwrap.wrap(self._plain(paragraph), WIDTH - 8)]
        lines += ["", "Args:"]
        for argument in arguments:
            if argument.comment:
                lines += _hanging(argument.name, self._plain(argument.comment).replace("Unset", "None"))
        of_page = " of one page" if is_page else ""
        lines += _hanging("timeout_s", f"Deadline{of_page} in seconds. None means the client's.")
        if is_named:
            lines += _hanging("**named", "The node's `external_id` instead: `ByExternalId`.")
        if raised := self._raised(rpc):
            lines += ["", "Raises:"]
            for name, why in raised.items():
                lines += _hanging(name, self._plain(why))
        yield f'        """{lines[0]}'
        yield from (f"        {line}" if line else "" for line in lines[1:])
        yield '        """'

    def _raised(self, rpc: Rpc) -> dict[str, str]:
        """Return when each error is raised that the comment of an RPC names, by its class."""
        reasons = " ".join(rpc.comment.partition("Reasons:")[2].split())
        raised = {}
        for reason, why in re.findall(r"\b([A-Z][A-Z_]{4,})\b(?: \(((?:[^()]|\([^()]*\))*)\))?", reasons):
            if error := _ERRORS.get(reason):
                text = _STATUS.sub("", why) or (error.__doc__ or "").strip().splitlines()[0]
                raised[error.__name__] = text.rstrip(".") + "."
        for name in re.findall(r"those of (\w+)", reasons):
            raised |= {
                key: why
                for other in self._model.rpcs
                if other.name == name
                for key, why in self._raised(other).items()
                if key not in raised
            }
        return raised

    def _plain(self, text: str) -> str:
        """Return a comment of the protos in the names of Python: `contexts.recall`, `ContextNotFound`."""
        text = " ".join(text.split()).replace("\\", "\\\\")
        return _NAME.sub(lambda row: self._names.get(row[0].strip("`"), row[0]), text)

    def _stub(self, message: Message | Enum) -> str:
        package, _, stem = message.file.removesuffix(".proto").replace("/", ".").rpartition(".")
        self._import(package, f"{stem}_pb2 as {stem}_pb")
        return f"{stem}_pb.{message.name}"

    def _import(self, module: str, *names: str) -> None:
        self._imports.setdefault(module, set()).update(names)


def _hanging(name: str, text: str) -> list[str]:
    return textwrap.wrap(f"{name}: {text}", WIDTH - 8, initial_indent="    ", subsequent_indent="        ")


_STATUS = re.compile(
    r"^(?:FAILED_PRECONDITION|RESOURCE_EXHAUSTED|PERMISSION_DENIED|INVALID_ARGUMENT|NOT_FOUND|ABORTED|ALREADY_EXISTS)"
    r"(?:[;:,] )?"
)
_NAME = re.compile(r"`[A-Z]\w+`|\b(?:[A-Z][a-z]+|[A-Z]{2}(?=[A-Z])){2,}\b|\b[A-Z]+_[A-Z_]+\b")
