"""`make soak MINUTES=30 SEED=1`: prints kills, operations, acknowledged writes and losses; exits with 1 on a loss."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from soak import clouds
from soak import stack as soaked
from soak.run import CLOUD_VICTIMS, VICTIMS, Report, Soak

_SHOWN_EVERY_S = 5.0


def main() -> None:
    """Run the soak."""
    parser = argparse.ArgumentParser(prog="make soak", description="Kill everything at random, and look for losses.")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1, help="decides what is written, and what is killed when")
    parser.add_argument("--cloud", choices=["azure"], help="keep blobs on an emulator, and break the way to it")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--keep", type=Path, help="a new folder for logs and blobs, that stays")
    arguments = parser.parse_args()
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    report = asyncio.run(_soak(arguments.minutes * 60, arguments.seed, arguments.keep, arguments.cloud))
    if arguments.json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        for problem in (*report.losses, *report.halves, *report.left_over, *report.faults):
            print(problem)
        print(report.line())
    sys.exit(0 if report.ok else 1)


async def _soak(seconds: float, seed: int, keep: Path | None, cloud_name: str | None) -> Report:
    shown_at = 0.0

    def show(report: Report) -> None:
        nonlocal shown_at
        if time.monotonic() >= shown_at:
            print(report.line(), file=sys.stderr, flush=True)
            shown_at = time.monotonic() + _SHOWN_EVERY_S

    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=keep is None)
        async with AsyncExitStack() as opened:
            cloud = await opened.enter_async_context(clouds.azure(folder / "azurite")) if cloud_name else None
            stack = await opened.enter_async_context(soaked.running(folder, cloud))
            victims = CLOUD_VICTIMS if cloud else VICTIMS
            return await Soak(stack, seed=seed, victims=victims).run(seconds=seconds, on_round=show)


if __name__ == "__main__":
    main()
