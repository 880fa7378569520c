"""The main job on real input, visibly: `make demo`.

Starts a Postgres and both services as processes of their own. The first chapter keeps files in working memory, finds
them through the entity graph, writes a conversation, and reads its chat history back. The others are shown when asked
for: `make demo CHAPTER=mappings`, or `all`. Everything is removed at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from context_service import dev
from contextkeep import ChatMessage, ContextClient, EdgeInput, EntityClient, NodeInput

ROOT = Path(__file__).resolve().parent.parent
BINARY_BYTES = 3 * 1024 * 1024


def main() -> None:
    """Run the chapter that is asked for, or the first."""
    parser = argparse.ArgumentParser(description="The main job on real input.")
    parser.add_argument("chapter", nargs="?", default=next(iter(CHAPTERS)), choices=[*CHAPTERS, "all"])
    asked = parser.parse_args().chapter
    chapters = list(CHAPTERS) if asked == "all" else [asked]

    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        with step("start Postgres (with pgvector), the Entity Service and the Context Service, a process each"):
            services = stack.enter_context(dev.stack(folder, keep=False))
        print(f"             Context Service {services.context_address}, Entity Service {services.entity_address}")
        with EntityClient(services.entity_address) as graph, ContextClient(services.context_address) as context:
            for chapter in chapters:
                CHAPTERS[chapter](graph, context, folder)
        title("Done")
        with step("stop all of it"):
            stack.close()
    print(f"  {len(psutil.Process().children(recursive=True))} processes left behind")
    print(f"  {time.perf_counter() - started:.1f} s in all")
    for chapter in CHAPTERS:
        if chapter not in chapters:
            print(f"  more: make demo CHAPTER={chapter}")
    print("  to try it yourself: make run")


def memory(graph: EntityClient, context: ContextClient, folder: Path) -> None:
    """Keep files and a conversation, and get both back."""
    files(graph, context, folder)
    session_id = conversation(graph)
    history(context, session_id)


def files(graph: EntityClient, context: ContextClient, folder: Path) -> None:
    """Keep two files in working memory, and find one of them through a node."""
    title("Working memory: files that survive the agent")
    binary = folder / "weights.bin"
    binary.write_bytes(random.Random(1).randbytes(BINARY_BYTES))  # noqa: S311 - made up, and the same each time

    with step(f"upload {binary.name}, {BINARY_BYTES:,} bytes"):
        uploaded = context.upload_blob(binary, memory_type="file", description="made by the demo")
    with step("upload README.md"):
        readme = context.upload_blob(ROOT / "README.md", memory_type="text/markdown")
    with step("store the working_memory_id in a node's data"):
        node = graph.create_node("Report", name="demo report", data={"working_memory_id": readme.working_memory_id})

    with step("find the file through the node, and read it back"):
        found = graph.get_node(node.id).data["working_memory_id"]
        copy = folder / "README.copy.md"
        context.download_blob(found, copy)
    show_sha256("README.md", ROOT / "README.md", copy)

    with step("read the binary back"):
        copy = folder / "weights.copy.bin"
        context.download_blob(uploaded.working_memory_id, copy)
    show_sha256(binary.name, binary, copy)


def conversation(graph: EntityClient) -> str:
    """Write a conversation into the graph, in one call, and return its node."""
    title("Entity graph: what happened, and how it hangs together")
    turns = [
        {"user_input": "Where did you put the report?", "assistant_output": "It is in working memory; here is its id."},
        {"user_input": "Is it the same file?", "assistant_output": "Yes: the checksums are equal."},
        {"role": "system", "content": "The session was archived."},
    ]
    with step(f"write a session of {len(turns)} turns in one call"):
        session = NodeInput("Session", name="support")
        nodes = [NodeInput("Turn", data=turn) for turn in turns]
        edges = [EdgeInput(session.id, node.id, "Contains") for node in nodes]
        graph.write_graph([session, *nodes], edges)
    return session.id


def history(context: ContextClient, session_id: str) -> None:
    """Print a chat history that is stored nowhere."""
    title("Chat history: read off the graph by the mapping simple_chat")
    with step("read it"):
        messages = context.chat_history(session_id)
    show(messages)


def mappings(graph: EntityClient, context: ContextClient, _folder: Path) -> None:
    """Register a mapping of our own: typed messages, answers below questions, placeholders left out."""
    title("A mapping of our own, in CEL")
    with step("write messages joined by Contains and InResponseTo"):
        session = NodeInput("Session")
        ask = NodeInput("EntityUserMessage", data={"content": "Summarise the report."})
        empty = NodeInput("EntityAssistantMessage", data={"content": ""}, status="Running")
        answer = NodeInput(
            "EntityAssistantMessage", data={"content": "It is short.", "model": "m-1"}, status="Completed"
        )
        edges = [
            EdgeInput(session.id, ask.id, "Contains"),
            EdgeInput(ask.id, empty.id, "InResponseTo"),
            EdgeInput(ask.id, answer.id, "InResponseTo"),
        ]
        graph.write_graph([session, ask, empty, answer], edges)
    with step("register the mapping, and again: the same rules are free"):
        for _ in range(2):
            context.register_mapping(
                "typed_chat",
                {
                    "edge_types": ["Contains", "InResponseTo"],
                    "depth_max": 3,
                    "entity_types": ["EntityUserMessage", "EntityAssistantMessage"],
                    "filter": "entity.data.content != ''",
                    "role_mapping": {"EntityUserMessage": "user", "EntityAssistantMessage": "assistant"},
                    "content_field": "content",
                },
                app_id="demo",
            )
    with step("read the history through it"):
        messages = context.chat_history(session.id, app_id="demo", mapping_name="typed_chat")
    show(messages)


def show(messages: Iterable[ChatMessage]) -> None:
    """Print messages as a person reads them."""
    for message in messages:
        print(f"    {message.role:>10}: {message.content}")


def show_sha256(name: str, original: Path, copy: Path) -> None:
    """Print both checksums, and stop if they differ."""
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (original, copy)]
    print(f"    sha256 of {name}\n      kept  {sums[0]}\n      read  {sums[1]}")
    if sums[0] != sums[1]:
        raise SystemExit(f"{name} did not come back as it was")


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}")


@contextmanager
def step(text: str) -> Iterator[None]:
    """Print what is done and what it took."""
    started = time.perf_counter()
    yield
    print(f"  {(time.perf_counter() - started) * 1000:7.1f} ms  {text}")


CHAPTERS = {"memory": memory, "mappings": mappings}  # the first is shown where none is asked for

if __name__ == "__main__":
    main()
