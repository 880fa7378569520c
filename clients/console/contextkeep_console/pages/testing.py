"""Sources as a tenant sets them, and questions that administrators keep to see whether the sources answer as before."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.datastructures import FormData
from starlette.responses import Response

from contextkeep import ComparedTests, ContextProvider, SourceTest
from contextkeep.errors import InvalidArgument
from contextkeep_console import code
from contextkeep_console.pages.knowledge import TABS
from contextkeep_console.rendering import path
from contextkeep_console.tables import Column, Table, facts
from contextkeep_console.trouble import part
from contextkeep_console.visit import Visit, take

_KEEP, _AS_IT_IS = "", "reset"  # what a field says of a provider: nothing new, or what the provider has by itself
_DEADLINE_MS_MAX = 60_000


async def settings(visit: Visit) -> Response:
    """Show what holds for each source, and the form to change it for the tenant."""

    async def load_table() -> Table:
        """Load the rows of the table; the page shows an error in its place if this fails."""
        rows: list[ContextProvider] = await visit.context.query.list_providers()
        return Table(
            name="settings",
            title="Sources",
            columns=(
                Column(name="source", value=lambda row: row.display_name or row.provider_id),
                Column(name="id", value=lambda row: row.provider_id),
                Column(name="enabled", value=lambda provider: provider.is_enabled),
                Column(name="by default", value=lambda row: row.is_default),
                Column(name="deadline, ms", value=lambda row: row.deadline_ms, kind="number"),
                Column(name="last test", value=lambda row: row.last_state, kind="state", is_minor=True),
                Column(name="took, ms", value=lambda row: row.last_duration_ms or "", kind="number", is_minor=True),
            ),
            rows=rows,
            empty="No source is installed.",
        )

    table = await part(load_table())
    return visit.render(
        "source_settings.html",
        here="sources",
        title="Settings of sources",
        tabs=TABS,
        tab="/sources/settings",
        listed=table,
        providers=table.value,
        code=code.Code(
            python=code.python("context", "query.update_provider", "context", deadline_ms=4000, is_default=True),
            shell=code.shell("sources", "set", "context", deadline_ms=4000, default=True),
        ),
    )


async def change(visit: Visit) -> Response:
    """Change the tenant's settings of a source; fields that are left as they are stay."""
    form = await visit.form()
    provider = str(form.get("provider", ""))
    values = {name: str(form.get(name, _KEEP)).strip() for name in ("enabled", "is_default", "deadline_ms")}
    deadline = values["deadline_ms"]
    if deadline not in (_KEEP, _AS_IT_IS) and not (deadline.isdecimal() and 0 < int(deadline) <= _DEADLINE_MS_MAX):
        raise InvalidArgument(f"the deadline is 1 to {_DEADLINE_MS_MAX:,} ms", field="deadline_ms")
    flags = {"yes": True, "no": False}
    await visit.context.query.update_provider(
        provider,
        enabled=flags.get(values["enabled"]),
        is_default=flags.get(values["is_default"]),
        deadline_ms=int(deadline) if deadline.isdecimal() else None,
        reset=[name for name, value in values.items() if value == _AS_IT_IS],
    )
    return visit.redirect("/sources/settings", f"The settings of {provider} are changed for the whole tenant.")


async def tests(visit: Visit) -> Response:
    """List the tests, and show the form for a new one."""

    async def load_table() -> Table:
        """Load the rows of the table; the page shows an error in its place if this fails."""
        rows: list[SourceTest]
        rows, has_more = await take(visit.context.source_tests.list(), visit.limit)
        return Table(
            name="tests",
            title="Tests",
            columns=(
                Column(name="question", value=lambda row: row.query, link=lambda row: f"/sources/tests/{row.test_id}"),
                Column(name="label", value=lambda row: row.label),
                Column(name="hits", value=lambda row: row.hit_count, kind="number"),
                Column(name="took, ms", value=lambda row: row.duration_ms, kind="number"),
                Column(name="warnings", value=lambda row: list(row.warnings), is_minor=True),
                Column(name="by", value=lambda row: row.created_by, is_minor=True),
                Column(name="at", value=lambda row: row.created_at, kind="time"),
            ),
            rows=rows,
            limit=visit.limit,
            has_more=has_more,
            empty="There is no test yet. Run a typical query, and run it again after a change.",
        )

    table, providers = await asyncio.gather(part(load_table()), part(visit.context.query.list_providers()))
    return visit.render(
        "source_tests.html",
        here="sources",
        title="Tests of the sources",
        tabs=TABS,
        tab="/sources/tests",
        listed=table,
        tests=table.value,
        providers=providers.value or (),
        choices=_CHOICES,
        code=code.Code(
            python=code.python("context", "source_tests.run", "which port", label="weekly"),
            shell=code.shell("sources", "test", "which port", label="weekly"),
        ),
    )


async def run(visit: Visit) -> Response:
    """Run a query as users do, and store the answer."""
    form = await visit.form()
    question, label = (str(form.get(name, "")).strip() for name in ("question", "label"))
    options = {**visit.whose, **_options(form)}
    result = await visit.context.source_tests.run(question, label=label, timeout_s=15, **options)
    return visit.redirect(f"/sources/tests/{result.test_id}")


def _options(form: FormData) -> dict[str, Any]:
    """Return the options of a question that a form gives; fields that are empty are left out.

    Raises:
        InvalidArgument: a field is malformed.
    """
    values = {name: str(value).strip() for name, value in form.items() if name in _FIELDS and str(value).strip()}
    options: dict[str, Any] = {name: value for name, value in values.items() if name not in _CONVERTED}
    for name, convert in _CONVERTED.items():
        if name in values:
            try:
                options[name] = convert(values[name])
            except ValueError:
                raise InvalidArgument(f"{name} is not valid (got {values[name][:100]!r})", field=name) from None
    if provider_ids := [str(provider_id) for provider_id in form.getlist("provider_ids")]:
        options["provider_ids"] = provider_ids
    return options


def _day(text: str) -> datetime:
    """Return the beginning of a day, in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _object(text: str) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        ValueError: the text is something else.
    """
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    return value


# What a question may choose from; an empty value leaves it to the service.
_CHOICES = {
    "mode": ("results", "answer"),
    "scope": ("auto", "personal", "team"),
    "depth": ("quick", "deep"),
    "memory_mode": ("", "recall", "reflect"),
}
# Fields of the form that are no texts of a question, and what reads them.
_CONVERTED: Mapping[str, Callable[[str], Any]] = {
    "limit": int,
    "node_ids": str.split,
    "context_ids": str.split,
    "score_min": float,
    "time_from": _day,
    "time_to": _day,
    "metadata": _object,
}
_FIELDS = {*_CHOICES, *_CONVERTED, "agent_id", "subject_user_id"}


async def test(visit: Visit) -> Response:
    """Show a test with its answer, and what another one answered otherwise."""
    test_id, other = visit.step("test_id"), visit.query_value("other")

    async def compared() -> ComparedTests | None:
        return await visit.context.source_tests.compare(test_id, other) if other else None

    result, difference = await asyncio.gather(visit.context.source_tests.get(test_id), part(compared()))
    answer = result.answer
    return visit.render(
        "source_test.html",
        here="sources",
        title=result.label or "A test of the sources",
        test=result,
        other=other,
        difference=difference,
        facts=facts(
            [
                ("Question", result.query),
                ("Label", result.label),
                ("On behalf of", result.owner_user_id),
                ("Agent", result.agent_id),
                ("Mode, scope, depth", ", ".join(filter(None, (result.mode, result.scope, result.depth)))),
                ("Sources", ", ".join((*result.provider_ids, *result.families))),
                ("Memories", result.memory_mode),
                ("Contexts", ", ".join(result.context_ids)),
                ("Nodes", ", ".join(result.node_ids)),
                ("Hits at most", result.limit),
                ("Score at least", "" if result.score_min is None else f"{result.score_min:g}"),
                ("From", result.time_from),
                ("Before", result.time_to),
                ("Metadata", json.dumps(result.metadata) if result.metadata else ""),
                ("Asked by", result.created_by),
                ("Asked", result.created_at),
                ("Took, ms", result.duration_ms),
                ("Warnings", ", ".join(result.warnings)),
                ("Asks again", result.replay_of),
            ]
        ),
        hits=Table(
            name="hits",
            title="Hits",
            columns=(
                Column(name="rank", value=lambda row: row.rank, kind="number"),
                Column(name="hit", value=lambda row: row.title, link=lambda row: f"/find?q={path(row.ref)}"),
                Column(name="says", value=lambda row: row.snippet, kind="prose"),
                Column(name="from", value=lambda row: row.provider_id, is_minor=True),
            ),
            rows=answer.hits if answer else (),
            empty="Nothing was found.",
        ),
        moved=Table(
            name="moved",
            title="Hits of either",
            columns=(
                Column(name="hit", value=lambda row: row.title or row.ref),
                Column(name="rank here", value=lambda row: row.rank or "not there"),
                Column(name="rank there", value=lambda row: row.other_rank or "not there"),
            ),
            rows=difference.value.hits if difference.value else (),
            empty="Neither found anything.",
        ),
        code=code.Code(
            python=code.python("context", "source_tests.compare", test_id, other or "ANOTHER"),
            shell=code.shell("sources", "compare", test_id, other or "ANOTHER"),
        ),
    )
