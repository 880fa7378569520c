"""Keys as administrators see them, and the calls of administrators."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime

from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.values.base import Value, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ApiKey(Value):
    """A key, without what it is."""

    prefix: str  # how it begins
    subject: str = ""
    scopes: tuple[str, ...] = ()
    user_id: str = ""
    agent_id: str = ""
    app_ids: tuple[str, ...] = ()  # it is bound to; none: not to apps
    agent_bundle_id: str = ""
    graph_names: tuple[str, ...] = ()
    context_id: str = ""  # which it reaches; empty: it is of none
    made_by: str = ""  # how the key begins that it was made with
    created_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None  # to the minute

    @classmethod
    def from_proto(cls, key: pb.ApiKey) -> ApiKey:
        """Return the value of a message."""
        return cls(
            prefix=key.prefix,
            subject=key.subject,
            scopes=tuple(key.scopes),
            user_id=key.user_id,
            agent_id=key.agent_id,
            app_ids=tuple(key.app_ids),
            agent_bundle_id=key.agent_bundle_id,
            graph_names=tuple(key.graph_names),
            context_id=key.context_id,
            made_by=key.made_by,
            created_at=time_of(key.created_at),
            expires_at=time_of(key.expires_at) if key.HasField("expires_at") else None,
            revoked_at=time_of(key.revoked_at) if key.HasField("revoked_at") else None,
            last_used_at=time_of(key.last_used_at) if key.HasField("last_used_at") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CreatedKey(Value):
    """A key that was made. It is shown once, and not when this is printed."""

    key: str = field(repr=False)
    prefix: str

    def __str__(self) -> str:
        return f"a key that begins with {self.prefix}"

    @classmethod
    def from_proto(cls, made: pb.CreateKeyResponse) -> CreatedKey:
        """Return the value of a message."""
        return cls(key=made.key, prefix=made.prefix)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AdministrativeCall(Value):
    """A call that needed the scope admin, and changed something or tried to."""

    call_id: str
    called_at: datetime
    method: str = ""
    scope: str = ""
    status: str = ""
    reason: str = ""  # of its error; empty: there was none
    subject: str = ""
    user_id: str = ""
    agent_id: str = ""
    peer: str = ""  # from where
    ids: dict[str, list[str]] = field(default_factory=dict)  # of request and answer, by the paths of their fields

    @classmethod
    def from_proto(cls, call: pb.AdministrativeCall) -> AdministrativeCall:
        """Return the value of a message."""
        return cls(
            call_id=call.call_id,
            called_at=time_of(call.called_at),
            method=call.method,
            scope=call.scope,
            status=call.status,
            reason=call.reason,
            subject=call.subject,
            user_id=call.user_id,
            agent_id=call.agent_id,
            peer=call.peer,
            ids=json.loads(call.ids_json or "{}"),
        )
