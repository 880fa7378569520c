# Generated from aio/context/archives.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Archives: a tenant, a context, a user or a graph, exported and imported elsewhere."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing

from contextkeep.client import _messages as messages
from contextkeep.client import _sync_io as io
from contextkeep.client._messages import Id
from contextkeep.client._tracing import ClientSpan
from contextkeep.client._transfer import CHUNK_BYTES, OnProgress, UploadInput
from contextkeep.client.sync._gen import archives as gen
from contextkeep.context.v1 import transfer_pb2 as pb
from contextkeep.errors import ImportNotFound, Unavailable
from contextkeep.ids import new_id
from contextkeep.values import ExportedArchive, ImportedArchive

_INDEXED_S = 600.0  # for the index to find a user's data by words, after the last byte


class Archives(gen.Archives):
    """Archives. All calls need the scope admin, and a key without bounds."""

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        tenant: bool = False,
        context_id: Id | None = None,
        user_id: str = "",
        graph_name: str = "",
        on_progress: OnProgress | None = None,
    ) -> ExportedArchive:
        """Export a tenant, a context, a user or a graph to a file.

        The file gets its name when it is complete; until then it is called `….part`. If an export is interrupted, the
        next call with the same arguments continues it, also in another process.

        Args:
            path: The file to write; an old one is replaced.
            tenant: Export all data of the tenant.
            context_id: A context, with those that were forked from it.
            user_id: All data of a user.
            graph_name: A graph, with the records of its nodes.
            on_progress: Called with the number of written bytes, and None, because the total is unknown.

        Raises:
            ContextNotFound: there is no such context.
            PermissionDenied: the key lacks the scope, or is bound.
            OSError: the file cannot be written.
        """
        scope = _scope(tenant, context_id, user_id, graph_name)
        with io.KeptTarget(path, scope.SerializeToString().hex()) as target:
            pages = self.export_messages(scope, resume_token=target.resume_token)
            with closing(pages):
                for page in pages:
                    if page.data:
                        target.write(page.data, page.resume_token)
                    else:
                        target.back()
                    if on_progress is not None:
                        on_progress(target.size_bytes, None)
            target.commit()
        return ExportedArchive(str(path), target.size_bytes)

    def export_messages(
        self, scope: pb.ArchiveScope, *, resume_token: str = ""
    ) -> Generator[pb.ExportArchiveResponse, None, None]:
        """Export a tenant, a context, a user or a graph, and yield the generated messages, up to 1 MiB each.

        If the stream breaks, it continues after the last message that had a `resume_token`: an empty message with this
        token comes first, and then the messages since then again.

        Raises:
            InvalidPageToken: the token is malformed, or belongs to another export.
        """
        request = pb.ExportArchiveRequest(scope=scope, resume_token=resume_token)
        attempts = self._attempts(None)
        while True:
            pages = self._streamed("ExportArchive", request, attempts)
            try:
                with closing(pages):
                    for page in pages:
                        if page.resume_token:
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
            io.sleep(delay_s)
            yield pb.ExportArchiveResponse(resume_token=request.resume_token)

    def import_archive(
        self,
        source: io.UploadSource,
        *,
        import_id: Id | None = None,
        dry_run: bool = False,
        on_progress: OnProgress | None = None,
    ) -> ImportedArchive:
        """Import an archive into the tenant of the key, and return a report.

        Rows that exist already are not written twice, so an interrupted import can be repeated. With the same id it
        continues, without sending the first part again.

        Args:
            source: A path (a text is a path), bytes, an open binary file, or an iterator of bytes.
            import_id: A UUID that identifies the import. Default: a new one.
            dry_run: Check the whole archive and report what would be written, but write nothing.
            on_progress: Called with the bytes that are sent and, where known, all bytes.

        Raises:
            ArchiveRefused: a piece is malformed, or has a value that cannot be stored. The pieces before it are
                written.
            ImportMoved: another call continues the import, or it has ended.
            PermissionDenied: the key lacks the scope, or is bound.
            OSError: the source cannot be read.
        """
        reader = io.source_of(source)
        named = "" if dry_run else messages.to_id(import_id) or str(new_id())
        offset_bytes = self._reached(named) if import_id is not None and not dry_run else 0
        attempts = self._attempts(None, may_repeat=reader.replayable)
        while True:
            header = pb.ImportArchiveHeader(import_id=named, offset_bytes=offset_bytes, dry_run=dry_run)
            outgoing = _import_messages(header, reader, on_progress)
            try:
                with closing(outgoing), ClientSpan("ImportArchive", self._metadata) as span:
                    answer: pb.ImportArchiveResponse = self._connection.upload(
                        "ImportArchive",
                        outgoing,
                        idle_timeout_s=max(self._options.idle_timeout_s, _INDEXED_S),
                        metadata=span.metadata,
                    )
                return ImportedArchive.from_proto(answer.imported)
            except Unavailable as error:
                delay_s = attempts.delay_s(error)
                if delay_s is None:
                    raise
            io.sleep(delay_s)
            reached = 0 if dry_run else self._reached(named)
            if reached > offset_bytes:
                attempts.succeeded()
                attempts = self._attempts(None)
            offset_bytes = reached

    def _reached(self, import_id: str) -> int:
        """Return the byte at which an import continues."""
        try:
            return (self.get_import(import_id)).offset_bytes
        except ImportNotFound:
            return 0


def _scope(tenant: bool, context_id: Id | None, user_id: str, graph_name: str) -> pb.ArchiveScope:
    """Return the scope of an export: the one of the four that the caller names."""
    scope = pb.ArchiveScope()
    if tenant:
        scope.tenant = True
    elif context_id is not None:
        scope.context_id = messages.to_id(context_id)
    elif user_id:
        scope.user_id = user_id
    elif graph_name:
        scope.graph_name = graph_name
    return scope


def _import_messages(
    header: pb.ImportArchiveHeader, source: UploadInput, on_progress: OnProgress | None
) -> Generator[pb.ImportArchiveRequest, None, None]:
    """Yield the messages of an import: the header, then the archive from the byte at which the import continues."""
    yield pb.ImportArchiveRequest(header=header)
    sent_bytes, seen_bytes = header.offset_bytes, 0
    pieces = source.open()
    with closing(pieces):
        for piece in pieces:
            view = memoryview(piece).cast("B")
            view, seen_bytes = view[max(0, header.offset_bytes - seen_bytes) :], seen_bytes + len(view)
            for start in range(0, len(view), CHUNK_BYTES):
                chunk = bytes(view[start : start + CHUNK_BYTES])
                yield pb.ImportArchiveRequest(data=chunk)
                sent_bytes += len(chunk)
                if on_progress is not None:
                    on_progress(sent_bytes, source.size_bytes)
