"""Errors of calls that no client makes: what the status of a stub means, and which one a test expects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from contextkeep.errors import ContextKeepError
from contextkeep.status import DETAILS_KEY, error_of


def raised(error: Any) -> ContextKeepError:
    """Return the error that a `grpc.RpcError` stands for."""
    details = next((value for key, value in error.trailing_metadata() or () if key == DETAILS_KEY), None)
    return error_of(error.code(), error.details() or "", details)


@asynccontextmanager
async def refused(
    error_class: type[ContextKeepError], *, violations: list[str] | None = None, **metadata: object
) -> AsyncIterator[None]:
    """Expect the call in the block to fail with exactly this class, these fields at fault, and these metadata."""
    with pytest.raises((grpc.RpcError, ContextKeepError)) as failure:
        yield
    error = failure.value if isinstance(failure.value, ContextKeepError) else raised(failure.value)
    assert type(error) is error_class, repr(error)
    assert violations is None or [violation.field for violation in error.violations] == violations
    assert {key: error.metadata.get(key) for key in metadata} == {key: str(value) for key, value in metadata.items()}
