"""What the commands share: options, connections, exit codes, and errors that say what to do."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from contextkeep import errors
from contextkeep.cli._output import Format, Output, printable
from contextkeep.client import _base as client_base
from contextkeep.client.aio import AsyncContextClient
from contextkeep.client.sync import ContextClient, EntityClient

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

# The first that fits; the more special ones stand first.
_ADVICE: tuple[tuple[type[errors.ContextKeepError], str], ...] = (
    (errors.MappingNotFound, "list what there is with `contextkeep mapping list`; the app is --app-id"),
    (errors.MappingExists, "give --replace, or a higher --rules-version"),
    (errors.ContextNotFound, "check the id, and that it is the key's to see; of a user's context give --user"),
    (errors.ContextClosed, "it is read and recalled as before; what goes on is a new context"),
    (errors.NotFound, "check the id, and that the key is of the tenant that owns it"),
    (errors.VersionConflict, "read it again, then repeat with the version that you saw"),
    (errors.StatusConflict, "read it again, then decide anew"),
    (errors.RecordArchived, "give --archived, or restore it with `contextkeep wm restore`"),
    (errors.RateLimited, "wait and repeat"),
    (
        errors.Unauthenticated,
        "set CONTEXT_SERVICE_API_KEY or give --api-key; an operator makes keys with `context-service keys create`",
    ),
    (errors.PermissionDenied, "use a key that has the scope"),
    (
        errors.Unavailable,
        "check that the service runs, and CONTEXT_SERVICE_ADDRESS and ENTITY_SERVICE_ADDRESS, or give"
        " --context-address and --entity-address",
    ),
    (errors.DeadlineExceeded, "repeat it, or ask for less"),
    (errors.Unimplemented, "check that the address is this service's, and that it is no older than the command"),
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


def told(error: OSError) -> str:
    """Return what is wrong, without its number."""
    name = error.filename if isinstance(error.filename, str) else ""
    return ": ".join(part for part in (name, error.strerror) if part) or str(error)


def _advice(error: errors.ContextKeepError) -> str:
    if "built_in" in error.metadata:
        return "choose another name"
    return next((text for kind, text in _ADVICE if isinstance(error, kind)), "")


class Session:
    """One command: where its answers go, and the clients, each made when it is first asked for."""

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
        """Return the key that calls to the Context Service are made with; empty: there is none."""
        address = client_base.address_of(
            self._context_address,
            variable=client_base.CONTEXT_ADDRESS_VARIABLE,
            default=client_base.CONTEXT_ADDRESS_DEFAULT,
        )
        return client_base.credential_of(self._api_key, address)[1]

    def awaited(self) -> AsyncContextClient:
        """Return an async client of the Context Service, which its caller closes."""
        return AsyncContextClient(self._context_address, api_key=self._api_key, app_id=self._app_id)

    def app_of_file(self, app_id: str | None) -> str:
        """Return the app of what a file says: the file's own, else the one of the command.

        Raises:
            click.UsageError: the file names another app than the command's option.
        """
        if app_id is None:
            return os.environ.get(client_base.APP_ID_VARIABLE, "") if self._app_id is None else self._app_id
        if self._app_id not in (None, app_id):
            raise click.UsageError(f"the file is of the app {app_id!r}, and --app-id is {self._app_id!r}")
        return app_id

    def close(self) -> None:
        """Close what was opened."""
        for client in (self._context, self._graph):
            if client is not None:
                client.close()


_OPTIONS = (
    click.option("--json", "output_format", flag_value=Format.JSON, type=Format, help="Print JSON."),
    click.option(
        "--raw", "output_format", flag_value=Format.RAW, type=Format, help="Print bare values, tabs between them."
    ),
    click.option("--context-address", help="Of the Context Service.  [env var: CONTEXT_SERVICE_ADDRESS]"),
    click.option("--entity-address", help="Of the Entity Service.  [env var: ENTITY_SERVICE_ADDRESS]"),
    click.option("--api-key", help="Who calls.  [env var: CONTEXT_SERVICE_API_KEY]"),
    click.option("--app-id", help="The app.  [env var: CONTEXT_SERVICE_APP_ID]"),
)


def command(
    *options: Callable[[Any], Any], name: str, example: str, group: click.Group | None = None
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function that takes a session, an output, and what the options give.

    Args:
        options: Decorators of click, in the order of the help.
        name: Of the command.
        example: One or more lines for the end of its help.
        group: Where it belongs; None: added by hand.
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
            **given: Any,
        ) -> None:
            session = Session(
                context_address=context_address, entity_address=entity_address, api_key=api_key, app_id=app_id
            )
            try:
                function(session, Output(output_format or Format.TABLE), **given)
            except errors.ContextKeepError as error:
                raise Failed(error) from error
            except BrokenPipeError:
                raise  # click's: the reader of a pipe went away
            except OSError as error:
                raise click.ClickException(printable(told(error))) from error
            finally:
                session.close()

        callback: Any = run
        for option in reversed((*options, *_OPTIONS)):
            callback = option(callback)
        lines = "\n".join(f"  {line}" for line in example.strip().splitlines())
        made = click.command(name=name, epilog=f"\b\nExample:\n{lines}")(callback)
        if group is not None:
            group.add_command(made)
        return made

    return decorate


external_id_option = click.option("--external-id", "by_external_id", is_flag=True, help="It is your own id.")


class NodeArgument:
    """Of a command that is about a node: its argument, and options that say whose id that is.

    Its function gets `node`: the keywords that tell a method of the clients.

    Args:
        argument: Its name in the help.
        keyword: What the method calls it. Empty: the same.
    """

    def __init__(self, argument: str = "node_id", *, keyword: str = "") -> None:
        self._argument = argument
        self._keyword = keyword or argument

    def __call__(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Add the argument and the options to the callback of a command."""

        @functools.wraps(callback)
        def run(*, by_external_id: bool, graph_name: str, **given: Any) -> Any:
            node = node_named(given.pop(self._argument), by_external_id, graph_name, keyword=self._keyword)
            return callback(node=node, **given)

        graph = click.option("--graph", "graph_name", default="", help="Where to look for your own id; else default.")
        return click.argument(self._argument)(external_id_option(graph(run)))


def node_named(text: str, by_external_id: bool, graph_name: str, *, keyword: str = "node_id") -> dict[str, Any]:
    """Return the keywords that tell a method of the clients of a node; `keyword` is that of its id.

    Raises:
        click.UsageError: a graph is given for an id, which needs none.
    """
    if by_external_id:
        return {"external_id": text, "graph_name": graph_name}
    if graph_name:
        raise click.UsageError("--graph says where to look for your own id; give --external-id too")
    return {keyword: text}


class JsonType(click.ParamType[Any]):
    """JSON, as text or in a file named behind an @."""

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
            self.fail(f"cannot read {printable(told(error))}", param, ctx)
        except (ValueError, RecursionError) as error:
            self.fail(
                f"{printable(value[:80])!r} is not JSON ({error}); quote it for the shell, or use @FILE", param, ctx
            )
        if self._kind is not None and not isinstance(parsed, self._kind):
            self.fail("a JSON object is needed" if self._kind is dict else "a JSON array is needed", param, ctx)
        return parsed


JSON = JsonType()
JSON_OBJECT = JsonType(dict)
JSON_ARRAY = JsonType(list)


def limit_option(rows: int = 100) -> Callable[[Any], Any]:
    """Return the option that bounds a list."""
    return click.option(
        "--limit", type=click.IntRange(0), default=rows, show_default=True, help="Rows at most; 0: all."
    )


subject_option = click.option(
    "--user", "subject_user_id", default="", help="For which user; the key needs the scope delegate."
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


def confirm(question: str, yes: bool) -> None:
    """Ask before what cannot be undone, unless the answer was given.

    Raises:
        click.Abort: the answer is no, or there is none.
    """
    if not yes:
        click.confirm(f"This cannot be undone. {question}", abort=True, err=True)
