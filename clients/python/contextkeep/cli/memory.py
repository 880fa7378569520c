"""`contextkeep memory`: memories about a user, across contexts."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any, get_args

import click

from contextkeep.cli._base import (
    JSON_OBJECT,
    SCORE_MIN,
    Session,
    command,
    confirm,
    limit_option,
    subject_option,
    yes_option,
)
from contextkeep.cli._lines import TIME
from contextkeep.cli._output import Format, Output
from contextkeep.values import Experience, Memory, MemoryKind, MemorySource

_SAID = (
    click.option("--kind", type=click.Choice(get_args(MemoryKind)), help="Kind of the memory.  [default: fact]"),
    click.option(
        "--key",
        help="What it is about, such as home_town; the newest memory of a key supersedes the others.",
    ),
    click.option("--confidence", type=click.FloatRange(0, 1), help="Confidence in the statement.  [default: 1]"),
    click.option("--happened-at", type=TIME, help="When it became true, such as 2026-01-31T12:00:00Z.  [default: now]"),
    click.option("--valid-from", type=TIME, help="Since when it holds.  [default: as the text says, or --happened-at]"),
    click.option("--valid-to", type=TIME, help="Until when it holds.  [default: until another memory replaces it]"),
    click.option("--expires-at", type=TIME, help="When the service deletes it.  [default: never]"),
    click.option("--metadata", type=JSON_OBJECT, help='Metadata of your own, such as \'{"team": "sales"}\'.'),
    click.option("--tag", "tags", multiple=True, help="Label of the memory; may be repeated."),
    click.option("--source", "label", default="", help="Source, such as the name of a file."),
    click.option("--source-uri", "uri", default="", help="Link to the source, such as https://crm.example/ada."),
    click.option("--source-context", "context_id", default="", help="Id of the context that the statement comes from."),
    click.option("--goal", default="", help="For an experience: what the agent tried."),
    click.option("--outcome", default="", help="For an experience: the result."),
    click.option("--quality", type=click.FloatRange(0, 1), help="For an experience: how well it went, 0 to 1."),
)

_WHICH = (
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice(get_args(MemoryKind)),
        help="Only memories of this kind; may be repeated.",
    ),
    click.option("--key", default="", help="Only memories with this key, such as home_town."),
    click.option("--holding", "holding_only", is_flag=True, help="Only memories that hold: leave out superseded ones."),
    click.option(
        "--from",
        "happened_from",
        type=TIME,
        help="Only what happened at this time or later, such as 2026-01-31T00:00:00Z.",
    ),
    click.option("--to", "happened_to", type=TIME, help="Only what happened before this time."),
    click.option("--as-of", type=TIME, help="Only memories that held at this time."),
    click.option("--tag", "tags", multiple=True, help="Only memories with this label; may be repeated."),
    click.option("--metadata", "metadata_contains", type=JSON_OBJECT, help="Only memories whose metadata contain it."),
)
_VALIDITY = ("valid_from", "valid_to", "expires_at", "metadata")
_ROW = ("memory_id", "kind", "key", "text", "valid_from", "valid_to", "superseded_by")


@click.group(
    epilog="\b\nExample:\n  contextkeep memory retain 'Ada lives in Paris.' --user ada",
)
def memory() -> None:
    """Memories: facts about a user, across all contexts."""


@command(
    click.argument("text"),
    *_SAID,
    subject_option,
    name="retain",
    group=memory,
    example="""
contextkeep memory retain 'Ada lives in Paris.' --key home_town --user ada
contextkeep memory retain 'Ask before moving it.' --kind experience --goal 'move a meeting' --quality 0.2 --user ada
""",
)
def retain(
    session: Session,
    output: Output,
    *,
    text: str,
    kind: MemoryKind | None,
    key: str | None,
    confidence: float | None,
    happened_at: datetime | None,
    tags: tuple[str, ...],
    subject_user_id: str,
    **options: Any,
) -> None:
    """Store a statement about a user.

    Use it for memories: facts, preferences and lessons that later conversations should know.

    A key names what a memory is about. The newest memory of a key holds; older ones stay, marked as superseded.
    """
    source, experience = _source(**options), _experience(**options)
    output.one(
        session.context.memories.retain(
            text,
            kind=kind or "fact",
            key=key or "",
            confidence=confidence,
            source=source,
            happened_at=happened_at,
            experience=experience,
            tags=tags,
            subject_user_id=subject_user_id,
            **{name: options[name] for name in _VALIDITY},
        )
    )


@command(
    click.argument("query"),
    *_WHICH,
    click.option(
        "--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Maximum number of memories."
    ),
    SCORE_MIN,
    subject_option,
    name="recall",
    group=memory,
    example="contextkeep memory recall 'Where does Ada live?' --user ada",
)
def recall(session: Session, output: Output, *, query: str, kinds: tuple[MemoryKind, ...], **options: Any) -> None:
    """Find the memories that matter to a question.

    Use it to see single memories with their scores. `contextkeep memory reflect` sums them up.
    """
    results = session.context.memories.recall(query, kinds=kinds, **options)
    if output.format is Format.JSON:
        output.many(results)
        return
    output.many([{"score": round(item.score, 3), **_row(item.memory)} for item in results], "score", *_ROW)


@command(
    click.argument("query"),
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=click.Choice(get_args(MemoryKind)),
        help="Only memories of this kind; may be repeated.",
    ),
    click.option(
        "--limit", type=click.IntRange(1, 20), default=3, show_default=True, help="Maximum number of sentences."
    ),
    click.option("--tokens-max", type=click.IntRange(1, 4000), help="Maximum number of tokens.  [default: 400]"),
    subject_option,
    name="reflect",
    group=memory,
    example="contextkeep memory reflect 'Where does Ada live?' --user ada",
)
def reflect(session: Session, output: Output, *, query: str, kinds: tuple[MemoryKind, ...], **options: Any) -> None:
    """Answer a question with sentences of memories.

    Use it when you want one statement instead of the single memories of `contextkeep memory recall`.
    """
    result = session.context.memories.reflect(query, kinds=kinds, **options)
    if output.format is not Format.TABLE:
        output.one(result)
        return
    click.echo(result.statement or "No memories match.")


@command(
    click.option("--tokens-max", type=click.IntRange(1, 32000), help="Maximum number of tokens.  [default: 2000]"),
    subject_option,
    name="about",
    group=memory,
    example="contextkeep memory about --tokens-max 500 --user ada",
)
def about(session: Session, output: Output, *, tokens_max: int | None, subject_user_id: str) -> None:
    """Print one text about a user, for a prompt.

    Use it before a new conversation. It quotes memories that hold, the last conversations, and sentences of users in
    them. `--format json` also prints where each line comes from.
    """
    known = session.context.memories.get_user_context(tokens_max=tokens_max, subject_user_id=subject_user_id)
    if output.format is not Format.TABLE:
        output.one(known)
        return
    click.echo(known.text or "Nothing is known.")


@command(
    *_WHICH,
    subject_option,
    limit_option(),
    name="list",
    group=memory,
    example="contextkeep memory list --holding --user ada",
)
def list_(session: Session, output: Output, *, kinds: tuple[MemoryKind, ...], limit: int, **options: Any) -> None:
    """List memories, most recently stored first.

    Use it to review the memories of a user. superseded_by names the newer memory of the same subject, and --as-of shows
    what held at a time.
    """
    result = islice(session.context.memories.list(kinds=kinds, page_size=min(limit, 500), **options), limit)
    output.many(result if output.format is Format.JSON else map(_row, result), *_ROW)


@command(
    click.argument("memory_id"),
    click.option("--text", help="New text of the memory."),
    *_SAID,
    click.option(
        "--version",
        "expected_version",
        type=click.IntRange(0),
        default=0,
        help="Fail unless the memory has this version, such as 1.  [default: any]",
    ),
    subject_option,
    name="update",
    group=memory,
    example="contextkeep memory update 0197f1f2-0000-7000-8000-000000000008 --text 'Ada lives in Rome.' --user ada",
)
def update(
    session: Session,
    output: Output,
    *,
    memory_id: str,
    text: str | None,
    kind: MemoryKind | None,
    key: str | None,
    confidence: float | None,
    happened_at: datetime | None,
    tags: tuple[str, ...],
    expected_version: int,
    subject_user_id: str,
    **options: Any,
) -> None:
    """Correct a memory.

    Use it when a memory is wrong. When a fact has changed, use `contextkeep memory retain` with the same --key instead.

    An option that you leave out changes nothing: the defaults are those of `contextkeep memory retain`. `contextkeep
    memory list` prints the MEMORY_ID.
    """
    source, experience = _source(**options), _experience(**options)
    validity = {name: options[name] for name in _VALIDITY}
    changes = (text, kind, key, confidence, happened_at, source, experience, *validity.values())
    if not tags and all(item is None for item in changes):
        raise click.UsageError("nothing to change: give --text, --kind, --key or another option of --help")
    output.one(
        session.context.memories.update(
            memory_id,
            text=text,
            kind=kind,
            key=key,
            confidence=confidence,
            source=source,
            happened_at=happened_at,
            experience=experience,
            tags=tags or None,
            expected_version=expected_version,
            subject_user_id=subject_user_id,
            **validity,
        )
    )


@command(
    click.argument("memory_id"),
    subject_option,
    limit_option(),
    name="revisions",
    group=memory,
    example="contextkeep memory revisions 0197f1f2-0000-7000-8000-000000000008 --user ada",
)
def revisions(session: Session, output: Output, *, memory_id: str, limit: int, subject_user_id: str) -> None:
    """List the earlier values of a memory, newest first.

    Use it to see what a memory said before it was corrected. `contextkeep memory list` prints the MEMORY_ID.
    """
    result = islice(
        session.context.memories.list_revisions(memory_id, subject_user_id=subject_user_id, page_size=min(limit, 500)),
        limit,
    )
    columns = ("version", "kind", "key", "text", "valid_from", "valid_to", "replaced_at", "replaced_by")
    output.many(result, *columns)


@command(
    click.argument("memory_id"),
    yes_option,
    subject_option,
    name="forget",
    group=memory,
    example="contextkeep memory forget 0197f1f2-0000-7000-8000-000000000008 --yes --user ada",
)
def forget(session: Session, output: Output, *, memory_id: str, yes: bool, subject_user_id: str) -> None:
    """Delete a memory for good.

    Use it when a user asks you to forget something. `contextkeep memory list` prints the MEMORY_ID.
    """
    confirm("Forget it?", yes)
    session.context.memories.forget(memory_id, subject_user_id=subject_user_id)
    output.one({"memory_id": memory_id, "forgotten": True})


@command(
    click.option(
        "--run", "run_context_ids", multiple=True, help="Id of a context whose lessons are promoted; may be repeated."
    ),
    click.option(
        "--plan",
        default="",
        help="Carry out this plan, which a call with the same --run printed.  [default: print a plan]",
    ),
    subject_option,
    name="consolidate",
    group=memory,
    example="contextkeep memory consolidate --user ada",
)
def consolidate(session: Session, output: Output, **options: Any) -> None:
    """Merge duplicate memories, and promote lessons.

    Use it from time to time. Without --plan it changes nothing, and prints a plan. Then call it again with --plan and
    the printed plan, to carry the plan out.

    A lesson is a memory of the kind experience. Promoting stores the lessons of the contexts in --run also as memories
    of the kind observation.
    """
    output.one(session.context.memories.consolidate(**options))


def _row(item: Memory) -> dict[str, Any]:
    """Return the columns of a memory."""
    return {
        "memory_id": item.memory_id,
        "kind": item.kind,
        "key": item.key,
        "text": " ".join(item.text.split()),
        "valid_from": item.valid_from,
        "valid_to": item.valid_to,
        "superseded_by": item.superseded_by,
    }


def _source(*, label: str, uri: str, context_id: str, **_: Any) -> MemorySource | None:
    return MemorySource(label=label, uri=uri, context_id=context_id) if label or uri or context_id else None


def _experience(*, goal: str, outcome: str, quality: float | None, **_: Any) -> Experience | None:
    if not goal and not outcome and quality is None:
        return None
    return Experience(goal=goal, outcome=outcome, quality=quality)
