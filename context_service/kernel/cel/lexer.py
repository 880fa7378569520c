r"""Text to tokens, in one pass whose time is linear in the text.

The grammar's own lexer takes exponential time on some texts and reads some
literals wrongly: it rejects `\?` and `\X41` and lets unknown escapes through.
So tokens are made here, and escapes are read as the language definition has
them. Length and nesting are checked here too: nothing that passes them can be
slow or deep for the parser.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from math import isinf

from context_service.kernel.cel.budget import CompileBudget
from context_service.kernel.cel.errors import CelError, ExpressionTooLarge, hint
from context_service.kernel.cel.syntax import Position
from context_service.kernel.cel.values import UINT_MAX, Uint

# The alternatives of a literal's body start with different characters, so no text is tried twice.
_TOKEN = re.compile(
    r"""
    (?P<space>[\t\n\f\r ]+ | //[^\r\n]*)
  | (?P<raw>[bB]?[rR]
        (?: '''(?P<raw3s>(?:[^'] | '(?!''))*)'''
          | \"\"\"(?P<raw3d>(?:[^"] | "(?!""))*)\"\"\"
          | '(?!'')(?P<raw1s>[^'\r\n]*)'
          | "(?!"")(?P<raw1d>[^"\r\n]*)" ))
  | (?P<text>[bB]?
        (?: '''(?P<text3s>(?:[^'\\] | \\. | '(?!''))*)'''
          | \"\"\"(?P<text3d>(?:[^"\\] | \\. | "(?!""))*)\"\"\"
          | '(?!'')(?P<text1s>(?:[^'\\\r\n] | \\[^\r\n])*)'
          | "(?!"")(?P<text1d>(?:[^"\\\r\n] | \\[^\r\n])*)" ))
  | (?P<float>[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)? | [0-9]+[eE][+-]?[0-9]+)
  | (?P<int>(?:0x[0-9a-fA-F]+ | [0-9]+)(?P<unsigned>[uU])?)
  | (?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
  | (?P<quoted>`[a-zA-Z0-9_.\-/\ ]+`)
  | (?P<op>\|\||&&|<=|>=|==|!=|[-+*/%!<>?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_BODIES = ("raw3s", "raw3d", "raw1s", "raw1d", "text3s", "text3d", "text1s", "text1d")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its kind, its text, its value if it is a literal, and its position."""

    kind: str  # "name", "quoted", "int", "uint", "float", "string", "bytes", or "op"
    text: str  # as written; for a quoted name, the text between the backticks
    value: object  # the value of a literal; an int may be 2**63, for the minus before it
    at: Position


def tokens_of(source: str, budget: CompileBudget) -> tuple[list[Token], Position]:
    """Return the tokens of `source` and the position after its last character.

    Raises:
        ExpressionTooLarge: `source` is longer or deeper than an expression may be, or there are no symbols left.
        CelError: a character, a literal or an escape that the language does not have.
    """
    limits = budget.expression
    if len(source) > limits.length_max:
        raise ExpressionTooLarge(
            f"an expression may have up to {limits.length_max} characters (got {len(source)})",
            *_Lines(source[: limits.length_max]).position(limits.length_max),
            limit="length",
            maximum=limits.length_max,
            value=len(source),
        )
    lines = _Lines(source)
    tokens: list[Token] = []
    depth = signs = 0
    offset = 0
    while offset < len(source):
        match = _TOKEN.match(source, offset)
        if match is None:
            raise CelError(_unreadable(source, offset), *lines.position(offset))
        start, offset = offset, match.end()
        if match["space"] is not None:
            continue
        token = _token(match, lines.position(start), lines, start)
        budget.charge(1, token.at)
        if token.kind == "op":
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
            signs = signs + 1 if _is_sign(token, tokens) else 0
            if max(depth, signs) > limits.nesting_max:
                raise ExpressionTooLarge(
                    f"the expression is nested more than {limits.nesting_max} levels deep",
                    *token.at,
                    limit="nesting",
                    maximum=limits.nesting_max,
                    value=max(depth, signs),
                )
        else:
            signs = 0
        tokens.append(token)
    return tokens, lines.position(len(source))


class _Lines:
    """The offsets at which the lines of a text start."""

    def __init__(self, source: str) -> None:
        self._starts = [0, *(match.end() for match in _NEWLINE.finditer(source))]

    def position(self, offset: int) -> Position:
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)


def _token(match: re.Match[str], at: Position, lines: _Lines, start: int) -> Token:
    """Return the token of a match of the token pattern, with the value of a literal.

    Raises:
        CelError: a literal has an invalid escape.
    """
    text = match.group()
    if match["op"] is not None:
        return Token("op", text, None, at)
    if match["name"] is not None:
        return Token("name", text, None, at)
    if match["quoted"] is not None:
        return Token("quoted", text[1:-1], None, at)
    if match["float"] is not None:
        return _float(text, at)
    if match["int"] is not None:
        return _integer(text, match["unsigned"] is not None, at)
    body = next(name for name in _BODIES if match[name] is not None)
    is_bytes = text[0] in "bB"
    kind = "bytes" if is_bytes else "string"
    content = match[body]
    if match["raw"] is not None:
        return Token(kind, text, content.encode() if is_bytes else content, at)
    try:
        value = unescape_bytes(content) if is_bytes else unescape_string(content)
    except BadEscape as error:
        inside = match.start(body) + error.offset
        raise CelError(error.message, *lines.position(inside)) from error
    return Token(kind, text, value, at)


def _float(text: str, at: Position) -> Token:
    """Return the token of a decimal number.

    Raises:
        CelError: it does not fit a double.
    """
    value = float(text)
    if isinf(value):
        raise CelError(f"the number {text[:40]} does not fit a double", *at)
    return Token("float", text, value, at)


def _integer(text: str, unsigned: bool, at: Position) -> Token:
    """Return the token of an integer.

    A value of 2**63 passes, because a minus before it makes it the smallest int64.

    Raises:
        CelError: it does not fit 64 bits.
    """
    digits = text[:-1] if unsigned else text
    value = int(digits, 16) if digits[:2] == "0x" else int(digits)
    if value > UINT_MAX if unsigned else value > 2**63:
        raise CelError(f"the number {text} does not fit 64 bits", *at)
    return Token("uint", text, Uint(value), at) if unsigned else Token("int", text, value, at)


def _is_sign(token: Token, before: list[Token]) -> bool:
    """Return whether a minus is a sign, and not the operator of a subtraction."""
    if token.text == "!":
        return True
    if token.text != "-":
        return False
    if not before:
        return True
    last = before[-1]
    if last.kind == "name":
        return last.text == "in"
    return last.kind == "op" and last.text not in _CLOSING


def _unreadable(source: str, offset: int) -> str:
    """Return the error text for a character that begins no token."""
    if re.compile(r"[bBrR]{0,2}[\"']").match(source, offset):
        return "the string is not closed"
    if source[offset] == "`":
        return "a name in backticks is letters, digits, and _ . - / and spaces, in one line"
    return f"unexpected character {source[offset]!r}{hint(source[offset])}"


# String and bytes literals: the text between the quotes.

_SIMPLE = {
    "\\": "\\",
    "?": "?",
    '"': '"',
    "'": "'",
    "`": "`",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_ESCAPE = re.compile(
    r"\\(?:([\\?\"'`abfnrtv])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
    r"|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
)


class BadEscape(ValueError):
    """An escape that the language does not have; `offset` is its place in the text."""

    def __init__(self, message: str, offset: int) -> None:
        """Keep the message and the place."""
        super().__init__(message)
        self.message = message
        self.offset = offset


def unescape_string(text: str) -> str:
    """Return the value of the string literal `text`.

    Raises:
        BadEscape: an unknown escape, or one that is not a Unicode character.
    """
    parts: list[str] = []
    done = 0
    high: tuple[int, int] | None = None  # a high surrogate, and the escape's offset
    while True:
        escape = text.find("\\", done)
        if high is not None and escape != done:
            raise BadEscape("the escape is half of a surrogate pair", high[1])
        if escape < 0:
            parts.append(text[done:])
            return "".join(parts)
        parts.append(text[done:escape])
        simple, code, wide = _read_escape(text, escape)
        done = escape + len(wide)
        if high is not None:
            if not 0xDC00 <= code <= 0xDFFF:
                raise BadEscape("the escape is half of a surrogate pair", high[1])
            parts.append(chr(0x10000 + ((high[0] - 0xD800) << 10) + (code - 0xDC00)))
            high = None
        elif simple is not None:
            parts.append(simple)
        elif 0xD800 <= code <= 0xDBFF and wide[1] == "u":
            high = (code, escape)
        elif 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
            raise BadEscape("the escape does not stand for a Unicode character", escape)
        else:
            parts.append(chr(code))


def unescape_bytes(text: str) -> bytes:
    """Return the value of the bytes literal `text`; characters are UTF-8.

    Raises:
        BadEscape: an unknown escape, or a Unicode one, which bytes do not have.
    """
    parts: list[bytes] = []
    done = 0
    while (escape := text.find("\\", done)) >= 0:
        parts.append(text[done:escape].encode())
        simple, code, wide = _read_escape(text, escape)
        if wide[1] in "uU":
            raise BadEscape("bytes must not have Unicode escapes; use \\x or octal", escape)
        parts.append(simple.encode() if simple is not None else bytes([code]))
        done = escape + len(wide)
    parts.append(text[done:].encode())
    return b"".join(parts)


def _read_escape(text: str, offset: int) -> tuple[str | None, int, str]:
    """Return the simple character or None, the code, and the escape's own text."""
    match = _ESCAPE.match(text, offset)
    if match is None:
        raise BadEscape(f"unknown escape {text[offset : offset + 2]!r}", offset)
    simple, two, four, eight, octal = match.groups()
    if simple is not None:
        return _SIMPLE[simple], 0, match.group()
    if octal is not None:
        return None, int(octal, 8), match.group()
    return None, int(two or four or eight, 16), match.group()
