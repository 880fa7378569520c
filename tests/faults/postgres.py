"""A Postgres that can be stopped, killed, frozen and started again where it was.

A process of its own starts it (run as a script, this module is that process): a fork of one that has gRPC's threads
sometimes crashes, and the kernel tells Postgres when whoever started it dies.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

import context_service.app
import entity_service.app
from service_runtime.databases import embedded_postgres
from service_runtime.databases.embedded_postgres import SERVICE_ROLE, EmbeddedPostgres, EmbeddedPostgresError
from service_runtime.databases.migrate import migrate
from tests.ports import free_port

FAST = signal.SIGINT  # sessions are ended, then it stops
IMMEDIATE = signal.SIGQUIT  # everything is dropped; the next start recovers from the log
KILLED = signal.SIGKILL


class Postgres:
    """One server on one port, through all of its lives; made by `running`."""

    def __init__(self, folder: Path, *, durable: bool, environment: dict[str, str]) -> None:
        self._keeper = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.faults.postgres",
                str(folder),
                str(free_port()),
                "durable" if durable else "",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self.server: EmbeddedPostgres

    @property
    def url(self) -> str:
        """URL of the services' role."""
        return self.server.service_url

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        answer = await self._order("start")
        paths = {name: Path(answer[name]) for name in ("binaries", "data_folder")}
        self.server = EmbeddedPostgres(**{**answer, **paths})

    async def stop(self, how: signal.Signals) -> None:
        """Stop it with a signal, and wait until all of it is gone."""
        await self._order(f"stop {int(how)}")

    async def restart(self, how: signal.Signals) -> None:
        """Stop it with a signal and start it again."""
        await self.stop(how)
        await self.start()

    def freeze(self) -> None:
        """Stop every process of it where it is: connections stay, and nothing answers."""
        for process in _processes(self.server.pid):
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def thaw(self) -> None:
        """Let it go on."""
        for process in _processes(self.server.pid):
            with suppress(psutil.NoSuchProcess):
                process.resume()

    async def close(self) -> None:
        """End it, and remove its data."""
        await asyncio.to_thread(self._keeper.communicate)

    async def _order(self, order: str) -> Any:
        def wait() -> Any:
            assert self._keeper.stdin is not None
            assert self._keeper.stdout is not None
            self._keeper.stdin.write(f"{order}\n".encode())
            self._keeper.stdin.flush()
            return json.loads(self._keeper.stdout.readline())

        return await asyncio.to_thread(wait)


@asynccontextmanager
async def running(
    folder: Path, *, durable: bool = True, environment: dict[str, str] | None = None
) -> AsyncIterator[Postgres]:
    """Run a migrated Postgres for the block, by default one that syncs what it commits."""
    postgres = Postgres(folder, durable=durable, environment=environment or {})
    try:
        await postgres.start()
        everything = {m.name: m for m in (*entity_service.app.migrations(), *context_service.app.migrations())}
        await asyncio.to_thread(
            migrate, postgres.server.admin_url, list(everything.values()), service_role=SERVICE_ROLE
        )
        yield postgres
    finally:
        await postgres.close()


def _keep(folder: Path, port: int, *, durable: bool) -> None:
    """Do what comes in, one line an order; at the end of the input stop Postgres and remove its data."""
    life = ExitStack()
    server: EmbeddedPostgres | None = None
    for line in sys.stdin:
        match line.split():
            case ["start"]:
                server = _started(life, folder, port, durable=durable)
                print(json.dumps(dataclasses.asdict(server), default=str), flush=True)
            case ["stop", number]:
                assert server is not None
                processes = _processes(server.pid)
                os.kill(server.pid, int(number))
                life.close()
                psutil.wait_procs(processes, timeout=10)
                print("{}", flush=True)
    life.close()
    with embedded_postgres.running(folder, keep=False):
        pass


def _started(life: ExitStack, folder: Path, port: int, *, durable: bool) -> EmbeddedPostgres:
    give_up_at = time.monotonic() + 10
    while True:
        try:
            return life.enter_context(embedded_postgres.running(folder, durable=durable, port=port))
        except EmbeddedPostgresError:  # processes of its last life are about to notice that it is over
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.1)


def _processes(pid: int) -> list[psutil.Process]:
    try:
        postmaster = psutil.Process(pid)
        return [postmaster, *postmaster.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever gives the orders
    _keep(Path(sys.argv[1]), int(sys.argv[2]), durable=sys.argv[3] == "durable")
