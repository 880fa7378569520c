"""Whatever a caller sends, to any RPC: no INTERNAL, no word about the inside, one ErrorInfo, and a healthy server.

`make fuzz` runs more of it, and other requests each time; `make test` the same few.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from grpc_health.v1 import health_pb2
from hypothesis import HealthCheck, given, settings

from tests.conftest import Urls
from tests.hostile.calling import Client, faults
from tests.hostile.copies import Another
from tests.hostile.strategies import Pool, requests
from tests.hostile.things import RPCS, Things, cases, seeded
from tests.rpcs import Rpc

REQUESTS = int(os.environ.get("FUZZ_REQUESTS") or 0)  # of each RPC; 0: a share of what `make test` has time for
REQUESTS_IN_ALL = 1300  # the same ones each time, so more of them find no more: those of `make fuzz` differ
ADDS = (  # what adds, and takes nothing away, begins so
    *("Append", "Commit", "Create", "Fold", "Import", "Insert", "Issue", "Open", "Pack", "Pin", "Prepare", "Put"),
    *("Register", "Send", "Set", "Start", "Upload", "Upsert", "Write"),
)


class Errors(logging.Handler):
    """What the services log as errors of their own."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def errors() -> Iterator[Errors]:
    handler = Errors()
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


@dataclass(kw_only=True)
class World:
    """A tenant, what there is to name, and the requests of each RPC to start from."""

    key: uuid.UUID
    pool: Pool
    bases: dict[str, list[Any]]


def world_of(another: Another, others: Things) -> World:
    key, things = another()
    known = [*things.values(), *others.values(), *Things().values()]
    pool = Pool(ids=[word for word in known if _is_id(word)], words=[word for word in known if not _is_id(word)])
    return World(key=key, pool=pool, bases={name: cases(rpc, things) for name, rpc in RPCS.items()})


def turn_pages(client: Client, world: World) -> None:
    """Collect page tokens, and start from second pages, too."""
    for name, rpc in RPCS.items():
        fields = rpc.request.DESCRIPTOR.fields_by_name
        if "page_token" not in fields:
            continue
        for case in list(world.bases[name]):
            first = rpc.request()
            first.CopyFrom(case)
            setattr(first, "page_size" if "page_size" in fields else "limit", 1)
            for answer in client.call(rpc, first, key=world.key).answers:
                if answer.next_page_token:
                    world.pool.tokens.append(answer.next_page_token)
                    second = rpc.request()
                    second.CopyFrom(first)
                    second.page_token = answer.next_page_token
                    world.bases[name].append(second)


@pytest.fixture(scope="module")
def others(client: Client) -> Things:
    return seeded(client, uuid.uuid4())


@pytest.fixture(scope="module")
def world_to_read(client: Client, another: Another, others: Things) -> World:
    """Shared by what changes nothing."""
    world = world_of(another, others)
    turn_pages(client, world)
    return world


@pytest.fixture(scope="module")
def world_to_add_to(another: Another, others: Things) -> World:
    """Shared by what takes nothing away that another RPC names."""
    return world_of(another, others)


@pytest.fixture
def world(request: pytest.FixtureRequest, rpc: Rpc, another: Another, others: Things) -> World:
    if rpc.reads or rpc.name.startswith(ADDS):
        shared: World = request.getfixturevalue("world_to_read" if rpc.reads else "world_to_add_to")
        return shared
    return world_of(another, others)


def _is_id(word: str) -> bool:
    try:
        return bool(uuid.UUID(word))
    except ValueError:
        return False


@pytest.fixture(params=list(RPCS.values()), ids=str)
def rpc(request: pytest.FixtureRequest) -> Rpc:
    found: Rpc = request.param
    return found


# The services run in this process, and draw their intervals with `random`: Hypothesis takes that for the strategies'.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@pytest.mark.timeout(0)
def test_whatever_a_caller_sends_is_answered(
    rpc: Rpc, world: World, client: Client, errors: Errors, blob_folder: Path, shared_urls: Urls
):
    private = [str(blob_folder), shared_urls.service, shared_urls.service.split("@")[1]]
    made = requests(rpc, world.pool, world.bases[rpc.name])

    @settings(
        max_examples=REQUESTS or REQUESTS_IN_ALL // len(RPCS),
        derandomize=not REQUESTS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(made)
    def answered(case: Any) -> None:
        errors.records.clear()
        outcome = client.call(rpc, case, key=world.key)
        assert not faults(outcome, private=private), outcome
        assert outcome.reason != "TOO_MANY_CALLS", "calls before this one have never ended"
        assert not errors.records, [record.getMessage() for record in errors.records]

    answered()

    check = client.send(
        "/grpc.health.v1.Health/Check",
        health_pb2.HealthCheckRequest(service=rpc.service),
        process=rpc.process,
        decode=health_pb2.HealthCheckResponse.FromString,
    )
    assert check.answers[0].status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@pytest.mark.timeout(0)
def test_whatever_a_mapping_says_histories_are_answered(client: Client, errors: Errors, world_to_read: World):
    """Rules that were accepted meet nodes that they do not expect."""
    key, bases = world_to_read.key, world_to_read.bases
    register, read = RPCS["RegisterMapping"], [RPCS["GetChatHistory"], RPCS["StreamChatHistory"]]
    history = bases["GetChatHistory"][0]

    @settings(
        max_examples=REQUESTS or 100,
        derandomize=not REQUESTS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(requests(register, world_to_read.pool, bases["RegisterMapping"]))
    def answered(case: Any) -> None:
        errors.records.clear()
        if not isinstance(case, bytes):
            case.app_id, case.mapping_name, case.replace = "", "fuzzed", True
        if not client.call(register, case, key=key).ok:
            return
        for rpc in read:
            question = rpc.request(node_id=history.node_id, mapping_name="fuzzed")
            outcome = client.call(rpc, question, key=key)
            assert not faults(outcome), outcome
            assert not errors.records, [record.getMessage() for record in errors.records]

    answered()
