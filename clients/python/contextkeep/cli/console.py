"""`contextkeep console`: a web page that shows what the services keep. Needs the extra `console`."""

from __future__ import annotations

import os

import click

# No docstring: click keeps the lines of the example only after a \b, which a docstring must not have.
_HELP = """Serve a web console until you press Ctrl-C.

Use it to look at contexts, windows and records in a browser.

\b
Example:
  contextkeep console --port 50080

Visitors sign in with an API key and see what that key may see. The command itself needs no key.
"""


@click.command(help=_HELP)
@click.option(
    "--host", default="", help="Address to listen on; 0.0.0.0 is all.  [env var: CONSOLE_HOST; default: 127.0.0.1]"
)
@click.option("--port", default="", help="Port to listen on.  [env var: CONSOLE_PORT; default: 50080]")
@click.option("--context-address", default="", help="Address.  [env var: CONTEXT_SERVICE_ADDRESS]")
@click.option("--entity-address", default="", help="Address.  [env var: ENTITY_SERVICE_ADDRESS]")
def console(**options: str) -> None:
    """Serve a web console until you press Ctrl-C."""
    try:
        from contextkeep_console.serving import serve
        from contextkeep_console.settings import Settings, SettingsError
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "contextkeep":
            raise
        hint = "pip install './clients/python[console]' ./clients/console"
        raise click.ClickException(f"the console is not installed: run {hint} in a checkout") from error
    variables = {
        "host": "CONSOLE_HOST",
        "port": "CONSOLE_PORT",
        "context_address": "CONTEXT_SERVICE_ADDRESS",
        "entity_address": "ENTITY_SERVICE_ADDRESS",
    }
    values = {variables[name]: value for name, value in options.items() if value}
    try:
        serve(Settings.of({**os.environ, **values}))
    except SettingsError as error:
        raise click.ClickException(str(error)) from error
