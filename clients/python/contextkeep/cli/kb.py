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
    """Knowledge bases: collections of searchable documents."""


@command(
    click.argument("name"),
    click.option("--description", default="", help="What the base contains, for people."),
    click.option(
        "--of-tenant",
        "is_of_tenant",
        is_flag=True,
        help="Search it in every query of the tenant.  [default: only for agents that name it]",
    ),
    click.option(
        "--of-app",
        "app_id",
        default="",
        help="App of the base, such as shop; a key that is bound to other apps does not see it.",
    ),
    click.option(
        "--agent-bundle-id",
        default="",
        help="Agent bundle of the base, such as crm-bundle; a key that is bound to another one does not see it.",
    ),
    click.option(
        "--graph",
        "graph_name",
        default="",
        help="Graph of the base, such as sales; a key that is bound to other graphs does not see it.",
    ),
    click.option(
        "--bedrock",
        "bedrock_id",
        default="",
        help="Search this knowledge base of Amazon Bedrock (its id, such as ABCDE12345) instead of added documents.",
    ),
    click.option("--bedrock-region", default="", help="AWS region of the --bedrock base, such as eu-central-1."),
    name="put",
    group=kb,
    example="contextkeep kb put handbook --of-tenant --description 'How we work'",
)
def put(session: Session, output: Output, *, name: str, **given: Any) -> None:
    """Create or replace a knowledge base; needs admin.

    Use it before `contextkeep kb add`. The app, agent bundle, graph and Bedrock id cannot be changed later.
    """
    output.one(session.context.knowledge_bases.put(name, **given))


@command(click.argument("name"), name="get", group=kb, example="contextkeep kb get handbook")
def get(session: Session, output: Output, *, name: str) -> None:
    """Print a knowledge base and the progress of its documents.

    Use it after `contextkeep kb add`, to see whether the documents are indexed.
    """
    output.one(session.context.knowledge_bases.get(name))


@command(limit_option(), name="list", group=kb, example="contextkeep kb list")
def list_bases(session: Session, output: Output, *, limit: int) -> None:
    """List the knowledge bases that you may see.

    Use it to find the name of a base.
    """
    output.many(session.context.knowledge_bases.list(), *_BASE, limit=limit)


@command(click.argument("name"), yes_option, name="delete", group=kb, example="contextkeep kb delete old --yes")
def delete(session: Session, output: Output, *, name: str, yes: bool) -> None:
    """Delete a knowledge base with its documents; needs admin.

    Use it when no agent needs the documents any more.
    """
    confirm("Delete it, with all its documents?", yes)
    session.context.knowledge_bases.delete(name)
    output.one({"name": name, "is_deleted": True})


@command(
    click.argument("base"),
    click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, allow_dash=True)),
    click.option(
        "--record",
        "working_memory_id",
        help="Id of a record (`contextkeep wm list`) to add instead of a file; the document follows its changes.",
    ),
    click.option("--name", default="", help="Title.  [default: the name of the file or record]"),
    click.option(
        "--uri", default="", help="Link to the original, such as https://intranet.example/a.pdf; searches show it."
    ),
    click.option(
        "--content-type", default="", help="Media type, such as application/pdf.  [default: guessed from the name]"
    ),
    name="add",
    group=kb,
    example="""
contextkeep kb add handbook report.pdf --uri https://intranet.example/report.pdf
contextkeep kb add handbook --record 0197f1f2-0000-7000-8000-000000000002
""",
)
def add(
    session: Session, output: Output, *, base: str, file: str | None, working_memory_id: str | None, **options: Any
) -> None:
    """Add a file, stdin or a record to a knowledge base.

    Use it to make a document searchable. The service indexes it in the background; `contextkeep kb documents` shows
    its state.
    """
    if (file is None) == (working_memory_id is None):
        raise click.UsageError("give a file or --record (exactly one)")
    data = None
    if file is not None:
        if file == "-" and not options["name"]:
            raise click.UsageError("stdin has no name; give --name")
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        options["name"] = options["name"] or Path(file).name
    output.one(session.context.knowledge_bases.add_document(base, data, working_memory_id=working_memory_id, **options))


@command(
    click.argument("base"),
    click.option(
        "--state",
        "states",
        multiple=True,
        type=click.Choice(_STATES),
        help="Only documents in this state; may be repeated.",
    ),
    limit_option(),
    name="documents",
    group=kb,
    example="contextkeep kb documents handbook --state failed --state queued",
)
def documents(session: Session, output: Output, *, base: str, limit: int, **options: Any) -> None:
    """List the documents of a base, newest first.

    Use it to see which documents are indexed and which failed.
    """
    output.many(session.context.knowledge_bases.list_documents(base, **options), *_DOCUMENT, limit=limit)


@command(
    click.argument("base"),
    click.argument("document_id"),
    name="remove",
    group=kb,
    example="contextkeep kb remove handbook 0197f1f2-0000-7000-8000-000000000011",
)
def remove(session: Session, output: Output, *, base: str, document_id: str) -> None:
    """Remove a document from a base and from search.

    Use it when a document is obsolete. `contextkeep kb documents` prints the DOCUMENT_ID.
    """
    session.context.knowledge_bases.remove_document(base, document_id)
    output.one({"document_id": document_id, "is_removed": True})
