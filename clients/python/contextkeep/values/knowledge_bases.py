"""Knowledge bases, and their documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from contextkeep.context.v1 import knowledge_bases_pb2 as bases_pb
from contextkeep.values.base import Value, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KnowledgeBase(Value):
    """Documents that are found together."""

    knowledge_base_id: str
    name: str
    description: str = ""
    is_of_tenant: bool = False  # asked for everybody, else for the agents that name it
    app_id: str = ""
    agent_bundle_id: str = ""
    graph_name: str = ""
    bedrock_id: str = ""  # of Amazon Bedrock: its own id of the base; empty: the documents are here
    bedrock_region: str = ""
    document_count: int = 0
    size_bytes: int = 0  # that came with them
    documents: Mapping[str, int] = field(default_factory=dict)  # by state; of a base that was read by itself
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    updated_by: str = ""

    @classmethod
    def from_proto(cls, base: bases_pb.KnowledgeBase) -> KnowledgeBase:
        """Return the value of a message."""
        return cls(
            knowledge_base_id=base.knowledge_base_id,
            name=base.name,
            description=base.description,
            is_of_tenant=base.is_of_tenant,
            app_id=base.app_id,
            agent_bundle_id=base.agent_bundle_id,
            graph_name=base.graph_name,
            bedrock_id=base.bedrock.knowledge_base_id,
            bedrock_region=base.bedrock.region,
            document_count=base.document_count,
            size_bytes=base.size_bytes,
            documents={_state(one.state): one.count for one in base.documents},
            version=base.version,
            created_at=time_of(base.created_at),
            updated_at=time_of(base.updated_at),
            updated_by=base.updated_by,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Document(Value):
    """A document of a knowledge base, without what it says."""

    document_id: str
    knowledge_base: str
    name: str
    uri: str = ""
    content_type: str = ""
    size_bytes: int = 0
    working_memory_id: str = ""  # of the record that it follows
    state: str = "queued"  # "queued", "parsing", "indexed" or "failed"
    error: str = ""  # of "failed": a word, and what happened
    passage_count: int = 0
    is_cut: bool = False  # there is more of it than is read
    created_by: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @classmethod
    def from_proto(cls, document: bases_pb.Document) -> Document:
        """Return the value of a message."""
        return cls(
            document_id=document.document_id,
            knowledge_base=document.knowledge_base,
            name=document.name,
            uri=document.uri,
            content_type=document.content_type,
            size_bytes=document.size_bytes,
            working_memory_id=document.working_memory_id,
            state=_state(document.state),
            error=document.error,
            passage_count=document.passage_count,
            is_cut=document.is_cut,
            created_by=document.created_by,
            created_at=time_of(document.created_at),
            updated_at=time_of(document.updated_at),
        )


def _state(state: bases_pb.DocumentState) -> str:
    return bases_pb.DocumentState.Name(state).removeprefix("DOCUMENT_STATE_").lower()
