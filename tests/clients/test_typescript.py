"""The TypeScript client's own tests, against both real services; where Node is missing, one line says so."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import grpc
import pytest

from contextgraph.errors import ContextGraphError, FieldViolation, error_classes
from contextgraph.status import details_of
from tests.clients.serving import serving
from tests.clients.test_calls import NODE_ID, Graph
from tests.conftest import KEY, OTHER_KEY, Addresses
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
    published = [error for error in error_classes() if error.__module__ == ContextGraphError.__module__]
    errors = tmp_path / "errors.json"
    errors.write_text(json.dumps([raised(error) for error in published]))

    run(node, "--test", "--test-reporter=dot", f"{built}/test/", RAISED_ERRORS=str(errors), **addresses(stack))


def test_the_example_of_its_readme_runs_as_printed(node: str, built: Path, stack: Addresses):
    blocks = re.findall(r"```(typescript|text)\n(.*?)```", (CLIENT / "README.md").read_text("utf-8"), re.DOTALL)
    (_, code), (_, output) = blocks
    assert (CLIENT / "examples/chat.ts").read_text("utf-8").endswith(code)  # which `built` has compiled

    assert run(node, f"{built}/examples/chat.js", **addresses(stack)) == output


CALL = """
import { readFileSync } from "node:fs";
import { EntityClient } from "contextgraph";

const [address, nodeId, rootCertificates, clientCertificate, clientKey] = process.argv.slice(1);
const read = (path) => (path ? readFileSync(path) : undefined);
const graph = new EntityClient({
  address,
  retries: 0,
  rootCertificates: read(rootCertificates),
  clientCertificate: read(clientCertificate),
  clientKey: read(clientKey),
});
console.log(await graph.getNode(nodeId).then((node) => node.id, (error) => error.reason));
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


def raised(error_class: type[ContextGraphError]) -> dict[str, Any]:
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
