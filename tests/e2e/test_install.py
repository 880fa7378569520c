"""Every command that the documentation says to install with does so: from a checkout, into an environment of its own.

What these tests run with is an installation of this checkout, which would make up for whatever a command leaves out. So
each runs in a copy of the checkout's files, with a new environment, and what it installed is imported by that.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("clients/*/README.md"))]
COMMAND = re.compile(r"\bpip install [^`\n#]+(?<=\S)")
# What must be there to import, by the extra; everything else needs the client alone.
IMPORTS = {
    "azure": "azure.storage.blob.aio",
    "azure-identity": "azure.identity.aio",
    "cli": "contextkeep.cli.commands",
    "embedding": "aiohttp",
    "gcs": "google.cloud.storage",
    "mcp": "mcp",
    "oidc": "jwt",
    "s3": "obstore",
    "telemetry": "opentelemetry.sdk",
}


def commands() -> list[str]:
    return sorted({found for page in PAGES for found in COMMAND.findall(page.read_text("utf-8"))})


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a clone has."""
    folder = tmp_path_factory.mktemp("install") / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def run(*command: str, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_documentation_says_how_to_install():
    said = " ".join(commands())
    assert [extra for extra in IMPORTS if f"[{extra}]" not in said] == []


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_documentation_installs_what_it_says(command: str, checkout: Path, tmp_path: Path):
    # With the pip of the tests, and without compiling: half a minute less for each.
    run(sys.executable, "-m", "venv", "--without-pip", "env", cwd=tmp_path)
    python = str(tmp_path / "env" / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python]

    run(*pip, *shlex.split(command)[1:], "--quiet", "--no-compile", cwd=checkout)

    wanted = ["contextkeep.client", *(IMPORTS[extra] for extra in re.findall(r"\[([a-z0-9-]+)\]", command))]
    if "'.[" in command:
        wanted += ["context_service.app", "entity_service.app"]
    program = "; ".join(f"import {name}" for name in wanted)
    # From elsewhere, so that nothing is found in the working folder.
    where = run(python, "-c", f"{program}; print(contextkeep.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(tmp_path)
    run(*pip, "check", cwd=tmp_path)


@pytest.mark.skipif(shutil.which("npm") is None, reason="Node is not installed")
def test_the_typescript_client_is_installed_as_its_page_says(checkout: Path, tmp_path: Path):
    page = (ROOT / "clients" / "typescript" / "README.md").read_text("utf-8")
    block = re.search(r"```sh\n(npm install.*?)```", page, re.DOTALL)
    assert block is not None
    build, install = block[1].strip().splitlines()

    run("bash", "-c", build, cwd=checkout)
    run("bash", "-c", install.replace("/path/to/checkout", shlex.quote(str(checkout))), cwd=tmp_path)

    program = "import('contextkeep').then(({ContextClient}) => console.log(typeof ContextClient))"
    assert run("node", "-e", program, cwd=tmp_path).strip() == "function"
