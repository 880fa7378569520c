"""A big tenant is moved to another database while it writes: rows a second, and how long its writes waited.

`python -m bench.moves [NODES RECORDS]`. No part of `make bench`: a million nodes take some minutes to write, and
as long to move. Nodes are turns of 400 bytes in sessions of a thousand, each with its edge; records have some words and
the action that made them. They are inserted where they are, in few statements. The move is the command that
operators run; a caller appends all the while, as clients do, and reads its newest turns.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from context_service.commands import dev
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from service_runtime.auth.keys import KeyAdministration, NewKey
from service_runtime.databases.placement import Databases

NODES, RECORDS = 1_000_000, 100_000
SESSION_NODES = 1_000
WAITED_S_MAX = 5.0  # writes at most
PAUSE_S = 0.05  # between the turns of the caller
TENANT, EAST = "big", "east"

_NODES = """
INSERT INTO entity.node (
    tenant_id, id, created_at, modified_at, graph_name, general_type_name, specific_type_name, status, name, created_by,
    data
)
SELECT %(tenant)s, uuidv7(), now(), now(), 'default', CASE WHEN n %% %(session)s = 1 THEN 'Session' ELSE 'Turn' END, '',
    'Created', 'turn ' || n, 'bench', jsonb_build_object('text', repeat(md5(n::text), 12))
FROM generate_series(1, %(nodes)s) n
"""
_EDGES = """
INSERT INTO entity.edge (
    tenant_id, id, from_node_id, to_node_id, created_at, child_created_at, child_seq, graph_name, edge_type, data
)
SELECT tenant_id, uuidv7(), session_id, id, now(), created_at, seq, 'default', 'Contains', '{}'
FROM (
    SELECT n.*, max(id::text) FILTER (WHERE general_type_name = 'Session') OVER (ORDER BY id)::uuid AS session_id
    FROM entity.node n WHERE tenant_id = %(tenant)s
) turn
WHERE general_type_name = 'Turn'
"""
_RECORDS = """
INSERT INTO context.wm_record (tenant_id, id, memory_type, name, created_by, content, size_bytes)
SELECT %(tenant)s, uuidv7(), 'data/json', 'note ' || n, 'bench',
    json_build_object('text', 'what was said of ' || md5(n::text) || ' in the rain'), 60
FROM generate_series(%(first)s, least(%(first)s + 999, %(records)s)) n
"""
_ACTIONS = """
INSERT INTO context.action (tenant_id, record_id, kind, principal)
SELECT tenant_id, id, 'created', 'bench' FROM context.wm_record WHERE tenant_id = %(tenant)s
"""


def fill(url: str, nodes: int, records: int) -> None:
    """Give the tenant its rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT id FROM access.tenant WHERE name = %s", (TENANT,)).fetchall()
        tenant = found[0][0]
        named = {"tenant": tenant, "nodes": nodes, "records": records, "session": SESSION_NODES}
        for name, value in (("app.tenant", str(tenant)), ("app.context", "*"), ("app.subject", "*")):
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        connection.execute("SET app.moving = 'on'")  # rows of a graph as they are, without what triggers note of them
        for statement in (_NODES, _EDGES):
            connection.execute(statement.encode(), named)
        connection.execute("RESET app.moving")
        for first in range(1, records + 1, 1000):  # each counts in the same row, whose versions a statement keeps
            connection.execute(_RECORDS.encode(), {**named, "first": first})
        connection.execute(_ACTIONS.encode(), named)
        connection.execute("VACUUM ANALYZE")


class Caller:
    """Appends to a session of its own, and reads the newest messages."""

    def __init__(self, entity: AsyncEntityClient, context: AsyncContextClient) -> None:
        self._entity, self._context = entity, context
        self.longest_s = {"append": 0.0, "read": 0.0}
        self.calls = 0
        self.failed: list[str] = []

    async def run(self, over: asyncio.Event) -> None:
        """Append and read in turns until the event `over` is set."""
        session = NodeInput("Session")
        await self._entity.graph.write([session])
        while not over.is_set():
            turn = NodeInput("Turn", data={"text": "It rains."})
            for name, call in (
                ("append", self._entity.graph.write([turn], [EdgeInput(session.id, turn.id, "Contains")])),
                ("read", self._context.history.get(session.id, max_messages=10)),
            ):
                began = time.perf_counter()
                try:
                    await call
                except Exception as error:
                    self.failed.append(f"{name}: {error}")
                self.longest_s[name] = max(self.longest_s[name], time.perf_counter() - began)
                self.calls += 1
            await asyncio.sleep(PAUSE_S)


async def measure(stack: dev.Stack, key: str) -> bool:
    """Move the tenant, print the figures, and say whether the target is met."""
    async with (
        AsyncEntityClient(stack.entity_address, api_key=key) as entity,
        AsyncContextClient(stack.context_address, api_key=key) as context,
    ):
        caller, over = Caller(entity, context), asyncio.Event()
        calling = asyncio.create_task(caller.run(over))
        await asyncio.sleep(2)
        command = [sys.executable, "-m", "context_service", "tenants", "move", TENANT, "--to", EAST, "--json"]
        process = await asyncio.create_subprocess_exec(*command, env=stack.environment, stdout=subprocess.PIPE)
        answer, _ = await process.communicate()
        over.set()
        await calling
    moved = json.loads(answer)
    waited_s = moved["writes_waited_s"]
    print(f"{moved['rows']:,} rows in {moved['took_s']:.0f} s: {moved['rows'] / moved['took_s']:,.0f} a second")
    print(f"its writes waited for {waited_s:.2f} s (<= {WAITED_S_MAX:g})")
    longest = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in caller.longest_s.items())
    print(f"meanwhile {caller.calls:,} calls of one caller, {len(caller.failed)} failed; the longest: {longest}")
    for failed in caller.failed[:5]:
        print(f"  {failed}")
    return bool(waited_s <= WAITED_S_MAX)


def main() -> None:
    """Run the benchmark; exit with 1 if it misses the target."""
    nodes, records = map(int, sys.argv[1:]) if len(sys.argv) > 1 else (NODES, RECORDS)
    with (
        tempfile.TemporaryDirectory() as name,
        dev.stack(Path(name), keep=False, others=[EAST]) as stack,
    ):
        home, east = stack.environment["DATABASE_ADMIN_URL"], stack.environment["DATABASE_ADMIN_URLS"].partition("=")[2]
        Databases(home, {EAST: east}).add_tenant(TENANT, database="home")
        key = KeyAdministration(home).create(NewKey(tenant=TENANT, subject="bench", scopes=("read", "write")))
        began = time.perf_counter()
        fill(stack.postgres.url(role="postgres"), nodes, records)
        print(f"{nodes:,} nodes and {records:,} records written in {time.perf_counter() - began:.0f} s", flush=True)
        is_met = asyncio.run(measure(stack, key))
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
