"""`contextkeep export`, and `contextkeep import` for its archives."""

from __future__ import annotations

import hashlib
import sys
import uuid
from pathlib import Path

import click

from contextkeep.cli._base import Session, command, os_error_text
from contextkeep.cli._output import Format, Output, progress
from contextkeep.client.sync import ContextClient
from contextkeep.errors import ImportNotFound

_BEGIN_BYTES = 64 * 1024  # of an archive: no two begin alike


@command(
    click.option("--context", "context_id", default="", help="Export this context (its id) and those forked from it."),
    click.option(
        "--user",
        "user_id",
        default="",
        help="Export the contexts, records, memories and pages of this user, such as ada.",
    ),
    click.option(
        "--graph", "graph_name", default="", help="Export this graph, such as default, and the records of its nodes."
    ),
    click.option("--tenant", is_flag=True, help="Export all data of your tenant (the customer or team of the key)."),
    click.option(
        "--to", "file", type=click.Path(dir_okay=False), required=True, help="File to write, such as context.archive."
    ),
    name="export",
    example="contextkeep export --context 0197f1f2-0000-7000-8000-000000000001 --to context.archive",
)
def take_out(
    session: Session, output: Output, *, context_id: str, user_id: str, graph_name: str, tenant: bool, file: str
) -> None:
    """Export a context, user, graph or tenant to a file.

    Use it for backups, to move data to another service, or to hand a user their data; needs admin.

    Give one of --context, --user, --graph and --tenant. The file gets its name only when it is complete. The same
    command continues an interrupted export, whose data are in FILE.part.
    """
    if sum(map(bool, (context_id, user_id, graph_name, tenant))) != 1:
        raise click.UsageError("give exactly one of --context, --user, --graph and --tenant")
    with progress(Path(file).name) as on_progress:
        done = session.context.archives.export(
            file,
            tenant=tenant,
            context_id=context_id or None,
            user_id=user_id,
            graph_name=graph_name,
            on_progress=on_progress,
        )
    output.one(done, "path", "size_bytes")


def put_in(session: Session, output: Output, *, file: str, dry_run: bool) -> None:
    """Put an archive in, and print what it met."""
    path = Path(file)
    try:
        import_id = None if dry_run else _import_id(session.context, path)
        with progress(path.name) as on_progress:
            done = session.context.archives.import_archive(
                path, import_id=import_id, dry_run=dry_run, on_progress=on_progress
            )
    except OSError as error:
        raise click.ClickException(os_error_text(error)) from error
    if output.format is Format.JSON:
        output.one(done)
    else:
        output.many((row._asdict() for row in done.rows), "table", "written", "present", "conflicts")
        for conflict in done.conflicts:
            key = ", ".join(f"{name} {value}" for name, value in conflict.key.items())
            click.echo(f"{conflict.why}: {conflict.table} {key}", err=True)
    if any(row.conflicts for row in done.rows):
        sys.exit(4)


def _import_id(client: ContextClient, path: Path) -> uuid.UUID:
    """Return the id of the import of a file: the same while it is under way, so that the command goes on with it."""
    with path.open("rb") as opened:
        begin = opened.read(_BEGIN_BYTES)
    import_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{hashlib.sha256(begin).hexdigest()} {path.stat().st_size}")
    try:
        is_under_way = client.archives.get_import(import_id).state == "running"
    except ImportNotFound:
        is_under_way = True
    return import_id if is_under_way else uuid.uuid4()
