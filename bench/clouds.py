"""Uploads and downloads on the clouds' emulators, against the same bytes through the vendor's SDK alone.

`python -m bench.clouds [azure gcs s3]`. Caller, service, SDK and emulator are processes of their own; the SDK
sends and fetches parts of the same size, as many at once as the backend does. Best over best of interleaved pairs. On a
machine of few cores the caller and the emulator take theirs from the service: the CPU column is the steadier one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.blobs import MIB, cpu_s_of, service, transfer
from bench.table import PAIRS
from tests.emulators import azurite, gcs, moto

RATIO_MIN = {"azure": 0.8}  # of the SDK's speed; of the others it is only shown
SIZE_MIB = {"azure": 256, "gcs": 64, "s3": 256}  # the emulator of GCS is quadratic in the size


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """An emulator, and the variables that point a service to it."""

    variables: dict[str, str]


def main() -> int:
    """Print the table of speeds; return 1 if a row misses its target."""
    met = []
    print(f"{'':26}{'MiB/s':>8}{'SDK':>8}{'ratio':>7}{'target':>9}{'CPU s/GiB':>12}{'SDK':>8}")
    for name in sys.argv[1:] or list(SIZE_MIB):
        with (
            tempfile.TemporaryDirectory() as folder,
            _emulator(name, Path(folder)) as cloud,
            service(Path(folder), **cloud.variables) as server,
        ):
            transfer(MIB)  # imports, connections and buffers are there after it
            _sdk(name, cloud, "upload", MIB)
            met.append(_measure(name, cloud, server))
    return int(not all(met))


def _measure(name: str, cloud: Cloud, server: subprocess.Popen[bytes]) -> bool:
    """Print the rows of one cloud, upload and download, and return whether they meet their targets."""
    size_mib = SIZE_MIB[name]
    ours: dict[str, list[dict[str, float]]] = {"upload": [], "download": []}
    theirs: dict[str, list[dict[str, float]]] = {"upload": [], "download": []}
    for _ in range(PAIRS):
        for what in ours:
            theirs[what].append(_sdk(name, cloud, what, size_mib * MIB))
            before = cpu_s_of(server.pid)
            seconds = transfer(size_mib * MIB, what)["seconds"]
            ours[what].append({"seconds": seconds, "cpu_s": cpu_s_of(server.pid) - before})
    met = True
    for what in ours:
        seconds, cpu_s = (min(item[key] for item in ours[what]) for key in ("seconds", "cpu_s"))
        sdk_s, sdk_cpu_s = (min(item[key] for item in theirs[what]) for key in ("seconds", "cpu_s"))
        target = RATIO_MIN.get(name)
        good = target is None or sdk_s / seconds >= target
        per_gib = 1024 / size_mib
        print(
            f"{f'{name}, {what}, {size_mib} MiB':26}{size_mib / seconds:8.0f}{size_mib / sdk_s:8.0f}"
            f"{sdk_s / seconds:7.2f}{'' if target is None else f'>= {target:g}':>9}"
            f"{cpu_s * per_gib:12.2f}{sdk_cpu_s * per_gib:8.2f}{'' if good else '  MISSED'}",
            flush=True,
        )
        met = met and good
    return met


@contextmanager
def _emulator(name: str, folder: Path) -> Iterator[Cloud]:
    """Run a cloud's emulator for the block, and yield it with the settings of a service on it."""
    shared = {"WORKING_MEMORY_STORAGE_PROVIDER": name, "WORKING_MEMORY_STORAGE_CREATE_CONTAINER": "true"}
    if name == "azure":
        with azurite.running(folder) as azure:
            yield Cloud(
                variables={
                    **shared,
                    "WORKING_MEMORY_STORAGE_ACCOUNT": azurite.ACCOUNT,
                    "WORKING_MEMORY_STORAGE_KEY": azurite.KEY,
                    "WORKING_MEMORY_STORAGE_CONTAINER": "bench",
                    "WORKING_MEMORY_STORAGE_ENDPOINT": azure.endpoint(),
                }
            )
    elif name == "gcs":
        with gcs.running(folder) as google:
            yield Cloud(
                variables={
                    **shared,
                    "WORKING_MEMORY_GCS_BUCKET": "bench",
                    "STORAGE_EMULATOR_HOST": google.endpoint(),
                    "GOOGLE_CLOUD_PROJECT": "bench",
                }
            )
    else:
        with moto.running(folder) as amazon:
            yield Cloud(
                variables={
                    **shared,
                    "WORKING_MEMORY_S3_BUCKET": "bench",
                    "AWS_S3_ENDPOINT": amazon.endpoint(),
                    "AWS_REGION": "us-east-1",
                    "AWS_ACCESS_KEY_ID": "key",
                    "AWS_SECRET_ACCESS_KEY": "secret",
                }
            )


def _sdk(name: str, cloud: Cloud, what: str, size_bytes: int) -> dict[str, float]:
    """Transfer with the SDK alone, in a process of its own; a download reads the last upload."""
    command = [sys.executable, "-m", "bench.clouds", "sdk", name, what, str(size_bytes)]
    done = subprocess.run(command, check=True, capture_output=True, env={**os.environ, **cloud.variables})
    result: dict[str, float] = json.loads(done.stdout)
    return result


async def _blocks(size_bytes: int) -> AsyncIterator[bytes]:
    block = hashlib.shake_128(os.urandom(16)).digest(MIB)
    for _ in range(0, size_bytes, MIB):
        yield block


async def _azure(what: str, size_bytes: int) -> Callable[[], Coroutine[Any, Any, int]]:
    """Return a function that transfers bytes with Azure's SDK, in parts as our backend does."""
    from azure.storage.blob.aio import BlobServiceClient

    from context_service.blobs.azure import PART_BYTES, PARTS_AT_ONCE

    client = BlobServiceClient(
        os.environ["WORKING_MEMORY_STORAGE_ENDPOINT"],
        {"account_name": azurite.ACCOUNT, "account_key": azurite.KEY},
        max_block_size=PART_BYTES,
        max_single_get_size=PART_BYTES,
        max_chunk_get_size=PART_BYTES,
    )
    blob = client.get_blob_client("bench", "sdk")

    async def work() -> int:
        async with client:
            if what == "upload":
                await blob.upload_blob(
                    _blocks(size_bytes), length=size_bytes, overwrite=True, max_concurrency=PARTS_AT_ONCE
                )
                return size_bytes
            download = await blob.download_blob(max_concurrency=PARTS_AT_ONCE)
            return sum([len(chunk) async for chunk in download.chunks()])

    return work


async def _gcs(what: str, size_bytes: int) -> Callable[[], Coroutine[Any, Any, int]]:
    """Return a function that transfers bytes with the SDK of Google Cloud Storage, in parts as our backend does."""
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.storage import Client

    from context_service.blobs.gcs import FETCH_BYTES, PART_BYTES

    client = Client(project="bench", credentials=AnonymousCredentials())
    blob = client.bucket("bench").blob("sdk", chunk_size=PART_BYTES if what == "upload" else FETCH_BYTES)
    (block,) = [block async for block in _blocks(MIB)]

    def upload() -> int:
        with blob.open("wb", ignore_flush=True) as file:
            for _ in range(0, size_bytes, MIB):
                file.write(block)
        return size_bytes

    def download() -> int:
        with blob.open("rb") as file:
            return sum(len(chunk) for chunk in iter(lambda: file.read(MIB), b""))

    async def work() -> int:
        return await asyncio.to_thread(upload if what == "upload" else download)

    return work


async def _s3(what: str, size_bytes: int) -> Callable[[], Coroutine[Any, Any, int]]:
    """Return a function that transfers bytes with an SDK for S3, in parts as our backend does."""
    import obstore
    from obstore.store import S3Store

    from context_service.blobs.s3 import PART_BYTES, PARTS_AT_ONCE

    store = S3Store("bench", endpoint=os.environ["AWS_S3_ENDPOINT"], client_options={"allow_http": True})

    async def work() -> int:
        if what == "upload":
            blocks = _blocks(size_bytes)
            await obstore.put_async(store, "sdk", blocks, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE)
            return size_bytes
        found = await obstore.get_async(store, "sdk")
        return sum([len(chunk) async for chunk in found.stream(min_chunk_size=MIB)])

    return work


async def _alone(name: str, what: str, size_bytes: int) -> None:
    from service_runtime.grpc_server.process import tune_malloc

    tune_malloc()
    work = await {"azure": _azure, "gcs": _gcs, "s3": _s3}[name](what, size_bytes)
    started, cpu_s = time.perf_counter(), time.process_time()
    assert await work() == size_bytes
    print(json.dumps({"seconds": time.perf_counter() - started, "cpu_s": time.process_time() - cpu_s}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["sdk"]:
        import uvloop

        uvloop.run(_alone(sys.argv[2], sys.argv[3], int(sys.argv[4])))
    else:
        sys.exit(main())
