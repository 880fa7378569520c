"""Vectors in half precision as parameters and in rows."""

from __future__ import annotations

from typing import Any

import psycopg
from pgvector.psycopg.halfvec import register_halfvec_info
from psycopg.rows import tuple_row
from psycopg.types import TypeInfo

_TYPE = "SELECT typname, oid, typarray FROM pg_type WHERE oid = to_regtype('halfvec')"


async def take_half_vectors(connection: psycopg.AsyncConnection[Any]) -> None:
    """Let a connection take and give `pgvector.HalfVector`, the only one of pgvector's types that we store.

    pgvector's own `take_half_vectors` asks for four types, in twelve round trips: as much work as to connect.

    Raises:
        psycopg.ProgrammingError: the database has no pgvector, or one older than the type.
    """
    cursor = await connection.cursor(row_factory=tuple_row).execute(_TYPE)
    if (row := await cursor.fetchone()) is None:
        raise psycopg.ProgrammingError(
            "the database has no type halfvec: an operator must install pgvector 0.7 or newer there with"
            " `CREATE EXTENSION vector`, or update an older one with `ALTER EXTENSION vector UPDATE`"
        )
    name, oid, array_oid = row
    register_halfvec_info(connection, TypeInfo(name, oid, array_oid))
