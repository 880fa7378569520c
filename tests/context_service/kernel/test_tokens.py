"""Counting tokens: exactly where the tokenizer is installed, about elsewhere, and never for long."""

from __future__ import annotations

import asyncio
import base64
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.kernel.tokens import (
    FAMILIES,
    Calibration,
    TokenCounter,
    calibrated,
    countable,
    counting,
    is_believed,
    is_exact,
)
from context_service.kernel.tokens.calibration import RATIOS_MAX
from context_service.kernel.tokens.estimates import estimate
from tests.cpu import units

KIB, MIB = 1024, 1024 * 1024
ROOT = Path(__file__).parents[3]
RANDOM = random.Random(7)
PROSE = {
    "german": "Gestern war ich im Krankenhaus, und der Arzt sagte, mein Blutdruck sei etwas zu hoch. Nächsten Monat"
    " gehe ich wieder zur Untersuchung. Die Kinder lernen in der Schule Mathematik, Geschichte und Musik.",
    "french": "Hier je suis allé à l'hôpital, et le médecin a dit que ma tension était un peu élevée. Le mois"
    " prochain, j'irai de nouveau faire un contrôle. Les enfants étudient les mathématiques et l'histoire.",
    "russian": "Вчера я был в больнице, и врач сказал, что у меня немного повышенное давление. В следующем месяце я"
    " снова пойду на обследование. Дети изучают в школе математику, историю и музыку.",
    "greek": "Χθες πήγα στο νοσοκομείο και ο γιατρός είπε ότι η πίεσή μου είναι λίγο υψηλή. Θα πάω ξανά σε ένα μήνα.",
    "arabic": "ذهبت أمس إلى المستشفى وقال الطبيب إن ضغط الدم مرتفع قليلا. في الشهر القادم سأذهب مرة أخرى للفحص.",
    "hebrew": "אתמול הייתי בבית החולים והרופא אמר שלחץ הדם שלי קצת גבוה. בחודש הבא אלך שוב לבדיקה.",
    "hindi": "कल मैं अस्पताल गया था और डॉक्टर ने कहा कि मेरा रक्तचाप थोड़ा अधिक है। मैं फिर से जाँच के लिए जाऊँगा।",
    "thai": "เมื่อวานฉันไปโรงพยาบาล หมอบอกว่าความดันโลหิตสูงเล็กน้อยและต้องกินยาทุกวัน เดือนหน้าฉันจะไปตรวจอีกครั้ง",
    "chinese": "我昨天去了北京的一家医院，医生说我的血压有点高，需要每天吃药。"
    "孩子们在学校学习数学、历史和音乐，老师说他们进步很大。",
    "japanese": "昨日、東京の病院に行きました。医者は血圧が少し高いと言って、"
    "毎日薬を飲むように勧めました。来月もう一度検査を受けます。",
    "korean": "어제 서울에 있는 병원에 갔습니다. 의사는 혈압이 조금 높다고 했습니다."
    " 다음 달에 다시 검사를 받을 예정입니다.",
}
DATA = {
    "english": (ROOT / "docs" / "operations.md").read_text("utf-8")[: 32 * KIB],
    "python": (ROOT / "context_service" / "working_memory" / "rules" / "records.py").read_text("utf-8"),
    "sql": (ROOT / "context_service" / "migrations" / "0001_context.sql").read_text("utf-8")[: 32 * KIB],
    "base64": base64.b64encode(RANDOM.randbytes(20_000)).decode(),
    "hex": RANDOM.randbytes(10_000).hex(),
    "json": json.dumps([{"id": number, "name": f"user {number}", "score": RANDOM.random()} for number in range(300)]),
    "json on lines": json.dumps([{"id": number, "tags": ["a", "b"]} for number in range(300)], indent=2),
    "numbers": "\n".join(",".join(f"{RANDOM.random() * 100:.2f}" for _ in range(8)) for _ in range(300)),
    "log": "\n".join(
        f"2026-11-{RANDOM.randrange(10, 29)}T07:{RANDOM.randrange(10, 60)}:07.113Z ERROR [worker-{number}]"
        f" /srv/app/handlers/payment.py:{RANDOM.randrange(500)} ConnectionError: timed out after {number} ms"
        for number in range(200)
    ),
}
HOSTILE = {
    "letters": "a" * MIB,
    "random letters": "".join(RANDOM.choices("abcdefghijklmnopqrstuvwxyz", k=MIB)),
    "spaces": " " * MIB,
    "spaces and lines": " \n" * (MIB // 2),
    "signs": "-" * MIB,
    "nothing": "\x00" * MIB,
    "almost a key": ("a" * 41) * (MIB // 41),
    "chinese": "我有一只小猫" * (MIB // 18),
    "pictures": "😂" * (MIB // 4),
    "marks": "a" + "\u0300\u0327" * (MIB // 4),
}


@pytest.fixture
def without_tokenizer(monkeypatch):
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    monkeypatch.delitem(sys.modules, "bpe_openai._bindings", raising=False)
    for cached in (counting._tokenizer, counting._is_installed):
        cached.cache_clear()
    yield
    for cached in (counting._tokenizer, counting._is_installed):
        cached.cache_clear()


def exactly(text: str, encoding: str = "o200k_base") -> int:
    """Count by the package around the tokenizer, whose import takes seconds of those who run other tests."""
    import bpe_openai

    return len(bpe_openai.get_encoding(encoding).encode_ordinary(text))


@pytest.mark.parametrize("kind", [*PROSE, *DATA])
@pytest.mark.parametrize(("encoding", "older"), [("o200k_base", False), ("cl100k_base", True)])
def test_an_estimate_is_near_to_what_the_tokenizer_counts(kind, encoding, older):
    """Characters divided by four is wrong by a half and more on a third of these."""
    text = (PROSE | DATA)[kind]

    assert estimate(text, older=older) == pytest.approx(exactly(text, encoding), rel=0.3 if older else 0.2)


@given(st.text(), st.booleans())
def test_any_text_has_an_estimate_and_only_the_empty_one_has_none(text, older):
    assert (estimate(text, older=older) >= 1) == bool(text)


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_mebibyte_takes_long_to_count_or_to_estimate(kind):
    text = HOSTILE[kind]
    counter = TokenCounter()

    assert units(lambda: counter.count(text), rounds=1) < 2500
    assert units(lambda: estimate(text), rounds=1) < 2500


async def test_others_have_their_turn_while_much_is_counted():
    """The tokenizer holds the interpreter, so it gets a large text in pieces, off the event loop.

    Measured in CPU time of the process: other programs take none of it.
    """
    counter = TokenCounter()
    longest_s, done = 0.0, False

    async def watch() -> None:
        nonlocal longest_s
        while not done:
            before = time.process_time()
            await asyncio.sleep(0)
            longest_s = max(longest_s, time.process_time() - before)

    watching = asyncio.create_task(watch())
    began = time.process_time()
    await counter.counts([HOSTILE["random letters"]] * 3)
    took_s, done = time.process_time() - began, True
    await watching
    assert longest_s < max(took_s / 3, 0.1)


async def test_texts_are_counted_each():
    counter = TokenCounter()
    assert await counter.counts(["one two", "", "x" * MIB]) == [2, 0, counter.count("x" * MIB)]


def test_a_text_in_pieces_has_the_tokens_of_the_whole():
    text = ("The bees came back, 40 of them.\n" * 200 + DATA["log"] + PROSE["russian"] * 20) * 4
    assert len(text) > 2 * counting._PIECE_CHARS

    assert TokenCounter().count(text) == exactly(text)


def test_where_a_text_cannot_be_parted_well_it_has_a_few_tokens_more():
    text = DATA["base64"] * 20
    exact = sum(exactly(text[start:][:200_000]) for start in range(0, len(text), 200_000))

    assert exact - 10 <= TokenCounter().count(text) <= exact + 100


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("<|endoftext|>", 7), ("\ud800", 1), ("\x00", 1)])
def test_whatever_a_caller_sends_is_counted_as_text(text, tokens):
    """A mark of the tokenizer's own is text, too: callers may write it."""
    assert TokenCounter().count(text) == tokens


def test_claude_and_gemini_are_counted_by_a_factor():
    exact = TokenCounter("o200k").count(DATA["english"])

    assert TokenCounter("claude").count(DATA["english"]) == pytest.approx(exact * 1.15, abs=1)
    assert TokenCounter("gemini").count(DATA["english"]) == pytest.approx(exact * 1.05, abs=1)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_the_tokenizer_every_family_is_estimated(family, without_tokenizer):
    counter = TokenCounter(family)

    assert not is_exact(family)
    assert counter.count(DATA["english"]) == pytest.approx(
        estimate(DATA["english"], older=family == "cl100k") * FAMILIES[family].factor, abs=1
    )


def test_the_tokenizer_is_loaded_without_the_package_around_it():
    """Which takes most of a second, and more memory than the tokenizer."""
    program = """
import sys
from context_service.kernel.tokens import TokenCounter
assert TokenCounter().count("hello world") == 2
assert "bpe_openai" not in sys.modules
import bpe_openai
assert len(bpe_openai.get_encoding("o200k_base").encode_ordinary("hello world")) == 2
assert TokenCounter("cl100k").count("hello world") == 2
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_public_and_installed_is_exact():
    assert [family for family in FAMILIES if is_exact(family)] == ["o200k", "cl100k"]


def learned(*bills: tuple[int, int]) -> Calibration:
    """Return what bills teach, of what was counted and billed each."""
    calibration = Calibration()
    for counted, billed in bills:
        calibration = calibration.after(counted_tokens=counted, billed=billed)
    return calibration


@pytest.mark.parametrize("family", ["claude", "o200k"])
@pytest.mark.parametrize("true", [0.9, 1.0, 1.08, 1.3])
def test_after_a_hundred_bills_what_is_expected_is_within_two_per_cent(family: str, true: float):
    """Of bills that differ by a few per cent; and the budget is kept in 95 of the next hundred, or nearly."""
    drawn = random.Random(f"{family} {true}")
    tokens_once = TokenCounter(family).count(DATA["english"])
    packs = [drawn.randrange(1, 9) * tokens_once for _ in range(200)]
    bills = [(tokens, round(tokens * true * drawn.uniform(0.96, 1.04))) for tokens in packs]
    known, later = learned(*bills[:100]), bills[100:]

    expected = sum(known.typical * tokens for tokens, _ in later)
    assert expected == pytest.approx(sum(billed for _, billed in later), rel=0.02)
    assert known.factor == pytest.approx(true * 1.036, rel=0.02)  # which 95 of 100 do not pass
    assert sum(billed > calibrated(tokens, known.factor) for tokens, billed in later) <= 12


@given(true=st.floats(0.51, 1.95), seed=st.integers(0, 1_000))
def test_twenty_bills_calibrate_a_new_model(true: float, seed: int):
    """Of bills that differ by two per cent: the next pack that fills its limit is billed no more than the limit."""
    drawn = random.Random(seed)
    known = learned(*[(10_000, round(10_000 * true * drawn.uniform(0.98, 1.02))) for _ in range(20)])
    assert known.typical == pytest.approx(true, rel=0.02)
    assert known.factor == pytest.approx(true, rel=0.02)
    steady = learned(*[(10_000, round(10_000 * true))] * 20)
    assert round(countable(100_000, steady.factor) * round(10_000 * true) / 10_000) <= 100_000


def test_one_bill_moves_nothing_two_make_careful_and_nineteen_make_bold():
    assert learned((1000, 1500)) == Calibration(ratios=(15_000,))
    assert learned((1000, 1500)).factor == 1
    assert learned((1000, 1500), (1000, 1400)).factor == 1.4
    assert learned(*[(1000, 800)] * 18).factor == 1
    assert learned(*[(1000, 800)] * 19).factor == 0.8


def test_older_bills_are_forgotten():
    known = learned(*[(1000, 1500)] * RATIOS_MAX, *[(1000, 900)] * RATIOS_MAX)
    assert (known.factor, known.typical, len(known.ratios)) == (0.9, 0.9, RATIOS_MAX)


def test_few_bills_that_cannot_be_decide_nothing():
    """Five of a hundred: of pictures, or of somebody who lies."""
    honest, absurd = [(1000, 1100)] * 100, [(1, 10**8)] * 3 + [(10**8, 1)] * 2
    assert learned(*honest, *absurd).factor == learned(*honest).factor == 1.1


@given(st.lists(st.tuples(st.integers(1, 10**12), st.integers(0, 10**12)), max_size=150))
def test_no_bill_makes_counts_useless(bills: list[tuple[int, int]]):
    known = learned(*bills)
    assert 0.5 <= known.typical <= known.factor <= 2
    if bills:
        counted, billed = bills[-1]
        assert is_believed(counted_tokens=counted, billed=billed) == (0.5 <= billed / counted <= 2)


@given(st.integers(5_000, 20_000), st.integers(0, 10**9), st.integers(0, 10**9))
def test_what_may_be_counted_is_what_is_billed_within_the_limit(parts: int, tokens: int, limit: int):
    factor = parts / 10_000
    assert (tokens <= countable(limit, factor)) == (calibrated(tokens, factor) <= limit)


# What tiktoken says, as the OpenAI Cookbook prints it ("How to count tokens with tiktoken").
@pytest.mark.parametrize(
    ("text", "older", "newer"),
    [
        ("tiktoken is great!", 6, 6),
        ("antidisestablishmentarianism", 6, 6),
        ("2 + 2 = 4", 7, 7),
        ("お誕生日おめでとう", 9, 8),
    ],
)
def test_counts_of_openai_are_those_of_tiktoken(text, older, newer):
    assert (TokenCounter("cl100k").count(text), TokenCounter("o200k").count(text)) == (older, newer)


@given(text=st.text(max_size=40), family=st.sampled_from(sorted(FAMILIES)), older=st.booleans())
def test_no_text_has_more_tokens_than_bytes(text, family, older):
    size = len(text.encode(errors="replace"))

    assert TokenCounter(family).count(text) <= size
    assert estimate(text, older=older) <= size
