"""What may be written as a page, and what leads to it."""

from __future__ import annotations

import dataclasses
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_service.wiki.model import (
    SLUG_CHARS_MAX,
    PageInput,
    PageSource,
    check_page,
    check_slug,
    compared,
    names_of,
    slug_of,
)
from contextkeep.errors import InvalidArgument

PAGE = PageInput(slug="acme", title="Acme", markdown="A customer.")


@pytest.mark.parametrize("slug", ["a", "7", "acme-corp", "customers/acme_corp/2026.11", "a" * SLUG_CHARS_MAX])
def test_slugs(slug):
    check_slug(slug)


@pytest.mark.parametrize("slug", ["A", "a b", "-a", "a-", "a--b", "/a", "a/", "a//b", "ä", "a/..", "..", "a\n", "{"])
def test_what_is_no_slug_is_refused_by_name(slug):
    with pytest.raises(InvalidArgument) as caught:
        check_slug(slug)
    assert caught.value.violations[0].field == "page.slug"


@pytest.mark.parametrize(
    ("title", "slug"), [("Acme Corp.", "acme-corp"), ("  Müller & Söhne ", "muller-sohne"), ("Q3/2026", "q3-2026")]
)
def test_a_slug_is_made_of_the_title(title, slug):
    assert slug_of(title) == slug


def test_of_a_title_without_letters_of_slugs_none_is_made():
    with pytest.raises(InvalidArgument, match=r"page\.slug is required"):
        slug_of("请求")


@given(st.text(max_size=300))
def test_a_slug_that_is_made_is_one(title):
    try:
        check_slug(slug_of(title))
    except InvalidArgument as error:
        assert "required" in str(error)


def test_names_are_compared_in_small_letters_and_single_spaces():
    assert compared("  ACME\t Corp ") == compared("acme corp") and compared("Straße") == compared("STRASSE")
    assert compared("e\u0301") == compared("\u00e9")
    assert names_of("acme", ["Acme", "ACME", "Acme Corp"]) == ["acme", "acme corp"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"title": " "}, "page.title"),
        ({"title": "a\0b"}, "page.title"),
        ({"markdown": "\n\t "}, "page.markdown"),
        ({"markdown": "a\0b"}, "page.markdown"),
        ({"aliases": ["a", " "]}, "page.aliases[1]"),
        ({"sources": [PageSource()]}, "page.sources[0]"),
        ({"sources": [PageSource(uri="\0")]}, "page.sources[0].uri"),
        ({"app_id": "\0"}, "page.app_id"),
    ],
)
def test_what_cannot_be_a_page_is_refused_by_name(changes, field):
    with pytest.raises(InvalidArgument) as caught:
        check_page(dataclasses.replace(PAGE, **changes))
    assert caught.value.violations[0].field == field


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Acme Corp"},
        {"markdown": "A customer of ours."},
        {"aliases": ["Road Runner"]},
        {"sources": [PageSource(label="CRM")]},
        {"memory_ids": [uuid.UUID(int=1)]},
    ],
)
def test_whatever_is_said_otherwise_is_another_version(changes):
    assert dataclasses.replace(PAGE, **changes).sha256 != PAGE.sha256


def test_for_how_long_it_is_fresh_is_no_part_of_what_it_says():
    assert dataclasses.replace(PAGE, fresh_until=datetime.now(UTC)).sha256 == PAGE.sha256
