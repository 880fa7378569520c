"""Graphs: written in one transaction, counted, exported and imported."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from contextkeep.client import _aio_io as io
from contextkeep.client import _messages as messages
from contextkeep.client._batches import ROWS_MAX, batches
from contextkeep.client._messages import Id
from contextkeep.client._tracing import ClientSpan
from contextkeep.client._transfer import OnProgress, Segments, UploadInput
from contextkeep.client.aio.client import Noun
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.errors import Unavailable
from contextkeep.inputs import EdgeInput, NodeInput
from contextkeep.values import (
    ExportedGraph,
    ImportedGraph,
    OnExisting,
    WrittenGraph,
    WrittenRow,
)


class WholeGraphs(Noun):
    """Calls of whole graphs."""

    async def write(
        self,
        nodes: Iterable[NodeInput] = (),
        edges: Iterable[EdgeInput] = (),
        *,
        on_existing: OnExisting = "fail",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> WrittenGraph:
        """Write nodes and edges, nodes first. Edges may join nodes of the same call.

        Up to 2,000 rows and 4 MiB are one transaction, which writes all of them or none. More rows are several
        transactions, one after the other. With the same `request_id` you can send everything again.

        Args:
            nodes: The nodes to write.
            edges: Each end is a node of this call or one that exists.
            on_existing: "skip" leaves rows that exist as they are and answers them as `existed`.
            request_id: As in `create_node`.
            timeout_s: Deadline of one transaction in seconds. None means the client's.

        Raises:
            ContextKeepError: the same errors as `create_node` and `create_edge`; the field names the row. Earlier
                transactions have written their rows.
        """
        request = graph_pb.WriteGraphRequest(
            on_existing=messages.choice_of("on_existing", on_existing, graph_pb.OnExisting),
            request_id=messages.new_request_id(request_id),
        )
        for row, node in enumerate(nodes):
            messages.fill_node(request.nodes.add(), node, field=f"nodes[{row}]")
        for row, edge in enumerate(edges):
            messages.fill_edge(request.edges.add(), edge, field=f"edges[{row}]")
        written_nodes: list[WrittenRow] = []
        written_edges: list[WrittenRow] = []
        for batch in batches(request, ["nodes", "edges"], count_max=ROWS_MAX):
            response: graph_pb.WriteGraphResponse = await self._call("WriteGraph", batch, timeout_s=timeout_s)
            written_nodes += [WrittenRow.from_proto(row) for row in response.nodes]
            written_edges += [WrittenRow.from_proto(row) for row in response.edges]
        return WrittenGraph(nodes=written_nodes, edges=written_edges)

    async def import_lines(
        self, source: io.UploadSource, *, graph_name: str = "", on_progress: OnProgress | None = None
    ) -> ImportedGraph:
        """Import a graph from newline-delimited JSON, as `export` writes it, and return the counts.

        Rows whose ids exist are skipped, so an interrupted import can be repeated. The lines are
        sent in segments of some MiB; a segment that failed with `Unavailable` is sent again.

        Args:
            source: A path (a text is a path), bytes, an open binary file, or an iterator of bytes.
            graph_name: The graph to write to. Empty: the graph that the first line names, else "default".
            on_progress: Called with the number of written bytes and, if it is known, of all bytes.

        Raises:
            InvalidArgument: a line is malformed; the violation names the line.
            NodeNotFound: a line names a node that no line before it wrote.
            OSError: the source cannot be read.
        """
        reader = await io.source_of(source)
        done, sent_bytes = ImportedGraph(graph_name=graph_name), 0
        segments = _segments(reader)
        async with aclosing(segments):
            async for segment in segments:
                done = done.plus(await self._import_segment(done, segment))
                sent_bytes += sum(map(len, segment))
                if on_progress is not None:
                    on_progress(sent_bytes, reader.size_bytes)
        return done

    async def export(
        self, path: str | os.PathLike[str], *, graph_name: str = "", on_progress: OnProgress | None = None
    ) -> ExportedGraph:
        """Export a whole graph to a file of newline-delimited JSON, and return the counts.

        The file gets its name when it is complete and on disk. If the connection breaks, the export continues.

        Args:
            path: The file to write; an old one is replaced.
            graph_name: Empty: "default".
            on_progress: Called with the number of written bytes, and None, because the total is unknown.

        Raises:
            OSError: the file cannot be written.
        """
        done = ExportedGraph()
        async with io.Target(path) as target:
            pages = self.export_pages(graph_name)
            async with aclosing(pages):
                async for page in pages:
                    await target.write(page.lines)
                    done = done.plus(page)
                    if on_progress is not None:
                        on_progress(done.size_bytes, None)
            await target.commit()
        return done

    async def export_pages(
        self, graph_name: str = "", *, resume_token: str = ""
    ) -> AsyncGenerator[graph_pb.ExportGraphResponse, None]:
        """Export a whole graph, and yield the generated messages: whole lines, about 1 MiB each.

        If the stream breaks, it continues after the last message. With the `resume_token` of a message, another process
        continues the export.

        Raises:
            InvalidPageToken: the token is malformed, or belongs to another graph.
        """
        request = graph_pb.ExportGraphRequest(graph_name=graph_name, resume_token=resume_token)
        attempts = self._attempts(None)
        while True:
            pages = self._streamed("ExportGraph", request, attempts)
            try:
                async with aclosing(pages):
                    async for page in pages:
                        request.resume_token = page.resume_token
                        attempts.succeeded()
                        attempts = self._attempts(None)
                        yield page
            except Unavailable as error:
                delay_s = attempts.delay_s(error)
                if delay_s is None:
                    raise
            else:
                return
            await io.sleep(delay_s)

    async def _import_segment(self, done: ImportedGraph, segment: list[bytes]) -> graph_pb.ImportGraphResponse:
        """Import a part of the lines in one call, and repeat the call if the connection breaks."""
        header = graph_pb.ImportHeader(graph_name=done.graph_name, lines_before=done.lines)

        async def attempt() -> graph_pb.ImportGraphResponse:
            outgoing = _import_messages(header, segment)
            async with aclosing(outgoing):
                with ClientSpan("ImportGraph", self._metadata) as span:
                    answer: graph_pb.ImportGraphResponse = await self._connection.upload(
                        "ImportGraph", outgoing, idle_timeout_s=self._options.idle_timeout_s, metadata=span.metadata
                    )
            return answer

        return await self._repeated(self._attempts(None), attempt)


async def _segments(source: UploadInput) -> AsyncGenerator[list[bytes], None]:
    """Yield what an import sends in one call: whole lines, one segment at least."""
    segments = Segments()
    pieces = source.open()
    sent = False
    async with aclosing(pieces):
        async for piece in pieces:
            for segment in segments.feed(piece):
                sent = True
                yield segment
    for segment in segments.rest():
        sent = True
        yield segment
    if not sent:
        yield []


async def _import_messages(
    header: graph_pb.ImportHeader, segment: list[bytes]
) -> AsyncGenerator[graph_pb.ImportGraphRequest, None]:
    """Yield the messages of an import: the header, then the lines."""
    yield graph_pb.ImportGraphRequest(header=header)
    for chunk in segment:
        yield graph_pb.ImportGraphRequest(lines=chunk)
