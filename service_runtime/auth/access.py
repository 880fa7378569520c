"""Authentication and rate limits: the principal of a credential, and how often it may call.

A credential is looked for where it is cheapest first: the key of the environment, tokens of the issuer, keys in
Postgres.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from contextkeep.errors import RateLimited
from service_runtime.auth.keys import CONTEXT_KEY_BEGINS, StoredKeys
from service_runtime.postgres import Database
from service_runtime.rpc import calls
from service_runtime.rpc.principal import (
    ANONYMOUS,
    DEFAULT_TENANT_ID,
    ApiKeys,
    Authenticator,
    Finder,
    Metadata,
    Principal,
    credential,
    refusal,
)
from service_runtime.rpc.unproven import unproven
from service_runtime.settings import ServiceSettings
from service_runtime.telemetry.metrics import Metrics

_log = logging.getLogger("access")

FAILURE_DELAY_S = 0.25  # shortest wait of a caller without a valid credential for its answer; see `unproven`
_BUCKETS_MAX = 10_000


def needs_key(settings: ServiceSettings) -> bool:
    """Say whether every call needs a key: unless the settings say otherwise, and wherever a key or an issuer is set."""
    if settings.api_key.get_secret_value() or settings.jwt_issuer:
        return True
    is_development = settings.environment == "development"
    return not (settings.allow_insecure or (is_development and settings.allow_anonymous))


def authenticator(settings: ServiceSettings, database: Database, metrics: Metrics) -> Authenticator:
    """Return the authenticator of a service.

    Raises:
        CannotCheckTokens: an issuer is configured, and the package that checks its tokens is not installed.
    """
    finders: list[Finder] = []
    if api_key := settings.api_key.get_secret_value():
        finders.append(ApiKeys({api_key: Principal(tenant_id=DEFAULT_TENANT_ID, subject="api-key")}))
    if settings.jwt_issuer:
        from service_runtime.auth.tokens import Tokens  # only a service with an issuer needs its package

        finders.append(Tokens(settings, database))
    stored = StoredKeys(database)
    return Access(
        [*finders, stored],
        open_while_empty=None if needs_key(settings) else stored,
        per_subject=settings.calls_per_second_of_key,
        per_tenant=settings.calls_per_second_of_tenant,
        count_failure=metrics.authentication_failures.inc,
    )


class Access:
    """Authenticates, and bounds how often a subject and a tenant may call.

    Args:
        finders: Look credentials up, each those of one kind. The search goes in this order, the cheapest first.
        open_while_empty: As long as this store has no keys, calls without a key are the anonymous principal's.
        per_subject: Calls per second that a subject may make; 0 sets no limit. A burst may have as many calls, or ten.
        per_tenant: The same for all subjects of a tenant together, in this process.
        count_failure: Called for each call without a valid credential.
    """

    def __init__(
        self,
        finders: Sequence[Finder],
        *,
        open_while_empty: StoredKeys | None,
        per_subject: float = 0,
        per_tenant: float = 0,
        count_failure: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the credentials and limits of the class's docstring; a rate of 0 makes no limit."""
        self._finders = finders
        self._open_while_empty = open_while_empty
        self._limits = [
            limit
            for limit in (
                RateLimit("CALLS_PER_SECOND_OF_KEY", per_subject, of_subject=True),
                RateLimit("CALLS_PER_SECOND_OF_TENANT", per_tenant, of_subject=False),
            )
            if limit.rate
        ]
        self._count_failure = count_failure

    async def authenticate(self, metadata: Metadata) -> Principal:
        """Return the principal of the call's credential.

        Raises:
            Unauthenticated: the call has no valid credential. Raised after `FAILURE_DELAY_S`, and once the call has its
                turn.
            RateLimited: the caller makes too many calls.
            Unavailable: the database, or the issuer, does not answer.
        """
        principal = await self._find(credential(metadata))
        if principal is None:
            await self._on_failure()
            raise refusal()
        for limit in self._limits:
            limit.take(principal)
        return principal

    async def _find(self, secret: str) -> Principal | None:
        """Return the principal of a credential; the anonymous one if that is allowed and no key exists; else None."""
        if secret:
            for finder in self._finders:
                if principal := await finder.find(secret):
                    return principal
        if secret.startswith(CONTEXT_KEY_BEGINS):
            return None  # it has ended: the holder of a key of one context must not become a principal that sees all
        if self._open_while_empty is not None and await self._open_while_empty.is_empty():
            return ANONYMOUS
        return None

    async def _on_failure(self) -> None:
        """Count a call without a valid credential, and make its caller wait for a turn among all such calls."""
        self._count_failure()
        call = calls.current_call.get()
        if call is not None and call.slot is not None:
            call.slot.give_back()  # other calls need it meanwhile
        await asyncio.sleep(FAILURE_DELAY_S)
        if await unproven().take(call.peer if call is not None else ""):
            _log.warning("authentication failed")
        elif call is not None:
            call.is_logged = False


class RateLimit:
    """A token bucket for each subject or tenant (RFC 2697 calls its size the burst)."""

    def __init__(self, name: str, rate: float, *, of_subject: bool) -> None:
        self.rate = rate  # calls a second
        self._name = name
        self._burst = max(rate, 10.0)
        self._of_subject = of_subject
        self._left: dict[tuple[object, ...], tuple[float, float]] = {}  # calls that were left, and when

    def take(self, principal: Principal) -> None:
        """Count one call of a principal against the limit.

        Raises:
            RateLimited: the principal has used its calls up; the error says when the next one is allowed.
        """
        whose = (principal.tenant_id, principal.subject) if self._of_subject else (principal.tenant_id,)
        now = time.monotonic()
        left, at = self._left.pop(whose, (self._burst, now))
        left = min(self._burst, left + (now - at) * self.rate)
        if len(self._left) >= _BUCKETS_MAX:
            del self._left[
                next(iter(self._left))
            ]  # of the key that has not called for longest; its bucket is full again
        self._left[whose] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            raise RateLimited(
                f"there may be at most {self.rate:g} calls a second; try again later",
                limit=self._name,
                limit_max=self.rate,
                retry_after_s=(1 - left) / self.rate,
            )
