"""Traverse: its request as a walk, and the pages of a walk as messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import AnswerTooLarge, InvalidArgument
from entity_service.model.limits import ANSWER_BYTES_MAX, Limits
from entity_service.model.walks import IO, NODE, ROW_BYTES, Column, Walk, WalkPage
from entity_service.wire.fields import DEPTH_DEFAULT, direction, ids_of, micros_of, type_names
from entity_service.wire.nodes import fill_node
from service_runtime.values.checks import check_at_most, check_text, utf8_bytes
from service_runtime.values.copying import copied

_COLUMNS = {
    number: Column[name.removeprefix("TRAVERSE_COLUMN_")] for name, number in pb.TraverseColumn.items() if number
}

MESSAGE_BYTES_MAX = 1024 * 1024

ROWS_BYTES_MAX = 256 * 1024  # of rows that are JSON: a reader parses a message at once, and nothing else meanwhile


def walk(message: pb.TraverseRequest, limits: Limits) -> Walk:
    """Return the walk that a caller wants.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: it wants more than a walk may.
    """
    for name in ("depth_max", "limit", "node_budget"):
        if getattr(message, name) < 0:
            raise InvalidArgument(f"{name} must be 0 or more (got {getattr(message, name)})", field=name)
    if message.HasField("after") and message.order_path:
        raise InvalidArgument(
            "after must be empty with order_path: it is a position in the order of created_at", field="after"
        )
    check_at_most("depth_max", message.depth_max, limits.depth_max)
    check_at_most("node_budget", message.node_budget, limits.walk_nodes_max)
    return copied(
        Walk,
        message,
        start_ids=ids_of("start_node_ids", message.start_node_ids, count_max=limits.list_max),
        edge_types=type_names("edge_types", message.edge_types, limits),
        direction=direction(message.direction),
        depth_max=message.depth_max or DEPTH_DEFAULT,
        node_types=type_names("node_types", message.node_types, limits),
        columns=_columns(message.columns),
        order_path=_path("order_path", message.order_path, limits),
        after=(micros_of("after.created_at", message.after.created_at), message.after.seq)
        if message.HasField("after")
        else None,
        node_budget=message.node_budget or limits.walk_nodes_max,
    )


def _columns(values: Sequence[int]) -> tuple[Column, ...]:
    """Return the columns that a caller wants.

    Raises:
        InvalidArgument: a name is unknown, or is there twice.
    """
    for position, value in enumerate(values):
        if value not in _COLUMNS:
            raise InvalidArgument(
                f"columns[{position}] is {value}, which is not a known column", field=f"columns[{position}]"
            )
    if len(set(values)) < len(values):
        raise InvalidArgument("columns must name each column once", field="columns")
    return tuple(_COLUMNS[value] for value in values)


def _path(field: str, text: str, limits: Limits) -> list[str]:
    """Return the members of a path such as "turn.index"; a number also counts into a list."""
    check_text(field, text, chars_max=limits.name_chars_max)
    members = text.split(".") if text else []
    if "" in members:
        raise InvalidArgument(f"{field} must have no empty member", field=field)
    return members


def walk_messages(page: WalkPage, *, columns: bool, first: bool) -> Iterator[pb.TraverseResponse]:
    """Yield a page of a walk as messages of up to 1 MiB, or 256 KiB of rows, one at least; a larger one holds one node.

    Raises:
        AnswerTooLarge: a node does not fit one message with its edge, its input and its output.
    """
    fill, size_of, bytes_max = (
        (_fill_rows, _json_bytes, ROWS_BYTES_MAX) if columns else (_fill_nodes, _row_bytes, MESSAGE_BYTES_MAX)
    )
    response = pb.TraverseResponse(indexed=first and page.indexed)
    for number, rows in enumerate(_split(page.rows, size_of, bytes_max)):
        if number:
            yield response
            response = pb.TraverseResponse()
        fill(response, rows)
    response.next_page_token = page.next_page_token
    yield response


def _split(rows: Sequence[Any], size_of: Callable[[Any], int], bytes_max: int) -> Iterator[list[Any]]:
    """Yield rows that fit a message together, or one that is larger. One list at least."""
    some: list[Any] = []
    size_bytes = 0
    for row in rows:
        row_bytes = size_of(row)
        if some and size_bytes + row_bytes > bytes_max:
            yield some
            some, size_bytes = [], 0
        size_bytes += row_bytes
        some.append(row)
    yield some


def _fill_nodes(response: pb.TraverseResponse, rows: Sequence[Any]) -> None:
    """Add rows of a walk to a response as nodes, each with the edge that it was reached by.

    Raises:
        AnswerTooLarge: a single node is too large with its input and output.
    """
    with_io = bool(rows) and len(rows[0]) > IO
    add = response.nodes.add
    for row in rows:
        _, depth, edge_id, edge_type, near_id, edge_data_json = row[:NODE]
        reached = add()
        if depth:
            reached.depth = depth
        if edge_id:
            reached_by = reached.reached_by
            reached_by.edge_id = edge_id
            reached_by.edge_type = edge_type or ""
            reached_by.node_id = near_id
            reached_by.data_json = edge_data_json or ""
        fill_node(reached.node, row[NODE:IO])
        if not with_io:
            continue
        input_json, output_json = row[IO:]
        if input_json:
            reached.io.input_json = input_json
        if output_json:
            reached.io.output_json = output_json
    if with_io and len(rows) == 1 and response.ByteSize() > ANSWER_BYTES_MAX:
        raise AnswerTooLarge(
            f"a node with its input and output has more than {ANSWER_BYTES_MAX:,} bytes, the limit of an answer",
            node_id=response.nodes[0].node.id,
            use="Traverse without include_io, and GetNodeIO",
        )


def _fill_rows(response: pb.TraverseResponse, rows: Sequence[Any]) -> None:
    """Fill a response with rows that are already JSON.

    Raises:
        AnswerTooLarge: one row alone is larger than an answer may be.
    """
    if len(rows) == 1 and _json_bytes(rows[0]) > ANSWER_BYTES_MAX:
        raise AnswerTooLarge(
            f"a row has more than {ANSWER_BYTES_MAX:,} bytes, the limit of an answer",
            use="fewer columns, and GetNodeIO",
        )
    response.rows_json = b"[" + b",".join([row[-1] for row in rows]) + b"]"


def _json_bytes(row: Sequence[Any]) -> int:
    """Return the size of a row that Postgres wrote as JSON."""
    return len(row[-1])


def _row_bytes(row: Sequence[Any]) -> int:
    """Return about how large a row of a walk is as a message, and never less."""
    edge_type, edge_data_json = row[3], row[5]
    external_id, graph_name, agent_bundle_id, general, specific, name, status, data_json = row[NODE + 1 : NODE + 9]
    chars = len(external_id or "") + len(graph_name) + len(agent_bundle_id) + len(general) + len(specific)
    chars += len(name) + len(status) + len(edge_type or "")
    documents = (data_json, edge_data_json, *row[IO:])
    return ROW_BYTES + 4 * chars + sum([utf8_bytes(text) for text in documents if text])
