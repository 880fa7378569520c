"""Write clients/typescript/src/_gen/nouns: the methods of the TypeScript client that are one call each.

The rules: a field of the request that `CALLS` names is an argument, and every other one an option; a list with a
`next_page_token` is `Rows`; an answer with one value is that value. Conversions are those of `typescript_values`,
the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from model import Field, Message, Model, Rpc
from typescript_table import BOTH, CALLS, HAND_NOUNS, Call
from typescript_values import (
    INTS64,
    LINE,
    TIMESTAMP,
    TYPES,
    Writer,
    camel,
    client_name,
    enum_texts,
    method_name,
    reached,
)

_NODES = ("node_id", "entity_node_id")


def files(model: Model) -> Iterator[tuple[str, str]]:
    """Yield the name and the content of the file of each noun, and of the nouns of each client."""
    values = reached(model)
    for client in (_Calls, _EntityCalls):
        nouns = client.nouns(model)
        for noun, rpcs in nouns.items():
            if rpcs := [rpc for rpc in rpcs if _key(rpc) in CALLS]:
                yield f"nouns/{client.stem(noun)}.ts", client(model, values).text(noun, rpcs)
        yield f"{client.kind}-nouns.ts", _clients_nouns(client, nouns)


class _Calls(Writer):
    """The calls of a noun of the Context Service, which looks external ids up itself."""

    folder = "nouns"
    kind, service = "context", "Context Service"
    packages: Sequence[str] = ("contextkeep.context.",)
    prefix = ""  # of the nouns that the other client has, too
    parent, module, client, client_module = "Noun<AppClient>", "../noun.js", "AppClient", "../context/app.js"

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
        name = camel(cls.stem(noun).replace("-", "_"))
        return name[0].upper() + name[1:]

    @classmethod
    def hand_module(cls, noun: str) -> str:
        """Return the module that has the noun's other methods; empty: there are none."""
        return HAND_NOUNS.get(cls.stem(noun), "")

    def text(self, noun: str, rpcs: Sequence[Rpc]) -> str:
        """Return the file."""
        name = self.class_name(noun)
        generated = f"Generated{name}" if self.hand_module(noun) else name
        body = [line for rpc in rpcs for line in self._options_type(rpc)]
        body += ["", f"/** The calls of `{camel(noun)}` that are one method each. */"]
        body.append(f"export class {generated} extends {self.parent} {{")
        methods = [[*self._method(rpc)] for rpc in rpcs]
        body += [line for number, method in enumerate(methods) for line in ([""] if number else []) + method]
        self.imports(self.module, self.parent.partition("<")[0])
        if "<" in self.parent:
            self.imports(self.client_module, f"type {self.client}")
        return self.file("the protos", [*body, "}"])

    def _options_type(self, rpc: Rpc) -> Iterator[str]:
        call = _call(rpc)
        if not call.options:
            return
        yield ""
        yield f"/** Options of `{client_name(rpc)}`. */"
        yield f"export interface {call.options} {{"
        for one in self._options(rpc):
            yield from self.comment(one.comment, "  ")
            yield f"  {self._name(one, call)}?: {self._type(one, call)};"
        yield "}"

    def _method(self, rpc: Rpc) -> Iterator[str]:
        call = _call(rpc)
        yield from self.comment("\n".join([rpc.comment, *self._parameters(rpc)]), "  ")
        is_page = any(field.name == "next_page_token" for field in rpc.response.fields)
        arguments = [f"{self._name(one, call)}: {self._type(one, call)}" for one in self._args(rpc)]
        arguments.append(f"options: {self._options_of(rpc)} = {{}}")
        (result, conversion) = self._answer(rpc, "page" if is_page else "answer")
        name = camel(rpc.verb)
        kind, promise = ("", f"Rows<{result}>") if is_page else ("async ", f"Promise<{result}>")
        line = f"  {kind}{name}({', '.join(arguments)}): {promise} {{"
        if len(line) <= LINE:
            yield line
        else:
            yield from (f"  {kind}{name}(", *(f"    {argument}," for argument in arguments), f"  ): {promise} {{")
        request = list(self._request(rpc.request, "", rpc, "      "))
        yield from ("    const request = {", *request, "    };") if request else ("    const request = {};",)
        method = f"{self.stub_of_service(rpc)}.method.{method_name(rpc.name)}"
        if is_page:
            yield from self._rows(rpc, method, conversion)
        elif result == "void":
            yield f"    await this.client.call({method}, request, options);"
        else:
            yield f"    const answer = await this.client.call({method}, request, options);"
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

    def _parameters(self, rpc: Rpc) -> Iterator[str]:
        """Yield the comments of arguments, and of options that have no type of their own."""
        call = _call(rpc)
        lines = [f"@param {self._name(one, call)} {_joined(one.comment)}" for one in self._args(rpc) if one.comment]
        if not call.options:
            lines += [
                f"@param options.{self._name(one, call)} {_joined(one.comment)}"
                for one in self._options(rpc)
                if one.comment
            ]
        if lines:
            yield from ("", *lines)

    def _options_of(self, rpc: Rpc) -> str:
        """Return the type of the options of a call."""
        call = _call(rpc)
        names = {field.name for field in rpc.request.fields}
        types = []
        fields = "; ".join(f"{self._name(one, call)}?: {self._type(one, call)}" for one in self._options(rpc))
        if call.options:
            types.append(call.options)
        elif fields:
            types.append(f"{{ {fields} }}")
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

    def _inputs(self, message: Message, call: Call) -> Iterator[Field]:
        """Yield the fields of a request that are arguments or options."""
        for field in message.fields:
            if field.name in call.flat:
                yield from self._inputs(self.model.messages[field.type_name], call)
            elif field.name not in ("request_id", "subject_user_id", "page_token", *self._node_lookup(message)):
                yield field

    def _args(self, rpc: Rpc) -> list[Field]:
        call = _call(rpc)
        by_name = {one.name: one for one in self._inputs(rpc.request, call)}
        return [by_name[name] for name in call.args]

    def _options(self, rpc: Rpc) -> list[Field]:
        call = _call(rpc)
        return [one for one in self._inputs(rpc.request, call) if one.name not in call.args]

    @staticmethod
    def _node_lookup(message: Message) -> Set[str]:
        """Return the fields that look a node up, if the request takes a node by the caller's own id, too."""
        names = {field.name for field in message.fields}
        return {"external_id", "graph_name"} if "external_id" in names and names & {*_NODES} else set()

    def _request(self, message: Message, path: str, rpc: Rpc, indent: str) -> Iterator[str]:
        call = _call(rpc)
        lookup = self._node_lookup(message)
        for field in message.fields:
            name = camel(field.name)
            if field.name in call.flat:
                yield f"{indent}{name}: {{"
                inner = self.model.messages[field.type_name]
                yield from self._request(inner, f"{path}{field.name}.", rpc, indent + "  ")
                yield f"{indent}}},"
            elif field.name == "request_id":
                yield f"{indent}requestId: requestId(options),"
            elif field.name in lookup or field.name == "page_token":
                continue
            elif field.name in _NODES and not lookup:
                yield from (f"{indent}{line}" for line in self._looked_up(field, rpc))
            else:
                member = self._name(field, call)
                source = member if field.name in call.args else f"options.{member}"
                if lookup and field.name in _NODES:
                    self.imports("../names.js", "nameFields")
                    yield f'{indent}...({source} !== undefined && nameFields("{name}", {source})),'
                    continue
                value = self._converted(field, source, f"{path}{field.name}", call)
                yield f"{indent}{name}," if value == name else f"{indent}{name}: {value},"

    def _looked_up(self, field: Field, _rpc: Rpc) -> Iterator[str]:
        raise ValueError(f"{field.name} of a request takes no external id: write the method by hand")

    def _name(self, field: Field, call: Call) -> str:
        is_parsed = field.name.endswith("_json") and field.name not in call.exact
        return camel(field.name.removesuffix("_json") if is_parsed else field.name)

    def _type(self, field: Field, call: Call) -> str:
        if field.name in _NODES:
            self.imports("../names.js", "type NodeName")
            return "NodeName"
        one = self._type_of_one(field, call)
        if not field.is_repeated:
            return one
        return f"({one})[]" if " " in one else f"{one}[]"

    def _type_of_one(self, field: Field, call: Call) -> str:
        if field.type_name == TIMESTAMP:
            return "Date | string"
        if field.is_enum:
            return " | ".join(f'"{name}"' for name in enum_texts(self.model.enums[field.type_name]))
        if field.type_name:
            inner = self.model.messages[field.type_name]
            if any(one.type_name or one.scalar in INTS64 or one.name.endswith("_json") for one in inner.fields):
                raise ValueError(f"{inner.full_name} of a request needs a conversion: write the method by hand")
            kind = self.nested_type(field.type_name)
            return kind if field.name in call.args else f"Partial<{kind}>"
        if field.name.endswith("_json") and field.name not in call.exact:
            return "object"
        if field.scalar in INTS64 and field.name in call.exact:
            return "bigint"
        return TYPES.get(field.scalar, "number")

    def _converted(self, field: Field, source: str, path: str, call: Call) -> str:
        if field.type_name == TIMESTAMP:
            self.imports("../times.js", "toTimestamp")
            return f'toTimestamp({source}, "{path}")'
        if field.is_enum:
            self.imports("../messages.js", "choice")
            enum = self.model.enums[field.type_name]
            stub = self.stub(enum, at_run_time=True)
            names = enum_texts(enum)
            choices = ", ".join(f"{name}: {stub}.{name.upper()}" for name in names)
            if field.is_repeated:
                return f'{source}?.map((item) => choice("{path}", item, {{ {choices} }}))'
            chosen = f'choice("{path}", {source}, {{ {choices} }})'
            return chosen if field.name in call.args else f"{source} && {chosen}"
        if field.scalar in INTS64 and field.name not in call.exact:
            self.imports("../messages.js", "whole")
            return f'whole("{path}", {source})'
        if field.scalar == "string" and field.name.endswith("_json") and field.name not in call.exact:
            self.imports("../json.js", "toObject")
            return f'toObject({source}, "{path}")'
        return source

    def _answer(self, rpc: Rpc, source: str) -> tuple[str, str]:
        """Return the type of what a method returns, and how it is made of the answer."""
        response = rpc.response
        if response.full_name in self.values:
            return self.nested_type(response.full_name), f"{self.nested_function(response.full_name)}({source})"
        fields: Sequence[Field] = [field for field in response.fields if field.name != "next_page_token"]
        if wanted := _call(rpc).answer:
            fields = [field for field in fields if field.name == wanted]
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
            is_long = field.scalar in INTS64
            return TYPES.get(field.scalar, "number"), f"Number({member})" if is_long else member
        kind, function = self.nested_type(field.type_name), self.nested_function(field.type_name)
        if field.is_repeated:
            is_page = source == "page"
            return (kind if is_page else f"{kind}[]"), f"{member}.map({function})"
        return kind, f"{function}({member}!)"


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


class _EntityCalls(_Calls):
    """The calls of a noun of the Entity Service, where the client itself looks external ids up."""

    kind, service = "entity", "Entity Service"
    packages = ("contextkeep.entity.", "contextkeep.context.v1.Observing")
    prefix = "entity_"
    parent, module, client, client_module = "NodeNoun", "../entity/names.js", "Client", "../client.js"

    def _looked_up(self, field: Field, rpc: Rpc) -> Iterator[str]:
        if not any(one.name == "page_token" for one in rpc.request.fields):
            yield f"{camel(field.name)}: await this.nodeId({camel(field.name)}, options),"

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


def _call(rpc: Rpc) -> Call:
    return CALLS[_key(rpc)]


def _key(rpc: Rpc) -> str:
    return f"entity.{rpc.name}" if rpc.service.startswith("contextkeep.entity.") else rpc.name
