"""A whole graph read out, kind by kind, in pages.

Nodes come in the order of their creation, so that an import writes them in that order again; edges come last.
A page is one statement: no connection and no snapshot waits for a slow reader. The export ends at the nodes that were
there when it began, so that no edge is exported without its nodes; it may hold some rows that are written meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any, NamedTuple
from uuid import UUID

from contextkeep.errors import InvalidPageToken
from entity_service.model.times import iso
from entity_service.model.transfer import ExportPage, ExportQuery
from entity_service.pure import graph_lines
from entity_service.store.graph_export import (
    BEGIN,
    PAGE_BYTES,
    PAGE_ROWS,
    SCANNED_ROWS,
    SETTLED,
    edge_page,
    embedding_page,
    envelope_page,
    node_page,
)
from service_runtime.inputs.pages import decode_token, encode_token
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import Principal

_SETTLE_S = 5.0

_SETTLE_POLL_S = 0.01

_KINDS = ("node", "embedding", "envelope", "edge")


class _Place(NamedTuple):
    """How far an export is."""

    seq_max: int
    kind: int  # of `_KINDS`
    key: tuple[Any, ...]  # of the last row of that kind; empty: none was read


class GraphExport:
    """Reads graphs out; every method sees the principal's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def pages(self, principal: Principal, query: ExportQuery) -> AsyncGenerator[ExportPage, None]:
        """Yield the pages of a graph, one at least.

        Raises:
            InvalidPageToken: the token is of another graph.
        """
        tenant = self._database.of(principal)
        binding = ("ExportGraph", tenant.tenant_id, query.graph_name)
        place = _decode(binding, query.resume_token)
        if place is None:
            place = _Place(await self._begin(tenant, query.graph_name), 0, ())
            yield ExportPage(graph_lines.graph_line(query.graph_name), "graph", 0, _encode(binding, place))
        parameters = {
            "tenant_id": tenant.tenant_id,
            "graph_name": query.graph_name,
            "seq_max": place.seq_max,
            "rows": PAGE_ROWS,
            "scanned_rows": SCANNED_ROWS,
            "bytes_max": PAGE_BYTES,
        }
        readers = (node_page, embedding_page, envelope_page, edge_page)
        while place.kind < len(_KINDS):
            lines, rows, key = await readers[place.kind](tenant, parameters, place.key)
            name = _KINDS[place.kind]
            place = place._replace(key=key) if key else _Place(place.seq_max, place.kind + 1, ())
            if rows:
                yield ExportPage(lines, name, rows, _encode(binding, place))

    async def _begin(self, tenant: Tenant, graph_name: str) -> int:
        """Return the `seq` that the export ends at: every node below it is there already.

        A number is drawn before its row is committed, so this waits for writes that are under way; they take
        milliseconds. If one takes longer than seconds, the export may miss its rows.
        """
        (row,) = await tenant.query(BEGIN, {"graph_name": graph_name})
        give_up_at = time.monotonic() + _SETTLE_S
        while time.monotonic() < give_up_at:
            (answer,) = await tenant.query(SETTLED, {"transaction_id": row.transaction_id})
            if answer.settled:
                break
            await asyncio.sleep(_SETTLE_POLL_S)
        seq_max: int = row.seq_max
        return seq_max


def _encode(binding: tuple[object, ...], place: _Place) -> str:
    return encode_token(binding, [place.seq_max, place.kind, list(place.key)])


def _decode(binding: tuple[object, ...], token: str) -> _Place | None:
    """Return where an export goes on, or None for its begin.

    Raises:
        InvalidPageToken: the token is malformed, or of another graph.
    """
    parts = decode_token(binding, token, parts=3, field="resume_token")
    if parts is None:
        return None
    seq_max, kind, key = parts
    try:
        if not (_is_number(seq_max) and type(kind) is int and 0 <= kind <= len(_KINDS) and isinstance(key, list)):
            raise ValueError("not a place")
        if key:
            _check_key(kind, key)
    except (ValueError, TypeError, IndexError, OverflowError):
        raise InvalidPageToken("resume_token is malformed", field="resume_token") from None
    return _Place(seq_max, kind, tuple(key))


def _check_key(kind: int, key: list[Any]) -> None:
    """Refuse a key that no export made.

    Raises:
        ValueError, IndexError, InvalidPageToken: the token is malformed.
    """
    name = _KINDS[kind]
    if name in ("node", "envelope"):
        iso(key[0])
        wanted = 2 if name == "node" else 3
        if len(key) != wanted or not all(map(_is_number, key[1:])) or type(key[0]) is not int:
            raise ValueError("not a time and a place")
        return
    wanted = 2 if name == "embedding" else 1
    if len(key) != wanted or not all(isinstance(part, str) and "\0" not in part for part in key):
        raise ValueError("not an id")
    if str(UUID(key[0])) != key[0]:
        raise ValueError("not an id as we spell it")


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63
