"""The TypeScript client's own tests, against both real services; where Node is missing, one line says so."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from contextkeep import AsyncEntityClient
from contextkeep.errors import ContextKeepError, FieldViolation, error_classes
from contextkeep.status import details_of
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.clients.serving import serving
from tests.clients.test_calls import NODE_ID, Graph
from tests.conftest import KEY, OTHER_KEY, Addresses, cloned
from tests.contract.calls import RPCS, calls_of
from tests.contract.doors import held
from tests.contract.methods import NotTaken, lacking
from tests.contract.requests import Asked, requests
from tests.contract.running import Case, Stack
from tests.contract.test_call_cases import CASES
from tests.contract.typescript_client import TypeScriptClient
from tests.faults.processes import Service
from tests.faults.test_balancing import writes
from tests.ports import free_port
from tests.service_runtime.test_telemetry import ended
from tests.service_runtime.test_tls import issue

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients/typescript"
TSC = ROOT / "node_modules/.bin/tsc"


@pytest.fixture(scope="module")
def node() -> str:
    """Node, with what `make npm` installs."""
    found = shutil.which("node")
    if found is None or not TSC.exists():
        reason = "Node is not installed" if found is None else "TypeScript is not installed: run `make npm`"
        assert os.environ.get("CI") != "true", reason
        pytest.skip(reason)
    return found


@pytest.fixture(scope="module")
def built(node: str) -> Path:
    """The folder of the compiled client, its tests and its example."""
    run(str(TSC))
    return CLIENT / "dist"


def test_the_client_does_what_its_tests_say(node: str, built: Path, stack: Addresses, tmp_path: Path):
    published = [error for error in error_classes() if error.__module__ == ContextKeepError.__module__]
    errors = tmp_path / "errors.json"
    errors.write_text(json.dumps([raised(error) for error in published]))

    # In one process: to start Node and to load the client takes longer than what a file tests.
    files = sorted(built.glob("test/*.test.js"))
    assert files
    tests = "".join(f"await import({json.dumps(str(file))});" for file in files)
    run(node, "--input-type=module", "--eval", tests, RAISED_ERRORS=str(errors), **addresses(stack))


# Its method of a history reads the stream; local files have no download URLs.
WITHOUT_METHOD = {("GetChatHistory", "answer"), ("GetChatHistory", "refusal"), ("CreateDownloadUrl", "answer")}


async def test_every_rpc_answers_and_refuses_by_its_method(node: str, built: Path, both: Stack):
    """By the cases that are enough for the Python client, and others of RPCs that these do not hold here.

    Calls that its methods cannot make go over gRPC.
    """
    shared = {field.name: getattr(both, field.name) for field in dataclasses.fields(both)}
    every = {(rpc, kind) for rpc in RPCS for kind in ("answer", "refusal")}
    failures: list[str] = []
    async with TypeScriptClient(**shared, command=(node, str(built / "test/cases.js"))) as client:
        by_door = sorted((one.values for one in CASES), key=lambda values: values[0] != "python")
        for door, case in by_door:
            lacks = every - client.held - WITHOUT_METHOD
            if door != "python" and not (door == "grpc" and held(calls_of(case), "python") & lacks):
                continue
            try:
                await Case(client, case).hold(calls_of(case))
            except AssertionError as error:
                failures.append(f"{case['name']}: {error}")

    assert not failures
    assert every - client.held == WITHOUT_METHOD, sorted(client.untaken)


# What methods take in another form than a request says it, or not at all. The tests of the client itself call them so.
_EMBEDDED = [f"{rpc}.record" for rpc in ("InsertWMRecord", "StartUpload", "UpdateWMRecord", "UploadBlob.header")]
_PARTS = ["AppendMessages.messages", "PutArtifact.artifact", "SendMessage.message"]
UNTAKEN = {
    # A vector and its model are two options.
    *(f"{of}.embedding.{name}" for of in (*_EMBEDDED, "SearchWMRecords") for name in ("model", "values")),
    *(f"{of}.parts.reasoning.{name}" for of in _PARTS for name in ("data", "data_json", "provider", "text")),
    # Options with other names or words: `replace`, `includeIO`, "openaiResponses"; what is left out is taken back.
    *("UpdateEdgeData.update", "UpdateEdgeData.expected_version", "UpdateNodeData.update", "Traverse.include_io"),
    "OpenWindow.format",
    # The method reads all ranges of a file, of a length of its own.
    "Expand.length_bytes",
    # A node by its external id is an argument of its own.
    *(
        f"{rpc}.{name}"
        for rpc in ("ExecuteTool", "ListCompiledPages", "TestMapping")
        for name in ("external_id", "graph_name")
    ),
    # Other methods, and a pack before, say these; an import asks first how far it is.
    *(
        "GetArtifact.ref",
        "RunSourceTest.replay_of",
        "Pack.if_prefix_bytes",
        "Pack.if_prefix_sha",
        "ImportArchive.header.import_id",
    ),
    *(f"DeleteEdge.{name}" for name in ("edge_type", "from_node_id", "to_node_id")),
    # No method has them.
    *(
        f"{of}.{name}"
        for of in ("UpdateContext.context", "UpdateMemory.memory")
        for name in ("app_id", "agent_bundle_id")
    ),
    *("UpdateTask.task.reference_task_ids", "UpdateTask.task.status.message.metadata_json", "Traverse.columns"),
    *("Recall.options.off", "SendMessage.recall.off", "ConsolidateMemories.request_id"),
    *("StartUpload.record.content_json", "UploadBlob.header.record.content_json"),
}


async def test_a_method_sends_each_field_of_its_request(node: str, built: Path, both: Stack):
    shared = {field.name: getattr(both, field.name) for field in dataclasses.fields(both)}
    untaken: dict[str, Any] = {}
    async with TypeScriptClient(**shared, command=(node, str(built / "test/cases.js"))) as client:

        async def lacks(asked: Asked) -> Any:
            """Return the fields that a method does not send, or its error; None if the runner cannot call it."""
            try:
                sent = await client.sent(asked.rpc, asked.messages)
            except (NotTaken, ValueError):
                return None
            return lacking(sent, asked.messages[0]) if isinstance(sent, asked.rpc.request) else sent

        # A case that does not go through as it is leaves its fields to requests of their own.
        is_whole = iter([await lacks(asked) == [] for asked in requests() if not asked.path])
        for asked in requests(lambda asked: next(is_whole)):
            if asked.path and asked.rpc.name != "GetChatHistory" and (missing := await lacks(asked)):
                untaken[asked.path] = missing

    assert untaken.keys() == UNTAKEN, {name: untaken.get(name) for name in untaken.keys() ^ UNTAKEN}


def test_the_example_of_its_readme_runs_as_printed(node: str, built: Path, stack: Addresses):
    blocks = re.findall(r"```(typescript|text)\n(.*?)```", (CLIENT / "README.md").read_text("utf-8"), re.DOTALL)
    (_, code), (_, output) = blocks
    assert (CLIENT / "examples/chat.ts").read_text("utf-8").endswith(code)  # which `built` has compiled

    assert run(node, f"{built}/examples/chat.js", **addresses(stack)) == output


CALL = """
import { readFileSync } from "node:fs";
import { EntityClient } from "contextkeep";

const [address, nodeId, rootCertificates, clientCertificate, clientKey] = process.argv.slice(1);
const read = (path) => (path ? readFileSync(path) : undefined);
const entities = new EntityClient({
  address,
  retries: 0,
  rootCertificates: read(rootCertificates),
  clientCertificate: read(clientCertificate),
  clientKey: read(clientKey),
});
console.log(await entities.graph.getNode(nodeId).then((node) => node.id, (error) => error.reason));
"""


async def test_tls_trusts_and_shows_what_it_is_told_and_a_client_keeps_no_process_alive(
    node: str, built: Path, tmp_path: Path
):
    authority = issue("authority")
    server, client = issue("service", authority), issue("client", authority)
    certificate, key = server.pem
    credentials = grpc.ssl_server_credentials([(key, certificate)], authority.pem[0], require_client_auth=True)
    files = [tmp_path / name for name in ("ca.crt", "client.crt", "client.key")]
    for path, content in zip(files, (authority.pem[0], *client.pem), strict=True):
        path.write_bytes(content)

    async def call(address: str, *trust: Path) -> str:
        arguments = ("--input-type=module", "-e", CALL, address, NODE_ID, *map(str, trust))
        return (await asyncio.to_thread(run, node, *arguments)).strip()  # ends without a call of `close`

    async with serving(Graph()) as plain:
        assert await call(plain) == NODE_ID
        assert await call(f"http://{plain}/") == NODE_ID
    async with serving(Graph(), credentials=credentials) as address:
        https = f"https://localhost:{address.rpartition(':')[2]}"
        answers = await asyncio.gather(call(https, *files), call(https, files[0]), call(https))
    assert answers == [NODE_ID, "UNAVAILABLE", "UNAVAILABLE"]


TRACED = """
import { ContextClient, EntityClient } from "contextkeep";

const [traceparent] = process.argv.slice(1);
const headers = () => ({ traceparent });
const entities = new EntityClient({ headers });
const session = await entities.graph.createNode({ generalTypeName: "Session" });
await new ContextClient({ headers }).history.get(session.id);
"""


async def test_the_callers_trace_goes_through_both_services(
    services: Addresses, spans: InMemorySpanExporter, node: str, built: Path
):
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    command = (node, "--input-type=module", "-e", TRACED, f"00-{trace_id}-{span_id}-01")

    await asyncio.to_thread(run, *command, **addresses(services))

    await ended(spans, "contextkeep.context.v1.ChatHistory/StreamChatHistory")
    finished = spans.get_finished_spans()
    assert {f"{span.context.trace_id:032x}" for span in finished} == {trace_id}
    remote = {span.name.rpartition("/")[2] for span in finished if f"{span.parent.span_id:016x}" == span_id}
    assert remote == {"CreateNode", "StreamChatHistory"}
    assert "contextkeep.entity.v1.EntityGraph/Traverse" in {span.name for span in finished}


UNTRACED = """
import { createRequire } from "node:module";
import { EntityClient } from "contextkeep";

const entities = new EntityClient({ address: process.argv[2] });
console.log((await entities.graph.getNode(process.argv[3])).id);
try {
  createRequire(import.meta.resolve("contextkeep"))("@opentelemetry/api");
} catch (error) {
  console.log(error.code);
}
"""


async def test_without_opentelemetry_the_client_works_and_loads_nothing_of_it(node: str, built: Path, tmp_path: Path):
    """It is an optional peer: in a project of its own, with the client's dependencies alone."""
    installed = tmp_path / "node_modules/contextkeep"
    shutil.copytree(built / "src", installed / "dist/src")
    shutil.copy(CLIENT / "package.json", installed)
    for dependency in json.loads((CLIENT / "package.json").read_text())["dependencies"]:
        link = tmp_path / "node_modules" / dependency
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(ROOT / "node_modules" / dependency)
    script = tmp_path / "script.mjs"
    script.write_text(UNTRACED)

    async with serving(Graph()) as address:
        said = await asyncio.to_thread(run, node, str(script), address, NODE_ID)

    assert said.split() == [NODE_ID, "MODULE_NOT_FOUND"]


# Writes without a pause, three at a time, until a line says that it is enough.
WRITE = """
import dns from "node:dns";
import { once } from "node:events";

dns.promises.lookup = async () => ["127.0.0.1", "127.0.0.2"].map((address) => ({ address, family: 4 }));
const { EntityClient } = await import("contextkeep");
const entities = new EntityClient({ address: process.argv[1] });
let [enough, written] = [false, 0];
once(process.stdin, "data").then(() => (enough = true));
const writing = async () => {
  for (; !enough; written += 1) await entities.graph.createNode({ generalTypeName: "Session" });
};
await Promise.all([writing(), writing(), writing()]);
console.log(written);
process.exit();
"""


async def test_calls_are_spread_over_the_addresses_of_a_name_and_none_fails_when_a_replica_drains(
    postgres: EmbeddedPostgres, tmp_path: Path, node: str, built: Path
):
    async with AsyncExitStack() as stack:
        urls = stack.enter_context(cloned(postgres))
        port = free_port()
        replicas = [
            Service(
                "entity_service",
                port,
                host=f"127.0.0.{number}",
                environment={"DATABASE_URL": urls.service, "DRAIN_S": "1"},
                log=tmp_path / f"{number}.log",
            )
            for number in (1, 2)
        ]
        for replica in replicas:
            stack.push_async_callback(replica.kill)
        await asyncio.gather(*(replica.start() for replica in replicas))

        process = await asyncio.create_subprocess_exec(
            *(node, "--input-type=module", "-e", WRITE, f"replicas.internal:{port}"),
            cwd=CLIENT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        stack.callback(lambda: process.returncode is None and process.kill())
        async with asyncio.timeout(120):
            while min(writes(replica.log) for replica in replicas) < 20:
                assert process.returncode is None
                await asyncio.sleep(0.05)
            replicas[0].send(signal.SIGTERM)
            assert await replicas[0].ended(timeout_s=30) == 0
            before = writes(replicas[1].log)
            while writes(replicas[1].log) < before + 20:
                assert process.returncode is None
                await asyncio.sleep(0.05)
            said, _ = await process.communicate(b"enough\n")

        assert process.returncode == 0  # no call failed
        async with AsyncEntityClient(replicas[1].address) as client:
            assert await client.graph.count() == int(said)


def run(*command: str, **environment: str) -> str:
    """Run a command in the client's folder and return what it prints."""
    done = subprocess.run(
        command, cwd=CLIENT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def addresses(stack: Addresses) -> dict[str, str]:
    """The services, and a key of either tenant, as the tests read them."""
    return {
        "CONTEXT_SERVICE_ADDRESS": stack.context,
        "ENTITY_SERVICE_ADDRESS": stack.entity,
        "CONTEXT_SERVICE_API_KEY": KEY,
        "OTHER_API_KEY": OTHER_KEY,
    }


def raised(error_class: type[ContextKeepError]) -> dict[str, Any]:
    """An error as the services send it, and what must arrive."""
    error = error_class(
        f"the text of {error_class.__name__}",
        violations=[FieldViolation("a.b", "too long"), FieldViolation("c", "missing")],
        retry_after_s=1.25,
        limit="names_max",
        value="ü",
    )
    return {
        "name": error_class.__name__,
        "parent": error_class.__base__.__name__,
        "code": error.code.name,
        "status": error.code.value[0],
        "reason": error.reason,
        "message": error.message,
        "details": base64.b64encode(details_of(error)).decode(),
    }
