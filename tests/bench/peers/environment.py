"""The peers' own environment: `.bench-peers`, made from `requirements.txt`, which pins all that is in it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[3] / ".bench-peers"
PYTHON = FOLDER / "bin" / "python"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
# A peer that cannot be installed leaves the others alone, so each is installed by itself; the file says the versions.
PACKAGES = (
    ("langgraph", "langgraph-checkpoint-postgres", "psycopg[binary]"),
    ("google-adk", "sqlalchemy[asyncio]", "asyncpg"),
    ("openai-agents[sqlalchemy]", "sqlalchemy[asyncio]", "asyncpg"),
)


def make() -> None:
    """Make the environment, unless it is there and as the file says."""
    installed = FOLDER / ".installed"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if installed.exists() and installed.read_text() == wanted:
        return
    print(f"installing the peers into {FOLDER.name} (about half a minute)", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    pip = [str(PYTHON), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    results = [subprocess.run([*pip, "--constraint", str(REQUIREMENTS), *names], check=False) for names in PACKAGES]
    if not any(result.returncode for result in results):
        installed.write_text(wanted)
