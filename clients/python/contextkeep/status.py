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

from contextkeep.errors import ContextKeepError, FieldViolation, error_classes

DOMAIN = "contextkeep"
DETAILS_KEY = "grpc-status-details-bin"

# Peers keep metadata below 8 KiB; larger metadata arrive as an error of the transport without details. The message
# travels twice: percent-encoded (three bytes for one) as the status's text, and with the details in base64.
_MESSAGE_BYTES_MAX = 1024
_VALUE_BYTES_MAX = 256
_DETAILS_BYTES_MAX = 3072

_CLASS_OF_REASON = {error_class.reason: error_class for error_class in error_classes()}
_CLASS_OF_CODE: dict[grpc.StatusCode, type[ContextKeepError]] = {}
for _error_class in error_classes():
    _CLASS_OF_CODE.setdefault(_error_class.code, _error_class)  # parents come first


def message_of(error: ContextKeepError) -> str:
    """Return the text of `error`'s status, cut so that it travels."""
    return _cut(error.message, _MESSAGE_BYTES_MAX)


def details_of(error: ContextKeepError) -> bytes:
    """Return the serialized `google.rpc.Status` of `error`, for the trailing metadata.

    Texts are cut, and of many values the last are left out, so that the rest arrives.
    """
    info = ErrorInfo(reason=error.reason, domain=DOMAIN)
    left_bytes = _DETAILS_BYTES_MAX - _MESSAGE_BYTES_MAX
    for key, text in error.metadata.items():
        value = _cut(text, _VALUE_BYTES_MAX)
        left_bytes -= len(key.encode()) + len(value.encode())
        if left_bytes < 0:
            break
        info.metadata[key] = value
    bad_request = BadRequest()
    for violation in error.violations:
        field, description = (_cut(text, _VALUE_BYTES_MAX) for text in (violation.field, violation.description))
        left_bytes -= len(field.encode()) + len(description.encode())
        if left_bytes < 0:
            break
        bad_request.field_violations.add(field=field, description=description)

    status = Status(code=error.code.value[0], message=message_of(error))
    status.details.add().Pack(info)
    if bad_request.field_violations:
        status.details.add().Pack(bad_request)
    if error.retry_after_s is not None:
        delay = Duration()
        delay.FromMilliseconds(round(error.retry_after_s * 1000))
        status.details.add().Pack(RetryInfo(retry_delay=delay))
    serialized: bytes = status.SerializeToString()
    return serialized


def error_of(code: grpc.StatusCode, message: str, details: bytes | None) -> ContextKeepError:
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
        error_class = _CLASS_OF_CODE.get(code, ContextKeepError)
    error = error_class(status.message or message, violations=violations, retry_after_s=retry_after_s)
    error.metadata = dict(sorted(info.metadata.items()))  # on the wire they have no order
    if info.reason:
        error.reason = info.reason
    return error


def _cut(text: str, bytes_max: int) -> str:
    """Return the beginning of `text` that fits, in whole characters."""
    encoded = text.encode(errors="replace")  # a lone surrogate cannot travel
    return encoded[:bytes_max].decode(errors="ignore")
