"""The fixtures of summaries: services without an embedder, and a user for each test."""

from __future__ import annotations

from tests.context_service.knowledge.conftest import stack, user

__all__ = ["stack", "user"]
