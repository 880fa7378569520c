"""Composes the room transfer: opens its own parts, and returns its servicer."""

from __future__ import annotations

import contextlib
from contextlib import AsyncExitStack
from functools import partial

from context_service.contexts.room import message_checks_of
from context_service.kernel.dependencies import Dependencies, Room
from context_service.knowledge_bases.room import document_source
from context_service.memories.room import memory_source
from context_service.retrieval.model import OF_USERS, PassageScope
from context_service.retrieval.room import Verifying
from context_service.transfer.api import TransferServicer
from context_service.transfer.rules.export import Exporting
from context_service.transfer.rules.imports import Importing
from context_service.transfer.rules.row_checks import RowChecks
from context_service.transfer.store.followups import ImportFollowups
from context_service.wiki.room import page_source
from context_service.working_memory.room import BlobWriter, Limits, field_checks_of
from contextkeep.context.v1.transfer_pb2_grpc import add_TransferServicer_to_server
from contextkeep.errors import NotFound
from service_runtime.background_work import background
from service_runtime.grpc_server.server import Service
from service_runtime.postgres import Tenant


async def open_transfer(deps: Dependencies, limits: Limits, stack: AsyncExitStack) -> Room[TransferServicer]:
    """Start the cleanup of abandoned imports, and return the room."""
    settings, database, count = deps.settings, deps.database, deps.tokens.count
    verifying = Verifying(database, deps.passages, [memory_source(count), page_source(count), document_source(count)])

    async def mend(tenant: Tenant, user_id: str) -> None:
        """Correct the search index of a user's data, or of all data of the tenant if the user id is empty."""
        tenant_rows = database.tenant(tenant.tenant_id)
        scopes = [PassageScope.of_user(kind, tenant.tenant_id, user_id).id for kind in OF_USERS] if user_id else [None]
        for scope_id in scopes:
            with contextlib.suppress(NotFound):  # the user has none of that kind
                await verifying.run([tenant_rows], scope_id=scope_id, mend=True, on_progress=lambda _: None)

    importing = Importing(
        database,
        writer=BlobWriter(deps.storage, lease_s=settings.upload_lease_s),
        provider=deps.storage.provider,
        graph=deps.graph,
        limits=limits,
        owed=ImportFollowups(embeds_texts=deps.embedder is not None, queued_max=settings.queued_items_max),
        mend=mend,
        nesting_max=settings.json_nesting_max,
        checks=RowChecks(messages=message_checks_of(settings), records=field_checks_of(settings)),
        charge=deps.held,
    )
    exporting = Exporting(database, deps.storage, deps.graph, charge=deps.held)
    await stack.enter_async_context(background.keeping(partial(importing.keep_clearing, settings.sweep_interval_s)))
    service = Service(
        full_name="contextkeep.context.v1.Transfer",
        add=partial(
            add_TransferServicer_to_server,
            servicer := TransferServicer(exporting, importing),
        ),
        checks=[deps.schema_ready, deps.storage.check],
    )
    return Room(servicer, service)
