"""`contextkeep query`: one question to every source."""

from __future__ import annotations

from typing import Any

import click

from contextkeep.cli._base import JSON_OBJECT, MEMORY_MODE, SCORE_MIN, Session, command, subject_option
from contextkeep.cli._output import Format, Output
from contextkeep.cli.sources import AGENT, CONTEXT, DEPTH, ENTITY, LISTED, MODE, PROVIDER, SCOPE
from contextkeep.values import QueriedContext

_HIT = ("rank", "title", "snippet", "source", "ref")
_STATUS = ("provider_id", "state", "hit_count", "duration_ms", "reason")
_PROVIDERS = "providers"


@command(
    click.argument("query"),
    MODE,
    SCOPE,
    DEPTH,
    PROVIDER,
    click.option(
        "--family", "families", multiple=True, help="Search all sources of this family, such as mcp; may be repeated."
    ),
    ENTITY,
    MEMORY_MODE,
    CONTEXT,
    click.option(
        "--expand",
        "expand_refs",
        multiple=True,
        help="Also print the whole text of this ref of an earlier answer; may be repeated.",
    ),
    click.option(
        "--tokens",
        "tokens_max",
        type=click.IntRange(0),
        default=0,
        help="Also print the hits as text for a prompt, up to this many tokens.",
    ),
    SCORE_MIN,
    click.option(
        "--metadata", type=JSON_OBJECT, help="""Only hits whose metadata have these values: '{"project": "apollo"}'."""
    ),
    click.option("--stream", "is_streamed", is_flag=True, help="Print the hits of each source as soon as it answers."),
    click.option("--limit", type=click.IntRange(1, 50), default=20, show_default=True, help="Maximum number of hits."),
    AGENT,
    subject_option,
    name="query",
    example="""
contextkeep query 'Where is the quarterly report?'
contextkeep query 'Where is the quarterly report?' --provider workspace --mode answer
contextkeep query 'Where is the quarterly report?' --stream
contextkeep query providers
""",
)
def query(
    session: Session,
    output: Output,
    *,
    query: str,
    provider_ids: tuple[str, ...],
    families: tuple[str, ...],
    node_ids: tuple[str, ...],
    is_streamed: bool,
    **options: Any,
) -> None:
    """Search all sources with one question.

    Use it to find context for a prompt in records, contexts, memories, pages and tools.

    Without --provider and --family the command searches the sources that are a default. The question `providers` lists
    the sources instead. The column ref of the answer names a hit; --expand takes it.
    """
    if query == _PROVIDERS:
        output.many(session.context.query.list_providers(), *LISTED)
        return
    options |= {"provider_ids": provider_ids or None, "families": families or None, "node_ids": node_ids or None}
    if is_streamed:
        for event in session.context.query.stream(query, **options):
            if output.format is Format.JSON:
                output.line(event)
            elif event.provider:
                output.line(event.provider.status, *_STATUS)
            elif event.answer:
                _print(output, event.answer)
        return
    result = session.context.query.ask(query, **options)
    if output.format is Format.JSON:
        output.one(result)
        return
    _print(output, result)
    if output.format is Format.TABLE:
        click.echo()
        output.many(result.providers, *_STATUS)


def _print(output: Output, answer: QueriedContext) -> None:
    """Print the hits of an answer, the state of each source, and the texts that were asked for."""
    hits = [
        {
            "rank": hit.rank,
            "title": hit.title,
            "snippet": " ".join(hit.snippet.split()),
            "source": ", ".join(dict.fromkeys(source.provider_id for source in hit.sources)),
            "ref": hit.ref,
        }
        for hit in answer.hits
    ]
    output.many(hits, *_HIT)
    if output.format is Format.TABLE:
        for text in filter(None, (answer.answer_text, answer.prompt_text)):
            click.echo(f"\n{text}")
        for item in answer.expanded:
            click.echo(f"\n{item.ref}: {item.reason or item.title}")
            if item.text:
                click.echo(item.text)
