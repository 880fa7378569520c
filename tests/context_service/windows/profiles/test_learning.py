"""Windows that learn, over two replicas: what is counted of whom, the version that follows, and how it is undone."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from context_service.packing.pure.texts.units import SpokenText
from context_service.profiles.rules.learning import Learning
from context_service.profiles.store.profiles import ProfileRows
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2 as message_pb
from contextkeep.errors import InvalidArgument, PermissionDenied, Unavailable
from tests.conftest import PRINCIPAL
from tests.context_service.contexts.callers import Caller, an_id
from tests.context_service.windows.calling import calls, opened, packed, result
from tests.context_service.windows.conftest import Stack

LAB = """
high_importance:
  - {kind: ticket, of: tool, line: '\\bTICKET-[0-9]+\\b', weight: 0.5}
  - {kind: shelf, of: tool, line: '\\bSHELF-[0-9]+\\b', weight: 0.5}
tool_output_trim: {'look': 400, default: 300}
"""
NOISE = "\n".join(f"nothing in particular in line {n}" for n in range(60))
LEARNS = windows_pb.WindowConfig(learning=True)


async def worked(caller: Caller, profile: str, *, app_id: str = "shop", config: Any = LEARNS) -> windows_pb.Window:
    """Return a window of 14 steps, the first of which are folded: tickets at odd ones, shelves at even."""
    messages = [message_pb.MessageInput(role="user", content="Look.")]
    for n in range(1, 15):
        kind = "TICKET" if n % 2 else "SHELF"
        found = f"{NOISE}\n{kind}-{n}: there, in /srv/house/{n}.py"
        messages += [message_pb.MessageInput(**one) for one in (calls(f"c{n}"), result(f"c{n}", found))]
    sent = await caller.call("SendMessage", context=pb.ContextInput(app_id=app_id), message=messages[0])
    await caller.append(sent.context_id, *messages[1:])
    window = await opened(caller, sent.context_id, 3_500, compression_profile=profile, config=config)
    pack = await packed(caller, window, without_recall=True)
    assert pack.omitted.step_count >= 5
    return window


async def look(caller: Caller, window: windows_pb.Window, seq: int = 3) -> None:
    """Expand the result of the first step: a ticket."""
    original = await caller.call("Expand", window_id=window.window_id, ref=f"m{seq}/1")
    assert b"-" in original.content


async def versions(caller: Caller, name: str, **fields: Any) -> list[windows_pb.CompressionProfile]:
    return list((await caller.call("ListProfiles", name=name, **fields)).profiles)


def known(stack: Stack, profile: str) -> tuple[int, dict[str, Any], int]:
    """Return what is kept of a profile: contexts, counts, version."""
    with psycopg.connect(stack.urls.admin) as connection:
        rows = connection.execute(
            "SELECT context_count, counts, version FROM context.window_learning WHERE tenant_id = %s AND profile = %s",
            (PRINCIPAL.tenant_id, profile),
        ).fetchall()
    return rows[0] if rows else (0, {}, 0)


async def test_twenty_contexts_of_an_app_teach_a_version_of_its_profile(
    caller: Caller, other_replica: Caller, stack: Stack
):
    """All of them look at once, on two replicas: one version is made, of all twenty."""
    await caller.call("PutProfile", name="lab", text=LAB)
    both = [caller, other_replica]
    windows = [await worked(both[n % 2], "lab") for n in range(20)]
    assert {one.compression_profile for one in windows} == {"lab@1"}
    await asyncio.gather(*(look(both[n % 2], window) for n, window in enumerate(windows[1:])))
    for window in windows[1:]:
        await look(caller, window, 7)  # again, in contexts that have counted: nothing is due by that
    assert (known(stack, "lab@1")[0], known(stack, "lab@1")[2]) == (19, 0)
    assert [one.version for one in await versions(caller, "lab")] == [1]

    await asyncio.gather(look(caller, windows[0]), look(other_replica, windows[0], 7))
    (made, put) = await versions(other_replica, "lab", with_text=True)
    assert (made.version, made.text, put.text) == (2, "", LAB)
    assert (made.learned.base, made.learned.app_id, made.learned.context_count) == ("lab@1", "shop", 20)
    assert set(made.learned.line_factors) == {"shelf", "ticket"}
    assert made.learned.line_factors["shelf"] == 0.8 and made.learned.line_factors["ticket"] > 1.1
    assert not made.learned.line_counts

    # The evidence is an administrator's.
    with pytest.raises(PermissionDenied):
        await versions(caller, "lab", with_evidence=True)
    (made, _) = await versions(caller.of("admin"), "lab", with_evidence=True)
    counts = made.learned.line_counts
    assert counts["ticket"].asked in (39, 40) and counts["shelf"].asked == 0
    assert counts["ticket"].seen > 20 < counts["shelf"].seen

    # Who gets it: windows of that app that learn. Those that are open keep what they have.
    context_id = windows[0].context_id
    assert (await opened(caller, context_id, compression_profile="lab", config=LEARNS)).compression_profile == "lab@2"
    assert (await opened(caller, context_id, compression_profile="lab")).compression_profile == "lab@1"
    elsewhere = (await caller.send("Hello")).context_id
    assert (await opened(caller, elsewhere, compression_profile="lab", config=LEARNS)).compression_profile == "lab@1"
    kept = (await caller.call("GetWindow", window_id=windows[0].window_id)).window
    assert kept.compression_profile == "lab@1"

    # Nobody else sees it: not another tenant, and no key that is bound to another app.
    other = caller.of("other")
    assert await versions(other, "lab") == []
    with pytest.raises(InvalidArgument):
        await opened(other, (await other.send("Hello")).context_id, compression_profile="lab@2")
    assert [one.version for one in await versions(caller.of("app"), "lab")] == [2, 1]  # it is bound to this one

    # Frozen: nothing more is counted. Undone: it is as it was put, and nothing is known.
    admin = caller.of("admin")
    frozen = await admin.call("SetLearning", profile="lab", app_id="shop", is_frozen=True)
    assert (frozen.profile, frozen.is_frozen, frozen.version, frozen.context_count) == ("lab@1", True, 2, 20)
    before = known(stack, "lab@1")
    await look(caller, await worked(caller, "lab"))
    assert known(stack, "lab@1") == before
    request_id = an_id()
    undone = [
        await one.call("SetLearning", profile="lab@2", app_id="shop", is_frozen=False, undo=True, request_id=request_id)
        for one in (admin, other_replica.of("admin"))
    ]
    assert undone[0] == undone[1]
    assert (undone[0].profile, undone[0].is_frozen, undone[0].version, undone[0].context_count) == (
        "lab@1",
        False,
        0,
        0,
    )
    assert known(stack, "lab@1") == (0, {"lines": {}, "results": {}}, 0)
    assert (await opened(caller, context_id, compression_profile="lab", config=LEARNS)).compression_profile == "lab@1"
    named = await opened(caller, context_id, compression_profile="lab@2")  # it never changes
    assert named.compression_profile == "lab@2"


async def test_a_version_of_a_profile_of_the_service_is_learned_and_packs(
    caller: Caller, other_replica: Caller, stack: Stack, monkeypatch: pytest.MonkeyPatch
):
    """A kill where the version is written leaves all as it was before the look; the next one counts and learns."""
    await look(caller, await worked(caller, "coding"))
    with psycopg.connect(stack.urls.admin) as connection:
        connection.execute(
            """UPDATE context.window_learning SET context_count = 19,
            counts = '{"lines": {"path": [100, 50], "error": [100, 1]}, "results": {"0": [50, 1], "1": [50, 40]}}'
            WHERE profile = 'coding'"""
        )
    window, before = await worked(caller, "coding"), known(stack, "coding")

    async def killed(*_: Any, **__: Any) -> int:
        raise Unavailable("gone")

    with monkeypatch.context() as patched, pytest.raises(Unavailable):
        patched.setattr(ProfileRows, "learn", killed)
        await look(caller, window)
    assert known(stack, "coding") == before
    await look(caller, await worked(caller, "coding"))

    (made, shipped) = await versions(caller, "coding")
    assert (made.version, made.is_built_in, shipped.version, shipped.is_built_in) == (1, False, 0, True)
    assert made.learned.base == "coding" and made.learned.line_factors["path"] > 1 > made.learned.line_factors["error"]
    page = await caller.call("ListProfiles", name="coding", page_size=1)
    rest = await caller.call("ListProfiles", name="coding", page_size=1, page_token=page.next_page_token)
    assert [*page.profiles, *rest.profiles] == [made, shipped] and not rest.next_page_token
    window = await worked(other_replica, "coding")
    assert window.compression_profile == "coding@1"
    assert await packed(caller, window) == await packed(other_replica, window)
    names = [(one.name, one.version) for one in (await caller.call("ListProfiles")).profiles]
    assert ("coding", 0) in names and ("coding", 1) not in names


async def test_a_key_of_a_context_teaches_nothing():
    """It is told before anything is looked up: there is nothing here that could be asked."""
    bound = replace(PRINCIPAL, context_id=uuid.UUID(int=7))
    nothing: Any = None
    learning = Learning(nothing, nothing, nothing, requests=nothing, telemetry=nothing)
    await learning.count_lookup(
        uuid.UUID(int=7), uuid.UUID(int=8), 3, [SpokenText("tool", "TICKET-1", 1)], principal=bound
    )


async def test_what_is_in_sight_and_windows_that_do_not_learn_count_nothing(caller: Caller, stack: Stack):
    await caller.call("PutProfile", name="quiet", text=LAB)
    plain = await worked(caller, "quiet", config=None)
    await look(caller, plain)
    assert known(stack, "quiet@1") == (0, {}, 0)

    window = await worked(caller, "quiet")
    seen = known(stack, "quiet@1")
    assert seen[0] == 0 and {kind: asked for kind, (_, asked) in seen[1]["lines"].items()} == {"ticket": 0, "shelf": 0}
    await look(caller, window, 29)  # the last step: it is there
    await caller.call("Expand", window_id=window.window_id, ref="m3..m9")
    assert known(stack, "quiet@1") == seen

    found = await caller.call("SearchWindow", window_id=window.window_id, query="TICKET-1 there", limit=3)
    assert found.hits[0].zone not in ("", "verbatim")
    contexts, counts, _ = known(stack, "quiet@1")
    assert (contexts, counts["lines"]["ticket"][1], counts["lines"]["shelf"][1]) == (1, 1, 0)
    for _ in range(60):  # one context teaches so much and no more
        await look(caller, window)
    assert known(stack, "quiet@1")[1]["lines"]["ticket"][1] == 50
