"""What the commands share: options, connections, exit codes, and errors that say what to do."""

from __future__ import annotations

import functools
import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from contextkeep import errors
from contextkeep.cli._output import Format, Output, printable
from contextkeep.cli._terms import terms_of
from contextkeep.client import _base as client_base
from contextkeep.client.aio import AsyncContextClient
from contextkeep.client.sync import ContextClient, EntityClient
from contextkeep.values import MemoryQueryMode

_EXIT_CODES: tuple[tuple[type[errors.ContextKeepError], int], ...] = (
    (errors.InvalidArgument, 2),
    (errors.OutOfRange, 2),
    (errors.NotFound, 3),
    (errors.AlreadyExists, 4),
    (errors.Aborted, 4),
    (errors.FailedPrecondition, 4),
    (errors.Unauthenticated, 5),
    (errors.PermissionDenied, 5),
    (errors.Unavailable, 6),
    (errors.DeadlineExceeded, 6),
    (errors.ResourceExhausted, 6),
    (errors.DataLoss, 7),
)

# The first class that fits counts, so subclasses come before their bases.
_ADVICE: tuple[tuple[type[errors.ContextKeepError], str], ...] = (
    (errors.MappingNotFound, "list the mappings with `contextkeep mapping list`, and check --app-id"),
    (errors.MappingExists, "give --replace or a higher --rules-version"),
    (errors.ContextNotFound, "check the id and the rights of the key; for a user's context give --user"),
    (errors.ContextClosed, "send to a new context; a closed one can only be read and recalled"),
    (errors.NotFound, "check the id, and that the key belongs to the same tenant"),
    (errors.VersionConflict, "read it again, then repeat the command with its current version"),
    (errors.StatusConflict, "read it again, then decide with its current status"),
    (errors.RecordArchived, "give --archived, or restore the record with `contextkeep wm restore`"),
    (errors.RateLimited, "wait, then repeat the command"),
    (
        errors.Unauthenticated,
        "set CONTEXT_SERVICE_API_KEY or give --api-key; an operator makes keys with `context-service keys create`",
    ),
    (errors.PermissionDenied, "use a key with the required scope; `contextkeep whoami` prints the scopes of yours"),
    (
        errors.Unavailable,
        "check that the service runs, and that CONTEXT_SERVICE_ADDRESS and ENTITY_SERVICE_ADDRESS (or"
        " --context-address and --entity-address) are its addresses",
    ),
    (errors.DeadlineExceeded, "repeat the command, or ask for less"),
    (errors.Unimplemented, "check the address, and that the service is not older than this command"),
)


class Failed(click.ClickException):
    """An error of the services, for people."""

    def __init__(self, error: errors.ContextKeepError) -> None:
        super().__init__(str(error.message))
        self._error = error
        self.exit_code = next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)  # type: ignore[misc] # as click says to

    def show(self, file: Any = None) -> None:
        """Print the message, the reason with its metadata, and what to do."""
        error = self._error
        details = "".join(f" {key}={value}" for key, value in error.metadata.items() if value)
        lines = [f"error: {error.message or error.reason}", f"reason: {error.reason}{details}"]
        if advice := _advice(error):
            lines.append(f"what to do: {advice}")
        for line in lines:
            click.echo(printable(line), file=file, err=file is None)


def os_error_text(error: OSError) -> str:
    """Return the message of an error of the operating system, without its number."""
    name = error.filename if isinstance(error.filename, str) else ""
    return ": ".join(part for part in (name, error.strerror) if part) or str(error)


def _advice(error: errors.ContextKeepError) -> str:
    if "built_in" in error.metadata:
        return "choose another name"
    return next((text for kind, text in _ADVICE if isinstance(error, kind)), "")


class Session:
    """The connections of one command. Each client is created when it is first used."""

    def __init__(
        self, *, context_address: str | None, entity_address: str | None, api_key: str | None, app_id: str | None
    ) -> None:
        self._context_address = context_address
        self._entity_address = entity_address
        self._api_key = api_key
        self._app_id = app_id
        self._context: ContextClient | None = None
        self._graph: EntityClient | None = None

    @property
    def context(self) -> ContextClient:
        """Return the client of the Context Service."""
        if self._context is None:
            self._context = ContextClient(self._context_address, api_key=self._api_key, app_id=self._app_id)
        return self._context

    @property
    def graph(self) -> EntityClient:
        """Return the client of the Entity Service."""
        if self._graph is None:
            self._graph = EntityClient(self._entity_address, api_key=self._api_key)
        return self._graph

    @property
    def credential(self) -> str:
        """Return the API key for calls to the Context Service; empty if there is none."""
        address = client_base.address_of(
            self._context_address,
            variable=client_base.CONTEXT_ADDRESS_VARIABLE,
            default=client_base.CONTEXT_ADDRESS_DEFAULT,
        )
        return client_base.credential_of(self._api_key, address)[1]

    def new_async_client(self) -> AsyncContextClient:
        """Return an async client of the Context Service. The caller closes it."""
        return AsyncContextClient(self._context_address, api_key=self._api_key, app_id=self._app_id)

    def app_of_file(self, app_id: str | None) -> str:
        """Return the app of a file: the one that the file names, otherwise the one of the command.

        Raises:
            click.UsageError: the file names another app than the command's option.
        """
        if app_id is None:
            return os.environ.get(client_base.APP_ID_VARIABLE, "") if self._app_id is None else self._app_id
        if self._app_id not in (None, app_id):
            raise click.UsageError(f"the file names the app {app_id!r}, but --app-id is {self._app_id!r}")
        return app_id

    def close(self) -> None:
        """Close the clients."""
        for client in (self._context, self._graph):
            if client is not None:
                client.close()


_OPTIONS = (
    click.option("--json", "output_format", flag_value=Format.JSON, type=Format, help="Print JSON instead of a table."),
    click.option(
        "--raw",
        "output_format",
        flag_value=Format.RAW,
        type=Format,
        help="Print values separated by tabs, for scripts.",
    ),
    # Every command has these, so its help names them in one line, and the help of the root explains them.
    *(click.option(name, hidden=True) for name in ("--context-address", "--entity-address", "--api-key", "--app-id")),
)
_CONNECTION_TEXT = "Connection: --context-address, --entity-address, --api-key, --app-id; see `contextkeep --help`."


def command(
    *options: Callable[[Any], Any], name: str, example: str, group: click.Group | None = None
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a command of a function.

    The function gets a session, an output, and the values of the options as keywords. Its docstring is the help: what
    the command does, when to use it, and details. The example comes before the details.

    Args:
        options: Decorators of click, in the order of the help.
        name: The name of the command.
        example: One or more lines that run.
        group: The group of the command. None if the caller adds it to one.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def run(
            *,
            output_format: Format | None,
            context_address: str | None,
            entity_address: str | None,
            api_key: str | None,
            app_id: str | None,
            **values: Any,
        ) -> None:
            session = Session(
                context_address=context_address, entity_address=entity_address, api_key=api_key, app_id=app_id
            )
            try:
                function(session, Output(output_format or Format.TABLE), **values)
            except errors.ContextKeepError as error:
                raise Failed(error) from error
            except BrokenPipeError:
                raise  # click handles it: the reader of a pipe has ended
            except OSError as error:
                raise click.ClickException(printable(os_error_text(error))) from error
            finally:
                session.close()

        callback: Any = run
        for option in reversed((*options, *_OPTIONS)):
            callback = option(callback)
        lines = "\n".join(f"  {line}" for line in example.strip().splitlines())
        what, *more = (inspect.getdoc(function) or "").split("\n\n")
        new_command = click.command(name=name, epilog=_CONNECTION_TEXT)(callback)
        paragraphs = [what, *more[:1], f"\b\nExample:\n{lines}", *more[1:], terms_of(new_command, what, *more)]
        new_command.help = "\n\n".join(filter(None, paragraphs))
        if group is not None:
            group.add_command(new_command)
        return new_command

    return decorate


GET_OR_CREATE_TEXT = (
    "the context with this id in another system, such as slack C024BE91L; create it if it does not exist."
)

mapping_option = click.option(
    "--mapping",
    "mapping_name",
    default="",
    help="Mapping: the rules that turn nodes into messages; see `contextkeep mapping list`.  [default: simple_chat]",
)


def external_id_option(argument: str) -> Callable[[Any], Any]:
    """Return the option `--external-id`; the argument is named as the help names it."""
    return click.option(
        "--external-id",
        "by_external_id",
        is_flag=True,
        help=f"{argument} is your own id, such as thread-42, not the node's UUID.",
    )


def graph_option(text: str = "Graph that --external-id looks in.") -> Callable[[Any], Any]:
    """Return the option `--graph` of a command that takes one graph."""
    return click.option("--graph", "graph_name", default="", help=f'{text}  [default: the graph "default"]')


MEMORY_MODE = click.option(
    "--memory-mode",
    type=click.Choice(get_args(MemoryQueryMode)),
    help="recall: each memory is a hit; reflect: one hit sums them up.",
)


class NodeArgument:
    """Decorator for a command about one node: adds the argument, and options for external ids.

    The function gets `node`: the keywords that name the node in a method of the clients.

    Args:
        argument: Name of the argument in the help.
        keyword: Name of the keyword of the method. Empty means the same name.
    """

    def __init__(self, argument: str = "node_id", *, keyword: str = "") -> None:
        self._argument = argument
        self._keyword = keyword or argument

    def __call__(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Add the argument and the options to the callback of a command."""

        @functools.wraps(callback)
        def run(*, by_external_id: bool, graph_name: str, **values: Any) -> Any:
            node = node_named(values.pop(self._argument), by_external_id, graph_name, keyword=self._keyword)
            return callback(node=node, **values)

        decorated: Callable[..., Any] = external_id_option(self._argument.upper())(graph_option()(run))
        return click.argument(self._argument)(decorated)


def node_named(text: str, by_external_id: bool, graph_name: str, *, keyword: str = "node_id") -> dict[str, Any]:
    """Return the keywords that name a node in a method of the clients; `keyword` is the one for its id.

    Raises:
        click.UsageError: A graph is given with a node id, which needs none.
    """
    if by_external_id:
        return {"external_id": text, "graph_name": graph_name}
    if graph_name:
        raise click.UsageError("--graph needs --external-id: only your own ids are looked up in a graph")
    return {keyword: text}


class JsonType(click.ParamType[Any]):
    """JSON, as text, or as @FILE."""

    name = "json"

    def __init__(self, kind: type | None = None) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the parsed value."""
        if not isinstance(value, str):
            return value
        try:
            parsed = json.loads(Path(value[1:]).read_text("utf-8") if value.startswith("@") else value)
        except OSError as error:
            self.fail(f"cannot read {printable(os_error_text(error))}", param, ctx)
        except (ValueError, RecursionError) as error:
            self.fail(
                f"{printable(value[:80])!r} is not valid JSON ({error}); quote it for the shell, or use @FILE",
                param,
                ctx,
            )
        if self._kind is not None and not isinstance(parsed, self._kind):
            self.fail(
                "the value must be a JSON object" if self._kind is dict else "the value must be a JSON array",
                param,
                ctx,
            )
        return parsed


JSON = JsonType()
JSON_OBJECT = JsonType(dict)
JSON_ARRAY = JsonType(list)


def limit_option(rows: int = 100) -> Callable[[Any], Any]:
    """Return the option `--limit` of a list."""
    return click.option(
        "--limit", type=click.IntRange(0), default=rows, show_default=True, help="Maximum number of rows; 0 means all."
    )


SCORE_MIN = click.option(
    "--score-min", type=click.FloatRange(0, 1), help="Only results with this score or a higher one."
)
subject_option = click.option(
    "--user",
    "subject_user_id",
    default="",
    help="User to act for, such as ada; needs the scope delegate.  [default: the key's user]",
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


def confirm(question: str, yes: bool) -> None:
    """Ask for confirmation of a change that cannot be undone, unless `yes` is set.

    Raises:
        click.Abort: The answer is no, or there is no terminal.
    """
    if not yes:
        click.confirm(f"This cannot be undone. {question}", abort=True, err=True)
