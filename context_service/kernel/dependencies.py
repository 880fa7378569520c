"""The dependencies that `app.py` opens once and passes to every room, and the value that a room returns.

Rooms are above the kernel, so the types of their classes are imported for type checking only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from context_service.kernel.graph import EntityGraph
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.kernel.llm.embeddings import Embedder
from context_service.kernel.llm.known_vectors import KnownVectors
from context_service.kernel.llm.questions import QuestionVectors
from context_service.kernel.llm.reranking import Reranker
from context_service.kernel.llm.texts import Chat
from context_service.kernel.lookout import Lookout
from context_service.kernel.tokens import TokenCounter
from context_service.kernel.wire.node_names import NodeNames
from context_service.settings import Settings
from service_runtime.grpc_server.server import Check, Service
from service_runtime.postgres import Database
from service_runtime.rpc.held_bytes import HeldBytes
from service_runtime.statements.requests import Requests
from service_runtime.telemetry.metrics import Counted, Metrics

if TYPE_CHECKING:
    from context_service.blobs.storage import BlobStorage
    from context_service.contexts.store.log import Log
    from context_service.history.rules.assemble_context import ContextAssembly
    from context_service.history.rules.registry import MappingRegistry
    from context_service.retrieval.documents.reading import DocumentReader
    from context_service.retrieval.store.passages import Passages
    from context_service.working_memory.rules.record_texts import RecordTexts
    from context_service.working_memory.store.actions import ActionLog
    from context_service.working_memory.store.records import Records


_T = TypeVar("_T")


REQUESTS = Requests("context", erasures="context.erasure")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """The resources, stores and models that rooms share."""

    settings: Settings
    metrics: Metrics
    held: HeldBytes
    erasing_failed: Counted
    database: Database
    graph: EntityGraph
    names: NodeNames
    actions: ActionLog
    records: Records
    log: Log
    writer_locks: KeyedLocks
    lookout: Lookout
    mappings: MappingRegistry
    assembly: ContextAssembly
    embedder: Embedder | None
    chat: Chat | None
    reranker: Reranker | None
    questions: QuestionVectors | None  # None without an embedder
    known_vectors: KnownVectors
    storage: BlobStorage
    reader: DocumentReader
    record_texts: RecordTexts
    passages: Passages
    tokens: TokenCounter
    schema_ready: Check
    entity_ready: Check


@dataclass(frozen=True, slots=True)
class Room(Generic[_T]):
    """The main servicer of a package with its proto service, and the other proto services of the package."""

    servicer: _T
    service: Service
    others: Sequence[Service] = ()

    @property
    def services(self) -> Sequence[Service]:
        """Return all proto services of the room."""
        return (self.service, *self.others)
