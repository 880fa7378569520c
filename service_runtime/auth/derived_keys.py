"""Keys that callers make: keys with a part of their own key's rights, and short-lived keys for one context.

The services' role writes to no table of keys. SQL functions of the tables' owner do (migrations/0001_access.sql). They
check that the calling key is valid, belongs to the transaction's tenant, and has all the rights that it would pass on.

The Context Service uses this module in its own transactions, so that no key outlives its context:

    principal = calls.principal().acting_for(request.subject_user_id)

    async def issue(transaction: Transaction) -> IssuedKey:
        ...  # lock the context's row FOR KEY SHARE: CONTEXT_NOT_FOUND, if the principal does not see it
        return await derived_keys.make_context_key(transaction, principal, context_id, scopes=scopes, lifetime=lifetime)

    issued = await database.of(principal, context_id=context_id).transaction(issue)

    async def remove(transaction: Transaction) -> None:
        ...  # lock it FOR UPDATE, and remove it
        await derived_keys.end_context_keys(transaction, context_id)

Keys are in the home database. If a tenant lives in another database, its keys are made and removed outside of the
transaction, immediately. If the transaction then fails, a new key was shown to no caller, and a removed key ends a
moment too early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from contextkeep.errors import InvalidArgument, PermissionDenied
from service_runtime.auth.keys import CONTEXT_KEY_BEGINS, PREFIX_CHARS, NewKey, fresh_key
from service_runtime.inputs import pages
from service_runtime.inputs.pages import PageRequest
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.principal import SCOPES, USER_ID_CHARS_MAX, Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.checks import check_text, check_texts

# Longest lifetime of a key of a context. The SQL function has this limit, too. For a caller whose own key or token is
# not in Postgres, the function's limit is one hour.
LIFETIME_MAX = timedelta(days=1)

# Longest lifetime of any other key that a caller makes.
KEY_LIFETIME_MAX = timedelta(days=3652)
NAMES_MAX = 100  # most apps, and most graphs, that a key may be bound to
NAME_CHARS_MAX = 200
_KEY_CHARS_MAX = 200

SQL = SqlFile.of(__file__)
_MAKE_KEY = SQL["make_key"]
_LIST_KEYS = SQL["list_keys"]
_OF_CALLER = SQL["of_caller"]
_REVOKE_KEY = SQL["revoke_key"]
_MAKE_CONTEXT_KEY = SQL["make_context_key"]
_END_CONTEXT_KEYS = SQL["end_context_keys"]


class DerivedKeys:
    """Lists, makes and revokes keys for callers with the scope `admin`; no key gets more rights than its maker's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, page: PageRequest, *, context_id: UUID | None, principal: Principal
    ) -> tuple[list[DerivedKey], str]:
        """Return a page of the keys of the principal's tenant, within its bounds, the newest first, and the next token.

        Args:
            page: Size and token of the page.
            context_id: The context of the keys. None lists all keys without one.
            principal: The caller; its tenant and bounds limit the keys.

        Raises:
            InvalidArgument: the page size is negative.
            InvalidPageToken: the token is malformed or belongs to another list.
        """
        query = ("ListKeys", principal.tenant_id, context_id)
        before_id = pages.decode_id(query, page.token)
        count = pages.page_size(page.size)
        parameters = {"context_id": context_id, "before_id": before_id, "count": count + 1}
        rows = await self._database.of(principal).at_home().query(_LIST_KEYS, parameters)
        return pages.cut(query, [DerivedKey(**row._asdict()) for row in rows], count, key=lambda key: (key.id,))

    async def caller(self, principal: Principal) -> Caller:
        """Return the description of a principal's key or token.

        Args:
            principal: The caller whose key or token is described.
        """
        (row,) = await self._database.of(principal).at_home().query(_OF_CALLER, {"key_id": principal.key_id})
        return Caller(
            principal=principal,
            tenant=row.tenant,
            key_prefix=row.prefix,
            expires_at=row.expires_at or principal.expires_at,
        )

    async def make(self, principal: Principal, new: NewKey) -> str:
        """Make a key of the principal's tenant and return it; it cannot be read again.

        The new key stays valid if the principal's key is revoked; `keys list` shows the key that made it.

        Args:
            principal: The caller. It needs the scope `admin` and a key in Postgres.
            new: Scopes, bounds and lifetime of the key; its `tenant` is ignored.

        Raises:
            InvalidArgument: a field of `new` is malformed.
            LimitExceeded: a field of `new` is too long.
            PermissionDenied: the principal's key is not in Postgres, lacks the scope `admin`, or has fewer rights than
                the new key would have.
        """
        _check(new)
        key, stored = fresh_key()
        await (
            self._database.of(principal)
            .at_home()
            .query(_MAKE_KEY, {"asking_id": _key_of(principal), **stored, **new.parameters})
        )
        return key

    async def revoke(self, principal: Principal, prefix: str) -> bool:
        """Revoke a key that has no more rights than the principal's key, and return whether there is such a key.

        A repeat does nothing.

        Args:
            principal: The caller. It needs the scope `admin` and a key in Postgres.
            prefix: The beginning of the key, or the whole key.

        Raises:
            InvalidArgument: the prefix is empty or malformed.
            LimitExceeded: the prefix is longer than a key.
            PermissionDenied: the principal's key is not in Postgres, or lacks the scope `admin`.
        """
        check_text("prefix", prefix, chars_max=_KEY_CHARS_MAX, required=True)
        parameters = {"asking_id": _key_of(principal), "prefix": prefix[:PREFIX_CHARS]}
        (row,) = await self._database.of(principal).at_home().query(_REVOKE_KEY, parameters)
        is_revoked: bool = row.found
        return is_revoked


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The description of a key or token, with the facts that its principal does not have."""

    principal: Principal
    tenant: str  # name of the tenant
    key_prefix: str  # empty if the key is not stored in Postgres
    expires_at: datetime | None  # None if the key or token does not expire


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedKey:
    """The facts about a key for an administrator, without the secret."""

    id: UUID
    prefix: str
    subject: str
    scopes: Sequence[str]
    user_id: str
    agent_id: str
    app_ids: Sequence[str]
    agent_bundle_id: str
    graph_names: Sequence[str]
    context_id: UUID | None  # None if it is not the key of a context
    made_by: str  # prefix of the key that made it; empty if none did
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None  # rounded to the minute


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A key of a context; it cannot be read again."""

    key: str
    expires_at: datetime


async def make_context_key(
    transaction: Transaction, principal: Principal, context_id: UUID, *, scopes: Sequence[str], lifetime: timedelta
) -> IssuedKey:
    """Make a key that sees one context and its descendants, as the principal's user.

    The key has the bounds of the principal, and ends with the principal's key or token.

    Args:
        transaction: A transaction of the principal's `Tenant` that has read the context.
        principal: The caller that asks for the key.
        context_id: A context that the principal sees.
        scopes: `read`, `write` or both; the principal must have them. Empty takes those that the principal has.
        lifetime: Above zero, and at most a day. The key may end earlier: with the key or token that makes it, and after
            an hour if that one is not a key in Postgres.

    Raises:
        InvalidArgument: the lifetime is zero, negative or too long.
        PermissionDenied: the principal lacks the scopes, or is bound to a context.
    """
    if not timedelta(0) < lifetime <= LIFETIME_MAX:
        lifetime_max_s = int(LIFETIME_MAX.total_seconds())
        raise InvalidArgument(
            f"a key of a context may live for at most {lifetime_max_s} s", lifetime_max_s=lifetime_max_s
        )
    wanted = sorted(scopes or principal.scopes & {"read", "write"})
    for scope in wanted:
        if scope not in principal.scopes:
            raise PermissionDenied(f"the key lacks the scope {scope}, so it cannot give it to another key", scope=scope)
    key, stored = fresh_key(CONTEXT_KEY_BEGINS)
    parameters = {
        "asking_id": principal.key_id,
        "context_id": context_id,
        "subject": principal.subject,
        "scopes": wanted,
        "agent_id": principal.agent_id,
        "lifetime": lifetime,
        "ends_at": principal.expires_at,
        **stored,
    }
    (row,) = await transaction.query_home(_MAKE_CONTEXT_KEY, parameters)
    return IssuedKey(key=key, expires_at=row.expires_at)


async def end_context_keys(transaction: Transaction, context_id: UUID) -> int:
    """Delete the keys of a context that this transaction removes, and return how many there were.

    The services remember a key for `keys.CACHE_S` longer.
    """
    (row,) = await transaction.query_home(_END_CONTEXT_KEYS, {"context_id": context_id})
    ended: int = row.ended
    return ended


async def end_context_keys_elsewhere(tenant: Tenant, context_id: UUID) -> int:
    """Delete the keys of a removed context if they are in another database; in its own, they went with the context.

    A repeat does nothing.
    """
    if not tenant.may_live_elsewhere:
        return 0
    (row,) = await tenant.at_home().query(_END_CONTEXT_KEYS, {"context_id": context_id})
    ended: int = row.ended
    return ended


def _check(new: NewKey) -> None:
    """Refuse a new key with a malformed field. The error names the field.

    Raises:
        InvalidArgument: a field is empty or malformed, a scope is unknown, or the lifetime is out of range.
        LimitExceeded: a text or a list is too long.
    """
    check_text("key.subject", new.subject, chars_max=USER_ID_CHARS_MAX, required=True)
    check_text("key.user_id", new.user_id, chars_max=USER_ID_CHARS_MAX)
    check_text("key.agent_id", new.agent_id, chars_max=USER_ID_CHARS_MAX)
    check_text("key.agent_bundle_id", new.agent_bundle_id, chars_max=NAME_CHARS_MAX)
    if not set(new.scopes) <= set(SCOPES):
        raise InvalidArgument(f"key.scopes must be one or more of {', '.join(SCOPES)}", field="key.scopes")
    if new.lifetime is not None and not timedelta(0) < new.lifetime <= KEY_LIFETIME_MAX:
        ttl_s_max = int(KEY_LIFETIME_MAX.total_seconds())
        raise InvalidArgument(
            f"key.ttl_s must be between 0 and {ttl_s_max} (got {new.lifetime.total_seconds():.0f})",
            field="key.ttl_s",
            ttl_s_max=ttl_s_max,
        )
    for field, names in (("key.app_ids", new.app_ids), ("key.graph_names", new.graph_names)):
        check_texts(field, names, count_max=NAMES_MAX, chars_max=NAME_CHARS_MAX)


def _key_of(principal: Principal) -> UUID:
    """Return the id of the principal's key.

    Raises:
        PermissionDenied: the principal has no key in Postgres.
    """
    if principal.key_id is None:
        raise PermissionDenied("only a key that is stored in Postgres can make and revoke keys")
    return principal.key_id
