"""Compiles the tree of an expression to Python closures, once, at registration.

Names, functions and numbers of arguments are resolved here. Types are checked when the expression runs, because JSON
declares none. The cost of a part without loops is known here, so it is charged as a whole when the part begins: an
expression at the start of its evaluation, the body of a loop for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from context_service.kernel.cel.budget import ENTRY_BYTES, ITEM_BYTES, CallBudget, CompileBudget
from context_service.kernel.cel.closures import (
    among,
    binary,
    caller,
    chain,
    choice,
    equal_to,
    exactly_one,
    filtering,
    indexer,
    junction,
    mapping,
    negation,
    quantifier,
)
from context_service.kernel.cel.errors import CelError, EvaluationError, hint
from context_service.kernel.cel.library.functions import GLOBAL, METHODS, NAMESPACES, Function
from context_service.kernel.cel.library.operators import ARITHMETIC, RELATIONS, Operator, negate
from context_service.kernel.cel.library.strings import BadPattern, Pattern, symbols_of
from context_service.kernel.cel.paths import (
    BUDGET,
    LOCALS,
    VARIABLES,
    Env,
    Path,
    Presence,
    Run,
    joined,
    negated,
    presence,
    reader,
    selector,
    tester,
)
from context_service.kernel.cel.syntax import (
    Call,
    Conditional,
    Ident,
    Index,
    ListLiteral,
    Logic,
    MapLiteral,
    Node,
    Operation,
    Position,
    Select,
    Unary,
)
from context_service.kernel.cel.syntax import Literal as Constant
from context_service.kernel.cel.values import TYPES, key_of, type_name
from contextkeep.slips import meant

_TURN_STEPS: Final = 2  # cost of one element of a loop, in addition to the body
_LOOPS: Final = {
    "all": (2,),
    "exists": (2,),
    "exists_one": (2,),
    "existsOne": (2,),
    "map": (2, 3),
    "filter": (2,),
}
_OPERATORS: Final[dict[str, Operator]] = {**ARITHMETIC, **RELATIONS}
# Sums keep the type of their first side, except for times.
_SUMMED: Final = frozenset({"bytes", "double", "int", "list", "string", "uint"})
# Constant arguments of these functions are evaluated once, at registration, and not for every node.
_FOLDED: Final = frozenset({"duration", "timestamp"})


@dataclass(frozen=True, slots=True)
class Code:
    """A node that was compiled: its closure, its cost and its type."""

    run: Run
    cost: int  # steps of one evaluation, without the turns of loops inside
    type: str | None = None  # the type of every value that the code gives, if it is known
    constant: bool = False
    path: Path | None = None  # set if the code only reads this path
    presence: Presence | None = None  # set if the code only does this test

    @property
    def value(self) -> Any:
        """The value of a constant; constants do not read the environment."""
        return self.run([])


_Scope = Mapping[str, int]  # the places of the names that macros bind
Fields = Mapping[str, frozenset[str]]
NO_FIELDS: Final[Fields] = {}


class Compiler:
    """Compiles one expression to a closure.

    Args:
        variables: The names of the variables that it may read.
        budget: The budget that compiling is charged to, and that may stop it.
        checked: Whether an expression that is evidently wrong is refused.
        fields: The names of the fields, for variables that always have the same fields.
    """

    def __init__(
        self, variables: frozenset[str], budget: CompileBudget, *, checked: bool, fields: Fields = NO_FIELDS
    ) -> None:
        self._variables = variables
        self._budget = budget
        self._fields = fields
        self._checked = checked
        self._paths: set[tuple[str, ...]] = set()
        self._places = LOCALS  # the next free place in the environment
        self.types: dict[int, str | None] = {}  # evident types, by the node's id

    @property
    def paths(self) -> frozenset[tuple[str, ...]]:
        """The variables and fields that the compiled code reads, as far as the text shows."""
        return frozenset(self._paths)

    @property
    def locals_count(self) -> int:
        """The number of slots in the environment for the names that macros bind."""
        return self._places - LOCALS

    def code(self, node: Node, scope: _Scope) -> Code:
        """Compile a node.

        Raises:
            CelError: an unknown name or function, or a wrong number of arguments.
            CompileStopped: no caller waits any more.
        """
        self._budget.look()
        compile_node: Callable[[Compiler, Any, _Scope], Code] = _NODES[type(node)]
        code = compile_node(self, node, scope)
        self.types[id(node)] = code.type
        return code

    def _refuse(self, message: str, at: Position) -> Code:
        """Refuse the expression; if it is compiled unchecked, return code that fails when it is evaluated."""
        if self._checked:
            raise CelError(message, *at)

        def fail(env: Env) -> Any:
            raise EvaluationError(message, *at)

        return Code(fail, 1)

    # Literals

    def _literal(self, node: Constant, scope: _Scope) -> Code:
        return _constant(node.value)

    def _list_literal(self, node: ListLiteral, scope: _Scope) -> Code:
        """Compile a list such as `[1, x]`. A list of constants is made once, and not in each evaluation."""
        items = [self.code(item, scope) for item in node.items]
        if all(item.constant for item in items):
            return _constant([item.value for item in items])
        runs = [item.run for item in items]
        size_bytes = ITEM_BYTES * len(runs)

        def build(env: Env) -> list[Any]:
            env[BUDGET].charge_bytes(size_bytes)
            return [run(env) for run in runs]

        return Code(build, 2 + sum(item.cost for item in items), "list")

    def _map_literal(self, node: MapLiteral, scope: _Scope) -> Code:
        """Compile a map literal, whose evaluation checks that each key is unique and of a valid type."""
        entries = [(self.code(key, scope), self.code(value, scope), key.at) for key, value in node.entries]
        runs = [(key.run, value.run, at) for key, value, at in entries]
        size_bytes = ENTRY_BYTES * len(runs)

        def build(env: Env) -> dict[Any, Any]:
            env[BUDGET].charge_bytes(size_bytes)
            built: dict[Any, Any] = {}
            for run_key, run_value, at in runs:
                key = run_key(env)
                stored = None if type(key) is float else key_of(key)
                if stored is None:
                    raise EvaluationError(f"{type_name(key)} cannot be a key of a map", *at)
                if stored in built:
                    raise EvaluationError("each key of a map must be unique", *at)
                built[stored] = run_value(env)
            return built

        cost = 2 + sum(2 + key.cost + value.cost for key, value, _ in entries)
        return Code(build, cost, "map")

    # Names and fields

    def _name(self, node: Ident | Select, scope: _Scope) -> Code:
        """Compile a name, together with the chain of fields that are read from it."""
        return self._path(node, scope) or self._computed_select(node, scope)

    def _index(self, node: Index, scope: _Scope) -> Code:
        """Compile `a[b]`. With constant keys it is a path, which one closure reads."""
        path = self._path(node, scope)
        if path is not None:
            return path
        operand = self.code(node.operand, scope)
        index = self.code(node.index, scope)
        return Code(indexer(operand.run, index.run, node.at), 3 + operand.cost + index.cost)

    def _path(self, node: Node, scope: _Scope, *, noted: bool = True) -> Code | None:
        """Compile a chain of fields that starts at a name, or return None if `node` is not such a chain.

        Args:
            node: The tree of the chain, such as `a.b.c`.
            scope: The slots of the names that macros bind.
            noted: Whether the chain is added to the fields that the expression reads.
        """
        keys: list[str] = []
        places: list[Position] = []
        plain = 0  # the number of keys after the name that are written with dots
        while True:
            if isinstance(node, Select):
                keys.append(node.field)
                plain = 0 if node.quoted else plain + 1
            elif isinstance(node, Index):
                if not isinstance(node.index, Constant) or not isinstance(node.index.value, str):
                    return None
                keys.append(node.index.value)
                plain = 0
            else:
                break
            places.append(node.at)
            node = node.operand
        if not isinstance(node, Ident):
            return None
        keys = [node.name, *reversed(keys)]
        places = [node.at, *reversed(places)]
        cost = 1 + len(keys) // 4
        if node.name in scope and not node.absolute:
            return _read(Path(scope[node.name], tuple(keys[1:]), tuple(places[1:])), cost)
        for count in range(1 + plain, 0, -1):
            known = ".".join(keys[:count])
            if known in self._variables:
                read = (known, *keys[count:])
                there = self._fields.get(known)
                if there is not None and count < len(keys) and keys[count] not in there:
                    return self._refuse(_unknown_field(known, keys[count], there), places[count])
                if noted:
                    self._paths.add(read)
                return _read(Path(VARIABLES, read, tuple(places[count - 1 :])), cost)
            if known in TYPES and count == len(keys):
                return _constant(TYPES[known])
        if node.name in NAMESPACES:
            return self._refuse(f"{node.name!r} is a namespace of functions, not a value", node.at)
        return self._refuse(_unknown_variable(node.name, self._variables), node.at)

    def _computed_select(self, node: Ident | Select, scope: _Scope) -> Code:
        """Compile `a.b` for an `a` that is computed, such as the result of a call."""
        if isinstance(node, Ident):
            raise AssertionError("the caller must handle a name, which is a path")
        operand = self.code(node.operand, scope)
        return Code(selector(operand.run, node.field, node.at), 2 + operand.cost)

    # Operators

    def _unary(self, node: Unary, scope: _Scope) -> Code:
        """Compile `!operand` or `-operand`."""
        operand = self.code(node.operand, scope)
        if node.operator == "!":
            code = Code(negation(operand.run, node.at), 1 + operand.cost, "bool")
            return _with_fast_test(code, negated(operand.presence))
        run, at = operand.run, node.at

        def minus(env: Env) -> Any:
            value = run(env)
            try:
                return negate(value)
            except EvaluationError as error:
                raise error.located(at) from None

        return Code(minus, 2 + operand.cost, operand.type)

    def _operation(self, node: Operation, scope: _Scope) -> Code:
        """Compile a chain of operators of one precedence, from left to right.

        A single comparison with a constant gets a shorter closure.
        """
        first = self.code(node.first, scope)
        operands = [self.code(step.operand, scope) for step in node.steps]
        cost = first.cost + sum(2 + operand.cost for operand in operands)
        operator = node.steps[-1].operator
        kind = "bool" if operator in RELATIONS else first.type if first.type in _SUMMED else None
        if len(operands) == 1:
            run = _shortcut(operator, first, operands[0]) or binary(
                _OPERATORS[operator], first.run, operands[0].run, node.at
            )
            return Code(run, cost, kind)
        rest = [
            (_OPERATORS[step.operator], operand.run, step.at)
            for step, operand in zip(node.steps, operands, strict=True)
        ]
        return Code(chain(first.run, rest), cost, kind)

    def _logic(self, node: Logic, scope: _Scope) -> Code:
        """Compile a chain of `&&` or `||`."""
        terms = [self.code(term, scope) for term in node.terms]
        run = junction(node.operator, [term.run for term in terms], node.at)
        code = Code(run, len(terms) + sum(term.cost for term in terms), "bool")
        return _with_fast_test(code, joined([term.presence for term in terms]) if node.operator == "&&" else None)

    def _conditional(self, node: Conditional, scope: _Scope) -> Code:
        """Compile a chain of `a ? b : c`. The result has a type only if all branches have the same."""
        branches = [(self.code(condition, scope), self.code(then, scope)) for condition, then in node.branches]
        otherwise = self.code(node.otherwise, scope)
        run = choice([(c.run, t.run) for c, t in branches], otherwise.run, node.at)
        cost = otherwise.cost + sum(1 + c.cost + t.cost for c, t in branches)
        types = {otherwise.type, *(then.type for _, then in branches)}
        return Code(run, cost, types.pop() if len(types) == 1 else None)

    # Calls

    def _call(self, node: Call, scope: _Scope) -> Code:
        """Compile a call: of a macro, a function, a function in a namespace such as `math`, or a method.

        They are tried in this order; a name that is none of them is refused.
        """
        if node.target is None:
            if node.function == "has" and not node.absolute:
                return self._has(node, scope)
            function = GLOBAL.get(node.function)
            if function is None:
                return self._refuse(_unknown_function(node.function), node.at)
            return self._apply(function, node, node.args, scope)
        if len(node.args) in _LOOPS.get(node.function, ()):
            return self._loop(node, node.target, scope)
        qualified = _dotted_name(node)
        if qualified == "cel.bind":
            return self._bind(node, scope)
        if qualified is not None and qualified in GLOBAL:
            return self._apply(GLOBAL[qualified], node, node.args, scope)
        if qualified is not None and self._in_namespace(qualified, scope):
            return self._refuse(f"unknown function {qualified!r}", node.at)
        method = METHODS.get(node.function)
        if method is None:
            if node.function in _LOOPS:
                counts = " or ".join(map(str, _LOOPS[node.function]))
                return self._refuse(f"{node.function} takes {counts} arguments", node.at)
            return self._refuse(_unknown_method(node.function), node.at)
        return self._apply(method, node, (node.target, *node.args), scope)

    def _in_namespace(self, qualified: str, scope: _Scope) -> bool:
        head = qualified.partition(".")[0]
        return head in NAMESPACES and head not in scope and head not in self._variables

    def _apply(self, function: Function, node: Call, args: tuple[Node, ...], scope: _Scope) -> Code:
        """Compile a call of a function or method with its arguments.

        A constant pattern of `matches` is compiled at once, and some calls with a constant argument become constants.
        """
        codes = [self.code(arg, scope) for arg in args]
        if not function.arity_min <= len(node.args) <= function.arity_max:
            return self._refuse(_wrong_arity(function, len(node.args)), node.at)
        if function.name == "matches" and codes[1].constant:
            return self._matches(node, codes, args[1].at)
        code = Code(
            caller(function.run, [code.run for code in codes], node.at),
            function.cost + len(codes) + sum(code.cost for code in codes),
            function.result,
        )
        if function.name in _FOLDED and codes[0].constant:
            return _constant_of(code)
        return code

    def _matches(self, node: Call, codes: list[Code], pattern_at: Position) -> Code:
        """Compile `matches` with a constant pattern, which is compiled here too."""
        if type(codes[1].value) is not str:
            return self._refuse("matches needs a string as its pattern", pattern_at)
        self._budget.charge(symbols_of(codes[1].value), pattern_at)
        try:
            pattern = Pattern(codes[1].value)
        except BadPattern as error:
            return self._refuse(str(error), pattern_at)
        run = caller(pattern.matches, [codes[0].run], node.at)
        return Code(run, 5 + codes[0].cost, "bool")

    def _has(self, node: Call, scope: _Scope) -> Code:
        """Compile `has(a.b)`, which tests for a field without reading it."""
        if len(node.args) != 1:
            return self._refuse("has takes 1 argument", node.at)
        (arg,) = node.args
        if not isinstance(arg, Select):
            return self._refuse("has needs a field, as in has(entity.data)", arg.at)
        self._path(arg, scope)  # notes this field as read, and not its siblings
        operand = self._path(arg.operand, scope, noted=False) or self.code(arg.operand, scope)
        code = Code(tester(operand.run, arg.field, arg.at), 2 + operand.cost, "bool")
        return _with_fast_test(code, presence(operand.path, arg.field))

    def _loop(self, node: Call, target: Node, scope: _Scope) -> Code:
        """Compile a macro that loops over a list or a map: `all`, `exists`, `exists_one`, `map` or `filter`.

        The element is bound to a name that only the body sees, in a slot of the environment.
        """
        variable, *bodies = node.args
        if not isinstance(variable, Ident) or variable.absolute:
            return self._refuse(f"{node.function} needs a name to bind first", variable.at)
        source = self.code(target, scope)
        slot = self._place()
        inner = {**scope, variable.name: slot}
        codes = [self.code(body, inner) for body in bodies]
        runs = [code.run for code in codes]
        cost = _TURN_STEPS + sum(code.cost for code in codes)
        name = "exists_one" if node.function == "existsOne" else node.function
        run: Run
        if name in ("all", "exists"):
            decides = name == "exists"
            run = quantifier(name, source.run, slot, runs[0], cost, decides=decides, at=node.at)
        elif name == "exists_one":
            run = exactly_one(source.run, slot, runs[0], cost, node.at)
        elif len(runs) == 1 and name == "map":
            run = mapping(source.run, slot, runs[0], cost, node.at)
        else:
            body = runs[1] if len(runs) == 2 else None
            run = filtering(name, source.run, slot, runs[0], body=body, cost=cost, at=node.at)
        gives = "list" if name in ("map", "filter") else "bool"
        return Code(run, 3 + source.cost, gives)

    def _bind(self, node: Call, scope: _Scope) -> Code:
        """Compile `cel.bind(name, value, body)`, which evaluates `body` with a name for `value`."""
        if len(node.args) != 3:
            return self._refuse("cel.bind takes 3 arguments", node.at)
        variable, value, body = node.args
        if not isinstance(variable, Ident) or variable.absolute:
            return self._refuse("cel.bind needs a name to bind first", variable.at)
        bound = self.code(value, scope)
        slot = self._place()
        inner = self.code(body, {**scope, variable.name: slot})
        run_value, run_body = bound.run, inner.run

        def bind(env: Env) -> Any:
            env[slot] = run_value(env)
            return run_body(env)

        return Code(bind, 1 + bound.cost + inner.cost, inner.type)

    def _place(self) -> int:
        self._places += 1
        return self._places - 1


def _unknown_variable(name: str, there: frozenset[str]) -> str:
    """Return the error text for an unknown variable, with the known ones and the nearest of them."""
    known = hint(name)
    if not known and there:
        known = f", only {', '.join(sorted(there))}{meant(name, there) or '; a text stands in quotes'}"
    return f"unknown variable {name!r}{known}"


def _unknown_field(variable: str, field: str, there: frozenset[str]) -> str:
    hint = f"; is it {variable}.data.{field}?" if "data" in there else ""
    return f"{variable} has no field {field!r}, only {', '.join(sorted(there))}{hint}"


_NODES: Final[dict[type, Callable[[Compiler, Any, _Scope], Code]]] = {
    Constant: Compiler._literal,
    ListLiteral: Compiler._list_literal,
    MapLiteral: Compiler._map_literal,
    Ident: Compiler._name,
    Select: Compiler._name,
    Index: Compiler._index,
    Unary: Compiler._unary,
    Operation: Compiler._operation,
    Logic: Compiler._logic,
    Conditional: Compiler._conditional,
    Call: Compiler._call,
}


def _constant(value: object) -> Code:
    return Code(lambda env: value, 0, type_name(value), constant=True)


def _read(path: Path, cost: int) -> Code:
    return Code(reader(path), cost, path=path)


def _with_fast_test(code: Code, test: Presence | None) -> Code:
    """Return the code of a test, with a faster closure if there is one."""
    return code if test is None else replace(code, run=test.tester(code.run), presence=test)


def _constant_of(code: Code) -> Code:
    """Return a call with constant arguments as the constant that it gives; unchanged if the call fails."""
    try:
        return _constant(code.run([CallBudget()]))
    except EvaluationError:
        return code


def _shortcut(operator: str, left: Code, right: Code) -> Run | None:
    """Return a faster closure for a comparison with a constant; None if the general one is needed."""
    if operator == "in":
        return among(left.run, right.value) if right.constant else None
    if operator not in ("==", "!="):
        return None
    if left.constant and not right.constant:
        left, right = right, left
    return equal_to(left.run, right.value, negated=operator == "!=") if right.constant else None


def _dotted_name(node: Call) -> str | None:
    """Return the dotted name that is called, if the target is one."""
    names = [node.function]
    target = node.target
    while isinstance(target, Select):
        if target.quoted:
            return None
        names.append(target.field)
        target = target.operand
    if not isinstance(target, Ident):
        return None
    return ".".join((target.name, *reversed(names)))


def _unknown_function(name: str) -> str:
    if name in METHODS or name in _LOOPS:
        return f"{name} is a method; write it after a value, as in x.{name}(...)"
    return f"unknown function {name!r}{hint(name)}"


def _unknown_method(name: str) -> str:
    if name in GLOBAL or name == "has":
        return f"{name} is not a method; write {name}(...)"
    return f"unknown method {name!r}{hint(name)}"


def _wrong_arity(function: Function, arguments_count: int) -> str:
    """Return the error text for a call with the wrong number of arguments."""
    low, high = function.arity_min, function.arity_max
    if low == high:
        count = f"{low} argument{'' if low == 1 else 's'}"
    elif high == low + 1:
        count = f"{low} or {high} arguments"
    else:
        count = f"{low} or more arguments"
    return f"{function.name} takes {count}, not {arguments_count}"
