"""Uploads and downloads through the Context Service on local disk, against the floors of `floors.py`.

`python -m tests.bench.blobs [MIB ...]` (default 64). The service, its caller and the floors' far ends are processes of
their own. The floor of an upload is synced like the upload is; the one that is not is printed too.
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

from service_runtime import embedded_postgres
from tests.bench import floors

MIB = 1024 * 1024
ROUNDS = 3
PORT = 50951


def main() -> None:
    """Print a table: MiB/s and CPU seconds per GiB, beside the floor, best of `ROUNDS`."""
    sizes = [int(argument) for argument in sys.argv[1:]] or [64]
    with tempfile.TemporaryDirectory() as folder, _service(Path(folder)) as server:
        print(f"{'':28}{'MiB/s':>8}{'floor':>8}{'ratio':>7}{'CPU s/GiB':>11}{'floor':>8}{'ratio':>7}{'client':>8}")
        _client(MIB)  # imports, connections and buffers are there after it
        idle_kib = _memory_kib(server.pid, "VmRSS")
        for size_mib in sizes:
            _measure(Path(folder), server, size_mib)
        peak_kib = _memory_kib(server.pid, "VmHWM")
        print(f"server memory: idle {idle_kib / 1024:.0f} MiB, peak above it {(peak_kib - idle_kib) / 1024:.0f} MiB")


def _measure(folder: Path, server: subprocess.Popen[bytes], size_mib: int) -> None:
    up, down, floor_up, floor_unsynced, floor_down = [], [], [], [], []
    for _ in range(ROUNDS):
        path = folder / "floor"
        floor_unsynced.append(floors.tcp_to_file(size_mib * MIB, path, durable=False))
        path.unlink()
        floor_up.append(floors.tcp_to_file(size_mib * MIB, path, durable=True))
        floor_down.append(floors.file_to_tcp(path))
        path.unlink()
        for name, into in (("upload", up), ("download", down)):
            before = _cpu_s(server.pid)
            result = _client(size_mib * MIB, name)
            into.append({**result, "server_cpu_s": _cpu_s(server.pid) - before})
        for blob in (folder / "blobs").glob("*/*/*"):
            blob.unlink()  # the page cache of the next round is not to be full of this one
    for name, ours, floor in (
        ("upload", up, floor_up),
        ("upload, floor not synced", up, floor_unsynced),
        ("download", down, floor_down),
    ):
        seconds, cpu_s = min(one["seconds"] for one in ours), min(one["server_cpu_s"] for one in ours)
        client_cpu_s = min(one["client_cpu_s"] for one in ours)
        floor_s, floor_cpu_s = min(one.seconds for one in floor), min(one.cpu_s for one in floor)
        per_gib = 1024 / size_mib
        print(
            f"{f'{name}, {size_mib} MiB':28}{size_mib / seconds:8.0f}{size_mib / floor_s:8.0f}"
            f"{floor_s / seconds:7.2f}{cpu_s * per_gib:11.2f}{floor_cpu_s * per_gib:8.2f}{cpu_s / floor_cpu_s:7.2f}"
            f"{client_cpu_s * per_gib:8.2f}"
        )


@contextmanager
def _service(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with embedded_postgres.running(folder / "postgres", keep=False) as postgres:
        environment = {
            **os.environ,
            "DATABASE_URL": postgres.service_url,
            "DATABASE_ADMIN_URL": postgres.admin_url,
            "CONTEXT_SERVICE_PORT": str(PORT),
            "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
            "LOG_LEVEL": "WARNING",
        }
        server = subprocess.Popen([sys.executable, "-m", "context_service", "serve", "--migrate"], env=environment)
        try:
            yield server
        finally:
            server.terminate()
            server.wait(30)


def _client(size_bytes: int, name: str = "both") -> dict[str, Any]:
    """Run one transfer in a process of its own: its CPU is not ours."""
    command = [sys.executable, "-m", "tests.bench.blobs", "client", name, str(size_bytes)]
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return result


def client(name: str, size_bytes: int) -> None:
    """Transfer and print how long it took; a download reads what was uploaded last."""
    import grpc

    from contextgraph.context.v1 import working_memory_pb2 as pb
    from contextgraph.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
    from service_runtime.process import tune_malloc

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


def _cpu_s(pid: int) -> float:
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
        main()
