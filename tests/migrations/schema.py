"""The schemas of a database as text, to compare two databases."""

from __future__ import annotations

import os
import subprocess

from service_runtime.databases.embedded_postgres import EmbeddedPostgres

SCHEMAS = ("access", "context", "entity")


def dump(server: EmbeddedPostgres, admin_url: str) -> str:
    """Return what pg_dump says of our schemas; without the sequences of tenants, which no migration makes."""
    command = [str(server.binaries / "pg_dump"), "--schema-only", "--exclude-table=access.numbers_*"]
    command += [*(f"--schema={schema}" for schema in SCHEMAS), admin_url]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"})
    # Newer versions restrict the dump by a random word.
    return "".join(line for line in done.stdout.splitlines(keepends=True) if "restrict " not in line)
