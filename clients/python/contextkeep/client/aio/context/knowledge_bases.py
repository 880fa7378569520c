"""Knowledge bases and their documents."""

from __future__ import annotations

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio._gen import knowledge_bases as gen
from contextkeep.context.v1 import knowledge_bases_pb2 as bases_pb
from contextkeep.errors import InvalidArgument
from contextkeep.values import Document


class KnowledgeBases(gen.KnowledgeBases):
    """Knowledge bases and their documents. A base that the caller may not see is reported as if it did not exist."""

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
        """Add a document, and return it at once. The service reads it later; its `state` shows the progress.

        Args:
            knowledge_base: The name of a base.
            data: Up to 3,000,000 bytes. Leave it out for a record.
            name: Title, such as the name of a file; its extension tells the type. Empty: the record's name.
            uri: The address of the original, which hits show.
            content_type: Media type of `data`, such as "application/pdf".
            working_memory_id: A record of working memory that the document follows.
            request_id: A UUID. The same one again adds nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            KnowledgeBaseNotFound: the knowledge base does not exist, or the caller may not see it.
            RecordNotFound: the record does not exist.
            InvalidArgument: neither bytes nor a record is given, or both, or the base may not read the record.
            LimitExceeded: the document is too large, or the base has no room.
        """
        if data is not None and working_memory_id is not None:
            raise InvalidArgument("give the bytes of a document or a record, not both", field="document")
        result = bases_pb.DocumentInput(name=name, uri=uri, content_type=content_type)
        if data is not None:
            result.data = data
        if working_memory_id is not None:
            result.working_memory_id = messages.to_id(working_memory_id)
        request = bases_pb.AddDocumentRequest(
            knowledge_base=knowledge_base, document=result, request_id=messages.new_request_id(request_id)
        )
        response: bases_pb.AddDocumentResponse = await self._call("AddDocument", request, timeout_s=timeout_s)
        return Document.from_proto(response.document)
