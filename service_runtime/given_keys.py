"""Keys that callers make: parts of the keys that they show, and short-lived keys of one context.

The services' role writes to no table of keys. Functions of the owner do (migrations/0005_given_keys.sql), which see for
themselves whether the key that asks lives, is of the transaction's tenant, and has all that it would give on.

How the service of contexts uses it, in its own transactions, so that no key outlives the context that it is for:

    principal = calls.principal().acting_for(request.subject_user_id)

    async def issue(transaction: Transaction) -> IssuedKey:
        ...  # lock the context's row FOR KEY SHARE: CONTEXT_NOT_FOUND, if the principal does not see it
        return await given_keys.make_context_key(transaction, principal, context_id, scopes=scopes, lifetime=lifetime)

    issued = await database.of(principal, context_id=context_id).transaction(issue)

    async def remove(transaction: Transaction) -> None:
        ...  # lock it FOR UPDATE, and take it away
        await given_keys.end_context_keys(transaction, context_id)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from contextkeep.errors import InvalidArgument, PermissionDenied
from service_runtime.auth import Principal
from service_runtime.keys import CONTEXT_KEY_BEGINS, PREFIX_CHARS, NewKey, fresh_key
from service_runtime.postgres import Database, Transaction

# Of keys of contexts; the function has it, too, and an hour for those that come of no key in Postgres.
LIFETIME_MAX = timedelta(days=1)

_MAKE_KEY = """
SELECT access.make_key(
    %(asking_id)s, %(id)s, %(sha256)s, %(prefix)s, %(subject)s, %(scopes)s::text[], %(user_id)s, %(agent_id)s,
    %(app_ids)s::text[], %(agent_bundle_id)s, %(graph_names)s::text[], now() + %(lifetime)s::interval
) AS made
"""

_REVOKE_KEY = "SELECT access.revoke_key(%(asking_id)s, %(prefix)s) AS found"

_MAKE_CONTEXT_KEY = """
SELECT access.make_context_key(
    %(asking_id)s, %(id)s, %(sha256)s, %(prefix)s, %(context_id)s, %(subject)s, %(scopes)s::text[], %(agent_id)s,
    %(lifetime)s, %(ends_at)s::timestamptz
) AS expires_at
"""

_END_CONTEXT_KEYS = "SELECT access.end_context_keys(%(context_id)s) AS ended"

_END_CONTEXT_KEYS_OF_USER = "SELECT access.end_context_keys_of_user(%(user_id)s) AS ended"


class GivenKeys:
    """Makes and revokes keys for callers with the scope `admin`, as parts of the keys that they show."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def make(self, principal: Principal, new: NewKey) -> str:
        """Make a key of the principal's tenant and return it: nobody can read it again.

        It lives on if the principal's is revoked; `keys list` says what it was made by.

        Args:
            principal: Who asks: with the scope `admin`, by a key in Postgres.
            new: Its tenant is not looked at.

        Raises:
            PermissionDenied: the principal may not, or the new key would have more than its own.
        """
        key, stored = fresh_key()
        await self._database.of(principal).query(
            _MAKE_KEY, {"asking_id": _key_of(principal), **stored, **new.parameters}
        )
        return key

    async def revoke(self, principal: Principal, prefix: str) -> bool:
        """Take a key back that is a part of the principal's; again is harmless. Return whether there is one.

        Args:
            principal: Who asks: with the scope `admin`, by a key in Postgres.
            prefix: How the key begins; it may be said whole.

        Raises:
            PermissionDenied: the principal may not.
        """
        parameters = {"asking_id": _key_of(principal), "prefix": prefix[:PREFIX_CHARS]}
        (row,) = await self._database.of(principal).query(_REVOKE_KEY, parameters)
        found: bool = row.found
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A key of a context, which nobody can read again."""

    key: str
    expires_at: datetime


async def make_context_key(
    transaction: Transaction, principal: Principal, context_id: UUID, *, scopes: Sequence[str], lifetime: timedelta
) -> IssuedKey:
    """Make a key that sees one context and what is below it, as the principal's user.

    It is bound to what the principal is bound to, and dies with the principal's key or token.

    Args:
        transaction: Of the principal's door, in which the context was found.
        principal: Who asks.
        context_id: A context that the principal sees.
        scopes: Of `read` and `write`, of those that the principal has. Empty: all of these.
        lifetime: More than nothing, a day at most. The key may end earlier: with what it is made of, and after an hour
            if that is no key in Postgres.

    Raises:
        InvalidArgument: the lifetime is none, or longer.
        PermissionDenied: the principal lacks the scopes, or is bound to a context.
    """
    if not timedelta(0) < lifetime <= LIFETIME_MAX:
        lifetime_max_s = int(LIFETIME_MAX.total_seconds())
        raise InvalidArgument(f"a key of a context lives for {lifetime_max_s} s at most", lifetime_max_s=lifetime_max_s)
    wanted = sorted(scopes or principal.scopes & {"read", "write"})
    for scope in wanted:
        if scope not in principal.scopes:
            raise PermissionDenied(f"the key lacks the scope {scope}, which it would give on", scope=scope)
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
    (row,) = await transaction.query(_MAKE_CONTEXT_KEY, parameters)
    return IssuedKey(key=key, expires_at=row.expires_at)


async def end_context_keys(transaction: Transaction, context_id: UUID) -> int:
    """Take away the keys of a context that goes in this transaction, and return how many there were.

    The services remember a key for `keys.CACHE_S` longer.
    """
    (row,) = await transaction.query(_END_CONTEXT_KEYS, {"context_id": context_id})
    ended: int = row.ended
    return ended


async def end_context_keys_of_user(transaction: Transaction, user_id: str) -> int:
    """Take away the keys of contexts that were made for a user who is erased, or by him; return how many there were."""
    (row,) = await transaction.query(_END_CONTEXT_KEYS_OF_USER, {"user_id": user_id})
    ended: int = row.ended
    return ended


def _key_of(principal: Principal) -> UUID:
    if principal.key_id is None:
        raise PermissionDenied("keys are made and revoked by keys in Postgres")
    return principal.key_id
