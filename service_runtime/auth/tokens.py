"""Tokens of an OpenID Connect issuer, as a second way to authenticate.

A token is a JWT (RFC 7519) that the issuer signed with one of the keys of its JWKS (RFC 7517). Its `sub` is the
subject, its `scope` (RFC 8693: names with spaces between them) the scopes, and one claim names the tenant. Where it has
them, `app_ids` and `graph_names` (lists of texts) and `agent_bundle_id` (a text) bind it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from contextkeep.errors import FailedPrecondition, Unavailable
from service_runtime.imports.extras import install
from service_runtime.postgres import Database
from service_runtime.rpc.principal import SCOPES, Principal
from service_runtime.settings import ServiceSettings
from service_runtime.statements.sql_files import SqlFile

try:
    import jwt
    import jwt.algorithms
except ModuleNotFoundError as error:
    raise FailedPrecondition(f"JWT_ISSUER needs the package PyJWT: {install('oidc')}") from error

_log = logging.getLogger("tokens")

# Only signatures by key pairs are accepted. With algorithms of a shared secret, an attacker could sign a token with the
# issuer's public key as the secret.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_S = 30.0  # seconds that the issuer's clock and ours may differ
JWKS_LIFETIME_S = 300.0
JWKS_RETRY_S = 5.0  # seconds between two requests for a key that is not there, or to an issuer that is away
JWKS_TIMEOUT_S = 5.0
TOKEN_CHARS_MAX = 16 * 1024
NAME_CHARS_MAX = 512  # characters of a name in a claim that binds
_TENANT_LIFETIME_S = 60.0

SQL = SqlFile.of(__file__)
_TENANT = SQL["tenant"]


class Tokens:
    """Finds principals by tokens of one issuer."""

    def __init__(self, settings: ServiceSettings, database: Database) -> None:
        self._issuer = settings.jwt_issuer
        self._audience = settings.jwt_audience
        self._tenant_claim = settings.jwt_tenant_claim
        self._database = database
        self._jwks = jwt.PyJWKClient(settings.jwt_jwks_url, cache_jwk_set=False, timeout=JWKS_TIMEOUT_S)
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked_at = -JWKS_LIFETIME_S
        self._asking = asyncio.Lock()
        self._tenants: dict[str, tuple[float, UUID]] = {}

    async def find(self, secret: str) -> Principal | None:
        """Return the principal of a valid token.

        Raises:
            Unavailable: the key of the token is not known and the issuer does not answer, or the database does not.
        """
        if secret.count(".") != 2 or len(secret) > TOKEN_CHARS_MAX:
            return None
        try:
            header = jwt.get_unverified_header(secret)
            key_id = header.get("kid")
            # `crit` demands extensions of the verifier, and we know none (RFC 7515, 4.1.11).
            if header.get("alg") not in ALGORITHMS or not isinstance(key_id, str) or "crit" in header:
                return None
            key = await self._key(key_id)
            if key is None:
                return None
            claims: dict[str, Any] = jwt.decode(
                secret,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._audience,
                issuer=self._issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as error:
            _log.info("token refused", extra={"why": type(error).__name__})
            return None
        return await self._principal(claims)

    async def _principal(self, claims: dict[str, Any]) -> Principal | None:
        """Return the principal of a token's claims, or None if a claim is malformed or the tenant is unknown."""
        tenant, subject, scope = claims.get(self._tenant_claim), claims["sub"], claims.get("scope", "")
        if not (isinstance(tenant, str) and isinstance(scope, str) and 0 < len(subject) <= 512):
            return None
        if not (_is_storable(tenant) and _is_storable(subject)):
            return None
        app_ids, graph_names = _names(claims, "app_ids"), _names(claims, "graph_names")
        bundle = claims.get("agent_bundle_id")
        # A malformed claim that should bind must not be read as no bound.
        if app_ids is None or graph_names is None or not (bundle is None or _is_name(bundle)):
            return None
        tenant_id = await self._tenant(tenant)
        if tenant_id is None:
            return None
        return Principal(
            tenant_id=tenant_id,
            subject=subject,
            user_id=subject,
            scopes=frozenset(scope.split()) & frozenset(SCOPES),
            app_ids=app_ids,
            agent_bundle_id=bundle or "",
            graph_names=graph_names,
            expires_at=_moment(claims["exp"]),
        )

    async def _tenant(self, name: str) -> UUID | None:
        """Return the id of the tenant with a name, remembered for `_TENANT_LIFETIME_S`; None if there is none."""
        until, tenant_id = self._tenants.get(name, (0.0, None))
        if tenant_id is not None and until > time.monotonic():
            return tenant_id
        for row in await self._database.untenanted(_TENANT, {"name": name}):
            self._tenants[name] = (time.monotonic() + _TENANT_LIFETIME_S, row.id)
            id_of_tenant: UUID = row.id
            return id_of_tenant
        return None

    async def _key(self, key_id: str) -> jwt.PyJWK | None:
        """Return a key of the issuer. All keys are read again for an unknown one, and now and then to drop old ones."""
        if self._is_current(key_id):
            return self._keys.get(key_id)
        async with self._asking:
            if not self._is_current(key_id):
                self._asked_at = time.monotonic()
                try:
                    keys = await asyncio.to_thread(self._jwks.get_signing_keys)
                except (jwt.PyJWTError, ValueError) as error:
                    _log.warning("issuer does not answer", extra={"error": str(error)})
                    if key_id not in self._keys:
                        raise Unavailable("the token's issuer does not answer", dependency="jwt-issuer") from error
                else:
                    self._keys = {key.key_id: key for key in keys if key.key_id}
        return self._keys.get(key_id)

    def _is_current(self, key_id: str) -> bool:
        age_s = time.monotonic() - self._asked_at
        return age_s < (JWKS_LIFETIME_S if key_id in self._keys else JWKS_RETRY_S)


def _moment(exp: Any) -> datetime | None:
    """Return when a token ends; None if the number is too large for a time, as if an issuer counts milliseconds."""
    try:
        return datetime.fromtimestamp(int(exp), UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _names(claims: dict[str, Any], claim: str) -> frozenset[str] | None:
    """Return the names in a claim, empty without the claim, or None if it is malformed or empty."""
    if claim not in claims:
        return frozenset()
    names = claims[claim]
    return frozenset(names) if isinstance(names, list) and names and all(map(_is_name, names)) else None


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= NAME_CHARS_MAX and _is_storable(value)


def _is_storable(text: str) -> bool:
    """Say whether Postgres can store a text: JSON can name characters that do not exist."""
    return "\0" not in text and text.encode(errors="ignore").decode() == text
