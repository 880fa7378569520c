"""`contextkeep query`: one question to every source."""

from __future__ import annotations

from typing import Any

import click

from contextkeep.cli._base import Session, command
from contextkeep.cli._output import Format, Output
from contextkeep.client._messages import QUERY_DEPTHS, QUERY_MODES, QUERY_SCOPES

_HIT = ("rank", "title", "snippet", "source", "ref")
_STATUS = ("provider_id", "state", "hit_count", "duration_ms", "reason")
_PROVIDER = ("provider_id", "family", "display_name", "scopes", "is_default", "is_installed", "deadline_ms")
_PROVIDERS = "providers"


@command(
    click.argument("query"),
    click.option("--mode", type=click.Choice(list(QUERY_MODES)), default="results", help="answer: quotations, too."),
    click.option("--scope", type=click.Choice(list(QUERY_SCOPES)), default="auto", help="Whose."),
    click.option("--depth", type=click.Choice(list(QUERY_DEPTHS)), default="quick", help="deep: longer, and twice."),
    click.option("--provider", "provider_ids", multiple=True, help="Ask this one; may be repeated."),
    click.option("--family", "families", multiple=True, help="Ask all of this family; may be repeated."),
    click.option("--entity", "node_ids", multiple=True, help="Search the files of this node; may be repeated."),
    click.option("--context", "context_ids", multiple=True, help="Search this context, too; may be repeated."),
    click.option("--tokens", "tokens_max", type=click.IntRange(0), default=0, help="Print a prompt of so many tokens."),
    click.option("--limit", type=click.IntRange(1, 50), default=20, show_default=True, help="Hits."),
    click.option("--user", "subject_user_id", default="", help="For which user; the key needs the scope delegate."),
    name="query",
    example="""
contextkeep query 'Where is the quarterly report?'
contextkeep query 'Where is the quarterly report?' --provider workspace --mode answer
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
    **given: Any,
) -> None:
    """Ask every source a question; `query providers` lists the sources."""
    if query == _PROVIDERS:
        output.many(session.context.list_context_providers(), *_PROVIDER)
        return
    found = session.context.query_context(
        query, provider_ids=provider_ids or None, families=families or None, node_ids=node_ids or None, **given
    )
    if output.format is Format.JSON:
        output.one(found)
        return
    hits = [
        {
            "rank": one.rank,
            "title": one.title,
            "snippet": " ".join(one.snippet.split()),
            "source": ", ".join(dict.fromkeys(source.provider_id for source in one.sources)),
            "ref": one.ref,
        }
        for one in found.hits
    ]
    output.many(hits, *_HIT)
    if output.format is Format.TABLE:
        for text in filter(None, (found.answer_text, found.prompt_text)):
            click.echo(f"\n{text}")
        click.echo()
        output.many(found.providers, *_STATUS)
