"""What comes back of a fork, as text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from context_service.forks.pure import LastReply, result_of
from context_service.kernel.tokens import TokenCounter
from context_service.packing.pure.state.task_state import Entry
from context_service.windows.pure.refs import path_of

count = TokenCounter("o200k").count
LEAST = 80  # tokens: what names the fork, and the ref to the rest


def entry(text: str, seq: int = 2) -> Entry:
    return Entry(section="decision", key="", text=text, value="", ref=f"m{seq}/0", seq=seq)


texts = st.text(max_size=400)


@given(
    answer=st.none() | texts | st.integers(1, 3_000).map(lambda n: "word " * n),
    found=st.lists(texts.map(entry), max_size=20),
    tokens_max=st.integers(LEAST, 600),
)
def test_what_comes_back_has_no_more_tokens_than_it_may(answer: str | None, found: list[Entry], tokens_max: int):
    said = LastReply(answer, "m9") if answer is not None else None
    result = result_of("f3", said, found, step_count=4, last_seq=9, tokens_max=tokens_max, count=count)
    assert count(result.text) <= tokens_max
    assert "f3:m1..m9" in result.text
    if not result.is_whole and answer and len(answer) > 4_000:
        assert "[the rest: f3:m9]" in result.text


def test_what_the_answer_says_is_not_said_twice_and_refs_lead_into_the_fork():
    found = [entry("We keep it."), entry("boom (m2/1) -> mend it", 5), entry("We drop it.", 6)]
    result = result_of(
        "f1", LastReply("Done. We keep it.", "m7"), found, step_count=1, last_seq=7, tokens_max=500, count=count
    )
    assert result.is_whole
    assert result.text.count("We keep it.") == 1
    assert "1 step, f1:m1..m7" in result.text
    assert "- decision: boom (f1:m2/1) -> mend it (f1:m5/0)" in result.text
    assert "- decision: We drop it. (f1:m6/0)" in result.text


def test_a_ref_leads_through_forks():
    assert path_of("m3") == ([], "m3")
    assert path_of("f3:m3..m4") == ([3], "m3..m4")
    assert path_of("f3:f12:m3/1") == ([3, 12], "m3/1")
    assert path_of("f0:m3") == ([], "f0:m3")
