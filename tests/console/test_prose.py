"""Markdown of messages: rendered for people, and nothing in it runs, loads or gets lost."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextkeep_console import prose as proses
from contextkeep_console.prose import CHARS_MAX, PAGE_S, begin_page, prose

TAGS = {"p", "br", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "a", "div"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**Wichtig:** morgen", "<p><strong>Wichtig:</strong> morgen</p>"),
        ("erste\nzweite", "<p>erste<br />\nzweite</p>"),
        ("- eins\n- zwei", "<ul>\n<li>eins</li>\n<li>zwei</li>\n</ul>"),
        ("# Titel", '<p class="heading h1">Titel</p>'),
        ("| a |\n|---|\n| b |", "<td>b</td>"),
        ("| a |\n|--:|\n| 1 |", '<td class="column-right">1</td>'),
        ("```\nx < 1\n```", "<pre><code>x &lt; 1\n</code></pre>"),
        ("[hier](https://example.com/a)", 'rel="noreferrer noopener nofollow" title="https://example.com/a"'),
    ],
)
def test_markdown_is_rendered(text: str, shown: str):
    begin_page()
    assert shown in prose(text)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>)",
        "[x](/sign-out)",
        "[x](//example.com)",
        "![x](https://example.com/pixel.png)",
        "<javascript:alert(1)>",
        '[x](https://example.com "\\" onmouseover=alert(1) x=\\"")',
        "[x]: javascript:alert(1)\n\n[x]",
        "{{ 7 * 7 }}",
        '``` "><script>\nx\n```',
    ],
)
def test_nothing_runs_is_loaded_or_leads_elsewhere_in_disguise(text: str):
    begin_page()
    shown = str(prose(text))
    assert "<script" not in shown and "<img" not in shown and "49" not in shown
    assert not re.search(r"<[^>]*\son\w+=", shown)
    assert all(re.match("https?://|mailto:", href) for href in re.findall(r'href="([^"]*)"', shown))


@settings(max_examples=60)
@given(st.text(st.sampled_from("ab <>&\"'`*_~[]()!#|-\n:/\\{}jx1."), max_size=120))
def test_any_text_gives_tags_of_a_list_and_keeps_its_letters(text: str):
    begin_page()
    shown = str(prose(text))
    assert set(re.findall(r"</?([a-zA-Z0-9]+)", shown)) <= TAGS
    assert all(shown.count(letter) >= text.count(letter) for letter in "jx1") or "[" in text or "`" in text


def test_a_text_that_is_nested_too_deep_is_shown_as_it_was_written():
    """The parser leaves out what is deeper, without a word."""
    begin_page()
    for text in (">" * 60 + " the answer", "\n".join("  " * depth + f"- level {depth}" for depth in range(60))):
        assert text.rsplit(" ", 1)[1] in prose(text)
        assert 'class="written"' in prose(text)


def test_hostile_texts_take_a_bounded_time_of_a_page():
    begin_page()
    proses._rendered.cache_clear()
    texts = [f"{number}" + "[" * (CHARS_MAX - 5) for number in range(200)]
    began = time.thread_time()
    shown = [prose(text) for text in texts]
    assert time.thread_time() - began < 4 * PAGE_S
    assert "written" in shown[-1] and "[" * (CHARS_MAX - 5) in shown[-1]
    begin_page()
    assert "written" not in prose("another page")
