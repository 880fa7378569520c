"""What windows count: it adds up to what packs, receipts and bills say, under words of ours alone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import asdict
from itertools import pairwise
from uuid import UUID

import grpc
import psycopg
import pytest

import context_service.app
from context_service.packing.model import Zones
from context_service.windows.rules import telemetry
from context_service.windows.rules.telemetry import REASONS, ZONES, Telemetry
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import BudgetTooSmall, RefNotFound, TokensSpent
from service_runtime.rpc.principal import ApiKeys
from service_runtime.telemetry.metrics import Metrics
from tests.conftest import Urls
from tests.context_service.contexts.callers import KEYS, Caller, an_id
from tests.context_service.windows.calling import opened, packed, said
from tests.context_service.windows.folding.test_folding import step
from tests.scraping import scraped

ONE, TWO = (UUID(int=1), UUID(int=2)), (UUID(int=1), UUID(int=3))


@pytest.fixture
async def caller(context_settings, metrics_ports: list[int]) -> AsyncIterator[Caller]:
    settings = context_settings.model_copy(update={"metrics_port": 0})
    async with (
        context_service.app.running(settings, callers=ApiKeys(KEYS)) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        yield Caller(channel)


async def counted(port: int) -> dict[str, float]:
    """Return what is counted of windows and is not 0, without `contextkeep_window_` and `_total`."""
    found = await scraped(port)
    return {
        name.removeprefix("contextkeep_window_").replace("_total{", "{"): value
        for name, value in found.items()
        if name.startswith("contextkeep_window_") and "_created" not in name and value
    }


async def test_packs_and_breaks_add_up_to_what_was_answered(caller: Caller, metrics_ports: list[int]):
    context_id = await said(caller, "", {"content": "The staging port is 8443."})
    window = await opened(caller, context_id, limit=12_000, compression_profile="coding")
    packs: list[windows_pb.PackResponse] = [await packed(caller, window)]
    number = 0
    while not (packs[-1].tokens_by_zone.segments and packs[-1].tokens_by_zone.masked):
        number += 1
        lines = (f"Decision: write /srv/orders/part_{number}_{part}.py, as test_{part} failed." for part in range(5))
        decided = {"role": "assistant", "content": "\n".join(lines)}
        await said(caller, context_id, *step(number, "a line of no interest\n" * 120), decided)
        packs.append(await packed(caller, window))
        assert number < 200
    await caller.call("Pin", window_id=window.window_id, text="In French.")
    packs.append(await packed(caller, window))
    lineage = (await caller.call("GetLineage", window_id=window.window_id)).receipts
    found = await counted(metrics_ports[0])

    assert found['packs{profile="coding"}'] == len(packs)
    assert found['breaks{profile="coding",reason="high_mark"}'] == packs[-2].epoch
    assert found['breaks{profile="coding",reason="pinned"}'] == 1
    assert len(lineage) == packs[-1].epoch == packs[-2].epoch + 1
    for zone in ZONES:
        of_zone = sum(getattr(pack.tokens_by_zone, "note" if zone == "notes" else zone) for pack in packs)
        assert found.get(f'pack_tokens{{zone="{zone}"}}', 0) == of_zone
    read, written = found['prefix_tokens{part="read"}'], found['prefix_tokens{part="written"}']
    assert read + written == sum(pack.tokens for pack in packs)
    same_epoch = [(before, now) for before, now in pairwise(packs) if before.epoch == now.epoch]
    assert read >= sum(before.tokens for before, _ in same_epoch)
    folds = [one for one in lineage if one.reason == "high_mark"]
    assert found['evictions{what="masked_step"}'] == sum(len(one.masked_steps) for one in folds)
    assert found['evictions{what="merged_step"}'] == sum(one.merged_step_count for one in folds)
    for level in ("masked", "segments"):
        before, after = (found[f'fold_tokens{{level="{level}",side="{side}"}}'] for side in ("before", "after"))
        assert 0 < after < before
    segments = [one.tokens for fold in folds for one in fold.summaries if one.zone == "segments"]
    assert found['fold_tokens{level="segments",side="after"}'] == sum(segments)
    units = {name: value for name, value in found.items() if name.startswith("units{")}
    assert {re.findall('fate="([a-z_]+)"', name)[0] for name in units} == {"shown", "left_out"}


async def test_lookups_bills_and_refusals_are_counted_once(caller: Caller, metrics_ports: list[int]):
    context_id = await said(caller, "", {"content": "The staging port is 8443. " + "word " * 500})
    window = await opened(caller, context_id, config={"max_total_tokens": 700})
    pack = await packed(caller, window)
    billed = {"pack_tokens": pack.tokens, "input_tokens": 900, "cached_tokens": 200, "cache_write_tokens": 300}
    request_id, pinning = an_id(), an_id()
    for _ in range(2):  # a call that is tried again is billed once
        await caller.call("RecordUsage", window_id=window.window_id, output_tokens=7, request_id=request_id, **billed)
    await caller.call("Expand", window_id=window.window_id, ref="m1")
    with pytest.raises(RefNotFound):
        await caller.call("Expand", window_id=window.window_id, ref="m9")
    await caller.call("SearchWindow", window_id=window.window_id, query="port")
    for _ in range(2):
        await caller.call("Pin", window_id=window.window_id, text="x", request_id=pinning)
    await caller.call("UpdateWindow", window_id=window.window_id, goal="")  # as it is
    await caller.call("UpdateWindow", window_id=window.window_id, config={"keep_last_steps": 3})  # breaks nothing
    small = await opened(caller, context_id, limit=300, system_prompt="word " * 245)
    with pytest.raises(BudgetTooSmall):
        await packed(caller, small)
    await said(caller, context_id, {"content": "More."})
    with pytest.raises(TokensSpent):
        await packed(caller, window)
    with pytest.raises(BudgetTooSmall):
        await opened(caller, context_id, limit=300, system_prompt="word " * 500)

    found = await counted(metrics_ports[0])
    assert [found[f'billed_tokens{{part="{part}"}}'] for part in ("read", "written", "plain", "output")] == [
        200,
        300,
        400,
        7,
    ]
    assert (found['lookups{how="expand"}'], found['lookups{how="search"}']) == (2, 1)
    assert {name: value for name, value in found.items() if name.startswith("breaks{")} == {
        'breaks{profile="general",reason="pinned"}': 1
    }
    assert found['refusals{reason="TOKENS_SPENT"}'] == 1
    assert found['refusals{reason="BUDGET_TOO_SMALL"}'] == 2
    assert found['packs{profile="general"}'] == 1


async def test_a_fold_that_was_prepared_counts_when_it_is_committed_and_once(caller: Caller, metrics_ports: list[int]):
    context_id = await said(caller, "", {"content": "Hello."})
    for number in range(14):
        await said(caller, context_id, *step(number))
    window = await opened(caller, context_id, limit=100_000)
    await caller.call("PrepareFold", window_id=window.window_id)
    assert 'breaks{profile="general",reason="prepared"}' not in await counted(metrics_ports[0])
    request_id = an_id()
    for _ in range(2):
        done = await caller.call("CommitFold", window_id=window.window_id, request_id=request_id)
    found = await counted(metrics_ports[0])
    assert found['breaks{profile="general",reason="prepared"}'] == 1
    assert found['evictions{what="masked_step"}'] == len(done.receipt.masked_steps) > 0


async def test_a_fold_of_a_cold_window_is_a_break_of_its_own(caller: Caller, metrics_ports: list[int], urls: Urls):
    context_id = await said(caller, "", {"content": "Hello."})
    window = await opened(caller, context_id, limit=24_000)
    while (await packed(caller, window)).tokens < 19_000:
        await said(caller, context_id, *step(1))
    with psycopg.connect(urls.superuser) as connection:
        connection.execute("UPDATE context.context_window SET packed_at = packed_at - interval '1 hour'")
    await said(caller, context_id, {"content": "Go on."})
    for _ in range(2):
        await packed(caller, window)

    found = await counted(metrics_ports[0])
    assert {name: value for name, value in found.items() if name.startswith("breaks{")} == {
        'breaks{profile="general",reason="cache_cold"}': 1
    }


async def test_no_name_of_a_caller_becomes_a_label(caller: Caller, metrics_ports: list[int]):
    """Neither a profile nor a model, an app, a tenant or an id."""
    text = "extends: general\n"
    await caller.call("PutProfile", name="mine", text=text)
    context_id = await said(caller, "", {"content": "Hello.", "message_id": "m1"})
    window = await opened(caller, context_id, model="secret-model", compression_profile="mine")
    await packed(caller, window)
    await caller.call("RetractMessages", context_id=context_id, message_ids=["m1"])
    await packed(caller, window)
    found = await scraped(metrics_ports[0])
    assert found['contextkeep_window_packs_total{profile="own"}'] == 2
    assert found['contextkeep_window_breaks_total{profile="own",reason="retracted"}'] == 1
    for one in ("mine", "secret", str(KEYS["plain"].tenant_id), KEYS["plain"].subject, window.window_id, context_id):
        assert not [name for name in found if one in name]


async def test_of_a_pack_what_the_one_before_had_in_front_is_read():
    """Of the same epoch all of it; of another the zones in front of the first that is another one."""
    counts = Telemetry(metrics := Metrics())
    for key, epoch, zones in (
        (ONE, 0, Zones(system=100, verbatim=50)),  # 150 written
        (TWO, 0, Zones(system=100, verbatim=50)),  # 150 written: another window
        (ONE, 0, Zones(system=100, verbatim=70)),  # 150 read, 20 written
        (ONE, 0, Zones(system=100, verbatim=70)),  # 170 read
        (ONE, 1, Zones(system=100, segments=10, verbatim=30)),  # 100 read, 40 written: folded
        (ONE, 2, Zones(system=100, pins=5, segments=10, verbatim=30)),  # 100 read, 45 written: pinned
        (ONE, 3, Zones(system=101, pins=5, segments=10, verbatim=30)),  # 146 written: another prompt
    ):
        counts.count_pack(key, epoch, asdict(zones), profile="general")
    with metrics.exposed("127.0.0.1", 0) as port:
        found = await counted(port)
    assert found['prefix_tokens{part="read"}'] == 150 + 170 + 100 + 100
    assert found['prefix_tokens{part="written"}'] == 150 + 150 + 20 + 40 + 45 + 146


async def test_what_is_remembered_of_windows_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(telemetry, "_WINDOWS_MAX", 2)
    counts = Telemetry(metrics := Metrics())
    keys = [(UUID(int=1), UUID(int=number)) for number in range(3)]
    for key in (*keys, keys[1], keys[0]):  # the first is forgotten: its second pack counts as written
        counts.count_pack(key, 0, asdict(Zones(system=10)), profile="general")
    assert len(counts._last) == 2
    with metrics.exposed("127.0.0.1", 0) as port:
        found = await counted(port)
    assert (found['prefix_tokens{part="read"}'], found['prefix_tokens{part="written"}']) == (10, 40)


async def test_each_reason_of_a_break_is_announced():
    """What a receipt may say is a label of ours, and never `other`."""
    counts = Telemetry(metrics := Metrics())
    for reason in REASONS:
        counts.count_break(reason, profile="coding")
    with metrics.exposed("127.0.0.1", 0) as port:
        found = await counted(port)
    assert found == {f'breaks{{profile="coding",reason="{reason}"}}': 1 for reason in REASONS}
    assert tuple(asdict(Zones())) == ZONES


async def test_what_is_learned_of_a_profile_counts_as_that():
    counts = Telemetry(metrics := Metrics())
    for profile in ("coding", "mine@2"):
        counts.learned(profile)
        counts.count_break("pinned", profile=f"{profile.partition('@')[0]}@3")
    with metrics.exposed("127.0.0.1", 0) as port:
        found = await counted(port)
    assert {name: found[name] for name in found if name.startswith("learned")} == {
        'learned{profile="coding"}': 1,
        'learned{profile="own"}': 1,
    }
    assert found['breaks{profile="coding",reason="pinned"}'] == 1 == found['breaks{profile="own",reason="pinned"}']
