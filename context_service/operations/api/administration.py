"""The proto service `Administration`, RPCs of administrators: parse, one call, render."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import orjson

from context_service.kernel.wire import times
from context_service.operations.api.operations import OperationsServicer
from context_service.operations.rules.jobs import Jobs
from context_service.operations.rules.tenants import Tenants
from context_service.operations.rules.work import Work
from context_service.working_memory.room import Limits
from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.errors import InvalidArgument, KeyNotFound
from service_runtime.auth.audit_trail import AdministrativeCall, AuditTrail
from service_runtime.auth.derived_keys import KEY_LIFETIME_MAX, Caller, DerivedKey, DerivedKeys
from service_runtime.auth.keys import PREFIX_CHARS, NewKey
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_optional_id


class AdministrationServicer(OperationsServicer):
    """Answers the RPCs of `Administration`."""

    def __init__(
        self, keys: DerivedKeys, trail: AuditTrail, limits: Limits, tenants: Tenants, work: Work, jobs: Jobs
    ) -> None:
        self._keys = keys
        self._trail = trail
        self._limits = limits
        self._tenants = tenants
        self._work = work
        self._jobs = jobs

    async def GetCaller(self, request: pb.GetCallerRequest, context: object) -> pb.GetCallerResponse:
        """Return the caller that the key stands for."""
        return _caller(await self._keys.caller(calls.principal()))

    async def ListKeys(self, request: pb.ListKeysRequest, context: object) -> pb.ListKeysResponse:
        """List keys."""
        page = PageRequest(size=request.page_size, token=request.page_token)
        context_id = parse_optional_id("context_id", request.context_id)
        keys, token = await self._keys.page(page, context_id=context_id, principal=calls.principal())
        return pb.ListKeysResponse(keys=map(_key, keys), next_page_token=token)

    async def CreateKey(self, request: pb.CreateKeyRequest, context: object) -> pb.CreateKeyResponse:
        """Make a key."""
        draft = request.key
        if not draft.scopes:
            raise InvalidArgument("key.scopes must name at least one scope", field="key.scopes")
        if not 0 <= draft.ttl_s <= KEY_LIFETIME_MAX.total_seconds():
            limit_s = int(KEY_LIFETIME_MAX.total_seconds())
            raise InvalidArgument(f"key.ttl_s must be between 0 and {limit_s} (got {draft.ttl_s})", field="key.ttl_s")
        new = copied(
            NewKey,
            draft,
            tenant="",
            scopes=tuple(draft.scopes),
            app_ids=tuple(draft.app_ids),
            graph_names=tuple(draft.graph_names),
            lifetime=timedelta(seconds=draft.ttl_s) if draft.ttl_s else None,
        )
        key = await self._keys.make(calls.principal(), new)
        return pb.CreateKeyResponse(key=key, prefix=key[:PREFIX_CHARS])

    async def RevokeKey(self, request: pb.RevokeKeyRequest, context: object) -> pb.RevokeKeyResponse:
        """Revoke a key."""
        if not await self._keys.revoke(calls.principal(), request.prefix):
            raise KeyNotFound("no key that you may revoke has this prefix; ListKeys shows the keys")
        return pb.RevokeKeyResponse()

    async def ListAdministrativeCalls(
        self, request: pb.ListAdministrativeCallsRequest, context: object
    ) -> pb.ListAdministrativeCallsResponse:
        """List calls of administrators."""
        page = PageRequest(size=request.page_size, token=request.page_token)
        calls_found, token = await self._trail.page(page, call_id=request.call_id, principal=calls.principal())
        return pb.ListAdministrativeCallsResponse(calls=map(_call, calls_found), next_page_token=token)

    async def GetUsage(self, request: pb.GetUsageRequest, context: object) -> pb.GetUsageResponse:
        """Read the usage and limits of the tenant."""
        usage = await self._limits.usage(calls.principal())
        limits = pb.TenantLimits(**dataclasses.asdict(usage.limits))
        return pb.GetUsageResponse(records=usage.records, size_bytes=usage.size_bytes, limits=limits)


def _caller(caller: Caller) -> pb.GetCallerResponse:
    """Return the protobuf message of the caller: its key, its scopes and its bounds."""
    principal = caller.principal
    return copied(
        pb.GetCallerResponse,
        principal,
        tenant=caller.tenant,
        key_prefix=caller.key_prefix,
        scopes=sorted(principal.scopes),
        app_ids=sorted(principal.app_ids),
        graph_names=sorted(principal.graph_names),
        expires_at=times.timestamp(caller.expires_at) if caller.expires_at else None,
    )


def _key(key: DerivedKey) -> pb.ApiKey:
    return copied(pb.ApiKey, key)


def _call(call: AdministrativeCall) -> pb.AdministrativeCall:
    return copied(pb.AdministrativeCall, call, ids_json=orjson.dumps(call.ids).decode())
