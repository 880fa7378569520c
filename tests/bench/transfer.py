"""Archives: MB a second of export and import over the floor of pg_dump, its restore, and a copy of the files.

`python -m tests.bench.transfer [MB ...]` (16 and 64): half of each is files of a mebibyte, half messages of 1 kB. What
is moved is the same, so a ratio is the floor's time over ours; both are of the same rows and files. The floor's restore
makes indexes behind the rows, with nobody to look at what comes in. The memory is the Context Service's peak over what
it had at rest, read anew for each size.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import psycopg

from context_service import dev
from contextkeep import ContextClient, MessageInput, PartInput
from service_runtime.keys import KeyAdministration, NewKey
from tests.bench.stack import running, services_of
from tests.bench.texts import messages

MB = 1_000_000
FILE_BYTES = 1024 * 1024
MESSAGE_BYTES = 1_000
CONTEXT_MESSAGES = 2_000
RATIO_MIN = 0.3
MEMORY_MIB_MAX, MEMORY_MIB_APART = 128, 32
ROUNDS = 2
HEADER = f"{'':26}{'ours s':>9}{'MB/s':>8}{'floor s':>9}{'ratio':>7}{'target':>9}{'peak MiB':>10}"


def main() -> int:
    """Print the table; 1 if something misses its target."""
    sizes = [int(argument) for argument in sys.argv[1:]] or [16, 64]
    met: list[bool] = []
    peaks: dict[int, float] = {}
    print(HEADER)
    for size_mb in sizes:
        with running() as (stack, folder):  # what the floor takes is all that there is
            keys = KeyAdministration(stack.postgres.admin_url)
            source = _tenant(stack, keys, f"from {size_mb}")
            _fill(source, size_mb)
            peaks[size_mb] = max(_measured(stack, folder, keys, source, size_mb, met))
    apart = max(peaks.values()) - min(peaks.values())
    print(f"peaks {apart:.0f} MiB apart (limit {MEMORY_MIB_APART}), limit {MEMORY_MIB_MAX}")
    return int(not all(met) or apart > MEMORY_MIB_APART or max(peaks.values()) > MEMORY_MIB_MAX)


def _tenant(stack: dev.Stack, keys: KeyAdministration, name: str) -> ContextClient:
    keys.add_tenant(name)
    key = keys.create(NewKey(tenant=name, subject="bench", scopes=["read", "write", "admin"]))
    return ContextClient(stack.context_address, api_key=key, timeout_s=120)


def _fill(client: ContextClient, size_mb: int) -> None:
    """Write files, and contexts that point at them."""
    for number in range(size_mb * MB // 2 // FILE_BYTES):
        data = number.to_bytes(8, "big") * (FILE_BYTES // 8)
        record = client.upload_blob(data, name=f"file {number}")
        client.send_message(
            MessageInput("See the file.", parts=[PartInput(working_memory_id=record.working_memory_id)])
        )
    texts = [MessageInput(text) for text in messages(size_mb * MB // 2 // MESSAGE_BYTES, MESSAGE_BYTES)]
    for start in range(0, len(texts), CONTEXT_MESSAGES):
        context_id = client.send_message("begin").context_id
        for place in range(start, min(start + CONTEXT_MESSAGES, len(texts)), 500):
            client.append_messages(texts[place : place + 500], context_id)


def _measured(
    stack: dev.Stack, folder: Path, keys: KeyAdministration, source: ContextClient, size_mb: int, met: list[bool]
) -> list[float]:
    """Print the rows of a size, and return the peaks."""
    archive, dump, copied = folder / "bench.archive", folder / "bench.dump", folder / "copied"
    process = services_of(stack)[1]

    def dumped() -> None:
        shutil.rmtree(copied, ignore_errors=True)
        _run(stack, "pg_dump", "--format=custom", "--compress=0", f"--file={dump}", stack.postgres.admin_url)
        shutil.copytree(stack.blobs, copied)

    def restored() -> None:
        with psycopg.connect(stack.postgres.url(role="postgres", database="postgres"), autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS restored")
            connection.execute("CREATE DATABASE restored")
        target = stack.postgres.url(role="postgres", database="restored")
        _run(stack, "pg_restore", "--no-owner", "--no-acl", f"--dbname={target}", dump)
        shutil.rmtree(folder / "restored", ignore_errors=True)
        shutil.copytree(copied, folder / "restored")

    floors: dict[str, list[float]] = {"export": [], "import": []}
    ours: dict[str, list[float]] = {"export": [], "import": []}
    peaks: list[float] = []
    for number in range(ROUNDS):
        if number == 0:  # behind the first import there is more to dump
            floors["export"].append(_timed(dumped))
            floors["export"].append(_timed(dumped))
            floors["import"].append(_timed(restored))
        ours["export"].append(_peak(process.pid, peaks, partial(source.export_archive, archive, tenant=True)))
        target = _tenant(stack, keys, f"to {size_mb} {number}")
        ours["import"].append(_peak(process.pid, peaks, partial(_imported, target, archive)))
    size = archive.stat().st_size
    for what in ("export", "import"):
        ours_s, floor_s = min(ours[what]), min(floors[what])
        ratio = floor_s / ours_s
        met.append(ratio >= RATIO_MIN)
        missed = "" if met[-1] else "  MISSED"
        figures = f"{ours_s:9.2f}{size / MB / ours_s:8.1f}{floor_s:9.2f}{ratio:7.2f}"
        print(f"{f'{what} of {size / MB:.0f} MB':26}{figures}{f'>= {RATIO_MIN}':>9}{max(peaks):10.0f}{missed}")
    return peaks


def _imported(target: ContextClient, archive: Path) -> None:
    done = target.import_archive(archive)
    assert not any(row.conflicts or row.present for row in done.rows), "it was not all new"


def _run(stack: dev.Stack, program: str, *arguments: object) -> None:
    subprocess.run([str(stack.postgres.binaries / program), *map(str, arguments)], check=True, capture_output=True)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _peak(pid: int, peaks: list[float], work: Callable[[], object]) -> float:
    """Return how long something takes, and note by how much the service grew for it."""
    idle = psutil.Process(pid).memory_info().rss
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # forget the peak
    took_s = _timed(work)
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    peaks.append((int(line.split()[1]) * 1024 - idle) / 2**20)
    return took_s


if __name__ == "__main__":
    sys.exit(main())
