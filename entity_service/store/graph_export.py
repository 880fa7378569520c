"""The statements of an export: a page of each kind of row after a key."""

from __future__ import annotations

from typing import Any

from entity_service.model.times import iso
from entity_service.model.transfer import ExportedEdge, ExportedEmbedding, ExportedEnvelope, ExportedNode
from entity_service.pure import graph_lines
from service_runtime.postgres import Tenant
from service_runtime.statements.sql_files import SqlFile

PAGE_ROWS = 1000

PAGE_BYTES = 1024 * 1024

_EMBEDDING_ROWS = 20  # embeddings of a page, with up to 50 KB of text each

SCANNED_ROWS = 5000  # nodes that are looked at for envelopes in one statement

SQL = SqlFile.of(__file__)
BEGIN = SQL["begin"]
SETTLED = SQL["settled"]
_NODES = SQL["nodes"]
_EMBEDDINGS = SQL["embeddings"]
_ENVELOPES = SQL["envelopes"]
_EDGES = SQL["edges"]


_FIRST_ID = "00000000-0000-0000-0000-000000000000"

Page = tuple[bytes, int, tuple[Any, ...]]  # lines, rows, the key of the last row; empty: that was the last page


async def node_page(tenant: Tenant, parameters: dict[str, Any], key: tuple[Any, ...]) -> Page:
    """Return the page of nodes after a key; an empty key is the beginning."""
    after_at, after_seq = (iso(key[0]), key[1]) if key else ("-infinity", 0)
    rows = await tenant.query(_NODES, {**parameters, "after_at": after_at, "after_seq": after_seq}, named=False)
    lines = b"".join([graph_lines.node_lines(ExportedNode._make(row[3:])) for row in rows])
    return lines, len(rows), _key(rows, rows[0][0] if rows else 0)


async def embedding_page(tenant: Tenant, parameters: dict[str, Any], key: tuple[Any, ...]) -> Page:
    """Return the page of embeddings after a key; an empty key is the beginning."""
    after_id, after_name = key or (_FIRST_ID, "")
    rows = await tenant.query(
        _EMBEDDINGS,
        {**parameters, "rows": _EMBEDDING_ROWS, "after_id": after_id, "after_name": after_name},
        named=False,
        ad_hoc=True,
    )
    lines = b"".join([graph_lines.embedding_line(ExportedEmbedding._make(row[3:])) for row in rows])
    return lines, len(rows), tuple(rows[-1][1:3]) if len(rows) == _EMBEDDING_ROWS else ()


async def envelope_page(tenant: Tenant, parameters: dict[str, Any], key: tuple[Any, ...]) -> Page:
    """Return the page of envelopes after a key; an empty key is the beginning."""
    after_at, after_seq, after_envelope = (iso(key[0]), key[1], key[2]) if key else ("-infinity", 0, 0)
    rows = await tenant.query(
        _ENVELOPES,
        {**parameters, "after_at": after_at, "after_seq": after_seq, "after_envelope": after_envelope},
        named=False,
    )
    envelopes = [ExportedEnvelope._make(row[4:]) for row in rows if not row[0]]
    lines = b"".join([graph_lines.envelope_line(envelope) for envelope in envelopes])
    if not rows or tuple(rows[-1][1:4]) == key:
        return lines, len(envelopes), ()
    return lines, len(envelopes), tuple(rows[-1][1:4])


async def edge_page(tenant: Tenant, parameters: dict[str, Any], key: tuple[Any, ...]) -> Page:
    """Return the page of edges after a key; an empty key is the beginning."""
    (after_id,) = key or (_FIRST_ID,)
    rows = await tenant.query(_EDGES, {**parameters, "after_id": after_id}, named=False, ad_hoc=True)
    lines = b"".join([graph_lines.edge_line(ExportedEdge._make(row[3:])) for row in rows])
    return lines, len(rows), (rows[-1][1],) if rows else ()


def _key(rows: list[Any], looked_at: int) -> tuple[Any, ...]:
    """Return the key of the last row, or an empty one if there is certainly no row after it."""
    return tuple(rows[-1][1:3]) if rows and (looked_at == PAGE_ROWS or len(rows) < looked_at) else ()
