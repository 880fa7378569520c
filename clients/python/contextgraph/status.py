"""The error table: an error to a gRPC status, and a gRPC status back to the same error.

A status carries exactly one `google.rpc.ErrorInfo` (reason, domain, metadata); `BadRequest` where a field is wrong and
`RetryInfo` where the server knows when to try again. They travel as `google.rpc.Status` in the trailing metadata under
`grpc-status-details-bin`, as every gRPC library expects them.
"""

from __future__ import annotations

from contextlib import suppress

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from contextgraph.errors import ContextGraphError, FieldViolation, error_classes

DOMAIN = "contextgraph"
DETAILS_KEY = "grpc-status-details-bin"

# gRPC keeps metadata below 8 KiB; what is larger arrives as an error of the transport and says nothing.
_MESSAGE_CHARS_MAX = 1024
_VALUE_CHARS_MAX = 256
_VIOLATIONS_MAX = 8

_CLASS_OF_REASON = {error_class.reason: error_class for error_class in error_classes()}
_CLASS_OF_CODE: dict[grpc.StatusCode, type[ContextGraphError]] = {}
for _error_class in error_classes():
    _CLASS_OF_CODE.setdefault(_error_class.code, _error_class)  # parents come first


def details_of(error: ContextGraphError) -> bytes:
    """Return the serialized `google.rpc.Status` of `error`, for the trailing metadata."""
    status = Status(code=error.code.value[0], message=error.message[:_MESSAGE_CHARS_MAX])
    values = {key: value[:_VALUE_CHARS_MAX] for key, value in error.metadata.items()}
    status.details.add().Pack(ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=values))
    if error.violations:
        violations = [
            BadRequest.FieldViolation(
                field=violation.field[:_VALUE_CHARS_MAX], description=violation.description[:_VALUE_CHARS_MAX]
            )
            for violation in error.violations[:_VIOLATIONS_MAX]
        ]
        status.details.add().Pack(BadRequest(field_violations=violations))
    if error.retry_after_s is not None:
        delay = Duration()
        delay.FromMilliseconds(round(error.retry_after_s * 1000))
        status.details.add().Pack(RetryInfo(retry_delay=delay))
    serialized: bytes = status.SerializeToString()
    return serialized


def error_of(code: grpc.StatusCode, message: str, details: bytes | None) -> ContextGraphError:
    """Return the error that a status stands for.

    Args:
        code: The status of the call.
        message: Its text.
        details: The value of `grpc-status-details-bin`, if there was one. A malformed one is left out.
    """
    status, info = Status(), ErrorInfo()
    violations: tuple[FieldViolation, ...] = ()
    retry_after_s: float | None = None
    with suppress(DecodeError):
        status = Status.FromString(details or b"")
    for detail in status.details:
        if detail.Is(ErrorInfo.DESCRIPTOR):
            detail.Unpack(info)
        elif detail.Is(BadRequest.DESCRIPTOR):
            bad_request = BadRequest()
            detail.Unpack(bad_request)
            violations = tuple(FieldViolation(v.field, v.description) for v in bad_request.field_violations)
        elif detail.Is(RetryInfo.DESCRIPTOR):
            retry = RetryInfo()
            detail.Unpack(retry)
            retry_after_s = retry.retry_delay.ToMilliseconds() / 1000

    error_class = _CLASS_OF_REASON.get(info.reason)
    if error_class is None or error_class.code is not code:  # a newer server, or not one of ours
        error_class = _CLASS_OF_CODE.get(code, ContextGraphError)
    error = error_class(status.message or message, violations=violations, retry_after_s=retry_after_s)
    error.metadata = dict(info.metadata)
    if info.reason:
        error.reason = info.reason
    return error
