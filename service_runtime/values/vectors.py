"""Vectors of callers, checked where they come in.

They are stored in half precision and compared by their angle. What rounds to infinity there cannot be stored, and what
rounds to zero everywhere has no angle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from contextkeep.errors import InvalidArgument

DIMENSION_MAX = 4000  # limit of pgvector's indexes over half-precision vectors

_HALF_INFINITE = 65520.0  # the least value that rounds to infinity
_HALF_ZERO = 2.0**-25  # the greatest value that rounds to zero


def check_vector(field: str, values: Sequence[float], *, dimension: int | None = None) -> None:
    """Refuse a vector that cannot be stored and compared.

    Args:
        field: Path of the field in its request, for the error.
        values: The numbers of the vector, in order.
        dimension: The number of values that it must have, or None for 1 to `DIMENSION_MAX`.

    Raises:
        InvalidArgument: it has another dimension, or a value that is not finite.
    """
    problem = ""
    if dimension is not None and len(values) != dimension:
        problem = f"must have {dimension} values (got {len(values)})"
    elif not 1 <= len(values) <= DIMENSION_MAX:
        problem = f"must have 1 to {DIMENSION_MAX} values (got {len(values)})"
    elif not all(map(math.isfinite, values)):
        problem = "must have only finite values"
    elif (largest := max(map(abs, values))) >= _HALF_INFINITE:
        problem = "must have only values in the range of half precision"
    elif largest <= _HALF_ZERO:
        problem = "must not be zero, which has no direction"
    if problem:
        raise InvalidArgument(f"{field} {problem}", field=field)
