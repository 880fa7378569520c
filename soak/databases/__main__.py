"""`make soak-databases MINUTES=10 SEED=1`: prints calls, moves, kills and losses; exits with 1 if anything is wrong."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from pathlib import Path

from soak.databases import stack as soaked
from soak.databases.run import Report, Soak


def main() -> None:
    """Run the soak."""
    parser = argparse.ArgumentParser(
        prog="make soak-databases", description="Move tenants and kill everything at random, and look for losses."
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1, help="decides what is written, moved and killed when")
    parser.add_argument("--tenants", type=int, default=30)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--keep", type=Path, help="a new folder for logs and blobs, that stays")
    arguments = parser.parse_args()
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    report = asyncio.run(_soak(arguments.minutes * 60, arguments.seed, arguments.tenants, arguments.keep))
    if arguments.json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        print(*report.problems, report.line(), sep="\n")
    sys.exit(1 if report.problems else 0)


async def _soak(seconds: float, seed: int, tenants: int, keep: Path | None) -> Report:
    def show(report: Report) -> None:
        print(*report.problems, report.line(), sep="\n", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=keep is None)
        async with soaked.running(folder, tenants=tenants) as stack:
            return await Soak(stack, seed=seed).run(seconds=seconds, on_round=show)


if __name__ == "__main__":
    main()
