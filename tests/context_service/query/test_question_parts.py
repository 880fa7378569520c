"""Questions that ask several things: how they are split, and which hits answer which part."""

from __future__ import annotations

import pytest

from context_service.query.pure.fusion import fused, merged_parts
from context_service.query.pure.question_parts import PARTS_MAX, parts_of
from tests.context_service.query.conftest import World, over_grpc, over_mcp
from tests.context_service.query.test_fusion import candidate
from tests.context_service.query.test_query import refs, written


@pytest.mark.parametrize(
    ("question", "search_texts"),
    [
        ("Who owns Acme and when does its contract end?", ["Who owns Acme", "when does its contract end? Acme"]),
        ("Who manages Acme, and who manages Nordbank?", ["Who manages Acme", "who manages Nordbank?"]),
        (
            "I am preparing the Acme renewal. Who signs it? When is it due?",
            ["Who signs it? Acme", "When is it due? Acme"],
        ),
        ("owner of INV-2231; status of parcel 88-1204", ["owner of INV-2231", "status of parcel 88-1204"]),
        (
            "Wer betreut Nordbank und wann läuft der Vertrag aus?",
            ["Wer betreut Nordbank", "wann läuft der Vertrag aus? Nordbank"],
        ),
        (
            "Qui gère le compte Dupont et quand finit le contrat ?",
            ["Qui gère le compte Dupont", "quand finit le contrat ? Dupont"],
        ),
        ("¿Quién lleva Repsol y cuándo vence el pago?", ["¿Quién lleva Repsol", "cuándo vence el pago? Repsol"]),
        ("大阪の天気はどうですか？誰が担当ですか？", ["大阪の天気はどうですか？", "誰が担当ですか？"]),
    ],
)
def test_a_question_that_asks_several_things_is_split(question: str, search_texts: list[str]):
    assert [part.search_text for part in parts_of(question)] == search_texts


@pytest.mark.parametrize(
    "question",
    [
        "When was the renewal of Acme signed?",
        "What did Kim say about bread and butter?",
        "How do search and replace work?",
        "Why and how did the deploy fail?",
        "Tell me who approved it and why.",
        "Who? What?",
        "",
        " ".join(f"Who owns part {number} of it?" for number in range(PARTS_MAX + 1)),
        "Who owns Acme and when does it end? " * 100,
    ],
)
def test_a_question_that_asks_one_thing_or_too_many_is_not_split(question: str):
    assert parts_of(question) == ()


def test_the_best_hit_of_each_part_comes_first_and_names_its_part():
    hits = [
        candidate("a", "1", "Ingrid wrote a note on Acme."),
        candidate("a", "2", "Acme is owned by the sales team."),
        candidate("b", "1", "The contract runs until the end of June."),
        candidate("b", "2", "Quinces are harvested in October."),
    ]
    parts = parts_of("Who is Acme owned by, and until when does the contract run?")
    merged, scores = merged_parts([fused(part.search_text, hits) for part in parts])
    assert [(hit.best.ref, hit.part_numbers) for hit in merged][:2] == [("a:2", (1,)), ("b:1", (2,))]
    assert {hit.best.ref for hit in merged} == set(scores) == {"a:1", "a:2", "b:1", "b:2"}
    assert next(hit for hit in merged if hit.best.ref == "b:2").part_numbers == ()


async def test_a_deep_query_answers_each_part(world: World):
    await written(world, "The terrace lease of Zeppelin is signed by Ingrid Halvorsen.", name="lease.md")
    await written(world, "Parcel 88-1204 waits at the harbour office of Kiel.", name="parcel.md")
    filler = [f"Zeppelin terrace minutes, number {number}: chairs were counted." for number in range(6)]
    for number, text in enumerate(filler):
        await written(world, text, name=f"minutes-{number}.md")
    query = "Who signed the terrace lease of Zeppelin, and where is parcel 88-1204?"
    asked = {"query": query, "providers": {"ids": ["workspace"]}, "limit": 3, "mode": "answer"}
    for asker in (over_grpc(world), over_mcp(world)):
        answer = await asker.query(**asked, depth="deep")
        assert answer["parts"] == ["Who signed the terrace lease of Zeppelin", "where is parcel 88-1204?"]
        assert [hit["title"] for hit in answer["hits"][:2]] == ["lease.md", "parcel.md"]
        assert [hit["part_numbers"] for hit in answer["hits"][:2]] == [[1], [2]]
        assert 'parcel.md (on "where is parcel 88-1204?")' in answer["answer"]["text"]
        quick = await asker.query(**asked)
        assert "parts" not in quick and refs(quick)
