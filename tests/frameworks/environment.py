"""Where frameworks of others run: `.frameworks`, at the versions of `requirements.txt`, with our client beside them.

They share one environment, which shows that they get along. At the oldest versions that the extras of the client allow
each has one of its own, since those may not.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
CLIENT = ROOT / "clients" / "python"

# What tests need of each beside the extra of its name: their own stores, and suites that others must pass.
BESIDE = {
    "langgraph": ("langgraph-checkpoint-conformance", "langgraph-checkpoint-postgres", "langgraph-checkpoint-sqlite"),
    "google-adk": ("sqlalchemy[asyncio]", "aiosqlite", "asyncpg"),
    "openai-agents": ("openai-agents[sqlalchemy]", "aiosqlite", "asyncpg"),
    "anthropic": (),
    "a2a": ("a2a-sdk[http-server]", "uvicorn"),
    "strands": (),
}
_TESTS = ("hypothesis", "pytest", "pytest-asyncio", "pytest-xdist", "psycopg[binary]")


@dataclass(frozen=True, slots=True)
class Environment:
    """A folder with an interpreter of its own."""

    folder: Path

    @property
    def python(self) -> Path:
        """Return its interpreter."""
        return self.folder / "bin" / "python"


PINNED = Environment(ROOT / ".frameworks")


def pinned() -> Environment:
    """Return the environment with all of them, made unless it is there and as the file says."""
    beside = sorted({one for names in BESIDE.values() for one in names})
    asked = [
        "--constraint",
        str(REQUIREMENTS),
        "--editable",
        f"{CLIENT}[{','.join(['cli', *extras()])}]",
        *beside,
        *_TESTS,
    ]
    _make(PINNED, asked, REQUIREMENTS.read_text())
    return PINNED


def oldest(name: str) -> Environment:
    """Return the environment of one framework at the oldest version that its extra allows.

    Args:
        name: Of the extra.
    """
    environment = Environment(ROOT / f".frameworks-oldest-{name}")
    floors = [one.split(",")[0].replace(">=", "==") for one in extras()[name]]
    _make(environment, [*floors, "--editable", f"{CLIENT}[{name}]", *BESIDE[name], *_TESTS], "")
    return environment


def extras() -> dict[str, list[str]]:
    """Return what each extra of the client that is of a framework asks for."""
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    return {name: asks for name, asks in project["optional-dependencies"].items() if name in BESIDE}


def _make(environment: Environment, asked: list[str], about: str) -> None:
    installed = environment.folder / ".installed"
    wanted = hashlib.sha256("\n".join([about, *asked]).encode()).hexdigest()
    if installed.exists() and installed.read_text() == wanted:
        return
    print(f"installing frameworks into {environment.folder.name} (half a minute to three, 450 MB)", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(environment.folder)], check=True)
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--system-certs", "--python", environment.python]
    if subprocess.run([*uv, *asked], check=False).returncode:  # it knows no mirrors of pip's configuration
        pip = [sys.executable, "-m", "pip", "--python", environment.python, "install", "-qq"]
        subprocess.run([*pip, "--disable-pip-version-check", *asked], check=True)
    installed.write_text(wanted)


if __name__ == "__main__":
    pinned()
