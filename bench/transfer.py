"""Archives: MB a second of export and import over the floor of pg_dump, its restore, and a copy of the files.

`python -m bench.transfer [MB ...]` (16 and 64): half of each is files of a mebibyte, half messages of 1 kB. From
`LARGE_MB` on it is an archive of LARGE_MB MB; 85 % are files of 64 KiB to 16 MiB; most of it is copied
while the services run; both ways are cut in the middle and continued; and used files are removed, so that the
disk needs two and a half times as much. The moved data is the same, so a ratio is the floor's time over ours; both are
of the same rows and files. The floor's restore makes indexes after the rows, without checks of its input. The
memory is by how much each process grew at most over its size at rest, read again for each size.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import google_crc32c
import psutil
import psycopg
from psycopg import sql

from bench.stack import running, services_of
from bench.texts import messages
from context_service.blobs.storage import BLOCK_BYTES
from context_service.commands import dev
from context_service.transfer.store.tables import CONTEXT, CONTEXT_ROWS
from contextkeep import AsyncContextClient, ContextClient, MessageInput, PartInput
from service_runtime.auth.keys import KeyAdministration, NewKey
from service_runtime.values.ids import new_id

MB = 1_000_000
FILE_BYTES = 1024 * 1024
MESSAGE_BYTES = 1_000
CONTEXT_MESSAGES = 2_000
LARGE_MB = 500
LARGE_FILES = 0.85  # of the bytes of an archive
LARGE_FILE_BYTES = [64 * 1024, 256 * 1024, FILE_BYTES, 4 * FILE_BYTES, 16 * FILE_BYTES]
LARGE_MESSAGE_BYTES = 3_500  # that one takes in an archive, with its part of the index
TEMPLATES = 5  # contexts that are written by calls, and copied then
RATIO_MIN = 0.3
MEMORY_MIB_MAX, MEMORY_MIB_APART = 128, 32
ROUNDS = 2
HEADER = f"{'':26}{'ours s':>9}{'MB/s':>8}{'floor s':>9}{'ratio':>7}{'target':>9}   peak MiB"


class _Cut(Exception):
    """Somebody pulled the plug."""


def main() -> int:
    """Print the table of archives; return 1 if a row misses its target."""
    sizes = [int(argument) for argument in sys.argv[1:]] or [16, 64]
    met: list[bool] = []
    peaks: dict[int, float] = {}
    print(HEADER, flush=True)
    for size_mb in sizes:
        with running() as (stack, folder):  # what the floor takes is all that there is
            keys = KeyAdministration(stack.postgres.admin_url)
            source = _client(stack, _key(keys, f"from {size_mb}"))
            if size_mb < LARGE_MB:
                _fill(source, size_mb)
            else:
                _fill_large(stack, source, size_mb)
            peaks[size_mb] = _measured(stack, folder, keys, source, size_mb, met)
    apart = max(peaks.values()) - min(peaks.values())
    print(f"peaks {apart:.0f} MiB apart (limit {MEMORY_MIB_APART}), limit {MEMORY_MIB_MAX}")
    return int(not all(met) or apart > MEMORY_MIB_APART or max(peaks.values()) > MEMORY_MIB_MAX)


def _key(keys: KeyAdministration, name: str) -> str:
    """Return a key of a new tenant."""
    keys.add_tenant(name)
    return keys.create(NewKey(tenant=name, subject="bench", scopes=["read", "write", "admin"]))


def _client(stack: dev.Stack, key: str) -> ContextClient:
    return ContextClient(stack.context_address, api_key=key, timeout_s=120)


def _fill(client: ContextClient, size_mb: int) -> None:
    """Write files, and contexts that point at them."""
    for number in range(size_mb * MB // 2 // FILE_BYTES):
        data = number.to_bytes(8, "big") * (FILE_BYTES // 8)
        record = client.blobs.upload(data, name=f"file {number}")
        client.contexts.send(
            MessageInput("See the file.", parts=[PartInput(working_memory_id=record.working_memory_id)])
        )
    _fill_contexts(client, size_mb * MB // 2 // MESSAGE_BYTES)


def _fill_contexts(client: ContextClient, count: int) -> list[str]:
    """Write a number of messages, and return their contexts."""
    context_ids = []
    texts = [MessageInput(text) for text in messages(count, MESSAGE_BYTES)]
    for start in range(0, len(texts), CONTEXT_MESSAGES):
        context_ids.append(client.contexts.send("begin").context_id)
        for place in range(start, min(start + CONTEXT_MESSAGES, len(texts)), 500):
            client.contexts.append(texts[place : place + 500], context_ids[-1])
    return context_ids


def _fill_large(stack: dev.Stack, client: ContextClient, size_mb: int) -> None:
    """Write data for an archive of about a number of MB."""
    record_id = client.blobs.upload(b"a file", name="file").working_memory_id
    templates = _fill_contexts(client, TEMPLATES * CONTEXT_MESSAGES)
    count = round(size_mb * MB * (1 - LARGE_FILES) / LARGE_MESSAGE_BYTES / CONTEXT_MESSAGES)
    left_bytes = size_mb * MB * LARGE_FILES
    with psycopg.connect(stack.postgres.url(role="postgres"), autocommit=True) as connection:
        for size_bytes in itertools.cycle(LARGE_FILE_BYTES):
            if left_bytes <= 0:
                break
            _copy_file(connection, stack.blobs, record_id, os.urandom(64) * (size_bytes // 64))
            left_bytes -= size_bytes
        for number in range(count - TEMPLATES):
            _copy_context(connection, templates[number % TEMPLATES])
        connection.execute("VACUUM (ANALYZE)")  # as autovacuum would have done meanwhile


def _copy_file(connection: psycopg.Connection[Any], blobs: Path, record_id: str, data: bytes) -> None:
    """Write a record again, with another file."""
    (row,) = connection.execute("SELECT tenant_id, blob_id FROM context.wm_record WHERE id = %s", (record_id,))
    tenant_id, template_id = row
    blob_id, name = new_id(), secrets.token_hex(16)
    key = f"{tenant_id.hex}/{name[:2]}/{name}"
    (blobs / key).parent.mkdir(parents=True, exist_ok=True)
    (blobs / key).write_bytes(data)
    crc32c = b"".join(
        google_crc32c.value(data[start : start + BLOCK_BYTES]).to_bytes(4, "big")
        for start in range(0, len(data), BLOCK_BYTES)
    )
    of_content = {"sha256": hashlib.sha256(data).digest(), "size_bytes": len(data)}
    with connection.transaction():
        _copy(connection, "blob", template_id, "id", id=blob_id, key=key, crc32c=crc32c, **of_content)
        names = {"blob_id": blob_id, "blob_key": f"bench-{name}", "name": f"file {name}"}
        _copy(connection, "wm_record", record_id, "id", id=new_id(), **names, **of_content)


def _copy_context(connection: psycopg.Connection[Any], template: str) -> None:
    """Write all rows of a context again, under an id of their own."""
    context_id = new_id()
    with connection.transaction():
        for table in (CONTEXT, *CONTEXT_ROWS):
            whose = "scope_id" if "scope_id" in table.fixed_values else "context_id"
            ids = {"scope_id": context_id, "context_id": context_id, "ancestors": [context_id]}
            _copy(connection, table.name, template, whose, **ids)


def _copy(connection: psycopg.Connection[Any], table: str, template: object, whose: str, /, **values: object) -> None:
    """Write the rows of something again, with other values in some columns; numbers of an installation are new."""
    columns = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
        " AND attgenerated = '' AND attidentity = ''",
        (f"context.{table}",),
    )
    names = [name for (name,) in columns]
    said = [sql.Placeholder(name) if name in values else sql.Identifier(name) for name in names]
    connection.execute(
        sql.SQL("INSERT INTO context.{0} ({1}) SELECT {2} FROM context.{0} WHERE {3} = {4}").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, names)),
            sql.SQL(", ").join(said),
            sql.Identifier(whose),
            sql.Placeholder("template"),
        ),
        {**values, "template": template},
    )


def _measured(
    stack: dev.Stack, folder: Path, keys: KeyAdministration, source: ContextClient, size_mb: int, met: list[bool]
) -> float:
    """Print the rows of a size, and return the Context Service's peak."""
    archive, dump, copied, restored = (folder / f"bench.{name}" for name in ("archive", "dump", "copied", "restored"))
    is_large = size_mb >= LARGE_MB

    def dumping() -> None:
        _run(stack, "pg_dump", "--format=custom", "--compress=0", f"--file={dump}", stack.postgres.admin_url)
        shutil.copytree(stack.blobs, copied)

    def restoring() -> None:
        target = stack.postgres.url(role="postgres", database="restored")
        _run(stack, "pg_restore", "--no-owner", "--no-acl", f"--dbname={target}", dump)
        shutil.copytree(stack.blobs, restored)

    floors: dict[str, list[float]] = {"export": [], "import": []}
    for _ in range(1 if is_large else ROUNDS):
        floors["export"].append(_timed(dumping))
        shutil.rmtree(copied)
    with psycopg.connect(stack.postgres.url(role="postgres", database="postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE restored")
        floors["import"].append(_timed(restoring))
        connection.execute("DROP DATABASE restored")
    shutil.rmtree(restored)
    dump.unlink()
    ours: dict[str, list[float]] = {"export": [], "import": []}
    peaks: dict[str, list[list[float]]] = {"export": [], "import": []}
    for number in range(1 if is_large else ROUNDS):
        cut_at_bytes = size_mb * MB // 2 if is_large else 0
        exporting = partial(_exported, source, archive, cut_at_bytes)
        ours["export"].append(_peak(stack, peaks["export"], exporting))
        if is_large:  # else the disk must have room for one more
            for tenant in stack.blobs.iterdir():
                shutil.rmtree(tenant)
        key = _key(keys, f"to {size_mb} {number}")
        importing = partial(_imported, stack, key, archive, cut_at_bytes)
        ours["import"].append(_peak(stack, peaks["import"], importing))
    size = archive.stat().st_size
    for what in ("export", "import"):
        ours_s, floor_s = min(ours[what]), min(floors[what])
        ratio = floor_s / ours_s
        met.append(ratio >= RATIO_MIN)
        missed = "" if met[-1] else "  MISSED"
        figures = f"{ours_s:9.2f}{size / MB / ours_s:8.1f}{floor_s:9.2f}{ratio:7.2f}"
        context, entity, client = (max(peak[place] for peak in peaks[what]) for place in range(3))
        grew = f"   context {context:.0f}  entity {entity:.0f}  client {client:.0f}"
        print(f"{f'{what} of {size / MB:.0f} MB':26}{figures}{f'>= {RATIO_MIN}':>9}{grew}{missed}", flush=True)
    return max(item[0] for those in peaks.values() for item in those)


def _exported(source: ContextClient, archive: Path, cut_at_bytes: int) -> None:
    """Export into an archive; if the size for a cut is given, break off there and continue."""

    def cut(done_bytes: int, _: int | None) -> None:
        if done_bytes >= cut_at_bytes:
            raise _Cut

    if cut_at_bytes:
        with suppress(_Cut):
            source.archives.export(archive, tenant=True, on_progress=cut)
        assert not archive.exists(), "it was not cut"
    source.archives.export(archive, tenant=True)


def _imported(stack: dev.Stack, key: str, archive: Path, cut_at_bytes: int) -> None:
    """Import an archive; if the size for a cut is given, break off there and continue."""
    import_id = new_id()

    async def cut() -> None:
        async with AsyncContextClient(stack.context_address, api_key=key) as client:

            def stop(sent_bytes: int, _: int | None) -> None:
                if sent_bytes >= cut_at_bytes:
                    importing.cancel()

            importing = asyncio.ensure_future(
                client.archives.import_archive(archive, import_id=import_id, on_progress=stop)
            )
            with suppress(asyncio.CancelledError):
                await importing

    if cut_at_bytes:
        asyncio.run(cut())
    with _client(stack, key) as client:
        if cut_at_bytes:
            reached_bytes = client.archives.get_import(import_id).offset_bytes
            print(f"cut at {cut_at_bytes / MB:.0f} MB, gone on with at {reached_bytes / MB:.0f}", flush=True)
        done = client.archives.import_archive(archive, import_id=import_id)
    assert not any(row.conflicts or row.present for row in done.rows), "it was not all new"


def _run(stack: dev.Stack, program: str, *arguments: object) -> None:
    subprocess.run([str(stack.postgres.binaries / program), *map(str, arguments)], check=True, capture_output=True)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _peak(stack: dev.Stack, peaks: list[list[float]], work: Callable[[], object]) -> float:
    """Return the duration of a piece of work, and note how much the Context Service, the Entity Service and we grew."""
    entity, context = services_of(stack)
    pids = (context.pid, entity.pid, os.getpid())
    idle = [psutil.Process(pid).memory_info().rss for pid in pids]
    for pid in pids:
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # forget the peak
    took_s = _timed(work)
    grown: list[float] = []
    for pid, before in zip(pids, idle, strict=True):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        (line,) = (line for line in lines if line.startswith("VmHWM"))
        grown.append((int(line.split()[1]) * 1024 - before) / 2**20)
    peaks.append(grown)
    return took_s


if __name__ == "__main__":
    sys.exit(main())
