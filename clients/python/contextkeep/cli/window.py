"""`contextkeep window`: what one model sees of a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, get_args

import click
from google.protobuf import json_format

from contextkeep.cli._base import (
    JSON_ARRAY,
    JSON_OBJECT,
    Session,
    command,
    confirm,
    limit_option,
    os_error_text,
    subject_option,
    yes_option,
)
from contextkeep.cli._output import Format, Output, printable
from contextkeep.cli._packs import messages_of, text_of
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.inputs import StateEntryInput
from contextkeep.values import (
    ForkInheritance,
    MessageFormat,
    Pack,
    TracedBreak,
    TracedMessage,
    TracedSentence,
    WindowConfig,
)

_ROW = ("window_id", "model", "message_format", "token_limit", "step_count", "left_out_count", "epoch", "is_closed")
_PACKED = ("tokens", "step_count", "omitted_step_count", "omitted_tokens", "epoch", "last_seq", "is_waiting")
_FILE = ("media_type", "size_bytes", "working_memory_id", "pointer", "sha256")
_FOLDED = ("epoch", "reason", "step_count", "tokens_before", "tokens_after", "first_change", "pays_after_steps")
_COUNTED = (
    "step_count",
    "log_tokens",
    "tokens",
    "savings",
    "breaks",
    "predicted_cached_share",
    "token_factor",
)
_BILLED = ("call_count", "input_tokens", "cached_tokens", "cached_share", "price")
_PROFILE = ("name", "version", "created_at", "created_by")
_CHART_CHARS = 48
_FOLDS_DRAWN = 20  # the newest
_WINDOW = click.argument("window_id")


@click.group(epilog="\b\nExample:\n  contextkeep window pack 0197f1f2-0000-7000-8000-000000000006")
def window() -> None:
    """Windows: the part of a context that a model sees."""


@command(
    click.argument("context_id"),
    click.argument("model"),
    click.option("--system", "system_prompt", default="", help="System prompt."),
    click.option("--goal", default="", help="Goal of the work, appended to the system prompt."),
    click.option(
        "--tools", type=JSON_ARRAY, help="Tools that the model may call: a JSON list in its vendor's format, or @FILE."
    ),
    click.option(
        "--format",
        "message_format",
        type=click.Choice(get_args(MessageFormat), case_sensitive=False),
        help="Format of the messages.  [default: that of the model's vendor, else openai]",
    ),
    click.option(
        "--tokens",
        "context_tokens",
        type=click.IntRange(0),
        default=0,
        help="Tokens that the model accepts, such as 32000.  [default: known for common models]",
    ),
    click.option(
        "--budget",
        "token_budget",
        type=float,
        default=0.0,
        help="Share of those tokens that a request may use.  [default: 0.8]",
    ),
    click.option(
        "--profile",
        "compression_profile",
        default="",
        help="What a compaction keeps, such as coding; see `contextkeep window profiles`.  [default: general]",
    ),
    click.option(
        "--reserve",
        "output_reservation",
        type=click.IntRange(0),
        default=0,
        help="Tokens reserved for the answer; 0 means 4,096.",
    ),
    click.option(
        "--config",
        type=JSON_OBJECT,
        help="Compaction and cost settings as JSON, or @FILE; see the example and docs/windows.md.",
    ),
    subject_option,
    name="open",
    group=window,
    example="""
contextkeep window open 0197f1f2-0000-7000-8000-000000000001 gpt-5 --system 'Be brief.'
contextkeep window open 0197f1f2-0000-7000-8000-000000000001 mine --tokens 32000 --format openai
contextkeep window open 0197f1f2-0000-7000-8000-000000000001 gpt-5 --config '{"keep_last_steps": 20, "cache_ttl_s": 60}'
""",
)
def open_window(
    session: Session,
    output: Output,
    *,
    context_id: str,
    model: str,
    message_format: MessageFormat | None,
    config: dict[str, Any] | None,
    **options: Any,
) -> None:
    """Open a window: what one model sees of a context.

    Use it once for each model that works in a context; then call `contextkeep window pack` before each request to the
    model.

    MODEL is a name such as gpt-5. A model that the service does not know needs --tokens.
    """
    result = _config(config)
    output.one(session.context.windows.open(context_id, model, message_format=message_format, config=result, **options))


@click.group(epilog="\b\nExample:\n  contextkeep window profile put mine.yaml")
def profile() -> None:
    """Profiles: which parts a window keeps in a compaction."""


@command(
    click.argument("file", type=click.File("r", encoding="utf-8")),
    click.option("--name", default="", help="Name of the profile.  [default: the file's name without its extension]"),
    name="put",
    group=profile,
    example="""
contextkeep window profile put mine.yaml
contextkeep window profile put profile.json --name mine
""",
)
def put_profile(session: Session, output: Output, *, file: TextIO, name: str) -> None:
    """Store a compression profile from a YAML or JSON file.

    Use it when no built-in profile keeps what your agent needs.

    A profile says which lines a compaction of a window keeps; docs/windows.md describes the file. Windows name it with
    `contextkeep window open --profile`.
    """
    try:
        text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(
            os_error_text(error) if isinstance(error, OSError) else "must be text in UTF-8", param_hint="FILE"
        ) from None
    output.one(session.context.profiles.put(name or Path(file.name).stem, text))


@command(
    click.argument("name"),
    click.option("--of-app", default="", help="App of the windows, such as shop.  [default: windows without an app]"),
    click.option("--frozen/--going-on", "is_frozen", default=None, help="Stop or resume learning."),
    click.option("--undo", is_flag=True, help="Undo what was learned, and delete its counts."),
    name="learning",
    group=profile,
    example="""
contextkeep window profile learning coding
contextkeep window profile learning coding --of-app shop --frozen
contextkeep window profile learning coding --of-app shop --undo
""",
)
def learning(session: Session, output: Output, *, name: str, of_app: str, is_frozen: bool | None, undo: bool) -> None:
    """Freeze, resume or undo the learning of a profile.

    Use it when learned settings made packs worse, or should not change any more; needs admin.

    A profile says which lines a compaction keeps. It learns from windows whose --config has "learning": true: which
    lines were looked up after they were left out. Without an option the command prints the current state.
    """
    output.one(session.context.profiles.set_learning(name, of_app, is_frozen=is_frozen, undo=undo))


@command(
    click.argument("name", default=""),
    click.option("--text", "with_text", is_flag=True, help="Also print the YAML or JSON of each profile."),
    click.option(
        "--evidence",
        "with_evidence",
        is_flag=True,
        help="Also print the counts from which a profile learned; needs admin.",
    ),
    limit_option(),
    name="profiles",
    group=window,
    example="""
contextkeep window profiles
contextkeep window profiles mine --text
""",
)
def profiles(session: Session, output: Output, *, name: str, with_text: bool, with_evidence: bool, limit: int) -> None:
    """List compression profiles, or the versions of one.

    Use it to find a name for `contextkeep window open --profile`. A profile says which lines a compaction keeps.
    """
    columns = (*_PROFILE, *(["text"] if with_text else []), *(["learned"] if name else []))
    result = session.context.profiles.list(name, with_text=with_text, with_evidence=with_evidence)
    output.many(result, *columns, limit=limit)


window.add_command(profile)


@command(
    _WINDOW,
    subject_option,
    name="get",
    group=window,
    example="contextkeep window get 0197f1f2-0000-7000-8000-000000000006",
)
def get(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Print a window: its model, token limit and epoch.

    Use it to see how far the window has read its context (reached_seq), and how it is configured.
    """
    output.one(session.context.windows.get(window_id, **options))


@command(
    click.argument("context_id"),
    subject_option,
    limit_option(),
    name="list",
    group=window,
    example="contextkeep window list 0197f1f2-0000-7000-8000-000000000001",
)
def list_windows(session: Session, output: Output, *, context_id: str, limit: int, **options: Any) -> None:
    """List the windows of a context, newest first.

    A window is the part of a context that a model reads: its prompt, its tools, and messages within a number of tokens.
    Use the command to find the WINDOW_ID for the other commands; `contextkeep context list` prints CONTEXT_ID.
    """
    output.many(session.context.windows.list(context_id, **options), *_ROW, limit=limit)


@command(
    _WINDOW,
    click.option("--system", "system_prompt", help="New system prompt."),
    click.option("--goal", help="New goal of the work, appended to the system prompt."),
    click.option("--tools", type=JSON_ARRAY, help="New tools: a JSON list in the vendor's format, or @FILE."),
    click.option(
        "--budget",
        "token_budget",
        type=float,
        help="New share of the model's tokens that a request may use, such as 0.5.",
    ),
    click.option(
        "--reserve",
        "output_reservation",
        type=click.IntRange(0),
        help="New number of tokens reserved for the answer, such as 8000.",
    ),
    click.option("--config", type=JSON_OBJECT, help="Settings that change, as JSON, or @FILE; see docs/windows.md."),
    subject_option,
    name="update",
    group=window,
    example="""
contextkeep window update 0197f1f2-0000-7000-8000-000000000006 --goal 'Find the lost file.'
contextkeep window update 0197f1f2-0000-7000-8000-000000000006 --budget 0.5 --config '{"keep_last_steps": 20}'
""",
)
def update(session: Session, output: Output, *, window_id: str, config: dict[str, Any] | None, **options: Any) -> None:
    """Change the prompt, tools or config of a window.

    Use it when the goal or the tools change.

    Settings without an option stay as they are. A new prompt, goal or list of tools changes the beginning of the next
    pack, so that the prompt cache of the model's vendor has to be filled again.
    """
    output.one(session.context.windows.update(window_id, config=_config(config), **options), *_ROW)


@command(
    _WINDOW,
    click.argument("text", default=""),
    click.option(
        "--ref", default="", help="Pin a message instead of TEXT, such as m3 (message 3) or m3/1 (its part 1)."
    ),
    subject_option,
    name="pin",
    group=window,
    example="""
contextkeep window pin 0197f1f2-0000-7000-8000-000000000006 'Answer in French.'
contextkeep window pin 0197f1f2-0000-7000-8000-000000000006 --ref m2
""",
)
def pin(session: Session, output: Output, *, window_id: str, text: str, **options: Any) -> None:
    """Keep a text in every pack: a pin.

    Use it for facts and rules that the model must always see. A pin is placed right after the system prompt.
    """
    output.one({"pin_id": session.context.windows.pin(window_id, text, **options)})


@command(
    _WINDOW,
    click.argument("pin_id"),
    subject_option,
    name="unpin",
    group=window,
    example="""
contextkeep window unpin 0197f1f2-0000-7000-8000-000000000006 0197f1f2-0000-7000-8000-000000000007
""",
)
def unpin(session: Session, output: Output, *, window_id: str, pin_id: str, **options: Any) -> None:
    """Remove a pin: a text that every pack has.

    Use it with the PIN_ID that `contextkeep window pin` printed.
    """
    session.context.windows.unpin(window_id, pin_id, **options)
    output.one({"pin_id": pin_id, "is_removed": True})


@command(
    _WINDOW,
    click.option(
        "--body", is_flag=True, help="Print only the JSON for the request to the model, with the bytes of its files."
    ),
    click.option("--files", is_flag=True, help="Print only the files of the pack, such as pictures."),
    click.option(
        "--without-recall", is_flag=True, help="Do not append older passages that matter to the newest messages."
    ),
    subject_option,
    name="pack",
    group=window,
    example="""
contextkeep window pack 0197f1f2-0000-7000-8000-000000000006
contextkeep window pack 0197f1f2-0000-7000-8000-000000000006 --body > request.json
""",
)
def pack(session: Session, output: Output, *, window_id: str, body: bool, files: bool, **options: Any) -> None:
    """Print the pack: the messages that the model should see now.

    Use it to build the next request to the model, or to check what the model sees.

    The last lines show the tokens of the pack and of each of its zones.
    """
    packed = session.context.windows.pack(window_id, **options)
    if body:
        click.echo(packed.body_json)
        return
    if files:
        output.many(packed.files, *_FILE)
        return
    if output.format is Format.JSON:
        output.one(packed)
        return
    if output.format is Format.RAW:
        output.many(messages_of(packed.messages), "role", "text")
        return
    for message in messages_of(packed.messages):
        click.secho(f"── {message['role']}", bold=True)
        for line in message["text"].split("\n"):
            click.echo(printable(line.expandtabs()))
        click.echo()
    output.one(packed, *_PACKED)
    _draw(packed.tokens_by_zone)


_INSTRUCTIONS = click.option(
    "--instructions", default="", help="What the compaction must keep, in words, such as 'Keep the invoices.'"
)


@command(
    _WINDOW,
    click.option("--dry-run", is_flag=True, help="Print what a compaction would do; change nothing."),
    _INSTRUCTIONS,
    subject_option,
    name="fold",
    group=window,
    example="""
contextkeep window fold 0197f1f2-0000-7000-8000-000000000006 --dry-run
contextkeep window fold 0197f1f2-0000-7000-8000-000000000006 --instructions 'Keep what concerns the invoices.'
""",
)
def fold(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Compact a window now: replace old steps with shorter texts.

    Use it before an expensive phase; a window also compacts itself when it is nearly full.

    A fold is one compaction.
    """
    output.one(session.context.windows.fold(window_id, **options))


_EPOCH = click.option(
    "--epoch", "expected_epoch", type=int, help="Fail unless the window has this epoch, such as 2.  [default: any]"
)


@command(
    _WINDOW,
    _EPOCH,
    _INSTRUCTIONS,
    subject_option,
    name="prepare",
    group=window,
    example="contextkeep window prepare 0197f1f2-0000-7000-8000-000000000006 --epoch 2",
)
def prepare(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Compute a compaction in advance, without applying it.

    Use it while the model works, so that the compaction itself takes no time. Packs stay the same until
    `contextkeep window commit`.
    """
    output.one(session.context.windows.prepare_fold(window_id, **options))


@command(
    _WINDOW,
    _EPOCH,
    subject_option,
    name="commit",
    group=window,
    example="contextkeep window commit 0197f1f2-0000-7000-8000-000000000006",
)
def commit(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Apply the compaction that was computed in advance.

    Use it between two requests to the model, after `contextkeep window prepare`.
    """
    output.one(session.context.windows.commit_fold(window_id, **options))


@command(
    _WINDOW,
    click.option("--label", default="", help="Label for people, such as 'before the upgrade'."),
    subject_option,
    name="checkpoint",
    group=window,
    example="contextkeep window checkpoint 0197f1f2-0000-7000-8000-000000000006 --label 'before the upgrade'",
)
def checkpoint(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Save the state of a window: a checkpoint.

    Use it before a risky step; `contextkeep window rollback` returns to it.
    """
    output.one(session.context.windows.create_checkpoint(window_id, **options))


@command(
    _WINDOW,
    subject_option,
    limit_option(),
    name="checkpoints",
    group=window,
    example="contextkeep window checkpoints 0197f1f2-0000-7000-8000-000000000006",
)
def checkpoints(session: Session, output: Output, *, window_id: str, limit: int, **options: Any) -> None:
    """List the checkpoints of a window, newest first.

    Use it to find the number for `contextkeep window rollback`. A checkpoint is a saved state of the window.
    """
    columns = ("number", "reason", "label", "last_seq", "step_count")
    output.many(session.context.windows.list_checkpoints(window_id, **options), *columns, limit=limit)


@command(
    _WINDOW,
    click.argument("number", type=click.IntRange(1)),
    click.option(
        "--last",
        "expected_last_seq",
        type=click.IntRange(1),
        required=True,
        help="seq of the newest message that you know; fail if there are newer ones.",
    ),
    subject_option,
    name="rollback",
    group=window,
    example="contextkeep window rollback 0197f1f2-0000-7000-8000-000000000006 1 --last 50",
)
def rollback(session: Session, output: Output, *, window_id: str, number: int, **options: Any) -> None:
    """Return to a checkpoint: a saved state of a window.

    Use it when the last steps went wrong. The model then does not see later
    messages any more; they stay in the context.

    `contextkeep window checkpoints` prints the NUMBER.
    """
    output.one(session.context.windows.rollback(window_id, number, **options))


@command(
    _WINDOW,
    click.argument("pack_id"),
    click.option("--invalid", is_flag=True, help="The response could not be used.  [default: it was valid]"),
    click.option(
        "--last",
        "expected_last_seq",
        type=click.IntRange(1),
        help="seq of the newest message that you know, such as 50.  [default: the last one of the pack]",
    ),
    subject_option,
    name="report",
    group=window,
    example="contextkeep window report 0197f1f2-0000-7000-8000-000000000006 2.50 --invalid --last 50",
)
def report(session: Session, output: Output, *, window_id: str, pack_id: str, **options: Any) -> None:
    """Report whether the model's response to a pack was valid.

    Use it after each request. With --invalid the window returns to its last checkpoint (a saved state), and the command
    prints the pack to retry with.

    PACK_ID is a field of `contextkeep window pack --json`.
    """
    recovered = session.context.windows.report_response(window_id, Pack(messages_json="", pack_id=pack_id), **options)
    if recovered is None:
        output.one({"recovered": False})
    elif output.format is Format.JSON:
        output.one(recovered)
    else:
        done = recovered.rolled_back
        left_out = done.left_out_message_count if done else 0
        output.one({"pack_id": recovered.pack.pack_id, "tokens": recovered.pack.tokens, "left_out": left_out})


@command(
    _WINDOW,
    click.argument("task"),
    click.option(
        "--inherits",
        type=click.Choice(get_args(ForkInheritance), case_sensitive=False),
        default="state",
        show_default=True,
        help="What the fork takes over: the state of the work and pins, only pins, or nothing.",
    ),
    click.option("--model", default="", help="Model of the fork.  [default: the window's]"),
    click.option(
        "--tokens",
        "context_tokens",
        type=click.IntRange(0),
        default=0,
        help="Tokens that another --model accepts.  [default: known for common models]",
    ),
    click.option("--system", "system_prompt", help="System prompt of the fork.  [default: the window's]"),
    click.option(
        "--tools", type=JSON_ARRAY, help="Tools of the fork as a JSON list, or @FILE.  [default: the window's]"
    ),
    click.option(
        "--ttl",
        "key_ttl_s",
        type=click.IntRange(1, 86_400),
        default=3_600,
        show_default=True,
        help="Lifetime of the fork's key in seconds.",
    ),
    subject_option,
    name="fork",
    group=window,
    example="contextkeep window fork 0197f1f2-0000-7000-8000-000000000006 'Which ports are open?'",
)
def fork(
    session: Session, output: Output, *, window_id: str, task: str, inherits: ForkInheritance, **options: Any
) -> None:
    """Fork a window: give a subtask its own context and window.

    Use it for work whose details the main window need not see. `contextkeep window merge` brings the result back.

    TASK says what to do. The command prints the ids of the fork, and a key that opens only the fork, for its agent.
    """
    forked = session.context.windows.fork(window_id, task, inherits=inherits, **options)
    key = {"key": forked.key.key, "key_expires_at": forked.key.expires_at} if forked.key else {}
    values = {"window_id": forked.window.window_id, "context_id": forked.window.context_id, "ref": forked.ref}
    output.one({**values, **key})


@command(
    _WINDOW,
    click.option(
        "--max", "tokens_max", type=click.IntRange(0), default=0, help="Maximum tokens of the result; 0 means 2,000."
    ),
    click.option(
        "--call", "tool_call_id", default="", help="Id of the tool call that the result answers.  [default: none]"
    ),
    subject_option,
    name="merge",
    group=window,
    example="contextkeep window merge 0197f1f2-0000-7000-8000-000000000006",
)
def merge(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Bring the result of a fork back and close the fork.

    Use it when the subtask is done: the last answer and the decisions of the fork become a message of the main
    context. WINDOW_ID is the window that `contextkeep window fork` printed.
    """
    output.one(session.context.windows.merge(window_id, **options))


@command(
    _WINDOW,
    click.argument("ref"),
    subject_option,
    name="expand",
    group=window,
    example="""
contextkeep window expand 0197f1f2-0000-7000-8000-000000000006 m3/1
contextkeep window expand 0197f1f2-0000-7000-8000-000000000006 m3..m8
""",
)
def expand(session: Session, output: Output, *, window_id: str, ref: str, **options: Any) -> None:
    """Print the original text that a ref in a pack names.

    Use it when a pack shows only a shortened text.

    The result of a tool is printed as the text that the tool returned. A file is written as its bytes, up to 10 MiB.
    """
    original = session.context.windows.expand(window_id, ref, **options)
    if output.format is Format.JSON:
        output.one(original)
        return
    if original.sha256:
        click.echo(original.content if original.media_type else original.text.encode(errors="replace"), nl=False)
        return
    rows = [{"seq": message.seq, "role": message.role, "text": text_of(message)} for message in original.messages]
    output.many(rows, "seq", "role", "text")
    if original.next_ref:
        click.echo(f"more: {original.next_ref}", err=True)


@command(
    _WINDOW,
    click.argument("query"),
    click.option(
        "--from",
        "step_from",
        type=click.IntRange(0),
        default=0,
        help="First step to search, such as 2.  [default: the first]",
    ),
    click.option(
        "--to",
        "step_to",
        type=click.IntRange(0),
        default=0,
        help="Last step to search, such as 9.  [default: the newest]",
    ),
    click.option(
        "--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="Maximum number of passages."
    ),
    subject_option,
    name="search",
    group=window,
    example="contextkeep window search 0197f1f2-0000-7000-8000-000000000006 'which port' --from 2 --to 9",
)
def search(session: Session, output: Output, *, window_id: str, query: str, **options: Any) -> None:
    """Find passages in the context of a window, with their steps.

    Use it to find something that packs do not show any more.
    """
    hits = session.context.windows.search(window_id, query, **options)
    if output.format is Format.JSON:
        output.many(hits)
        return
    rows = [
        {"ref": hit.item.ref, "steps": f"{hit.step_from}-{hit.step_to}", "zone": hit.zone, "text": hit.item.text}
        for hit in hits
    ]
    output.many(rows, "ref", "steps", "zone", "text")


@command(
    _WINDOW,
    subject_option,
    name="explain",
    group=window,
    example="contextkeep window explain 0197f1f2-0000-7000-8000-000000000006",
)
def explain(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Print each part of the last pack with its tokens.

    Use it to see what takes the tokens, and which messages are shortened or summarized. A chart sums up the zones.
    """
    explained = session.context.windows.explain_pack(window_id, **options)
    if output.format is Format.JSON:
        output.one(explained)
        return
    output.many(explained.parts, "zone", "level", "step_from", "step_to", "ref", "tokens")
    if output.format is Format.TABLE:
        _draw(explained.tokens_by_zone)


@command(
    _WINDOW,
    subject_option,
    limit_option(),
    name="lineage",
    group=window,
    example="contextkeep window lineage 0197f1f2-0000-7000-8000-000000000006",
)
def lineage(session: Session, output: Output, *, window_id: str, limit: int, **options: Any) -> None:
    """List when and why the beginning of the packs changed.

    Use it to see when and why the window was compacted, and whether that saved money. The newest change comes first.

    Each change starts a new epoch. The model's vendor must then fill its prompt cache again, from the zone in the
    column first_change on. The column pays_after_steps says after how many steps the smaller packs have saved more than
    this costs; -1 means never.
    """
    output.many(session.context.windows.get_lineage(window_id, **options), *_FOLDED, limit=limit)


@command(
    _WINDOW,
    click.argument("ref"),
    click.option(
        "--text",
        default="",
        help="Only messages with this text, such as 'port is 8443'; print when packs showed it last.",
    ),
    subject_option,
    name="trace",
    group=window,
    example="""
contextkeep window trace 0197f1f2-0000-7000-8000-000000000006 m3
contextkeep window trace 0197f1f2-0000-7000-8000-000000000006 m1..m8 --text 'port is 8443'
""",
)
def trace(session: Session, output: Output, *, window_id: str, ref: str, **options: Any) -> None:
    """Print if packs show messages whole, shortened or no more.

    Use it when a model seems to have forgotten something. The command names the compaction that removed it from packs.

    Below each message the command prints those of its lines that packs still show.
    """
    traced = session.context.windows.trace_message(window_id, ref, **options)
    if output.format is Format.JSON:
        output.one(traced)
        return
    if traced.messages:
        output.many([_place_of(message) for message in traced.messages], "ref", "place", "epoch", "reason", "rule")
    for message in traced.messages:
        for line in message.lines:
            click.echo(printable(f"{message.ref} {line.zone}: {line.text}"))
    if traced.sentence:
        click.echo(_last_shown(traced.sentence))
    elif options["text"]:
        click.echo(f"No message of {ref} has this text.")
    if traced.next_ref:
        click.echo(f"more: {traced.next_ref}", err=True)


def _place_of(message: TracedMessage) -> dict[str, Any]:
    """Return the columns of a traced message: where packs show it, and the fold that put it there."""
    since = message.since or TracedBreak()
    return {
        "ref": message.ref,
        "place": message.place,
        "epoch": since.epoch,
        "reason": since.reason,
        "rule": since.rule,
    }


def _last_shown(sentence: TracedSentence) -> str:
    """Return in words when packs showed a text last."""
    if sentence.is_shown:
        return f"The text of {sentence.ref} is in the current pack."
    if sentence.last_epoch < 0:
        return f"No pack is known to have shown the text of {sentence.ref}."
    broken = sentence.removed_by or TracedBreak(epoch=sentence.last_epoch + 1)
    after = f"epoch {broken.epoch}, {broken.reason}" + (f": {broken.rule}" if broken.rule else "")
    at_most = "" if sentence.is_exact else ", or earlier"
    return f"The text of {sentence.ref} was last in packs of epoch {sentence.last_epoch}{at_most} (then {after})."


@command(
    _WINDOW,
    click.option(
        "--epoch",
        "epoch_after",
        type=click.IntRange(0),
        default=0,
        help="Only epochs after this one, such as 2.  [default: all]",
    ),
    click.option(
        "--entries",
        "entry_from",
        type=click.IntRange(0),
        default=0,
        help="First entry of the state to print; --json prints the next as entry_from.  [default: the first]",
    ),
    click.option("--until-now", is_flag=True, help="Print only what exists now, then stop."),
    subject_option,
    name="watch",
    group=window,
    example="contextkeep window watch 0197f1f2-0000-7000-8000-000000000006 --until-now",
)
def watch(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Print changes of a window as they come.

    Use it to follow compactions and the state of the work (goals, values, constraints) while an agent works.

    Without --until-now the command runs until the window is closed or you press Ctrl-C.
    """
    for event in session.context.windows.watch(window_id, **options):
        if output.format is Format.JSON:
            output.line(event)
        elif event.broken:
            output.line({"what": f"epoch {event.broken.epoch}", "is": str(event.broken)}, "what", "is")
        elif event.entry:
            output.line({"what": "state", "is": str(event.entry)}, "what", "is")
        elif event.window:
            reached = f"{event.window.step_count} steps, up to m{event.window.reached_seq}"
            output.line({"what": "window", "is": "closed" if event.window.is_closed else reached}, "what", "is")


@command(
    _WINDOW,
    click.argument("sections", nargs=-1),
    subject_option,
    name="state",
    group=window,
    example="""
contextkeep window state 0197f1f2-0000-7000-8000-000000000006
contextkeep window state 0197f1f2-0000-7000-8000-000000000006 constraint value
""",
)
def state(session: Session, output: Output, *, window_id: str, sections: tuple[str, ...], **options: Any) -> None:
    """Print the state of the work: goals, values, constraints.

    Use it to see what the window has extracted from the messages, and where each entry comes from (ref).

    SECTIONS are any of goal, sub_goal, constraint, value, contested, other_rule, decision, next, question, error,
    artifact, progress, pin, tool and entity. Without SECTIONS the command prints all.

    A contested entry is a rule or value that a later statement may have changed. An other_rule is a rule of a speaker
    whose rules are not in force.
    """
    output.many(session.context.windows.get_state(window_id, sections, **options), "section", "key", "text", "ref")


@command(
    _WINDOW,
    click.option("--input", "input_tokens", type=int, required=True, help="Tokens of the whole prompt, such as 21000."),
    click.option(
        "--cached", "cached_tokens", type=int, default=0, help="Tokens of the prompt that were read from the cache."
    ),
    click.option(
        "--written",
        "cache_write_tokens",
        type=int,
        default=0,
        help="Tokens of the prompt that were written to the cache.",
    ),
    click.option("--output", "output_tokens", type=int, default=0, help="Tokens of the answer."),
    click.option(
        "--tokens",
        "pack_tokens",
        type=int,
        default=0,
        help="Tokens that `contextkeep window pack` printed.  [default: no correction of the counts]",
    ),
    click.option("--epoch", type=int, help="Epoch of the pack, such as 2.  [default: the window's current one]"),
    subject_option,
    name="usage",
    group=window,
    example="""
contextkeep window usage 0197f1f2-0000-7000-8000-000000000006 --input 21000 --cached 19000 --tokens 20400
""",
)
def usage(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Record what the model's vendor billed for a pack.

    Use it after each request, so that the window's token counts match those of the vendor.
    """
    output.one(session.context.windows.record_usage(window_id, **options))


@command(
    _WINDOW,
    click.option("--failed", is_flag=True, help="The steps failed.  [default: they succeeded]"),
    click.option("--quality", type=click.FloatRange(0, 1), help="How well the steps went.  [default: 1]"),
    click.option(
        "--from",
        "step_from",
        type=click.IntRange(0),
        default=0,
        help="First step by its number, from 1.  [default: the last step only]",
    ),
    click.option(
        "--to", "step_to", type=click.IntRange(0), default=0, help="Last step, such as 9.  [default: the newest]"
    ),
    click.option("--lesson", default="", help="Lesson, such as 'Ask first.', stored as a memory of the user."),
    subject_option,
    name="outcome",
    group=window,
    example="contextkeep window outcome 0197f1f2-0000-7000-8000-000000000006 --from 3 --to 9 --quality 0.8",
)
def outcome(session: Session, output: Output, *, window_id: str, failed: bool, **options: Any) -> None:
    """Record whether steps succeeded.

    Use it when you know how the work ended. Compactions then prefer lines of steps that succeeded.
    """
    output.one(session.context.windows.record_outcome(window_id, success=not failed, **options))


@command(
    _WINDOW,
    click.option("--steps", type=click.IntRange(0), default=1_000, show_default=True, help="Number of steps ahead."),
    click.option(
        "--step-tokens", type=click.IntRange(0), default=0, help="Tokens of one step.  [default: like the latest steps]"
    ),
    subject_option,
    name="cost",
    group=window,
    example="contextkeep window cost 0197f1f2-0000-7000-8000-000000000006 --steps 10000",
)
def cost(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Estimate the cost of the next packs.

    Use it to see what compactions save. The command prints the tokens and the price of the next pack, of the pack after
    a compaction, and of all packs of the next --steps. The last row is for comparison: the same steps in a window that
    drops its older half when it is full.

    The price needs `prices` in the window's --config.
    """
    estimate = session.context.windows.estimate_cost(window_id, **options)
    if output.format is Format.JSON:
        output.one(estimate)
        return
    rows = [
        {
            "of": of,
            "read": item.read_tokens,
            "written": item.written_tokens,
            "base": item.base_tokens,
            "price": item.price,
        }
        for of, item in (
            ("next pack, cached", estimate.warm),
            ("next pack, not cached", estimate.cold),
            ("pack after a fold", estimate.fold),
            (f"steps ahead, {estimate.folds} folds", estimate.ahead),
            ("the same, sliding by halves", estimate.sliding),
        )
    ]
    output.many(rows, "of", "read", "written", "base", "price")


@command(
    _WINDOW,
    subject_option,
    name="stats",
    group=window,
    example="contextkeep window stats 0197f1f2-0000-7000-8000-000000000006",
)
def stats(session: Session, output: Output, *, window_id: str, **options: Any) -> None:
    """Print statistics of a window, with charts.

    Use it to see how much of the messages a pack need not send (savings), how often the window was compacted, and which
    share of the tokens the model's vendor read from its prompt cache.
    """
    result = session.context.windows.stats(window_id, **options)
    if output.format is Format.JSON:
        output.one(result)
        return
    breaks = ", ".join(f"{count} {reason}" for reason, count in result.breaks.items())
    counted = {name: getattr(result, name) for name in _COUNTED} | {"breaks": breaks or "none"}
    billed = {f"billed_{name}": getattr(result.usage, name) for name in _BILLED}
    output.one(counted | billed, *counted, *billed)
    if output.format is Format.TABLE:
        _draw(result.tokens_by_zone)
        receipts = islice(session.context.windows.get_lineage(window_id, **options), _FOLDS_DRAWN)
        _draw_folds([(receipt.step_count, receipt.tokens_before, receipt.tokens_after) for receipt in receipts][::-1])


@command(
    _WINDOW,
    click.argument("section"),
    click.argument("key", default=""),
    click.option("--text", default="", help="Statement in one line, such as 'List ports.'."),
    click.option(
        "--value", default="", help="In the section value: its content. In the section sub_goal: open, done or dropped."
    ),
    click.option("--remove", is_flag=True, help="Remove the entry.  [default: set it]"),
    subject_option,
    name="patch",
    group=window,
    example="""
contextkeep window patch 0197f1f2-0000-7000-8000-000000000006 constraint ports --text 'Never open port 80.'
contextkeep window patch 0197f1f2-0000-7000-8000-000000000006 value 'staging port' --value 8443
contextkeep window patch 0197f1f2-0000-7000-8000-000000000006 sub_goal ports --text 'List ports.' --value done
contextkeep window patch 0197f1f2-0000-7000-8000-000000000006 value 'staging port' --remove
""",
)
def patch(
    session: Session,
    output: Output,
    *,
    window_id: str,
    section: str,
    key: str,
    text: str,
    value: str,
    remove: bool,
    **options: Any,
) -> None:
    """Set or remove an entry of the state of the work.

    Use it to correct an entry that the window extracted from messages, or to add a constraint. The state of the work is
    the notes that the window keeps and that each later pack shows: goals, constraints, values and others.

    SECTION is goal, sub_goal, constraint, value, decision, next, question, error, artifact or progress. KEY is the name
    of the entry; an entry with the same name is replaced. The sections goal and progress have no KEY.
    """
    entry = StateEntryInput(section, key, text, value)
    entries, removed = ([], [entry]) if remove else ([entry], [])
    output.one({"changed_count": session.context.windows.patch_state(window_id, entries, remove=removed, **options)})


@command(
    _WINDOW,
    yes_option,
    subject_option,
    name="close",
    group=window,
    example="contextkeep window close 0197f1f2-0000-7000-8000-000000000006 --yes",
)
def close(session: Session, output: Output, *, window_id: str, yes: bool, **options: Any) -> None:
    """Close a window; the context with its messages stays.

    Use it when the model does no more work in the context.
    """
    confirm("Close it?", yes)
    output.one(session.context.windows.close(window_id, **options), *_ROW)


def _draw(tokens_by_zone: Mapping[str, int]) -> None:
    """Draw how many tokens each zone has, the most stable first."""
    most = max(tokens_by_zone.values(), default=0)
    for zone, tokens in tokens_by_zone.items():
        click.echo(f"{zone:>9} {tokens:>8,} {'█' * max(round(_CHART_CHARS * tokens / most), 1)}")


def _config(values: dict[str, Any] | None) -> WindowConfig | None:
    """Parse the value of `--config`.

    Raises:
        BadParameter: a setting is unknown, or has a wrong value.
    """
    if values is None:
        return None
    try:
        return WindowConfig.from_proto(json_format.ParseDict(values, windows_pb.WindowConfig()))
    except json_format.ParseError as error:
        names = ", ".join(windows_pb.WindowConfig.DESCRIPTOR.fields_by_name)
        raise click.BadParameter(
            f"{str(error).splitlines()[0]}; the settings are {names}", param_hint="--config"
        ) from None


def _draw_folds(folds: Sequence[tuple[int, int, int]]) -> None:
    """Draw the effect of folds step by step: the tokens after each fold, and those before it."""
    most = max((before for _, before, _ in folds), default=0)
    for step, before, after in folds:
        if most:
            stayed, there = (round(_CHART_CHARS * tokens / most) for tokens in (after, before))
            click.echo(f"step {step:>9,} {before:>8,} → {after:>8,} {'█' * stayed}{'░' * max(there - stayed, 0)}")
