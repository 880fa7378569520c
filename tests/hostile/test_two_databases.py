"""Tenants in two databases read nothing of each other, whichever of them asks and whatever it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import pytest

from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.clients.stack import running_in_a_thread
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL
from tests.hostile.calling import WHOLE_SHARES, AnyTenant, Client
from tests.hostile.things import RPCS, SECRET, Things, cases, seeded
from tests.spread import two_databases

TENANTS = (PRINCIPAL.tenant_id, OTHER_PRINCIPAL.tenant_id)  # the second one lives in the other database


@pytest.fixture(scope="module")
def spread(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Client, list[Things]]]:
    with (
        two_databases(postgres) as two,
        running_in_a_thread(
            two.home.service,
            tmp_path_factory.mktemp("blobs"),
            callers=AnyTenant(),
            database_urls=two.urls,
            **WHOLE_SHARES,
        ) as addresses,
        Client.open(addresses) as client,
    ):
        yield client, [seeded(client, tenant_id) for tenant_id in TENANTS]


@pytest.mark.parametrize("asking", [0, 1])
def test_whoever_names_what_another_database_has_is_told_nothing_of_it(
    spread: tuple[Client, list[Things]], asking: int
):
    client, things = spread
    told = 0
    for rpc in RPCS.values():
        if not rpc.reads:
            continue
        for theirs, ours in zip(cases(rpc, things[1 - asking]), cases(rpc, things[asking]), strict=True):
            outcome = client.call(rpc, theirs, key=TENANTS[asking])
            names = {str(value) for value in asdict(things[1 - asking]).values() if len(str(value)) >= 32}
            answers = "".join(map(str, outcome.answers))
            told += SECRET in "".join(map(str, client.call(rpc, ours, key=TENANTS[asking]).answers))
            named = "".join(map(str, theirs if isinstance(theirs, list) else [theirs]))
            assert not {name for name in names if name in answers and name not in named}, f"{rpc}: {answers}"
    assert told > 10, "of its own it reads"
