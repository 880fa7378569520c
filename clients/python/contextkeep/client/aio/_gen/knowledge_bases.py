"""The calls of knowledge_bases that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.client import Noun
from contextkeep.context.v1 import knowledge_bases_pb2 as knowledge_bases_pb
from contextkeep.values import Document, DocumentState, KnowledgeBase


class KnowledgeBases(Noun):
    """The calls of `client.knowledge_bases` that are one RPC each."""

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
        """Create a knowledge base, or replace its settings; its documents stay.

        Needs the scope `admin`.

        Args:
            name: The name by which agents refer to it: 1 to 200 characters.
            description: What the base contains; up to 2,000 characters.
            is_of_tenant: Search the base for every caller of the tenant. Otherwise only for the agents that name it, or
                whose template does.
            app_id: The app of the base. A key that is bound to apps sees only bases of these apps, and none without an
                app. It never changes.
            agent_bundle_id: The agent bundle of the base. A key that is bound to a bundle sees only bases of this
                bundle, and none without one. It never changes.
            graph_name: The graph of the base. A key that is bound to graphs sees only bases of these graphs, and none
                without one. It never changes.
            bedrock_id: Bedrock's id of it: 10 letters and digits.
            bedrock_region: The AWS region, such as "eu-central-1".
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: a field is not valid, or the base exists with another app, agent bundle or graph.
            LimitExceeded: limit `knowledge_bases`: 200 per tenant.
            PermissionDenied: the scope is missing; the key is bound.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = knowledge_bases_pb.PutKnowledgeBaseRequest(
            knowledge_base=knowledge_bases_pb.KnowledgeBaseInput(
                name=name,
                description=description,
                is_of_tenant=is_of_tenant,
                app_id=app_id,
                agent_bundle_id=agent_bundle_id,
                graph_name=graph_name,
                bedrock=messages.bedrock_base(bedrock_id, bedrock_region),
            ),
            request_id=messages.new_request_id(request_id),
        )
        answer: knowledge_bases_pb.PutKnowledgeBaseResponse = await self._call(
            "PutKnowledgeBase", request, timeout_s=timeout_s
        )
        return KnowledgeBase.from_proto(answer.knowledge_base)

    async def get(self, name: str, *, timeout_s: float | None = None) -> KnowledgeBase:
        """Read a knowledge base, with the number of its documents in each state.

        Args:
            name: The base to read.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            KnowledgeBaseNotFound: No knowledge base that the caller may see has this name.
        """
        request = knowledge_bases_pb.GetKnowledgeBaseRequest(name=name)
        answer: knowledge_bases_pb.GetKnowledgeBaseResponse = await self._call(
            "GetKnowledgeBase", request, timeout_s=timeout_s
        )
        return KnowledgeBase.from_proto(answer.knowledge_base)

    async def list(self, *, page_size: int = 0, timeout_s: float | None = None) -> AsyncGenerator[KnowledgeBase, None]:
        """List the knowledge bases that the caller sees, by name.

        Args:
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = knowledge_bases_pb.ListKnowledgeBasesRequest(page_size=page_size)
        while True:
            page: knowledge_bases_pb.ListKnowledgeBasesResponse = await self._call(
                "ListKnowledgeBases", request, timeout_s=timeout_s
            )
            for item in page.knowledge_bases:
                yield KnowledgeBase.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def delete(self, name: str, *, request_id: Id | None = None, timeout_s: float | None = None) -> None:
        """Delete a knowledge base for good, with all its documents.

        From then on, no search finds any part of it. Records that the base used stay in working memory. Needs the scope
        `admin`.

        Args:
            name: The base to delete.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            KnowledgeBaseNotFound: No knowledge base that the caller may see has this name.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = knowledge_bases_pb.DeleteKnowledgeBaseRequest(
            name=name, request_id=messages.new_request_id(request_id)
        )
        await self._call("DeleteKnowledgeBase", request, timeout_s=timeout_s)

    async def list_documents(
        self,
        knowledge_base: str,
        *,
        states: Iterable[DocumentState] = (),
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[Document, None]:
        """List the documents of a knowledge base.

        Args:
            knowledge_base: The name of the base.
            states: Only documents in one of these states. Empty: all.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
            KnowledgeBaseNotFound: No knowledge base that the caller may see has this name.
        """
        request = knowledge_bases_pb.ListDocumentsRequest(
            knowledge_base=knowledge_base,
            states=messages.choices_of("states", states, knowledge_bases_pb.DocumentState),
            page_size=page_size,
        )
        while True:
            page: knowledge_bases_pb.ListDocumentsResponse = await self._call(
                "ListDocuments", request, timeout_s=timeout_s
            )
            for item in page.documents:
                yield Document.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def remove_document(
        self, knowledge_base: str, document_id: Id, *, request_id: Id | None = None, timeout_s: float | None = None
    ) -> None:
        """Delete a document for good, with its index entries.

        A record that it follows stays in working memory.

        Args:
            knowledge_base: The name of the base.
            document_id: The document to delete.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            KnowledgeBaseNotFound: No knowledge base that the caller may see has this name.
            DocumentNotFound: The knowledge base has no document with this id.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
        """
        request = knowledge_bases_pb.RemoveDocumentRequest(
            knowledge_base=knowledge_base,
            document_id=messages.to_id(document_id),
            request_id=messages.new_request_id(request_id),
        )
        await self._call("RemoveDocument", request, timeout_s=timeout_s)
