"""Tenants that have what another has, copied by Postgres: to write all of it takes a hundred calls, to copy it one.

Ids are unique in a tenant, so a copy has those of its original, but for those that are made of the tenant's: these are
noted while the original is written, in this process. What services keep in memory is of a tenant: of a copy, nothing.
"""

from __future__ import annotations

import shutil
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.conftest import Urls, neighbour_of
from tests.hostile.tables import column_names, tables_of_tenants
from tests.hostile.things import Things

Another = Callable[[], tuple[uuid.UUID, Things]]  # makes a tenant that has everything

_RENAMED = """
CREATE FUNCTION pg_temp.renamed(of_row jsonb, old text[], new text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE renamed text := of_row::text;
BEGIN
    FOR i IN 1 .. cardinality(old) LOOP
        renamed := replace(renamed, old[i], new[i]);
    END LOOP;
    RETURN renamed::jsonb;
END $$
"""
# What no two rows may have, of whichever tenants.
_UNIQUE = {"access.context_key": {"id": "gen_random_uuid()", "key_sha256": "sha256(gen_random_uuid()::text::bytea)"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """What is copied, and the ids that were made of others: of which, by which name, and what they are."""

    tenant_id: uuid.UUID
    things: Things
    derived: tuple[tuple[uuid.UUID, str, uuid.UUID], ...]


def written(tenant_id: uuid.UUID, write: Callable[[], Things]) -> Original:
    """Let everything of a tenant be written."""
    derived = []

    def noting(of: uuid.UUID, name: str) -> uuid.UUID:
        made = uuid.uuid5(of, name)
        derived.append((of, name, made))
        return made

    with pytest.MonkeyPatch.context() as patch:
        for module in [one for one in sys.modules.values() if getattr(one, "uuid5", None) is uuid.uuid5]:
            if module is not uuid:
                patch.setattr(module, "uuid5", noting)
        things = write()
    return Original(tenant_id=tenant_id, things=things, derived=tuple(dict.fromkeys(derived)))


class Copies:
    """Copies tenants within the databases where they have rows; made by `copying`."""

    def __init__(self, connections: Sequence[psycopg.Connection], blob_folder: Path) -> None:
        self._connections = connections
        self._blob_folder = blob_folder

    def of(self, original: Original) -> tuple[uuid.UUID, Things]:
        """Return a new tenant with all rows and files of another, and the names of its things."""
        made = {original.tenant_id: neighbour_of(original.tenant_id)}
        for of, name, derived in original.derived:
            if of in made:
                made[derived] = uuid.uuid5(made[of], name)
        tenant_id = made[original.tenant_id]
        names = {str(old): str(new) for old, new in made.items()} | {original.tenant_id.hex: tenant_id.hex}
        arguments = original.tenant_id, list(names), list(names.values())
        for connection in self._connections:
            connection.execute("SELECT pg_temp.copy_tenant(%s, %s, %s)", arguments)
        shutil.copytree(self._blob_folder / original.tenant_id.hex, self._blob_folder / tenant_id.hex)
        of_things = {field.name: getattr(original.things, field.name) for field in fields(Things)}
        return tenant_id, Things(**{name: names.get(value, value) for name, value in of_things.items()})


@contextmanager
def copying(urls: Urls, blob_folder: Path) -> Iterator[Copies]:
    """Copy tenants in the block."""
    with ExitStack() as stack:
        connections = [stack.enter_context(psycopg.connect(one.superuser, autocommit=True)) for one in urls.all]
        for connection in connections:
            _prepare(connection)
        yield Copies(connections, blob_folder)


def _prepare(connection: psycopg.Connection) -> None:
    connection.execute("SET session_replication_role = replica")  # rows as they are: no triggers, no foreign keys
    connection.execute(_RENAMED)
    inserts = sql.SQL(" ").join(_insert(connection, table) for table in tables_of_tenants(connection))
    connection.execute(
        sql.SQL(
            "CREATE FUNCTION pg_temp.copy_tenant(original uuid, old text[], new text[]) RETURNS void"
            " LANGUAGE plpgsql AS {}"
        ).format(sql.Literal(sql.SQL("BEGIN {} END").format(inserts).as_string(connection)))
    )


def _insert(connection: psycopg.Connection, table: str) -> sql.Composed:
    columns, unique = column_names(connection, table), _UNIQUE.get(table, {})
    return sql.SQL(
        "INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {values}"
        " FROM {table} t, jsonb_populate_record(NULL::{table}, pg_temp.renamed(to_jsonb(t), old, new)) made"
        " WHERE t.tenant_id = original;"
    ).format(
        table=sql.Identifier(*table.split(".")),
        columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
        values=sql.SQL(", ").join(
            sql.SQL(unique[one]) if one in unique else sql.Identifier("made", one) for one in columns
        ),
    )
