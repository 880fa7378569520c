"""Whatever a caller sends, to any RPC: no INTERNAL, no word about the inside, one ErrorInfo, and a healthy server.

`make fuzz` runs more of it, and other requests each time; `make test` the same few.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grpc_health.v1 import health_pb2
from hypothesis import HealthCheck, given, settings

from tests.conftest import Urls
from tests.hostile.calling import Client, faults
from tests.hostile.strategies import Pool, requests
from tests.hostile.things import RPCS, cases, invented, seeded
from tests.rpcs import Rpc

REQUESTS = int(os.environ.get("FUZZ_REQUESTS") or 0)  # of each RPC; 0: a share of what `make test` has time for
REQUESTS_IN_ALL = 3000


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


def pool_of(client: Client, key: object) -> tuple[Pool, dict[str, list[Any]]]:
    """Seed two tenants, and return what there is to name, and the requests of each RPC to start from."""
    things, others = seeded(client, key), seeded(client, uuid.uuid4())
    known = [*things.values(), *others.values(), *invented().values()]
    pool = Pool(ids=[word for word in known if _is_id(word)], words=[word for word in known if not _is_id(word)])
    bases = {name: cases(rpc, things) for name, rpc in RPCS.items()}
    for name, rpc in RPCS.items():
        if rpc.client_streaming or "page_token" not in rpc.request.DESCRIPTOR.fields_by_name:
            continue
        size = "page_size" if "page_size" in rpc.request.DESCRIPTOR.fields_by_name else "limit"
        for case in list(bases[name]):
            first = rpc.request()
            first.CopyFrom(case)
            setattr(first, size, 1)
            outcome = client.call(rpc, first, key=key)
            for answer in outcome.answers:
                if answer.next_page_token:
                    pool.tokens.append(answer.next_page_token)
                    second = rpc.request()
                    second.CopyFrom(first)
                    second.page_token = answer.next_page_token
                    bases[name].append(second)
    return pool, bases


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
    rpc: Rpc, client: Client, errors: Errors, blob_folder: Path, shared_urls: Urls
):
    key = uuid.uuid4()
    pool, bases = pool_of(client, key)
    private = [str(blob_folder), shared_urls.service, shared_urls.service.split("@")[1]]
    made = requests(rpc, pool, bases[rpc.name])

    @settings(
        max_examples=REQUESTS or REQUESTS_IN_ALL // len(RPCS),
        derandomize=not REQUESTS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(made)
    def answered(case: Any) -> None:
        errors.records.clear()
        outcome = client.call(rpc, case, key=key)
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
def test_whatever_a_mapping_says_histories_are_answered(client: Client, errors: Errors):
    """Rules that were accepted meet nodes that they do not expect."""
    key = uuid.uuid4()
    pool, bases = pool_of(client, key)
    register, read = RPCS["RegisterMapping"], [RPCS["GetChatHistory"], RPCS["StreamChatHistory"]]
    (history, *_), _ = (bases[rpc.name] for rpc in read)

    @settings(
        max_examples=REQUESTS or 100,
        derandomize=not REQUESTS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(requests(register, pool, bases["RegisterMapping"]))
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
