"""What the migrations add up to, as text: `schema.sql` of each schema.

Written by `make schema` and compared by a test, so that a reader finds the whole of a schema in one file, and a
reviewer sees what a migration changes. It is what pg_dump of the embedded Postgres says, without comments and session
settings.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

import context_service.app
import entity_service.app
from service_runtime import embedded_postgres
from service_runtime.embedded_postgres import SERVICE_ROLE, EmbeddedPostgres
from service_runtime.migrate import migrate

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "access": ROOT / "service_runtime/migrations/schema.sql",
    "context": ROOT / "context_service/migrations/schema.sql",
    "entity": ROOT / "entity_service/migrations/schema.sql",
}
_NOISE = re.compile(r"^(--.*|SET .*|SELECT pg_catalog.*|\\(un)?restrict .*)\n", re.MULTILINE)


def dump(server: EmbeddedPostgres, admin_url: str, schema: str) -> str:
    """Return the schema as SQL."""
    command = [str(server.binaries / "pg_dump"), "--schema-only", f"--schema={schema}"]
    command += ["--exclude-table=access.numbers_*", admin_url]  # of each tenant one
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"})
    text = re.sub(r"\n{3,}", "\n\n", _NOISE.sub("", done.stdout)).strip()
    return f"-- What the migrations add up to; written by `make schema`, never by hand.\n\n{text}\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, embedded_postgres.running(Path(folder), keep=False) as server:
        everything = [*entity_service.app.migrations(), *context_service.app.migrations()]
        migrate(server.admin_url, everything, service_role=SERVICE_ROLE)
        for schema, path in FILES.items():
            path.write_text(dump(server, server.admin_url, schema))
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
