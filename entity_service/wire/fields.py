"""Fields of messages, checked and converted; an error names the field by its path."""

from __future__ import annotations

import re
from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import InvalidArgument
from entity_service.model.edges import Direction
from entity_service.model.limits import BATCH_MAX, Limits
from service_runtime.rpc.calls import principal
from service_runtime.values.checks import check_count, check_long_text, check_text, check_texts
from service_runtime.values.ids import parse_id

CANONICAL_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").fullmatch

_SECONDS_MIN = -62_135_596_800  # 0001-01-01, where google.protobuf.Timestamp begins

_SECONDS_MAX = 253_402_300_799  # 9999-12-31

_NANOS = 1_000_000_000

DEPTH_DEFAULT = 3


def id_of(field: str, text: str) -> str:
    """Return an id in its canonical spelling.

    Raises:
        InvalidArgument: the text is not a UUID.
    """
    return text if CANONICAL_ID(text) else str(parse_id(field, text))


def ids_of(field: str, texts: Sequence[str], *, count_max: int) -> list[str]:
    """Return some ids in their canonical spelling, at least one, each once, in their order.

    Raises:
        InvalidArgument: the list is empty, or an id is not a UUID.
        LimitExceeded: there are too many.
    """
    if not texts:
        raise InvalidArgument(f"{field} must not be empty", field=field)
    check_count(field, len(texts), count_max)
    return list(dict.fromkeys(id_of(f"{field}[{position}]", text) for position, text in enumerate(texts)))


def expected_version(
    message: pb.UpdateNodeDataRequest
    | pb.UpdateEdgeDataRequest
    | pb.UpdateNodeStatusRequest
    | pb.ArchiveNodeRequest
    | pb.ResetNodeRequest
    | pb.DeleteNodeRequest
    | pb.DeleteEdgeRequest,
) -> int | None:
    """Return the version that a caller expects, or None."""
    return message.expected_version if message.HasField("expected_version") else None


def external_id(message: pb.GetNodeByExternalIdRequest, limits: Limits) -> str:
    """Return the caller's own id of a node; errors as of `data_change`."""
    return check_external_id("external_id", message.external_id, limits)


def graph_name(text: str, limits: Limits, *, field: str = "graph_name") -> str:
    """Return the name of a graph; errors as of `data_change`."""
    return check_text(field, text, chars_max=limits.type_chars_max) or principal().graph_default


def name(text: str, limits: Limits) -> str:
    """Return the name of a node to look for; errors as of `data_change`."""
    return check_text("name", text, chars_max=limits.name_chars_max, required=True)


def batch_ids(field: str, texts: Sequence[str]) -> list[str]:
    """Return the requested ids, each once; errors as of `data_change`."""
    return ids_of(field, texts, count_max=BATCH_MAX)


def direction(value: int, *, field: str = "direction") -> Direction:
    """Return which way edges are followed.

    Raises:
        InvalidArgument: a newer client names a way that this server does not know.
    """
    match value:
        case pb.DIRECTION_UNSPECIFIED | pb.DIRECTION_OUT:
            return Direction.OUT
        case pb.DIRECTION_IN:
            return Direction.IN
        case pb.DIRECTION_BOTH:
            return Direction.BOTH
    raise InvalidArgument(f"{field} is {value}, which is not a known direction", field=field)


def fill_time(message: Timestamp, time_micros: int) -> None:
    """Set a Timestamp from microseconds since 1970."""
    message.seconds, micros = divmod(time_micros, 1_000_000)
    message.nanos = micros * 1000


def type_names(field: str, texts: Sequence[str], limits: Limits) -> list[str]:
    """Return some type names, each once."""
    check_texts(field, texts, count_max=limits.list_max, chars_max=limits.type_chars_max)
    return list(dict.fromkeys(texts))


def micros_of(field: str, message: Timestamp) -> int:
    """Return a caller's time, cut to microseconds.

    Raises:
        InvalidArgument: it is outside of the range of a Timestamp.
    """
    if not (_SECONDS_MIN <= message.seconds <= _SECONDS_MAX and 0 <= message.nanos < _NANOS):
        raise InvalidArgument(f"{field} must be a time in the years 1 to 9999", field=field)
    return message.seconds * 1_000_000 + message.nanos // 1000


def check_external_id(field: str, text: str, limits: Limits) -> str:
    """Return a caller's own id.

    Raises:
        InvalidArgument: it is empty, or holds a NUL.
        LimitExceeded: the text is too long.
    """
    return check_long_text(field, text, size_bytes_max=limits.external_id_bytes_max, required=True)
