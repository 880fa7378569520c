"""Tenants, as operators see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep._gen.values_administration import TenantLimits
from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.values.base import Value, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tenant(Value):
    """A tenant, where it lives, what it stores, and the limits of its own."""

    tenant_id: str
    name: str
    created_at: datetime
    database: str = ""  # empty: the home database
    is_away: bool = False  # its database does not answer: what follows is not known, and None
    records: int | None = None
    size_bytes: int | None = None
    limits: TenantLimits | None = None

    @classmethod
    def from_proto(cls, tenant: pb.Tenant) -> Tenant:
        """Return the value of a message."""
        return cls(
            tenant_id=tenant.tenant_id,
            name=tenant.name,
            created_at=time_of(tenant.created_at),
            database=tenant.database,
            is_away=tenant.is_away,
            records=None if tenant.is_away else tenant.records,
            size_bytes=None if tenant.is_away else tenant.size_bytes,
            limits=None if tenant.is_away else TenantLimits.from_proto(tenant.limits),
        )
