"""The principal comes from the key alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contextkeep.errors import (
    ContextKeepError,
    InvalidArgument,
    LimitExceeded,
    PermissionDenied,
    SubjectRequired,
    Unauthenticated,
)
from service_runtime.grpc_server.server import CannotListen, check_exposure
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, ApiKeys, Principal

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


USERS = Principal(tenant_id=DEFAULT_TENANT_ID, subject="of ada", user_id="ada")
RUNTIME = Principal(tenant_id=DEFAULT_TENANT_ID, subject="runtime", scopes=frozenset({"read", "write", "delegate"}))
PLAIN = replace(RUNTIME, scopes=frozenset({"read", "write", "admin"}))


@pytest.mark.parametrize(
    ("principal", "named", "acts_for"),
    [
        (USERS, "", "ada"),
        (USERS, "ada", "ada"),
        (USERS, "bob", PermissionDenied),
        (RUNTIME, "", ""),
        (RUNTIME, "ada", "ada"),
        (RUNTIME, "*", "*"),
        (PLAIN, "", ""),
        (PLAIN, "ada", PermissionDenied),
        (RUNTIME, "a\0", InvalidArgument),
        (RUNTIME, "a" * 513, LimitExceeded),
    ],
)
def test_a_call_acts_for_the_user_of_its_credential_or_for_one_that_it_may_name(
    principal: Principal, named: str, acts_for: str | type[ContextKeepError]
):
    if isinstance(acts_for, str):
        assert principal.acting_for(named).user_id == acts_for
        assert replace(principal.acting_for(named), user_id="", scopes=frozenset()) == replace(
            principal, user_id="", scopes=frozenset()
        )
    else:
        with pytest.raises(acts_for):
            principal.acting_for(named)


def test_what_is_missing_to_name_a_user_is_said():
    with pytest.raises(PermissionDenied) as caught:
        PLAIN.acting_for("ada")
    assert caught.value.metadata == {"scope": "delegate"}


def test_who_names_a_user_is_held_to_him_whatever_else_he_may():
    operator = replace(USERS, user_id="")
    assert operator.sees_all_users
    assert operator.acting_for("").sees_all_users
    for principal in (operator, USERS):
        assert not principal.acting_for("ada").sees_all_users
        assert principal.acting_for("ada").scopes == principal.scopes - {"admin"}


def test_what_is_always_a_users_takes_a_user():
    assert USERS.acting_for_somebody("").user_id == "ada"
    assert RUNTIME.acting_for_somebody("ada").user_id == "ada"
    for principal in (RUNTIME, PLAIN, replace(USERS, user_id="")):
        with pytest.raises(SubjectRequired) as caught:
            principal.acting_for_somebody("")
        assert [one.field for one in caught.value.violations] == ["subject_user_id"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_listening_beyond_loopback_without_authentication_is_refused(host: str):
    with pytest.raises(CannotListen, match="ALLOW_ANONYMOUS"):
        check_exposure(host, authenticated=False, allow_insecure=False)
    check_exposure(host, authenticated=True, allow_insecure=False)
    check_exposure(host, authenticated=False, allow_insecure=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_authentication(host: str):
    check_exposure(host, authenticated=False, allow_insecure=False)
