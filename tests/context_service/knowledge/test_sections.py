"""Markdown cut into sections, and what a page is found by."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.retrieval.pure.sections import HEADING_CHARS_MAX, Section, cut, sections


def of(markdown: str) -> list[tuple[str, str]]:
    return [(one.heading, one.text.strip()) for one in sections(markdown)]


def found_by(title: str, markdown: str, aliases: tuple[str, ...] = ()) -> list[tuple[int, str, tuple[str, ...]]]:
    pieces = cut(title, aliases, list(sections(markdown)), count=lambda text: len(text.split()))
    return [(one.section, one.piece.text, one.piece.terms) for one in pieces]


def test_a_section_says_under_which_headings_it_stands():
    markdown = (
        "Lead.\n# Billing\nMonthly.\n## Refunds ##\nWithin 30 days.\n### By card\nA week.\n## Invoices\n# Team\nSix."
    )
    assert of(markdown) == [
        ("", "Lead."),
        ("Billing", "Monthly."),
        ("Billing > Refunds", "Within 30 days."),
        ("Billing > Refunds > By card", "A week."),
        ("Billing > Invoices", ""),
        ("Team", "Six."),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "#hashtag",
        "####### seven",
        "    # code",
        "\\# escaped",
        "text # not at its beginning",
        "#\u00a0\u200bx y"[:1] + "x",
    ],
)
def test_what_is_no_heading_is_text(line):
    assert of(f"{line}\nmore") == [("", f"{line}\nmore".strip())]


@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_what_is_fenced_has_no_headings(fence):
    assert of(f"# A\n{fence}sh\n# a comment\n{fence[:2]}\n{fence}\n# B\nb") == [
        ("", ""),
        ("A", f"{fence}sh\n# a comment\n{fence[:2]}\n{fence}"),
        ("B", "b"),
    ]


def test_a_fence_that_is_never_closed_takes_the_rest():
    assert of("# A\n```\n# B") == [("", ""), ("A", "```\n# B")]


@given(st.text(alphabet="#`~ \n\tab¶", max_size=200))
def test_no_line_is_lost_but_headings(markdown):
    kept = "".join(one.text for one in sections(markdown))
    lines = [line for line in markdown.splitlines(keepends=True) if not line.lstrip().startswith("#")]
    rest = iter(kept.splitlines(keepends=True))
    assert all(line in rest for line in lines)


@pytest.mark.parametrize(
    "line", ["#" * 500_000, "# " + " " * 500_000 + "#", "# " + "# " * 250_000, "`" * 500_000, "~ " * 250_000]
)
def test_a_hostile_line_takes_no_longer_than_others(line):
    began = time.process_time()
    (*_, last) = sections(f"{line}\nx")
    assert last.text.endswith("x")
    assert len(last.heading) <= HEADING_CHARS_MAX
    assert time.process_time() - began < 1


def test_a_page_is_found_by_its_title_and_headings_with_each_section():
    found = found_by("Acme", "# Refunds\nWithin 30 days.\n# Team\nSix people.")
    assert [(section, text) for section, text, _ in found] == [(1, "Within 30 days."), (2, "Six people.")]
    assert {"acm", "refund"} <= set(found[0][2]) and {"acm", "team"} <= set(found[1][2])


def test_a_page_is_found_by_its_aliases_once():
    found = found_by("Acme", "Lead.\n\n# Team\nSix.", ("Road Runner Ltd",))
    assert ["runner" in terms for _, _, terms in found] == [True, False]


def test_a_heading_without_text_is_found_by_itself():
    assert [text for _, text, _ in found_by("Acme", "# Open questions\n# Team\nSix.")] == ["Open questions", "Six."]


@pytest.mark.parametrize("markdown", ["---", "…", "!!!\n\n???", "\u200b"])
def test_a_page_without_words_is_found_by_its_title(markdown):
    assert [(number, text) for number, text, _ in found_by("Acme", markdown)] == [(0, markdown)] or [
        text for _, text, _ in found_by("Acme", markdown)
    ] == ["Acme"]


def test_what_a_page_says_again_and_again_is_found_once():
    assert len(found_by("Acme", "# A\nThe same.\n# A\nThe same.\n")) == 1


def test_sections_are_values():
    assert list(sections("")) == [Section("", "")]
