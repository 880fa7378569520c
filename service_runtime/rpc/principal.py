"""Who calls: the principal, and how a key becomes one.

The principal comes from the key alone; no field and no header widens it. With `ALLOW_ANONYMOUS`, and only while no key
exists, a call without a key acts as the anonymous principal of the default tenant. `server.check_exposure` allows that
only on loopback.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

import orjson

from contextkeep.errors import PermissionDenied, SubjectRequired, Unauthenticated
from service_runtime.values.checks import check_text

# Its row is made in migrations/0001_access.sql.
DEFAULT_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
GRAPH_DEFAULT = "default"
CONTEXT_READ = "context:read"  # to ask context query, and nothing else; `read` includes it
COMPILE = "compile"  # to compile pages from the part of the graph that the key sees
SCOPES = ("read", "write", "admin", "delegate", CONTEXT_READ, COMPILE)
NO_SCOPE = "none"  # for calls that every valid key may make
OPERATOR = "operator"  # for all tenants at once; only the command line gives it, and no scope includes it
USER_ID_CHARS_MAX = 512  # characters; the subject of a token has the same limit

Metadata = Iterable[tuple[str, str | bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The user and the key that a call acts for."""

    tenant_id: UUID
    subject: str  # the name of the key or of the token's user; rows keep it as `created_by`
    scopes: frozenset[str] = frozenset(SCOPES)
    user_id: str = ""  # the user whose own rows it sees; empty if it acts for no user
    agent_id: str = ""
    app_ids: frozenset[str] = frozenset()  # empty: not bound to apps
    agent_bundle_id: str = ""  # empty: not bound to one
    graph_names: frozenset[str] = frozenset()  # empty: not bound to graphs
    context_id: UUID | None = None  # None: not bound to a context
    key_id: UUID | None = None  # id of the key in Postgres; None if the credential is not stored there
    expires_at: datetime | None = None  # end of a token's validity

    @property
    def bounds(self) -> str:
        """Return the bounds as row-level security reads them: JSON, equal for equal bounds; empty without bounds."""
        if not (self.app_ids or self.agent_bundle_id or self.graph_names or self.context_id):
            return ""
        bounds: dict[str, object] = {}
        if self.app_ids:
            bounds["app_ids"] = sorted(self.app_ids)
        if self.agent_bundle_id:
            bounds["agent_bundle_id"] = self.agent_bundle_id
        if self.graph_names:
            bounds["graph_names"] = sorted(self.graph_names)
        if self.context_id:
            bounds["context_id"] = str(self.context_id)
        return orjson.dumps(bounds).decode()

    @property
    def graph_default(self) -> str:
        """The graph of a request that names none: the only one that the principal is bound to, else `default`."""
        return next(iter(self.graph_names)) if len(self.graph_names) == 1 else GRAPH_DEFAULT

    @property
    def app_default(self) -> str:
        """The app of a request that names none: the only one that the principal is bound to, else none."""
        return next(iter(self.app_ids)) if len(self.app_ids) == 1 else ""

    def may(self, scope: str) -> bool:
        """Say whether its scopes include a scope."""
        return scope in self.scopes or scope == NO_SCOPE or (scope == CONTEXT_READ and "read" in self.scopes)

    @property
    def sees_all_users(self) -> bool:
        """Say whether it may see the rows of all users, by statements `Across` users."""
        return "admin" in self.scopes

    def without_admin(self) -> Principal:
        """Return the principal without the scope `admin`: it sees the rows of its user and those of no user."""
        return replace(self, scopes=self.scopes - {"admin"})

    def acting_for(self, user_id: str) -> Principal:
        """Return the principal of a call whose request may name a user: it reads and writes as that user.

        This holds for `admin` too, so that an application that names a user cannot show that user rows of others.

        Args:
            user_id: `subject_user_id` of the request. Empty takes the credential's user.

        Raises:
            PermissionDenied: the credential belongs to another user; or to none, without the scope `delegate`.
            InvalidArgument, LimitExceeded: the id is malformed or too long.
        """
        if not user_id:
            return self
        check_text("subject_user_id", user_id, chars_max=USER_ID_CHARS_MAX)
        if user_id != self.user_id:
            if self.user_id:
                raise PermissionDenied("subject_user_id is not the user of the key")
            if "delegate" not in self.scopes:
                raise PermissionDenied("the key lacks the scope delegate", scope="delegate")
        return replace(self.without_admin(), user_id=user_id)

    def acting_for_somebody(self, user_id: str) -> Principal:
        """Return `acting_for` for a call about rows that always belong to a user, such as memories.

        Raises:
            SubjectRequired: the request names no user, and the credential has none; and the errors of `acting_for`.
        """
        acting = self.acting_for(user_id)
        if not acting.user_id:
            raise SubjectRequired("subject_user_id is required: the key has no user", field="subject_user_id")
        return acting

    def check_bounds(self, *, graph_name: str, agent_bundle_id: str, app_id: str) -> None:
        """Refuse to write a row that the principal could not see.

        Raises:
            PermissionDenied: it is bound to others, or to a context, which has none of these.
        """
        if self.context_id:
            raise PermissionDenied("the key is bound to a context")
        for what, name, bounds in (
            ("graphs", graph_name, self.graph_names),
            ("agent bundles", agent_bundle_id, {self.agent_bundle_id} - {""}),
            ("apps", app_id, self.app_ids),
        ):
            if bounds and name not in bounds:
                raise PermissionDenied(f"the key is bound to other {what}")


ANONYMOUS = Principal(tenant_id=DEFAULT_TENANT_ID, subject="anonymous")


class Authenticator(Protocol):
    """Turns a call's metadata into a principal."""

    async def authenticate(self, metadata: Metadata) -> Principal:
        """Return the principal of the credential in `metadata`.

        Raises:
            Unauthenticated: it is missing or invalid. The error does not say which.
        """
        ...


class Finder(Protocol):
    """Knows some of the keys or tokens that callers show."""

    async def find(self, secret: str) -> Principal | None:
        """Return the principal of a key or token, or None if it is not valid, or not of this kind."""
        ...


class ApiKeys:
    """A fixed set of keys, held as hashes: the comparison takes the same time for any wrong key."""

    def __init__(self, principals: Mapping[str, Principal]) -> None:
        """Take the principals by their key in clear text, which is not kept."""
        self._principals = [(_digest(key), principal) for key, principal in principals.items()]

    async def find(self, secret: str) -> Principal | None:
        """Return the principal of a key."""
        digest = _digest(secret)
        match = None
        for known, principal in self._principals:
            if hmac.compare_digest(known, digest):
                match = principal
        return match

    async def authenticate(self, metadata: Metadata) -> Principal:
        """Return the principal of the call's key."""
        principal = await self.find(credential(metadata))
        if principal is None:
            raise refusal()
        return principal


def refusal() -> Unauthenticated:
    """Return the one answer to any credential that is not valid."""
    return Unauthenticated("no valid key; send `authorization: Bearer <key>`")


def credential(metadata: Metadata) -> str:
    """Return the key or token of a call: from `authorization: Bearer`, else from `x-api-key`, else empty."""
    api_key = ""
    for name, value in metadata:
        text = value if isinstance(value, str) else value.decode("latin-1")
        if name == "authorization" and text[:7].lower() == "bearer ":
            return text[7:].strip()
        if name == "x-api-key":
            api_key = text.strip()
    return api_key


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
