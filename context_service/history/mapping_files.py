"""Mappings from files: an operator's own, beside the built-in ones.

They are read and compiled once, when the service starts, which it does not with a file that is wrong. Nothing is
stored, so each replica has what its files say, and a mapping is gone with its file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from context_service.history.limits import HistoryLimits
from context_service.history.mappings import Mapping as CompiledMapping
from context_service.history.mappings import built_in, compile_mapping
from context_service.history.rules import MessageRule, Rules, rules_bytes
from contextgraph.errors import ContextGraphError, InvalidArgument, LimitExceeded
from service_runtime.documents import check_text

FILES_BYTES_MAX = 1024 * 1024  # of all rules as JSON: one page of a list has room for them beside what is registered

FileMappings = Mapping[tuple[str, str], CompiledMapping]  # by app and name

_RULES = TypeAdapter(Rules)
_FILE_FIELDS = frozenset({"app_id", "mappings"})
_RULE_FIELDS = frozenset(field.name for field in fields(Rules))
_MESSAGE_FIELDS = frozenset(field.name for field in fields(MessageRule))


def load(folder: Path, limits: HistoryLimits) -> FileMappings:
    """Read and compile the mappings of all `*.yaml` and `*.yml` of a folder, not of those below.

    Raises:
        InvalidArgument: the folder or a file cannot be read, or it is wrong: the message names file and place.
        LimitExceeded: a mapping passes a limit, an app has too many, or all together are too large.
    """
    found: dict[tuple[str, str], CompiledMapping] = {}
    size_bytes = 0
    for path in _files(folder):
        for app_id, name, rules in _read(path, limits):
            place = f"{path}: mappings.{name}"
            if built_in(name) is not None:
                raise InvalidArgument(f"{place} is built in; its rules cannot be changed")
            if (app_id, name) in found:
                raise InvalidArgument(f"{place} is in another file, too")
            try:
                found[app_id, name] = compile_mapping(rules, limits)
            except ContextGraphError as error:
                raise type(error)(f"{place}: {error.message}") from error
            size_bytes += rules_bytes(rules)
    for app_id, count in Counter(app_id for app_id, _ in found).items():
        _check(f"mappings of {app_id or 'the shared scope'}", count, limits.mappings_max)
    _check("bytes", size_bytes, FILES_BYTES_MAX)
    return found


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InvalidArgument(f"MAPPINGS_PATH is {folder}, which is no folder")
    return sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))


def _read(path: Path, limits: HistoryLimits) -> Iterator[tuple[str, str, Rules]]:
    """Yield app, name and rules of each mapping of a file."""
    try:
        content = yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506 (it is a SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidArgument(f"{path} cannot be read: {error}") from error
    if content is None:
        return
    _check_fields(f"{path}", content, _FILE_FIELDS)
    app_id, mappings = content.get("app_id", ""), content.get("mappings", {})
    if not isinstance(app_id, str) or not isinstance(mappings, dict):
        raise InvalidArgument(f"{path}: app_id is a text, and mappings an object: names, and the rules of each")
    _check_name(f"{path}: app_id", app_id, limits, required=False)
    for name, rules in mappings.items():
        place = f"{path}: mappings.{name}"
        if not isinstance(name, str):
            raise InvalidArgument(f"{place}: a name is a text; put it in quotes")
        _check_name(place, name, limits, required=True)
        _check_fields(place, rules, _RULE_FIELDS)
        messages = rules.get("messages")
        for position, message in enumerate(messages if isinstance(messages, list) else ()):
            _check_fields(f"{place}.messages[{position}]", message, _MESSAGE_FIELDS)
        try:
            yield app_id, name, _RULES.validate_python(rules)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise InvalidArgument(f"{place}.{where}: {first['msg']}") from error


def _check_name(place: str, name: str, limits: HistoryLimits, *, required: bool) -> None:
    try:
        check_text("name", name, chars_max=limits.name_chars_max, required=required)
    except ContextGraphError as error:
        raise type(error)(f"{place}: {error.message}") from error


def _check_fields(place: str, value: object, known: frozenset[str]) -> None:
    if not isinstance(value, dict):
        raise InvalidArgument(f"{place} is no object")
    for name in value:
        if name not in known:
            raise InvalidArgument(f"{place}: {name!r} is none of {', '.join(sorted(known))}")


def _check(what: str, count: int, count_max: int) -> None:
    if count > count_max:
        raise LimitExceeded(
            f"the files of MAPPINGS_PATH have {count} {what}; the limit is {count_max}",
            limit="mappings",
            limit_max=count_max,
            value=count,
        )


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice, of which only the last would count."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} is there twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)
