"""Every command that the documentation says to install with does so: from a checkout, into an environment of its own.

What these tests run with is an installation of this checkout, which would make up for whatever a command leaves out. So
a command's own environment has the projects that it names, which uv builds from a copy of the checkout's files for a
third of pip's CPU, and the distributions that they require, as `make install` has installed them: for pip to install
all takes a minute, which `make soak` has.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePath

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("clients/*/README.md"))]
COMMAND = re.compile(r"\bpip install [^`\n#]+(?<=\S)")
# What must be there to import, by the extra; everything else needs the client alone.
IMPORTS = {
    "azure": "azure.storage.blob.aio",
    "azure-identity": "azure.identity.aio",
    "bedrock": "botocore.session",
    "cli": "contextkeep.cli.commands",
    "console": "contextkeep_console.serving",
    "documents": "pypdfium2",
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
    # What `make npm` has fetched is asked for again at no registry.
    environment |= {"npm_config_prefer_offline": "true", "npm_config_audit": "false"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An argument of a command: a project of the checkout, and extras of it."""

    path: str
    extras: frozenset[str] = frozenset()

    @property
    def argument(self) -> str:
        return f"{self.path}[{','.join(sorted(self.extras))}]" if self.extras else self.path


def named(command: str) -> list[Named]:
    found = []
    for argument in shlex.split(command)[2:]:
        match = re.fullmatch(r"([^\[\]]+)(?:\[([^\[\]]+)\])?", argument)
        assert match is not None, argument
        found.append(Named(path=match[1], extras=frozenset(filter(None, (match[2] or "").split(",")))))
    return found


@pytest.fixture(scope="module")
def installed(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Distribution]:
    """What there is, by name: our projects built from the copy, and everything else as these tests run with it."""
    folder = tmp_path_factory.mktemp("installed")
    python = pip_of(folder)[-1]
    uv = (sys.executable, "-m", "uv", "pip")
    run(*uv, "install", "--system-certs", "--python", python, "--no-deps", "--quiet", *arguments(), cwd=checkout)
    run(*uv, "check", "--python", sys.executable, cwd=folder)
    return {**by_name(), **by_name(*map(str, folder.glob("env/lib/python*/site-packages")))}


@pytest.fixture(scope="module")
def own(installed: dict[str, Distribution]) -> dict[str, set[PurePath]]:
    """What is to be imported of a distribution, by its name: folders that no other has a part of, and single files."""
    files = {name: [file for file in one.files or [] if ".." not in file.parts] for name, one in installed.items()}
    owners: dict[PurePath, set[str]] = {}
    for name, of_one in files.items():
        for file in of_one:
            for path in (file, *file.parents):
                owners.setdefault(path, set()).add(name)
    return {
        name: {next(path for path in (*reversed(file.parents), file) if owners[path] == {name}) for file in of_one}
        for name, of_one in files.items()
    }


@pytest.fixture(scope="module")
def distributed(checkout: Path, installed: dict[str, Distribution]) -> dict[str, set[str]]:
    """The names of all that each command installs."""
    found: dict[str, set[str]] = {command: set() for command in commands()}
    for command in found:
        for one in named(command):
            project = tomllib.loads((checkout / one.path / "pyproject.toml").read_text("utf-8"))["project"]["name"]
            found[command] |= required(installed, canonicalize_name(project), one.extras)
    return found


@pytest.fixture(scope="module")
def least(distributed: dict[str, set[str]]) -> str:
    """The command that installs least of those that install the services."""
    of_services = [command for command in distributed if any(one.path == "." for one in named(command))]
    return min(of_services, key=lambda command: len(distributed[command]))


def pip_of(folder: Path) -> list[str]:
    """Make an environment in a folder, and return the command that installs there: with the pip of the tests."""
    run(sys.executable, "-m", "venv", "--without-pip", "env", cwd=folder)
    return [sys.executable, "-m", "pip", "--python", str(folder / "env" / "bin" / "python")]


def arguments() -> list[str]:
    """Return what all commands name together."""
    extras: dict[str, frozenset[str]] = {}
    for one in itertools.chain.from_iterable(map(named, commands())):
        extras[one.path] = extras.get(one.path, frozenset()) | one.extras
    return [Named(path=path, extras=of_path).argument for path, of_path in extras.items()]


def by_name(*folders: str) -> dict[str, Distribution]:
    found = distributions(path=list(folders)) if folders else distributions()
    return {canonicalize_name(one.metadata["Name"]): one for one in found}


def required(installed: dict[str, Distribution], name: str, extras: frozenset[str]) -> set[str]:
    """Return the names of what pip installs for a distribution, and it."""
    found: set[tuple[str, frozenset[str]]] = set()
    left = [(name, extras)]
    while left:
        if (one := left.pop()) in found:
            continue
        found.add(one)
        name, extras = one
        assert extras <= set(installed[name].metadata.get_all("Provides-Extra", [])), f"{name} has not all of {extras}"
        for requirement in map(Requirement, installed[name].requires or []):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras or [""]):
                left.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return {name for name, _ in found}


def test_the_documentation_says_how_to_install():
    said = " ".join(commands())
    assert [extra for extra in IMPORTS if f"[{extra}]" not in said] == []


@pytest.mark.parametrize("command", commands())
def test_a_command_of_the_documentation_installs_what_it_says(
    command: str,
    distributed: dict[str, set[str]],
    least: str,
    installed: dict[str, Distribution],
    own: dict[str, set[PurePath]],
    tmp_path: Path,
):
    wanted = ["contextkeep.client", *(IMPORTS[extra] for one in named(command) for extra in sorted(one.extras))]
    if command == least:  # where the services can be imported, they can with these distributions and others
        wanted += ["context_service.app", "entity_service.app"]
    for name in distributed[command]:
        for path in own[name]:
            linked = tmp_path / "env" / path
            linked.parent.mkdir(parents=True, exist_ok=True)
            linked.symlink_to(Path(str(installed[name].locate_file(path))))

    # Of all that is installed here, it sees Python's own library alone.
    imports = "; ".join(f"import {name}" for name in wanted)
    program = f"import sys; sys.path.append('env'); {imports}; print(contextkeep.__file__)"
    assert run(sys.executable, "-I", "-S", "-c", program, cwd=tmp_path).startswith(str(tmp_path / "env"))


@pytest.mark.soak
def test_pip_finds_all_that_the_commands_name(checkout: Path, tmp_path: Path):
    """The newest of everything, as somebody gets it who has no constraints."""
    pip = pip_of(tmp_path)
    run(*pip, "install", *arguments(), "--quiet", "--no-compile", cwd=checkout)
    run(*pip, "check", cwd=tmp_path)


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("npm") is None, reason="Node is not installed")
def test_the_typescript_client_is_installed_as_its_page_says(checkout: Path, tmp_path: Path):
    """With all that it is built with, from the registry; `tests/clients/test_typescript.py` builds and loads it."""
    page = (ROOT / "clients" / "typescript" / "README.md").read_text("utf-8")
    block = re.search(r"```sh\n(npm install.*?)```", page, re.DOTALL)
    assert block is not None
    build, install = block[1].strip().splitlines()

    run("bash", "-c", build, cwd=checkout)
    run("bash", "-c", install.replace("/path/to/checkout", shlex.quote(str(checkout))), cwd=tmp_path)

    program = "import('contextkeep').then(({ContextClient}) => console.log(typeof ContextClient))"
    assert run("node", "-e", program, cwd=tmp_path).strip() == "function"
