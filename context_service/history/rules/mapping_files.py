"""Mappings from files of the operator, in addition to the built-in ones.

They are read and compiled when the service starts; it does not start with a faulty file. Nothing is stored, so each
replica has the mappings of its own files, and a mapping is gone with its file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from context_service.history.pure.limits import HistoryLimits
from context_service.history.pure.mapping_faults import check_evident
from context_service.history.pure.mapping_rules import Rules, rules_bytes
from context_service.history.pure.mappings import Mapping as CompiledMapping
from context_service.history.pure.mappings import built_in, compile_mapping
from contextkeep import mapping_files
from contextkeep.errors import ContextKeepError, InvalidArgument, LimitExceeded
from service_runtime.values.checks import check_text

FILES_BYTES_MAX = 1024 * 1024  # limit for all rules as JSON, so that a page of a list also has room for registered ones

FileMappings = Mapping[tuple[str, str], CompiledMapping]  # by the names of app and mapping

_RULES = TypeAdapter(Rules)


def load(folder: Path, limits: HistoryLimits) -> FileMappings:
    """Read and compile the mappings of all `*.yaml` and `*.yml` files of a folder, not of its subfolders.

    Raises:
        InvalidArgument: the folder or a file cannot be read, or a file is faulty: the message names file and place.
        LimitExceeded: a mapping exceeds a limit, an app has too many, or all together are too large.
    """
    mappings: dict[tuple[str, str], CompiledMapping] = {}
    size_bytes = 0
    for path in _files(folder):
        for app_id, name, rules in _read(path, limits):
            place = f"{path}: mappings.{name}"
            if built_in(name) is not None:
                raise InvalidArgument(f"{place} is built in, and its rules cannot change; use another name")
            if (app_id, name) in mappings:
                raise InvalidArgument(f"{place} is in another file, too; keep one of them")
            try:
                budget = limits.compile_budget()
                mappings[app_id, name] = compile_mapping(rules, limits, budget)
                check_evident(mappings[app_id, name], budget)
            except ContextKeepError as error:
                raise type(error)(f"{place}: {error.message}") from error
            size_bytes += rules_bytes(rules)
    for app_id, count in Counter(app_id for app_id, _ in mappings).items():
        _check(f"mappings of {app_id or 'the shared scope'}", count, limits.mappings_max)
    _check("bytes", size_bytes, FILES_BYTES_MAX)
    return mappings


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InvalidArgument(f"MAPPINGS_PATH must be a folder (got {folder})")
    return mapping_files.files_of(folder)


def _read(path: Path, limits: HistoryLimits) -> Iterator[tuple[str, str, Rules]]:
    """Yield app, name and rules of each mapping of a file."""
    for mapping in mapping_files.read(path):
        app_id, name = mapping.app_id or "", mapping.mapping_name
        _check_name(f"{path}: app_id", app_id, limits, required=False)
        _check_name(mapping.place, name, limits, required=True)
        try:
            yield app_id, name, _RULES.validate_python(mapping.rules)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise InvalidArgument(f"{mapping.place}.{where}: {first['msg']}") from error


def _check_name(place: str, name: str, limits: HistoryLimits, *, required: bool) -> None:
    """Check a name in a file of mappings. Errors begin with the place in the file."""
    try:
        check_text("name", name, chars_max=limits.name_chars_max, required=required)
    except ContextKeepError as error:
        raise type(error)(f"{place}: {error.message}") from error


def _check(what: str, count: int, count_max: int) -> None:
    """Refuse files with too many things of a kind, such as mappings.

    Raises:
        LimitExceeded: there are more than `count_max`.
    """
    if count > count_max:
        raise LimitExceeded(
            f"the files of MAPPINGS_PATH may have up to {count_max} {what} (got {count})",
            limit="mappings",
            limit_max=count_max,
            value=count,
        )
