"""Named things of a tenant: what all kinds have in common. The RPCs of each kind are tested with that kind."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from context_service.kernel.catalog import Catalog, Table
from contextkeep.errors import LimitExceeded, NotFound
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.statements.requests import Requests
from tests.conftest import PRINCIPAL, neighbour_of

_VALUES = {"display_name": "", "instructions": "", "node_ids": [], "steps_max": 1, "is_default": False}
_TABLE = Table(name="context.specialist", key="specialist_id", columns=tuple(_VALUES))


@pytest.fixture
def catalog(database: Database) -> Catalog[Row]:
    """Return the specialists of tenants, of which each may have two."""

    def check(count: int) -> None:
        if count > 2:
            raise LimitExceeded("there are too many", limit="specialists", limit_max=2, value=count)

    return Catalog(
        database,
        _TABLE,
        requests=Requests("context"),
        of_row=lambda row: row,
        not_found=NotFound,
        check_count=check,
    )


async def test_concurrent_puts_keep_the_limit(catalog: Catalog[Row]):
    """A count sees only rows that are committed, so the puts of new names must count one after the other."""
    await catalog.put("first", _VALUES, principal=PRINCIPAL, request=None)
    has_put, may_commit = asyncio.Event(), asyncio.Event()

    async def put_slowly(transaction: Transaction) -> None:
        await catalog.put_in(transaction, "second", _VALUES, by="test")
        has_put.set()
        await may_commit.wait()

    slow = asyncio.create_task(catalog.write(put_slowly, principal=PRINCIPAL, request=None))
    await has_put.wait()
    other = asyncio.create_task(catalog.put("third", _VALUES, principal=PRINCIPAL, request=None))
    done, _ = await asyncio.wait([other], timeout=0.3)
    assert not done, "it counted without the row that is not committed yet"
    may_commit.set()
    await slow
    with pytest.raises(LimitExceeded):
        await other
    again = await catalog.put("first", _VALUES, principal=PRINCIPAL, request=None)
    assert (again.version, catalog.changes) == (2, 4)  # a thing that is there may be put at the limit


async def test_other_tenants_have_limits_and_names_of_their_own(catalog: Catalog[Row]):
    other = replace(PRINCIPAL, tenant_id=neighbour_of(PRINCIPAL.tenant_id))
    for name in ("first", "second"):
        await catalog.put(name, _VALUES, principal=PRINCIPAL, request=None)
    assert (await catalog.put("second", _VALUES, principal=other, request=None)).version == 1
    await catalog.delete("second", principal=other, request=None)
    assert [row.specialist_id for row in await catalog.first(9, principal=PRINCIPAL)] == ["first", "second"]
    with pytest.raises(NotFound):
        await catalog.get("second", principal=other)
