"""What once held up every caller is refused or done, and holds up nobody: the probe beside each case says so."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest
from google.protobuf.message import Message

from contextkeep.entity.v1 import entity_graph_pb2 as graph
from tests.hostile.attacks import ATTACKS
from tests.hostile.calling import Client, faults
from tests.hostile.stalls import AT_ONCE, STALL_S_MAX, StallProbe
from tests.hostile.things import RPCS


@pytest.mark.parametrize(("rpc", "request_"), [attack[1:] for attack in ATTACKS], ids=[attack[0] for attack in ATTACKS])
def test_an_attack_by_several_callers_holds_up_nobody(rpc: str, request_: Message, client: Client):
    key = uuid.uuid4()
    case = request_.SerializeToString()  # once: what the attacker's own interpreter does is no stall
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(
            pool.map(lambda _: client.call(RPCS[rpc], case, key=key, timeout_s=60), range(AT_ONCE)),
        )

    assert [faults(outcome) for outcome in outcomes] == [[]] * len(outcomes)
    question = graph.CountNodesRequest()
    assert client.call(RPCS["CountNodes"], question, key=uuid.uuid4()).ok


@pytest.mark.parametrize("waits_s", [0.02, 0.2])
def test_an_attack_by_callers_who_do_not_wait_holds_up_nobody(waits_s: float, client: Client):
    """What is done for a call ends with it, so that more of them are no more than those under way."""
    key = uuid.uuid4()
    cases = [case.SerializeToString() for _, rpc, case in ATTACKS if rpc == "TestMapping"]
    with ThreadPoolExecutor(2 * AT_ONCE) as pool:
        list(pool.map(lambda case: client.call(RPCS["TestMapping"], case, key=key, timeout_s=waits_s), 2 * cases))

    assert client.call(RPCS["CountNodes"], graph.CountNodesRequest(), key=uuid.uuid4()).ok


def spin(cpu_s: float) -> None:
    until_s = time.thread_time() + cpu_s
    while time.thread_time() < until_s:
        pass


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """In a thread that is called as the services' is."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="services")
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def test_the_probe_sees_what_holds_the_loop(loop: asyncio.AbstractEventLoop):
    probe = StallProbe()
    with probe.watching(loop):
        with probe.nobody_waits():
            loop.call_soon_threadsafe(spin, STALL_S_MAX / 5)
            time.sleep(0.1)
        with pytest.raises(AssertionError, match="another caller waited"), probe.nobody_waits():
            for _ in range(3):
                loop.call_soon_threadsafe(spin, 2 * STALL_S_MAX)
                time.sleep(0.2)


def test_the_probe_sees_what_holds_the_interpreter_beside_the_loop(loop: asyncio.AbstractEventLoop):
    """A parser in a thread keeps the loop from its turn like one in the loop."""
    text = "[" + ",".join(["[]"] * 600_000) + "]"
    probe = StallProbe()
    with probe.watching(loop), pytest.raises(AssertionError, match="another caller waited"), probe.nobody_waits():
        for _ in range(3):
            loop.call_soon_threadsafe(loop.run_in_executor, None, orjson.loads, text)
            time.sleep(0.5)
