"""How providers fared in tests, and their settings."""

from __future__ import annotations

from dataclasses import dataclass

from contextkeep.context.v1 import context_query_pb2 as query_pb
from contextkeep.context.v1 import source_tests_pb2 as source_tests_pb
from contextkeep.values.base import Value


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComparedProvider(Value):
    """How a provider fared in two tests; state "unspecified": it was not asked."""

    provider_id: str
    state: str
    other_state: str
    duration_ms: int = 0
    other_duration_ms: int = 0
    hit_count: int = 0
    other_hit_count: int = 0

    @classmethod
    def from_proto(cls, compared: source_tests_pb.ComparedProvider) -> ComparedProvider:
        """Return the value of a message."""
        return cls(
            provider_id=compared.provider_id,
            state=_state(compared.state),
            other_state=_state(compared.other_state),
            duration_ms=compared.duration_ms,
            other_duration_ms=compared.other_duration_ms,
            hit_count=compared.hit_count,
            other_hit_count=compared.other_hit_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProviderSetting(Value):
    """A tenant's settings of a provider. A field that is None has the provider's default."""

    provider_id: str
    enabled: bool | None = None
    is_default: bool | None = None
    deadline_ms: int | None = None
    node_ids: tuple[str, ...] | None = None  # of the workspace; empty: all records
    memory_mode: str | None = None  # of memories: "recall" or "reflect" where a question does not say it

    @classmethod
    def from_proto(cls, setting: query_pb.ProviderSetting) -> ProviderSetting:
        """Return the value of a message."""
        return cls(
            provider_id=setting.provider_id,
            enabled=setting.enabled if setting.HasField("enabled") else None,
            is_default=setting.is_default if setting.HasField("is_default") else None,
            deadline_ms=setting.deadline_ms if setting.HasField("deadline_ms") else None,
            node_ids=tuple(setting.workspace.node_ids) if setting.HasField("workspace") else None,
            memory_mode=_memory_mode(setting.memory.query_mode) if setting.HasField("memory") else None,
        )


def _memory_mode(mode: query_pb.MemoryQueryMode) -> str:
    return query_pb.MemoryQueryMode.Name(mode).removeprefix("MEMORY_QUERY_MODE_").lower()


def _state(state: query_pb.ProviderState) -> str:
    return query_pb.ProviderState.Name(state).removeprefix("PROVIDER_STATE_").lower()
