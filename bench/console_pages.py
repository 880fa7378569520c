"""Pages of the console with much data: how soon they are there, for one person and for ten at once.

`python -m bench.console_pages [SHARE]`. 100,000 nodes, 10,000 records and 1,000 contexts, or a share of them. A
page is requested over HTTP, and is there when its last byte is; what a browser takes to draw it comes on top.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import httpx2 as httpx

from context_service.commands import dev
from contextkeep import ContextClient, ContextInput, EdgeInput, EntityClient, NodeInput
from service_runtime.network.ports import free_port

NODES, RECORDS, CONTEXTS = 100_000, 10_000, 1_000
AT_ONCE, ROUNDS, PEOPLE = 500, 20, 10
PAGE_P95_S, TOGETHER_S, MEMORY_MIB = 1.0, 2.0, 400


def write(stack: dev.Stack, share: float) -> dict[str, str]:
    """Write all data, and return the addresses of the pages to measure, by name."""
    with EntityClient(stack.entity_address) as graph, ContextClient(stack.context_address) as context:
        session = graph.graph.create_node("Session", name="the session").id
        turns: list[str] = []
        for start in range(0, int(NODES * share), AT_ONCE):
            nodes = [
                NodeInput("Turn", name=f"turn {start + place}", data={"user_input": f"Question {start + place}?"})
                for place in range(AT_ONCE)
            ]
            edges = [EdgeInput(session, nodes[0].id, "Contains"), EdgeInput(nodes[0].id, nodes[1].id, "Next")]
            graph.graph.write(nodes, edges)
            turns.append(nodes[0].id)

        def record(number: int) -> None:
            said = {"says": f"number {number}"}
            at = turns[number % len(turns)]
            context.records.insert("note", f"note {number}", content=said, entity_node_id=at)

        def begun(number: int) -> str:
            title = ContextInput(title=f"conversation {number}")
            return context.contexts.send(f"What about {number}?", context=title, recall=False).context_id

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(record, range(int(RECORDS * share))))
            *_, talk = pool.map(begun, range(int(CONTEXTS * share)))
        for number in range(40):
            context.contexts.send(f"And {number}?", talk, recall=False)
        window = context.windows.open(talk, "gpt-5").window_id
        context.windows.pack(window)
    return {
        "overview": "/",
        "contexts": "/contexts",
        "context": f"/contexts/{talk}",
        "recall": f"/contexts/{talk}/recall?text=What+about+it",
        "windows": "/windows",
        "window": f"/windows/{window}",
        "pack": f"/windows/{window}/pack",
        "graph": "/graph",
        "graph, of a type": "/graph?type=Turn",
        "node": f"/nodes/{session}",
        "memory": "/memory",
        "memory, searched": "/memory?q=number+77",
        "memory, below a node": f"/memory?node={session}",
        "history": f"/history?node={session}",
        "sources": "/sources?q=number+77",
        "search": "/find?q=turn+77",
        "access": "/access",
        "audit": "/access/audit",
    }


def entered(url: str, opened: ExitStack) -> httpx.Client:
    client = opened.enter_context(httpx.Client(base_url=url, headers={"origin": url}, timeout=60))
    assert client.post("/sign-in", data={"key": ""}).status_code == 303
    return client


def taken(client: httpx.Client, path: str) -> float:
    began = time.perf_counter()
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    return time.perf_counter() - began


def peak_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no such line")


def main() -> None:
    """Print what each page takes, and say whether the targets are met."""
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with (
        tempfile.TemporaryDirectory() as folder,
        dev.stack(Path(folder), keep=False, console_port=free_port()) as stack,
        ExitStack() as opened,
    ):
        began = time.perf_counter()
        pages = write(stack, share)
        print(f"written in {time.perf_counter() - began:.0f} s")
        url = f"http://127.0.0.1:{stack.console_port}"
        client = entered(url, opened)
        worst = 0.0
        for name, path in pages.items():
            times = sorted(taken(client, path) for _ in range(ROUNDS))
            p95 = times[int(0.95 * (ROUNDS - 1))]
            worst = max(worst, p95)
            print(f"{name:22} median {statistics.median(times) * 1000:6.0f} ms, p95 {p95 * 1000:6.0f} ms")
        rows = taken(client, "/memory?limit=10000")
        print(f"{'10,000 rows at once':22} {rows * 1000:6.0f} ms")
        people = [entered(url, opened) for _ in range(PEOPLE)]
        barrier, slowest = threading.Barrier(PEOPLE), [0.0] * PEOPLE

        def look(number: int) -> None:
            barrier.wait()
            paths = list(pages.values())
            for place in range(len(paths)):  # each begins with another one
                slowest[number] = max(slowest[number], taken(people[number], paths[(number + place) % len(paths)]))

        with ThreadPoolExecutor(PEOPLE) as pool:
            list(pool.map(look, range(PEOPLE)))
        memory = peak_mib(stack.processes["console"].pid)
        print(
            f"p95 {worst * 1000:.0f} ms (target {PAGE_P95_S * 1000:.0f}); ten at once, the slowest"
            f" {max(slowest) * 1000:.0f} ms (target {TOGETHER_S * 1000:.0f}); console {memory:.0f} MiB at most"
            f" (target {MEMORY_MIB})"
        )


if __name__ == "__main__":
    main()
