"""Knowledge bases and their documents."""

from __future__ import annotations

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio._gen import knowledge_bases as gen
from contextkeep.context.v1 import knowledge_bases_pb2 as bases_pb
from contextkeep.errors import InvalidArgument
from contextkeep.values import Document, KnowledgeBase


class KnowledgeBases(gen.KnowledgeBases):
    """Knowledge bases and their documents. One that the caller may not see is reported like one that does not exist."""

    async def put(
        self,
        name: str,
        *,
        description: str = "",
        is_of_tenant: bool = False,
        app_id: str = "",
        agent_bundle_id: str = "",
        graph_name: str = "",
        bedrock_id: str = "",
        bedrock_region: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> KnowledgeBase:
        """Write a knowledge base as it is said, whether there was one or not, and return it; its documents stay.

        Args:
            name: What agents name it by, up to 200 characters.
            description: Up to 2,000 characters.
            is_of_tenant: It is asked for everybody of the tenant. Else only for the agents that name it.
            app_id: A key that is bound to apps sees it if this is one of them. The walls never change.
            agent_bundle_id: Likewise of an agent bundle.
            graph_name: Likewise of graphs.
            bedrock_id: Amazon Bedrock's own id of a base there, which is asked instead. It never changes.
            bedrock_region: Where that is, such as "eu-central-1".
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            PermissionDenied: the key lacks the scope admin, or is bound, or the operator does not list `bedrock_id`.
        """
        said = bases_pb.KnowledgeBaseInput(
            name=name,
            description=description,
            is_of_tenant=is_of_tenant,
            app_id=app_id,
            agent_bundle_id=agent_bundle_id,
            graph_name=graph_name,
        )
        if bedrock_id or bedrock_region:
            said.bedrock.CopyFrom(bases_pb.BedrockKnowledgeBase(knowledge_base_id=bedrock_id, region=bedrock_region))
        request = bases_pb.PutKnowledgeBaseRequest(knowledge_base=said, request_id=messages.new_request_id(request_id))
        response: bases_pb.PutKnowledgeBaseResponse = await self._call("PutKnowledgeBase", request, timeout_s=timeout_s)
        return KnowledgeBase.from_proto(response.knowledge_base)

    async def add_document(
        self,
        knowledge_base: str,
        data: bytes | None = None,
        *,
        name: str = "",
        uri: str = "",
        content_type: str = "",
        working_memory_id: Id | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Document:
        """Add a document, and return it before it is read: its `state` says how far that is.

        Args:
            knowledge_base: The name of a base.
            data: Up to 3,000,000 bytes. None: it is a record.
            name: Its title, such as the name of a file, whose ending tells what it is. Empty: the record's.
            uri: Where it is from, for who follows a hit.
            content_type: Such as "application/pdf"; of bytes.
            working_memory_id: A record of working memory that the document follows.
            request_id: A UUID. The same one again adds nothing. None: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            KnowledgeBaseNotFound: there is none that you may see.
            RecordNotFound: there is none.
            InvalidArgument: it is neither bytes nor a record, or both, or the record is not open to the base.
            LimitExceeded: it is too large, or the base has no room.
        """
        if data is not None and working_memory_id is not None:
            raise InvalidArgument("a document is bytes or a record, not both", field="document")
        said = bases_pb.DocumentInput(name=name, uri=uri, content_type=content_type)
        if data is not None:
            said.data = data
        if working_memory_id is not None:
            said.working_memory_id = messages.to_id(working_memory_id)
        request = bases_pb.AddDocumentRequest(
            knowledge_base=knowledge_base, document=said, request_id=messages.new_request_id(request_id)
        )
        response: bases_pb.AddDocumentResponse = await self._call("AddDocument", request, timeout_s=timeout_s)
        return Document.from_proto(response.document)
