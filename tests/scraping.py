"""Metrics, as Prometheus reads them."""

from __future__ import annotations

import asyncio
import urllib.request


async def scraped(port: int) -> dict[str, float]:
    """Return the numbers that a server exposes, by name and labels."""

    def read() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text: str = answer.read().decode()
            return text

    lines = (await asyncio.to_thread(read)).splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}
