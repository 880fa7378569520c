"""Graphs in and out through both clients, against a small real server that breaks off."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from contextkeep import retries
from contextkeep.client import _transfer
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphServicer
from tests.clients.serving import serving
from tests.clients.worlds import ASYNC, SYNC, World

PAGES = [b'{"n": 1}\n', b'{"n": 2}\n{"n": 3}\n', b'{"n": 4}\n']


class Breaking(EntityGraphServicer):
    """Every export breaks off behind one message, every second import behind its header."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.headers: list[pb.ImportHeader] = []
        self.segments: list[bytes] = []

    async def ExportGraph(self, request, context):
        self.tokens.append(request.resume_token)
        page = int(request.resume_token or 0)
        if page < len(PAGES):
            yield pb.ExportGraphResponse(lines=PAGES[page], resume_token=str(page + 1), nodes=PAGES[page].count(b"\n"))
            await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")

    async def ImportGraph(self, requests, context):
        first = await anext(requests)
        self.headers.append(first.header)
        if len(self.headers) % 2:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        lines = b"".join([message.lines async for message in requests])
        self.segments.append(lines)
        count = lines.count(b"\n")
        return pb.ImportGraphResponse(
            graph_name="g", lines=first.header.lines_before + count, nodes=pb.RowCount(written=count)
        )


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
async def test_an_export_that_breaks_off_goes_on_behind_its_last_message(world: World, tmp_path: Path):
    server = Breaking()
    async with serving(server) as address, world.entity(address) as graph:
        done = await world.run(graph.graph.export, tmp_path / "graph.ndjson")

    assert (tmp_path / "graph.ndjson").read_bytes() == b"".join(PAGES)
    assert (done.nodes, done.size_bytes) == (4, len(b"".join(PAGES)))
    assert server.tokens == ["", "1", "2", "3"]


class BreakingRarely(EntityGraphServicer):
    """Every export breaks off behind twelve messages, of 240 in all."""

    async def ExportGraph(self, request, context):
        begin = int(request.resume_token or 0)
        for page in range(begin, min(begin + 12, 240)):
            yield pb.ExportGraphResponse(lines=b"{}\n", resume_token=str(page + 1), nodes=1)
        if begin + 12 < 240:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
async def test_a_long_export_may_break_off_often(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What arrives in between gives its retries back."""
    monkeypatch.setattr(retries, "BACKOFF_S", 0.001)
    async with serving(BreakingRarely()) as address, world.entity(address) as graph:
        done = await world.run(graph.graph.export, tmp_path / "graph.ndjson")

    assert done.nodes == 240


@pytest.mark.parametrize("world", [ASYNC, SYNC], ids=["async", "sync"])
async def test_a_segment_that_breaks_off_is_sent_again(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_transfer, "SEGMENT_BYTES", 100)
    monkeypatch.setattr(_transfer, "CHUNK_BYTES", 30)
    text = b"".join(b'{"n": %d}\n' % n for n in range(50))
    server = Breaking()
    async with serving(server) as address, world.entity(address) as graph:
        done = await world.run(graph.graph.import_lines, text)

    assert b"".join(server.segments) == text
    assert all(segment.endswith(b"\n") for segment in server.segments)
    assert len(server.segments) > 3
    assert (done.graph_name, done.lines, done.nodes.written) == ("g", 50, 50)
    sent = server.headers[1::2]
    assert [header.lines_before for header in sent] == [
        sum(segment.count(b"\n") for segment in server.segments[:n]) for n in range(len(sent))
    ]
