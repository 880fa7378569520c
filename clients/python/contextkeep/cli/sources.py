"""`contextkeep sources`: whom a question may ask."""

from __future__ import annotations

from itertools import islice
from typing import Any, get_args

import click

from contextkeep.cli._base import Session, command, limit_option, subject_option
from contextkeep.cli._output import Format, Output
from contextkeep.cli.specialist import specialist
from contextkeep.values import MemoryQueryMode, QueryDepth, QueryMode, QueryScope, SourceTest

LISTED = ("provider_id", "family", "display_name", "scopes", "is_enabled", "is_default", "is_installed", "deadline_ms")
_HOLDS = ("provider_id", "family", "is_enabled", "is_default", "deadline_ms", "refused_by")
_FIELDS = ("enabled", "is_default", "deadline_ms", "workspace", "memory")

# What a question says, to everybody's command and to the harness.
MODE = click.option(
    "--mode", type=click.Choice(get_args(QueryMode)), default="results", help="answer: quotations, too."
)
SCOPE = click.option("--scope", type=click.Choice(get_args(QueryScope)), default="auto", help="Whose.")
DEPTH = click.option(
    "--depth", type=click.Choice(get_args(QueryDepth)), default="quick", help="deep: longer, and twice."
)
PROVIDER = click.option("--provider", "provider_ids", multiple=True, help="Ask this one; may be repeated.")
ENTITY = click.option("--entity", "node_ids", multiple=True, help="Search the files of this node; may be repeated.")
CONTEXT = click.option("--context", "context_ids", multiple=True, help="Search this context, too; may be repeated.")
AGENT = click.option("--agent", "agent_id", default="", help="For this agent; else for that of the key.")


@click.group(epilog="\b\nExample:\n  contextkeep sources list")
def sources() -> None:
    """Sources of context query: who is asked, and how they fare."""


@command(name="list", group=sources, example="contextkeep sources list")
def list_sources(session: Session, output: Output) -> None:
    """List the sources that there are."""
    output.many(session.context.query.list_providers(), *LISTED, "last_state", "last_duration_ms")


@command(
    AGENT,
    subject_option,
    name="policy",
    group=sources,
    example="contextkeep sources policy",
)
def policy(session: Session, output: Output, **given: Any) -> None:
    """Print what would hold for a question now."""
    held = session.context.query.get_policy(**given)
    if output.format is Format.JSON:
        output.one(held)
        return
    output.many(held.providers, *_HOLDS)
    if output.format is Format.TABLE and held.target_whose:
        click.echo(f"\nfiles below, as {held.target_whose} has it: {', '.join(held.target_node_ids) or 'none'}")


@command(
    click.argument("provider_id"),
    click.option("--enable/--disable", "enabled", default=None, help="Whether it may be asked."),
    click.option("--default/--no-default", "is_default", default=None, help="Whether it is asked unless others are."),
    click.option("--deadline-ms", type=click.IntRange(1, 60_000), help="How long it has."),
    click.option("--below", "node_ids", multiple=True, help="Search the workspace below this node; may be repeated."),
    click.option("--memories", "memory_mode", type=click.Choice(get_args(MemoryQueryMode)), help="Each, or as one."),
    click.option("--reset", multiple=True, type=click.Choice(_FIELDS), help="Let this be as the source has it again."),
    name="set",
    group=sources,
    example="""
contextkeep sources set context --deadline-ms 4000
contextkeep sources set memory --memories recall
contextkeep sources set context --reset deadline_ms
""",
)
def set_source(session: Session, output: Output, *, provider_id: str, node_ids: tuple[str, ...], **given: Any) -> None:
    """Say for the tenant whether a source is asked; needs admin."""
    output.one(session.context.query.update_provider(provider_id, node_ids=node_ids or None, **given))


_TEST = ("test_id", "created_at", "query", "label", "hit_count", "duration_ms", "replay_of")
_FARED = ("provider_id", "state", "hit_count", "duration_ms", "mode", "reason")
_BOTH = ("provider_id", "state", "other_state", "duration_ms", "other_duration_ms", "hit_count", "other_hit_count")


@command(
    click.argument("query"),
    click.option("--label", default="", help="What the test is called."),
    MODE,
    SCOPE,
    DEPTH,
    PROVIDER,
    ENTITY,
    CONTEXT,
    click.option("--memories", "memory_mode", type=click.Choice(get_args(MemoryQueryMode)), help="How they are asked."),
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
    **given: Any,
) -> None:
    """Ask the sources a question, and keep the answer; needs admin."""
    ran = session.context.source_tests.run(query, provider_ids=provider_ids or None, node_ids=node_ids or None, **given)
    _print(output, ran)


@command(limit_option(), name="tests", group=sources, example="contextkeep sources tests")
def tests(session: Session, output: Output, *, limit: int) -> None:
    """List the tests that are kept, the newest first."""
    output.many(islice(session.context.source_tests.list(), limit or None), *_TEST)


@command(
    click.argument("test_id"),
    click.argument("other_test_id"),
    name="compare",
    group=sources,
    example="contextkeep sources compare 0197f1f2-0000-7000-8000-000000000009 0197f1f2-0000-7000-8000-000000000009",
)
def compare(session: Session, output: Output, *, test_id: str, other_test_id: str) -> None:
    """Say what two tests differ in."""
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
    click.option("--label", default="", help="What the new test is called; else as before."),
    name="replay",
    group=sources,
    example="contextkeep sources replay 0197f1f2-0000-7000-8000-000000000009",
)
def replay(session: Session, output: Output, *, test_id: str, label: str) -> None:
    """Ask the question of a test again, and keep the answer."""
    _print(output, session.context.source_tests.replay(test_id, label=label))


def _print(output: Output, ran: SourceTest) -> None:
    if output.format is Format.JSON or ran.answer is None:
        output.one(ran)
        return
    output.many(ran.answer.providers, *_FARED)
    if output.format is Format.TABLE:
        for warning in ran.warnings:
            click.echo(f"warning: {warning}")
        click.echo(f"\n{len(ran.answer.hits)} hits, kept as {ran.test_id}")


sources.add_command(specialist)
