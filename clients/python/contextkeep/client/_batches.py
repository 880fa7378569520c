"""Rows in as many requests as they need: the services take requests of up to 4 MiB, as they are encoded."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

M = TypeVar("M", bound=Any)  # a generated request with a `request_id`

REQUEST_BYTES_MAX = 4 * 1024 * 1024 - 1024
MESSAGES_MAX = 500  # of `AppendMessages`
ROWS_MAX = 2_000  # of `WriteGraph`
_AROUND_ROW = 6  # bytes of a row's tag and length, at most


def batches(request: M, rows: Sequence[str], *, count_max: int) -> Iterator[M]:
    """Yield a request as it is, or, if it is too large, requests with its rows in their order.

    Each has all other fields. The first keeps the request id and the others derive theirs from it, so the same call
    again repeats the same requests. A row that is too large alone is a request of its own, which the service refuses.

    Args:
        request: The request with all rows.
        rows: Names of its fields that are lists of rows.
        count_max: Rows that a request may have.
    """
    if sum(len(getattr(request, name)) for name in rows) <= count_max and request.ByteSize() <= REQUEST_BYTES_MAX:
        yield request
        return
    rest = type(request)()
    rest.CopyFrom(request)
    for name in rows:
        rest.ClearField(name)
    number = count = 0
    batch, size = _copy(rest, number), rest.ByteSize()
    for name in rows:
        for row in getattr(request, name):
            takes = row.ByteSize() + _AROUND_ROW
            if count and (count == count_max or size + takes > REQUEST_BYTES_MAX):
                yield batch
                number += 1
                batch, size, count = _copy(rest, number), rest.ByteSize(), 0
            getattr(batch, name).append(row)
            size += takes
            count += 1
    yield batch


def _copy(rest: M, number: int) -> M:
    """Return a copy of the fields that all batches share.

    Batches after the first get ids of their own, made of the call's.
    """
    result: M = type(rest)()
    result.CopyFrom(rest)
    if number:
        result.request_id = str(uuid.uuid5(uuid.UUID(rest.request_id), str(number)))
    return result
