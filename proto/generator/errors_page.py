"""Write docs/errors.md: every reason, when it occurs, what to do, its metadata, and the calls that name it.

The docstring of an error class is the only source of the first three: sentences that say when, a paragraph that begins
with "Do:", and a list after "Metadata:". Which calls name a reason is in their comments in the protos.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import grpc
from model import Model, Rpc

from contextkeep.errors import ContextKeepError, Unavailable, error_classes
from service_runtime.http.connect import HTTP_STATUS

_HEAD = """\
# Errors

Every error of both services, made from [the error classes](../clients/python/contextkeep/errors.py) and the protos by
`make proto`. An error has a gRPC code, a text for people, and details for programs: a *reason*, metadata, the fields
that are wrong (`violations`) and, where the server knows it, how long to wait (`retry_after_s`).
[Python](python.md#errors) and TypeScript raise a class for each reason; [HTTP](http.md#errors) has the same details as
JSON.

Decide by the reason, not by the text. Treat a reason that your program does not know like its code.

- **Retries**: the clients retry `UNAVAILABLE` and its reasons themselves, and only calls that are safe to repeat:
  reads, and writes with a `request_id`. They return every other error at once.
- **Metadata**: all values are texts, and a key can be absent.
- **Calls**: the calls whose comment names the reason. A reason without this line is general: its text says when it
  occurs.
"""

_CODES_HEAD = """\
| code | HTTP | meaning | what to do |
| --- | --- | --- | --- |"""

# Of a reason that more calls name, the page has only their number.
_CALLS_MAX = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """The docstring of an error class, in its parts."""

    when: str  # Markdown, paragraphs
    action: str
    metadata: Mapping[str, str]  # meanings by key, or by keys with commas


def page(model: Model) -> str:
    """Return the page."""
    classes = [error_class for error_class in error_classes() if error_class.__module__ == ContextKeepError.__module__]
    calls = _calls_by_reason(model, {error.reason for error in classes})
    by_code: dict[grpc.StatusCode, list[type[ContextKeepError]]] = {}
    for error in classes:
        by_code.setdefault(error.code, []).append(error)
    return "\n".join([_HEAD, _CODES_HEAD, *map(_code_row, by_code), "", *_sections(by_code, calls)])


def _code_row(code: grpc.StatusCode) -> str:
    (base,) = (error for error in ContextKeepError.__subclasses__() if error.code is code)
    text = _text_of(base)
    sentence = text.when.split("\n")[0]
    return f"| [`{code.name}`](#{code.name.lower()}) | {_http(code)} | {sentence} | {text.action} |"


def _sections(
    by_code: Mapping[grpc.StatusCode, list[type[ContextKeepError]]], calls: Mapping[str, list[str]]
) -> Iterator[str]:
    for code, errors in by_code.items():
        for error in errors:
            text = _text_of(error)
            heading = "##" if error.reason == code.name else "###"
            yield f"{heading} {error.reason}\n"
            yield f"{text.when}\n"
            yield f"- **Do**: {text.action}"
            clients = "; the clients retry it" if issubclass(error, Unavailable) else ""
            yield f"- **Code**: `{code.name}`, HTTP {_http(code)}{clients}; class `{error.__name__}`"
            if text.metadata:
                yield "- **Metadata**:"
                for keys, meaning in text.metadata.items():
                    yield f"  - {', '.join(f'`{key}`' for key in keys.split(', '))}: {meaning}"
            if named := calls[error.reason]:
                yield f"- **Calls**: {_enumerated(named)}"
            yield ""


def _enumerated(names: list[str]) -> str:
    if len(names) > _CALLS_MAX:
        return f"{len(names)} calls"
    return ", ".join(f"`{name}`" for name in names)


def _http(code: grpc.StatusCode) -> int:
    return HTTP_STATUS.get(code, 500)


def _text_of(error: type[ContextKeepError]) -> _Text:
    """Return the parts of a class's docstring; a class that lacks one ends the generator."""
    paragraphs = inspect.cleandoc(error.__doc__ or "").split("\n\n")
    actions = [paragraph for paragraph in paragraphs if paragraph.startswith("Do: ")]
    lists = [paragraph for paragraph in paragraphs if paragraph.startswith("Metadata:")]
    when = [" ".join(paragraph.split()) for paragraph in paragraphs if paragraph not in (*actions, *lists)]
    if "__doc__" not in vars(error) or not when or len(actions) != 1 or len(lists) > 1:
        sys.exit(f"errors.py: the docstring of {error.__name__} must say when it occurs, then 'Do: ...'")
    metadata = {}
    for line in lists[0].splitlines()[1:] if lists else ():
        keys, separator, meaning = line.strip().partition(": ")
        if not separator:
            sys.exit(f"errors.py: {error.__name__}: {line.strip()!r} must be 'key: meaning', in one line")
        metadata[keys] = meaning
    action = " ".join(actions[0].removeprefix("Do: ").split())
    return _Text(when="\n\n".join(when), action=action, metadata=metadata)


def _calls_by_reason(model: Model, reasons: set[str]) -> dict[str, list[str]]:
    """Return the names of the calls whose comments name each reason, in the order of the protos."""
    rpcs = {rpc.name: rpc for rpc in model.rpcs}
    named = {name: _reasons_of(rpc, rpcs, reasons, frozenset()) for name, rpc in rpcs.items()}
    return {reason: [name for name, those in named.items() if reason in those] for reason in reasons}


def _reasons_of(rpc: Rpc, rpcs: Mapping[str, Rpc], reasons: set[str], seen: frozenset[str]) -> set[str]:
    """Return the reasons that a call's comment names, with those of the calls to which it refers ("those of Pack")."""
    _, _, text = " ".join(rpc.comment.split()).partition("Reasons:")
    text = _without_parentheses(text)
    items = {word for word in re.findall(r"\b[A-Z_]{5,}\b", text) if word in reasons}
    for listed in re.findall(r"those of ((?:\w+(?:, | and )?)+)", text):
        for name in re.findall(r"\w+", listed):
            if name in rpcs and name not in seen:
                items |= _reasons_of(rpcs[name], rpcs, reasons, seen | {rpc.name})
    return items


def _without_parentheses(text: str) -> str:
    """Return a text without its remarks in parentheses: they name codes, and reasons of other calls."""
    before = ""
    while before != text:
        before, text = text, re.sub(r"\([^()]*\)", "", text)
    return text
