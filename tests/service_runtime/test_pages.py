"""Page tokens: opaque, bound to their query, harmless when forged."""

from __future__ import annotations

import base64
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from contextkeep.errors import InvalidArgument, InvalidPageToken
from service_runtime.inputs.pages import (
    PAGE_BYTES_MAX,
    cut,
    decode_id,
    decode_number,
    decode_texts,
    decode_token,
    encode_token,
    fitting,
    page_size,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    value: object
    id: uuid.UUID | None


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


@pytest.mark.parametrize("key", ["1", -1, 2**63, 1.0, True, None, [1]])
def test_a_forged_key_is_no_number(key: object):
    """Postgres would refuse it as a number of a row, or compare another one."""
    with pytest.raises(InvalidPageToken):
        decode_number(QUERY, encode_token(QUERY, (key,)))


@pytest.mark.parametrize("key", [1, "a\0b", None, ["a"]])
def test_a_forged_key_is_no_text(key: object):
    with pytest.raises(InvalidPageToken):
        decode_texts(QUERY, encode_token(QUERY, ("a", key)), parts=2)


@pytest.mark.parametrize("key", [1, "a", None, ["a"]])
def test_a_forged_key_is_no_id(key: object):
    with pytest.raises(InvalidPageToken):
        decode_id(QUERY, encode_token(QUERY, (key,)))


def test_pages_of_a_list_give_each_row_once():
    listed, token = [], ""
    while not listed or token:
        after = decode_number(QUERY, token) or 0
        rows, token = cut(QUERY, range(after + 1, min(after + 4, 8)), 2, key=lambda row: (row,))
        listed.append(rows)
    assert listed == [[1, 2], [3, 4], [5, 6], [7]]


@pytest.mark.parametrize(("requested", "given_size"), [(0, 100), (1, 1), (1000, 1000), (5000, 1000)])
def test_a_page_size_has_a_default_and_a_most(requested: int, given_size: int):
    assert page_size(requested) == given_size


def test_a_negative_page_size_is_an_error():
    with pytest.raises(InvalidArgument):
        page_size(-1)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("ä" * 50_000, id="text"),
        pytest.param(b"x" * 100_000, id="bytes"),
        pytest.param([1] * 8_000, id="numbers"),
        pytest.param({str(number): True for number in range(4_000)}, id="flags"),
        pytest.param([""] * 12_000, id="empty texts"),
        pytest.param([{}] * 12_000, id="empty objects"),
    ],
)
def test_a_page_ends_before_an_answer_is_larger_than_a_message_of_grpc(value: object):
    """The default of gRPC is 4 MiB. JSON becomes a `Struct`, which is larger than its text."""
    row_bytes = len(value) if isinstance(value, bytes) else json_format.ParseDict({"a": value}, Struct()).ByteSize()

    count = fitting([Row(value=value, id=uuid.uuid4())] * 1001, 1000)

    assert PAGE_BYTES_MAX / 4 < count * row_bytes <= PAGE_BYTES_MAX
    assert fitting([Row(value=value, id=uuid.uuid4())] * 3, 2) == 2


def test_a_page_has_one_row_however_large_it_is():
    assert fitting([Row(value="x" * PAGE_BYTES_MAX, id=None)] * 2, 2) == 1
    assert fitting([], 5) == 5
