"""`contextkeep context`: isolated conversations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

import click

from contextkeep.cli._base import (
    GET_OR_CREATE_TEXT,
    JSON_OBJECT,
    SCORE_MIN,
    NodeArgument,
    Session,
    command,
    confirm,
    limit_option,
    mapping_option,
    subject_option,
    yes_option,
)
from contextkeep.cli._lines import TIME, messages_of
from contextkeep.cli._output import Format, Output, to_plain
from contextkeep.cli.context_setting import setting
from contextkeep.cli.task import artifact, task
from contextkeep.client._context_messages import KeyScope
from contextkeep.inputs import ContextInput, ExternalId, MessageInput, PartInput, RecallFilter
from contextkeep.values import ChatMessage, ContextState, Part, RecalledItem

_ROW = ("context_id", "title", "state", "message_count", "token_count", "created_at")
_RECEIPT = ("erasure_id", "context_id", "state", "message_count", "messages_removed", "created_at", "finished_at")
_SENT = ("context_id", "message_id", "seq", "tokens", "created_at")
_ROLES = ("user", "assistant", "system", "tool")
_KINDS = ("text", "data", "tool_call", "tool_result", "file", "record", "artifact")
_CLEARED = (
    "title",
    "external_ids",
    "metadata",
    "entity_node_id",
    "expires_at",
    "models",
    "is_findable",
    "learning",
    "recall_profile",
)


_CONTEXT = click.argument("context_id")
_EXTERNAL = click.option(
    "--external",
    "external_ids",
    nargs=2,
    multiple=True,
    metavar="SYSTEM ID",
    help="Id of the context in another system, such as slack C024BE91L; may be repeated.",
)
_TITLE = click.option("--title", help="Title, for people.")
_METADATA = click.option("--metadata", type=JSON_OBJECT, help="Metadata, such as '{\"vip\": true}', or @FILE.")
_ENTITY = click.option(
    "--entity", "entity_node_id", help="Node of the entity graph (its UUID) that the context is about."
)
_EXPIRES = click.option(
    "--expires-at", type=TIME, help="When the service deletes the context, such as 2026-01-31T12:00:00Z."
)
_MODELS = click.option(
    "--models",
    type=click.Choice(["on", "off"]),
    help="Whether its text may be sent to the service's language model.  [default: the setting of its app and tenant]",
)
_FINDABLE = click.option(
    "--findable/--not-findable",
    "is_findable",
    default=None,
    help="Whether `context find` finds it.  [default: the setting of its app and tenant]",
)
_LEARNING = click.option(
    "--learning",
    type=click.Choice(["off", "rules", "model"]),
    help="How memories are learned from it: not at all, by patterns, or by the language model."
    "  [default: the setting of its app and tenant]",
)
_PROFILE = click.option(
    "--recall-profile", help="How recall ranks its messages: conversation for talk of people, or default."
)
_HEADER = (_TITLE, _EXTERNAL, _METADATA, _ENTITY, _EXPIRES, _MODELS, _FINDABLE, _LEARNING, _PROFILE)
_RANKED = (
    click.option("--profile", default="", help="Ranking: default or conversation.  [default: the context's]"),
    SCORE_MIN,
    click.option("--explain", "with_features", is_flag=True, help="Show the parts of each ranking."),
    click.option(
        "--role",
        "roles",
        multiple=True,
        type=click.Choice(_ROLES),
        help="Only passages of this role; may be repeated.",
    ),
    click.option(
        "--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only passages of this kind; may be repeated."
    ),
    click.option(
        "--about",
        "entity_node_ids",
        multiple=True,
        help="Only passages about this node of the graph (its UUID); may be repeated.",
    ),
)
_TARGET = (
    click.option("--context", "context_id", help="Id of the context to write to.  [default: a new context]"),
    click.option(
        "--get-or-create",
        nargs=2,
        metavar="SYSTEM ID",
        help=f"Write to {GET_OR_CREATE_TEXT}",
    ),
)


@click.group(epilog="\b\nExample:\n  contextkeep context send 'Where is my file?'")
def context() -> None:
    """Contexts: isolated conversations, message by message."""


context.add_command(task)
context.add_command(artifact)
context.add_command(setting)


@command(
    click.argument("content"),
    *_TARGET,
    click.option("--role", type=click.Choice(_ROLES), default="user", show_default=True, help="Role of the author."),
    click.option(
        "--message-id",
        default="",
        help="Your own id of the message, such as order-17. A message with an id is stored only once.",
    ),
    click.option("--agent-id", default="", help="Agent that wrote the message, such as billing."),
    click.option("--task", "task_id", help="Id of the task that the message is about; it goes to the task's context."),
    click.option(
        "--file",
        "files",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        multiple=True,
        help="Attach a file, such as a picture or a PDF of up to 20 MiB; may be repeated.",
    ),
    *_HEADER,
    subject_option,
    name="send",
    group=context,
    example="""
contextkeep context send 'Where is my file?' --title support
contextkeep context send 'What is on it?' --file photo.jpg
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
    files: tuple[Path, ...],
    **options: Any,
) -> None:
    """Send a message to a context, or to a new one.

    Use it for one message of a user or an agent. For many use `contextkeep context append`.

    Without --context the command creates a context and prints its id. If CONTENT is `-`, the text comes from stdin. The
    options from --title to --recall-profile are for a new context.
    """
    if content == "-":
        try:
            content = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as error:
            raise click.UsageError(f"stdin must be text in UTF-8: {error}") from None
    parts = [PartInput(file=path) for path in files]
    message = MessageInput(content, role=role, parts=parts, message_id=message_id, agent_id=agent_id, task_id=task_id)
    output.one(session.context.contexts.send(message, **_target(options)), *_SENT)


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
def append(session: Session, output: Output, *, file: BinaryIO, **options: Any) -> None:
    """Send messages from a file or stdin, in batches.

    Use it to load a conversation that you have as newline-delimited JSON.

    Each line is a JSON object with any of the fields role, content, parts (texts, files, tool calls and results), name
    (of the speaker), message_id, agent_id, metadata, said_at, and session (your name for one sitting; without a name, a
    pause of four hours begins a new session). Each batch has up to 500 messages and 4 MiB and is stored as a whole or
    not at all. The options from --title to --recall-profile describe a new context.
    """
    output.many(session.context.contexts.append(messages_of(file), **_target(options)), *_SENT)


@command(
    _CONTEXT,
    subject_option,
    name="show",
    group=context,
    example="contextkeep context show 0197f1f2-0000-7000-8000-000000000001",
)
def show(session: Session, output: Output, *, context_id: str, **options: Any) -> None:
    """Print a context without its messages.

    Use it to see the title, state, owner and counts of a context. `contextkeep context messages` lists the messages.
    """
    result = session.context.contexts.get(context_id, history_length=0, **options).context
    output.one(result if output.format is Format.JSON else {**to_plain(result), "index": str(result.index)})


@command(
    _CONTEXT,
    click.option("--tokens-max", type=click.IntRange(1, 32000), help="Maximum number of tokens.  [default: 1000]"),
    subject_option,
    name="summary",
    group=context,
    example="contextkeep context summary 0197f1f2-0000-7000-8000-000000000001 --tokens-max 500",
)
def summary(session: Session, output: Output, *, context_id: str, **options: Any) -> None:
    """Print one text about a conversation, for a prompt.

    Use it to see where a conversation stands: how it began, rules, values, decisions, open questions and last words.
    """
    result = session.context.contexts.get_summary(context_id, **options)
    if output.format is not Format.TABLE:
        output.one(result)
        return
    click.echo(result.text or "There is nothing to summarize.")


@command(
    click.option(
        "--state",
        type=click.Choice(get_args(ContextState)),
        help="List only open or only closed contexts.  [default: both]",
    ),
    click.option("--agent-id", default="", help="List only contexts in which this agent wrote, such as billing."),
    click.option("--owner", "owner_user_id", default="", help="List only contexts of this user, such as ada."),
    click.option(
        "--external",
        "external_id",
        nargs=2,
        metavar="SYSTEM ID",
        help="List only contexts with this id in another system, such as slack C024BE91L.",
    ),
    click.option(
        "--metadata",
        "metadata_contains",
        type=JSON_OBJECT,
        help="List only contexts whose metadata contain this, such as '{\"vip\": true}', or @FILE.",
    ),
    click.option("--entity", "entity_node_id", help="List only contexts of this node of the graph (its UUID)."),
    click.option(
        "--from",
        "created_from",
        type=TIME,
        help="List only contexts created at this time or later, such as 2026-01-31T00:00:00Z.",
    ),
    click.option("--to", "created_to", type=TIME, help="List only contexts created before this time."),
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
    """List contexts, newest first.

    Use it to find a context by its state, agent, owner, external id or metadata.
    """
    contexts = session.context.contexts.list(
        state=state, external_id=ExternalId(*external_id) if external_id else None, **filters
    )
    output.many(contexts, *_ROW, limit=limit)


@command(
    _CONTEXT,
    click.option(
        "--from", "seq_from", type=click.IntRange(0), default=0, help="seq of the first message.  [default: 1]"
    ),
    click.option(
        "--to", "seq_to", type=click.IntRange(0), default=0, help="seq of the last message.  [default: the newest]"
    ),
    click.option("--newest", "newest_first", is_flag=True, help="List the newest first."),
    subject_option,
    limit_option(),
    name="messages",
    group=context,
    example="""
contextkeep context messages 0197f1f2-0000-7000-8000-000000000001 --newest --limit 20
""",
)
def messages(session: Session, output: Output, *, context_id: str, limit: int, **options: Any) -> None:
    """List the messages of a context, oldest first.

    Use it to read a conversation, or a range of it.
    """
    result = session.context.contexts.list_messages(context_id, **options)
    if output.format is Format.JSON:
        output.many(result, limit=limit)
        return
    rows = (
        {
            "seq": item.seq,
            "role": item.role,
            "said_at": item.said_at,
            "message_id": item.message_id,
            "content": _text(item),
        }
        for item in result
    )
    output.many(rows, "seq", "role", "said_at", "message_id", "content", limit=limit)


@command(
    _CONTEXT,
    click.option(
        "--from", "seq_from", type=click.IntRange(0), default=0, help="seq of the first message.  [default: 1]"
    ),
    click.option(
        "--after",
        "change_after",
        type=click.IntRange(0),
        default=0,
        help="Only changes after this position, which --json prints as change_after.  [default: all changes]",
    ),
    click.option("--until-now", is_flag=True, help="Print only what exists now, then stop."),
    subject_option,
    name="watch",
    group=context,
    example="contextkeep context watch 0197f1f2-0000-7000-8000-000000000001 --until-now",
)
def watch(session: Session, output: Output, *, context_id: str, **options: Any) -> None:
    """Print messages and changes of a context as they come.

    Use it to follow a conversation that an agent writes.

    Without --until-now the command runs until the context is closed or you press Ctrl-C.
    """
    for event in session.context.contexts.watch(context_id, **options):
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
def message(session: Session, output: Output, *, context_id: str, message_id: str, **options: Any) -> None:
    """Print one message with its parts: texts, files, tool calls.

    Use it to see the parts that `contextkeep context messages` does not print. That command prints the MESSAGE_ID.
    """
    output.one(session.context.contexts.get_message(context_id, message_id, **options))


@command(
    _CONTEXT,
    click.argument("text"),
    click.option(
        "--tokens", "tokens_max", type=click.IntRange(0), default=0, help="Maximum tokens of the answer; 0 means 2,000."
    ),
    click.option(
        "--items", "items_max", type=click.IntRange(0), default=0, help="Maximum number of passages; 0 means 20."
    ),
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
    **options: Any,
) -> None:
    """Print the passages of a context that matter to a text.

    Use it to see which passages the service would add to a prompt.

    With --json the answer also has `prompt_text`, one block of text for a prompt.
    """
    which = RecallFilter(roles=roles, kinds=kinds, entity_node_ids=entity_node_ids)
    recalled = session.context.contexts.recall(context_id, text, filter=which, **options)
    if output.format is Format.JSON:
        output.one(recalled)
        return
    _print_items(output, recalled.items)
    if recalled.left_out_count:
        click.echo(f"{recalled.left_out_count} more passages did not fit; raise --tokens or --items", err=True)
    if recalled.irrelevant_count and not recalled.items:
        click.echo("no passage is relevant; --score-min 0 shows all candidates", err=True)


@command(
    _CONTEXT,
    click.argument("query"),
    click.option(
        "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Maximum number of passages."
    ),
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
    **options: Any,
) -> None:
    """Find passages of a context by their words, best first.

    Use it when you know words of the message that you look for.
    """
    which = RecallFilter(roles=roles, kinds=kinds, entity_node_ids=entity_node_ids)
    results = session.context.contexts.search(context_id, query, filter=which, **options)
    if output.format is Format.JSON:
        output.many(results)
        return
    _print_items(output, results)


@command(
    click.argument("query"),
    click.option(
        "--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="Maximum number of contexts."
    ),
    click.option(
        "--passages",
        "passages_max",
        type=click.IntRange(1, 20),
        default=3,
        show_default=True,
        help="Maximum number of passages of each context.",
    ),
    click.option("--agent", "agent_id", default="", help="Only contexts with a message of this agent."),
    click.option(
        "--external",
        "external_id",
        nargs=2,
        metavar="SYSTEM ID",
        help="Only contexts that have this id in another system, such as slack C024BE91L.",
    ),
    click.option(
        "--metadata", "metadata_contains", type=JSON_OBJECT, help="Only contexts whose metadata contain this object."
    ),
    click.option("--from", "created_from", type=TIME, help="Only contexts created at this time or later."),
    click.option("--to", "created_to", type=TIME, help="Only contexts created before this time."),
    click.option("--role", "roles", multiple=True, type=click.Choice(_ROLES), help="Only passages of this role."),
    SCORE_MIN,
    click.option("--cursor", default="", help="Search older contexts: `next_cursor` of the answer before (--json)."),
    subject_option,
    name="find",
    group=context,
    example="""
contextkeep context find 'Where is the lost file?'
contextkeep context find 'lost file' --role user --from 2026-01-01T00:00:00Z
""",
)
def find(session: Session, output: Output, *, query: str, external_id: tuple[str, str] | None, **options: Any) -> None:
    """Find conversations, with the best passages of each.

    Use it to look for a statement if you do not know its context.

    With a user it finds the contexts of this user, without one those that have no owner.
    """
    external = ExternalId(*external_id) if external_id else None
    results = session.context.contexts.find(query, external_id=external, **options)
    if output.format is Format.JSON:
        output.one(results)
        return
    for result in results.contexts:
        click.echo(f"{result.context_id}  {result.title}")
        _print_items(output, result.passages)
    if results.next_cursor:
        click.echo(f"older contexts were not searched; go on with --cursor {results.next_cursor}", err=True)


@command(
    _CONTEXT,
    *_HEADER,
    click.option("--clear", multiple=True, type=click.Choice(_CLEARED), help="Empty this field; may be repeated."),
    subject_option,
    name="update",
    group=context,
    example="""
contextkeep context update 0197f1f2-0000-7000-8000-000000000001 --title 'Lost file' --metadata '{"vip": true}'
contextkeep context update 0197f1f2-0000-7000-8000-000000000001 --clear expires_at
""",
)
def update(
    session: Session, output: Output, *, context_id: str, clear: tuple[str, ...], subject_user_id: str, **options: Any
) -> None:
    """Change the title, metadata or other fields of a context.

    Use it to correct a field, or to empty one with --clear.

    A new value replaces the whole field; metadata is not merged. A field without an option stays as it is.
    """
    changes = _header(options)
    if twice := sorted(changes.keys() & set(clear)):
        raise click.UsageError(f"{', '.join(twice)}: give a new value or --clear, not both")
    changes.update(dict.fromkeys(clear))
    if not changes:
        raise click.UsageError("nothing to change: give at least one of the options in --help")
    output.one(session.context.contexts.update(context_id, subject_user_id=subject_user_id, **changes), *_ROW)


@command(
    _CONTEXT,
    yes_option,
    subject_option,
    name="close",
    group=context,
    example="contextkeep context close 0197f1f2-0000-7000-8000-000000000001 --yes",
)
def close(session: Session, output: Output, *, context_id: str, yes: bool, **options: Any) -> None:
    """Close a context: it takes no more messages.

    Use it when a conversation is finished. A closed context can still be read and recalled.
    """
    confirm("Close it?", yes)
    output.one(session.context.contexts.close(context_id, **options), *_ROW)


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
    session: Session, output: Output, *, context_id: str, message_ids: tuple[str, ...], yes: bool, **options: Any
) -> None:
    """Hide messages from readers, searches and models.

    Use it to take back a message that was sent by mistake. The message stays hidden: no command shows it again.
    `contextkeep context messages` prints the MESSAGE_ID.
    """
    confirm("Retract them?", yes)
    count = session.context.contexts.retract_messages(context_id, message_ids, **options)
    output.one({"context_id": context_id, "retracted": count})


@command(
    _CONTEXT,
    click.option(
        "--seq",
        type=click.IntRange(0),
        default=0,
        help="Wait for messages up to this number; 0 means all that are stored now.",
    ),
    click.option(
        "--wait", "wait_s", type=click.IntRange(1, 300), default=30, show_default=True, help="Seconds to wait at most."
    ),
    subject_option,
    name="wait",
    group=context,
    example="contextkeep context wait 0197f1f2-0000-7000-8000-000000000001",
)
def wait(session: Session, output: Output, *, context_id: str, **options: Any) -> None:
    """Wait until messages can be searched by meaning.

    Use it in a script that sends messages and then calls `contextkeep context recall`.

    The exit code is 1 if the index is not complete in time.
    """
    index = session.context.contexts.wait_for_index(context_id, **options)
    output.one(index, "passage_count", "indexed_count", "pending_count", "failed_count", "oldest_pending_at", "error")
    if not index.is_complete:
        raise click.exceptions.Exit(1)


@command(
    _CONTEXT,
    yes_option,
    click.option("--now", is_flag=True, help="Start the deletion at once.  [default: with the service's next sweep]"),
    subject_option,
    name="delete",
    group=context,
    example="contextkeep context delete 0197f1f2-0000-7000-8000-000000000001 --yes",
)
def delete(session: Session, output: Output, *, context_id: str, yes: bool, **options: Any) -> None:
    """Delete a context with its messages, and print a receipt.

    Use it to remove a conversation for good. `contextkeep context erasure` takes the erasure_id of the receipt and
    prints how far the deletion is.
    """
    confirm("Delete it, with all its messages?", yes)
    output.one(session.context.contexts.delete(context_id, **options), *_RECEIPT)


@command(
    click.argument("erasure_id", metavar="RECEIPT"),
    subject_option,
    name="erasure",
    group=context,
    example="contextkeep context erasure 0197f1f2-0000-7000-8000-000000000004",
)
def erasure(session: Session, output: Output, *, erasure_id: str, **options: Any) -> None:
    """Print how far the deletion of a context is.

    Use it with the erasure_id that `contextkeep context delete` printed: the RECEIPT.
    """
    output.one(session.context.contexts.get_erasure(erasure_id, **options), *_RECEIPT)


@command(
    NodeArgument(),
    click.option("--context", "context_id", help="Id of the context to fill."),
    click.option(
        "--get-or-create",
        nargs=2,
        metavar="SYSTEM ID",
        help=f"Fill {GET_OR_CREATE_TEXT}",
    ),
    mapping_option,
    *_HEADER,
    subject_option,
    name="sync",
    group=context,
    example="contextkeep context sync thread-42 --external-id --get-or-create graph thread-42",
)
def sync(session: Session, output: Output, *, node: dict[str, Any], **options: Any) -> None:
    """Fill a context with the chat history of a node.

    Use it to search conversations that are stored as nodes of the entity graph.

    Give --context or --get-or-create. A repeated call adds new messages and updates changed ones. The options from
    --title to --recall-profile describe a new context.
    """
    if bool(options["context_id"]) == bool(options["get_or_create"]):
        raise click.UsageError("give --context or --get-or-create")
    output.one(session.context.contexts.sync_history(**node, **_target(options)))


@command(
    _CONTEXT,
    click.option(
        "--scope",
        "scopes",
        multiple=True,
        type=click.Choice(["read", "write"]),
        help="What the key may do; may be repeated.  [default: the scopes of your key]",
    ),
    click.option(
        "--ttl",
        "ttl_s",
        type=click.IntRange(0),
        default=0,
        help="Lifetime in seconds, at most 86,400; 0 means an hour.",
    ),
    subject_option,
    name="key",
    group=context,
    example="contextkeep context key 0197f1f2-0000-7000-8000-000000000001 --scope read --ttl 600",
)
def key(session: Session, output: Output, *, context_id: str, scopes: tuple[KeyScope, ...], **options: Any) -> None:
    """Create a short-lived key for one context.

    Use it to give an agent access to this context and nothing else.
    """
    output.one(session.context.contexts.issue_key(context_id, scopes=scopes, **options), "key", "expires_at")


def _header(values: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a header out of `values`, and return those that were given."""
    result = {name: values.pop(name) for name in _CLEARED}
    result["external_ids"] = [ExternalId(*each) for each in result["external_ids"]] or None
    return {name: value for name, value in result.items() if value is not None}


def _target(values: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords that tell a method of the client where messages go."""
    header, only = _header(values), values.pop("get_or_create")
    if header and values["context_id"]:
        raise click.UsageError(
            "--title and similar options describe a new context; for an existing one use `contextkeep context update`"
        )
    return {"context": ContextInput(**header), "get_or_create": ExternalId(*only) if only else None, **values}


def _print_items(output: Output, items: Sequence[RecalledItem]) -> None:
    """Print a row for each passage, with the shares of its score and the newer passage where they are known."""
    newer = ["superseded_by"] if any(item.superseded_by for item in items) else []
    names = sorted({name for item in items for name in item.features})
    rows = (
        {
            "ref": item.ref,
            "score": round(item.score, 3),
            **{name: round(share, 3) for name, share in item.features.items()},
            "role": item.role,
            "said_at": item.said_at,
            **dict.fromkeys(newer, item.superseded_by),
            "text": item.text,
        }
        for item in items
    )
    output.many(rows, "ref", "score", *names, "role", "said_at", *newer, "text")


def _text(message: ChatMessage) -> str:
    """Return a message for a row of a list: its text, and its parts in brackets."""
    return " ".join(filter(None, (message.content, *map(_text_of, message.parts))))


def _text_of(part: Part) -> str:
    """Return a part of a message as a line of a table; parts without a text are named by their kind."""
    if part.kind == "text":
        return part.text
    if part.tool_call is not None:
        return f"[tool_call {part.tool_call.name}]"
    if part.file is not None and part.file.name:
        return f"[file {part.file.name}]"
    return f"[{part.kind.removesuffix('_json') or 'unknown'}]"
