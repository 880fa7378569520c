"""The proto service `KnowledgeBases`: parse, one call, render."""

from __future__ import annotations

from context_service.kernel.wire.imported import imported_of
from context_service.knowledge_bases.model import (
    Base,
    BaseInput,
    Bedrock,
    Document,
    DocumentInput,
    DocumentState,
    Walls,
)
from context_service.knowledge_bases.rules.bases import KnowledgeBases
from contextkeep.context.v1 import knowledge_bases_pb2 as pb
from contextkeep.context.v1 import knowledge_bases_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id

_STATES = {
    pb.DOCUMENT_STATE_QUEUED: DocumentState.QUEUED,
    pb.DOCUMENT_STATE_PARSING: DocumentState.PARSING,
    pb.DOCUMENT_STATE_INDEXED: DocumentState.INDEXED,
    pb.DOCUMENT_STATE_FAILED: DocumentState.FAILED,
}
_BY_STATE = {state: number for number, state in _STATES.items()}


class KnowledgeBasesServicer(knowledge_bases_pb2_grpc.KnowledgeBasesServicer):
    """Answers the RPCs of `KnowledgeBases`."""

    def __init__(self, bases: KnowledgeBases) -> None:
        self._bases = bases

    async def PutKnowledgeBase(
        self, request: pb.PutKnowledgeBaseRequest, context: object
    ) -> pb.PutKnowledgeBaseResponse:
        """Create or replace a knowledge base."""

        def response(base: Base) -> pb.PutKnowledgeBaseResponse:
            return pb.PutKnowledgeBaseResponse(knowledge_base=_base(base))

        knowledge_base_input = request.knowledge_base
        base = await self._bases.put(
            copied(
                BaseInput,
                knowledge_base_input,
                walls=copied(Walls, knowledge_base_input),
                bedrock=Bedrock(
                    bedrock_id=knowledge_base_input.bedrock.knowledge_base_id,
                    region=knowledge_base_input.bedrock.region,
                )
                if knowledge_base_input.HasField("bedrock")
                else None,
            ),
            principal=calls.principal(),
            request=request_of("PutKnowledgeBase", request, response=response),
        )
        return response(base)

    async def GetKnowledgeBase(
        self, request: pb.GetKnowledgeBaseRequest, context: object
    ) -> pb.GetKnowledgeBaseResponse:
        """Read a knowledge base."""
        base = await self._bases.get(request.name, principal=calls.principal())
        return pb.GetKnowledgeBaseResponse(knowledge_base=_base(base))

    async def ListKnowledgeBases(
        self, request: pb.ListKnowledgeBasesRequest, context: object
    ) -> pb.ListKnowledgeBasesResponse:
        """List knowledge bases."""
        page = PageRequest(size=request.page_size, token=request.page_token)
        found, token = await self._bases.page(page, principal=calls.principal())
        return pb.ListKnowledgeBasesResponse(knowledge_bases=map(_base, found), next_page_token=token)

    async def DeleteKnowledgeBase(
        self, request: pb.DeleteKnowledgeBaseRequest, context: object
    ) -> pb.DeleteKnowledgeBaseResponse:
        """Remove a knowledge base with its documents."""
        write_request = request_of("DeleteKnowledgeBase", request, response=lambda _: pb.DeleteKnowledgeBaseResponse())
        await self._bases.delete(request.name, principal=calls.principal(), request=write_request)
        return pb.DeleteKnowledgeBaseResponse()

    async def AddDocument(self, request: pb.AddDocumentRequest, context: object) -> pb.AddDocumentResponse:
        """Add a document to a knowledge base."""

        def response(document: Document) -> pb.AddDocumentResponse:
            return pb.AddDocumentResponse(document=_document(document))

        document_input = request.document
        source = document_input.WhichOneof("source")
        document = await self._bases.add(
            request.knowledge_base,
            copied(
                DocumentInput,
                document_input,
                data=document_input.data if source == "data" else None,
                record_id=parse_id("document.working_memory_id", document_input.working_memory_id)
                if source == "working_memory_id"
                else None,
            ),
            principal=calls.principal(),
            request=request_of("AddDocument", request, response=response),
        )
        return response(document)

    async def ListDocuments(self, request: pb.ListDocumentsRequest, context: object) -> pb.ListDocumentsResponse:
        """List the documents of a base."""
        found, token = await self._bases.documents(
            request.knowledge_base,
            [_state(place, state) for place, state in enumerate(request.states)],
            PageRequest(size=request.page_size, token=request.page_token),
            principal=calls.principal(),
        )
        return pb.ListDocumentsResponse(documents=map(_document, found), next_page_token=token)

    async def RemoveDocument(self, request: pb.RemoveDocumentRequest, context: object) -> pb.RemoveDocumentResponse:
        """Remove a document."""
        await self._bases.remove(
            request.knowledge_base,
            parse_id("document_id", request.document_id),
            principal=calls.principal(),
            request=request_of("RemoveDocument", request, response=lambda _: pb.RemoveDocumentResponse()),
        )
        return pb.RemoveDocumentResponse()


def _state(place: int, number: pb.DocumentState) -> DocumentState:
    """Return the state of a document that a request names.

    Raises:
        InvalidArgument: a newer client names a state that this server does not know.
    """
    if number not in _STATES:
        raise InvalidArgument(
            f"states[{place}] is {number}, which is not a known document state", field=f"states[{place}]"
        )
    return _STATES[number]


def _base(base: Base) -> pb.KnowledgeBase:
    """Return the protobuf message of a knowledge base, with the number of its documents in each state."""
    said = base.content
    return copied(
        pb.KnowledgeBase,
        base,
        knowledge_base_id=str(base.base_id),
        name=said.name,
        description=said.description,
        is_of_tenant=said.is_of_tenant,
        app_id=said.walls.app_id,
        agent_bundle_id=said.walls.agent_bundle_id,
        graph_name=said.walls.graph_name,
        documents=[
            pb.DocumentCount(state=_BY_STATE[state], count=base.documents[state])
            for state in DocumentState
            if state in base.documents
        ],
        bedrock=pb.BedrockKnowledgeBase(knowledge_base_id=said.bedrock.bedrock_id, region=said.bedrock.region)
        if said.bedrock
        else None,
        imported=imported_of(base.imported_json),
    )


def _document(document: Document) -> pb.Document:
    """Return the protobuf message of a document."""
    return copied(
        pb.Document,
        document,
        knowledge_base=document.base,
        working_memory_id=str(document.record_id or ""),
        state=_BY_STATE[document.state],
        imported=imported_of(document.imported_json),
    )
