"""Proposes moves of tenants that even out the load of the databases; only an operator carries them out.

The weight of a tenant is half its share of all bytes and half its share of all writes. Writes are those of the last
day, counted by the rows of their request ids, which are kept as long (`context.request`, `entity.request`). Reads are
not counted by tenant; a tenant that writes much reads much, as a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg.rows import namedtuple_row

from service_runtime.databases.placement import Databases
from service_runtime.postgres.administration import administering
from service_runtime.statements.sql_files import SqlFile

_NEAR = 0.1  # a database within this part of the mean weight needs no move
_MOVES_MAX = 20

SQL = SqlFile.of(__file__)
_HELD = SQL["held"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The bytes and the writes of a database or a tenant."""

    bytes: int  # bytes; of a tenant, an estimate
    writes: int  # writes of the last day


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A move that evens out the load of two databases."""

    tenant: str
    source: str
    target: str
    bytes: int  # an estimate
    writes: int  # writes of the last day


def proposals(databases: Databases) -> list[Proposal]:
    """Return moves from the databases with most to keep and to do to those with least, the most useful first.

    A database that does not answer is left out.
    """
    sizes = databases.sizes()
    loads: dict[str, Load] = {}
    tenants: dict[str, dict[str, Load]] = {}
    for name, size in sizes.items():
        with administering(databases.url_of(name), row_factory=namedtuple_row) as connection:
            held_rows = connection.execute(_HELD).fetchall()
        all_rows = sum([row.rows for row in held_rows])
        tenants[name] = {
            row.name: Load(bytes=size * row.rows // max(all_rows, 1), writes=row.writes)
            for row in held_rows
            if row.rows or row.writes
        }
        loads[name] = Load(bytes=size, writes=sum([row.writes for row in held_rows]))
    return proposed(loads, tenants)


def proposed(databases: Mapping[str, Load], tenants: Mapping[str, Mapping[str, Load]]) -> list[Proposal]:
    """Return the moves that even out these loads of databases and of the tenants in each."""
    all_bytes = sum([load.bytes for load in databases.values()]) or 1
    all_writes = sum([load.writes for load in databases.values()]) or 1

    def weight(load: Load) -> float:
        return (load.bytes / all_bytes + load.writes / all_writes) / 2

    weights = {name: weight(load) for name, load in databases.items()}
    left = {name: {tenant: weight(load) for tenant, load in of.items()} for name, of in tenants.items()}
    mean = sum(weights.values()) / len(weights)
    proposals: list[Proposal] = []
    while len(proposals) < _MOVES_MAX:
        source, target = max(weights, key=weights.__getitem__), min(weights, key=weights.__getitem__)
        gap = weights[source] - weights[target]
        # The heaviest that leaves its new database lighter than the old one was; a tenant alone stays where it is.
        fitting = {tenant: tenant_weight for tenant, tenant_weight in left[source].items() if tenant_weight < gap}
        if weights[source] - mean <= _NEAR * mean or not fitting:
            break
        tenant = min(fitting, key=lambda tenant_weight: abs(fitting[tenant_weight] - gap / 2))
        load = tenants[source][tenant]
        proposals.append(
            Proposal(
                tenant=tenant,
                source=source or "home",
                target=target or "home",
                bytes=load.bytes,
                writes=load.writes,
            )
        )
        moved = left[source].pop(tenant)
        weights[source] -= moved
        weights[target] += moved
    return proposals
