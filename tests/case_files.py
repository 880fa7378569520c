"""Cases in YAML files: read, and refused where they are not what they seem.

A case that says something nobody reads, or that expects nothing, holds whatever the service does. So a key that the
form does not have is an error, and so is a case without an expected answer.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parent / "cases"


class BadCase(Exception):
    """A case is not of its form."""


class _Loader(yaml.CSafeLoader):
    """YAML that can say what is long: `!repeat [3, "[", 1, x, 3, "]"]` is `[[[x]]]`, `!repeat [2, [y]]` is a list."""


def _repeated(loader: yaml.CSafeLoader, node: Any) -> Any:
    said = loader.construct_sequence(node, deep=True)
    whole = said[0] * said[1]
    for times, one in zip(said[2::2], said[3::2], strict=True):
        whole += times * one
    return whole


_Loader.add_constructor("!repeat", _repeated)


def cases(
    folder: str,
    *,
    keys: Collection[str],
    answers: Collection[str],
    needed: Collection[str] = (),
    node_keys: Collection[str] | None = None,
) -> list[Any]:
    """Return the cases of a folder as parameters of a test.

    Args:
        folder: Below `tests/cases`.
        keys: What a case may say, beside `name`, `contract` and `answers`.
        answers: What it may expect; one of these at least, and not two that exclude each other.
        needed: What each case must say.
        node_keys: What a node of its graph may say; None: that is checked where the graph is made.

    Raises:
        BadCase: a case has other keys, no answer, or the name of another.
    """
    found: list[Any] = []
    names: set[str] = set()
    for path in sorted((FOLDER / folder).glob("*.yaml")):
        for case in loaded(path):
            check(case, keys=keys, answers=answers, needed=needed)
            for letter, node in case.get("nodes", {}).items():
                if node_keys is not None and (unknown := node.keys() - set(node_keys)):
                    raise BadCase(f"{case['name']}: node {letter} with unknown keys {sorted(unknown)}")
            name = f"{path.stem}: {case['name']}"
            if name in names:
                raise BadCase(f"two cases are called {name}")
            names.add(name)
            found.append(pytest.param(case, id=name))
    return found


def loaded(path: Path) -> Any:
    """Return what a file says."""
    return yaml.load(path.read_text("utf-8"), _Loader)


def check(case: Any, *, keys: Collection[str], answers: Collection[str], needed: Collection[str] = ()) -> None:
    """Refuse a case that is not of the form.

    Raises:
        BadCase: it has other keys, or no answer.
    """
    if not isinstance(case, dict) or not isinstance(case.get("name"), str) or not case["name"]:
        raise BadCase(f"a case without a name: {case}")
    name = case["name"]
    if unknown := case.keys() - {"name", "contract", *keys, *answers}:
        raise BadCase(f"{name}: unknown keys {sorted(unknown)}")
    if missing := set(needed) - case.keys():
        raise BadCase(f"{name}: without {sorted(missing)}")
    said = case.keys() & set(answers)
    if not said:
        raise BadCase(f"{name}: expects nothing; say one of {sorted(answers)}")
    if "error" in said and (len(said) > 1 or not case["error"]):
        raise BadCase(f"{name}: an error is the whole answer, and has a reason")
    if not case.get("contract", "x"):
        raise BadCase(f"{name}: an empty note")
    _check_names(case)


def _check_names(value: Any) -> None:
    """Refuse names that YAML does not take for text, such as `on`.

    Raises:
        BadCase: there is one, at any depth.
    """
    if isinstance(value, dict):
        if unquoted := [name for name in value if not isinstance(name, str)]:
            raise BadCase(f"to YAML these names are no text; quote them: {unquoted}")
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            _check_names(one)
