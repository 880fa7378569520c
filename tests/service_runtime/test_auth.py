"""The principal comes from the key alone."""

from __future__ import annotations

import pytest

from contextkeep.errors import Unauthenticated
from service_runtime.auth import DEFAULT_TENANT_ID, ApiKeys, Principal
from service_runtime.server import CannotListen, check_exposure

KEYS = ApiKeys({"s3cret": Principal(tenant_id=DEFAULT_TENANT_ID, subject="api-key")})


@pytest.mark.parametrize(
    "metadata",
    [
        [("authorization", "Bearer s3cret")],
        [("authorization", "bearer s3cret")],
        [("x-api-key", "s3cret")],
        [("x-tenant-id", "another"), ("authorization", "Bearer s3cret")],
    ],
)
async def test_a_valid_key_is_its_principal_whatever_else_is_sent(metadata: list[tuple[str, str]]):
    principal = await KEYS.authenticate(metadata)

    assert (principal.tenant_id, principal.subject) == (DEFAULT_TENANT_ID, "api-key")


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        [("authorization", "s3cret")],
        [("authorization", "Basic s3cret")],
        [("authorization", "Bearer ")],
        [("authorization", "Bearer wrong")],
        [("authorization", "Bearer wrong"), ("x-api-key", "s3cret")],
        [("x-api-key", "")],
        [("x-api-key-bin", b"s3cret")],
    ],
)
async def test_anything_else_is_refused_and_the_key_is_not_repeated(metadata: list[tuple[str, str]]):
    with pytest.raises(Unauthenticated) as caught:
        await KEYS.authenticate(metadata)

    assert "wrong" not in str(caught.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_listening_beyond_loopback_without_authentication_is_refused(host: str):
    with pytest.raises(CannotListen, match="API_KEY"):
        check_exposure(host, authenticated=False, allow_insecure=False)
    check_exposure(host, authenticated=True, allow_insecure=False)
    check_exposure(host, authenticated=False, allow_insecure=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_authentication(host: str):
    check_exposure(host, authenticated=False, allow_insecure=False)
