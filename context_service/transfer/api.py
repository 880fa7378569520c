"""The proto service `Transfer`: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import orjson

from context_service.transfer.rules.export import ArchiveScope, Exporting
from context_service.transfer.rules.imports import Importing, report_of
from context_service.transfer.store.imports import Run
from contextkeep.context.v1 import transfer_pb2 as pb
from contextkeep.context.v1 import transfer_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.rpc import calls
from service_runtime.rpc.principal import USER_ID_CHARS_MAX
from service_runtime.values.checks import check_text
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id

_GRAPH_CHARS_MAX = 512
_STATES = {
    "RUNNING": pb.IMPORT_STATE_RUNNING,
    "DONE": pb.IMPORT_STATE_DONE,
    "GIVEN_UP": pb.IMPORT_STATE_GIVEN_UP,
}


class TransferServicer(transfer_pb2_grpc.TransferServicer):
    """Answers the RPCs of `Transfer`."""

    def __init__(self, exporting: Exporting, importing: Importing) -> None:
        self._exporting = exporting
        self._importing = importing

    async def ExportArchive(
        self, request: pb.ExportArchiveRequest, context: object
    ) -> AsyncIterator[pb.ExportArchiveResponse]:
        """Export an archive."""
        messages = self._exporting.messages(calls.principal(), _scope(request.scope), request.resume_token)
        async with aclosing(messages):
            async for data, token in messages:
                yield pb.ExportArchiveResponse(data=data, resume_token=token)

    async def ImportArchive(
        self, requests: AsyncIterator[pb.ImportArchiveRequest], context: object
    ) -> pb.ImportArchiveResponse:
        """Import an archive."""
        first: pb.ImportArchiveRequest | None = await anext(aiter(requests), None)
        if first is None or first.WhichOneof("content") != "header":
            raise InvalidArgument("the first message of the stream must be a header", field="header")
        header = first.header
        if header.dry_run and (header.import_id or header.offset_bytes):
            raise InvalidArgument(
                "a dry run must have no import_id and begin at offset_bytes 0", field="header.dry_run"
            )
        if header.offset_bytes < 0:
            raise InvalidArgument(
                f"header.offset_bytes must be 0 or more (got {header.offset_bytes})", field="header.offset_bytes"
            )
        import_id = None if header.dry_run else parse_id("header.import_id", header.import_id)
        async with aclosing(_chunks(requests)) as chunks:
            run = await self._importing.run(
                import_id, chunks, principal=calls.principal(), offset_bytes=header.offset_bytes
            )
        return pb.ImportArchiveResponse(imported=_import_message(run))

    async def GetImport(self, request: pb.GetImportRequest, context: object) -> pb.GetImportResponse:
        """Read the state of an import."""
        import_id = parse_id("import_id", request.import_id)
        run = await self._importing.get(import_id, principal=calls.principal())
        return pb.GetImportResponse(imported=_import_message(run))


def _scope(message: pb.ArchiveScope) -> ArchiveScope:
    """Parse the scope of an export: which data the archive must contain.

    Raises:
        InvalidArgument: no scope is set, or an id is malformed.
        LimitExceeded: the id of a user or the name of a graph is too long.
    """
    kind = message.WhichOneof("of")
    if kind == "tenant" and message.tenant:
        return ArchiveScope(kind="tenant")
    if kind == "context_id":
        return ArchiveScope(kind="context", id=str(parse_id("scope.context_id", message.context_id)))
    if kind == "user_id" and message.user_id:
        check_text("scope.user_id", message.user_id, chars_max=USER_ID_CHARS_MAX)
        return ArchiveScope(kind="user", id=message.user_id)
    if kind == "graph_name" and message.graph_name:
        check_text("scope.graph_name", message.graph_name, chars_max=_GRAPH_CHARS_MAX)
        return ArchiveScope(kind="graph", id=message.graph_name)
    raise InvalidArgument("scope must set context_id, user_id, graph_name or tenant=true", field="scope")


async def _chunks(requests: AsyncIterator[pb.ImportArchiveRequest]) -> AsyncGenerator[bytes, None]:
    """Yield the data of the messages after the first.

    Raises:
        InvalidArgument: a message holds something else.
    """
    async for request in requests:
        if request.WhichOneof("content") != "data":
            raise InvalidArgument("each message after the first must be data", field="data")
        yield request.data


def _import_message(run: Run) -> pb.ImportedArchive:
    """Return the protobuf message of an import, with the counts of its rows and its conflicts."""
    report = report_of(run)
    return copied(
        pb.ImportedArchive,
        run,
        state=_STATES["DONE" if run.import_id is None else run.state],
        manifest_json=orjson.dumps(run.manifest).decode(),
        rows=[
            pb.ImportedRows(table=table, written=written, present=present, conflicts=conflicts)
            for table, (written, present, conflicts) in sorted(report["rows"].items())
        ],
        conflicts=[
            pb.ImportConflict(
                table=conflict["table"], key_json=conflict["key"], why=conflict["why"], piece=conflict["piece"]
            )
            for conflict in report["conflicts"]
        ],
        left_out=report["left_out"],
        dry_run=run.import_id is None,
    )
