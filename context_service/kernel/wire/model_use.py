"""Whether models may be used, between the database and protobuf."""

from __future__ import annotations

from contextkeep.context.v1 import context_settings_pb2 as pb
from contextkeep.errors import InvalidArgument

ON, OFF = "on", "off"
_TEXTS = {pb.MODEL_USE_UNSPECIFIED: "", pb.MODEL_USE_ON: ON, pb.MODEL_USE_OFF: OFF}
_NUMBERS = {text: number for number, text in _TEXTS.items()}


def text_of(field: str, number: pb.ModelUse) -> str:
    """Return the text that the database has for a value of `ModelUse`: "on", "off", or an empty text.

    Raises:
        InvalidArgument: the enum has no such value.
    """
    if number not in _TEXTS:
        raise InvalidArgument(f"{field} must be MODEL_USE_ON, MODEL_USE_OFF or unset (got {number})", field=field)
    return _TEXTS[number]


def number_of(text: str) -> pb.ModelUse:
    """Return the value of `ModelUse` for a text of the database."""
    return _NUMBERS[text]
