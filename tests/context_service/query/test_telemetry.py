"""What context query counts: how long each family of providers took, and how it fared."""

from __future__ import annotations

from pathlib import Path

import context_service.app
from contextkeep import AsyncContextClient
from service_runtime.rpc.principal import ApiKeys
from tests.context_service.contexts.callers import KEYS
from tests.fakes.context_providers import Fast, Slow, Throwing, installed
from tests.scraping import scraped


async def test_each_provider_counts_by_its_family_and_how_it_fared(
    context_settings, metrics_ports: list[int], tmp_path: Path
):
    settings = context_settings.model_copy(update={"metrics_port": 0})
    with installed(tmp_path / "packages", [Fast, Slow, Throwing]):
        async with (
            context_service.app.running(settings, callers=ApiKeys(KEYS)) as port,
            AsyncContextClient(f"127.0.0.1:{port}", api_key="plain") as context,
        ):
            before = await scraped(metrics_ports[0])
            for asked in (["fast", "workspace"], ["fast", "slow", "throwing"]):
                await context.query.ask("Who signed the renewal?", provider_ids=asked)
            found = await scraped(metrics_ports[0])

    counts = "contextkeep_query_provider_seconds_count"
    fared = {name.removeprefix(counts): value for name, value in found.items() if name.startswith(counts) and value}
    assert fared == {
        '{family="external",state="ok"}': 2,
        '{family="external",state="timeout"}': 1,
        '{family="external",state="error"}': 1,
        '{family="workspace",state="ok"}': 1,
    }
    assert before[counts + '{family="context",state="error"}'] == 0  # there before anything happens
    took = found['contextkeep_query_provider_seconds_sum{family="external",state="timeout"}']
    assert took >= Slow.deadline_s
