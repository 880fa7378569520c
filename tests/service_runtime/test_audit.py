"""Every call that may change something leaves a line: who, what, and how it ended; and nothing of the content."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from contextkeep.context.v1.context_windows_pb2 import PackResponse, PackSpan
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import NodeNotFound, Unauthenticated
from service_runtime.auth import audit
from tests import cpu
from tests.conftest import KEY, PRINCIPAL, Addresses

NO_NODE = "0190b5f4-0000-7000-8000-000000000000"
SECRET = "what a user wrote"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What is logged when `LOG_LEVEL` lets nothing else through."""
    logging.getLogger("calls").setLevel(logging.ERROR)
    caplog.handler.setLevel(logging.INFO)
    try:
        yield caplog
    finally:
        logging.getLogger("calls").setLevel(logging.NOTSET)


async def line(lines: pytest.LogCaptureFixture, method: str) -> dict[str, Any]:
    """Return the one line of a method: a server writes it a moment after its caller has the answer."""
    async with asyncio.timeout(30):
        while not (found := [one for one in lines.records if getattr(one, "method", "").endswith(f"/{method}")]):
            await asyncio.sleep(0.01)
    (record,) = found
    assert record.name == "audit"
    return vars(record)


async def test_a_write_names_its_principal_and_what_it_changed(services: Addresses, lines: pytest.LogCaptureFixture):
    session, turn = NodeInput("Session", name=SECRET), NodeInput("Turn", data={"user_input": SECRET})
    edge = EdgeInput(session.id, turn.id, "Contains")
    async with AsyncEntityClient(services.entity, api_key=KEY) as graph:
        await graph.graph.write([session, turn], [edge])

    written = await line(lines, "WriteGraph")
    assert (written["subject"], written["tenant_id"]) == (PRINCIPAL.subject, str(PRINCIPAL.tenant_id))
    assert (written["scope"], written["status"]) == ("write", "OK")
    assert written["peer"].startswith(("ipv4:127.0.0.1:", "ipv6:"))
    assert written["ids"]["request.nodes.id"] == [str(session.id), str(turn.id)]
    assert written["ids"]["request.edges.from_node_id"] == [str(session.id)]
    assert written["ids"]["request.request_id"]
    assert SECRET not in str(written)
    assert KEY not in str(written)


async def test_an_upload_names_its_header_and_the_record_that_came_of_it(
    services: Addresses, lines: pytest.LogCaptureFixture
):
    async with AsyncContextClient(services.context, api_key=KEY) as context:
        record = await context.blobs.upload(SECRET.encode(), name="a file")

    written = await line(lines, "UploadBlob")
    assert written["ids"]["response.record.working_memory_id"] == [str(record.working_memory_id)]
    assert SECRET not in str(written)


async def test_a_write_that_failed_says_how(services: Addresses, lines: pytest.LogCaptureFixture):
    async with AsyncEntityClient(services.entity, api_key=KEY) as graph:
        with pytest.raises(NodeNotFound):
            await graph.graph.archive_node(NO_NODE)

    written = await line(lines, "ArchiveNode")
    assert (written["status"], written["reason"]) == ("NOT_FOUND", "NODE_NOT_FOUND")
    assert written["ids"]["request.node_id"] == [NO_NODE]


async def test_reads_and_strangers_leave_no_line(services: Addresses, lines: pytest.LogCaptureFixture):
    async with AsyncEntityClient(services.entity, api_key=KEY) as graph:
        with pytest.raises(NodeNotFound):
            await graph.graph.get_node(NO_NODE)
        node = NodeInput("Session")
        await graph.graph.write([node])
    async with AsyncEntityClient(services.entity, api_key="no key") as graph:
        with pytest.raises(Unauthenticated):
            await graph.graph.archive_node(node.id)

    await line(lines, "WriteGraph")
    assert [one.name for one in lines.records].count("audit") == 1


async def test_a_line_stays_short_however_much_is_written(services: Addresses, lines: pytest.LogCaptureFixture):
    async with AsyncEntityClient(services.entity, api_key=KEY) as graph:
        await graph.graph.write([NodeInput("Session") for _ in range(1000)])

    written = await line(lines, "WriteGraph")
    assert sum(map(len, written["ids"].values())) <= 2 * audit.IDS_MAX


def test_rows_that_say_nothing_are_not_all_looked_at():
    """A refused request of two million of them kept the loop for seconds, after its caller had the answer."""
    request = pb.WriteGraphRequest(nodes=[pb.NodeInput()] * 1_000_000, request_id=NO_NODE)
    assert cpu.units(lambda: list(audit._ids_of(request, "request"))) < 100  # 2; of all of them, thousands
    assert list(audit._ids_of(request, "request")) == [("request.request_id", NO_NODE)]


def test_an_id_that_a_caller_made_up_is_said_by_its_digest():
    """It may be a name, or a number of a person: logs are not erased with him. Who has it finds the line."""
    request = pb.GetNodeByExternalIdRequest(external_id=SECRET)
    assert list(audit._ids_of(request, "request")) == [("request.external_id", audit.digest_of(SECRET))]
    assert SECRET not in audit.digest_of(SECRET)


def test_parts_of_an_answer_that_can_have_no_ids_are_not_looked_at():
    """A pack tells the author of each of its parts, and the search for ids in them cost more than the pack."""
    answer = PackResponse(spans=[PackSpan(pointer="/messages/0", author="user")] * 900)
    answer.files.add(working_memory_id=NO_NODE)
    assert cpu.units(lambda: list(audit._ids_of(answer, "response"))) < 1  # 0.2; of all spans: 4
    assert list(audit._ids_of(answer, "response")) == [("response.files.working_memory_id", NO_NODE)]
