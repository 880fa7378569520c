"""`contextkeep context task` and `artifact`: work within a context, and what it makes."""

from __future__ import annotations

from typing import Any, BinaryIO, get_args

import click

from contextkeep.cli._base import JSON_OBJECT, Session, command, confirm, limit_option, subject_option, yes_option
from contextkeep.cli._output import Format, Output
from contextkeep.inputs import ArtifactInput, PartInput
from contextkeep.values import TaskState

_MADE = ("artifact_id", "version", "name", "is_complete", "part_count", "size_bytes", "updated_at")
_ROW = ("task_id", "state", "version", "status_at", "created_at")
_TASK = click.argument("task_id")
_STATE = click.option("--state", type=click.Choice(get_args(TaskState)), help="How far it is.")
_SAYS = click.option("--says", "status_message", help="What the agent says of the state.")
_METADATA = click.option("--metadata", type=JSON_OBJECT, help="A JSON object, or @FILE.")


@click.group(
    epilog="\b\nExample:\n  contextkeep context task list 0197f1f2-0000-7000-8000-000000000001",
)
def task() -> None:
    """Tasks: work with a state, to which messages belong."""


@command(
    click.argument("context_id"),
    _STATE,
    _SAYS,
    click.option("--after", "reference_task_ids", multiple=True, help="A task that it builds on; may be repeated."),
    _METADATA,
    subject_option,
    name="create",
    group=task,
    example="contextkeep context task create 0197f1f2-0000-7000-8000-000000000001 --state working",
)
def create(session: Session, output: Output, *, context_id: str, **given: Any) -> None:
    """Begin a task of a context."""
    output.one(session.context.tasks.create(context_id, **given))


@command(
    _TASK,
    _STATE,
    _SAYS,
    _METADATA,
    click.option("--version", "expected_version", type=click.IntRange(0), default=0, help="Only if it is this one."),
    subject_option,
    name="update",
    group=task,
    example="contextkeep context task update 0197f1f2-0000-7000-8000-000000000005 --state working --says 'I look.'",
)
def update(
    session: Session, output: Output, *, task_id: str, state: TaskState | None, metadata: Any, **given: Any
) -> None:
    """Change its state or its metadata."""
    if state is None and metadata is None:
        raise click.UsageError("say what to change: --state, --metadata")
    output.one(session.context.tasks.update(task_id, state=state, metadata=metadata, **given))


@command(
    _TASK,
    click.option("--messages", "history_length", type=click.IntRange(0), help="The newest of it; else what fits."),
    subject_option,
    name="show",
    group=task,
    example="contextkeep context task show 0197f1f2-0000-7000-8000-000000000005",
)
def show(session: Session, output: Output, *, task_id: str, **given: Any) -> None:
    """Print a task; with --json also its messages."""
    found = session.context.tasks.get(task_id, **given)
    output.one(found if output.format is Format.JSON else found.task)


@command(
    click.argument("context_id"),
    click.option("--state", "states", multiple=True, type=click.Choice(get_args(TaskState)), help="May be repeated."),
    subject_option,
    limit_option(),
    name="list",
    group=task,
    example="contextkeep context task list 0197f1f2-0000-7000-8000-000000000001 --state working",
)
def list_tasks(
    session: Session, output: Output, *, context_id: str, states: tuple[TaskState, ...], limit: int, **given: Any
) -> None:
    """List the tasks of a context, newest first."""
    output.many(session.context.tasks.list(context_id, states=states, **given), *_ROW, limit=limit)


@command(
    _TASK,
    yes_option,
    subject_option,
    name="cancel",
    group=task,
    example="contextkeep context task cancel 0197f1f2-0000-7000-8000-000000000005 --yes",
)
def cancel(session: Session, output: Output, *, task_id: str, yes: bool, **given: Any) -> None:
    """End it as canceled."""
    confirm("Cancel it?", yes)
    output.one(session.context.tasks.cancel(task_id, **given), *_ROW)


@click.group(
    epilog="\b\nExample:\n  contextkeep context artifact show 0197f1f2-0000-7000-8000-000000000005 plan",
)
def artifact() -> None:
    """Artifacts: what tasks make."""


@command(
    _TASK,
    click.argument("file", type=click.File("rb"), default="-"),
    click.option("--id", "artifact_id", default="", help="Your own id of it; the same again is its next version."),
    click.option("--name", default="", help="A label."),
    click.option("--description", default="", help="What it is."),
    _METADATA,
    click.option("--append", is_flag=True, help="Put it behind what the newest version has."),
    click.option("--last", "last_chunk", is_flag=True, help="Nothing more comes to this version."),
    subject_option,
    name="put",
    group=artifact,
    example="""
contextkeep context artifact put 0197f1f2-0000-7000-8000-000000000005 report.md --id report --last
echo 'More of it.' | contextkeep context artifact put 0197f1f2-0000-7000-8000-000000000005 --id plan --append
""",
)
def put(
    session: Session,
    output: Output,
    *,
    task_id: str,
    file: BinaryIO,
    artifact_id: str,
    name: str,
    description: str,
    metadata: dict[str, Any] | None,
    **given: Any,
) -> None:
    """Put a text of a file or stdin."""
    try:
        part = PartInput(text=file.read().decode())
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} is no text in UTF-8: {error}") from None
    said = ArtifactInput([part], artifact_id=artifact_id, name=name, description=description, metadata=metadata)
    output.one(session.context.artifacts.put(task_id, said, **given), *_MADE)


@command(
    _TASK,
    click.argument("artifact_id"),
    click.option("--version", type=click.IntRange(0), default=0, help="Else the newest."),
    subject_option,
    name="show",
    group=artifact,
    example="contextkeep context artifact show 0197f1f2-0000-7000-8000-000000000005 plan --json",
)
def show_artifact(session: Session, output: Output, *, task_id: str, artifact_id: str, **given: Any) -> None:
    """Print one with its parts."""
    output.one(session.context.artifacts.get(task_id, artifact_id, **given))


@command(
    _TASK,
    subject_option,
    name="list",
    group=artifact,
    example="contextkeep context artifact list 0197f1f2-0000-7000-8000-000000000005",
)
def list_artifacts(session: Session, output: Output, *, task_id: str, **given: Any) -> None:
    """List what a task made."""
    output.many(session.context.tasks.get(task_id, history_length=0, **given).artifacts, *_MADE)
