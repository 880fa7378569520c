"""Sweeps without a pause: a process to be killed."""

from __future__ import annotations

import asyncio

from context_service.commands import maintenance
from context_service.settings import Settings
from contextkeep.errors import Unavailable
from service_runtime.settings import load


async def sweep_for_ever() -> None:
    settings = load(Settings)
    while True:
        try:
            await maintenance.sweep(settings)
        except Unavailable:
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(sweep_for_ever())
