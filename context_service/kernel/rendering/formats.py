"""The request formats that conversations are rendered in."""

from __future__ import annotations

from enum import Enum


class Format(Enum):
    """The vendor API whose request format is rendered."""

    OPENAI = "openai"  # Chat Completions
    ANTHROPIC = "anthropic"  # Messages
    GEMINI = "gemini"  # generateContent
    OPENAI_RESPONSES = "openai_responses"  # Responses
