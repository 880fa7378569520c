# Generated from aio/context/operations.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Usage, tenants, background work, administrative calls."""

from __future__ import annotations

from typing import Unpack

from google.protobuf.field_mask_pb2 import FieldMask

from contextkeep.client import _messages as messages
from contextkeep.client._messages import LimitChanges
from contextkeep.client.sync._gen import operations as gen
from contextkeep.client.sync.observing import Observed
from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.values import Tenant


class Operations(gen.Operations, Observed):
    """Usage, tenants, background work, administrative calls.

    `get_usage` and `get_recent_calls` are for tenants, `list_administrative_calls` for their administrators. The other
    calls need the scope operator, which only the command line gives.
    """

    def set_tenant_limits(
        self, tenant: str, *, timeout_s: float | None = None, **limits: Unpack[LimitChanges]
    ) -> Tenant:
        """Set the storage limits of a tenant, and return the tenant.

        Args:
            tenant: Name of the tenant.
            timeout_s: Deadline in seconds. None means the client's.
            **limits: `records_max`, `bytes_max`, `blob_bytes_max`, `content_bytes_max`: None restores
                the service's own limit. Limits that are not named stay.

        Raises:
            TenantNotFound: no tenant has this name.
            Unavailable: the database of the tenant does not answer.
            InvalidArgument: no limit is given, or a value is not a valid limit.
        """
        values = {name: value for name, value in limits.items() if value is not None}
        request = pb.SetTenantLimitsRequest(
            tenant=tenant,
            limits=messages.built(pb.TenantLimits, "limits", **values),
            update_mask=FieldMask(paths=sorted(limits)),
        )
        response: pb.SetTenantLimitsResponse = self._call("SetTenantLimits", request, timeout_s=timeout_s)
        return Tenant.from_proto(response.tenant)
