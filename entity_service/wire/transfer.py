"""Imports and exports between messages and values: bytes to lines, lines to rows, rows to batches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from typing import Any

import orjson

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import ContextKeepError, FieldViolation, InvalidArgument, LimitExceeded
from entity_service.model.embeddings import NewEmbedding
from entity_service.model.limits import Limits
from entity_service.model.nodes import STATUS_DEFAULT
from entity_service.model.progress import STATUSES, TYPES, NewEnvelope
from entity_service.model.times import micros
from entity_service.model.transfer import ExportPage, ExportQuery, ImportBatch, Imported, NewSide, RowCount
from entity_service.model.writes import GraphWrite, NewEdge, NewNode
from entity_service.pure.graph_lines import VERSION
from entity_service.wire.embeddings import new_embedding
from entity_service.wire.fields import graph_name, id_of
from entity_service.wire.progress import new_envelope
from entity_service.wire.writes import checked_edge, checked_node
from service_runtime.inputs.documents import BESIDE_BYTES, beside_the_loop, parse_json
from service_runtime.rpc.calls import hold_bytes, principal
from service_runtime.rpc.principal import USER_ID_CHARS_MAX
from service_runtime.values.checks import check_text

LINE_BYTES_MAX = 4 * 1024 * 1024

BATCH_ROWS = 1000

BATCH_BYTES = 1024 * 1024

_LINES_BEFORE_MAX = 2**53  # counts above it are no longer exact in every client

_LINE_COPIES = 2  # copies of a line that has not ended: its parts, and the joined line

_BATCH_COPIES = 6  # copies of the lines of a batch: the rows, their values, and the parameters for Postgres

_AT_ONCE = 100  # lines that are parsed before other callers have their turn

_NODE_TEXTS = frozenset(
    [
        "id",
        "external_id",
        "agent_bundle_id",
        "general_type_name",
        "specific_type_name",
        "name",
        "status",
        "owner_user_id",
        "created_at",
    ]
)

_NODE = _NODE_TEXTS | {"is_archived", "data"}

_EDGE_TEXTS = frozenset(["id", "from_node_id", "to_node_id", "edge_type", "created_at"])

_EDGE = _EDGE_TEXTS | {"data"}

_SIDE = frozenset(["node_id", "value"])

_EMBEDDING = frozenset(["node_id", "name", "model", "text_sha256", "metadata", "vector"])

_ENVELOPE = frozenset(["node_id", "type", "status", "sub_type", "message", "created_at", "error", "value"])

_KINDS = ("node", "edge", "input", "output", "embedding", "envelope")


class ImportLines:
    """The lines of one ImportGraph call.

    Args:
        requests: The messages of the call: a header, then the bytes of the lines, split at any place.
        limits: The limits of each row.
    """

    def __init__(self, requests: AsyncIterator[pb.ImportGraphRequest], limits: Limits) -> None:
        self._requests = requests
        self._limits = limits
        self._charged = hold_bytes()
        self._begun_bytes = 0  # bytes of a line that has not ended
        self._batches_bytes = 0  # bytes of the batch that is being read and of the one that is being written
        self._lines: AsyncGenerator[bytes, None] = _lines(_chunks(requests), self._charge_begun)
        self._first: bytes | None = None  # the first line, if it was read and did not name the graph: `batches` adds it
        self._number = 0  # number of the last line
        self.graph_name = ""

    async def open(self) -> None:
        """Read the header and the first line, and set the name of the graph.

        The header's name comes first, then that of the first line; without both it is the default.

        Raises:
            InvalidArgument: the header or the first line is malformed.
            LimitExceeded: the name of the graph or the first line is too long.
        """
        message: pb.ImportGraphRequest | None = await anext(aiter(self._requests), None)
        if message is None or message.WhichOneof("content") != "header":
            raise InvalidArgument("the first message must be a header", field="header")
        if not 0 <= message.header.lines_before <= _LINES_BEFORE_MAX:
            raise InvalidArgument(
                f"header.lines_before must be between 0 and 2^53 (got {message.header.lines_before})",
                field="header.lines_before",
            )
        self._number = message.header.lines_before
        header_graph = graph_name(message.header.graph_name, self._limits, field="header.graph_name")
        self._first = await anext(self._lines, None)
        named = self._named_graph()
        self.graph_name = header_graph if message.header.graph_name or not named else named

    async def batches(self) -> AsyncGenerator[ImportBatch, None]:
        """Yield the rows of the lines in batches, at least one. The errors name the line.

        Raises:
            InvalidArgument: a line is malformed.
            LimitExceeded: a line or a part of it is too long.
            HeldBytesExceeded: too many bytes are held for the caller.
        """
        batch = _Batch(self.graph_name, self._limits)
        if self._first is not None:
            self._charge_batches(len(self._first))
            await beside_the_loop(len(self._first), self._add, batch, self._first)
        written_bytes = 0  # bytes of the batch before, which is written while this one is read
        parsed_bytes = 0  # bytes that were parsed since other calls had their turn
        async with aclosing(self._lines) as lines:
            async for line in lines:
                if batch.is_full:
                    written_bytes = batch.size_bytes
                    yield batch.made(self._number)
                    batch = _Batch(self.graph_name, self._limits)
                self._charge_batches(written_bytes + batch.size_bytes + len(line))
                await beside_the_loop(len(line), self._add, batch, line)
                parsed_bytes += len(line)
                if self._number % _AT_ONCE == 0 or parsed_bytes > BESIDE_BYTES:
                    await asyncio.sleep(0)
                    parsed_bytes = 0
        yield batch.made(self._number)

    def close(self) -> None:
        """Give the held bytes back."""
        self._charged.release()

    def _charge_begun(self, size_bytes: int) -> None:
        """Charge the caller for the bytes of an unfinished line."""
        self._begun_bytes = size_bytes
        self._charge()

    def _charge_batches(self, size_bytes: int) -> None:
        """Charge the caller for the lines of the batches that are read and written."""
        self._batches_bytes = size_bytes
        self._charge()

    def _charge(self) -> None:
        self._charged.set(self._begun_bytes * _LINE_COPIES + self._batches_bytes * _BATCH_COPIES)

    def _add(self, batch: _Batch, line: bytes) -> None:
        """Count a line, and add its row to a batch; a blank line has none."""
        self._number += 1
        if line.strip():
            batch.add(f"lines[{self._number}]", line)

    def _named_graph(self) -> str:
        """Return the graph that the first line names; an empty text if the first line is a row or is missing.

        Raises:
            InvalidArgument: the line is malformed, or of another version of the format.
        """
        if self._first is None or not self._first.lstrip().startswith(b'{"graph"'):
            return ""
        self._number += 1
        path = f"lines[{self._number}]"
        _, row = _parse(path, self._first, ("graph",), self._limits)
        self._first = None
        if row.get("version") != VERSION:
            raise InvalidArgument(f"{path}.graph.version must be {VERSION}", field=f"{path}.graph.version")
        named = row.get("graph_name", "")
        if not isinstance(named, str):
            raise InvalidArgument(f"{path}.graph.graph_name must be a text", field=f"{path}.graph.graph_name")
        return graph_name(named, self._limits, field=f"{path}.graph.graph_name")


class _Batch:
    """Collects the rows of lines until they are enough for one transaction."""

    def __init__(self, named: str, limits: Limits) -> None:
        self._graph_name = named
        self._limits = limits
        self._principal = principal()
        self._nodes: list[NewNode] = []
        self._node_paths: list[str] = []
        self._edges: list[NewEdge] = []
        self._edge_paths: list[str] = []
        self._archived_ids: set[str] = set()
        self._sides: list[NewSide] = []
        self._embeddings: list[tuple[str, NewEmbedding]] = []
        self._envelopes: list[tuple[str, NewEnvelope, int]] = []
        self._rows = 0
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of the lines in the batch."""
        return self._bytes

    @property
    def is_full(self) -> bool:
        """Say whether the batch should be written before more lines are added."""
        return self._rows >= BATCH_ROWS or self._bytes >= BATCH_BYTES

    def made(self, lines: int) -> ImportBatch:
        """Return the batch, which ends at line number `lines` of the import."""
        return ImportBatch(
            write=GraphWrite(
                nodes=self._nodes, edges=self._edges, node_paths=self._node_paths, edge_paths=self._edge_paths
            ),
            archived_ids=self._archived_ids,
            sides=self._sides,
            embeddings=self._embeddings,
            envelopes=self._envelopes,
            lines=lines,
        )

    def add(self, path: str, line: bytes) -> None:
        """Add the row of a line to the batch.

        Args:
            path: Path of the line, for errors: `lines[3]`.
            line: The line, a JSON object with one member: its kind and the row.

        Raises:
            InvalidArgument: the line is malformed.
            LimitExceeded: the line has a text or a document that is too long.
        """
        self._rows += 1
        self._bytes += len(line)
        kind, row = _parse(path, line, _KINDS, self._limits)
        path = f"{path}.{kind}"
        if kind == "node":
            self._add_node(path, line, row)
        elif kind == "edge":
            self._add_edge(path, line, row)
        elif kind == "embedding":
            self._add_embedding(path, line, row)
        elif kind == "envelope":
            self._add_envelope(path, line, row)
        else:
            _check_members(path, row, _SIDE, required=("node_id", "value"))
            value_json = _document(line, kind, "value", row["value"])
            _check_document(f"{path}.value", value_json, self._limits)
            self._sides.append(NewSide(id_of(f"{path}.node_id", _text(path, row, "node_id")), kind, value_json, path))

    def _add_node(self, path: str, line: bytes, row: dict[str, Any]) -> None:
        """Add a node to the batch, with its owner, after checks of its members.

        Raises:
            InvalidArgument, LimitExceeded: the line is malformed.
        """
        _check_members(path, row, _NODE, texts=_NODE_TEXTS, required=("id", "general_type_name"))
        is_archived = row.get("is_archived", False)
        if not isinstance(is_archived, bool):
            raise InvalidArgument(f"{path}.is_archived must be true or false", field=f"{path}.is_archived")
        general = row["general_type_name"]
        new_node = NewNode(
            row["id"],
            row.get("external_id") or None,
            self._graph_name,
            row.get("agent_bundle_id") or self._principal.agent_bundle_id,
            general,
            row.get("specific_type_name") or general,
            row.get("name", ""),
            row.get("status") or STATUS_DEFAULT,
            _document(line, "node", "data", row["data"]) if "data" in row else "{}",
            _time(path, row) if "created_at" in row else None,
            self._owner(path, row),
        )
        node = checked_node(path, new_node, self._limits)
        if is_archived:
            self._archived_ids.add(node.id)
        self._nodes.append(node)
        self._node_paths.append(path)

    def _owner(self, path: str, row: dict[str, Any]) -> str | None:
        """Return the owner that a row names, or None: without `admin`, a caller may import rows of its own user only.

        Raises:
            PermissionDenied: the caller may not act for the owner.
            LimitExceeded: the owner's name is too long for a user id.
        """
        owner: str | None = row.get("owner_user_id") or None
        if owner is not None:
            check_text(f"{path}.owner_user_id", owner, chars_max=USER_ID_CHARS_MAX)
            if not self._principal.sees_all_users:
                self._principal.acting_for(owner)
        return owner

    def _add_edge(self, path: str, line: bytes, row: dict[str, Any]) -> None:
        """Add an edge to the batch, after checks of its members.

        Raises:
            InvalidArgument, LimitExceeded: the line is malformed.
        """
        required = ("id", "from_node_id", "to_node_id", "edge_type")
        _check_members(path, row, _EDGE, texts=_EDGE_TEXTS, required=required)
        new_edge = NewEdge(
            row["id"],
            self._graph_name,
            row["from_node_id"],
            row["to_node_id"],
            row["edge_type"],
            _document(line, "edge", "data", row["data"]) if "data" in row else "{}",
            _time(path, row) if "created_at" in row else None,
        )
        self._edges.append(checked_edge(path, new_edge, self._limits))
        self._edge_paths.append(path)

    def _add_embedding(self, path: str, line: bytes, row: dict[str, Any]) -> None:
        """Add an embedding to the batch, after checks of its members.

        Raises:
            InvalidArgument, LimitExceeded: the line is malformed.
        """
        _check_members(path, row, _EMBEDDING, required=("node_id", "vector"))
        vector = row["vector"]
        if not isinstance(vector, list) or not all(type(value) in (int, float) for value in vector):
            raise InvalidArgument(f"{path}.vector must be a list of numbers", field=f"{path}.vector")
        with _fields_of(path):
            message = pb.UpsertEmbeddingRequest(
                node_id=_text(path, row, "node_id"),
                name=_text(path, row, "name"),
                vector=vector,
                model=_text(path, row, "model"),
                text_sha256=_text(path, row, "text_sha256"),
                metadata_json=_document(line, "embedding", "metadata", row["metadata"]) if "metadata" in row else "",
            )
            self._embeddings.append((path, new_embedding(message, self._limits)))

    def _add_envelope(self, path: str, line: bytes, row: dict[str, Any]) -> None:
        """Add an envelope of a timeline to the batch, after checks of its members.

        Raises:
            InvalidArgument, LimitExceeded: the line is malformed.
        """
        _check_members(path, row, _ENVELOPE, required=("node_id", "type", "created_at"))
        kind, status = _text(path, row, "type"), _text(path, row, "status")
        for member, name, known in (("type", kind, TYPES), ("status", status, STATUSES | {""})):
            if name not in known:
                raise InvalidArgument(
                    f"{path}.{member} is {name[:100]!r}, which is not known", field=f"{path}.{member}"
                )
        documents = {
            f"{member}_json": _document(line, "envelope", member, row[member])
            for member in ("error", "value")
            if member in row
        }
        with _fields_of(path):
            message = pb.AppendProgressRequest(
                node_id=_text(path, row, "node_id"),
                type=f"ENVELOPE_TYPE_{kind}",
                status=f"ENVELOPE_STATUS_{status or 'UNSPECIFIED'}",
                sub_type=_text(path, row, "sub_type"),
                message=_text(path, row, "message"),
                **documents,
            )
            envelope = new_envelope(message, self._limits)
        self._envelopes.append((path, envelope, _time(path, row)))


def imported(graph: str, done: Imported) -> pb.ImportGraphResponse:
    """Return the answer to ImportGraph."""

    def counted(count: RowCount) -> pb.RowCount:
        return pb.RowCount(written=count.written, existed=count.existed)

    return pb.ImportGraphResponse(
        graph_name=graph,
        lines=done.lines,
        nodes=counted(done.nodes),
        edges=counted(done.edges),
        embeddings=counted(done.embeddings),
        envelopes=counted(done.envelopes),
    )


def export_query(message: pb.ExportGraphRequest, limits: Limits) -> ExportQuery:
    """Return the query of ExportGraph.

    Raises:
        InvalidArgument, LimitExceeded: the name is malformed.
    """
    return ExportQuery(graph_name=graph_name(message.graph_name, limits), resume_token=message.resume_token)


def exported(page: ExportPage) -> pb.ExportGraphResponse:
    """Return a message of ExportGraph."""
    response = pb.ExportGraphResponse(lines=page.lines, resume_token=page.resume_token)
    if page.kind != "graph":
        setattr(response, f"{page.kind}s", page.rows)
    return response


async def _chunks(requests: AsyncIterator[pb.ImportGraphRequest]) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of the messages after the header.

    Raises:
        InvalidArgument: a message has no lines.
    """
    async for request in requests:
        if request.WhichOneof("content") != "lines":
            raise InvalidArgument("every message after the first must have lines", field="lines")
        yield request.lines


async def _lines(chunks: AsyncGenerator[bytes, None], charge: Callable[[int], None]) -> AsyncGenerator[bytes, None]:
    """Yield the lines without their line ends; after the last line end, an empty rest is not a line.

    Args:
        chunks: Bytes of the lines, split at any place.
        charge: Called with the bytes of an unfinished line before they are kept; it may refuse them.
    """
    begun: list[bytes] = []
    begun_bytes = 0
    async with aclosing(chunks):
        async for chunk in chunks:
            start = 0
            # Find one line at a time: a chunk with line ends only would become millions of lines at once.
            while (end := chunk.find(b"\n", start)) >= 0:
                line = chunk[start:end]
                start = end + 1
                if begun:
                    line = b"".join([*begun, line])
                    begun, begun_bytes = [], 0
                    charge(0)
                yield line
            if start < len(chunk):
                begun_bytes += len(chunk) - start
                if begun_bytes > LINE_BYTES_MAX:
                    raise _too_long(begun_bytes)
                charge(begun_bytes)
                begun.append(chunk[start:])
    if begun:
        yield b"".join(begun)


def _too_long(size_bytes: int) -> LimitExceeded:
    return LimitExceeded(
        f"a line must have at most {LINE_BYTES_MAX} bytes", limit="line", limit_max=LINE_BYTES_MAX, value=size_bytes
    )


def _parse(path: str, line: bytes, kinds: tuple[str, ...], limits: Limits) -> tuple[str, dict[str, Any]]:
    """Return the kind of a line and its row.

    Raises:
        InvalidArgument: the line is not UTF-8, not JSON, or has no known kind.
        LimitExceeded: the line is too long, or has too many lists and objects.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise InvalidArgument(f"{path} must be UTF-8", field=path) from None
    # A document in the line may have the full nesting; the line and its row add two levels around it.
    value = parse_json(path, text, size_bytes_max=LINE_BYTES_MAX, nesting_max=limits.nesting_max + 2)
    if not isinstance(value, dict) or len(value) != 1:
        raise InvalidArgument(f"{path} must be an object with one member", field=path)
    ((kind, row),) = value.items()
    if kind not in kinds:
        raise InvalidArgument(f"the kind of {path} must be one of {', '.join(kinds)}", field=path)
    if not isinstance(row, dict):
        raise InvalidArgument(f"{path}.{kind} must be an object", field=f"{path}.{kind}")
    return kind, row


def _check_members(
    path: str,
    row: dict[str, Any],
    allowed: frozenset[str],
    *,
    required: tuple[str, ...],
    texts: frozenset[str] = frozenset(),
) -> None:
    """Check that a row has all required members and no unknown ones, and that its texts are texts.

    Raises:
        InvalidArgument: a check fails; the error names the first member that is wrong.
    """
    for member, value in row.items():
        if member not in allowed:
            raise InvalidArgument(
                f"{path} has the member {member[:100]!r}, which its kind does not have",
                field=path,
                known=sorted(allowed),
            )
        if member in texts and not isinstance(value, str):
            raise _no_text(path, member)
    for member in required:
        if member not in row:
            raise InvalidArgument(f"{path}.{member} is required", field=f"{path}.{member}")


def _text(path: str, row: dict[str, Any], member: str) -> str:
    """Return a member of a row that must be a text; empty if the row lacks it."""
    value = row.get(member, "")
    if not isinstance(value, str):
        raise _no_text(path, member)
    return value


def _no_text(path: str, member: str) -> InvalidArgument:
    return InvalidArgument(f"{path}.{member} must be a text", field=f"{path}.{member}")


def _time(path: str, row: dict[str, Any]) -> int:
    """Return the time of a row, as microseconds since 1970.

    Raises:
        InvalidArgument: it is not a time with a zone.
    """
    field = f"{path}.created_at"
    try:
        time = datetime.fromisoformat(_text(path, row, "created_at"))
        if time.tzinfo is None:
            raise ValueError("the time must have a time zone")
        return micros(time if time.tzinfo is UTC else time.astimezone(UTC))
    except (ValueError, OverflowError):
        raise InvalidArgument(
            f"{field} must be a time with a zone, such as 2026-01-31T12:00:00Z", field=field
        ) from None


def _document(line: bytes, kind: str, member: str, value: object) -> str:
    """Return the JSON text of a document in a line, with every digit as it was sent.

    The text is needed, as parsed numbers may lose digits. In lines that we exported, the document is the last member:
    then the text between its name and the two closing braces is taken, if it parses to the value. Any other line is
    parsed again by a slower parser that does not convert numbers.

    Args:
        line: The line.
        kind: Kind of the line, such as "node".
        member: Name of the member with the document.
        value: The document, as it was parsed from the line.
    """
    start = line.find(b'"%s":' % member.encode())
    text = line[start + len(member) + 3 : line.rfind(b"}", 0, line.rfind(b"}"))]
    try:
        if start >= 0 and orjson.loads(text) == value:
            return text.decode()
    except orjson.JSONDecodeError:
        pass
    exact = json.loads(line, parse_int=_as_it_is, parse_float=_as_it_is)
    return orjson.dumps(exact[kind][member]).decode()


def _as_it_is(digits: str) -> orjson.Fragment:
    """Return digits unchanged, as JSON. A Python function, so that other threads may run between a million calls."""
    return orjson.Fragment(digits)


def _check_document(path: str, text: str, limits: Limits) -> None:
    parse_json(path, text, size_bytes_max=limits.document_bytes_max, nesting_max=limits.nesting_max)


@contextmanager
def _fields_of(path: str) -> Iterator[None]:
    """Put the path of a row in front of the fields that errors in the block name."""
    try:
        yield
    except ContextKeepError as error:
        error.violations = tuple(
            violation
            if violation.field.startswith(path)
            else FieldViolation(f"{path}.{violation.field.removesuffix('_json')}", violation.description)
            for violation in error.violations
        )
        raise
