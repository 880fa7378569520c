"""Profiles that tenants register, over running services: versions, windows that keep them, and walls."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from context_service.profiles.pure.profiles import profile_names
from context_service.profiles.rules import profiles
from contextkeep.errors import InvalidArgument, InvalidPageToken, LimitExceeded, PermissionDenied, RequestIdReused
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.windows.calling import calls, opened, packed, result, said

TICKETS = """
extends: general
high_importance:
  - {kind: ticket, of: tool, line: '\\bTICKET-[0-9]+\\b', weight: 1.0}
low_importance:
  - {kind: chatter, of: tool, line: 'error: heartbeat'}
preserve_verbatim:
  - {kind: ticket, of: tool, line: '^TICKET-[0-9]+:'}
tool_output_trim: {default: 400}
state:
  - {section: value, of: user, sentence: '^the queue is (?P<key>\\w+) at (?P<value>\\w+)'}
"""
NOISE = "\n".join(f"nothing in particular in line {n}" for n in range(300))


async def put(caller: Caller, name: str, text: str = TICKETS, **fields: object) -> int:
    version: int = (await caller.call("PutProfile", name=name, text=text, **fields)).profile.version
    return version


async def test_a_window_keeps_what_a_profile_of_the_tenant_says(caller: Caller, other_replica: Caller):
    """A labelled run: tickets in the midst of noise, of which the general profile keeps none."""
    await put(caller, "tickets")
    context_id = await said(caller, "", {"content": "The queue is support at nine."})
    for n in range(12):
        text = f"{NOISE}\nTICKET-{n}: the lift of house {n}\n{NOISE}\nerror: heartbeat {n}"
        context_id = await said(caller, context_id, calls(f"c{n}"), result(f"c{n}", text))

    seen = {}
    for name in ("general", "tickets"):
        window = await opened(caller, context_id, 30_000, compression_profile=name)
        pack = await packed(other_replica, window, without_recall=True)
        assert pack == await packed(caller, window, without_recall=True) and pack.epoch == 1
        explained = await caller.call("ExplainPack", window_id=window.window_id)
        hidden = [n for n in range(12) if f"TICKET-{n}: the lift of house {n}\\n" not in pack.messages_json]
        seen[window.compression_profile] = (len(hidden), pack.messages_json.count("heartbeat"))
        state = (await caller.call("GetState", window_id=window.window_id, sections=["value"])).entries
        assert ("nine" in [one.value for one in state]) == (name == "tickets")
        assert any(part.zone == "masked" for part in explained.parts)

    assert seen["tickets@1"][0] == 0 < seen["general"][0]
    assert seen["tickets@1"][1] < 12


async def test_the_same_content_is_the_same_version_and_a_window_keeps_its_own(caller: Caller, other_replica: Caller):
    first, second = TICKETS, TICKETS.replace("default: 400", "default: 40")
    assert [await put(one, "of-versions", text) for one, text in ((caller, first), (other_replica, first))] == [1, 1]
    context_id = await said(caller, "", {"content": "Hello"})
    before = await opened(caller, context_id, compression_profile="of-versions")
    assert await put(other_replica, "of-versions", second) == 2

    behind = await opened(caller, context_id, compression_profile="of-versions")
    named = await opened(other_replica, context_id, compression_profile="of-versions@1")
    assert await put(caller, "of-versions", first) == 1  # an older release is deployed again
    again = await opened(caller, context_id, compression_profile="of-versions")

    kept = [one.compression_profile for one in (before, behind, named, again)]
    assert kept == ["of-versions@1", "of-versions@2", "of-versions@1", "of-versions@1"]
    again = (await caller.call("GetWindow", window_id=before.window_id)).window
    assert again.compression_profile == "of-versions@1"
    listed = (await caller.call("ListProfiles", name="of-versions", with_text=True)).profiles
    assert [(one.version, one.text) for one in listed] == [(2, second), (1, first)]


async def test_replicas_that_start_at_once_make_one_version(caller: Caller, other_replica: Caller):
    made = await asyncio.gather(*(put(one, "at-once") for one in [caller, other_replica] * 10))
    assert set(made) == {1}


async def test_a_request_that_is_repeated_writes_once(caller: Caller):
    request_id = an_id()
    assert [await put(caller, "repeated", request_id=request_id) for _ in range(2)] == [1, 1]
    assert await put(caller, "repeated", "extends: coding") == 2
    assert await put(caller, "repeated", request_id=request_id) == 1  # and the name stands for the second still
    context_id = await said(caller, "", {"content": "Hello"})
    window = await opened(caller, context_id, compression_profile="repeated")
    assert window.compression_profile == "repeated@2"
    with pytest.raises(RequestIdReused):
        await put(caller, "repeated", "extends: research", request_id=request_id)


async def test_profiles_are_listed_in_pages_beside_those_of_the_service(caller: Caller):
    for name in ("aaa", "zzz"):
        await put(caller, name)
    found, token = [], ""
    while True:
        page = await caller.call("ListProfiles", page_size=2, page_token=token)
        found += [(one.name, one.is_built_in, one.text) for one in page.profiles]
        token = page.next_page_token
        if not token:
            break
    names = [name for name, _, _ in found]
    assert names == sorted(names) and {"aaa", "zzz", *profile_names()} <= set(names)
    assert {name for name, is_built_in, _ in found if is_built_in} == set(profile_names())
    assert not any(text for _, _, text in found)
    (coding,) = (await caller.call("ListProfiles", name="coding", with_text=True)).profiles
    assert (coding.version, coding.text[:1]) == (0, "#")
    assert not (await caller.call("ListProfiles", name="nobodys")).profiles
    with pytest.raises(InvalidPageToken):
        await caller.call("ListProfiles", name="aaa", page_token="x" * 24)


async def test_anothers_profile_is_unknown(caller: Caller):
    """By its name, by a version, and in a list; and the other may have the same name."""
    await put(caller, "ours")
    other = caller.of("other")
    context_id = (await other.send("Hello")).context_id
    for name in ("ours", "ours@1", "never-put", "ours@0", "ours@99999999999", "../general", "coding@1", "Ours", "@"):
        with pytest.raises(InvalidArgument) as error:
            await other.call("OpenWindow", context_id=context_id, model="gpt-5", compression_profile=name)
        assert error.value.violations[0].field == "compression_profile"
    assert "ours" not in [one.name for one in (await other.call("ListProfiles")).profiles]
    assert not (await other.call("ListProfiles", name="ours")).profiles
    assert await put(other, "ours", "extends: coding") == 1
    (kept,) = (await caller.call("ListProfiles", name="ours", with_text=True)).profiles
    assert kept.text == TICKETS


async def test_a_bound_key_reads_profiles_and_puts_none(caller: Caller):
    await put(caller, "of-all")
    for key in ("app", "graph"):
        bound = caller.of(key)
        assert [one.version for one in (await bound.call("ListProfiles", name="of-all")).profiles] == [1]
        for name in ("of-all", "of-one"):
            with pytest.raises(PermissionDenied):
                await put(bound, name, "extends: coding")


@pytest.mark.parametrize(
    "text", ["", "[", "units: []", "low_importance: [{kind: a, of: tool, line: '(a{1000}){1000}'}]"]
)
async def test_a_text_that_is_no_profile_is_refused(caller: Caller, text: str):
    with pytest.raises(InvalidArgument) as error:
        await put(caller, "broken", text)
    assert error.value.violations[0].field == "text"
    assert not (await caller.call("ListProfiles", name="broken")).profiles


async def test_there_are_so_many_profiles_and_versions_and_no_more(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(profiles, "VERSIONS_MAX", 2)
    assert [await put(caller, "few", f"extends: {name}") for name in ("general", "coding")] == [1, 2]
    monkeypatch.setattr(profiles, "PROFILES_MAX", 1)
    for name, limit in (("few", "profile_versions"), ("fewer", "profiles")):
        with pytest.raises(LimitExceeded) as error:
            await put(caller, name, "extends: research")
        assert error.value.metadata["limit"] == limit
    assert await put(caller, "few", "extends: general") == 1
    with pytest.raises(LimitExceeded):
        await put(caller, "few", "#" * (256 * 1024 + 1))


async def test_what_is_kept_of_profiles_is_bounded_and_read_again(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(profiles, "_KEPT_MAX", 1)
    names = ["one-of-two", "two-of-two"]
    for name in names:
        await put(caller, name)
    context_id = await said(caller, "", {"content": "Hello"})
    windows = [await opened(caller, context_id, compression_profile=name) for name in names]
    for n in range(2):
        context_id = await said(caller, context_id, {"content": f"Hello {n}"})
        for window in windows:
            assert f"Hello {n}" in orjson.loads((await packed(caller, window)).messages_json)["messages"][-1]["content"]


async def test_a_pattern_that_is_made_to_be_slow_holds_nobody_up(caller: Caller, other_replica: Caller):
    """Each letter has three hundred ways on, which no table of states holds."""
    rule = "{kind: a, of: user, line: 'a[ab]{300}c', weight: 1}"
    await put(caller, "slow", f"high_importance: [{rule}]")
    letters = "".join("ab"[n * n % 7 % 2] for n in range(500_000))
    slow = await said(caller, "", {"content": letters})
    window = await opened(caller, slow, 1_000_000, compression_profile="slow")
    quick = await opened(caller, await said(caller, "", {"content": "word " * 20_000}), 1_000_000)

    working = asyncio.create_task(packed(caller, window))
    await asyncio.sleep(0.05)
    await packed(caller, quick)

    assert not working.done()
    await working
