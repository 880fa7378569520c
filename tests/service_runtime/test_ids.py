"""Ids: time-ordered, and spelled in one way."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextkeep.errors import InvalidArgument
from service_runtime.values.ids import new_id, parse_id


def test_new_ids_are_version_7_and_grow():
    ids = [new_id() for _ in range(1000)]

    assert {one.version for one in ids} == {7}
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


@given(st.uuids())
def test_the_usual_spellings_are_taken(value: uuid.UUID):
    for text in (str(value), str(value).upper(), value.hex):
        assert parse_id("node_id", text) == value


@pytest.mark.parametrize(
    "text", ["", "x", "{12345678-1234-1234-1234-123456789012}", "urn:uuid:12345678-1234-1234-1234-123456789012",
             "1-2345678123412341234123456789012", "12345678-1234-1234-1234-12345678901", "١" * 32, "' OR 1=1 --"],
)  # fmt: skip
def test_anything_else_is_refused_with_the_field(text: str):
    with pytest.raises(InvalidArgument) as caught:
        parse_id("node_id", text)

    assert caught.value.violations[0].field == "node_id"
