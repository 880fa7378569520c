"""The console as a process of its own: listen, say where, stop."""

from __future__ import annotations

import os
import signal
import socket
import sys

import uvicorn

from contextkeep_console.app import console
from contextkeep_console.settings import Settings, SettingsError


def main() -> None:
    """Serve the console with the settings of the environment, until a signal stops it."""
    try:
        serve(Settings.of(os.environ))
    except SettingsError as error:
        sys.exit(f"error: {error}")


def serve(settings: Settings) -> None:
    """Serve the console until a signal stops this process.

    Raises:
        SettingsError: nothing can listen there.
    """
    settings.check()
    with listener(settings) as listening:
        port = listening.getsockname()[1]
        print(f"the console is at {address(settings, port)}", flush=True)  # noqa: T201 - what it is started for
        config = uvicorn.Config(
            console(settings),
            access_log=False,  # addresses hold what people look for
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            ssl_certfile=settings.certificate_path or None,
            ssl_keyfile=settings.key_path or None,
            timeout_graceful_shutdown=5,
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            # The server takes the signals while it runs, and sends them again when it has stopped.
            signal.signal(number, _stop)
        uvicorn.Server(config).run(sockets=[listening])


def _stop(_number: int, _frame: object) -> None:
    """Go on to the end."""


def listener(settings: Settings) -> socket.socket:
    """Return the socket of the console, listening.

    Raises:
        SettingsError: the address is taken, or not this machine's.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise SettingsError(
            f"nothing can listen on {settings.host}:{settings.port} ({error.strerror}): set CONSOLE_PORT to another one"
        ) from error
    return listening


def address(settings: Settings, port: int) -> str:
    """Return where a browser finds the console."""
    if settings.public_url:
        return settings.public_url
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.certificate_path else 'http'}://{host}:{port}"
