"""Tokens of an issuer: signed by a key of its JWKS, for us, and still valid; anything else is nobody."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from contextkeep.errors import Unavailable
from service_runtime.auth import tokens
from service_runtime.auth.keys import KeyAdministration
from service_runtime.auth.tokens import Tokens
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.conftest import Urls, cloned

ISSUER, AUDIENCE = "https://issuer.example", "context-service"
RSA, OTHER_RSA = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
EC, ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
_MAKERS = {
    rsa.RSAPrivateKey: jwt.algorithms.RSAAlgorithm,
    ec.EllipticCurvePrivateKey: jwt.algorithms.ECAlgorithm,
    ed25519.Ed25519PrivateKey: jwt.algorithms.OKPAlgorithm,
}


class Issuer:
    """Serves its keys over HTTP."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {"rsa": RSA, "ec": EC, "ed": ED}
        self.asked = 0
        self.status = 200
        self.headers: dict[str, str] = {}
        self.more: list[dict[str, Any]] = []  # keys, as they are served
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                self.send_response(issuer.status)
                for name, value in issuer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(issuer.jwks())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks.json"

    def jwks(self) -> bytes:
        algorithms = {"rsa": "RS256", "ec": "ES256", "ed": "EdDSA"}
        keys = []
        for key_id, key in self.keys.items():
            maker = next(maker for kind, maker in _MAKERS.items() if isinstance(key, kind))
            public = maker.to_jwk(key.public_key(), as_dict=True)
            keys.append({**public, "kid": key_id, "use": "sig", "alg": algorithms.get(key_id, "RS256")})
        return json.dumps({"keys": [*keys, *self.more]}).encode()


@pytest.fixture(scope="module")
def urls(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    """One database for all tests, since they only read which tenants there are."""
    with cloned(postgres) as made:
        yield made


@pytest.fixture(scope="module")
async def database(urls: Urls) -> AsyncIterator[Database]:
    async with Database.open(urls.service, connections_max=5, name="test") as opened:
        yield opened


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
async def found(database: Database, entity_settings, issuer: Issuer) -> AsyncIterator[Tokens]:
    settings = type(entity_settings).model_validate(
        {
            **entity_settings.model_dump(),
            "jwt_issuer": ISSUER,
            "jwt_audience": AUDIENCE,
            "jwt_jwks_url": issuer.url,
        }
    )
    yield Tokens(settings, database)


def token(key: Any = RSA, *, algorithm: str = "RS256", kid: str | None = "rsa", **changes: Any) -> str:
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "user-7",
        "tenant": "default",
        "scope": "openid read write",
        "exp": time.time() + 300,
    }
    claims = {name: value for name, value in {**claims, **changes}.items() if value is not None}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": kid} if kid else {})


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(("key", "algorithm", "kid"), [(RSA, "RS256", "rsa"), (EC, "ES256", "ec"), (ED, "EdDSA", "ed")])
async def test_a_token_of_the_issuer_is_its_subject(found: Tokens, key: Any, algorithm: str, kid: str):
    principal = await found.find(token(key, algorithm=algorithm, kid=kid))

    assert principal is not None
    assert (principal.tenant_id, principal.subject, principal.user_id) == (DEFAULT_TENANT_ID, "user-7", "user-7")
    assert principal.scopes == {"read", "write"}


async def test_a_claim_names_the_tenant(found: Tokens, urls: Urls):
    assert await found.find(token(tenant="acme")) is None

    KeyAdministration(urls.admin).add_tenant("acme")

    principal = await found.find(token(tenant="acme"))
    assert principal is not None
    assert principal.tenant_id != DEFAULT_TENANT_ID


async def test_claims_bind_a_token(found: Tokens):
    principal = await found.find(token(app_ids=["crm", "erp"], agent_bundle_id="billing", graph_names=["sales"]))

    assert principal is not None
    assert (principal.app_ids, principal.agent_bundle_id) == ({"crm", "erp"}, "billing")
    assert principal.graph_names == {"sales"}


@pytest.mark.parametrize(
    "exp_at",
    [
        lambda now_s: now_s + 300,
        lambda now_s: int(now_s) + 300,
        lambda now_s: str(int(now_s) + 300),
        lambda now_s: (now_s + 300) * 1000,
        lambda now_s: 10**30,
    ],
    ids=["a float", "a number", "a text", "milliseconds", "no time"],
)
async def test_a_tokens_principal_ends_with_it(found: Tokens, exp_at: Callable[[float], Any]):
    """Keys that are made of it must not outlive it. An issuer may count milliseconds: such a token ends in no year."""
    exp = exp_at(time.time())
    principal = await found.find(token(exp=exp))

    assert principal is not None
    assert (principal.expires_at and principal.expires_at.timestamp()) == (int(exp) if float(exp) < 1e12 else None)


@pytest.mark.parametrize("claim", ["app_ids", "graph_names", "agent_bundle_id"])
@pytest.mark.parametrize("value", [[], "", 7, [7], ["a", ""], {}, ["a\0"], True])
async def test_a_claim_that_cannot_be_read_binds_to_nothing_and_so_is_nobody(found: Tokens, claim: str, value: Any):
    assert await found.find(token(**{claim: value})) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "another-service"},
        {"aud": None},
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"exp": time.time() - 60},
        {"exp": None},
        {"nbf": time.time() + 3600},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 513},
        {"sub": "a\0b"},
        {"sub": "\ud800"},
        {"tenant": None},
        {"tenant": ["default"]},
        {"tenant": "a\0b"},
        {"tenant": "\ud800"},
        {"scope": ["read"]},
        {"key": OTHER_RSA},
        {"kid": None},
        {"kid": "ec"},
        {"algorithm": "HS256", "key": "a secret of thirty-two characters"},
    ],
    ids="-".join,  # the same in each worker: times and keys are not
)
async def test_any_other_token_is_nobody(found: Tokens, changes: dict[str, Any]):
    assert await found.find(token(**changes)) is None


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", "", None, 7])
async def test_a_token_that_says_it_needs_no_signature_is_nobody(found: Tokens, algorithm: object):
    signed = token()
    header = encoded({"alg": algorithm, "kid": "rsa", "typ": "JWT"})

    assert await found.find(f"{header}.{signed.split('.')[1]}.") is None
    assert await found.find(f"{header}.{signed.split('.')[1]}.{signed.split('.')[2]}") is None


async def test_the_public_key_is_no_shared_secret(found: Tokens):
    public = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    text = f"{encoded({'alg': 'HS256', 'kid': 'rsa'})}.{token().split('.')[1]}"
    signature = base64.urlsafe_b64encode(hmac.digest(public, text.encode(), hashlib.sha256)).rstrip(b"=").decode()

    assert await found.find(f"{text}.{signature}") is None


async def test_a_token_brings_no_key_of_its_own(found: Tokens, issuer: Issuer):
    """`jwk`, `jku` and the like say where a signer's key is; the signer here is whoever calls."""
    own = jwt.algorithms.RSAAlgorithm.to_jwk(OTHER_RSA.public_key(), as_dict=True)
    elsewhere = Issuer()  # never answers: it does not run
    claims = jwt.decode(token(), options={"verify_signature": False})
    for header in (
        {"jwk": own},
        {"jku": elsewhere.url},
        {"x5u": elsewhere.url, "x5c": ["MIIB"]},
        {"jwk": own, "jku": elsewhere.url},
    ):
        for kid in ("rsa", "mine"):
            forged = jwt.encode(claims, OTHER_RSA, algorithm="RS256", headers={**header, "kid": kid})
            assert await found.find(forged) is None
    elsewhere.server.server_close()


async def test_a_key_id_is_compared_and_nothing_else(found: Tokens):
    for kid in (
        "../../../../dev/null",
        "/proc/self/environ",
        "' OR 1=1 --",
        "rsa\0",
        "rsa\n",
        "\ud800",
        "k" * 9000,
        "RSA",
    ):
        header = encoded({"alg": "RS256", "kid": kid})
        assert await found.find(f"{header}.{token().split('.', 1)[1]}") is None, kid


async def test_a_key_that_the_issuer_shares_with_others_signs_nothing(found: Tokens, issuer: Issuer):
    """Whoever reads the JWKS would have it."""
    secret = b"a secret of thirty-two characters"
    issuer.more = [{"kty": "oct", "kid": "shared", "k": base64.urlsafe_b64encode(secret).decode()}]
    assert await found.find(token()) is not None
    for algorithm in ("HS256", "RS256", "ES256"):
        text = f"{encoded({'alg': algorithm, 'kid': 'shared'})}.{token().split('.')[1]}"
        signature = base64.urlsafe_b64encode(hmac.digest(secret, text.encode(), hashlib.sha256)).rstrip(b"=").decode()
        assert await found.find(f"{text}.{signature}") is None


async def test_a_token_with_demands_on_who_checks_it_is_nobody(found: Tokens):
    """RFC 7515, 4.1.11: what is critical and not understood refuses the token; we understand nothing of it."""
    claims = jwt.decode(token(), options={"verify_signature": False})
    assert await found.find(written({"alg": "RS256", "kid": "rsa"}, claims)) is not None
    for crit in (["exp"], ["b64"], ["urn:of-another"], [], "b64", None):
        assert await found.find(written({"alg": "RS256", "kid": "rsa", "crit": crit, "b64": True}, claims)) is None, (
            crit
        )


def written(header: dict[str, Any], claims: dict[str, Any]) -> str:
    """Return a token that the issuer signed, whatever it says."""
    text = f"{encoded(header)}.{encoded(claims)}"
    return f"{text}.{signature_of(text)}"


def signature_of(text: str) -> str:
    signature = RSA.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


NOT_TIMES = [math.inf, -math.inf, math.nan, "never", "", [], {}, [7], None, False, -(10**400)]
NOT_NAMES = [math.inf, 7, True, "", [], {}, [7], {"a": 1}, None]


async def test_a_claim_that_is_not_what_it_should_be_is_nobody_and_no_fault(found: Tokens):
    for claim, values in {"exp": NOT_TIMES, "aud": NOT_NAMES, "iss": NOT_NAMES, "sub": NOT_NAMES}.items():
        for value in values:
            claims = {**jwt.decode(token(), options={"verify_signature": False}), claim: value}
            assert await found.find(written({"alg": "RS256", "kid": "rsa"}, claims)) is None, (claim, value)
    for claim in ("nbf", "iat"):
        for value in (math.inf, math.nan, "never", [], {}, 10**400):
            assert await found.find(token(**{claim: value})) is None, (claim, value)


async def test_json_nested_without_end_is_nobody(found: Tokens):
    deep = base64.urlsafe_b64encode(b'{"alg":"RS256","kid":"rsa","a":' + b"[" * 9000).decode()
    text = f"{encoded({'alg': 'RS256', 'kid': 'rsa'})}.{deep}"

    assert await found.find(f"{deep}.{token().split('.', 1)[1]}") is None
    assert await found.find(f"{text}.{signature_of(text)}") is None


@pytest.mark.parametrize("text", ["", "..", "a.b.c", "....", "é.é.é", "x" * 20_000, "." * 2 + "x" * 20_000])
async def test_what_is_no_token_is_nobody(found: Tokens, text: str):
    assert await found.find(text) is None


async def test_a_new_key_of_the_issuer_is_found_and_one_that_it_took_back_is_forgotten(
    found: Tokens, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
):
    assert await found.find(token()) is not None
    issuer.keys = {"new": OTHER_RSA}
    monkeypatch.setattr(tokens, "JWKS_RETRY_S", 0.0)

    assert await found.find(token(OTHER_RSA, kid="new")) is not None
    assert await found.find(token()) is None


async def test_unknown_keys_do_not_flood_the_issuer(found: Tokens, issuer: Issuer):
    await found.find(token())
    asked = issuer.asked

    for number in range(20):
        assert await found.find(token(kid=f"made-up-{number}")) is None

    assert issuer.asked == asked


async def test_an_issuer_that_is_away_fails_only_tokens_with_keys_that_are_not_known(
    found: Tokens, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
):
    assert await found.find(token()) is not None
    issuer.status = 500
    monkeypatch.setattr(tokens, "JWKS_RETRY_S", 0.0)
    monkeypatch.setattr(tokens, "JWKS_LIFETIME_S", 0.0)

    assert await found.find(token()) is not None
    with pytest.raises(Unavailable) as caught:
        await found.find(token(OTHER_RSA, kid="new"))
    assert caught.value.metadata["dependency"] == "jwt-issuer"


async def test_an_issuer_that_sends_us_elsewhere_is_not_followed(found: Tokens, issuer: Issuer):
    """Not to whatever else answers in the operator's network."""
    elsewhere = Issuer()
    issuer.status = 302
    thread = threading.Thread(target=elsewhere.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        for location in (elsewhere.url, "file:///etc/passwd", "ftp://127.0.0.1/jwks.json"):
            issuer.headers = {"location": location}
            found._asked_at = -tokens.JWKS_LIFETIME_S
            with pytest.raises(Unavailable) as caught:
                await found.find(token())
            assert "passwd" not in str(caught.value)
    finally:
        elsewhere.server.shutdown()
        thread.join()
        elsewhere.server.server_close()
    assert (issuer.asked, elsewhere.asked) == (3, 0)


async def test_changed_tokens_are_nobody(found: Tokens):
    header, claims, signature = token().split(".")
    richer = encoded({**json.loads(base64.urlsafe_b64decode(claims + "==")), "scope": "admin"})

    assert await found.find(f"{header}.{richer}.{signature}") is None
    assert await found.find(f"{header}.{claims}.{signature[:-4]}AAAA") is None
