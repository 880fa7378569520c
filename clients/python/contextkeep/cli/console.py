"""`contextkeep console`: a web page that shows what the services keep. Needs the extra `console`."""

from __future__ import annotations

import os

import click


@click.command(epilog="\b\nExample:\n  contextkeep console --port 50080")
@click.option("--host", default="", help="Where to listen; else CONSOLE_HOST, else 127.0.0.1.")
@click.option("--port", default="", help="Else CONSOLE_PORT, else 50080.")
@click.option("--context-address", default="", help="Else CONTEXT_SERVICE_ADDRESS, else 127.0.0.1:50051.")
@click.option("--entity-address", default="", help="Else ENTITY_SERVICE_ADDRESS, else 127.0.0.1:50052.")
def console(**given: str) -> None:
    """Serve a web page of what is kept, until Ctrl-C.

    Whoever opens it signs in with a key, and sees what this key may see. The command itself needs none.
    """
    try:
        from contextkeep_console.serving import serve
        from contextkeep_console.settings import Settings, SettingsError
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "contextkeep":
            raise
        hint = "pip install './clients/python[console]' ./clients/console"
        raise click.ClickException(f"the console needs more than the client: {hint} in a checkout") from error
    variables = {
        "host": "CONSOLE_HOST",
        "port": "CONSOLE_PORT",
        "context_address": "CONTEXT_SERVICE_ADDRESS",
        "entity_address": "ENTITY_SERVICE_ADDRESS",
    }
    said = {variables[name]: value for name, value in given.items() if value}
    try:
        serve(Settings.of({**os.environ, **said}))
    except SettingsError as error:
        raise click.ClickException(str(error)) from error
