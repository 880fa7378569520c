"""Sessions: what begins and ends them, and how wrong keys are slowed. Without a service."""

from __future__ import annotations

from typing import Any, cast

import pytest

from contextkeep import Caller
from contextkeep_console import session as sessions_of
from contextkeep_console.session import FORGOTTEN_S, IDLE_S, LIFE_S, SLOWED_FROM, Session, Sessions, WrongKeys


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def somebody(key: str = "", *, tenant: str = "") -> Session:
    caller = Caller(tenant_id=tenant, tenant=tenant)
    return Session(context=cast("Any", None), graph=cast("Any", None), key_hash=key.encode(), caller=caller)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(clock: Clock) -> Sessions:
    return Sessions(clock=clock)


def test_a_session_is_found_by_its_cookie_alone(sessions: Sessions):
    one, other = somebody(), somebody()
    cookie, other_cookie = sessions.begin(one), sessions.begin(other)

    assert sessions.find(cookie) is one
    assert sessions.find(other_cookie) is other
    for wrong in ("", cookie[:-1], cookie.swapcase(), "é\udcff"):
        assert sessions.find(wrong) is None


def test_a_session_that_is_used_lives_and_an_idle_one_ends(sessions: Sessions, clock: Clock):
    used, idle = sessions.begin(somebody()), sessions.begin(somebody())
    for _ in range(3):
        clock.now += IDLE_S * 0.6
        assert sessions.find(used) is not None

    assert sessions.find(idle) is None
    assert len(sessions) == 1


def test_a_session_ends_however_much_it_is_used(sessions: Sessions, clock: Clock):
    cookie = sessions.begin(somebody())
    for _ in range(int(LIFE_S / (IDLE_S / 2))):
        clock.now += IDLE_S / 2
        assert sessions.find(cookie) is not None

    clock.now += 1
    assert sessions.find(cookie) is None


def test_what_was_signed_out_is_forgotten(sessions: Sessions):
    cookie = sessions.begin(somebody())
    sessions.end(cookie)
    sessions.end(cookie)

    assert sessions.find(cookie) is None
    assert len(sessions) == 0


def test_one_too_many_ends_the_one_that_was_idle_longest(sessions: Sessions, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sessions_of, "SESSIONS_MAX", 2)
    first, second = sessions.begin(somebody()), sessions.begin(somebody())
    sessions.find(first)
    third = sessions.begin(somebody())

    assert [sessions.find(cookie) is not None for cookie in (first, second, third)] == [True, False, True]


def test_nothing_that_is_secret_is_in_what_a_session_prints():
    one = somebody()
    assert one.form_token not in repr(one)


def test_a_key_that_signs_in_again_and_again_ends_its_own_sessions_alone(sessions: Sessions):
    other = sessions.begin(somebody("other"))
    cookies = [sessions.begin(somebody("busy")) for _ in range(sessions_of.SESSIONS_OF_KEY_MAX + 5)]

    assert sessions.find(other) is not None
    assert [sessions.find(cookie) is not None for cookie in cookies[:6]] == [False] * 5 + [True]


def test_a_tenant_with_many_keys_ends_its_own_sessions_alone(sessions: Sessions, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sessions_of, "SESSIONS_OF_TENANT_MAX", 5)
    others = [sessions.begin(somebody(f"key {number}", tenant="1")) for number in range(5)]
    for number in range(50):
        sessions.begin(somebody(f"made {number}", tenant="2"))

    assert len(sessions) == 10
    assert all(sessions.find(cookie) for cookie in others)


def test_of_a_tenant_the_key_with_the_most_sessions_loses_one(sessions: Sessions, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sessions_of, "SESSIONS_OF_TENANT_MAX", 5)
    colleague = sessions.begin(somebody("colleague", tenant="1"))
    busy = [sessions.begin(somebody("busy", tenant="1")) for _ in range(4)]
    sessions.begin(somebody("third", tenant="1"))

    assert [sessions.find(cookie) is not None for cookie in (colleague, *busy)] == [True, False, True, True, True]


def test_when_all_places_are_taken_the_tenant_with_the_most_loses_one(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sessions_of, "SESSIONS_MAX", 10)
    others = [sessions.begin(somebody(f"key {number}", tenant="1")) for number in range(3)]
    for number in range(50):
        sessions.begin(somebody(f"made {number}", tenant="2"))
    late = sessions.begin(somebody("late", tenant="3"))

    assert len(sessions) == 10
    assert all(sessions.find(cookie) for cookie in (*others, late))


def test_each_wrong_key_of_an_address_is_answered_later_than_the_one_before(clock: Clock):
    wrong = WrongKeys(clock=clock)
    waits = [wrong.note("peer") for _ in range(SLOWED_FROM + 8)]

    assert waits[:SLOWED_FROM] == [0.0] * SLOWED_FROM
    assert all(wait > 0 for wait in waits[SLOWED_FROM:])
    assert waits == sorted(waits)
    assert waits[-1] == sessions_of.SLOWED_S_MAX
    assert wrong.note("another") == 0.0


def test_a_correct_key_ends_the_waits_of_its_address(clock: Clock):
    wrong = WrongKeys(clock=clock)
    for _ in range(SLOWED_FROM + 2):
        wrong.note("peer")
    wrong.forget("peer")

    assert wrong.note("peer") == 0.0


def test_wrong_keys_of_long_ago_count_no_more(clock: Clock):
    wrong = WrongKeys(clock=clock)
    for _ in range(SLOWED_FROM + 2):
        wrong.note("peer")
    clock.now += FORGOTTEN_S

    assert wrong.note("peer") == 0.0


def test_the_memory_for_addresses_is_bounded(clock: Clock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sessions_of, "PEERS_MAX", 10)
    wrong = WrongKeys(clock=clock)
    for number in range(100):
        wrong.note(str(number))

    assert len(wrong._wrong) == 10
