"""`contextkeep sources`: whom a question may ask."""

from __future__ import annotations

from itertools import islice
from typing import Any, get_args

import click

from contextkeep.cli._base import MEMORY_MODE, Session, command, limit_option, subject_option
from contextkeep.cli._output import Format, Output
from contextkeep.cli.specialist import specialist
from contextkeep.values import QueryDepth, QueryMode, QueryScope, SourceTest

LISTED = ("provider_id", "family", "display_name", "scopes", "is_enabled", "is_default", "is_installed", "deadline_ms")
_HOLDS = ("provider_id", "family", "is_enabled", "is_default", "deadline_ms", "refused_by")
_FIELDS = ("enabled", "is_default", "deadline_ms", "workspace", "memory")

# What a question says, to everybody's command and to the harness.
MODE = click.option(
    "--mode",
    type=click.Choice(get_args(QueryMode)),
    default="results",
    show_default=True,
    help="`answer` also prints an answer with its sources.",
)
SCOPE = click.option(
    "--scope",
    type=click.Choice(get_args(QueryScope)),
    default="auto",
    show_default=True,
    help="`personal`: data of the user; `team`: data without an owner; `auto`: both.",
)
DEPTH = click.option(
    "--depth",
    type=click.Choice(get_args(QueryDepth)),
    default="quick",
    show_default=True,
    help="`deep` gives each source more time and searches twice.",
)
PROVIDER = click.option(
    "--provider", "provider_ids", multiple=True, help="Search this source, such as workspace; may be repeated."
)
ENTITY = click.option(
    "--entity", "node_ids", multiple=True, help="Search the records of this node (its UUID); may be repeated."
)
CONTEXT = click.option(
    "--context", "context_ids", multiple=True, help="Also search this context (its id); may be repeated."
)
AGENT = click.option(
    "--agent", "agent_id", default="", help="Search as this agent, such as reviewer.  [default: the key's agent]"
)


@click.group(epilog="\b\nExample:\n  contextkeep sources list")
def sources() -> None:
    """Sources of `contextkeep query`: settings and tests."""


@command(name="list", group=sources, example="contextkeep sources list")
def list_sources(session: Session, output: Output) -> None:
    """List the sources with their settings.

    Use it to see what `contextkeep query` can search, and which sources it searches by default.
    """
    output.many(session.context.query.list_providers(), *LISTED, "last_state", "last_duration_ms")


@command(
    AGENT,
    subject_option,
    name="policy",
    group=sources,
    example="contextkeep sources policy",
)
def policy(session: Session, output: Output, **options: Any) -> None:
    """Print for each source whether a query may search it now.

    Use it when `contextkeep query` does not search a source that you expect. The column refused_by says which setting
    forbids the source; it is empty if a query may search it.
    """
    result = session.context.query.get_policy(**options)
    if output.format is Format.JSON:
        output.one(result)
        return
    output.many(result.providers, *_HOLDS)
    if output.format is Format.TABLE and result.target_whose:
        click.echo(f"\nfiles below, as {result.target_whose} has it: {', '.join(result.target_node_ids) or 'none'}")


@command(
    click.argument("provider_id"),
    click.option("--enable/--disable", "enabled", default=None, help="Allow or forbid searching this source."),
    click.option(
        "--default/--no-default", "is_default", default=None, help="Search this source if a query names none, or not."
    ),
    click.option(
        "--deadline-ms", type=click.IntRange(1, 60_000), help="Time limit of the source in milliseconds, such as 4000."
    ),
    click.option(
        "--below",
        "node_ids",
        multiple=True,
        help="For workspace: search the records of this node (its UUID) and below; may be repeated.",
    ),
    MEMORY_MODE,
    click.option(
        "--reset",
        multiple=True,
        type=click.Choice(_FIELDS),
        help="Restore the default of this setting; may be repeated.",
    ),
    name="set",
    group=sources,
    example="""
contextkeep sources set context --deadline-ms 4000
contextkeep sources set memory --memory-mode recall
contextkeep sources set context --reset deadline_ms
""",
)
def set_source(
    session: Session, output: Output, *, provider_id: str, node_ids: tuple[str, ...], **options: Any
) -> None:
    """Change the tenant's settings of a source; needs admin.

    Use it to enable or disable a source, or to give it more time.

    PROVIDER_ID is a column of `contextkeep sources list`, such as workspace. Settings without an option stay.
    """
    output.one(session.context.query.update_provider(provider_id, node_ids=node_ids or None, **options))


_TEST = ("test_id", "created_at", "query", "label", "hit_count", "duration_ms", "replay_of")
_FARED = ("provider_id", "state", "hit_count", "duration_ms", "mode", "reason")
_BOTH = ("provider_id", "state", "other_state", "duration_ms", "other_duration_ms", "hit_count", "other_hit_count")


@command(
    click.argument("query"),
    click.option("--label", default="", help="Label of the test, such as weekly."),
    MODE,
    SCOPE,
    DEPTH,
    PROVIDER,
    ENTITY,
    CONTEXT,
    MEMORY_MODE,
    AGENT,
    subject_option,
    name="test",
    group=sources,
    example="contextkeep sources test 'Where is the quarterly report?' --label weekly",
)
def test(
    session: Session,
    output: Output,
    *,
    query: str,
    provider_ids: tuple[str, ...],
    node_ids: tuple[str, ...],
    **options: Any,
) -> None:
    """Run a query and store its answer as a test; needs admin.

    Use it to measure whether a change of settings improves the hits: run it again with `contextkeep sources replay`,
    then `contextkeep sources compare`.
    """
    ran = session.context.source_tests.run(
        query, provider_ids=provider_ids or None, node_ids=node_ids or None, **options
    )
    _print(output, ran)


@command(limit_option(), name="tests", group=sources, example="contextkeep sources tests")
def tests(session: Session, output: Output, *, limit: int) -> None:
    """List stored tests of queries, newest first.

    Use it to find the test_id for `contextkeep sources replay` and `contextkeep sources compare`.
    """
    output.many(islice(session.context.source_tests.list(), limit or None), *_TEST)


@command(
    click.argument("test_id"),
    click.argument("other_test_id"),
    name="compare",
    group=sources,
    example="contextkeep sources compare 0197f1f2-0000-7000-8000-000000000009 0197f1f2-0000-7000-8000-000000000015",
)
def compare(session: Session, output: Output, *, test_id: str, other_test_id: str) -> None:
    """Compare the hits of two stored tests of queries.

    Use it after `contextkeep sources replay`, to see what a change did. `contextkeep sources tests` prints the ids.
    """
    compared = session.context.source_tests.compare(test_id, other_test_id)
    if output.format is Format.JSON:
        output.one(compared)
        return
    output.many(compared.providers, *_BOTH)
    if output.format is Format.TABLE and compared.hits:
        click.echo()
        output.many(compared.hits, "rank", "other_rank", "title", "ref")


@command(
    click.argument("test_id"),
    click.option("--label", default="", help="Label of the new test.  [default: the label of the stored one]"),
    name="replay",
    group=sources,
    example="contextkeep sources replay 0197f1f2-0000-7000-8000-000000000009",
)
def replay(session: Session, output: Output, *, test_id: str, label: str) -> None:
    """Run the query of a stored test again, as a new test.

    Use it after a change of settings or data, then `contextkeep sources compare`. A test is a query with
    the answers of its sources: `contextkeep sources test` makes one.

    `contextkeep sources tests` prints the TEST_ID.
    """
    _print(output, session.context.source_tests.replay(test_id, label=label))


def _print(output: Output, ran: SourceTest) -> None:
    """Print the result of a source test: how each source fared, and the warnings."""
    if output.format is Format.JSON or ran.answer is None:
        output.one(ran)
        return
    output.many(ran.answer.providers, *_FARED)
    if output.format is Format.TABLE:
        for warning in ran.warnings:
            click.echo(f"warning: {warning}")
        click.echo(f"\n{len(ran.answer.hits)} hits, kept as {ran.test_id}")


sources.add_command(specialist)
