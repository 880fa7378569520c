"""The main job on real input, visibly: `make demo`.

Starts a Postgres and both services as processes of their own. The first chapter keeps files in working memory, finds
them through the entity graph, writes a conversation, and reads its chat history back. The others are shown when asked
for: `make demo CHAPTER=mappings`, or `all`. Everything is removed at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import providers
import psutil
from long_run import WINDOW_TOKENS, asked, report, taken_back, worked

from context_service.commands import dev
from context_service.settings import missing_local_packages
from contextkeep import (
    ArtifactInput,
    ChatMessage,
    ContextClient,
    ContextInput,
    EdgeInput,
    EntityClient,
    FileInput,
    ImportedArchive,
    McpTool,
    MessageInput,
    NodeInput,
    PartInput,
    RecalledItem,
    RecallFilter,
    new_id,
)
from contextkeep.errors import LegalHold, McpServerFailed, McpToolNotDeclared
from service_runtime.auth.keys import KeyAdministration, NewKey
from service_runtime.network.ports import free_port

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"  # that is kept as a file
BINARY_BYTES = 3 * 1024 * 1024
TALK_MESSAGES = 300
TOKENS_MAX = 1000
WINDOW_STEPS = 400
STAY_STEPS = 120
QUESTION = "Which complaint did she have when she came in?"
QUESTION_BY_MEANING = "What are her symptoms?"  # shares no word with the answer
LETTER = "Dear colleague, please examine her throat again in a week."
LETTER_QUESTION = "the letter to the colleague"
FINDING = "X-ray of the chest: no sign of pneumonia, the bronchi are inflamed."
THANKS = "Thanks, that's all for today!"
TWO_QUESTIONS = "What is the patient allergic to, and what does the x-ray of the chest show?"
ALLERGY_QUESTION = "What is the patient allergic to?"
NOTES = {
    "allergies.md": "The patient is allergic to penicillin.",
    "second visit.md": "The cough is better. X-ray of the chest: no finding.",
    "diet.md": "Drinks two litres a day. Likes oranges.",
}
HANDBOOK = "Patients who are allergic to penicillin get erythromycin, says the handbook."
TOOL_SERVER = "formulary"
WIKI_PAGE = "# Allergies\n\nPenicillin gives this patient a rash; erythromycin is tolerated.\n"
EAST = "east"
MOVING_BYTES_OF_TURN = 400
TURNS_BEFORE_MOVE = 2_000
PDF_QUESTION = "Is there pneumonia on the x-ray?"


def main() -> None:
    """Run the chapter that was chosen, or the first."""
    parser = argparse.ArgumentParser(description="The main job on real input.")
    parser.add_argument("--stay", action="store_true", help="keep running with the demo's data: `make run DEMO=1`")
    parser.add_argument("chapter", nargs="?", default=next(iter(CHAPTERS)), choices=[*ALL, "all"])
    arguments = parser.parse_args()
    if arguments.stay:
        stay()
        return
    result = arguments.chapter
    chapters = sorted(ALL, key=ALONE.__contains__) if result == "all" else [result]

    started, provider = time.perf_counter(), embedding_provider()
    for alone, some in groupby(chapters, lambda chapter: chapter if chapter in ALONE else ""):
        # Vectors of the other chapters' texts would occupy the machine for minutes.
        os.environ["EMBEDDING_PROVIDER"] = provider if alone == "recall" else "none"
        run(list(some))
    print(f"  {time.perf_counter() - started:.1f} s in all")
    for chapter in ALL:
        if chapter not in chapters:
            print(f"  more: make demo CHAPTER={chapter}")
    print("  to try it yourself: make run")


def embedding_provider() -> str:
    """Return what makes vectors: what the environment names, else the local model where it is installed."""
    if named := os.environ.get("EMBEDDING_PROVIDER"):
        return named
    if os.environ.get("EMBEDDING_URL"):
        return "openai"
    return "none" if missing_local_packages() else "local"


def run(chapters: Collection[str]) -> None:
    """Run chapters with services of their own, and leave no processes running."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        if "query" in chapters:
            install_providers(folder / "packages")
            os.environ.setdefault("MCP_PORT", str(free_port()))
            stack.enter_context(tool_server())
        others = [EAST] if "databases" in chapters else []
        with step("start Postgres (with pgvector), the Entity Service and the Context Service, a process each"):
            services = stack.enter_context(dev.stack(folder, keep=False, others=others))
        print(f"             Context Service {services.context_address}, Entity Service {services.entity_address}")
        with EntityClient(services.entity_address) as graph, ContextClient(services.context_address) as context:
            for chapter in chapters:
                if chapter in CHAPTERS:
                    CHAPTERS[chapter](graph, context, folder)
        for chapter in chapters:  # the last: once there are keys, calls without a key fail
            if chapter in WITH_KEYS:
                WITH_KEYS[chapter](services, folder)
        title("Clean up")
        with step("stop all of it"):
            stack.close()
    print(f"  {len(psutil.Process().children(recursive=True))} processes are still running")


def stay() -> None:
    """Run a stack with what the chapters write that need nothing else installed, until Ctrl-C."""

    def fill(services: dev.Stack) -> None:
        with (
            EntityClient(services.entity_address) as graph,
            ContextClient(services.context_address) as context,
            tempfile.TemporaryDirectory() as name,
        ):
            for chapter in (memory, mappings):
                chapter(graph, context, Path(name))
            title(f"A window of {WINDOW_TOKENS:,} tokens, and an agent that works for {STAY_STEPS} steps")
            with step("let it work"):
                worked(context, STAY_STEPS)

    os.environ.setdefault("EMBEDDING_PROVIDER", "none")
    dev.stay_up(fill)


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
        uploaded = context.blobs.upload(binary, memory_type="file", description="made by the demo")
    # No page that shows the examples: `examples/find.py` has to find its own file first.
    with step(f"upload {PAGE.name}"):
        page = context.blobs.upload(PAGE, memory_type="text/markdown")
    with step("store the working_memory_id in a node's data"):
        node = graph.graph.create_node("Report", name="demo report", data={"working_memory_id": page.working_memory_id})

    with step("find the file through the node, and read it back"):
        result = graph.graph.get_node(node.id).data["working_memory_id"]
        copy = folder / "copy.md"
        context.blobs.download(result, copy)
    show_sha256(PAGE.name, PAGE, copy)

    with step("read the binary back"):
        copy = folder / "weights.copy.bin"
        context.blobs.download(uploaded.working_memory_id, copy)
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
        graph.graph.write([session, *nodes], edges)
    return session.id


def history(context: ContextClient, session_id: str) -> None:
    """Print a chat history that is stored nowhere."""
    title("Chat history: read off the graph by the mapping simple_chat")
    with step("read it"):
        messages = context.history.stream(session_id)
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
        graph.graph.write([session, ask, empty, answer], edges)
    with step("register the mapping, and again: the same rules are free"):
        for _ in range(2):
            context.mappings.register(
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
        messages = context.history.stream(session.id, app_id="demo", mapping_name="typed_chat")
    show(messages)
    agents_at_once(graph, context)


def agents_at_once(graph: EntityClient, context: ContextClient) -> None:
    """Write two sub-agents that work at the same time and an answer that another replaces; read them through groups."""
    title("Agents at the same time, and an answer that another replaces")
    rules = {
        "filter": "has(entity.data.says) && !edges.exists(e, e.type == 'Replaces' && e.direction == 'in')",
        "messages": [
            {
                "role": "'assistant'",
                "content": "entity.data.says",
                "name": "size(path) > 1 ? path[0].node.name : 'lead'",
            }
        ],
        "group_by": "size(path) > 1 ? path[0].node.id : ''",
    }
    context.mappings.register("agents", rules, app_id="demo")
    with step("write their notes, which mix in time"):
        run = NodeInput("Run")
        agents = [NodeInput("SubAgent", name="north"), NodeInput("SubAgent", name="south")]
        notes = [
            NodeInput("Note", data={"says": text})
            for text in ("80 for the pump.", "95 for the pump.", "Freight is extra.", "Freight is included.")
        ]
        total = NodeInput("Note", data={"says": "South is cheaper, with freight."})
        north, south = agents
        graph.graph.write(
            [run, *agents, *notes, total],
            [
                *(EdgeInput(run.id, node.id, "Contains") for node in (north, south, total)),
                *(
                    EdgeInput(agent.id, note.id, "Contains")
                    for agent, note in zip((north, south) * 2, notes, strict=True)
                ),
            ],
        )
        corrected = NodeInput("Note", data={"says": "88 for the pump: the price was an old one."})
        graph.graph.write(
            [corrected],
            [EdgeInput(south.id, corrected.id, "Contains"), EdgeInput(corrected.id, notes[1].id, "Replaces")],
        )
    with step("read them: each agent's notes together, without the replaced one"):
        messages = context.history.stream(run.id, app_id="demo", mapping_name="agents")
    for message in messages:
        print(f"    {message.name:>10}: {message.content}")


def recall(_graph: EntityClient, context: ContextClient, _folder: Path) -> None:
    """Ask for a message from 300 messages ago, here and in another conversation."""
    title("Recall: what matters of a long conversation, and nothing of another")
    with step("a first message begins a context"):
        visit = context.contexts.send("Good morning, this is the front desk.", context=ContextInput(title="visit"))
    admission = {"patient": "Ada", "complaint": "a cough since Monday, worse at night", "temperature_c": 38.2}
    with step("send a structured record, as a data part"):
        context.contexts.send(MessageInput(parts=[PartInput(data=admission)]), visit.context_id)
    with step("send a PDF, by a part that points at its record"):
        scan = context.blobs.upload(pdf(FINDING), name="x-ray.pdf")
        shown = MessageInput("Here is the picture.", parts=[PartInput(working_memory_id=scan.working_memory_id)])
        context.contexts.send(shown, visit.context_id)
    put_letter(context, visit.context_id)
    with step(f"talk of other things, {TALK_MESSAGES} messages long"):
        context.contexts.append(talk(TALK_MESSAGES), visit.context_id)

    if os.environ.get("EMBEDDING_PROVIDER") == "local":
        question = QUESTION_BY_MEANING
        print("    with the local model: by words and by meaning")
        with step("wait for the vectors, which are computed after the messages are stored"):
            context.contexts.wait_for_index(visit.context_id, wait_s=120)
    else:
        question = QUESTION
        print("    by words alone; for meaning: pip install './clients/python' '.[local-embedding]'")
    with step(f"ask {question!r}, for 3 passages within {TOKENS_MAX:,} tokens"):
        recalled = context.contexts.recall(
            visit.context_id, question, tokens_max=TOKENS_MAX, items_max=3, with_features=True
        )
    for item in recalled.items:
        show_recalled(item)
    print(f"    {recalled.left_out_count} others left out; {recalled.tokens} of {TOKENS_MAX:,} tokens, for a prompt:")
    print("".join(f"      {line}\n" for line in recalled.prompt_text.splitlines()), end="")
    if not recalled.items or admission["complaint"] not in recalled.items[0].text:
        raise SystemExit("the complaint was not recalled")

    with step("wait for the text of the PDF, which is parsed after its message is stored"):
        index = context.contexts.wait_for_index(visit.context_id)
    with step(f"ask {PDF_QUESTION!r}"):
        results = context.contexts.recall(visit.context_id, PDF_QUESTION, items_max=1, with_features=True)
    for item in results.items:
        show_recalled(item)
    if not index.is_complete or FINDING not in results.prompt_text:
        raise SystemExit("what the PDF says was not recalled")

    ask_more(context, visit.context_id)
    with step("ask the same in a second context"):
        other = context.contexts.send("Good morning, this is the laboratory.", context=ContextInput(title="laboratory"))
        context.contexts.wait_for_index(other.context_id)
        elsewhere = context.contexts.recall(other.context_id, question, tokens_max=TOKENS_MAX)
    print(f"    {len(elsewhere.items)} passages")
    with step("send a standalone message"):
        context.contexts.send(question, standalone=True)
    contexts = [entry.title for entry in context.contexts.list()]
    print(f"    the contexts that there are: {', '.join(contexts)}")
    if elsewhere.items or sorted(contexts) != ["laboratory", "visit"]:
        raise SystemExit("a context has a passage of another one")
    delete(context, visit.context_id)


def say_thanks(context: ContextClient, context_id: str) -> None:
    """Show that a message which nothing answers recalls nothing."""
    with step(f"say {THANKS!r}, which nothing answers"):
        nothing = context.contexts.recall(context_id, THANKS)
    print(f"    {len(nothing.items)} passages: {nothing.irrelevant_count} have too little to do with it")
    if nothing.items:
        raise SystemExit("thanks recalled a passage")


def delete(context: ContextClient, context_id: str) -> None:
    """Delete a context for good, and print the receipt."""
    with step("delete the first context for good"):
        receipt = context.contexts.delete(context_id, now=True)
        while receipt.state == "running":
            time.sleep(0.05)
            receipt = context.contexts.get_erasure(receipt.erasure_id)
    print(f"    receipt {receipt.erasure_id}, {receipt.state}")
    print(
        f"    removed: {receipt.messages_removed} messages, {receipt.passages_removed} passages, "
        f"{receipt.vectors_removed} vectors, {receipt.tasks_removed} task, {receipt.artifacts_removed} artifact"
    )
    if receipt.messages_removed != receipt.message_count or [item.title for item in context.contexts.list()] != [
        "laboratory"
    ]:
        raise SystemExit("some deleted data is still there")


def portability(services: dev.Stack, folder: Path) -> None:
    """Export a context and a user from one tenant, import them into another, and erase the user in the first."""
    title("Portability: from one tenant into another, and forgotten")
    keys = KeyAdministration(services.postgres.admin_url)
    keys.add_tenant("elsewhere")
    scopes = ["read", "write", "admin", "delegate"]
    here, there = (
        ContextClient(services.context_address, api_key=keys.create(NewKey(tenant=name, subject="demo", scopes=scopes)))
        for name in ("default", "elsewhere")
    )
    with here, there:
        with step("write a conversation that points at a file, and remember something of the user"):
            picture = hashlib.sha256(b"x-ray").digest() * 32_768
            record = here.blobs.upload(picture, name="x-ray.bin")
            begun = here.contexts.send(
                MessageInput("Here is the x-ray.", parts=[PartInput(working_memory_id=record.working_memory_id)]),
                subject_user_id="ada",
            )
            items = [MessageInput(f"Line {n} of the visit.", role="assistant") for n in range(TALK_MESSAGES)]
            here.contexts.append(items, begun.context_id, subject_user_id="ada")
            here.memories.retain("Ada is allergic to penicillin.", subject_user_id="ada")
        for name, scope in (("context", {"context_id": begun.context_id}), ("user", {"user_id": "ada"})):
            path = folder / f"{name}.archive"
            with step(f"take the {name} out, and put it in elsewhere, twice"):
                done = here.archives.export(path, **scope)
                met = [there.archives.import_archive(path) for _ in range(2)]
            print(f"    {done.size_bytes:,} bytes; {_met(met[0])}; again: {_met(met[1])}")
            if sum(row.conflicts for item in met for row in item.rows) or sum(row.written for row in met[1].rows):
                raise SystemExit("an import wrote rows twice that existed")
        histories = [
            [
                (message.seq, message.content, message.created_at)
                for message in client.contexts.list_messages(begun.context_id, subject_user_id="ada")
            ]
            for client in (here, there)
        ]
        result = next(iter(there.memories.recall("What is Ada allergic to?", subject_user_id="ada")))
        print(f"    elsewhere: {len(histories[1])} messages, with their places and times; {result.memory.text!r}")
        there.blobs.download(record.working_memory_id, folder / "x-ray.bin")
        if histories[0] != histories[1] or (folder / "x-ray.bin").read_bytes() != picture:
            raise SystemExit("what came elsewhere is not what left")
        erased(here, "ada")


def erased(context: ContextClient, user: str) -> None:
    """Put a hold on a user, release it, and erase the user."""
    hold = context.holds.put("case 4711", subject=user)
    try:
        context.erasures.erase(user)
    except LegalHold as held:
        print(f"    {user} is not erased: {held.reason}")
    context.holds.release(hold.hold_id)
    with step(f"erase {user} here, in both services"):
        receipt = context.erasures.erase(user)
        while receipt.state != "finished":
            time.sleep(0.1)
            receipt = context.erasures.get(receipt.erasure_id)
    print(f"    receipt {receipt.erasure_id}: {sum(receipt.removed.values()):,} removed; now there is", end=" ")
    left = context.erasures.plan(user).counts
    print(left or "nothing")
    if left:
        raise SystemExit("something of an erased user is left")


def databases(services: dev.Stack, _folder: Path) -> None:
    """Move a tenant to another database while an agent of it writes."""
    title("Databases: a tenant moves, and its agent writes on")
    keys = KeyAdministration(services.postgres.admin_url)
    keys.add_tenant("acme")
    key = keys.create(NewKey(tenant="acme", subject="demo", scopes=["read", "write"]))
    stopping, longest_s = threading.Event(), 0.0
    text = "x" * MOVING_BYTES_OF_TURN
    with EntityClient(services.entity_address, api_key=key) as graph:
        session = graph.graph.create_node("Session", name="a long one").id
        with step(f"write {TURNS_BEFORE_MOVE:,} messages of acme, at home"):
            for start in range(0, TURNS_BEFORE_MOVE, 500):
                nodes = [NodeInput("Message", data={"text": text}) for _ in range(min(500, TURNS_BEFORE_MOVE - start))]
                graph.graph.write(nodes, [EdgeInput(session, node.id, "HAS_MESSAGE") for node in nodes])
        written = TURNS_BEFORE_MOVE

        def write() -> None:
            nonlocal written, longest_s
            while not stopping.is_set():
                began = time.perf_counter()
                graph.graph.append_message(session, "user", text)
                written += 1
                longest_s = max(longest_s, time.perf_counter() - began)

        writing = threading.Thread(target=write)
        writing.start()
        with step("move acme to east, while the agent writes message after message"):
            item = operate(services, "tenants", "move", "acme", "--to", EAST)
        time.sleep(0.3)
        stopping.set()
        writing.join()
        result = sum(1 for _ in graph.graph.list_edges(session))
    print(f"    {item}; the longest write took {longest_s:.1f} s")
    meanwhile = written - TURNS_BEFORE_MOVE
    print(f"    {written:,} messages were acknowledged, {meanwhile:,} of them meanwhile; {result:,} are there")
    rows = map(json.loads, operate(services, "tenants", "list", "--json").splitlines())
    lives = {row["name"]: row["database"] or "home" for row in rows}
    print(f"    acme lives in {lives['acme']}, default in {lives['default']}")
    if result != written or lives["acme"] != EAST:
        raise SystemExit("the move lost something")


def operate(services: dev.Stack, *words: str) -> str:
    """Return what a command of an operator prints."""
    command = [sys.executable, "-m", "context_service", *words]
    environment = {**os.environ, **services.environment}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def _met(done: ImportedArchive) -> str:
    written, present = (sum(getattr(row, what) for row in done.rows) for what in ("written", "present"))
    return f"{written} rows written, {present} present"


def windows(_graph: EntityClient, context: ContextClient, _folder: Path) -> None:
    """Let an agent work for a long time while its model sees little, and ask for something that it saw long ago."""
    title(f"Windows: {WINDOW_STEPS:,} steps of an agent through a window of {WINDOW_TOKENS:,} tokens")
    with step("read, grep, edit and test the Python library's own files; a prompt after each step"):
        done = worked(context, WINDOW_STEPS)
    print("".join(f"    {line}\n" for line in (*done.first_fold, "", *report(done))), end="")
    with step("ask at the end"):
        answers = list(asked(context, done))
    print("".join(f"    {line}\n" for line in answers), end="")
    with step("lead it astray, and take that back"):
        lines = list(taken_back(context, done))
    print("".join(f"    {line}\n" for line in lines), end="")
    with step("say something in anger, a value and a rule, and read the state"):
        talk = context.contexts.send("You must not be in your right mind, it was my birthday!").context_id
        context.contexts.send("Take 15 °C as the heating limit. Never heat the hall.", talk)
        window = context.windows.open(talk, "gpt-5")
        window.pack()
        entries = window.get_state(["constraint", "value"])
    print("".join(f"    {entry.section}: {entry.text}\n" for entry in entries), end="")
    with step("show a picture, and pack it for the model"):
        gauge = FileInput(data=png(320, 200), name="gauge.png", alt="the gauge of the boiler")
        context.contexts.send(MessageInput("What does it show?", parts=[PartInput(file=gauge)]), talk)
        pack = window.pack()
        block = pack.body["messages"][-1]["content"][-1]
    print(f"    gauge.png, 320 x 200, is a block {block['type']!r} for the model: {block['image_url']['url'][:40]}…")
    if block["type"] != "image_url":
        raise SystemExit("the model would not see the picture")
    if not done.folded_at or len(entries) != 2:
        raise SystemExit("nothing was left out, or the state has an entry too many")


def put_letter(context: ContextClient, context_id: str) -> None:
    """Let a task make an artifact."""
    with step("put what a task made: an artifact"):
        task = context.tasks.create(context_id, state="working")
        context.artifacts.put(task.task_id, ArtifactInput([PartInput(text=LETTER)], name="letter"), last_chunk=True)
        context.tasks.update(task.task_id, state="completed")


def ask_more(context: ContextClient, context_id: str) -> None:
    """Ask for a value that changed, for an identifier, for a letter, and for nothing."""
    move_ward(context, context_id)
    find_letter(context, context_id)
    say_thanks(context, context_id)


def move_ward(context: ContextClient, context_id: str) -> None:
    """State a value, state it again with another one, and show that the newer statement comes first."""
    context.contexts.send("RX-4410 holds Ada's blood count.", context_id)
    context.contexts.send("The ward of the patient is W3.", context_id)
    context.contexts.send("They moved her, the ward of the patient is now W7.", context_id)
    with step("search for the ward of the patient, which two messages name"):
        items = context.contexts.search(context_id, "What is the ward of the patient?", limit=2)
    for item in items:
        print(f"    {item.ref} {item.text}" + (f" (superseded by {item.superseded_by})" if item.superseded_by else ""))
    if not items or "W7" not in items[0].text:
        raise SystemExit("the older ward came first")
    with step("ask 'What is RX-4410?', an identifier"):
        (item, *_) = context.contexts.recall(context_id, "What is RX-4410?", items_max=1).items
    print(f"    {item.ref} {item.text}")


def find_letter(context: ContextClient, context_id: str) -> None:
    """Find it again."""
    with step(f"ask {LETTER_QUESTION!r}, about the artifacts of tasks"):
        results = context.contexts.search(context_id, LETTER_QUESTION, filter=RecallFilter(kinds=["artifact"]))
    print(f"    [{results[0].ref}] {results[0].kind} of a task: {results[0].text}" if results else "    nothing")
    if not results or results[0].text != LETTER:
        raise SystemExit("the artifact was not found")


def pdf(text: str) -> bytes:
    """Return a PDF of one page with a line on it."""
    line = f"BT /F 12 Tf 40 700 Td ({text}) Tj ET"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        f"<< /Length {len(line)} >>\nstream\n{line}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    written, places = "%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{item}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return f"{written}{end}startxref\n{len(written)}\n%%EOF\n".encode()


def png(width: int, height: int) -> bytes:
    """Return a grey picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)

    head = width.to_bytes(4) + height.to_bytes(4) + bytes([8, 0, 0, 0, 0])
    rows = zlib.compress((b"\0" + b"\x80" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def query(graph: EntityClient, context: ContextClient, folder: Path) -> None:
    """Ask files, a conversation and installed providers one question, over gRPC and over MCP."""
    title("Context query: one question, every source, nothing hidden")
    node = graph.graph.create_node("Patient", name="Ada")
    for name, text in NOTES.items():
        context.records.insert("text/markdown", name, content_text=text, entity_node_id=node.id)
    context_id = context.contexts.send(MessageInput("I am allergic to penicillin, please write it down.")).context_id
    nurse_id = str(new_id())
    with step("store facts about a user: two memories, and a wiki page that cites one"):
        known = context.memories.retain(
            "For allergic patients I note what they got instead of penicillin.", subject_user_id=nurse_id
        )
        context.memories.retain(
            "Ward round on Mondays at eight.", key="round", kind="preference", subject_user_id=nurse_id
        )
        context.pages.put("Allergies", WIKI_PAGE, memory_ids=[known.memory_id], subject_user_id=nurse_id)
    put_handbook(context)
    approve_tool(context)
    with step("which sources are there?"):
        listed = context.query.list_providers()
    print("   ", ", ".join(f"{item.provider_id}{' (installed)' * item.is_installed}" for item in listed))

    with step(f"ask {ALLERGY_QUESTION!r}, by gRPC"):
        result = context.query.ask(
            ALLERGY_QUESTION, mode="answer", context_ids=[context_id], limit=6, subject_user_id=nurse_id
        )
    for hit in result.hits:
        sources = " and ".join(source.ref.partition("/")[0][:30] for source in hit.sources)
        print(f"    {hit.rank}. {hit.score:.2f} {hit.snippet}\n            from {sources}")
    width = max(len(status.provider_id) for status in result.providers)
    print(f"\n    {'provider':<{width}} state    hits     ms  why")
    for status in result.providers:
        row = f"{status.provider_id:<{width}} {status.state:<8} {status.hit_count:>4} {status.duration_ms:>6}"
        print(f"    {row}  {status.reason}")
    states = {provider.provider_id: provider.state for provider in result.providers}
    tool = next(state for provider_id, state in states.items() if provider_id.startswith(f"mcp-{TOOL_SERVER}-"))
    if (states["crm"], states["archive"], states["knowledge-base"], tool) != ("error", "timeout", "ok", "ok"):
        raise SystemExit("a source is not as it should be")
    families = {source.family for hit in result.hits for source in hit.sources}
    if not {"knowledge-base", "mcp"} <= families or "penicillin" not in result.hits[0].snippet:
        raise SystemExit("a source is not as it should be")

    with step("the same by MCP, at /mcp/query"):
        over_mcp = ask_mcp(ALLERGY_QUESTION, context_id, nurse_id)
    for line in over_mcp["content"][0]["text"].splitlines()[-len(result.providers) :]:
        print(f"    {line}")
    if [item["ref"] for item in over_mcp["structuredContent"]["hits"]] != [hit.ref for hit in result.hits]:
        raise SystemExit("MCP answers otherwise than gRPC")
    harness(context, context_id, nurse_id)
    with step(f"two questions in one, in depth: {TWO_QUESTIONS!r}"):
        result = context.query.ask(TWO_QUESTIONS, depth="deep", provider_ids=["workspace"], limit=2)
    for hit in result.hits:
        print(f"    for {' and '.join(repr(result.parts[number - 1]) for number in hit.part_numbers)}: {hit.snippet}")
    know(context, nurse_id)
    ask_specialist(context, node.id)
    compiled(graph, context)


def know(context: ContextClient, user_id: str) -> None:
    """Say where a user lives, twice, and ask where they live, and where they lived."""
    with step("a user moves: a new statement ends the old one"):
        for text in ("I live in Bergen.", "I moved from Bergen to Oslo in May."):
            context.memories.retain(text, subject_user_id=user_id)
        now = context.memories.reflect("Where does the user live?", subject_user_id=user_id)
        homes = [memory for memory in context.memories.list(subject_user_id=user_id) if "Bergen" in memory.text]
    print(f"    now: {now.statement.strip().splitlines()[0]}")
    for memory in homes:
        print(f"    {memory.text} until {memory.valid_to:%d %B %Y}" if memory.valid_to else f"    {memory.text}")
    if "Oslo" not in now.statement or not any(memory.valid_to for memory in homes):
        raise SystemExit("the old home still holds")


CUSTOMERS = {
    "node_type": "Customer",
    "title": "entity.name",
    "facets": [
        {"slug": "state", "heading": "State", "kind": "operational", "text": "entity.data.state"},
        {
            "slug": "open",
            "heading": "Open opportunities",
            "kind": "relationship",
            "walk": {"edge_types": ["Has"], "depth_max": 1},
            "text": "entity.name + ', ' + string(entity.data.amount) + ' EUR'",
        },
        {
            "slug": "owed",
            "heading": "What we owe them",
            "kind": "activity",
            "walk": {"edge_types": ["Has"], "depth_max": 2, "entity_types": ["Commitment"]},
            "text": "entity.name + ' until ' + entity.data.due",
        },
    ],
}
LAMPS_QUESTION = "Until when do we owe whom lighthouse lamps?"


def compiled(graph: EntityClient, context: ContextClient) -> None:
    """Compile pages of customers, and ask them."""
    with step("customers, opportunities and commitments, as nodes"):
        for name, state in (("Orrery Ltd", "Pays late."), ("Zeta SpA", "Pays in advance.")):
            customer = graph.graph.create_node("Customer", name=name, data={"state": state})
            opportunity = graph.graph.create_node("Opportunity", name=f"Renewal of {name}", data={"amount": 12_000})
            graph.graph.create_edge(customer.id, opportunity.id, "Has")
        owed = graph.graph.create_node("Commitment", name="Deliver the lighthouse lamps", data={"due": "May"})
        graph.graph.create_edge(opportunity.id, owed.id, "Has")
    with step("a definition of their pages: a draft, then approved"):
        draft = context.definitions.put("customers", CUSTOMERS)
        context.definitions.approve("customers", draft.version)
    with step("compile them"):
        *_, done = context.compiled_pages.compile()
    print(f"    {done.nodes_read} nodes read, {done.pages_written} pages written")
    graph.graph.update_node_data(owed.id, {"due": "June"})
    with step("one commitment changes: compile again"):
        *_, done = context.compiled_pages.compile()
    print(f"    {done.nodes_read} node read, {done.pages_written} page written")
    with step(f"ask {LAMPS_QUESTION!r}"):
        hit = context.query.ask(LAMPS_QUESTION, limit=3).hits[0]
    print(f"    {hit.title}: {hit.snippet}  (trust {hit.trust}, version {hit.metadata['definition_version']})")
    if "until June" not in hit.snippet or hit.family != "brain":
        raise SystemExit("the page of the customer is not found")


def ask_specialist(context: ContextClient, node_id: str) -> None:
    """Put a specialist of the patient's folder, and ask it two things at once."""
    with step("a specialist of the patient's folder, which is searched for each part of a question"):
        ward = context.specialists.put("ward", node_ids=[node_id], display_name="The patient's notes")
        result = context.query.ask(TWO_QUESTIONS, provider_ids=[ward.provider_id])
    (status,) = result.providers
    print(f"    {status.target}, by {status.mode}")
    for hit in result.hits[:2]:
        print(f"    {hit.title}: {hit.snippet}  (by {hit.metadata['asked'][:30]!r}...)")
    if not {NOTES["allergies.md"], NOTES["second visit.md"]} <= {hit.snippet for hit in result.hits}:
        raise SystemExit("the specialist has not found both")


def harness(context: ContextClient, context_id: str, user_id: str) -> None:
    """Run the query again as an operator does, and show the stored answer."""
    values: dict[str, Any] = {"context_ids": [context_id], "limit": 6, "subject_user_id": user_id}
    with step("an operator asks it by the harness, which keeps all of it: memories as one statement, then each"):
        test = context.source_tests.run(ALLERGY_QUESTION, label="allergies", memory_mode="reflect", **values)
        other = context.source_tests.run(ALLERGY_QUESTION, label="allergies, each", memory_mode="recall", **values)
    kept = context.source_tests.get(test.test_id)
    if kept.answer is None or kept.answer != test.answer:
        raise SystemExit("the stored answer differs from the answer")
    shown = {hit.ref: f"shown at {hit.rank}" for hit in kept.answer.hits}
    for provider_id, hits in kept.answer.explained.items():
        print(f"    {provider_id}, before merging")
        for hit in hits:
            own = "" if hit.own_score is None else f", by itself {hit.own_score:.2f}"
            where = shown.get(hit.shown_in, "after the limit")
            is_merged = hit.shown_in not in ("", hit.ref)
            print(f"      {hit.score:.2f}{own}  {hit.title}: {f'merged, {where}' if is_merged else where}")
    with step("compare the two, and replay the first"):
        compared = context.source_tests.compare(test.test_id, other.test_id)
        again = context.source_tests.replay(test.test_id)
    for moved in compared.hits:
        if moved.rank != moved.other_rank:
            print(f"    {moved.title}: rank {moved.rank or 'none'} -> {moved.other_rank or 'none'}")
    if again.answer is None or [hit.ref for hit in again.answer.hits] != [hit.ref for hit in kept.answer.hits]:
        raise SystemExit("the replay answers otherwise")
    for listed in context.source_tests.list():
        print(f"    kept: {listed.label}, {listed.hit_count} hits{', a replay' * bool(listed.replay_of)}")


def put_handbook(context: ContextClient) -> None:
    """Create a knowledge base for all users, with a PDF, and wait until it is indexed."""
    with step("create a knowledge base for all users, with a PDF, which a process without access to files parses"):
        context.knowledge_bases.put("handbook", is_of_tenant=True)
        context.knowledge_bases.add_document("handbook", pdf(HANDBOOK), name="handbook.pdf")
        while (document := next(iter(context.knowledge_bases.list_documents("handbook")))).state in (
            "queued",
            "parsing",
        ):
            time.sleep(0.05)
    print(f"    {document.name}: {document.state}, {document.passage_count} passage")


@contextmanager
def tool_server() -> Iterator[None]:
    """Run the MCP server of `examples/tool_server.py` for the block, at an address that the service may connect to."""
    port = os.environ["DEMO_TOOLS_PORT"] = str(free_port())
    os.environ["MCP_SERVERS_ALLOWED"] = json.dumps([f"127.0.0.1:{port}"])
    with subprocess.Popen([sys.executable, str(ROOT / "examples/tool_server.py"), port]) as server:
        try:
            yield
        finally:
            server.terminate()


def approve_tool(context: ContextClient) -> None:
    """Approve one of the two tools of an MCP server; the other one does not declare that it only reads."""
    with step("discover the tools of an external MCP server, and approve those that only read"):
        context.mcp_servers.put(TOOL_SERVER, f"http://127.0.0.1:{os.environ['DEMO_TOOLS_PORT']}/mcp")
        for tool in discovered(context):
            try:
                context.mcp_servers.approve_tool(TOOL_SERVER, tool.tool_name, is_default=True)
            except McpToolNotDeclared as error:
                print(f"    {tool.tool_name}: refused, {error.message}")
    for tool in context.mcp_servers.list_tools(server_id=TOOL_SERVER):
        print(f"    {tool.tool_name}: {tool.state}")


def discovered(context: ContextClient) -> Sequence[McpTool]:
    """Return the tools of the server, once it is up."""
    for _ in range(200):
        try:
            return context.mcp_servers.discover_tools(TOOL_SERVER)
        except McpServerFailed:
            time.sleep(0.1)
    raise SystemExit("the MCP server does not start")


def install_providers(folder: Path) -> None:
    """Install the providers of `examples/providers.py`, as a package does: by its entry points."""
    metadata = folder / "demo_providers-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: demo-providers\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(providers.ENTRY_POINTS)
    paths = [str(folder), str(ROOT / "examples"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


def ask_mcp(question: str, context_id: str, user_id: str) -> dict[str, Any]:
    """Call the tool `query_context`, and return its result."""
    arguments = {"query": question, "mode": "answer", "context_ids": [context_id], "limit": 6}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "query_context", "arguments": arguments},
    }
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    headers |= {"x-subject-user-id": user_id, "authorization": f"Bearer {os.environ[dev.KEY_VARIABLE]}"}
    url = f"http://127.0.0.1:{os.environ['MCP_PORT']}/mcp/query"
    request = urllib.request.Request(url, json.dumps(call).encode(), headers)
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        result: dict[str, Any] = json.load(answer)["result"]
    return result


def talk(count: int) -> list[MessageInput]:
    """Return messages about this and that, the same each time."""
    choose = random.Random(1).choice  # noqa: S311
    who = ("The gardener", "My neighbour", "The new colleague", "A friend of mine", "The night train")
    does = ("talked about", "came back for", "forgot", "asked me for", "painted", "was looking for")
    what = ("a bicycle", "two tickets", "the blue lamp", "the minutes of the meeting", "an old map", "fresh bread")
    then = ("again.", "in the rain.", "before lunch.", "and it went unnoticed.", "as every week.", "by mistake.")
    return [
        MessageInput(
            f"{choose(who)} {choose(does)} {choose(what)} {choose(then)}", role="assistant" if n % 2 else "user"
        )
        for n in range(count)
    ]


def show_recalled(item: RecalledItem) -> None:
    """Print a passage, and what its score is made of."""
    shares = " + ".join(f"{share:.2f} {name}" for name, share in sorted(item.features.items()) if share)
    print(f"    [{item.ref}] {item.role}, {item.kind}: {' '.join(item.text.split())}")
    print(f"           score {item.score:.2f} = {shares}")


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
    """Print the name of a step and its duration."""
    started = time.perf_counter()
    yield
    print(f"  {(time.perf_counter() - started) * 1000:7.1f} ms  {text}")


# The first chapter is the default.
CHAPTERS = {"memory": memory, "mappings": mappings, "windows": windows, "query": query, "recall": recall}
WITH_KEYS = {"portability": portability, "databases": databases}
ALL = [*CHAPTERS, *WITH_KEYS]
ALONE = {"recall", "databases"}  # with services of their own

if __name__ == "__main__":
    main()
