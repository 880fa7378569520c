"""API keys in Postgres: made and revoked by an operator, checked by both services.

`derived_keys` has the keys that callers make.

A key is shown once, when it is made; the database has its sha256. A service remembers keys for `CACHE_S`, so a
revoked key works no longer than that, and a wrong one costs the database nothing when it comes again.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import itertools
import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import namedtuple_row

from contextkeep.errors import FailedPrecondition, InvalidArgument, Overloaded
from service_runtime.postgres import Database, Row
from service_runtime.postgres.administration import administering
from service_runtime.postgres.errors import unavailable
from service_runtime.postgres.tenant import ANSWER_TIMEOUT_MAX_S
from service_runtime.rpc import calls
from service_runtime.rpc.principal import OPERATOR, Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.ids import new_id

_log = logging.getLogger("keys")

CACHE_S = 2.0
_CACHE_MAX = 10_000
_WRONG_MAX = 1000
# Keys that were never valid in this process (guesses) are looked up together, by one statement at a time. A correct key
# among them waits for at most two statements, as long as fewer than `GUESSES_OF_STATEMENT_MAX` keys wait.
GUESSES_OF_STATEMENT_MAX = 200
GUESSES_WAITING_MAX = 1000
GUESSES_TIMEOUT_S = 5.0  # seconds of one statement: callers that wait for the next one wait for it, too
_USE_NOTED_S = 60
PREFIX_CHARS = 12  # characters: "cgk_" and eight of the key
DEFAULT_TENANT = "default"
CONTEXT_KEY_BEGINS = (
    "cgc_"  # the beginning of a key of one context: `access` recognises such a key even if it has ended
)

SQL = SqlFile.of(__file__)
_FIND = SQL["find"]
_NOTE_USE = SQL["note_use"]
_IS_VALID = SQL["is_valid"]
_ANY_KEY = SQL["any_key"]
_TENANT = SQL["tenant"]
_ADD_TENANT = SQL["add_tenant"]
_ADD_KEY = SQL["add_key"]
_LIST = SQL["list"]
_REVOKE = SQL["revoke"]
_TENANTS = SQL["tenants"]


class NoSuchTenant(FailedPrecondition):
    """No tenant has this name."""

    reason = "NO_SUCH_TENANT"


class NoSuchKey(FailedPrecondition):
    """No key begins like this."""

    reason = "NO_SUCH_KEY"


class StoredKeys:
    """Finds principals by the keys in Postgres."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._valid: dict[bytes, tuple[float, Principal]] = {}  # by hash: valid until, and the principal
        self._wrong_until: dict[bytes, float] = {}
        self._guesses: dict[bytes, asyncio.Future[Principal | None]] = {}  # lookups that wait, the oldest first
        self._guessing: asyncio.Task[None] | None = None
        self._none_until = 0.0

    async def find(self, secret: str) -> Principal | None:
        """Return the principal of a key that is valid now, or was valid `CACHE_S` ago; None for any other key.

        Lookups of wrong keys use one connection to the database at most, and do not delay keys that were valid in this
        process before.

        Raises:
            Overloaded: too many keys that were never valid in this process wait for a lookup.
            Unavailable: the database does not answer.
        """
        if not secret:
            return None
        sha256, now = _sha256(secret), time.monotonic()
        until, principal = self._valid.get(sha256, (0.0, None))
        if until >= now:
            return principal
        if self._wrong_until.get(sha256, 0.0) >= now:
            return None
        if principal is not None:
            principal = (await self._read([sha256])).get(sha256)
            self._remember(sha256, principal)
            return principal
        return await self._guess(sha256)

    async def _guess(self, sha256: bytes) -> Principal | None:
        """Return the principal of a key that was never valid here; such keys are looked up together.

        Raises:
            Overloaded: too many of these keys wait.
            Unavailable: the database does not answer in time.
        """
        guess = self._guesses.get(sha256)
        if guess is None:
            if len(self._guesses) >= GUESSES_WAITING_MAX:
                raise Overloaded(
                    "too many API keys that were not seen before are being checked; call again in a second",
                    retry_after_s=1,
                )
            guess = self._guesses[sha256] = asyncio.get_running_loop().create_future()
        if self._guessing is None:
            # The task runs in an empty context, without a current call: it looks keys up for many callers, and must not
            # end at the deadline of one of them.
            self._guessing = asyncio.create_task(self._look_up_guesses(), context=contextvars.Context())
        with calls.without_slot():
            try:
                async with asyncio.timeout(min(calls.remaining_s(), ANSWER_TIMEOUT_MAX_S)):
                    return await asyncio.shield(guess)
            except TimeoutError:
                raise unavailable() from None

    async def _look_up_guesses(self) -> None:
        """Look up the waiting keys in batches until none is left, and give each waiting call its result."""
        try:
            while self._guesses:
                sha256s = list(itertools.islice(self._guesses, GUESSES_OF_STATEMENT_MAX))
                principals: dict[bytes, Principal] = {}
                failure: Exception | None = None
                try:
                    principals = await self._read(sha256s, timeout_s=GUESSES_TIMEOUT_S)
                except Exception as error:
                    failure = error
                for sha256 in sha256s:
                    guess = self._guesses.pop(sha256)
                    if failure is None:
                        self._remember(sha256, principals.get(sha256))
                        guess.set_result(principals.get(sha256))
                    else:
                        guess.set_exception(failure)
                        guess.exception()  # so that nothing is logged if all of its callers have left
        finally:
            self._guessing = None
            for guess in self._guesses.values():  # there are some only if the process ends
                guess.cancel()
            self._guesses.clear()

    def _remember(self, sha256: bytes, principal: Principal | None) -> None:
        """Remember for `CACHE_S` the principal of a key, or that the key is wrong."""
        until = time.monotonic() + CACHE_S
        if principal is None:
            self._valid.pop(sha256, None)
            if len(self._wrong_until) >= _WRONG_MAX:
                self._wrong_until.clear()
            self._wrong_until[sha256] = until
            return
        if len(self._valid) >= _CACHE_MAX:
            self._valid.clear()
        self._valid[sha256] = (until, principal)

    async def is_empty(self) -> bool:
        """Say whether no key was ever made; a revoked one counts, so that revoking the last one opens nothing.

        Raises:
            Unavailable: the database does not answer.
        """
        if self._none_until < time.monotonic():
            (row,) = await self._database.untenanted(_ANY_KEY)
            if row.any_key:
                return False
            self._none_until = time.monotonic() + CACHE_S
        return True

    async def _read(
        self, sha256s: Sequence[bytes], *, timeout_s: float = ANSWER_TIMEOUT_MAX_S
    ) -> dict[bytes, Principal]:
        """Return the principals of those keys that are valid."""
        principals = {}
        parameters = {"sha256s": list(sha256s), "noted_s": _USE_NOTED_S}
        for row in await self._database.untenanted(_FIND, parameters, timeout_s=timeout_s):
            principal = _principal(row)
            if principal is not None:
                principals[bytes(row.sha256)] = principal
                if row.is_due:
                    await self._database.untenanted(_NOTE_USE, {"id": row.id})
        return principals


def _principal(row: Row) -> Principal | None:
    """Return the principal of a key, or None if it is bound to something that this version does not know."""
    bounds = dict(row.bounds)
    principal = Principal(
        tenant_id=row.tenant_id,
        subject=row.subject,
        scopes=frozenset(row.scopes),
        user_id=row.user_id,
        agent_id=row.agent_id,
        app_ids=frozenset(bounds.pop("app_ids")),
        agent_bundle_id=bounds.pop("agent_bundle_id"),
        graph_names=frozenset(bounds.pop("graph_names")),
        context_id=UUID(bounds.pop("context_id")) if "context_id" in bounds else None,
        key_id=row.id,
    )
    if bounds:
        _log.warning("key refused: this version does not know all of its bounds", extra={"bounds": sorted(bounds)})
        return None
    return principal


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """The scopes, bounds and lifetime of a key to make."""

    tenant: str
    subject: str
    scopes: Sequence[str]
    user_id: str = ""
    agent_id: str = ""
    app_ids: Sequence[str] = ()  # apps that it is bound to; empty if it is not bound to apps
    agent_bundle_id: str = ""
    graph_names: Sequence[str] = ()
    lifetime: timedelta | None = None  # None if it does not expire

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of statements about it, without its tenant."""
        return {
            "subject": self.subject,
            "scopes": list(self.scopes),
            "user_id": self.user_id,
            "agent_id": self.agent_id,
            "app_ids": list(self.app_ids),
            "agent_bundle_id": self.agent_bundle_id,
            "graph_names": list(self.graph_names),
            "lifetime": self.lifetime,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedKey:
    """A key as an operator sees it: without the key."""

    prefix: str
    tenant: str
    subject: str
    scopes: Sequence[str]
    user_id: str
    agent_id: str
    app_ids: Sequence[str]
    agent_bundle_id: str
    graph_names: Sequence[str]
    made_by: str  # prefix of the key that made it; empty if an operator did
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None  # rounded to the minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A tenant as an operator sees it."""

    id: UUID
    name: str
    database: str  # name of the database where it lives; empty for the home database
    created_at: datetime


class KeyAdministration:
    """The commands of an operator on keys and tenants, as the owner of the tables.

    Args:
        admin_url: URL of the home database, as the owner of the tables.
    """

    def __init__(self, admin_url: str) -> None:
        self._admin_url = admin_url

    def add_tenant(self, name: str, *, database: str = "") -> bool:
        """Make a tenant, and return whether it is new; an existing one stays as it is.

        Args:
            name: Name of the tenant to make.
            database: Name of the database that the tenant will live in, once that has its row (`Databases.add_tenant`).
                Empty takes the home database.
        """
        return bool(self._run(_ADD_TENANT, {"id": new_id(), "name": name, "database": database}))

    def tenants(self) -> list[Tenant]:
        """Return all tenants, oldest first."""
        return [Tenant(**row._asdict()) for row in self._run(_TENANTS)]

    def create(self, new: NewKey) -> str:
        """Make a key and return it; it cannot be read again.

        Raises:
            NoSuchTenant: no tenant has this name.
            InvalidArgument: a key with the scope `operator` has a user, an app, a bundle or a graph.
        """
        if OPERATOR in new.scopes and (new.user_id or new.app_ids or new.agent_bundle_id or new.graph_names):
            raise InvalidArgument("the scope operator is for all tenants: give its key no user, app, bundle or graph")
        tenants = self._run(_TENANT, {"name": new.tenant})
        if not tenants:
            raise NoSuchTenant(f"there is no tenant {new.tenant!r}; make it with `context-service tenants create`")
        key, stored = fresh_key()
        self._run(_ADD_KEY, {"tenant_id": tenants[0].id, **stored, **new.parameters})
        return key

    def is_valid(self, key: str) -> bool:
        """Say whether a key exists and is neither revoked nor expired."""
        return bool(self._run(_IS_VALID, {"sha256": _sha256(key)}))

    def keys(self, tenant: str | None = None) -> list[ListedKey]:
        """Return the keys of a tenant, or of all, oldest first."""
        return [ListedKey(**row._asdict()) for row in self._run(_LIST, {"tenant": tenant})]

    def revoke(self, prefix: str) -> None:
        """Revoke a key by its beginning, or by the whole key; a repeat does nothing.

        Raises:
            NoSuchKey: no key begins like this.
        """
        if not self._run(_REVOKE, {"prefix": prefix[:PREFIX_CHARS]}):
            raise NoSuchKey(f"no key begins with {prefix[:PREFIX_CHARS]!r}; `context-service keys list` shows them")

    def _run(self, sql: str, parameters: dict[str, Any] | None = None) -> list[Any]:
        with administering(self._admin_url, row_factory=namedtuple_row) as connection:
            cursor = connection.execute(sql.encode(), parameters)
            return cursor.fetchall() if cursor.description else []


def fresh_key(begins: str = "cgk_") -> tuple[str, dict[str, Any]]:
    """Return a new key, and its row."""
    key = f"{begins}{secrets.token_urlsafe(32)}"
    return key, {"id": new_id(), "sha256": _sha256(key), "prefix": key[:PREFIX_CHARS]}


def _sha256(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
