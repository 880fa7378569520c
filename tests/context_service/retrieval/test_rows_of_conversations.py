"""The rows that a question is ranked by come from the service, and from memory where profiles are measured."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from bench.quality import in_memory
from bench.quality.agent_log import agent_log
from bench.quality.conversations import Conversation
from bench.quality.in_memory import Index
from context_service.retrieval.model import Audience, Passage, PassageScope
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.marks import marks_of
from context_service.retrieval.pure.terms import indexed_terms
from context_service.retrieval.store import passages as passages_module
from context_service.retrieval.store.passages import Passages
from service_runtime.postgres import Database, Transaction
from tests.conftest import PRINCIPAL, Urls

BATCH = 50  # messages of a transaction


def passages_of(conversation: Conversation) -> list[Passage]:
    return [
        Passage(
            seq=seq,
            ordinal=0,
            session=turn.session,
            text=turn.text,
            terms=indexed_terms(turn.indexed),
            kind=turn.kind,
            is_said=turn.kind == "text",
            said_at=turn.said_at,
            marks=marks_of(turn.text),
            role=turn.role,
            author=turn.author,
        )
        for seq, turn in enumerate(conversation.turns)
    ]


@pytest.fixture
async def passages(urls: Urls) -> AsyncIterator[Passages]:
    async with Database.open(urls.service, connections_max=1, name="conversations") as database:
        yield Passages(database)


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "by terms"])
async def test_what_is_measured_is_what_the_service_reads(
    passages: Passages, is_whole: bool, monkeypatch: pytest.MonkeyPatch
):
    conversation = agent_log(tasks=6)
    count = len(conversation.turns)
    scope = PassageScope.of_context(uuid.UUID(int=1 + is_whole))  # of a random one, two terms may share a number
    written = passages_of(conversation)

    async def work(transaction: Transaction) -> None:
        for start in range(0, count, BATCH):
            audience = Audience(ancestors=(scope.id,))
            await passages.put(transaction, scope, audience, written[start : start + BATCH])

    await passages._database.of(PRINCIPAL, context_id=scope.id).transaction(work)
    monkeypatch.setattr(passages_module, "READ_WHOLE", count if is_whole else 0)
    monkeypatch.setattr(passages_module, "COMMON_SHARE", 1.0)
    for bound in ("SEARCHED_MAX", "FOUND_MAX"):
        for module in (passages_module, in_memory):
            monkeypatch.setattr(module, bound, count * passages_module.ASKED_TERMS_MAX)
    index = Index(conversation, read_whole=count if is_whole else 0, common_share=1.0)

    for one in conversation.asked:
        question = AnalyzedQuery.of(one.text)
        ours, theirs = (
            await passages.matching(PRINCIPAL, scope, question.terms, question.spellings),
            index.matching(question),
        )
        assert sorted(ours.rows) == sorted(row._replace(found=list(row.found)) for row in theirs.rows)
        assert ours.totals == theirs.totals
        assert (ours.is_whole, ours.estimated) == (theirs.is_whole, theirs.estimated)
