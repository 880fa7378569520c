"""RFC 7396, with every digit kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_service.pure.merge_patch import merge_patch

# The table of the RFC's appendix A, the rows whose target is valid here.
APPENDIX = [
    ('{"a":"b"}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'),
    ('{"a":"b"}', '{"a":null}', "{}"),
    ('{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'),
    ('{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'),
    ('{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'),
    ('{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'),
    ('{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'),
    ('["a","b"]', '["c","d"]', '["c","d"]'),
    ('{"a":"b"}', '["c"]', '["c"]'),
    ('{"a":"foo"}', "null", "null"),
    ('{"a":"foo"}', '"bar"', '"bar"'),
    ('{"e":null}', '{"a":1}', '{"e":null,"a":1}'),
    ("[1,2]", '{"a":"b","c":null}', '{"a":"b"}'),
    ("{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'),
]

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(("target", "patch", "result"), APPENDIX)
def test_the_examples_of_the_rfc(target: str, patch: str, result: str):
    assert merge_patch(target, patch) == result


def test_numbers_are_carried_as_text():
    assert merge_patch('{"a":1.10,"b":123456789012345678901234567890}', '{"c":1e300,"d":-0.0}') == (
        '{"a":1.10,"b":123456789012345678901234567890,"c":1e300,"d":-0.0}'
    )


@given(document=documents, patch=documents)
def test_a_patch_applied_twice_is_the_patch_applied_once(document: object, patch: object):
    once = merge_patch(json.dumps(document), json.dumps(patch))
    assert json.loads(merge_patch(once, json.dumps(patch))) == json.loads(once)
