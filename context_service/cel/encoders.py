"""The encoders extension: base64."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from context_service.cel.budget import CallBudget
from context_service.cel.errors import EvaluationError
from context_service.cel.values import no_overload


def base64_encode(budget: CallBudget, data: Any) -> str:
    """Return bytes in base64, with padding."""
    if type(data) is not bytes:
        raise no_overload("base64.encode", data)
    budget.charge_scan(len(data))
    budget.charge_bytes(len(data) * 4 // 3 + 4)
    return base64.b64encode(data).decode()


def base64_decode(budget: CallBudget, text: Any) -> bytes:
    """Return the bytes of base64; padding may be left out.

    Raises:
        EvaluationError: the text is no base64.
    """
    if type(text) is not str:
        raise no_overload("base64.decode", text)
    budget.charge_scan(4 * len(text))
    budget.charge_bytes(2 * len(text))
    padding = "" if text.endswith("=") else "=" * (-len(text) % 4)
    try:
        return base64.b64decode(text + padding, validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError("the string is no base64") from None
