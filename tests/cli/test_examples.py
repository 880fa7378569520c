"""The examples of the helps and of docs/cli.md do what they say, against both services.

A line is run as it is printed; only ids are put in.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from string import Template

import pytest
import yaml

from contextkeep import (
    ArtifactInput,
    ContextClient,
    ContextInput,
    EdgeInput,
    EntityClient,
    ExternalId,
    MessageInput,
    NodeInput,
    PartInput,
    ToolCallInput,
    ToolResultInput,
)
from contextkeep.cli.commands import contextkeep
from tests.cli.conftest import Run
from tests.cli.test_help import examples, paths
from tests.conftest import KEY, Addresses
from tests.fakes.mcp_server import FakeMcp, fake_mcp

ARCHIVE = Path(__file__).parents[1] / "context_service" / "transfer" / "archives" / "0.1.0.archive"
DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
MAPPINGS = """
app_id: shop
mappings:
  my_mapping: {role_mapping: {Turn: user}, content_field: user_input}
  tickets: {messages: [{when: has(entity.data.question), role: "'user'", content: entity.data.question}]}
"""

DEFINITIONS = """
definitions:
  customers:
    node_type: Session
    title: entity.name
    facets: [{slug: language, heading: Language, kind: operational, text: entity.data.language}]
"""

READING = re.compile(
    r"contextkeep (audit|history|operator|query|search|usage"
    r"|(\w+ )+(blobs|connected|diff|documents|erasure|export|find|get|holds|list|log|manifest"
    r"|messages|plan|policy|query|tests|recall|reflect|search|show|similar|stats|tools|types|wait|watch)"
    r"|wiki versions|window (checkpoints|cost|expand|explain|lineage|profiles|state))\b"
)

# What takes nothing away of which another example speaks.
ADDING = re.compile(
    r"contextkeep (agent put|agent template put|context (append|artifact|key|message|send|sync|task create)|export"
    r"|graph|import|kb (add|put)|key create|mapping|memory retain|message|node create|sources (compare|replay|set|test)"
    r"|wiki put|window (checkpoint|fork|open|pack|pin|profile put)|wm (put|record))\b"
)

# One runs until it is told to stop (tests/console), the other needs a framework (tests/adapters).
SERVING = re.compile(r"contextkeep (console\b|import --from)")

of_helps = [(" ".join(path), line) for path in paths(contextkeep) for line in examples(path) if not SERVING.match(line)]
of_docs = [
    line
    for block in re.findall(r"```sh\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    for line in block.splitlines()
    if "contextkeep " in line
]


@pytest.fixture(scope="module")
def clients(stack: Addresses) -> Iterator[tuple[EntityClient, ContextClient]]:
    """Both clients; the mappings of the files are registered."""
    content = yaml.safe_load(MAPPINGS)
    with (
        EntityClient(stack.entity, api_key=KEY) as graph,
        ContextClient(stack.context, api_key=KEY, app_id=content["app_id"]) as context,
    ):
        for name, rules in content["mappings"].items():
            context.mappings.register(name, rules)
        yield graph, context


def looked(number: int) -> list[MessageInput]:
    """Return a step of an agent that sees much: what a fold is for."""
    rows = "\n".join(f"row {row} of a listing of ports" for row in range(200))
    call = PartInput(tool_call=ToolCallInput(id=f"c{number}", name="look", arguments={}))
    result = PartInput(tool_result=ToolResultInput(tool_call_id=f"c{number}", content=rows))
    says = "" if number else "Always say which port it is."
    return [
        *([MessageInput(says)] if says else []),
        MessageInput(role="assistant", parts=[call]),
        MessageInput(role="tool", parts=[result]),
    ]


@pytest.fixture
def ids(line: str, request: pytest.FixtureRequest, folder: None) -> dict[str, str]:
    """What an example speaks of: of its own, or, where it only reads or adds, of all that do."""
    if READING.search(line) or ADDING.search(line):
        shared: dict[str, str] = request.getfixturevalue("to_read" if READING.search(line) else "to_add_to")
        return shared
    graph, context = request.getfixturevalue("clients")
    (room,) = re.findall(r"contextkeep (\w+)", line)
    made = written(graph, context, room)
    if " commit " in line:
        context.windows.prepare_fold(made["WINDOW"])
    if " merge " in line:
        made["WINDOW"] = made["FORK"] = context.windows.fork(made["WINDOW"], "Where is it?").window.window_id
    if line.startswith("contextkeep mcp ") or "| contextkeep mcp " in line:
        tickets: FakeMcp = request.getfixturevalue("tickets")
        for name in ("tickets", "old"):
            context.mcp_servers.put(name, tickets.url, clear_secret=True)
        context.mcp_servers.discover_tools("tickets")
    if line.startswith("contextkeep erasure "):
        made |= erased(context)
    if line.startswith("contextkeep key revoke "):
        made["PREFIX"] = context.keys.create("an agent", ["read"]).prefix
    return made


@pytest.fixture(scope="module")
def tickets() -> Iterator[FakeMcp]:
    with fake_mcp() as fake:
        yield fake


@pytest.fixture(scope="module")
def to_read(clients: tuple[EntityClient, ContextClient]) -> dict[str, str]:
    return {**written(*clients), **erased(clients[1])}


def erased(context: ContextClient) -> dict[str, str]:
    """Erase a user, hold another one, and return the ids."""
    label = uuid.uuid4().hex
    return {
        "ERASURE_OF_SUBJECT": context.erasures.erase(f"gone {label}").erasure_id,
        "HOLD": context.holds.put("a lawsuit", subject=f"held {label}").hold_id,
    }


@pytest.fixture(scope="module")
def to_add_to(clients: tuple[EntityClient, ContextClient]) -> dict[str, str]:
    return written(*clients)


def written(graph: EntityClient, context: ContextClient, room: str = "") -> dict[str, str]:
    """Write what the examples of a room of commands speak of, or else of all, and return the names of everything."""
    made = _conversation(graph)
    for rooms, write in ROOMS.items():
        if not room or room in rooms:
            made |= write(context, made)
    return made


def _conversation(graph: EntityClient) -> dict[str, str]:
    session = NodeInput("Session", name="support", data={"language": "de"}, external_id=f"thread-{uuid.uuid4()}")
    turns = [NodeInput("Turn", data={"user_input": "Where?", "language": "de", "score": 0.9}) for _ in range(2)]
    edge = EdgeInput(session.id, turns[0].id, "Contains")
    graph.graph.write([session, *turns], [edge])
    graph.graph.update_node_status(session.id, "Running", message="begun")
    for node in (session, *turns):
        graph.embeddings.upsert(node.id, [1, 0.5])
    return {
        "THREAD": session.external_id,
        "SESSION": session.id,
        "TURN": turns[1].id,
        "EDGE": edge.id,
        "PLACE": graph.changes.start(),
    }


def _records(context: ContextClient, made: dict[str, str]) -> dict[str, str]:
    text, session_id = b"# The quarterly report\n", made["SESSION"]
    record = context.blobs.upload(text, name="report", memory_type="text/markdown", entity_node_id=session_id)
    context.records.insert("text/markdown", "quarterly report", entity_node_id=session_id)
    return {"RECORD": record.working_memory_id}


def _thread(context: ContextClient, made: dict[str, str]) -> dict[str, str]:
    thread = ContextInput(external_ids=[ExternalId("threads", made["THREAD"])])
    begun = context.contexts.send(MessageInput("Where is my lost file?", message_id="greeting"), context=thread)
    task = context.tasks.create(begun.context_id, state="working")
    context.artifacts.put(task.task_id, ArtifactInput([PartInput(text="The plan.")], artifact_id="plan"))
    return {"CONTEXT": begun.context_id, "TASK": task.task_id}


def _window(context: ContextClient, made: dict[str, str]) -> dict[str, str]:
    context.contexts.append([one for n in range(12) for one in looked(n)], made["CONTEXT"])
    context.profiles.put("mine", "extends: general")
    window = context.windows.open(made["CONTEXT"], "gpt-5")
    context.windows.fold(window.window_id)
    pin_id = context.windows.pin(window.window_id, "Ports are numbers.")
    context.contexts.append([one for n in range(12, 24) for one in looked(n)], made["CONTEXT"])
    return {"WINDOW": window.window_id, "PIN": pin_id}


def _agents(context: ContextClient, made: dict[str, str]) -> dict[str, str]:
    for name in ("my", "old"):
        context.agents.put(f"{name}_agent")
        context.agent_templates.put(f"{name}_template")
    return {}


def _memories(context: ContextClient, made: dict[str, str]) -> dict[str, str]:
    memory = context.memories.retain("Ada lives in Pariss.", subject_user_id="ada")
    context.memories.update(memory.memory_id, text="Ada lives in Paris.", subject_user_id="ada")
    return {"MEMORY": memory.memory_id}


def _wiki(context: ContextClient, made: dict[str, str]) -> dict[str, str]:
    for name in ("zeta", "old"):
        context.pages.put(name, "A customer.", slug=f"customers/{name}", aliases=[name], subject_user_id="ada")
    return {}


def _compiled(context: ContextClient, made: dict[str, str]) -> dict[str, str]:
    definition = context.definitions.put("customers", yaml.safe_load(DEFINITIONS)["definitions"]["customers"])
    context.definitions.approve("customers", definition.version)
    list(context.compiled_pages.compile(node_ids=[made["SESSION"]]))
    (page,) = context.compiled_pages.list("customers", node_id=made["SESSION"])
    return {"PAGE": page.page_id}


def _bases(context: ContextClient, made: dict[str, str]) -> dict[str, str]:
    for name in ("handbook", "old"):
        context.knowledge_bases.put(name)
    return {
        "DOCUMENT": context.knowledge_bases.add_document("handbook", b"How we work.", name="handbook.md").document_id
    }


def _specialist(context: ContextClient, made: dict[str, str]) -> dict[str, str]:
    context.specialists.put("my-specialist")
    return {}


def _looked_at(context: ContextClient, made: dict[str, str]) -> dict[str, str]:
    gone = context.contexts.delete(context.contexts.send("Never mind.").context_id)
    test = context.source_tests.run("Where?", provider_ids=["workspace"])
    other = context.source_tests.run("Where?", provider_ids=["workspace"])
    return {
        "RECEIPT": gone.erasure_id,
        "JOB": swept(context),
        "TEST": test.test_id,
        "OTHER_TEST": other.test_id,
    }


# An example that takes away has its own of what its commands are about: all of it would cost 0.6 s of CPU each.
ROOMS = {
    ("wm",): _records,
    ("context", "window"): _thread,
    ("window",): _window,
    ("agent",): _agents,
    ("memory",): _memories,
    ("wiki",): _wiki,
    ("knowledge",): _compiled,
    ("kb",): _bases,
    ("sources",): _specialist,
    (): _looked_at,
}


def swept(context: ContextClient) -> str:
    """Return a job: the one that runs, or another one."""
    for job in context.jobs.list(page_size=1):
        return job.job_id
    return context.jobs.start("sweep").job_id


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the examples, where they run."""
    monkeypatch.setenv("CONTEXT_SERVICE_APP_ID", "shop")
    monkeypatch.chdir(tmp_path)
    line = json.dumps({"node": {"id": str(uuid.uuid4()), "general_type_name": "Turn"}}).encode()
    for name in ("mappings", "folder"):
        Path(name).mkdir()
    for name in ("mappings.yaml", "mappings/shop.yaml"):
        Path(name).write_text(MAPPINGS)
    for name in ("report.md", "report.pdf", "photo.jpg", "folder/file"):
        Path(name).write_text("a file")
    monkeypatch.setenv("TICKETS_SECRET", "a-secret-of-tickets")
    Path("acme.md").write_text("# Acme\nA customer.\n")
    Path("customers.yaml").write_text(DEFINITIONS)
    Path("mine.yaml").write_text("extends: coding")
    Path("profile.json").write_text('{"extends": "coding"}')
    Path("plan.json").write_text('{"steps": []}')
    Path("vector.json").write_text("[1, 0]")
    Path("graph.ndjson").write_bytes(line)
    for name in ("context.archive", "kept.archive"):
        Path(name).write_bytes(ARCHIVE.read_bytes())
    Path("messages.ndjson").write_text('{"content": "Hello"}\n{"role": "assistant", "content": "Hi"}\n')
    Path("graph.ndjson.gz").write_bytes(gzip.compress(line))


def ran(run: Run, line: str, *, stdin: str = "") -> tuple[int, str, str]:
    """Run a line and return its exit code and what it printed: to stdout, and to stderr.

    Our commands run in this process, since to start one takes 0.7 s of CPU; a shell runs the others of a pipe.
    """
    code, told, piped = 0, "", stdin.encode()
    for stage in line.split(" | "):
        command, file = re.fullmatch(r"(.*?)(?: > ([\w./-]+) *)?", stage).groups()
        if not command.startswith("contextkeep "):
            shell = ["bash", "-c", stage]
            piped = subprocess.run(shell, input=piped, capture_output=True, timeout=120, check=True).stdout
            continue
        result = run(command.removeprefix("contextkeep "), stdin=piped)
        code, told, piped = code or result.exit_code, told + result.stderr, result.stdout_bytes
        if file:
            Path(file).write_bytes(piped)
    return code, piped.decode(), told


@pytest.mark.parametrize(("command", "line"), of_helps)
def test_an_example_of_a_help_finds_what_it_is_about(run: Run, ids: dict[str, str], command: str, line: str):
    first = "CONTEXT" if command.startswith(("context", "window", "export")) else "SESSION"
    second = "RECORD" if command.startswith(("wm", "kb")) and "RECORD" in ids else "TURN"
    others = ("EDGE", "RECEIPT", "TASK", "WINDOW", "PIN", "MEMORY", "TEST", "PAGE", "DOCUMENT", "JOB")
    for number, name in enumerate((first, second, *others, "ERASURE_OF_SUBJECT", "HOLD", "OTHER_TEST"), 1):
        line = line.replace(f"0197f1f2-0000-7000-8000-{number:012}", ids.get(name, ""))

    line = line.replace("cgk_Zk3vT0aQ", ids.get("PREFIX", ""))
    code, printed, told = ran(run, line.replace("thread-42", ids["THREAD"]))

    # With what the other examples wrote, there are more rows.
    wrong = re.sub(r"there are more than [0-9]+ rows; give a higher --limit\n", "", told).replace(
        "nothing differs\n", ""
    )
    if line == "contextkeep operator work":  # what the other examples owe may be done by now
        wrong = wrong.replace("nothing found\n", "")
    assert (code, wrong) == (0, "")
    assert printed or told or " > " in line


@pytest.mark.parametrize("line", [line for line in of_docs if not SERVING.match(line)])
def test_an_example_of_the_page_runs(run: Run, ids: dict[str, str], line: str):
    """What asks is told yes."""
    line = line.partition(" #")[0].replace("thread-42", ids["THREAD"])
    code, _, told = ran(run, Template(line).safe_substitute(ids), stdin="y\n")

    assert code == 0, told


def test_every_command_is_on_the_page():
    for path in paths(contextkeep):
        command = " ".join(("contextkeep", *path))
        assert any(command in line for line in of_docs), f"docs/cli.md has no line with {command}"
