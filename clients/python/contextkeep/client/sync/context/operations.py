# Generated from aio/context/operations.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Usage, tenants, background work, administrative calls."""

from __future__ import annotations

from collections.abc import Generator
from typing import Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _messages as messages
from contextkeep.client._messages import LimitChanges
from contextkeep.client.sync.observing import Observed
from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.values import AdministrativeCall, OwedWork, RetriedWork, Tenant, Usage


class Operations(Observed):
    """Usage, tenants, background work, administrative calls.

    `get_usage` and `get_recent_calls` are for tenants, `list_administrative_calls` for their administrators. The other
    calls need the scope operator, which only the command line gives.
    """

    def list_administrative_calls(
        self, *, call_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[AdministrativeCall, None, None]:
        """Yield the calls of administrators, the newest first, following the pages.

        Args:
            call_id: Only this one. Empty: all.
            page_size: Calls of one page; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListAdministrativeCallsRequest(call_id=call_id, page_size=page_size)
        while True:
            page: pb.ListAdministrativeCallsResponse = self._call(
                "ListAdministrativeCalls", request, timeout_s=timeout_s
            )
            for call in page.calls:
                yield AdministrativeCall.from_proto(call)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def get_usage(self, *, timeout_s: float | None = None) -> Usage:
        """Return what your tenant stores, and the limits that hold for it. Needs the scope admin."""
        return Usage.from_proto(self._call("GetUsage", pb.GetUsageRequest(), timeout_s=timeout_s))

    def list_tenants(self, *, page_size: int = 0, timeout_s: float | None = None) -> Generator[Tenant, None, None]:
        """Yield all tenants by id, with where each lives and what it stores, following the pages.

        Those of a database that does not answer are there, too, and `is_away`.

        Args:
            page_size: Tenants of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.
        """
        request = pb.ListTenantsRequest(page_size=page_size)
        while True:
            page: pb.ListTenantsResponse = self._call("ListTenants", request, timeout_s=timeout_s)
            for tenant in page.tenants:
                yield Tenant.from_proto(tenant)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def set_tenant_limits(
        self, tenant: str, *, timeout_s: float | None = None, **limits: Unpack[LimitChanges]
    ) -> Tenant:
        """Say what a tenant may store, and return it.

        Args:
            tenant: Its name.
            timeout_s: Deadline; None: the client's.
            **limits: `records_max`, `bytes_max`, `blob_bytes_max`, `content_bytes_max`: None is what the settings say
                again, and those that are not named stay.

        Raises:
            TenantNotFound: there is none of this name.
            Unavailable: the database where it lives does not answer.
            InvalidArgument: none is named, or one can be no limit.
        """
        said = {name: value for name, value in limits.items() if value is not None}
        request = pb.SetTenantLimitsRequest(
            tenant=tenant,
            limits=messages.built(pb.TenantLimits, "limits", **said),
            update_mask=FieldMask(paths=sorted(limits)),
        )
        response: pb.SetTenantLimitsResponse = self._call("SetTenantLimits", request, timeout_s=timeout_s)
        return Tenant.from_proto(response.tenant)

    def list_background_work(self, *, timeout_s: float | None = None) -> OwedWork:
        """Return what is owed behind calls, by kind and database, of all tenants together."""
        request = pb.ListBackgroundWorkRequest()
        response: pb.ListBackgroundWorkResponse = self._call("ListBackgroundWork", request, timeout_s=timeout_s)
        return OwedWork.from_proto(response)

    def retry_background_work(self, kind: str, *, timeout_s: float | None = None) -> RetriedWork:
        """Let what has failed of a kind be tried again now, 10,000 of each database at most; how much it is."""
        request = pb.RetryBackgroundWorkRequest(kind=kind)
        response: pb.RetryBackgroundWorkResponse = self._call("RetryBackgroundWork", request, timeout_s=timeout_s)
        return RetriedWork.from_proto(response)
