"""Values of contextkeep/context/v1/knowledge_bases.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import knowledge_bases_pb2 as pb
from contextkeep.values.base import Value, time_of

DocumentState = Literal[
    "queued",
    "parsing",
    "indexed",
    "failed",
]
DOCUMENT_STATES: dict[int, DocumentState] = {
    1: "queued",
    2: "parsing",
    3: "indexed",
    4: "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KnowledgeBase(Value):
    """A set of documents to search together."""

    knowledge_base_id: str = ""
    # The name by which agents refer to it.
    name: str = ""
    description: str = ""
    # The base is searched for every caller of the tenant; otherwise only for the agents that name it, or whose template
    # does.
    is_of_tenant: bool = False
    app_id: str = ""
    agent_bundle_id: str = ""
    graph_name: str = ""
    # Number of its documents.
    document_count: int = 0
    # Total size of the bytes that were added with the documents.
    size_bytes: int = 0
    # Number of documents in each state; only in answers of GetKnowledgeBase.
    documents: dict[DocumentState | Literal[""], int] = field(default_factory=dict, hash=False)
    # Counts the puts of the base, from 1.
    version: int = 0
    created_at: datetime
    updated_at: datetime
    # The subject of the credential that put it last.
    updated_by: str = ""
    # Bedrock's id of it: 10 letters and digits.
    bedrock_id: str = ""
    # The AWS region, such as "eu-central-1".
    bedrock_region: str = ""
    # Where an import took it from. Unset: no import wrote it, or it was put since.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.KnowledgeBase) -> KnowledgeBase:
        """Return the value of a message."""
        return cls(
            knowledge_base_id=message.knowledge_base_id,
            name=message.name,
            description=message.description,
            is_of_tenant=message.is_of_tenant,
            app_id=message.app_id,
            agent_bundle_id=message.agent_bundle_id,
            graph_name=message.graph_name,
            document_count=message.document_count,
            size_bytes=message.size_bytes,
            documents={DOCUMENT_STATES.get(one.state, ""): one.count for one in message.documents},
            version=message.version,
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            updated_by=message.updated_by,
            bedrock_id=message.bedrock.knowledge_base_id,
            bedrock_region=message.bedrock.region,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Document(Value):
    """A document of a knowledge base, without its text."""

    document_id: str = ""
    # The name of its base.
    knowledge_base: str = ""
    name: str = ""
    uri: str = ""
    content_type: str = ""
    # Size of the bytes that were added with it. For a record: 0.
    size_bytes: int = 0
    # The record that it follows. Empty: none.
    working_memory_id: str = ""
    state: DocumentState | Literal[""] = ""
    # FAILED: a word and an explanation, such as "password: it wants a password". QUEUED after a failed attempt: the
    # error of that attempt.
    error: str = ""
    # Number of its passages: chunks of a few sentences that searches find.
    passage_count: int = 0
    # The document is longer than 2,000,000 characters; only these are read.
    is_cut: bool = False
    created_by: str = ""
    created_at: datetime
    # When it entered its state.
    updated_at: datetime
    # Where an import took it from. Unset: no import wrote it.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.Document) -> Document:
        """Return the value of a message."""
        return cls(
            document_id=message.document_id,
            knowledge_base=message.knowledge_base,
            name=message.name,
            uri=message.uri,
            content_type=message.content_type,
            size_bytes=message.size_bytes,
            working_memory_id=message.working_memory_id,
            state=DOCUMENT_STATES.get(message.state, ""),
            error=message.error,
            passage_count=message.passage_count,
            is_cut=message.is_cut,
            created_by=message.created_by,
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )
