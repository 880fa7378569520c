"""What a raw stub's failed call means, for tests that use no client."""

from __future__ import annotations

from typing import Any

from contextgraph.errors import ContextGraphError
from contextgraph.status import DETAILS_KEY, error_of


def raised(error: Any) -> ContextGraphError:
    """Return the error that a `grpc.RpcError` stands for."""
    details = next((value for key, value in error.trailing_metadata() or () if key == DETAILS_KEY), None)
    return error_of(error.code(), error.details() or "", details)
