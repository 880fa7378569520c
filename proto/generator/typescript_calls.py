"""Write clients/typescript/src/_gen/nouns: the TypeScript client's methods that are one call each, and their inputs.

The rules: a field of the request that is required is an argument, and so is a node that has other names, too; every
other one is an option. A list with a `next_page_token` is `Rows`, a stream a generator; an answer with one value is
that value. Conversions are those of `typescript_values`, the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from clients_table import ANSWERS, ANY_JSON, ARGS, NODE_OPTIONAL, NOT_GIVEN, OF_CLIENT, TEXTS, is_by_hand, is_flat
from model import Field, Message, Model, Rpc
from typescript_table import (
    BOTH,
    CALLS,
    GIVEN_WHOLE,
    HAND_INPUTS,
    HAND_NOUNS,
    HANDLES,
    INPUTS,
    Call,
    Entry,
    Hand,
    Input,
)
from typescript_values import (
    INTS64,
    TIMESTAMP,
    TYPES,
    Writer,
    camel,
    enum_texts,
    method_name,
    reached,
    short,
    wrapped,
)

MASK = "google.protobuf.FieldMask"
_NODES = ("node_id", "entity_node_id", "root_node_id")
_OPTIONS_LENGTH_MAX = 80  # of the type of options that has no name


def files(model: Model) -> Iterator[tuple[str, str]]:
    """Yield the name and the content of the file of each noun, of the inputs, and of the nouns of each client."""
    values = reached(model)
    inputs = _Inputs(model, values)
    inputs.needed += [name for name in model.messages if short(name) in INPUTS]
    exports = []
    for client in (_Calls, _EntityCalls):
        nouns = client.nouns(model)
        for noun, rpcs in nouns.items():
            if methods := [(rpc, call) for rpc in rpcs for call in calls_of(model, rpc)]:
                writer = client(model, values)
                yield f"nouns/{client.stem(noun)}.ts", writer.text(noun, methods)
                inputs.needed += writer.needed
                if names := ", ".join(sorted(writer.option_types)):
                    exports.append(f'export type {{ {names} }} from "./nouns/{client.stem(noun)}.js";')
        yield f"{client.kind}-nouns.ts", _clients_nouns(client, nouns)
    yield "handles.ts", _Handles(model, values).text()
    yield "inputs.ts", inputs.text()
    exports.append(f'export type {{ {", ".join(sorted(inputs.names))} }} from "./inputs.js";')
    yield (
        "options.ts",
        "\n".join(["// Made from the protos by `make proto`: what methods take.", "", *sorted(exports), ""]),
    )


def calls_of(model: Model, rpc: Rpc) -> Sequence[Call]:
    """Return the generated methods of an RPC, with what both tables say of them."""
    if is_by_hand(rpc):
        return ()
    calls = CALLS.get(rpc.name, Call())
    return [_call_of(model, rpc, call) for call in (calls if isinstance(calls, tuple) else (calls,))]


def _call_of(model: Model, rpc: Rpc, call: Call) -> Call:
    call = replace(
        call,
        without=f"{call.without} {NOT_GIVEN.get(rpc.name, '')}",
        exact=f"{call.exact} {TEXTS.get(rpc.name, '')}",
        answer=ANSWERS.get(rpc.name, call.answer),
        defaults={"app_id": "this.client.appId", **call.defaults} if rpc.name in OF_CLIENT else call.defaults,
    )
    args = call.args or ARGS.get(rpc.name)
    if args is None:
        nodes = set() if rpc.name in NODE_OPTIONAL or not node_lookup(rpc.request) else _NODES
        fields = fields_of(model, rpc.request, call)
        names = [
            field.name
            for field in fields
            if field.name in nodes or (field.rule.required and field.name != "request_id")
        ]
        args = " ".join(names)
    return replace(call, args=args)


def fields_of(model: Model, message: Message, call: Call) -> Iterator[Field]:
    """Yield the fields of a request, and instead of messages that are flat those of these."""
    for field in message.fields:
        if has_fields_of(model, field, call):
            yield from fields_of(model, model.messages[field.type_name], call)
        elif field.name not in call.without.split():
            yield field


def has_fields_of(model: Model, field: Field, call: Call) -> bool:
    """Return whether a method has the fields of a message itself."""
    return field.name == call.flat or (is_flat(model, field) and field.name not in {*call.hands, *call.without.split()})


def node_lookup(message: Message) -> Set[str]:
    """Return the fields that look a node up, if the request takes a node by the caller's own id, too."""
    names = {field.name for field in message.fields if field.scalar}
    is_request = message.name.endswith("Request")
    return {"external_id", "graph_name"} if is_request and "external_id" in names and names & {*_NODES} else set()


class _Requests(Writer):
    """What callers give, and how it becomes fields of requests."""

    def __init__(self, model: Model, values: Mapping[str, Entry]) -> None:
        super().__init__(model, values)
        self.needed: list[str] = []  # full names of messages that callers give

    def name(self, field: Field, spec: Input) -> str:
        """Return the name that callers give a field."""
        if field.name in spec.names:
            return spec.names[field.name]
        is_parsed = field.name.endswith("_json") and field.name not in spec.exact.split()
        return camel(field.name.removesuffix("_json") if is_parsed else field.name)

    def type(self, field: Field, spec: Input, *, is_argument: bool = False) -> str:
        """Return the type of an argument."""
        if field.name in spec.types:
            return spec.types[field.name]
        result = self._type_of_one(field, spec, is_argument=is_argument)
        if not field.is_repeated:
            return result
        return f"({result})[]" if " " in result else f"{result}[]"

    def _type_of_one(self, field: Field, spec: Input, *, is_argument: bool) -> str:
        if hand := self._hand(field, spec):
            return self._hand_type(hand)
        if field.type_name == TIMESTAMP:
            return "Date | string"
        if field.is_enum:
            return " | ".join(f'"{name}"' for name in enum_texts(self.model.enums[field.type_name]))
        if field.type_name:
            if self._is_value(field.type_name):
                kind = self.nested_type(field.type_name)
                return kind if is_argument or short(field.type_name) in GIVEN_WHOLE else f"Partial<{kind}>"
            name = self._input(field.type_name)
            self.import_input(f"type {name}")
            return name
        if field.name.endswith("_json") and field.name not in spec.exact.split():
            return "unknown" if field.name in ANY_JSON else "object"
        if field.scalar in INTS64 and field.name in spec.exact.split():
            return "bigint"
        return TYPES.get(field.scalar, "number")

    def converted(self, field: Field, source: str, path: str, spec: Input, *, is_given: bool) -> str:
        """Return the TypeScript of a field of the request."""
        if not field.is_repeated:
            return self._converted_one(field, source, path, spec, is_given=is_given)
        result = self._converted_one(field, "item", f"{path}[${{place}}]", spec, is_given=True)
        if result == "item":
            return source
        places = "item, place" if "${place}" in result else "item"
        return f"{source}{'' if is_given else '?'}.map(({places}) => {result})"

    def _converted_one(self, field: Field, source: str, path: str, spec: Input, *, is_given: bool) -> str:
        text = f"`{path}`" if "${" in path else f'"{path}"'
        if hand := self._hand(field, spec):
            self.imports(f"../{hand.module}.js", hand.function)
            return self._made(hand.function, source, text, is_given=is_given, has_app=hand.has_app)
        if field.type_name == TIMESTAMP:
            self.imports("../times.js", "toTimestamp")
            return f"toTimestamp({source}, {text})"
        if field.is_enum:
            self.imports("../messages.js", "enumInput")
            return f"enumInput({text}, {source}, {self.stub(self.model.enums[field.type_name], at_run_time=True)})"
        if field.type_name:
            if self._is_value(field.type_name) or is_plain(self.model, field.type_name):
                return source
            name = self._input(field.type_name)
            function = name[0].lower() + name[1:]
            self.import_input(function)
            return self._made(function, source, text, is_given=is_given, has_app=_input_spec(field.type_name).has_app)
        if field.scalar in INTS64 and field.name not in spec.exact.split():
            self.imports("../messages.js", "whole")
            return f"whole({text}, {source})"
        if field.scalar == "string" and field.name.endswith("_json") and field.name not in spec.exact.split():
            if field.name in ANY_JSON:
                self.imports("../json.js", "toJson")
                return f"{source} === undefined ? undefined : toJson({source}, {text})"
            self.imports("../json.js", "toObject")
            result = f"toObject({source}, {text})"
            return f"{source} && {result}" if field.is_optional else result
        return source

    @staticmethod
    def _made(function: str, source: str, text: str, *, is_given: bool, has_app: bool) -> str:
        if has_app:
            return f"{function}({source if is_given else f'{source} ?? {{}}'}, {text}, this.client.appId)"
        result = f"{function}({source}, {text})"
        return result if is_given else f"{source} === undefined ? undefined : {result}"

    def fields(self, message: Message, path: str, spec: Input, prefix: str, indent: str) -> Iterator[str]:
        """Yield the fields of a message that callers give, each from `prefix` and its name."""
        oneofs: dict[str, list[str]] = {}
        for field in message.fields:
            if field.name in spec.without.split():
                continue
            source = prefix + self.name(field, spec)
            if spec.has_app and field.name == "app_id":
                source = f"{source} ?? appId"
            if field.oneof:
                value = self.converted(field, source, path + field.name, spec, is_given=True)
                choice = (
                    f'{source} !== undefined\n{indent}    ? {{ case: "{camel(field.name)}" as const, value: {value} }}'
                )
                oneofs.setdefault(field.oneof, []).append(f"{choice}\n{indent}    : ")
                continue
            value = self.converted(field, source, path + field.name, spec, is_given=field.name in spec.required.split())
            yield f"{indent}{camel(field.name)}: {value},"
        for oneof, choices in oneofs.items():
            yield from f"{indent}{camel(oneof)}:\n{indent}  {''.join(choices)}undefined,".splitlines()

    def members(self, message: Message, spec: Input) -> Iterator[str]:
        """Yield the members of the interface of an input."""
        for field in message.fields:
            if field.name not in spec.without.split():
                yield from self.member(field, spec)

    def member(self, field: Field, spec: Input) -> Iterator[str]:
        """Yield a member of an interface."""
        yield from self.comment(field.comment, "  ")
        mark = "" if field.name in spec.required.split() else "?"
        yield f"  {self.name(field, spec)}{mark}: {self.type(field, spec)};"

    def import_input(self, name: str) -> None:
        """Import an input, or the function that converts it."""
        self.imports("./inputs.js", name)

    def _hand(self, field: Field, spec: Input) -> Hand | None:
        return spec.hands.get(field.name) or HAND_INPUTS.get(short(field.type_name))

    def _is_value(self, full_name: str) -> bool:
        return full_name in self.values and is_plain(self.model, full_name) and short(full_name) not in INPUTS

    def _input(self, full_name: str) -> str:
        self.needed.append(full_name)
        return _input_name(full_name)


class _Inputs(_Requests):
    """The messages that callers give."""

    def text(self) -> str:
        """Return the file."""
        texts: dict[str, list[str]] = {}
        while self.needed:
            full_name = self.needed.pop()
            if full_name not in texts:
                texts[full_name] = []  # it may be in itself
                texts[full_name] = list(self._input_of(self.model.messages[full_name]))
        self.names = sorted(map(_input_name, texts))
        return self.file("the protos", [line for full_name in sorted(texts) for line in texts[full_name]])

    def import_input(self, name: str) -> None:
        """Import nothing: all inputs are in this file."""

    def _input_of(self, message: Message) -> Iterator[str]:
        spec, name = _input_spec(message.full_name), _input_name(message.full_name)
        yield ""
        yield from self.comment(message.comment, "")
        yield f"export interface {name} {{"
        yield from self.members(message, spec)
        yield "}"
        if is_plain(self.model, message.full_name):
            return
        self.imports("@bufbuild/protobuf", "type MessageInitShape")
        stub = self.stub(message)
        function, app = name[0].lower() + name[1:], ", appId: string" if spec.has_app else ""
        fields = [wrapped(line) for line in self.fields(message, "${path}.", spec, "value.", "    ")]
        path = "path" if any("path" in line for line in fields) else "_path"
        yield ""
        yield wrapped(
            f"export function {function}(value: {name}, {path}: string{app}): MessageInitShape<typeof {stub}Schema> {{"
        )
        yield "  return {"
        yield from fields
        yield "  };"
        yield "}"


def is_plain(model: Model, full_name: str) -> bool:
    """Return whether a message is what callers give, without a conversion."""
    return (
        all(
            not (field.is_enum or field.oneof or field.scalar in INTS64 or field.name.endswith("_json") or field.map_of)
            and (not field.type_name or (field.type_name in model.messages and is_plain(model, field.type_name)))
            and short(field.type_name) not in HAND_INPUTS
            for field in model.messages[full_name].fields
        )
        and not _input_spec(full_name).names
    )


def _input_spec(full_name: str) -> Input:
    return INPUTS.get(short(full_name), Input())


def _input_name(full_name: str) -> str:
    return _input_spec(full_name).name or full_name.rpartition(".")[2]


class _Calls(_Requests):
    """The calls of a noun of the Context Service, which looks external ids up itself."""

    folder = "nouns"
    kind, service = "context", "Context Service"
    packages: Sequence[str] = ("contextkeep.context.",)
    prefix = ""  # of the nouns that the other client has, too
    parent, module, client, client_module = "Noun<AppClient>", "../noun.js", "AppClient", "../context/app.js"

    def __init__(self, model: Model, values: Mapping[str, Entry]) -> None:
        super().__init__(model, values)
        self.option_types: dict[str, list[str]] = {}  # exported types of options, by name

    @classmethod
    def nouns(cls, model: Model) -> dict[str, list[Rpc]]:
        """Return the calls of each noun."""
        nouns: dict[str, list[Rpc]] = {}
        for rpc in sorted(model.rpcs, key=lambda rpc: rpc.noun):
            if rpc.service.startswith(tuple(cls.packages)):
                nouns.setdefault(rpc.noun, []).append(rpc)
        return nouns

    @classmethod
    def stem(cls, noun: str) -> str:
        """Return the name of the module of a noun."""
        return f"{cls.prefix if noun in BOTH else ''}{noun}".replace("_", "-")

    @classmethod
    def class_name(cls, noun: str) -> str:
        """Return the class that callers see: `AgentTemplates`."""
        return _pascal(cls.stem(noun).replace("-", "_"))

    @classmethod
    def hand_module(cls, noun: str) -> str:
        """Return the module that has the noun's other methods; empty: there are none."""
        return HAND_NOUNS.get(cls.stem(noun), "")

    def text(self, noun: str, methods: Sequence[tuple[Rpc, Call]]) -> str:
        """Return the file."""
        name = self.class_name(noun)
        generated = f"Generated{name}" if self.hand_module(noun) else name
        texts = [[*self._method(rpc, call)] for rpc, call in methods]
        body = [line for lines in self.option_types.values() for line in lines]
        body += ["", f"/** The calls of `{camel(noun)}` that are one method each. */"]
        body.append(f"export class {generated} extends {self.parent} {{")
        body += [line for number, lines in enumerate(texts) for line in ([""] if number else []) + lines]
        self.imports(self.module, self.parent.partition("<")[0])
        if "<" in self.parent:
            self.imports(self.client_module, f"type {self.client}")
        return self.file("the protos", [*body, "}"])

    def _method(self, rpc: Rpc, call: Call) -> Iterator[str]:
        yield from self.comment("\n".join([rpc.comment, *self._parameters(rpc, call)]), "  ")
        is_page = any(field.name == "next_page_token" for field in rpc.response.fields)
        arguments = [self._declared(item, call) for item in self._args(rpc, call)]
        must = any(option.name in call.required.split() for option in self._options(rpc, call))
        arguments.append(f"options: {self._options_of(rpc, call)}{'' if must else ' = {}'}")
        (result, conversion) = self._answer(rpc, call, "page" if is_page else "answer")
        name = camel(call.verb or rpc.verb)
        kind, promise = ("", f"Rows<{result}>") if is_page else ("async ", f"Promise<{result}>")
        if rpc.server_streaming:
            kind, promise = "async *", f"AsyncGenerator<{result}>"
        yield wrapped(f"  {kind}{name}({', '.join(arguments)}): {promise} {{")
        request = list(self._request(rpc.request, "", rpc, call, "      "))
        yield from (
            ("    const request = {", *map(wrapped, request), "    };") if request else ("    const request = {};",)
        )
        method = f"{self.stub_of_service(rpc)}.method.{method_name(rpc.name)}"
        may_repeat = f", {call.may_repeat}" if call.may_repeat else ""
        if is_page:
            yield from self._rows(rpc, method, conversion)
        elif rpc.server_streaming:
            options = "options"
            if call.has_timeout:
                yield "    const timeoutMs = options.timeoutMs ?? this.client.options.timeoutMs;"
                options = "{ ...options, timeoutMs }"
            stream = f"this.client.stream({method}, request, {options}{may_repeat})"
            yield f"    for await (const answer of {stream}) {{"
            yield f"      yield {conversion};"
            yield "    }"
        elif result == "void":
            yield f"    await this.client.call({method}, request, options{may_repeat});"
        else:
            yield f"    const answer = await this.client.call({method}, request, options{may_repeat});"
            yield f"    return {conversion};"
        yield "  }"

    def _rows(self, _rpc: Rpc, method: str, conversion: str) -> Iterator[str]:
        self.imports("../rows.js", "Rows", "pages")
        yield "    return new Rows(() =>"
        yield "      pages(async (pageToken) => {"
        yield f"        const page = await this.client.call({method}, {{ ...request, pageToken }}, options);"
        yield f"        return [{conversion}, page.nextPageToken];"
        yield "      }),"
        yield "    );"

    def _parameters(self, rpc: Rpc, call: Call) -> Iterator[str]:
        """Yield the comments of arguments, and of options that have no type of their own."""
        lines = [
            f"@param {self._argument(item, call)} {_joined(item.comment)}"
            for item in self._args(rpc, call)
            if isinstance(item, Field) and item.comment
        ]
        if not self._options_name(rpc, call):
            lines += [
                f"@param options.{self.name(option, call)} {_joined(option.comment)}"
                for option in self._options(rpc, call)
                if option.comment
            ]
        if lines:
            yield from ("", *lines)

    def _options_name(self, rpc: Rpc, call: Call) -> str:
        """Return the name of the type of the options; empty: they have none of their own."""
        inline = "; ".join(self._inline(option, call) for option in self._options(rpc, call))
        if call.options or len(inline) <= _OPTIONS_LENGTH_MAX:
            return call.options
        return f"{_pascal(rpc.noun)}{_pascal(call.verb or rpc.verb)}Options"

    def _options_of(self, rpc: Rpc, call: Call) -> str:
        """Return the type of the options of a call."""
        fields = self._options(rpc, call)
        names = {field.name for field in fields_of(self.model, rpc.request, call)}
        types = []
        if name := self._options_name(rpc, call):
            lines = [
                "",
                f"/** Options of `{camel(rpc.noun)}.{camel(call.verb or rpc.verb)}`. */",
                f"export interface {name} {{",
            ]
            lines += [line for field in fields for line in self.member(field, call)]
            self.option_types.setdefault(name, [*lines, "}"])
            types.append(name)
        elif fields:
            types.append(f"{{ {'; '.join(self._inline(one, call) for one in fields)} }}")
        if "subject_user_id" in names:
            self.imports("../context/app.js", "type ContextOptions")
            types.append("ContextOptions")
        if "request_id" in names:
            self.imports("../writes.js", "type WriteOptions", "requestId")
            types.append("WriteOptions")
        elif "subject_user_id" not in names:
            self.imports("../client.js", "type CallOptions")
            types.append("CallOptions")
        return " & ".join(types)

    def _inline(self, field: Field, call: Call) -> str:
        return f"{self.name(field, call)}{'' if field.name in call.required.split() else '?'}: {self.type(field, call)}"

    def _inputs(self, rpc: Rpc, call: Call) -> Iterator[Field]:
        """Yield the fields of a request that are arguments or options."""
        left_out = {"request_id", "subject_user_id", "page_token", *node_lookup(rpc.request)}
        for _, fields in call.together.values():
            left_out |= set(fields.split())
        yield from (
            field
            for field in fields_of(self.model, rpc.request, call)
            if field.name not in left_out and field.type_name != MASK
        )

    def _args(self, rpc: Rpc, call: Call) -> list[Field | str]:
        by_name = {item.name: item for item in self._inputs(rpc, call)}
        return [name if name in call.together else by_name[name] for name in call.args.split()]

    def _argument(self, field: Field | str, call: Call) -> str:
        return field if isinstance(field, str) else self.name(field, call)

    def _declared(self, field: Field | str, call: Call) -> str:
        name = field if isinstance(field, str) else field.name
        default = f" = {call.defaults[name]}" if name in call.defaults else ""
        return f"{self._argument(field, call)}: {self._argument_type(field, call)}{default}"

    def _argument_type(self, field: Field | str, call: Call) -> str:
        return (
            self._hand_type(call.together[field][0])
            if isinstance(field, str)
            else self.type(field, call, is_argument=True)
        )

    def _options(self, rpc: Rpc, call: Call) -> list[Field]:
        return [item for item in self._inputs(rpc, call) if item.name not in call.args.split()]

    def type(self, field: Field, spec: Input, *, is_argument: bool = False) -> str:
        """Return the type of an argument. A node can also be named by the caller's own id."""
        if field.name in _NODES and self._names_node(field):
            self.imports("../names.js", "type NodeName")
            return "NodeName"
        return super().type(field, spec, is_argument=is_argument)

    def _names_node(self, field: Field) -> bool:
        return any(field in message.fields and node_lookup(message) for message in self.model.messages.values())

    def _request(self, message: Message, path: str, rpc: Rpc, call: Call, indent: str) -> Iterator[str]:
        lookup = node_lookup(message)
        done: set[str] = set()
        for field in message.fields:
            name = camel(field.name)
            if field.name in {*call.without.split(), *lookup, *done, "page_token"}:
                continue
            together = next((item for item, (_, fields) in call.together.items() if field.name in fields.split()), None)
            if has_fields_of(self.model, field, call):
                inner = self.model.messages[field.type_name]
                opening, closing = ("given({", "})") if field.name in call.sparse.split() else ("{", "}")
                if field.name in call.sparse.split():
                    self.imports("../messages.js", "given")
                yield f"{indent}{name}: {opening}"
                yield from self._request(inner, f"{path}{field.name}.", rpc, call, indent + "  ")
                yield f"{indent}{closing},"
            elif field.type_name == MASK:
                yield from (f"{indent}{line}" for line in self._mask(rpc, call))
            elif field.name == "request_id":
                yield f"{indent}requestId: requestId(options),"
            elif together:
                hand, fields = call.together[together]
                done |= set(fields.split())
                self.imports(f"../{hand.module}.js", hand.function)
                yield f"{indent}...{hand.function}({together}),"
            elif field.name in _NODES and self._is_looked_up(field, message):
                source = self._source(field, call)
                if lookup:
                    self.imports("../names.js", "nameFields")
                    named = f'nameFields("{name}", {source})'
                    yield (
                        f"{indent}...{named},"
                        if field.name in call.args.split()
                        else f"{indent}...({source} !== undefined && {named}),"
                    )
                else:
                    yield from (f"{indent}{line}" for line in self._looked_up(field, rpc, source, call))
            else:
                is_given = field.name in {*call.args.split(), *call.required.split()}
                source = self._source(field, call)
                if field.name in call.defaults and field.name not in call.args.split():
                    source = f"{source} ?? {call.defaults[field.name]}"
                value = self.converted(field, source, f"{path}{field.name}", call, is_given=is_given)
                yield f"{indent}{name}," if value == name else f"{indent}{name}: {value},"

    def _source(self, field: Field, call: Call) -> str:
        member = self.name(field, call)
        return member if field.name in call.args.split() else f"options.{member}"

    def _mask(self, rpc: Rpc, call: Call) -> Iterator[str]:
        """Yield the mask of the fields that are given, of the message that is flat."""
        self.imports("../messages.js", "maskOf")
        (changed,) = (field for field in rpc.request.fields if has_fields_of(self.model, field, call))
        fields = [
            field for field in self.model.messages[changed.type_name].fields if field.name not in call.without.split()
        ]
        yield "updateMask: maskOf({"
        for item in fields:
            inner = self.model.messages[item.type_name].fields if has_fields_of(self.model, item, call) else [item]
            yield f"  {item.name}: {' ?? '.join(self._source(field, call) for field in inner)},"
        yield "}),"

    def _is_looked_up(self, _field: Field, message: Message) -> bool:
        return bool(node_lookup(message))

    def _looked_up(self, field: Field, _rpc: Rpc, _source: str, _call: Call) -> Iterator[str]:
        raise ValueError(f"{field.name} of a request takes no external id: write the method by hand")

    def _answer(self, rpc: Rpc, call: Call, source: str) -> tuple[str, str]:
        """Return the return type of a method, and the expression that converts the answer."""
        response = rpc.response
        if call.result:
            self.imports(f"../{call.result.module}.js", call.result.function)
            return self._hand_type(call.result), f"{call.result.function}({source})"
        if response.full_name in self.values:
            return self.nested_type(response.full_name), f"{self.nested_function(response.full_name)}({source})"
        fields: Sequence[Field] = [field for field in response.fields if field.name != "next_page_token"]
        if call.answer is not None:
            fields = [field for field in fields if field.name == call.answer]
        if not fields:
            return "void", ""
        if len(fields) != 1:
            raise ValueError(
                f"the answer of {rpc.name} has several fields: make it a value, or write the method by hand"
            )
        (field,) = fields
        member = f"{source}.{camel(field.name)}"
        if field.type_name == TIMESTAMP:
            self.imports("../times.js", "timeText")
            return "string", f"timeText({member})"
        if not field.type_name:
            if field.name.endswith("_json"):
                self.imports("../json.js", "type JsonObject", "parseObject")
                return "JsonObject", f"parseObject({member})"
            is_long = field.scalar in INTS64
            return TYPES.get(field.scalar, "number"), f"Number({member})" if is_long else member
        kind, function = self.nested_type(field.type_name), self.nested_function(field.type_name)
        if field.is_repeated:
            is_page = source == "page"
            return (kind if is_page else f"{kind}[]"), f"{member}.map({function})"
        if call.maybe:
            return f"{kind} | undefined", f"{member} && {function}({member})"
        return kind, f"{function}({member}!)"


class _Handles(Writer):
    """The handles: a class that holds the id of a thing, and has the methods of its noun that are about one."""

    def text(self) -> str:
        """Return the file."""
        return self.file("the protos", [line for noun, key in HANDLES.items() for line in self._handle(noun, key)])

    def _handle(self, noun: str, key: str) -> Iterator[str]:
        name, thing, result = _Calls.class_name(noun), noun.removesuffix("s"), camel(key)
        self.imports(f"../{HAND_NOUNS[noun]}.js", f"type {name}")
        yield from ("", f"/** A {thing}, by its id: the methods of `{noun}` that are about one. */")
        yield f"export class {_pascal(thing)}Handle {{"
        yield f"  readonly #{noun}: {name};"
        yield ""
        yield f"  constructor({noun}: {name}, readonly {result}: string) {{"
        yield f"    this.#{noun} = {noun};"
        yield "  }"
        for rpc in self.model.rpcs:
            if rpc.noun == noun and any(field.name == key for field in rpc.request.fields):
                for call in calls_of(self.model, rpc) or (Call(args=key),):  # by hand they have it first, too
                    yield from self._method(rpc, call, name, key)
        yield "}"

    def _method(self, rpc: Rpc, call: Call, name: str, key: str) -> Iterator[str]:
        verb, result = camel(call.verb or rpc.verb), camel(key)
        method = f'{name}["{verb}"]'
        yield ""
        yield from self.comment(f"As `{rpc.noun}.{verb}`.", "  ")
        if call.args.split()[:1] == [key]:
            self.imports("../noun.js", "type Rest")
            yield f"  {verb}(...rest: Rest<{method}>): ReturnType<{method}> {{"
            yield f"    return this.#{rpc.noun}.{verb}(this.{result}, ...rest);"
        else:
            self.imports("../noun.js", "type Argument", "type Options")
            argument = call.args
            argument = camel(argument)
            yield f"  {verb}("
            yield f"    {argument}: Argument<{method}>,"
            yield f'    options: Omit<Options<{method}>, "{result}"> = {{}},'
            yield f"  ): ReturnType<{method}> {{"
            yield f"    return this.#{rpc.noun}.{verb}({argument}, {{ ...options, {result}: this.{result} }});"
        yield "  }"


def _clients_nouns(client: type[_Calls], nouns: Mapping[str, Sequence[Rpc]]) -> str:
    """Return the class that has a client's nouns."""
    names = {noun: client.class_name(noun) for noun in nouns}
    modules = {
        noun: f"../{hand}" if (hand := client.hand_module(noun)) else f"./nouns/{client.stem(noun)}" for noun in nouns
    }
    name = client.kind.capitalize()
    return "\n".join(
        [
            "// Made from the protos by `make proto`.",
            "",
            f'import {{ {client.client} }} from "{client.client_module}";',
            *(f'import {{ {names[noun]} }} from "{modules[noun]}.js";' for noun in nouns),
            "",
            f"export {{ {', '.join(names.values())} }};",
            "",
            f"/** What the client of the {client.service} has calls about. */",
            f"export abstract class {name}Nouns extends {client.client} {{",
            *(f"  readonly {camel(noun)} = new {names[noun]}(this);" for noun in nouns),
            "}",
            "",
        ]
    )


def _joined(comment: str) -> str:
    return " ".join(comment.split())


def _pascal(name: str) -> str:
    return camel(name)[0].upper() + camel(name)[1:]


class _EntityCalls(_Calls):
    """The calls of a noun of the Entity Service, where the client itself looks external ids up."""

    kind, service = "entity", "Entity Service"
    packages = ("contextkeep.entity.", "contextkeep.context.v1.Observing")
    prefix = "entity_"
    parent, module, client, client_module = "NodeNoun", "../entity/names.js", "Client", "../client.js"

    def _names_node(self, _field: Field) -> bool:
        return True

    def _is_looked_up(self, _field: Field, _message: Message) -> bool:
        return True

    def _looked_up(self, field: Field, rpc: Rpc, source: str, call: Call) -> Iterator[str]:
        if any(item.name == "page_token" for item in rpc.request.fields):
            return
        lookup = f"await this.nodeId({source}, options)"
        is_given = field.name in call.args.split()
        yield f"{camel(field.name)}: {lookup if is_given else f'{source} === undefined ? undefined : {lookup}'},"

    def _rows(self, rpc: Rpc, method: str, conversion: str) -> Iterator[str]:
        nodes = [field.name for field in rpc.request.fields if field.name in _NODES]
        if not nodes:
            yield from super()._rows(rpc, method, conversion)
            return
        self.imports("../rows.js", "type Rows")
        name = camel(nodes[0])
        yield f"    return this.rowsOf({name}, options, async (id, pageToken) => {{"
        yield f"      const page = await this.client.call({method}, {{ ...request, {name}: id, pageToken }}, options);"
        yield f"      return [{conversion}, page.nextPageToken];"
        yield "    });"
