"""Maintenance that operators run on the stored data, whether the services run or not.

Each function opens the databases and providers that it needs. Functions over all tenants leave out databases that do
not answer, and report them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from uuid import UUID

from context_service.app import migrations
from context_service.blobs.providers import open_storage
from context_service.blobs.storage import BlobStorage
from context_service.compiled_pages.store.passages import facet_source
from context_service.contexts.room import context_eraser_of
from context_service.contexts.store.artifact_passages import artifact_source
from context_service.contexts.store.erasures import on_hold
from context_service.contexts.store.log_passages import log_source
from context_service.contexts.store.pointed_passages import POINTED
from context_service.contexts.store.pointed_records import PointedRecords
from context_service.erasure.room import subject_eraser_of
from context_service.erasure.rules import holds, subjects
from context_service.erasure.rules.register import Register
from context_service.erasure.rules.replay import Replaying
from context_service.erasure.rules.subjects import SubjectEraser
from context_service.kernel.llm.providers import model_of
from context_service.kernel.tokens import TokenCounter
from context_service.knowledge_bases.store.passages import document_source
from context_service.mcp_servers.rules import Rotated, rotate
from context_service.memories.store.passages import memory_source
from context_service.resources import open_database
from context_service.retrieval.model import CONTEXT, OF_USERS, Backfilled
from context_service.retrieval.room import document_reader_of
from context_service.retrieval.rules.passage_backfill import PassageBackfill
from context_service.retrieval.rules.verify import Verified, Verifying
from context_service.retrieval.store.passages import Passages
from context_service.settings import Settings
from context_service.wiki.store.passages import page_source
from context_service.working_memory.room import fsck_of, mover_of, sweeper_of
from context_service.working_memory.rules.record_texts import RecordTexts
from context_service.working_memory.store.texts.index_source import RECORDS
from context_service.working_memory.store.texts.record_index import different_records, index_records
from context_service.working_memory.upkeep.fsck import Report
from context_service.working_memory.upkeep.move_blobs import Copied, ProviderCopy
from context_service.working_memory.upkeep.sweep import Swept
from context_service.working_memory.upkeep.text_backfill import TextBackfill
from context_service.working_memory.upkeep.vector_backfill import Backfill
from contextkeep.errors import FailedPrecondition, InvalidArgument, SecretsKeyMissing
from service_runtime.auth.sealing import KeyRing, keys_of
from service_runtime.auth.tenants import tenant_named
from service_runtime.databases.schema import SchemaCheck
from service_runtime.erasure.erased import Erased, Replayed
from service_runtime.postgres import Database

_CONTEXTS = "context.context"


@asynccontextmanager
async def _open_databases(settings: Settings) -> AsyncIterator[Database]:
    """Connect to all databases, and check which of them answer."""
    async with open_database(settings) as database:
        await SchemaCheck(database, migrations()).ready()
        yield database


async def sweep(settings: Settings) -> Swept:
    """Run one pass of the sweeper, as the running services do regularly.

    Raises:
        Unavailable: Postgres does not answer.
        UnsafeRole, ProviderNotConfigured: as `app.running`.
    """
    async with _open_databases(settings) as database, open_storage(settings) as storage:
        return await sweeper_of(settings, database, storage).sweep()


async def rotate_secrets(settings: Settings) -> Rotated:
    """Seal all secrets of all tenants with the newest key; then the older keys can be removed.

    Raises:
        SecretsKeyMissing: SECRETS_KEY is not set.
        Unavailable: Postgres does not answer.
    """
    keys = KeyRing(keys_of(settings.secrets_key.get_secret_value()))
    if not keys.newest_id:
        raise SecretsKeyMissing("SECRETS_KEY is not set; set it as for the services")
    async with _open_databases(settings) as database:
        rotated = await rotate(await database.tenants(reachable=True), keys)
        rotated.databases_away = database.away
        return rotated


async def copy_blobs(
    settings: Settings, source: str, target: str, *, dry_run: bool, on_progress: Callable[[Copied], None]
) -> Copied:
    """Copy the blobs of all tenants from one provider to another.

    Raises:
        InvalidArgument, ProviderNotConfigured, StorageFull, Unavailable: see `ProviderCopy.run`.
        UnsafeRole: as `app.running`.
    """
    async with _open_databases(settings) as database, open_storage(settings) as storage:
        copy = ProviderCopy(database, storage=storage, mover=mover_of(settings, storage))
        copied = await copy.run(source, target, dry_run=dry_run, on_progress=on_progress)
        if not dry_run:
            await Register(storage).copy(target)
        return copied


async def fsck(settings: Settings, *, quick: bool, repair: bool, on_progress: Callable[[Report], None]) -> Report:
    """Compare rows and stored bytes of all tenants.

    Raises:
        Unavailable: Postgres or a provider does not answer.
        UnsafeRole, ProviderNotConfigured: as `app.running`.
    """
    async with _open_databases(settings) as database, open_storage(settings) as storage:
        check = fsck_of(settings, database, storage)
        return await check.check(quick=quick, repair=repair, on_progress=on_progress)


async def backfill(
    settings: Settings, *, dry_run: bool, on_progress: Callable[[Backfilled, Backfilled], None]
) -> tuple[Backfilled, Backfilled]:
    """Queue the missing vectors of records, and of passages of contexts and memories.

    Raises:
        FailedPrecondition: no embedder is configured.
        Unavailable: Postgres does not answer.
        UnsafeRole: as `app.running`.
    """
    model = model_of(settings)
    if not model:
        raise FailedPrecondition(
            "no embedder is configured: set EMBEDDING_PROVIDER or EMBEDDING_URL as for the services"
        )
    async with _open_databases(settings) as database:
        none = Backfilled()
        records = await Backfill(database, model=model).run(
            dry_run=dry_run, on_progress=lambda done: on_progress(done, none)
        )
        passages = none
        for kind in (CONTEXT, *OF_USERS):

            def on_passages(done: Backfilled, before: Backfilled = passages) -> None:
                on_progress(records, before + done)

            passages += await PassageBackfill(database, kind, model=model).run(dry_run=dry_run, on_progress=on_passages)
        return records, passages


async def backfill_texts(settings: Settings, *, dry_run: bool, on_progress: Callable[[Backfilled], None]) -> Backfilled:
    """Queue the texts of records that were never read.

    Raises:
        Unavailable: Postgres does not answer.
        UnsafeRole: as `app.running`.
    """
    async with _open_databases(settings) as database:
        return await TextBackfill(database).run(dry_run=dry_run, on_progress=on_progress)


async def erase_subject(
    settings: Settings, tenant: str, user_id: str, *, dry_run: bool, on_progress: Callable[[int, int], None]
) -> dict[str, int]:
    """Remove all data of a user from this service, and return its counts by kind.

    It does the same as `Erasures/Erase`, but not in the Entity Service.

    Args:
        settings: The same settings as those of the running services.
        tenant: The name of the user's tenant.
        user_id: The id of the user.
        dry_run: Only count the data, and remove nothing.
        on_progress: Called with the number of removed contexts, and of all contexts.

    Raises:
        InvalidArgument: the user is empty, which would mean all data without an owner.
        LegalHold: a legal hold forbids the erasure.
        NoSuchTenant: no tenant has this name.
        Unavailable: Postgres does not answer.
        UnsafeRole, ProviderNotConfigured: as `app.running`.
    """
    if not user_id:
        raise InvalidArgument("--user must not be empty", field="user")
    async with _open_databases(settings) as database, open_storage(settings) as storage:
        tenant_rows = await tenant_named(database, tenant)
        there_were = await subjects.count_owned(tenant_rows, user_id)
        if not dry_run:
            if forbidding := await holds.against(tenant_rows, user_id):
                raise on_hold([hold.hold_id for hold in forbidding])
            eraser, settle = _erasing(settings, database, storage)
            await tenant_rows.transaction(
                lambda transaction: subjects.begin(transaction, user_id, requested_by="operator")
            )
            contexts_max = there_were[_CONTEXTS]
            while await eraser.erase_tenant(tenant_rows):
                await settle()
                left = await subjects.count_owned(tenant_rows, user_id)
                on_progress(contexts_max - left[_CONTEXTS], contexts_max)
                await asyncio.sleep(subjects.LEASE_S)  # a replica is removing the rest
            on_progress(contexts_max, contexts_max)
        return there_were


async def erasures(settings: Settings) -> list[Erased]:
    """Return the register of erasures of all tenants, the oldest first; works without Postgres.

    Raises:
        ProviderNotConfigured, Unavailable: a provider does not answer.
    """
    async with open_storage(settings) as storage:
        return await Register(storage).entries()


async def replay_erasures(settings: Settings, lines: Sequence[Erased]) -> Replayed:
    """Erase again the subjects of a register that this service has.

    Raises:
        Unavailable: Postgres or a provider does not answer. Run it again for the rest.
        UnsafeRole, ProviderNotConfigured: as `app.running`.
    """
    async with _open_databases(settings) as database, open_storage(settings) as storage:
        eraser, settle = _erasing(settings, database, storage)
        return await Replaying(database, eraser, settle=settle).run(lines)


def _erasing(
    settings: Settings, database: Database, storage: BlobStorage
) -> tuple[SubjectEraser, Callable[[], Awaitable[object]]]:
    """Return the eraser of subjects, and the follow-up work that removes passages of erased records from contexts."""
    eraser = subject_eraser_of(settings, database, storage, context_eraser_of(settings, database))
    tokens, reader = TokenCounter(), document_reader_of(settings)
    pointed = PointedRecords(database, Passages(database), read=RecordTexts(storage, reader).read, count=tokens.count)
    return eraser, pointed.read_due


async def verify_index(
    settings: Settings,
    *,
    tenant: str | None,
    context_id: UUID | None,
    mend: bool,
    on_progress: Callable[[Verified], None],
) -> Verified:
    """Compare the passages and the terms of records with the texts that they are made of, and rewrite differences.

    Args:
        settings: The same settings as those of the running services.
        tenant: The name of the tenant to check; None checks all.
        context_id: The id of the context to check; None checks all.
        mend: Rewrite differences; otherwise nothing is changed.
        on_progress: Called with the results so far, after each context.

    Raises:
        NotFound: there is no such context.
        NoSuchTenant: no tenant has this name.
        Unavailable: Postgres does not answer.
        UnsafeRole: as `app.running`.
    """
    async with _open_databases(settings) as database:
        # A single context may be in any database, so each of them must answer.
        is_all = tenant is None and context_id is None
        tenants = [await tenant_named(database, tenant)] if tenant else await database.tenants(reachable=is_all)
        count = TokenCounter().count
        sources = [
            log_source(count),
            POINTED,
            artifact_source(count),
            RECORDS,
            memory_source(count),
            page_source(count),
            document_source(count),
            facet_source(count),
        ]
        verifying = Verifying(database, Passages(database), sources)
        verified = await verifying.run(tenants, scope_id=context_id, mend=mend, on_progress=on_progress)
        for each in tenants if context_id is None else ():
            async for records, different in different_records(each):
                if mend and different:
                    await each.transaction(partial(index_records, ids=different))
                verified.records += records
                verified.records_different += len(different)
                on_progress(verified)
        verified.databases_away = database.away if is_all else ()
        return verified
