"""`contextkeep context task` and `artifact`: work within a context, and what it makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO, get_args

import click

from contextkeep.cli._base import JSON_OBJECT, Session, command, confirm, limit_option, subject_option, yes_option
from contextkeep.cli._output import Format, Output
from contextkeep.inputs import ArtifactInput, PartInput
from contextkeep.values import TaskState

_MADE = ("artifact_id", "version", "name", "is_complete", "part_count", "size_bytes", "updated_at")
_ROW = ("task_id", "state", "version", "status_at", "created_at")
_TASK = click.argument("task_id")
_SAYS = click.option("--says", "status_message", help="Message about the state, such as 'Which port?'.")
_METADATA = click.option("--metadata", type=JSON_OBJECT, help="Metadata, such as '{\"vip\": true}', or @FILE.")


def _state_option(text: str) -> Callable[[Any], Any]:
    return click.option("--state", type=click.Choice(get_args(TaskState)), help=text)


@click.group(
    epilog="\b\nExample:\n  contextkeep context task list 0197f1f2-0000-7000-8000-000000000001",
)
def task() -> None:
    """Tasks: units of work with a state and messages."""


@command(
    click.argument("context_id"),
    _state_option("State of the task.  [default: submitted]"),
    _SAYS,
    click.option(
        "--after", "reference_task_ids", multiple=True, help="Id of a task that this one builds on; may be repeated."
    ),
    _METADATA,
    subject_option,
    name="create",
    group=task,
    example="contextkeep context task create 0197f1f2-0000-7000-8000-000000000001 --state working",
)
def create(session: Session, output: Output, *, context_id: str, **options: Any) -> None:
    """Start a task in a context.

    Use it to track a piece of work that an agent does. The command prints the TASK_ID, which other commands take.
    """
    output.one(session.context.tasks.create(context_id, **options))


@command(
    _TASK,
    _state_option("New state of the task.  [default: unchanged]"),
    _SAYS,
    _METADATA,
    click.option(
        "--version",
        "expected_version",
        type=click.IntRange(0),
        default=0,
        help="Fail unless the task has this version, such as 2.  [default: any]",
    ),
    subject_option,
    name="update",
    group=task,
    example="contextkeep context task update 0197f1f2-0000-7000-8000-000000000005 --state working --says 'On it.'",
)
def update(
    session: Session, output: Output, *, task_id: str, state: TaskState | None, metadata: Any, **options: Any
) -> None:
    """Change the state or the metadata of a task.

    Use it to report progress, or that the task needs input or has ended. `contextkeep context task list` prints the
    TASK_ID.
    """
    if state is None and metadata is None:
        raise click.UsageError("nothing to change: give --state or --metadata")
    output.one(session.context.tasks.update(task_id, state=state, metadata=metadata, **options))


@command(
    _TASK,
    click.option(
        "--messages",
        "history_length",
        type=click.IntRange(0),
        help="Number of newest messages, such as 10.  [default: as many as fit]",
    ),
    subject_option,
    name="show",
    group=task,
    example="contextkeep context task show 0197f1f2-0000-7000-8000-000000000005",
)
def show(session: Session, output: Output, *, task_id: str, **options: Any) -> None:
    """Print a task; with --json also its messages.

    Use it to see the state of a piece of work. `contextkeep context task list` prints the TASK_ID.
    """
    result = session.context.tasks.get(task_id, **options)
    output.one(result if output.format is Format.JSON else result.task)


@command(
    click.argument("context_id"),
    click.option(
        "--state",
        "states",
        multiple=True,
        type=click.Choice(get_args(TaskState)),
        help="Only tasks in this state; may be repeated.",
    ),
    subject_option,
    limit_option(),
    name="list",
    group=task,
    example="contextkeep context task list 0197f1f2-0000-7000-8000-000000000001 --state working",
)
def list_tasks(
    session: Session, output: Output, *, context_id: str, states: tuple[TaskState, ...], limit: int, **options: Any
) -> None:
    """List the tasks of a context, newest first.

    Use it to find tasks that are still open, or the TASK_ID of a task.
    """
    output.many(session.context.tasks.list(context_id, states=states, **options), *_ROW, limit=limit)


@command(
    _TASK,
    yes_option,
    subject_option,
    name="cancel",
    group=task,
    example="contextkeep context task cancel 0197f1f2-0000-7000-8000-000000000005 --yes",
)
def cancel(session: Session, output: Output, *, task_id: str, yes: bool, **options: Any) -> None:
    """Cancel a task.

    Use it when the work should stop; the state becomes canceled. The agent is not told: it must read the state.
    """
    confirm("Cancel it?", yes)
    output.one(session.context.tasks.cancel(task_id, **options), *_ROW)


@click.group(
    epilog="\b\nExample:\n  contextkeep context artifact show 0197f1f2-0000-7000-8000-000000000005 plan",
)
def artifact() -> None:
    """Artifacts: results of tasks."""


@command(
    _TASK,
    click.argument("file", type=click.File("rb"), default="-"),
    click.option(
        "--id",
        "artifact_id",
        default="",
        help="Your own id of the artifact, such as report; an existing artifact gets a new version.",
    ),
    click.option("--name", default="", help="Name, for people."),
    click.option("--description", default="", help="What the artifact is."),
    _METADATA,
    click.option("--append", is_flag=True, help="Append to the newest version.  [default: store a new one]"),
    click.option("--last", "last_chunk", is_flag=True, help="Complete this version: later calls cannot append to it."),
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
    """Store a text as an artifact of a task.

    Use it to save a result of a task, such as a report. `contextkeep context task list` prints the TASK_ID.

    The text comes from FILE. Without FILE, or with `-`, it comes from stdin.
    """
    try:
        part = PartInput(text=file.read().decode())
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} must be text in UTF-8: {error}") from None
    result = ArtifactInput([part], artifact_id=artifact_id, name=name, description=description, metadata=metadata)
    output.one(session.context.artifacts.put(task_id, result, **given), *_MADE)


@command(
    _TASK,
    click.argument("artifact_id"),
    click.option(
        "--version", type=click.IntRange(0), default=0, help="Version to print, such as 1.  [default: the newest]"
    ),
    subject_option,
    name="show",
    group=artifact,
    example="contextkeep context artifact show 0197f1f2-0000-7000-8000-000000000005 plan --json",
)
def show_artifact(session: Session, output: Output, *, task_id: str, artifact_id: str, **options: Any) -> None:
    """Print an artifact: a result of a task.

    Use it to read a result. `contextkeep context artifact list` prints the ARTIFACT_ID, and `contextkeep context task
    list` the TASK_ID. The parts of an artifact are the texts that were stored and appended.
    """
    output.one(session.context.artifacts.get(task_id, artifact_id, **options))


@command(
    _TASK,
    subject_option,
    name="list",
    group=artifact,
    example="contextkeep context artifact list 0197f1f2-0000-7000-8000-000000000005",
)
def list_artifacts(session: Session, output: Output, *, task_id: str, **options: Any) -> None:
    """List the artifacts of a task.

    Use it to find the ARTIFACT_ID of a result of the task.
    """
    output.many(session.context.tasks.get(task_id, history_length=0, **options).artifacts, *_MADE)
