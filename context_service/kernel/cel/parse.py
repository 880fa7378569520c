"""Expression text to our tree, by cel-python's grammar.

Only this module imports cel-python. It takes the grammar and its parser, not
the lexer: our tokens are fed one by one, so an error is known at the very token
that does not fit. Its tree has a level for each precedence; ours has none.
"""

from __future__ import annotations

import sys
from typing import Any

from context_service.kernel.cel.budget import CompileBudget
from context_service.kernel.cel.errors import CelError, ExpressionTooLarge, hint
from context_service.kernel.cel.lexer import Token, tokens_of
from context_service.kernel.cel.syntax import (
    Call,
    Conditional,
    Ident,
    Index,
    ListLiteral,
    Literal,
    Logic,
    MapLiteral,
    Node,
    Operation,
    Position,
    Select,
    Step,
    Unary,
)
from context_service.kernel.cel.values import INT_MAX

# cel-python raises the recursion limit of the whole process; this process keeps its own.
_recursion_limit = sys.getrecursionlimit()
try:
    import lark
    from celpy.celparser import CELParser
    from lark.exceptions import UnexpectedToken
finally:
    sys.setrecursionlimit(_recursion_limit)

_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_TERMINALS = {
    "quoted": "IDENT",
    "int": "INT_LIT",
    "uint": "UINT_LIT",
    "float": "FLOAT_LIT",
    "string": "STRING_LIT",
    "bytes": "BYTES_LIT",
}
_CONSTANTS = {"true": True, "false": False, "null": None}
_NAMED = {"true": "BOOL_LIT", "false": "BOOL_LIT", "null": "NULL_LIT", "in": "IN"}
NO_IDENTIFIERS = _RESERVED | _NAMED.keys()  # though they look like some
_SHOWN_CHARS_MAX = 40  # characters of a token that an error shows
# A level of brackets holds operators of several precedences; each is a level of the tree.
_TREE_LEVELS = 2


def parse(source: str, budget: CompileBudget) -> Node:
    """Return the tree of `source`, and store it in the budget for later checks.

    Raises:
        ExpressionTooLarge: `source` is longer or deeper than an expression may be, or there are no symbols left.
        CelError: `source` is not an expression of the language.
        CompileStopped: no caller waits any more.
    """
    tokens, end = tokens_of(source, budget)
    parser, punctuation = _grammar()
    steps = parser.parse_interactive("")
    try:
        for index, token in enumerate(tokens):
            budget.look()
            steps.feed_token(_lark_token(token, index, punctuation))
        tree = steps.feed_eof()
    except UnexpectedToken as error:
        raise _unexpected(error, tokens, end) from None
    budget.trees[source] = node = _Builder(tokens, budget).node(tree, 0)
    return node


def _grammar() -> tuple[Any, dict[str, str]]:
    """Return cel-python's parser and the grammar's names of operators."""
    CELParser()  # makes the parser, once a process
    parser: Any = CELParser.CEL_PARSER
    return parser, {
        terminal.pattern.value: terminal.name
        for terminal in parser.terminals
        if isinstance(terminal.pattern, lark.lexer.PatternStr)
    }


def _lark_token(token: Token, index: int, punctuation: dict[str, str]) -> Any:
    """Return the grammar's form of a token. Its positions are indexes into our tokens."""
    if token.kind == "op":
        kind = punctuation[token.text]
    elif token.kind == "name":
        kind = _NAMED.get(token.text, "IDENT")
    else:
        kind = _TERMINALS[token.kind]
    return lark.Token(
        kind,
        token.text,
        start_pos=index,
        end_pos=index + 1,
        line=token.at.line,
        column=token.at.column,
        end_line=token.at.line,
        end_column=token.at.column,
    )


def _unexpected(error: Any, tokens: list[Token], end: Position) -> CelError:
    """Return the error for a token that the grammar does not allow at its place, with a hint for common slips."""
    if error.token.type == "$END":
        return CelError("the expression ends too early", *end)
    index = error.token.start_pos
    token = tokens[index]
    before = tokens[index - 1].text if index else ""
    meant = hint(token.text) or (hint("not") if before == "not" else "")
    text = token.text if len(token.text) <= _SHOWN_CHARS_MAX else f"{token.text[:_SHOWN_CHARS_MAX]}..."
    return CelError(f"unexpected {text!r}{meant}", *token.at)


class _Builder:
    """Turns the grammar's tree into ours. Its recursion follows our levels only."""

    def __init__(self, tokens: list[Token], budget: CompileBudget) -> None:
        self._tokens = tokens
        self._budget = budget
        self._nesting_max = budget.expression.nesting_max

    def node(self, tree: Any, depth: int) -> Node:
        """Return our node for a tree of the grammar, without the grammar's levels that only pass a value on.

        Raises:
            ExpressionTooLarge: the expression is nested too deeply.
            CompileStopped: no caller waits any more.
        """
        self._budget.look()
        while len(tree.children) == 1 and tree.data in _PASSING:
            tree = tree.children[0]
        if depth > self._nesting_max * _TREE_LEVELS:
            raise ExpressionTooLarge(
                f"the expression is nested more than {self._nesting_max} levels deep",
                *self._at(tree),
                limit="nesting",
                maximum=self._nesting_max,
                value=self._nesting_max + 1,
            )
        build = _BUILDERS[tree.data]
        node: Node = build(self, tree, depth + 1)
        return node

    def _at(self, tree: Any) -> Position:
        token: Token = self._tokens[tree.meta.start_pos]
        return token.at

    def conditional(self, tree: Any, depth: int) -> Node:
        """Build the node of `a ? b : c`. Nested conditionals on the right become one node with many branches."""
        at = self._tokens[tree.children[0].meta.end_pos].at  # the question mark
        branches: list[tuple[Node, Node]] = []
        while tree.data == "expr" and len(tree.children) == 3:
            condition, then, tree = tree.children
            branches.append((self.node(condition, depth), self.node(then, depth)))
        return Conditional(tuple(branches), self.node(tree, depth), at)

    def logic(self, tree: Any, depth: int) -> Node:
        """Build the node of a chain such as `a && b && c`: one node with all terms, so that long chains do not nest."""
        operator = "||" if tree.data == "conditionalor" else "&&"
        at = self._tokens[tree.children[0].meta.end_pos].at
        kind = tree.data
        terms: list[Node] = []
        while tree.data == kind and len(tree.children) == 2:
            tree, right = tree.children
            terms.append(self.node(right, depth))
        terms.append(self.node(tree, depth))
        return Logic(operator, tuple(reversed(terms)), at)

    def operation(self, tree: Any, depth: int) -> Node:
        """Build the node of a chain such as `a + b - c`: one node with all steps, so that long chains do not nest."""
        kind = tree.data
        steps: list[Step] = []
        while tree.data == kind and len(tree.children) == 2:
            left, right = tree.children
            operator = self._tokens[left.meta.end_pos - 1]
            steps.append(Step(operator.text, self.node(right, depth), operator.at))
            tree = left.children[0]
        return Operation(self.node(tree, depth), tuple(reversed(steps)), steps[-1].at)

    def unary(self, tree: Any, depth: int) -> Node:
        """Build the node of `!a` or `-a`.

        A minus before an integer is part of it, because the smallest int64 could not be written otherwise.
        """
        sign, operand = tree.children
        at = self._at(sign)
        if sign.data == "unary_not":
            return Unary("!", self.node(operand, depth), at)
        number = self._bare_int(operand)
        if number is not None:
            return Literal(-number, at)
        return Unary("-", self.node(operand, depth), at)

    def _bare_int(self, tree: Any) -> int | None:
        """Return the value of a tree that is an int literal without parentheses; None for other trees."""
        while len(tree.children) == 1 and tree.data in _BARE:
            tree = tree.children[0]
        if tree.data != "literal" or tree.children[0].type != "INT_LIT":
            return None
        value = self._tokens[tree.meta.start_pos].value
        return value if isinstance(value, int) else None

    def select(self, tree: Any, depth: int) -> Node:
        operand, field = tree.children
        token = self._tokens[field.start_pos]
        return Select(self.node(operand, depth), token.text, token.kind == "quoted", token.at)

    def index(self, tree: Any, depth: int) -> Node:
        operand, index = tree.children
        at = self._tokens[operand.meta.end_pos].at  # the bracket
        return Index(self.node(operand, depth), self.node(index, depth), at)

    def method(self, tree: Any, depth: int) -> Node:
        """Build the node of a call of a method, such as `text.size()`."""
        operand, name, *args = tree.children
        token = self._unquoted(name)
        target = self.node(operand, depth)
        return Call(target, token.text, self._args(args, depth), False, token.at)

    def function(self, tree: Any, depth: int) -> Node:
        """Build the node of a call of a function, such as `size(text)`."""
        name, *args = tree.children
        token = self._unreserved(name)
        absolute = bool(tree.data == "dot_ident_arg")
        return Call(None, token.text, self._args(args, depth), absolute, token.at)

    def ident(self, tree: Any, depth: int) -> Node:
        token = self._unreserved(tree.children[0])
        return Ident(token.text, bool(tree.data == "dot_ident"), token.at)

    def literal(self, tree: Any, depth: int) -> Node:
        """Build the node of a constant.

        Raises:
            CelError: an integer does not fit 64 bits.
        """
        token = self._tokens[tree.meta.start_pos]
        if token.kind == "name":
            return Literal(_CONSTANTS[token.text], token.at)
        if token.kind == "int" and isinstance(token.value, int) and token.value > INT_MAX:
            raise CelError(f"the number {token.text} does not fit 64 bits", *token.at)
        return Literal(token.value, token.at)

    def list_literal(self, tree: Any, depth: int) -> Node:
        return ListLiteral(self._args(tree.children, depth), self._at(tree))

    def map_literal(self, tree: Any, depth: int) -> Node:
        sides = self._args(tree.children, depth)
        return MapLiteral(tuple(zip(sides[::2], sides[1::2], strict=True)), self._at(tree))

    def message(self, tree: Any, depth: int) -> Node:
        raise CelError("messages are not supported; write a map", *self._tokens[tree.meta.start_pos].at)

    def _args(self, lists: list[Any], depth: int) -> tuple[Node, ...]:
        """Return the nodes of an optional list of arguments."""
        return tuple(self.node(tree, depth) for trees in lists for tree in trees.children)

    def _unquoted(self, name: Any) -> Token:
        """Return the token of a name that must not be in backticks.

        Raises:
            CelError: the name is in backticks.
        """
        token: Token = self._tokens[name.start_pos]
        if token.kind == "quoted":
            raise CelError("only the name of a field may be in backticks", *token.at)
        return token

    def _unreserved(self, name: Any) -> Token:
        """Return the token of a name that must not be a reserved word.

        Raises:
            CelError: the name is a reserved word, or is in backticks.
        """
        token = self._unquoted(name)
        if token.text in _RESERVED:
            raise CelError(f"{token.text!r} is a reserved word", *token.at)
        return token


_BARE = frozenset({"unary", "member", "primary"})
_PASSING = _BARE | {
    "expr",
    "conditionalor",
    "conditionaland",
    "relation",
    "addition",
    "multiplication",
    "paren_expr",
}
_BUILDERS: dict[str, Any] = {
    "expr": _Builder.conditional,
    "conditionalor": _Builder.logic,
    "conditionaland": _Builder.logic,
    "relation": _Builder.operation,
    "addition": _Builder.operation,
    "multiplication": _Builder.operation,
    "unary": _Builder.unary,
    "member_dot": _Builder.select,
    "member_dot_arg": _Builder.method,
    "member_index": _Builder.index,
    "member_object": _Builder.message,
    "dot_ident_arg": _Builder.function,
    "dot_ident": _Builder.ident,
    "ident_arg": _Builder.function,
    "ident": _Builder.ident,
    "list_lit": _Builder.list_literal,
    "map_lit": _Builder.map_literal,
    "literal": _Builder.literal,
}
