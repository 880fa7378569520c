"""The call of a page as a program and as a command, so that visitors can continue from there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

_CLIENTS = {"context": ("ContextClient", "client"), "graph": ("EntityClient", "entities")}  # class and variable


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """The same call in Python and in a shell."""

    python: str
    shell: str = ""  # empty: no command does it


def python(client: Literal["context", "graph"], method: str, *args: Any, **named: Any) -> str:
    """Return a program that makes a call and prints the answer; empty arguments are left out."""
    return _program(client, f"print({_call(client, method, args, named)})")


def python_each(client: Literal["context", "graph"], method: str, *args: Any, **named: Any) -> str:
    """Return a program that makes a call and prints each thing that comes back."""
    return _program(client, f"for one in {_call(client, method, args, named)}:\n        print(one)")


def shell(*words: Any, **options: Any) -> str:
    """Return a command of `contextkeep`; options that are empty are left out, and of True only the name stands.

    An option with a list appears once for each value.
    """
    line = ["contextkeep", *map(str, words)]
    for name, value in options.items():
        option = f"--{name.replace('_', '-').strip('-')}"
        if value is True:
            line.append(option)
        elif isinstance(value, list):
            line += [word for item in value for word in (option, str(item))]
        elif value not in (None, False, "", 0, ()):
            line += [option, *(map(str, value) if isinstance(value, tuple) else [str(value)])]
    return shlex.join(line)


def _call(client: str, method: str, args: tuple[Any, ...], parameters: Mapping[str, Any]) -> str:
    items = [repr(arg) for arg in args]
    items += [f"{name}={value!r}" for name, value in parameters.items() if value not in (None, "", (), False, 0)]
    return f"{_CLIENTS[client][1]}.{method}({', '.join(items)})"


def _program(client: str, body: str) -> str:
    name, variable = _CLIENTS[client]
    return f"from contextkeep import {name}\n\nwith {name}() as {variable}:\n    {body}"


def json_text(value: Any) -> str:
    """Return a value as JSON on a command line; an empty one is left out."""
    return json.dumps(value, ensure_ascii=False) if value else ""
