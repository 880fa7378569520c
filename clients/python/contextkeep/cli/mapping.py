"""`contextkeep mapping`: how nodes become messages."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from google.protobuf.json_format import MessageToDict

from contextkeep import mapping_files
from contextkeep.cli._base import (
    JSON_ARRAY,
    Session,
    command,
    external_id_option,
    graph_option,
    limit_option,
    node_named,
)
from contextkeep.cli._output import Format, Output
from contextkeep.client import _messages as messages
from contextkeep.errors import ContextKeepError, InvalidArgument, MappingNotFound
from contextkeep.inputs import SampleNode
from contextkeep.mapping_files import FileMapping
from contextkeep.values import ChatMapping

EXIT_DIFFERS = 8

_DEFAULTS = {"direction": "out", "depth_max": 3, "order": "ascending"}  # the defaults that the service returns
_FILES = click.argument("files", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)


@click.group(epilog="\b\nExample:\n  contextkeep mapping list")
def mapping() -> None:
    """Mappings: rules that turn nodes into chat messages."""


@command(limit_option(), name="list", group=mapping, example="contextkeep mapping list --json")
def list_mappings(session: Session, output: Output, *, limit: int) -> None:
    """List registered mappings, then the built-in ones.

    Use it to find a name for `contextkeep history --mapping`. A mapping is a set of rules that turns nodes into
    messages.
    """
    columns = ("app_id", "mapping_name", "rules_version", "version", "built_in", "error")
    output.many(session.context.mappings.list(), *columns, limit=limit)


@command(
    _FILES,
    click.option("--replace", is_flag=True, help="Replace registered rules that differ.  [default: fail]"),
    click.option(
        "--rules-version",
        type=click.IntRange(0),
        default=0,
        help="Version of these rules, such as 3: it replaces lower ones, and leaves a higher one as it is.",
    ),
    name="apply",
    group=mapping,
    example="""
contextkeep mapping apply mappings.yaml --rules-version 3
contextkeep mapping apply mappings/ --replace
""",
)
def apply(session: Session, output: Output, *, files: tuple[Path, ...], **how: Any) -> None:
    """Register mappings from YAML files or a folder.

    Use it to deploy mappings (rules that turn nodes into messages) that you keep in a repository.

    All files are checked before the first mapping is registered. If the service refuses one, earlier ones stay
    registered and the same command can be repeated.
    """
    output.many(_apply(session, _read(session, files), how), "app_id", "mapping_name", "rules_version", "change")


@command(
    click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    click.option("--mapping", "mapping_name", help="Mapping to test, such as tickets, if the file has several."),
    click.option("--node", "node_id", help="Test with the nodes that the rules reach from this node, by its UUID."),
    external_id_option("--node"),
    graph_option(),
    click.option(
        "--samples",
        type=JSON_ARRAY,
        help="Test with these nodes instead, which need not exist: a JSON array, or @FILE.",
    ),
    limit_option(),
    name="test",
    group=mapping,
    example="""
contextkeep mapping test mappings.yaml --mapping tickets --node 0197f1f2-0000-7000-8000-000000000001
contextkeep mapping test mappings.yaml --mapping tickets --samples '[{"type": "Ticket", "data": {"question": "Why?"}}]'
""",
)
def test(
    session: Session,
    output: Output,
    *,
    file: Path,
    mapping_name: str | None,
    node_id: str | None,
    by_external_id: bool,
    graph_name: str,
    samples: list[Any] | None,
    limit: int,
) -> None:
    """Run the rules of a file and print the messages.

    Use it while you write a mapping (rules that turn nodes into messages). Nothing is registered.

    Give --node or --samples.
    """
    if (node_id is None) == (samples is None):
        raise click.UsageError("give --node or --samples")
    result = _the_one(file, mapping_name)
    root: Any = {} if node_id is None else node_named(node_id, by_external_id, graph_name)
    nodes = [_sample(f"samples[{position}]", sample) for position, sample in enumerate(samples or ())]
    with _errors_name(result.place):
        trials = session.context.mappings.test(result.rules, nodes=nodes, **root)
        if output.format is Format.JSON:
            output.many(trials, limit=limit)
            return
        rows = (
            {
                "node_id": trial.node_id,
                "included": trial.included,
                "decided_by": trial.decided_by,
                "messages": [str(sample.message) for sample in trial.messages],
                "error": "; ".join(skipped.error for skipped in trial.skipped if skipped.error),
                "duration_us": trial.duration_us,
            }
            for trial in trials
        )
        output.many(rows, "node_id", "included", "decided_by", "messages", "error", "duration_us", limit=limit)


@command(
    _FILES,
    name="diff",
    group=mapping,
    example="""
contextkeep mapping diff mappings.yaml
contextkeep mapping diff mappings/ --json
""",
)
def diff(session: Session, output: Output, *, files: tuple[Path, ...]) -> None:
    """Compare mappings in YAML files with registered ones.

    Use it in CI, to find mappings (rules that turn nodes into messages) that were not deployed.

    The command prints a row for each field that differs. For a mapping that is not registered it prints one row, whose
    field is `rules`. It ignores registered mappings that are in no file. Invalid rules are an error. The exit code is 0
    if nothing differs, and 8 if a field differs.
    """
    rows = list(_differences(session, _read(session, files)))
    if rows or output.format is not Format.TABLE:
        output.many(rows, "app_id", "mapping_name", "field", "registered", "file")
    else:
        click.echo("nothing differs", err=True)
    if rows:
        sys.exit(EXIT_DIFFERS)


@contextmanager
def _errors_name(place: str) -> Iterator[None]:
    """Put a place in a file before the message of an error."""
    try:
        yield
    except ContextKeepError as error:
        error.message = f"{place}: {error.message}"
        raise


def _read(session: Session, paths: tuple[Path, ...]) -> list[FileMapping]:
    """Return the mappings of files and folders, each with its app.

    Raises:
        click.UsageError: a folder has no such files.
    """
    result: dict[tuple[str, str], FileMapping] = {}
    for path in paths:
        files = mapping_files.files_of(path) if path.is_dir() else [path]
        if not files:
            raise click.UsageError(f"the folder {path} has no *.yaml or *.yml files")
        for file in files:
            for item in mapping_files.read(file):
                app_id = session.app_of_file(item.app_id)
                if (app_id, item.mapping_name) in result:
                    raise InvalidArgument(f"{item.place} is also in another file; keep one of them")
                with _errors_name(item.place):
                    messages.mapping_rules(item.rules)
                result[app_id, item.mapping_name] = dataclasses.replace(item, app_id=app_id)
    return list(result.values())


def _apply(session: Session, mappings: list[FileMapping], how: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Register each mapping of a file, and yield whether it was created, replaced or left as it was."""
    for item in mappings:
        with _errors_name(item.place):
            before = _registered(session, item)
            after = session.context.mappings.register(item.mapping_name, item.rules, app_id=item.app_id, **how)
        kept = before is not None and before.version == after.version
        yield {
            "app_id": after.app_id,
            "mapping_name": after.mapping_name,
            "rules_version": after.rules_version,
            "change": "none" if kept else "replaced" if before else "created",
        }


def _registered(session: Session, item: FileMapping) -> ChatMapping | None:
    """Return the mapping that is registered under the name in the app itself."""
    try:
        result = session.context.mappings.get(item.mapping_name, app_id=item.app_id)
    except MappingNotFound:
        return None
    in_scope = result.app_id == item.app_id or not item.app_id  # without an app it is the key's, or the shared scope
    return result if in_scope and not result.built_in else None


def _differences(session: Session, mappings: list[FileMapping]) -> Iterator[dict[str, Any]]:
    """Yield each rule of a file that differs from the registered rule."""
    for item in mappings:
        with _errors_name(item.place):
            registered = _registered(session, item)
        name = {"app_id": registered.app_id if registered else item.app_id, "mapping_name": item.mapping_name}
        rules = MessageToDict(messages.mapping_rules(item.rules), preserving_proto_field_name=True)
        old, new = (
            dict(_leaves("rules", _DEFAULTS | each)) for each in (registered.rules if registered else {}, rules)
        )
        fields = [field for field in sorted(old.keys() | new.keys()) if old.get(field) != new.get(field)]
        if fields or not registered:
            with _errors_name(item.place):  # or apply would be the first to say that they cannot be registered
                next(iter(session.context.mappings.test(item.rules, nodes=[SampleNode()])), None)
        if not registered:
            yield {**name, "field": "rules", "registered": None, "file": rules}
            continue
        for field in fields:
            yield {**name, "field": field, "registered": old.get(field), "file": new.get(field)}


def _leaves(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values in rules by their paths, such as "rules.messages[0].when"."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _leaves(f"{place}.{name}", each)
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for position, each in enumerate(value):
            yield from _leaves(f"{place}[{position}]", each)
    else:
        yield place, value


def _the_one(file: Path, mapping_name: str | None) -> FileMapping:
    """Return the mapping of a file that is named, or its only one."""
    values = {item.mapping_name: item for item in mapping_files.read(file)}
    if mapping_name is None and len(values) == 1:
        return next(iter(values.values()))
    if mapping_name not in values:
        raise click.UsageError(f"choose a mapping with --mapping: {', '.join(values) or 'the file has none'}")
    return values[mapping_name]


def _sample(place: str, item: Any) -> SampleNode:
    """Return a node to try rules on, whose fields are those of `SampleNode`."""
    names = [field.name for field in dataclasses.fields(SampleNode)]
    if not isinstance(item, dict) or not item.keys() <= set(names):
        raise click.UsageError(f"{place} is not a node; give an object with {', '.join(names)}")
    try:
        times = {name: datetime.fromisoformat(item[name]) for name in ("created_at", "modified_at") if name in item}
        node = SampleNode(**{**item, **times})
        messages.sample_node(place, node)
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"{place} is not a valid node: {error}") from error
    return node
