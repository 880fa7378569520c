"""Which tenants to move, so that the databases are of like size: proposed, and done by nobody but an operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg.rows import namedtuple_row

from service_runtime.administration import administering
from service_runtime.databases import Databases

_NEAR = 0.1  # of the mean size: nearer to it no move is worth its while
_MOVES_MAX = 20

# Rows of messages and nodes stand for all that a tenant has; sizes of databases say how many bytes one is.
_ROWS = """
SELECT t.name, (SELECT count(*) FROM entity.node n WHERE n.tenant_id = t.id)
    + (SELECT count(*) FROM context.message m WHERE m.tenant_id = t.id) AS rows
FROM access.tenant t JOIN access.residence r ON r.tenant_id = t.id AND r.state = 'HERE'
ORDER BY 2 DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A move that makes two databases more like."""

    tenant: str
    source: str
    target: str
    bytes: int  # about


def proposals(databases: Databases) -> list[Proposal]:
    """Return moves from the largest databases to the smallest, the most useful first."""
    sizes = databases.sizes()
    tenants: dict[str, dict[str, int]] = {}
    for name in sizes:
        with administering(databases.url_of(name), row_factory=namedtuple_row) as connection:
            rows = {row.name: int(row.rows) for row in connection.execute(_ROWS)}
        all_rows = sum(rows.values())
        tenants[name] = {tenant: sizes[name] * count // all_rows for tenant, count in rows.items() if count}
    return proposed(sizes, tenants)


def proposed(sizes: Mapping[str, int], tenants: Mapping[str, Mapping[str, int]]) -> list[Proposal]:
    """Return the moves for databases of these bytes, with tenants of these."""
    size, left = dict(sizes), {name: dict(of) for name, of in tenants.items()}
    mean = sum(size.values()) / len(size)
    found: list[Proposal] = []
    while len(found) < _MOVES_MAX:
        source, target = max(size, key=size.__getitem__), min(size, key=size.__getitem__)
        gap = size[source] - size[target]
        # The largest that leaves its new database smaller than the old one was; one alone stays where it is.
        fitting = {tenant: count for tenant, count in left[source].items() if count < gap}
        if size[source] - mean <= _NEAR * mean or not fitting:
            break
        tenant = min(fitting, key=lambda one: abs(fitting[one] - gap / 2))
        found.append(
            Proposal(tenant=tenant, source=source or "home", target=target or "home", bytes=left[source].pop(tenant))
        )
        size[source] -= found[-1].bytes
        size[target] += found[-1].bytes
    return found
