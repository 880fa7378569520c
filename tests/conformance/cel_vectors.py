"""The CEL specification's test vectors, run on our evaluator.

`python -m tests.conformance.cel_vectors [FOLDER]` prints a line a suite, the
names that fail, and the total; below 99 % it exits with 1. The folder is the
argument, else `CEL_VECTORS`, else `../shared/cel-vectors` beside the repository;
where that is not there, and none was named, nothing runs and it says so.

A suite is a JSON file: a list of `{name, expr, bindings, want}` with typed
values, where `{"error": true}` is any error. Vectors declare no variables, and
some read unbound ones or call unknown functions on purpose, so expressions are
compiled unchecked: such a name is an error of the evaluation.
"""

from __future__ import annotations

import base64
import json
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_service.kernel.cel import CallBudget, CelError, CelType, Duration, EvaluationError, Timestamp, Uint
from context_service.kernel.cel.expression import compile_unchecked
from context_service.kernel.cel.values import equals, key_of, type_name

PASSING_PERCENT_MIN = 99.0
FOLDER_DEFAULT = Path(__file__).parents[2] / ".." / "shared" / "cel-vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """One expression and what it must give."""

    suite: str
    name: str
    expr: str
    bindings: dict[str, Any]
    want: dict[str, Any]


def vectors_folder(argument: str | None = None) -> Path:
    """Return the folder to read: the argument, the environment's, or the usual one."""
    return Path(argument or os.environ.get("CEL_VECTORS") or FOLDER_DEFAULT)


def load_vectors(folder: Path) -> Iterator[Vector]:
    """Yield the vectors of all suites in `folder`."""
    for path in sorted(folder.glob("*.json")):
        for item in json.loads(path.read_text()):
            yield Vector(
                suite=path.stem,
                name=item["name"],
                expr=item["expr"],
                bindings=item.get("bindings", {}),
                want=item["want"],
            )


def failure_of(vector: Vector) -> str | None:
    """Return why `vector` fails; None if it passes."""
    wants_error = "error" in vector.want
    try:
        want = None if wants_error else _value(vector.want)
        variables = {name: _value(value) for name, value in vector.bindings.items()}
        expression = compile_unchecked(vector.expr, variables=frozenset(variables))
        got = expression.evaluate(variables, CallBudget())
    except (CelError, EvaluationError) as error:
        return None if wants_error else f"error: {error}"
    except Exception as error:  # a fault of ours, or a form of value that is not read here
        return f"{type(error).__name__}: {error}"
    if wants_error:
        return f"no error but {got!r}"
    return None if same_value(got, want) else f"{got!r} instead of {want!r}"


def _value(typed: dict[str, Any]) -> Any:
    """Return the value of a typed one, `{"int": "1"}` and the like."""
    ((kind, value),) = typed.items()
    match kind:
        case "int":
            return int(value)
        case "uint":
            return Uint(value)
        case "double":
            return float(value)
        case "bytes":
            return base64.b64decode(value)
        case "list":
            return [_value(item) for item in value]
        case "map":
            return {key_of(_value(key)): _value(item) for key, item in value}
        case "type":
            return CelType(value)
        case "timestamp":
            return Timestamp.parse(value) if isinstance(value, str) else Timestamp(_ns(value))
        case "duration":
            return Duration.parse(value) if isinstance(value, str) else Duration(_ns(value))
        case "null" | "bool" | "string":
            return value
    raise ValueError(f"unknown kind of value {kind!r}")


def _ns(parts: dict[str, Any]) -> int:
    """Return the nanoseconds of protobuf's `seconds` and `nanos`."""
    return int(parts.get("seconds", 0)) * 10**9 + int(parts.get("nanos", 0))


def same_value(got: Any, want: Any) -> bool:
    """Return whether two values are the same: of one type, NaN being itself, zeros signed."""
    if type_name(got) != type_name(want):
        return False
    if isinstance(want, CelType):
        return bool(got.name == want.name)
    if isinstance(want, float):
        return (math.isnan(got) and math.isnan(want)) or (
            got == want and math.copysign(1, got) == math.copysign(1, want)
        )
    if isinstance(want, list):
        return len(got) == len(want) and all(map(same_value, got, want))
    if isinstance(want, dict):
        return got.keys() == want.keys() and all(same_value(got[key], want[key]) for key in want)
    return equals(CallBudget(evaluation_steps_max=1_000_000), got, want)


def main(arguments: list[str]) -> int:
    """Run all vectors, print the outcome, return the exit code."""
    folder = vectors_folder(arguments[0] if arguments else None)
    if folder == FOLDER_DEFAULT and not folder.is_dir():
        print("cel vectors: skipped, they are not here; CEL_VECTORS=folder says where they are")
        return 0
    suites: dict[str, list[str | None]] = {}
    for vector in load_vectors(folder):
        failure = failure_of(vector)
        line = None if failure is None else f"  {vector.name}: {vector.expr!r}: {failure}"
        suites.setdefault(vector.suite, []).append(line)
    for suite, lines in suites.items():
        print(f"{suite}: {lines.count(None)} of {len(lines)}")
        for line in lines:
            if line is not None:
                print(line)
    total = sum(map(len, suites.values()))
    passed = sum(lines.count(None) for lines in suites.values())
    percent = 100 * passed / total if total else 0.0
    print(f"cel vectors: {passed} of {total} passed ({percent:.1f} %)")
    return 0 if percent >= PASSING_PERCENT_MIN else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
