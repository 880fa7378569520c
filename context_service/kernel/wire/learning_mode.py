"""How the service learns from a context, between the database and protobuf."""

from __future__ import annotations

from contextkeep.context.v1 import context_settings_pb2 as pb
from contextkeep.errors import InvalidArgument

_TEXTS = {
    pb.LEARNING_MODE_UNSPECIFIED: "",
    pb.LEARNING_MODE_OFF: "off",
    pb.LEARNING_MODE_RULES: "rules",
    pb.LEARNING_MODE_MODEL: "model",
}
_NUMBERS = {text: number for number, text in _TEXTS.items()}


def text_of(field: str, number: pb.LearningMode) -> str:
    """Return the text that the database has for a value of `LearningMode`; empty if it is unset.

    Raises:
        InvalidArgument: the enum has no such value.
    """
    if number not in _TEXTS:
        raise InvalidArgument(
            f"{field} must be LEARNING_MODE_OFF, LEARNING_MODE_RULES, LEARNING_MODE_MODEL or unset (got {number})",
            field=field,
        )
    return _TEXTS[number]


def number_of(text: str) -> pb.LearningMode:
    """Return the value of `LearningMode` for a text of the database."""
    return _NUMBERS[text]
