"""`contextkeep kb`: knowledge bases, and their documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from contextkeep.cli._base import Session, command, confirm, limit_option, yes_option
from contextkeep.cli._output import Output

_BASE = ("name", "is_of_tenant", "document_count", "size_bytes", "version", "updated_at")
_DOCUMENT = ("document_id", "name", "state", "error", "passage_count", "updated_at")
_STATES = ("queued", "parsing", "indexed", "failed")


@click.group(epilog="\b\nExample:\n  contextkeep kb add handbook report.pdf")
def kb() -> None:
    """Knowledge bases: documents that are found together."""


@command(
    click.argument("name"),
    click.option("--description", default="", help="What is in it."),
    click.option(
        "--of-tenant", "is_of_tenant", is_flag=True, help="Asked for everybody; else for agents that name it."
    ),
    click.option("--of-app", "app_id", default="", help="A wall: keys bound to this app see it. It never changes."),
    click.option("--agent-bundle-id", default="", help="A wall, likewise."),
    click.option("--graph", "graph_name", default="", help="A wall, likewise."),
    click.option("--bedrock", "bedrock_id", default="", help="Amazon Bedrock's id of a base there, to ask instead."),
    click.option("--bedrock-region", default="", help="Where that is, such as eu-central-1."),
    name="put",
    group=kb,
    example="contextkeep kb put handbook --of-tenant --description 'How we work'",
)
def put(session: Session, output: Output, *, name: str, **given: Any) -> None:
    """Write a knowledge base as it is said; needs admin."""
    output.one(session.context.knowledge_bases.put(name, **given))


@command(click.argument("name"), name="get", group=kb, example="contextkeep kb get handbook")
def get(session: Session, output: Output, *, name: str) -> None:
    """Print a base, and how far its documents are."""
    output.one(session.context.knowledge_bases.get(name))


@command(limit_option(), name="list", group=kb, example="contextkeep kb list")
def list_bases(session: Session, output: Output, *, limit: int) -> None:
    """List the bases that you may see."""
    output.many(session.context.knowledge_bases.list(), *_BASE, limit=limit)


@command(click.argument("name"), yes_option, name="delete", group=kb, example="contextkeep kb delete old --yes")
def delete(session: Session, output: Output, *, name: str, yes: bool) -> None:
    """Remove a base with its documents; needs admin."""
    confirm("Delete it, with all its documents?", yes)
    session.context.knowledge_bases.delete(name)
    output.one({"name": name, "is_deleted": True})


@command(
    click.argument("base"),
    click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True)),
    click.option("--record", "working_memory_id", help="Instead of a file: a record that the document follows."),
    click.option("--name", default="", help="Its title; else the file's, or the record's."),
    click.option("--uri", default="", help="Where it is from, for who follows a hit."),
    click.option("--content-type", default="", help="A media type; else told from the name."),
    name="add",
    group=kb,
    example="""
contextkeep kb add handbook report.pdf --uri https://intranet.example/report.pdf
contextkeep kb add handbook --record 0197f1f2-0000-7000-8000-000000000002
""",
)
def add(
    session: Session, output: Output, *, base: str, file: str | None, working_memory_id: str | None, **given: Any
) -> None:
    """Add a file (`-`: stdin), or a record to follow."""
    if (file is None) == (working_memory_id is None):
        raise click.UsageError("give a file or --record, one of them")
    data = None
    if file is not None:
        if file == "-" and not given["name"]:
            raise click.UsageError("stdin has no name: give --name")
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        given["name"] = given["name"] or Path(file).name
    output.one(session.context.knowledge_bases.add_document(base, data, working_memory_id=working_memory_id, **given))


@command(
    click.argument("base"),
    click.option("--state", "states", multiple=True, type=click.Choice(_STATES), help="May be repeated."),
    limit_option(),
    name="documents",
    group=kb,
    example="contextkeep kb documents handbook --state failed --state queued",
)
def documents(session: Session, output: Output, *, base: str, limit: int, **given: Any) -> None:
    """List the documents of a base, the newest first."""
    output.many(session.context.knowledge_bases.list_documents(base, **given), *_DOCUMENT, limit=limit)


@command(
    click.argument("base"),
    click.argument("document_id"),
    name="remove",
    group=kb,
    example="contextkeep kb remove handbook 0197f1f2-0000-7000-8000-000000000011",
)
def remove(session: Session, output: Output, *, base: str, document_id: str) -> None:
    """Remove a document with all that finds it."""
    session.context.knowledge_bases.remove_document(base, document_id)
    output.one({"document_id": document_id, "is_removed": True})
