"""Operating: tenants and their limits, background work, and jobs; for keys with the scope operator."""

from __future__ import annotations

import asyncio
import re
from typing import Literal

from starlette.responses import Response

from contextkeep import Job, Tenant
from contextkeep.errors import InvalidArgument
from contextkeep_console import code
from contextkeep_console.pages.access import TABS
from contextkeep_console.pages.overview import owed as owed_in_background
from contextkeep_console.rendering import path
from contextkeep_console.tables import Column, Table
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, take

LIMITS = (
    ("records_max", "records", "Records, archived ones too"),
    ("bytes_max", "bytes", "Bytes of all records"),
    ("blob_bytes_max", "blob_bytes", "Bytes of one blob"),
    ("content_bytes_max", "content_bytes", "Bytes of one inline content"),
)
_UNITS = {"": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_JOBS_SHOWN = 20


async def tenants(visit: Visit) -> Response:
    """List the tenants, and show the form for the limits of one."""

    async def load_table() -> Table:
        """Load the rows of the table; the page shows an error in its place if this fails."""
        rows: list[Tenant]
        rows, has_more = await take(visit.context.operations.list_tenants(), visit.limit)
        return Table(
            name="tenants",
            title="Tenants",
            columns=_TENANTS,
            rows=rows,
            limit=visit.limit,
            has_more=has_more,
        )

    table = await part(load_table())
    return visit.render(
        "operating_tenants.html",
        here="access",
        title="Tenants and limits",
        tabs=TABS,
        tab="/access/tenants",
        listed=table,
        tenants=table.value,
        limits=LIMITS,
        code=code.Code(
            python=code.python_each("context", "operations.list_tenants"), shell=code.shell("operator", "tenants")
        ),
        set_code=code.Code(
            python=code.python(
                "context", "operations.set_tenant_limits", "acme", records_max=100_000, bytes_max=50 * 2**30
            ),
            shell=code.shell("operator", "limits", "acme", records="100000", bytes="50GiB"),
        ),
    )


def _limit(name: str) -> Column:
    return Column(name=name.replace("_", " ") + " at most", value=lambda row: getattr(row.limits, f"{name}_max", None))


def _database(tenant: Tenant) -> str:
    name = tenant.database or "home"
    return f"{name}, which does not answer" if tenant.is_away else name


_TENANTS = (
    Column(name="tenant", value=lambda row: row.name),
    Column(name="database", value=_database),
    Column(name="records", value=lambda row: row.records, kind="number"),
    Column(name="size", value=lambda row: row.size_bytes, kind="size"),
    *(_limit(name) for _, name, _ in LIMITS),
    Column(name="made", value=lambda row: row.created_at, kind="time", is_minor=True),
)


async def limit(visit: Visit) -> Response:
    """Say what a tenant may store."""
    form = await visit.form()
    tenant = str(form.get("tenant", "")).strip()
    values = {limit: str(form.get(name, "")).strip() for limit, name, _ in LIMITS}
    changed = await visit.context.operations.set_tenant_limits(
        tenant,
        **{limit: _number(limit, text) for limit, text in values.items() if text},
    )
    return visit.redirect("/access/tenants", f"{changed.name} has new limits; the services follow within seconds.")


def _number(limit: str, text: str) -> int | None:
    """Return the number of a limit, such as `5000` or `64MiB`, or None for `default`.

    Raises:
        InvalidArgument: the text is none of these.
    """
    if text == "default":
        return None
    match = re.fullmatch(r"(\d{1,18})\s*([kmgt]ib|)", text.lower())
    if match is None:
        raise InvalidArgument(f"{text[:40]!r} is not like 5000, 64MiB, 50GiB or default", field=limit)
    return int(match[1]) * _UNITS[match[2]]


async def work(visit: Visit) -> Response:
    """Show the background work and the jobs."""
    if visit.query_value("part") == "jobs":
        return visit.render("operating_jobs.html", jobs=await part(_jobs(visit)))
    owed, jobs = await asyncio.gather(part(owed_in_background(visit)), part(_jobs(visit)))
    return visit.render(
        "operating_work.html",
        here="access",
        title="Background work",
        tabs=TABS,
        tab="/access/work",
        owed=owed,
        work=owed.value,
        jobs=jobs,
        job_table=jobs.value,
        failed=sorted({row.kind for row in owed.value.rows if row.failed}) if owed.value else [],
        code=code.Code(
            python=code.python("context", "operations.list_background_work"), shell=code.shell("operator", "work")
        ),
        retry_code=code.Code(
            python=code.python("context", "operations.retry_background_work", "index"),
            shell=code.shell("operator", "retry", "index"),
        ),
        start_code=code.Code(
            python=code.python("context", "jobs.start", "fsck", quick=True),
            shell=code.shell("operator", "start", "fsck", quick=True),
        ),
    )


async def _jobs(visit: Visit) -> Table:
    """Load the table of jobs."""
    rows: list[Job]
    rows, has_more = await take(visit.context.jobs.list(), max(visit.limit, _JOBS_SHOWN))
    return Table(
        name="jobs",
        title="Jobs",
        columns=_JOBS,
        rows=rows,
        has_more=has_more,
        empty="No job was started yet. A sweep deletes expired data; a check compares rows with stored bytes.",
    )


def _far(job: Job) -> str:
    counted = {name: value for name, value in job.progress.items() if isinstance(value, int) and value}
    return job.error or ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in counted.items())


_JOBS = (
    Column(name="job", value=lambda row: row.job_id, kind="id", link=lambda row: f"/access/jobs/{path(row.job_id)}"),
    Column(name="kind", value=lambda row: row.kind),
    Column(name="state", value=lambda row: row.state, kind="state"),
    Column(name="how far", value=_far),
    Column(name="started", value=lambda row: row.started_at, kind="time"),
    Column(name="over", value=lambda row: row.finished_at, kind="time", is_minor=True),
    Column(name="by", value=lambda row: row.started_by, is_minor=True),
)


async def job(visit: Visit) -> Response:
    """Show a job."""
    result = await visit.context.jobs.get(visit.step("job_id"))
    return visit.render(
        "operating_job.html",
        here="access",
        title=f"Job {result.kind}",
        job=result,
        code=code.Code(
            python=code.python("context", "jobs.get", result.job_id), shell=code.shell("operator", "job", result.job_id)
        ),
    )


async def retry(visit: Visit) -> Response:
    """Retry failed background work of one kind now."""
    kind = str((await visit.form()).get("kind", ""))
    done = await visit.context.operations.retry_background_work(kind)
    away = f" Nothing in {', '.join(done.databases_away)}, which does not answer." if done.databases_away else ""
    return visit.redirect("/access/work", f"{done.retried:,} of {kind} are tried again now.{away}")


async def start(visit: Visit) -> Response:
    """Start a job."""
    form = await visit.form()
    kind: Literal["fsck", "sweep"] = "fsck" if form.get("kind") == "fsck" else "sweep"
    quick, repair = (form.get(name) == "yes" for name in ("quick", "repair"))
    started = await visit.context.jobs.start(kind, quick=quick, repair=repair)
    return visit.redirect("/access/work#jobs", f"The {started.kind} has begun.")
