"""Page tokens: opaque, bound to their query, harmless when forged."""

from __future__ import annotations

import base64
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextkeep.errors import InvalidArgument, InvalidPageToken
from service_runtime.pages import decode_token, encode_token, page_size

QUERY = ("ListEdges", uuid.uuid4(), ["Contains"], 0)


def test_a_token_gives_its_key_back_to_its_own_query():
    now, row_id = datetime.now(UTC), uuid.uuid4()

    token = encode_token(QUERY, (now, row_id, 7))

    assert decode_token(QUERY, token, parts=3) == [now.isoformat(), str(row_id), 7]


def test_no_token_is_the_first_page():
    assert decode_token(QUERY, "", parts=3) is None


def test_a_token_of_another_query_is_refused():
    token = encode_token(QUERY, (1, 2))
    with pytest.raises(InvalidPageToken):
        decode_token(("ListEdges", uuid.uuid4(), ["Contains"], 0), token, parts=2)
    with pytest.raises(InvalidPageToken):
        decode_token(QUERY, token, parts=3)


@given(st.text(max_size=200) | st.binary(max_size=100).map(lambda data: base64.urlsafe_b64encode(data).decode()))
def test_any_text_is_refused_without_another_error(token: str):
    if not token:
        return
    with pytest.raises(InvalidPageToken):
        decode_token(QUERY, token, parts=2)


@pytest.mark.parametrize(("requested", "given_size"), [(0, 100), (1, 1), (1000, 1000), (5000, 1000)])
def test_a_page_size_has_a_default_and_a_most(requested: int, given_size: int):
    assert page_size(requested) == given_size


def test_a_negative_page_size_is_an_error():
    with pytest.raises(InvalidArgument):
        page_size(-1)
