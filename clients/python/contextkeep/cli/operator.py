"""`contextkeep operator` and `contextkeep usage`: tenants, work in the background, and jobs."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import click

from contextkeep.cli._base import Session, command, limit_option
from contextkeep.cli._output import Format, Output
from contextkeep.values import JobKind

_TENANT = ("name", "database", "is_away", "records", "size_bytes", "limits", "created_at")
_WORK = ("kind", "database", "owed", "failed", "oldest_at", "last_error")
_JOB = ("job_id", "kind", "state", "started_at", "finished_at", "progress", "error")
_UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_DEFAULT = "default"


class _Limit(click.ParamType[Any]):
    """A number, with a unit or without; `default` is what the settings say."""

    name = "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return the number."""
        if value == _DEFAULT:
            return _DEFAULT
        match = re.fullmatch(r"(\d{1,18})(KiB|MiB|GiB|TiB|)", str(value))
        if match is None:
            self.fail(f"{value!r} is not a limit; give a number such as 5000 or 64MiB, or default", param, ctx)
        return int(match[1]) * _UNITS[match[2]]


@click.group(epilog="\b\nExample:\n  contextkeep operator work")
def operator() -> None:
    """Operations across all tenants; needs operator."""


@command(name="usage", example="contextkeep usage")
def usage(session: Session, output: Output) -> None:
    """Print the storage used by your tenant, and its limits.

    Use it to see how close the tenant (the customer or team of your key) is to a limit; needs admin.
    """
    output.one(session.context.operations.get_usage())


@command(limit_option(), name="tenants", group=operator, example="contextkeep operator tenants")
def tenants(session: Session, output: Output, *, limit: int) -> None:
    """List tenants with their database and storage.

    Use it to find the tenants that use the most storage.
    """
    output.many(session.context.operations.list_tenants(), *_TENANT, limit=limit)


@command(
    click.argument("tenant"),
    click.option(
        "--records",
        "records_max",
        type=_Limit(),
        help="Maximum records, such as 100000, or `default`.",
    ),
    click.option(
        "--bytes", "bytes_max", type=_Limit(), help="Maximum bytes of all records, such as 50GiB, or `default`."
    ),
    click.option(
        "--blob-bytes", "blob_bytes_max", type=_Limit(), help="Maximum bytes of one file, such as 1GiB, or `default`."
    ),
    click.option(
        "--content-bytes",
        "content_bytes_max",
        type=_Limit(),
        help="Maximum bytes of one JSON or text, such as 64KiB, or `default`.",
    ),
    name="limits",
    group=operator,
    example="contextkeep operator limits default --records 100000 --bytes 50GiB --blob-bytes default",
)
def limits(session: Session, output: Output, *, tenant: str, **options: int | str | None) -> None:
    """Set the storage limits of a tenant.

    Use it to give a tenant more or less room. The value `default` restores the service's own limit.

    TENANT is a name in `contextkeep operator tenants`. Limits without an option stay as they are.
    """
    values = {name: None if value == _DEFAULT else value for name, value in options.items() if value is not None}
    if not values:
        raise click.UsageError("give at least one limit, such as --records")
    output.one(session.context.operations.set_tenant_limits(tenant, **values))  # type: ignore[arg-type] # they are numbers


@command(name="work", group=operator, example="contextkeep operator work")
def work(session: Session, output: Output) -> None:
    """List background work by kind and database.

    Use it to see whether background work, such as making embeddings or deleting contexts, is late or has failed.

    A database that does not answer is reported on stderr.
    """
    background_work = session.context.operations.list_background_work()
    if output.format is Format.JSON:
        output.one(background_work)
    else:
        output.many(background_work.work, *_WORK)
    _end_if_away(background_work.databases_away, "its background work is unknown")


@command(click.argument("kind"), name="retry", group=operator, example="contextkeep operator retry index")
def retry(session: Session, output: Output, *, kind: str) -> None:
    """Retry failed background work of one kind now.

    Use it after you fixed the cause of the failures. KIND is a column of `contextkeep operator work`, such as index.
    """
    done = session.context.operations.retry_background_work(kind)
    output.one({"kind": kind, "retried": done.retried, "databases_away": done.databases_away})
    _end_if_away(done.databases_away, "nothing is tried again there")


def _end_if_away(databases: Sequence[str], meaning: str) -> None:
    """Say which databases do not answer, and end with 6; if all do, do nothing."""
    for name in databases:
        click.echo(f"the database {name} does not answer: {meaning}", err=True)
    if databases:
        sys.exit(6)


@command(
    click.argument("kind", type=click.Choice(["sweep", "fsck"])),
    click.option("--quick", is_flag=True, help="With fsck: read only the last MiB of each file."),
    click.option(
        "--repair", is_flag=True, help="With fsck: repair the damage that it can repair.  [default: only report]"
    ),
    name="start",
    group=operator,
    example="contextkeep operator start fsck --quick",
)
def start(session: Session, output: Output, *, kind: JobKind, quick: bool, repair: bool) -> None:
    """Start a maintenance job.

    Use `sweep` to delete expired data now, and `fsck` to compare stored files with their records.
    `contextkeep operator job` prints the progress.
    """
    output.one(session.context.jobs.start(kind, quick=quick, repair=repair))


@command(
    click.argument("job_id"),
    name="job",
    group=operator,
    example="contextkeep operator job 0197f1f2-0000-7000-8000-000000000012",
)
def job(session: Session, output: Output, *, job_id: str) -> None:
    """Print the progress of a maintenance job.

    Use it with the JOB_ID that `contextkeep operator start` printed.
    """
    output.one(session.context.jobs.get(job_id))


@command(limit_option(), name="jobs", group=operator, example="contextkeep operator jobs")
def jobs(session: Session, output: Output, *, limit: int) -> None:
    """List maintenance jobs, newest first.

    Use it to find the id for `contextkeep operator job`.
    """
    output.many(session.context.jobs.list(), *_JOB, limit=limit)
