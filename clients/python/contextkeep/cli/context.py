"""`contextkeep context`: isolated conversations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, BinaryIO, Literal, get_args

import click

from contextkeep.cli._base import (
    JSON_OBJECT,
    NodeArgument,
    Session,
    command,
    confirm,
    limit_option,
    subject_option,
    yes_option,
)
from contextkeep.cli._lines import TIME, messages_of
from contextkeep.cli._output import Format, Output, to_plain
from contextkeep.cli.task import artifact, task
from contextkeep.client._context_messages import KeyScope
from contextkeep.inputs import ContextInput, ExternalId, MessageInput, RecallFilter
from contextkeep.values import ChatMessage, ContextState, Part, RecalledItem

_ROW = ("context_id", "title", "state", "message_count", "token_count", "created_at")
_RECEIPT = ("erasure_id", "context_id", "state", "message_count", "messages_removed", "created_at", "finished_at")
_SENT = ("context_id", "message_id", "seq", "tokens", "created_at")
_ROLES = ("user", "assistant", "system", "tool")
_KINDS = ("text", "data", "tool_call", "tool_result", "file", "record", "artifact")
_CLEARED = ("title", "external_ids", "metadata", "entity_node_id", "expires_at", "recall_profile")


_CONTEXT = click.argument("context_id")
_EXTERNAL = click.option(
    "--external", "external_ids", nargs=2, multiple=True, metavar="SYSTEM ID", help="Another system's id of it."
)
_TITLE = click.option("--title", help="A label.")
_METADATA = click.option("--metadata", type=JSON_OBJECT, help="A JSON object, or @FILE.")
_ENTITY = click.option("--entity", "entity_node_id", help="The node that it hangs on.")
_EXPIRES = click.option("--expires-at", type=TIME, help="When it goes by itself, as in 2026-01-31T12:00:00Z.")
_PROFILE = click.option("--recall-profile", help="Which ranking recall has in it.")
_HEADER = (_TITLE, _EXTERNAL, _METADATA, _ENTITY, _EXPIRES, _PROFILE)
_RANKED = (
    click.option("--profile", default="", help="The ranking; else the context's."),
    click.option("--explain", "with_features", is_flag=True, help="Show what each score is made of."),
    click.option("--role", "roles", multiple=True, type=click.Choice(_ROLES), help="Only what they said."),
    click.option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only passages of this kind."),
    click.option(
        "--about", "entity_node_ids", multiple=True, help="Only about this node of the graph; may be repeated."
    ),
)
_TARGET = (
    click.option("--context", "context_id", help="Where it goes; else a new context."),
    click.option(
        "--get-or-create",
        nargs=2,
        metavar="SYSTEM ID",
        help="Instead: the one context of that id, made if there is none.",
    ),
)


@click.group(epilog="\b\nExample:\n  contextkeep context send 'Where is my file?'")
def context() -> None:
    """Contexts: isolated conversations, message by message."""


context.add_command(task)
context.add_command(artifact)


@command(
    click.argument("content"),
    *_TARGET,
    click.option("--role", type=click.Choice(_ROLES), default="user", show_default=True, help="Who says it."),
    click.option("--message-id", default="", help="Your own id of it."),
    click.option("--agent-id", default="", help="Which agent says it."),
    click.option("--task", "task_id", help="The task that it belongs to; it goes to its context."),
    *_HEADER,
    subject_option,
    name="send",
    group=context,
    example="""
contextkeep context send 'Where is my file?' --title support
contextkeep context send 'Here it is.' --role assistant --context 0197f1f2-0000-7000-8000-000000000001
cat report.md | contextkeep context send - --context 0197f1f2-0000-7000-8000-000000000001
""",
)
def send(
    session: Session,
    output: Output,
    *,
    content: str,
    role: Literal["user", "assistant", "system", "tool"],
    message_id: str,
    agent_id: str,
    task_id: str | None,
    **given: Any,
) -> None:
    """Send a text (`-`: stdin); a first one begins a context.

    The options from --title on are of a new context.
    """
    if content == "-":
        try:
            content = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as error:
            raise click.UsageError(f"stdin is no text in UTF-8: {error}") from None
    message = MessageInput(content, role=role, message_id=message_id, agent_id=agent_id, task_id=task_id)
    output.one(session.context.contexts.send(message, **_target(given)), *_SENT)


@command(
    click.argument("file", type=click.File("rb"), default="-"),
    *_TARGET,
    *_HEADER,
    subject_option,
    name="append",
    group=context,
    example="""
contextkeep context append messages.ndjson --title imported
echo '{"content": "12 files"}' | contextkeep context append --context 0197f1f2-0000-7000-8000-000000000001
""",
)
def append(session: Session, output: Output, *, file: BinaryIO, **given: Any) -> None:
    """Send messages of a file or stdin, in batches.

    A batch has up to 500 messages and 4 MiB, and is written whole or not at all.

    A line is a message: a JSON object with role, content, parts, name, message_id, agent_id, metadata, said_at and
    session, each where there is something to say. The options from --title on are of a new context.
    """
    output.many(session.context.contexts.append(messages_of(file), **_target(given)), *_SENT)


@command(
    _CONTEXT,
    subject_option,
    name="show",
    group=context,
    example="contextkeep context show 0197f1f2-0000-7000-8000-000000000001",
)
def show(session: Session, output: Output, *, context_id: str, **given: Any) -> None:
    """Print what is known of a context."""
    found = session.context.contexts.get(context_id, history_length=0, **given).context
    output.one(found if output.format is Format.JSON else {**to_plain(found), "index": str(found.index)})


@command(
    click.option("--state", type=click.Choice(get_args(ContextState)), help="Else either."),
    click.option("--agent-id", default="", help="In which this agent has spoken."),
    click.option("--owner", "owner_user_id", default="", help="Of this user."),
    click.option("--external", "external_id", nargs=2, metavar="SYSTEM ID", help="That carry this id."),
    click.option("--metadata", "metadata_contains", type=JSON_OBJECT, help="Whose metadata contain this, or @FILE."),
    _ENTITY,
    click.option("--from", "created_from", type=TIME, help="Created then or later."),
    click.option("--to", "created_to", type=TIME, help="Created before."),
    subject_option,
    limit_option(),
    name="list",
    group=context,
    example="""
contextkeep context list --state open --from 2026-01-31T00:00:00Z
contextkeep context list --external threads thread-42
""",
)
def list_contexts(
    session: Session,
    output: Output,
    *,
    state: ContextState | None,
    external_id: tuple[str, str] | None,
    limit: int,
    **filters: Any,
) -> None:
    """List contexts, the newest first."""
    found = session.context.contexts.list(
        state=state, external_id=ExternalId(*external_id) if external_id else None, **filters
    )
    output.many(found, *_ROW, limit=limit)


@command(
    _CONTEXT,
    click.option("--from", "seq_from", type=click.IntRange(0), default=0, help="From this seq on."),
    click.option("--to", "seq_to", type=click.IntRange(0), default=0, help="Up to this seq."),
    click.option("--newest", "newest_first", is_flag=True, help="The newest first."),
    subject_option,
    limit_option(),
    name="messages",
    group=context,
    example="""
contextkeep context messages 0197f1f2-0000-7000-8000-000000000001 --newest --limit 20
""",
)
def messages(session: Session, output: Output, *, context_id: str, limit: int, **given: Any) -> None:
    """List the messages of a context."""
    found = session.context.contexts.list_messages(context_id, **given)
    if output.format is Format.JSON:
        output.many(found, limit=limit)
        return
    rows = (
        {"seq": one.seq, "role": one.role, "said_at": one.said_at, "message_id": one.message_id, "content": _text(one)}
        for one in found
    )
    output.many(rows, "seq", "role", "said_at", "message_id", "content", limit=limit)


@command(
    _CONTEXT,
    click.option("--from", "seq_from", type=click.IntRange(0), default=0, help="From this seq on."),
    click.option("--after", "change_after", type=click.IntRange(0), default=0, help="What changed behind this number."),
    click.option("--until-now", is_flag=True, help="End with what is there."),
    subject_option,
    name="watch",
    group=context,
    example="contextkeep context watch 0197f1f2-0000-7000-8000-000000000001 --until-now",
)
def watch(session: Session, output: Output, *, context_id: str, **given: Any) -> None:
    """Print what happens in it, line by line."""
    for event in session.context.contexts.watch(context_id, **given):
        if output.format is Format.JSON:
            output.line(event)
        elif event.message:
            output.line({"what": f"message {event.message.seq}", "is": _text(event.message)}, "what", "is")
        elif event.task:
            output.line({"what": f"task {event.task.task_id}", "is": event.task.state}, "what", "is")
        elif event.artifact:
            output.line({"what": f"artifact {event.artifact.artifact_id}", "is": str(event.artifact)}, "what", "is")
        elif event.retracted:
            seqs = ", ".join(map(str, event.retracted.seqs))
            output.line({"what": f"message {seqs}", "is": "retracted"}, "what", "is")
        elif event.context:
            output.line({"what": "context", "is": str(event.context)}, "what", "is")


@command(
    _CONTEXT,
    click.argument("message_id"),
    subject_option,
    name="message",
    group=context,
    example="contextkeep context message 0197f1f2-0000-7000-8000-000000000001 greeting --json",
)
def message(session: Session, output: Output, *, context_id: str, message_id: str, **given: Any) -> None:
    """Print a message with its parts."""
    output.one(session.context.contexts.get_message(context_id, message_id, **given))


@command(
    _CONTEXT,
    click.argument("text"),
    click.option("--tokens", "tokens_max", type=click.IntRange(0), default=0, help="Of all of it; 0: 2,000."),
    click.option("--items", "items_max", type=click.IntRange(0), default=0, help="Passages at most; 0: 20."),
    *_RANKED,
    subject_option,
    name="recall",
    group=context,
    example="""
contextkeep context recall 0197f1f2-0000-7000-8000-000000000001 'Where was my file?' --tokens 1000 --explain
contextkeep context recall 0197f1f2-0000-7000-8000-000000000001 'Where was my file?' --json > recalled.json
""",
)
def recall(
    session: Session,
    output: Output,
    *,
    context_id: str,
    text: str,
    roles: tuple[str, ...],
    kinds: tuple[str, ...],
    entity_node_ids: tuple[str, ...],
    **given: Any,
) -> None:
    """Print what of its past matters to a text.

    With --json also as one block for a model, `prompt_text`.
    """
    which = RecallFilter(roles=roles, kinds=kinds, entity_node_ids=entity_node_ids)
    recalled = session.context.contexts.recall(context_id, text, filter=which, **given)
    if output.format is Format.JSON:
        output.one(recalled)
        return
    _print_items(output, recalled.items)
    if recalled.left_out_count:
        click.echo(f"{recalled.left_out_count} more did not fit; see --tokens and --items", err=True)


@command(
    _CONTEXT,
    click.argument("query"),
    click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Passages at most."),
    *_RANKED,
    subject_option,
    name="search",
    group=context,
    example="""
contextkeep context search 0197f1f2-0000-7000-8000-000000000001 'lost file' --role user
""",
)
def search(
    session: Session,
    output: Output,
    *,
    context_id: str,
    query: str,
    roles: tuple[str, ...],
    kinds: tuple[str, ...],
    entity_node_ids: tuple[str, ...],
    **given: Any,
) -> None:
    """Find passages by their words, the best first."""
    which = RecallFilter(roles=roles, kinds=kinds, entity_node_ids=entity_node_ids)
    found = session.context.contexts.search(context_id, query, filter=which, **given)
    if output.format is Format.JSON:
        output.many(found)
        return
    _print_items(output, found)


@command(
    _CONTEXT,
    *_HEADER,
    click.option("--clear", multiple=True, type=click.Choice(_CLEARED), help="Empty a field; may be repeated."),
    subject_option,
    name="update",
    group=context,
    example="""
contextkeep context update 0197f1f2-0000-7000-8000-000000000001 --title 'Lost file' --metadata '{"vip": true}'
contextkeep context update 0197f1f2-0000-7000-8000-000000000001 --clear expires_at
""",
)
def update(
    session: Session, output: Output, *, context_id: str, clear: tuple[str, ...], subject_user_id: str, **given: Any
) -> None:
    """Change fields, each as a whole."""
    changes = _header(given)
    if twice := sorted(changes.keys() & set(clear)):
        raise click.UsageError(f"{', '.join(twice)}: set it or --clear it, not both")
    changes.update(dict.fromkeys(clear))
    if not changes:
        raise click.UsageError("say what to change; see --help")
    output.one(session.context.contexts.update(context_id, subject_user_id=subject_user_id, **changes), *_ROW)


@command(
    _CONTEXT,
    yes_option,
    subject_option,
    name="close",
    group=context,
    example="contextkeep context close 0197f1f2-0000-7000-8000-000000000001 --yes",
)
def close(session: Session, output: Output, *, context_id: str, yes: bool, **given: Any) -> None:
    """Take no more messages; it is read as before."""
    confirm("Close it?", yes)
    output.one(session.context.contexts.close(context_id, **given), *_ROW)


@command(
    _CONTEXT,
    click.argument("message_ids", metavar="MESSAGE_ID...", nargs=-1, required=True),
    yes_option,
    subject_option,
    name="retract",
    group=context,
    example="contextkeep context retract 0197f1f2-0000-7000-8000-000000000001 greeting --yes",
)
def retract(
    session: Session, output: Output, *, context_id: str, message_ids: tuple[str, ...], yes: bool, **given: Any
) -> None:
    """Hide messages from whoever reads."""
    confirm("Retract them?", yes)
    count = session.context.contexts.retract_messages(context_id, message_ids, **given)
    output.one({"context_id": context_id, "retracted": count})


@command(
    _CONTEXT,
    click.option("--seq", type=click.IntRange(0), default=0, help="Up to this message; 0: all that are written."),
    click.option("--wait", "wait_s", type=click.IntRange(1, 300), default=30, show_default=True, help="Seconds."),
    subject_option,
    name="wait",
    group=context,
    example="contextkeep context wait 0197f1f2-0000-7000-8000-000000000001",
)
def wait(session: Session, output: Output, *, context_id: str, **given: Any) -> None:
    """Wait until what was said has its vectors."""
    index = session.context.contexts.wait_for_index(context_id, **given)
    output.one(index, "passage_count", "indexed_count", "pending_count", "failed_count", "oldest_pending_at", "error")
    if not index.is_complete:
        raise click.exceptions.Exit(1)


@command(
    _CONTEXT,
    yes_option,
    click.option("--now", is_flag=True, help="Begin to remove at once, and not with the service's next pass."),
    subject_option,
    name="delete",
    group=context,
    example="contextkeep context delete 0197f1f2-0000-7000-8000-000000000001 --yes",
)
def delete(session: Session, output: Output, *, context_id: str, yes: bool, **given: Any) -> None:
    """Remove it for good, with all that was said; prints the receipt."""
    confirm("Delete it, with all that was said?", yes)
    output.one(session.context.contexts.delete(context_id, **given), *_RECEIPT)


@command(
    click.argument("erasure_id", metavar="RECEIPT"),
    subject_option,
    name="erasure",
    group=context,
    example="contextkeep context erasure 0197f1f2-0000-7000-8000-000000000004",
)
def erasure(session: Session, output: Output, *, erasure_id: str, **given: Any) -> None:
    """Tell by its receipt how far a deletion is."""
    output.one(session.context.contexts.get_erasure(erasure_id, **given), *_RECEIPT)


@command(
    NodeArgument(),
    click.option("--context", "context_id", help="Which one is filled."),
    click.option(
        "--get-or-create",
        nargs=2,
        metavar="SYSTEM ID",
        help="Instead: the one context of that id, begun by the first message.",
    ),
    click.option("--mapping", "mapping_name", default="", help="How nodes become messages; else simple_chat."),
    *_HEADER,
    subject_option,
    name="sync",
    group=context,
    example="contextkeep context sync thread-42 --external-id --get-or-create graph thread-42",
)
def sync(session: Session, output: Output, *, node: dict[str, Any], **given: Any) -> None:
    """Fill a context from a node's chat history, as it is now.

    Again, it takes what is new or has changed. The options from --title on are of a new context.
    """
    if bool(given["context_id"]) == bool(given["get_or_create"]):
        raise click.UsageError("name the context: --context, or --get-or-create")
    output.one(session.context.contexts.sync_history(**node, **_target(given)))


@command(
    _CONTEXT,
    click.option("--scope", "scopes", multiple=True, type=click.Choice(["read", "write"]), help="Else all you have."),
    click.option("--ttl", "ttl_s", type=click.IntRange(0), default=0, help="Seconds, at most a day; 0: an hour."),
    subject_option,
    name="key",
    group=context,
    example="contextkeep context key 0197f1f2-0000-7000-8000-000000000001 --scope read --ttl 600",
)
def key(session: Session, output: Output, *, context_id: str, scopes: tuple[KeyScope, ...], **given: Any) -> None:
    """Make a short-lived key that reaches nothing else."""
    output.one(session.context.contexts.issue_key(context_id, scopes=scopes, **given), "key", "expires_at")


def _header(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a header out of `given`, and return those that were given."""
    said = {name: given.pop(name) for name in _CLEARED}
    said["external_ids"] = [ExternalId(*each) for each in said["external_ids"]] or None
    return {name: value for name, value in said.items() if value is not None}


def _target(given: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords that tell a method of the client where messages go."""
    header, only = _header(given), given.pop("get_or_create")
    if header and given["context_id"]:
        raise click.UsageError("--context names a context that is there; change it with `contextkeep context update`")
    return {"context": ContextInput(**header), "get_or_create": ExternalId(*only) if only else None, **given}


def _print_items(output: Output, items: Sequence[RecalledItem]) -> None:
    """Print a row for each passage, with the shares of its score where they are known."""
    names = sorted({name for item in items for name in item.features})
    rows = (
        {
            "ref": item.ref,
            "score": round(item.score, 3),
            **{name: round(share, 3) for name, share in item.features.items()},
            "role": item.role,
            "said_at": item.said_at,
            "text": item.text,
        }
        for item in items
    )
    output.many(rows, "ref", "score", *names, "role", "said_at", "text")


def _text(message: ChatMessage) -> str:
    """Return a message for a row of a list: its text, and its parts in brackets."""
    return " ".join(filter(None, (message.content, *map(_shown, message.parts))))


def _shown(part: Part) -> str:
    if part.kind == "text":
        return part.text
    if part.tool_call is not None:
        return f"[tool_call {part.tool_call.name}]"
    return f"[{part.kind.removesuffix('_json') or 'unknown'}]"
