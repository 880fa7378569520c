"""Envelopes between messages and values."""

from __future__ import annotations

from collections.abc import Sequence

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument
from entity_service.model.limits import Limits
from entity_service.model.progress import Appended, NewEnvelope, TimelinePage, TimelineQuery
from entity_service.wire.fields import fill_time, id_of
from service_runtime.inputs.documents import parse_json
from service_runtime.inputs.pages import page_size
from service_runtime.values.checks import check_count, check_long_text, check_text
from service_runtime.values.copying import copied

_TYPES = {
    number: name.removeprefix("ENVELOPE_TYPE_")
    for name, number in pb.EnvelopeType.items()
    if number != pb.ENVELOPE_TYPE_UNSPECIFIED
}

_STATUSES = {
    number: name.removeprefix("ENVELOPE_STATUS_") if number else "" for name, number in pb.EnvelopeStatus.items()
}

_TYPE_NUMBERS = {name: number for number, name in _TYPES.items()}

_STATUS_NUMBERS = {name: number for number, name in _STATUSES.items()}


def new_envelope(message: pb.AppendProgressRequest, limits: Limits) -> NewEnvelope:
    """Return the envelope to append.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: a field is too long.
    """
    node_id = id_of("node_id", message.node_id)
    if message.type == pb.ENVELOPE_TYPE_UNSPECIFIED:
        raise InvalidArgument("type is required", field="type")
    if message.status not in _STATUSES:
        raise InvalidArgument(f"status is {message.status}, which is not a known status", field="status")
    for field in ("value_json", "error_json"):
        if text := getattr(message, field):
            parse_json(field, text, size_bytes_max=limits.document_bytes_max, nesting_max=limits.nesting_max)
    return NewEnvelope(
        node_id=node_id,
        type=_type("type", message.type),
        status=_STATUSES[message.status],
        sub_type=check_text("sub_type", message.sub_type, chars_max=limits.type_chars_max),
        message=check_long_text("message", message.message, size_bytes_max=limits.message_bytes_max),
        value_json=message.value_json or None,
        error_json=message.error_json or None,
    )


def appended(envelope: Appended) -> pb.AppendProgressResponse:
    """Return the answer to AppendProgress."""
    response = pb.AppendProgressResponse(seq=envelope.seq)
    fill_time(response.created_at, envelope.created_at)
    return response


def timeline_query(message: pb.ListProgressRequest, limits: Limits) -> TimelineQuery:
    """Return which envelopes a caller wants; errors as of `new_envelope`."""
    return copied(
        TimelineQuery,
        message,
        node_id=id_of("node_id", message.node_id),
        types=_types("types", message.types, limits),
        page_size=page_size(message.page_size),
        node_budget=limits.walk_nodes_max,
    )


def timeline_page(page: TimelinePage) -> pb.ListProgressResponse:
    """Return the answer to ListProgress."""
    response = pb.ListProgressResponse(next_page_token=page.next_page_token)
    for row in page.envelopes:
        envelope = response.envelopes.add(
            node_id=row.node_id,
            seq=row.seq,
            type=_TYPE_NUMBERS[row.type],
            status=_STATUS_NUMBERS[row.status],
            sub_type=row.sub_type,
            message=row.message,
            value_json=row.value_json or "",
            error_json=row.error_json or "",
            created_by=row.created_by,
        )
        fill_time(envelope.created_at, row.created_at)
    return response


def _types(field: str, numbers: Sequence[int], limits: Limits) -> list[str]:
    check_count(field, len(numbers), limits.list_max)
    return sorted({_type(f"{field}[{position}]", number) for position, number in enumerate(numbers)})


def _type(field: str, number: int) -> str:
    """Return the name of a type.

    Raises:
        InvalidArgument: it is unknown to this server.
    """
    if number not in _TYPES:
        raise InvalidArgument(f"{field} is {number}, which is not a known envelope type", field=field)
    return _TYPES[number]
