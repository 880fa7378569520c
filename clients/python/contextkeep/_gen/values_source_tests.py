"""Values of contextkeep/context/v1/source_tests.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_context_query import MEMORY_QUERY_MODES
from contextkeep._gen.values_context_query import MemoryQueryMode
from contextkeep._gen.values_context_query import QUERY_DEPTHS
from contextkeep._gen.values_context_query import QUERY_MODES
from contextkeep._gen.values_context_query import QUERY_SCOPES
from contextkeep._gen.values_context_query import QueriedContext
from contextkeep._gen.values_context_query import QueryDepth
from contextkeep._gen.values_context_query import QueryMode
from contextkeep._gen.values_context_query import QueryScope
from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import source_tests_pb2 as pb
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.query import ComparedProvider



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SourceTest(Value):
    """A question that an operator asked, with its answer."""

    test_id: str = ""
    created_at: datetime
    created_by: str = ""
    # The user for whom it was asked. Empty if it was asked for no user.
    owner_user_id: str = ""
    label: str = ""
    replay_of: str = ""
    # Not blank. Up to 8,000 characters.
    query: str = ""
    mode: QueryMode | Literal[""] = ""
    scope: QueryScope | Literal[""] = ""
    depth: QueryDepth | Literal[""] = ""
    # The agent for which to ask: its policy applies, and its files are searched. Empty means the agent of the
    # credential, if it was registered. AGENT_NOT_FOUND if the agent does not exist or the caller may not name it.
    agent_id: str = ""
    # For the provider `context`: the contexts to search, up to 16. An unknown context and a context of another user or
    # tenant have the same status.
    context_ids: tuple[str, ...] = ()
    # Return only hits whose metadata have these values: a JSON object with up to 20 texts, numbers and booleans. Names
    # have no dots. For records, memories and contexts these are the metadata that their writers gave; for other hits
    # `metadata_json` of the hit.
    metadata_json: str = "{}"
    # Maximum number of hits, 1 to 50. Unset means 20.
    limit: int | None = None
    # The providers to ask. Unset means the default providers, and `context` if `context_ids` is not empty. For a user's
    # own key that is bound to no context, `context` is a default provider.
    provider_ids: tuple[str, ...] = ()
    # All providers of these families.
    families: tuple[str, ...] = ()
    # Search all contents of the records of these nodes, up to 20 nodes. For an agent, only nodes of its target count.
    # Empty means the records below the nodes of the agent, otherwise of its template, otherwise of the tenant's
    # setting. If none of these is set, it means all records that the caller sees, by the words in the search index (the
    # first 50,000 characters of each record). If an agent has none of those nodes, the provider is SKIPPED.
    node_ids: tuple[str, ...] = ()
    # Options for single providers. A provider with an option must be among those that are asked.
    memory_mode: MemoryQueryMode | Literal[""] = ""
    # Only hits from `time_from` on and before `time_to`. If either is set, hits without a time are left out.
    time_from: datetime | None = None
    time_to: datetime | None = None
    # Return only hits with this score or a higher one, 0 to 1. Unset means 0.25 in mode ANSWER, otherwise any score.
    score_min: float | None = None
    # Warnings: a mode that differs from the requested one, and parts that are cut.
    warnings: tuple[str, ...] = ()
    hit_count: int = 0
    duration_ms: int = 0
    # The whole answer, up to 1 MiB. Unset in lists.
    answer: QueriedContext | None = None
    # Unset if no import wrote it.
    imported: Imported | None = None
    _metadata: Any = kept()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return `metadata_json`, parsed."""
        return self._kept_object("_metadata", self.metadata_json)

    @classmethod
    def from_proto(cls, message: pb.SourceTest) -> SourceTest:
        """Return the value of a message."""
        return cls(
            test_id=message.test_id,
            created_at=time_of(message.created_at),
            created_by=message.created_by,
            owner_user_id=message.owner_user_id,
            label=message.label,
            replay_of=message.replay_of,
            query=message.question.query,
            mode=QUERY_MODES.get(message.question.mode, ""),
            scope=QUERY_SCOPES.get(message.question.scope, ""),
            depth=QUERY_DEPTHS.get(message.question.depth, ""),
            agent_id=message.question.agent_id,
            context_ids=tuple(message.question.context_ids),
            metadata_json=message.question.metadata_json,
            limit=message.question.limit if message.question.HasField("limit") else None,
            provider_ids=tuple(message.question.providers.ids),
            families=tuple(message.question.providers.families),
            node_ids=tuple(message.question.provider_options.workspace.node_ids),
            memory_mode=MEMORY_QUERY_MODES.get(message.question.provider_options.memory.query_mode, ""),
            time_from=time_of(message.question.time_from) if message.question.HasField("time_from") else None,
            time_to=time_of(message.question.time_to) if message.question.HasField("time_to") else None,
            score_min=message.question.score_min if message.question.HasField("score_min") else None,
            warnings=tuple(message.warnings),
            hit_count=message.hit_count,
            duration_ms=message.duration_ms,
            answer=QueriedContext.from_proto(message.answer) if message.HasField("answer") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComparedHit(Value):
    """A hit of one or both tests."""

    ref: str = ""
    title: str = ""
    # Rank in the first test and in the other one. 0 means that the test does not have the hit.
    rank: int = 0
    other_rank: int = 0

    @classmethod
    def from_proto(cls, message: pb.ComparedHit) -> ComparedHit:
        """Return the value of a message."""
        return cls(
            ref=message.ref,
            title=message.title,
            rank=message.rank,
            other_rank=message.other_rank,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComparedTests(Value):
    """The differences of two tests.

    A rank of 0 or an unspecified state means that only the other test has the hit or provider.
    """

    # The hits of both tests: first those of the first test in its order, then those that only the other test has.
    hits: tuple[ComparedHit, ...] = ()
    # By id.
    providers: tuple[ComparedProvider, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.CompareSourceTestsResponse) -> ComparedTests:
        """Return the value of a message."""
        return cls(
            hits=tuple(map(ComparedHit.from_proto, message.hits)),
            providers=tuple(map(ComparedProvider.from_proto, message.providers)),
        )
