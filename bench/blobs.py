"""Uploads and downloads through the Context Service on local disk, against the floors of `floors.py`.

`python -m bench.blobs [MIB ...]` (64 and 1024). The service, its caller and the floors' far ends are processes of
their own. Speeds are best over best of interleaved pairs; the memory is the service's peak above what it had at rest,
read again for each size.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import floors
from bench.table import PAIRS
from service_runtime.databases import embedded_postgres

MIB = 1024 * 1024
PORT = 50951
UPLOAD_MIN, DOWNLOAD_MIN = 0.6, 0.5  # of the floor's speed
UPLOAD_CPU_MAX = 1.8  # times the floor receiver's
MEMORY_MIB_MAX, MEMORY_MIB_APART = 64, 8


def main() -> int:
    """Print the table of speeds; return 1 if a row misses its target."""
    sizes = [int(argument) for argument in sys.argv[1:]] or [64, 1024]
    met, peaks_mib = [], []
    print(
        f"{'':20}{'MiB/s':>8}{'floor':>8}{'ratio':>7}{'target':>9}"
        f"{'CPU s/GiB':>12}{'floor':>8}{'ratio':>7}{'client':>9}"
    )
    with tempfile.TemporaryDirectory() as folder, service(Path(folder)) as server:
        transfer(MIB)  # imports, connections and buffers are there after it
        idle_kib = _memory_kib(server.pid, "VmRSS")
        for size_mib in sizes:
            Path(f"/proc/{server.pid}/clear_refs").write_text("5")  # forget the peak
            met.append(_measure(Path(folder), server, size_mib))
            peaks_mib.append((_memory_kib(server.pid, "VmHWM") - idle_kib) / 1024)
    peaks = ", ".join(f"{peak:.0f} MiB at {size} MiB" for peak, size in zip(peaks_mib, sizes, strict=True))
    apart = max(peaks_mib) - min(peaks_mib)
    print(f"server memory: idle {idle_kib / 1024:.0f} MiB; peak above it {peaks}", end=" ")
    print(f"(limit {MEMORY_MIB_MAX}; {apart:.0f} apart, limit {MEMORY_MIB_APART})")
    return int(not all(met) or max(peaks_mib) > MEMORY_MIB_MAX or apart > MEMORY_MIB_APART)


def _measure(folder: Path, server: subprocess.Popen[bytes], size_mib: int) -> bool:
    """Print the two rows of a size, and return whether they meet their targets."""
    ours: dict[str, list[dict[str, Any]]] = {"upload": [], "download": []}
    floor: dict[str, list[floors.Floor]] = {"upload": [], "download": []}
    for _ in range(PAIRS):
        path = folder / "floor"
        floor["upload"].append(floors.tcp_to_file(size_mib * MIB, path))
        floor["download"].append(floors.file_to_tcp(path))
        path.unlink()
        for name, results in ours.items():
            before = cpu_s_of(server.pid)
            result = transfer(size_mib * MIB, name)
            results.append({**result, "server_cpu_s": cpu_s_of(server.pid) - before})
        for blob in (folder / "blobs").glob("*/*/*"):
            blob.unlink()  # the page cache of the next round is not to be full of this one
    met = True
    for name, target in (("upload", UPLOAD_MIN), ("download", DOWNLOAD_MIN)):
        seconds, cpu_s, client_cpu_s = (
            min(item[key] for item in ours[name]) for key in ("seconds", "server_cpu_s", "client_cpu_s")
        )
        floor_s, floor_cpu_s = min(item.seconds for item in floor[name]), min(item.cpu_s for item in floor[name])
        good = floor_s / seconds >= target and (name == "download" or cpu_s / floor_cpu_s <= UPLOAD_CPU_MAX)
        per_gib = 1024 / size_mib
        print(
            f"{f'{name}, {size_mib} MiB':20}{size_mib / seconds:8.0f}{size_mib / floor_s:8.0f}{floor_s / seconds:7.2f}"
            f"{f'>= {target:g}':>9}{cpu_s * per_gib:12.2f}{floor_cpu_s * per_gib:8.2f}{cpu_s / floor_cpu_s:7.2f}"
            f"{client_cpu_s * per_gib:9.2f}{'' if good else '  MISSED'}",
            flush=True,
        )
        met = met and good
    return met


@contextmanager
def service(folder: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Context Service on a folder, or where the variables say, for the block."""
    with embedded_postgres.running(folder / "postgres", keep=False) as postgres:
        environment = {
            **os.environ,
            "DATABASE_URL": postgres.service_url,
            "DATABASE_ADMIN_URL": postgres.admin_url,
            "CONTEXT_SERVICE_PORT": str(PORT),
            "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
            "LOG_LEVEL": "WARNING",
            **variables,
        }
        server = subprocess.Popen([sys.executable, "-m", "context_service", "serve", "--migrate"], env=environment)
        try:
            yield server
        finally:
            server.terminate()
            server.wait(30)


def transfer(size_bytes: int, name: str = "both") -> dict[str, Any]:
    """Run one transfer in a process of its own: its CPU is not ours."""
    command = [sys.executable, "-m", "bench.blobs", "client", name, str(size_bytes)]
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return result


def client(name: str, size_bytes: int) -> None:
    """Transfer and print how long it took; a download reads the last upload."""
    import grpc

    from contextkeep.context.v1 import working_memory_pb2 as pb
    from contextkeep.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
    from service_runtime.grpc_server.process import tune_malloc

    tune_malloc()
    entity = "00000000-0000-7000-8000-0000000000bb"
    block = hashlib.shake_128(os.urandom(16)).digest(MIB)

    def messages() -> Iterator[pb.UploadBlobRequest]:
        record = pb.WMRecordInput(memory_type="file", name="bench", entity_node_id=entity)
        yield pb.UploadBlobRequest(header=pb.UploadHeader(record=record, size_bytes=size_bytes))
        for start in range(0, size_bytes, MIB):
            yield pb.UploadBlobRequest(chunk=block[: size_bytes - start])

    with grpc.insecure_channel(f"127.0.0.1:{PORT}") as channel:
        stub = WorkingMemoryStub(channel)
        grpc.channel_ready_future(channel).result(30)
        listed = stub.ListBlobs(pb.ListBlobsRequest(entity_node_id=entity, page_size=1))
        started, cpu = time.perf_counter(), time.process_time()
        if name in ("upload", "both"):
            uploaded = stub.UploadBlob(messages())
            assert uploaded.size_bytes == size_bytes
        if name in ("download", "both"):
            key = listed.blobs[0].blob_key if name == "download" else uploaded.blob_key
            answers = stub.GetBlob(pb.GetBlobRequest(blob_key=key))
            assert sum(len(answer.chunk) for answer in answers) == size_bytes
        print(json.dumps({"seconds": time.perf_counter() - started, "client_cpu_s": time.process_time() - cpu}))


def cpu_s_of(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_kib(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise AssertionError(name)


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        client(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main())
