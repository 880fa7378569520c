"""Composes the room operations: opens its own parts, and exports the parts that other rooms use."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial

from context_service.kernel.dependencies import Dependencies, Room
from context_service.operations.api.administration import AdministrationServicer
from context_service.operations.rules.jobs import Jobs, Progress, Tell
from context_service.operations.rules.tenants import Tenants
from context_service.operations.rules.work import Work
from context_service.working_memory.room import Limits, fsck_of, sweeper_of
from contextkeep.context.v1.administration_pb2_grpc import add_AdministrationServicer_to_server
from service_runtime.auth.audit_trail import AuditTrail
from service_runtime.auth.derived_keys import DerivedKeys
from service_runtime.grpc_server.server import Service

_PROBLEMS_SHOWN = 50  # the most problems of a check that the row of its job has


async def open_administration(
    deps: Dependencies, trail: AuditTrail, limits: Limits, stack: AsyncExitStack
) -> Room[AdministrationServicer]:
    """Start the runner of jobs, and return the room."""
    settings, database, storage = deps.settings, deps.database, deps.storage

    async def sweep(_: Mapping[str, bool], tell: Tell) -> Progress:
        swept = await sweeper_of(settings, database, storage).sweep(lambda swept: tell(dataclasses.asdict(swept)))
        return dataclasses.asdict(swept)

    async def fsck(options: Mapping[str, bool], tell: Tell) -> Progress:
        check = fsck_of(settings, database, storage)
        report = await check.check(
            quick=options["quick"], repair=options["repair"], on_progress=lambda report: tell(report.counted())
        )
        problems = [dataclasses.asdict(problem) for problem in report.problems[:_PROBLEMS_SHOWN]]
        return report.counted() | {"problems": problems, "databases_away": report.databases_away}

    jobs = Jobs(database, {"SWEEP": sweep, "FSCK": fsck})
    await stack.enter_async_context(jobs.running())
    servicer = AdministrationServicer(DerivedKeys(database), trail, limits, Tenants(database), Work(database), jobs)
    service = Service(
        full_name="contextkeep.context.v1.Administration",
        add=partial(add_AdministrationServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service)
