"""The rules of knowledge bases: administrators create them, and any caller that sees one may add documents to it.

A base is searched for all callers of its tenant, or for the agents that name it. `BaseRows` decides which callers see a
base; `BaseSearch` decides which bases a question searches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from context_service.kernel.catalog import Catalog, check_unbound
from context_service.knowledge_bases.model import (
    BASE_BYTES_MAX,
    BASES_MAX,
    DOCUMENTS_MAX,
    Base,
    BaseInput,
    Document,
    DocumentInput,
    DocumentState,
    check_base,
    check_name,
)
from context_service.knowledge_bases.store.bases import BASES, BaseRows, base_of, values_of
from context_service.knowledge_bases.store.documents import DocumentRows
from contextkeep.errors import (
    DocumentNotFound,
    InvalidArgument,
    KnowledgeBaseNotFound,
    PermissionDenied,
    RecordNotFound,
)
from service_runtime.inputs import pages
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_stored

_SEQ_MAX = 2**63 - 1


class KnowledgeBases:
    """Reads and writes the knowledge bases of tenants; each call acts for its principal.

    Args:
        database: The database that holds the knowledge bases.
        rows: The SQL statements on knowledge bases.
        documents: The SQL statements on their documents.
        bedrock_ids: The knowledge bases of Amazon Bedrock that tenants may name.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
    """

    def __init__(
        self,
        database: Database,
        rows: BaseRows,
        documents: DocumentRows,
        *,
        bedrock_ids: Mapping[UUID, Collection[str]],
        requests: Requests,
    ) -> None:
        self._database = database
        self._rows = rows
        self._documents = documents
        self._bedrock_ids = bedrock_ids
        self._requests = requests
        self._catalog = Catalog(
            database,
            BASES,
            requests=requests,
            of_row=base_of,
            not_found=_no_base,
            check_count=lambda count: check_stored("knowledge_bases", count, BASES_MAX),
        )

    async def put(self, base_input: BaseInput, *, principal: Principal, request: Request | None) -> Base:
        """Create a base, or replace its settings.

        Raises:
            InvalidArgument: a field is malformed, or changes the bounds or the Amazon Bedrock base of an existing base.
            LimitExceeded: a field is too large, or there are too many bases.
            PermissionDenied: the key is bound, or the operator has not listed this knowledge base of Amazon Bedrock.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "knowledge bases")
        check_base(base_input)
        if base_input.bedrock and base_input.bedrock.bedrock_id not in self._bedrock_ids.get(principal.tenant_id, ()):
            raise PermissionDenied(
                "the tenant may not use this Amazon Bedrock knowledge base; ask the operator of the service to allow it"
            )

        async def work(transaction: Transaction) -> Base:
            """Write the base, and refuse a change of its bounds or of its Amazon Bedrock base."""
            base = await self._catalog.put_in(transaction, base_input.name, values_of(base_input), by=principal.subject)
            if base.content.walls != base_input.walls:
                raise InvalidArgument(
                    "graph_name, agent_bundle_id and app_id of a knowledge base cannot change; make another base",
                    field="knowledge_base.app_id",
                )
            if base.content.bedrock != base_input.bedrock:
                raise InvalidArgument(
                    "bedrock of a knowledge base cannot change; make another base",
                    field="knowledge_base.bedrock",
                )
            return base

        return await self._catalog.write(work, principal=principal, request=request)

    async def get(self, name: str, *, principal: Principal) -> Base:
        """Return a base, with the number of its documents in each state.

        Raises:
            InvalidArgument: the name is blank.
            LimitExceeded: the name is too long.
            KnowledgeBaseNotFound: the base does not exist, or the caller may not see it.
        """
        check_name("name", name)
        base = await self._catalog.get(name, principal=principal)
        return replace(base, documents=await self._rows.states(principal, base.base_id))

    async def page(self, page: pages.PageRequest, *, principal: Principal) -> tuple[list[Base], str]:
        """Return a page of the bases that the caller may see, by name, and the token of the next page.

        Raises:
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        query = ("ListKnowledgeBases", principal.tenant_id)
        return await self._catalog.page(page, query=query, principal=principal)

    async def delete(self, name: str, *, principal: Principal, request: Request | None) -> None:
        """Remove a base with its documents.

        Raises:
            InvalidArgument, LimitExceeded, KnowledgeBaseNotFound: as in `get`.
            PermissionDenied: the key is bound, for example to an app or a graph.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "knowledge bases")
        check_name("name", name)

        async def work(transaction: Transaction) -> None:
            base = await self._catalog.lock(transaction, name, principal=principal)
            await self._rows.delete(transaction, base.base_id)

        await self._database.of(principal).transaction(self._requests.once(request, work))

    async def add(
        self, name: str, document_input: DocumentInput, *, principal: Principal, request: Request | None
    ) -> Document:
        """Add a document. It is read in the background.

        Raises:
            InvalidArgument: a field is malformed, the base is one of Amazon Bedrock, or the record may not be in it.
            LimitExceeded: a field is too large, or the base has no room.
            KnowledgeBaseNotFound: the base does not exist, or the caller may not see it.
            RecordNotFound: the record that the document follows does not exist.
            RequestIdReused: another request had the same request id.
        """
        check_name("knowledge_base", name)
        document_input.check()

        async def work(transaction: Transaction) -> Document:
            """Lock the base, check that it has room, and add the document, with the name and type of its record."""
            base = await self._catalog.lock(transaction, name, principal=principal)
            if base.content.bedrock:
                raise InvalidArgument(
                    "the documents of this knowledge base are in Amazon Bedrock; add them there", field="knowledge_base"
                )
            documents, size_bytes = await self._rows.counted(
                transaction, base.base_id, more=1, more_bytes=len(document_input.data or b"")
            )
            check_stored("documents", documents, DOCUMENTS_MAX)
            check_stored("size_bytes", size_bytes, BASE_BYTES_MAX)
            whole = await self._of_record(transaction, base, document_input)
            document = await self._documents.add(transaction, base, whole, by=principal.subject)
            return document

        return await self._database.of(principal).transaction(self._requests.once(request, work))

    async def documents(
        self, name: str, states: Sequence[DocumentState], page: pages.PageRequest, *, principal: Principal
    ) -> tuple[list[Document], str]:
        """Return a page of the documents of a base, the newest first, and the token of the next page.

        Raises:
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
            LimitExceeded, KnowledgeBaseNotFound: as in `get`.
        """
        base = await self.get(name, principal=principal)
        query = ("ListDocuments", principal.tenant_id, base.base_id, sorted(state.value for state in states))
        before = pages.decode_number(query, page.token, number_min=1) or _SEQ_MAX
        count = pages.page_size(page.size)
        rows = await self._documents.page(principal, base, states, before=before, count=count + 1)
        rows, token = pages.cut(query, rows, count, key=lambda placed: (placed[0],))
        return [document for _, document in rows], token

    async def remove(self, name: str, document_id: UUID, *, principal: Principal, request: Request | None) -> None:
        """Remove a document with its passages.

        Raises:
            InvalidArgument, LimitExceeded, KnowledgeBaseNotFound: as in `get`.
            DocumentNotFound: the base has no document with this id.
            RequestIdReused: another request had the same request id.
        """
        check_name("knowledge_base", name)

        async def work(transaction: Transaction) -> None:
            base = await self._catalog.lock(transaction, name, principal=principal)
            size_bytes = await self._documents.remove(transaction, base, document_id)
            if size_bytes is None:
                raise DocumentNotFound(f"the knowledge base has no document {document_id}", document_id=document_id)
            await self._rows.counted(transaction, base.base_id, more=-1, more_bytes=-size_bytes)

        await self._database.of(principal).transaction(self._requests.once(request, work))

    async def _of_record(self, transaction: Transaction, base: Base, document_input: DocumentInput) -> DocumentInput:
        """Return a document with the name and type of its record, if it follows one."""
        if document_input.record_id is None:
            return document_input
        record = await self._documents.record(transaction, base, document_input.record_id)
        if record is None:
            raise RecordNotFound(
                f"record {document_input.record_id} does not exist", working_memory_id=document_input.record_id
            )
        if not record.is_open:
            raise InvalidArgument(
                "the record must not be archived, nor belong to a user or a context, and must have the graph_name, "
                "agent_bundle_id and app_id of the knowledge base",
                field="document.working_memory_id",
            )
        return replace(document_input, name=document_input.name or record.name, content_type=record.content_type)


def _no_base(name: str) -> KnowledgeBaseNotFound:
    return KnowledgeBaseNotFound(f"knowledge base {name[:100]!r} does not exist", name=name)
