"""What every provider of context query holds to. One joins by a subclass with a fixture `asked_provider`.

class TestWorkspace(ContextProviderConformance):
    @pytest.fixture
    async def asked_provider(self): ...
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from context_service.query.providers import Provider, ProviderInfo, ProviderQuery, QueryScope, State
from context_service.query.pure.hit_checks import Checked, checked_answer
from context_service.query.rules.fan_out import is_blocking
from service_runtime.rpc.principal import Principal


@dataclass(frozen=True, kw_only=True)
class AskedProvider:
    """A provider, and a question that it has an answer to."""

    provider: Provider
    asked: ProviderQuery  # of which there are two hits, at least
    principal: Principal
    stranger: Principal  # of another tenant; his own answer is empty, or the provider is the same to everybody
    is_native: bool


class ContextProviderConformance:
    """The suite."""

    @pytest.fixture
    async def asked_provider(self) -> AskedProvider:
        raise NotImplementedError

    async def answer(self, one: AskedProvider, **changes: object) -> Checked:
        return await found(one.provider, replace(one.asked, **changes), one.principal)  # type: ignore[arg-type]

    async def test_it_says_what_it_is(self, asked_provider):
        info = asked_provider.provider.info
        assert type(info) is ProviderInfo and info == asked_provider.provider.info
        assert isinstance(asked_provider.provider, Provider)

    async def test_it_answers_hits_that_can_be_shown_as_they_are(self, asked_provider):
        answered = await self.answer(asked_provider)
        assert answered.state is State.OK
        assert len(answered.hits) >= 2
        assert "left out" not in answered.reason
        for one in answered.hits:
            assert one.title and one.snippet and one.source_id

    async def test_its_ids_are_stable_and_its_answer_repeatable(self, asked_provider):
        first, second = [await self.answer(asked_provider) for _ in range(2)]
        assert [ids(one) for one in (first, second)] == [ids(first)] * 2

    async def test_it_answers_many_at_once(self, asked_provider):
        answers = await asyncio.gather(*(self.answer(asked_provider) for _ in range(8)))
        assert {tuple(ids(one)) for one in answers} == {tuple(ids(answers[0]))}

    async def test_it_keeps_to_the_limit(self, asked_provider):
        assert len((await self.answer(asked_provider, limit=1)).hits) == 1

    @pytest.mark.parametrize("scope", QueryScope)
    async def test_its_hits_are_of_the_scopes_that_were_asked_for(self, asked_provider, scope):
        raw = await self.answer(asked_provider, scopes=frozenset({scope}))
        assert all(one.scope is scope for one in raw.hits)

    async def test_nothing_is_of_a_time_that_was_not_asked_for(self, asked_provider):
        later = datetime.now(UTC) + timedelta(days=1)
        assert (await self.answer(asked_provider, time_from=later)).hits == ()

    @pytest.mark.parametrize(
        "query", ["'; --", "\u202e", "the of and", "\U0001f680", "a" * 8_000, '% _ * \\ " ( ) | &']
    )
    async def test_any_question_is_answered(self, asked_provider, query):
        assert (await self.answer(asked_provider, query=query)).state in (State.OK, State.SKIPPED)

    async def test_a_native_one_shows_a_stranger_nothing(self, asked_provider):
        if not asked_provider.is_native:
            pytest.skip("it has no walls of ours")
        answered = await found(asked_provider.provider, asked_provider.asked, asked_provider.stranger)
        assert answered.hits == ()


async def found(provider: Provider, asked: ProviderQuery, principal: Principal) -> Checked:
    if is_blocking(provider.search):
        answered = await asyncio.to_thread(provider.search, asked, principal)
    else:
        answered = await provider.search(asked, principal)  # type: ignore[misc]
    return checked_answer(answered, asked, now=datetime.now(UTC))


def ids(answered: Checked) -> list[str]:
    return [one.source_id for one in answered.hits]
