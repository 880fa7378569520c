"""Requests of any RPC, made from its descriptors: any field, any bytes, any JSON, any token.

Values that are only random are refused at the first check. So a request starts from one that is all right, if there is
one, and loses some of its fields to others; and most values are plausible: ids that exist, tokens of other queries,
documents and expressions that are valid or nearly so.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

from tests.hostile.calling import Case
from tests.hostile.things import SECRET
from tests.rpcs import Rpc

DEPTH_MAX = 4  # of messages in messages
Strategy = st.SearchStrategy[Any]


@dataclass(slots=True, kw_only=True)
class Pool:
    """What exists, for requests to name."""

    ids: list[str]  # of the caller's things, of another tenant's, and of what never was
    words: list[str]  # their names and keys
    tokens: list[str] = field(default_factory=list)


def requests(rpc: Rpc, pool: Pool, bases: Sequence[Case]) -> Strategy:
    """Return requests of an RPC: from nothing, from one of `bases`, or bytes that hardly are any."""
    descriptor = rpc.request.DESCRIPTOR
    from_nothing = _messages(descriptor, pool, None, 0)
    if rpc.client_streaming:
        streams = [base for base in bases if not isinstance(base, Message | bytes)]
        anything = st.lists(st.one_of(from_nothing, _malformed(from_nothing)), max_size=5)
        return _weighted((2, anything), *[(4, _stream(descriptor, pool, base)) for base in streams])
    singles = [base for base in bases if isinstance(base, Message)]
    changed = st.one_of([_messages(descriptor, pool, base, 0) for base in singles]) if singles else from_nothing
    return _weighted((7, changed), (2, from_nothing), (1, _malformed(changed)))


def _weighted(*choices: tuple[int, Strategy]) -> Strategy:
    """Return values of several strategies, each as often as its weight says; `one_of` would take all alike."""
    table = [strategy for weight, strategy in choices for _ in range(weight)]
    return st.sampled_from(range(len(table))).flatmap(lambda place: table[place])


def _stream(descriptor: Descriptor, pool: Pool, base: Sequence[Any]) -> Strategy:
    """Return streams like `base` with messages changed, left out, repeated and in other places."""
    changed = st.tuples(*[st.one_of(st.just(one), _messages(descriptor, pool, one, 0)) for one in base])
    return changed.flatmap(
        lambda messages: _weighted(
            (3, st.just(list(messages))),
            (1, st.lists(st.sampled_from(messages), max_size=6)),
            (1, st.permutations(messages)),
        )
    )


def _malformed(messages: Strategy) -> Strategy:
    """Return bytes: any, or those of a message cut, with some turned over, or with others behind."""

    def spoil(message: Any, kind: int, at: int, other: bytes) -> bytes:
        data = message if isinstance(message, bytes) else message.SerializeToString()
        place = at % (len(data) + 1)
        if kind == 0:
            return data[:place]
        if kind == 1:
            return data + other
        return data[:place] + other + data[place + len(other) :]

    spoiled = st.builds(spoil, messages, st.integers(0, 2), st.integers(0, 2**16), st.binary(min_size=1, max_size=4))
    return _weighted((3, spoiled), (1, st.binary(max_size=50)))


def _messages(descriptor: Descriptor, pool: Pool, base: Message | None, depth: int) -> Strategy:
    """Return messages: of `base` some fields are replaced; without it any fields are set."""
    if not descriptor.fields:
        return st.just(GetMessageClass(descriptor)())
    return _made(descriptor, pool, base, depth)


@st.composite  # here, for Hypothesis reads the source of each that it makes
def _made(draw: Any, descriptor: Descriptor, pool: Pool, base: Message | None, depth: int) -> Message:
    message = GetMessageClass(descriptor)()
    by_name = {one.name: one for one in descriptor.fields}
    count_max = 3 if base is not None else min(len(by_name), 6)
    if base is not None:
        message.CopyFrom(base)
    names = draw(st.lists(st.sampled_from(list(by_name)), unique=True, max_size=count_max))
    for name in names:
        one = by_name[name]
        old = getattr(message, name) if base is not None and _is_set(message, one) else None
        if one.message_type is not None and not _repeated(one) and one.message_type.fields:
            if depth >= DEPTH_MAX:
                continue
            value = draw(_field_message(one, pool, old, depth))
            getattr(message, name).CopyFrom(value)
            continue
        value = draw(_field_values(one, pool, old, depth))
        message.ClearField(name)
        _set(message, one, value)
    if "until_now" in by_name:
        message.until_now = True  # type: ignore[attr-defined]  # a watch ends only so
    return message


def _field_message(one: FieldDescriptor, pool: Pool, old: Message | None, depth: int) -> Strategy:
    special = _WELL_KNOWN.get(one.message_type.full_name)
    return special(pool) if special else _messages(one.message_type, pool, old, depth + 1)


def _field_values(one: FieldDescriptor, pool: Pool, old: Any, depth: int) -> Strategy:
    """Return values of a field that is no single message."""
    if _is_map(one):
        key_field, value_field = one.message_type.fields_by_name["key"], one.message_type.fields_by_name["value"]
        keys = _scalars(key_field, pool, None)
        values = (
            _messages(value_field.message_type, pool, None, depth + 1)
            if value_field.message_type is not None
            else _scalars(value_field, pool, None)
        )
        return st.dictionaries(keys, values, max_size=4)
    if _repeated(one):
        if one.message_type is not None:
            if depth >= DEPTH_MAX:
                return st.just([])
            element = _field_message(one, pool, old[0] if old else None, depth)
        else:
            element = _scalars(one, pool, old[0] if old else None)
        lists = [st.lists(element, max_size=3)]
        if one.message_type is None and one.cpp_type == FieldDescriptor.CPPTYPE_FLOAT:
            lists.append(element.map(lambda value: [value] * 1536))  # as long as an embedding is
        if old:
            lists.append(st.lists(element, max_size=2).map(lambda more: [*old, *more]))
        return st.one_of(lists)
    return _scalars(one, pool, old)


def _scalars(one: FieldDescriptor, pool: Pool, old: Any) -> Strategy:
    match one.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return st.booleans()
        case FieldDescriptor.CPPTYPE_ENUM:
            numbers = [value.number for value in one.enum_type.values]
            return st.one_of(st.sampled_from(numbers), st.sampled_from([-1, 99, 2**31 - 1, -(2**31)]))
        case FieldDescriptor.CPPTYPE_INT32:
            return _integers(-(2**31), 2**31 - 1)
        case FieldDescriptor.CPPTYPE_INT64:
            return _integers(-(2**63), 2**63 - 1)
        case FieldDescriptor.CPPTYPE_UINT32:
            return _integers(0, 2**32 - 1)
        case FieldDescriptor.CPPTYPE_UINT64:
            return _integers(0, 2**64 - 1)
        case FieldDescriptor.CPPTYPE_DOUBLE | FieldDescriptor.CPPTYPE_FLOAT:
            width = 32 if one.cpp_type == FieldDescriptor.CPPTYPE_FLOAT else 64
            return st.one_of(st.sampled_from([0.0, 1.0, -1.0, 0.5, 65520.0, 1e-8]), st.floats(width=width))  # type: ignore[arg-type]
        case _:
            if one.type == FieldDescriptor.TYPE_BYTES:
                return st.one_of(st.binary(max_size=20), st.sampled_from([b"x" * 1024, b"\0" * 65536]))
            return texts(one.name, pool, old)


def _integers(least: int, most: int) -> Strategy:
    borders = [-1, 0, 1, 2, 3, 10, 100, 101, 1000, 1001, 100_000, 2**31 - 1, 2**31, least, most]
    return st.one_of(st.sampled_from([n for n in borders if least <= n <= most]), st.integers(least, most))


def texts(name: str, pool: Pool, old: str | None) -> Strategy:
    """Return texts of a field: what its name says that it holds, what others hold, and anything."""
    for pattern, make in _BY_NAME:
        if re.search(pattern, name):
            likely = make(pool, old)
            break
    else:
        likely = st.sampled_from(pool.words)
    others = st.one_of(st.sampled_from([*pool.ids, *pool.words, *_ODD_TEXTS]), st.text(max_size=20))
    if old:
        nearly = st.sampled_from([old.upper(), old + "\0", old[:-1], f" {old}", old * 2])
        return _weighted((7, likely), (2, others), (1, nearly))
    return _weighted((8, likely), (2, others))


_ODD_TEXTS = [
    "",
    "\0",
    "a\0b",
    " ",
    "default",
    "x" * 129,
    "x" * 513,
    "💩" * 129,
    "\x7f\x80\u2028\ufeff\u202e\uffff",
    "'; -- %s %(id)s {0} \\",
    "../../../up",
    "null",
    "-1",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "{00000000-0000-7000-8000-000000000001}",
    "٣٣٣٣٣٣٣٣-٣٣٣٣-٣٣٣٣-٣٣٣٣-٣٣٣٣٣٣٣٣٣٣٣٣",  # digits, but not ours
]

_JSON_TEXTS = [
    "",
    "{}",
    "[]",
    "null",
    "true",
    "0",
    "-0",
    '""',
    f'"{SECRET}"',
    '{"role": "user", "content": "hello", "turn": {"index": 1}}',
    '{"role": 1, "content": {"a": [1]}, "user_input": null}',
    '{"a": null, "b": {"c": null}}',
    '{"a": 1, "a": 2}',
    '{"": {"": []}}',
    "1e308",
    "1e309",
    "-1e-400",
    "1e-401",
    "1E+5",
    "0.1000000000000000000000000000000000000001",
    "9" * 400,
    "[" * 100 + "]" * 100,
    "[" * 101 + "]" * 101,
    '{"a":' * 100 + "1" + "}" * 100,
    '{"a": "\\u0000"}',
    '{"\\u0000": 1}',
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"\\\\u0000"',
    "NaN",
    "-Infinity",
    "[1,]",
    "{'a': 1}",
    "\ufeff{}",
    '{"a": 1} x',
    '"',
    "[1, 2",
    '{"$eq": 1}',
    '{"$and": [{"name": {"$like": "%a_\\\\"}}, {"data.a.b": {"$in": [1, "x", null]}}]}',
    '{"$or": [], "$not": {"status": {"$exists": true}}}',
    '{"data.turn.index": {"$gte": 1, "$lt": "x"}, "type": {"$nin": []}}',
    '{"$where": "1"}',
]

_EXPRESSIONS = [
    "true",
    "1",
    "'user'",
    "entity.data.role",
    "entity.data.content",
    "has(entity.data.content) && entity.data.turn.index > 0",
    "entity.data.content + entity.data.role",
    "entity.data.turn.index / 0",
    "[1, 2, 3].map(x, x * 2)",
    "[entity.data, {'type': 'data', 'data': entity}]",
    "[{'type': 'tool_call', 'id': 'a', 'name': 'b', 'arguments': entity.data}]",
    "{'a': entity.data, 'b': entity.created_at}",
    "entity.created_at",
    "entity.io.input",
    "root.data.content",
    "edge.type",
    "item",
    "index",
    "unknown",
    "entity.",
    "entity.data.content.matches('(a+)+$')",
    "entity.data.content.matches('[')",
    "string(entity.data)",
    "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
    "9223372036854775807 + 1",
    "1.0 / 0.0",
    "b'\\xff'",
    "'\\ud800'",
    "'" + "a" * 4095,
    "(" * 51 + "1" + ")" * 51,
    "-" * 60 + "1",
    "!" * 60 + "true",
    "a.b" * 50,
    "cel.bind(a, 'x', a + a)",
    "entity.data.exists(k, k == 'role') ? 'user' : 'tool'",
    "'%s'.format([entity.data])",
    "dyn(1) == 1u",
    "data.content",
    "content",
    "turn.index",
    "created_at",
    "a..b",
    "💩",
    "'a\nb'",
    "// comment",
    '"""a"""',
]
_OPERATORS = [" + ", " == ", " && ", " || ", " < ", " in ", "[", "].", ".", " ? ", " : ", ", ", "(", ")"]


def _documents(pool: Pool, old: str | None) -> Strategy:
    scalars = st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.sampled_from(pool.words), st.text()
    )
    values = st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.one_of(st.sampled_from(["a", "role", "content", "turn", ""]), st.text()), inner, max_size=3
            ),
        ),
        max_leaves=6,
    )
    made = values.map(lambda value: json.dumps(value, ensure_ascii=False).encode(errors="replace").decode())
    return st.one_of(st.sampled_from(_JSON_TEXTS), made)


_FIELDS = [
    "id",
    "name",
    "type",
    "status",
    "external_id",
    "is_archived",
    "seq",
    "version",
    "created_at",
    "context_id",
    "tags",
    "memory_type",
    "size_bytes",
    "metadata.a",
    "metadata",
    "data",
    "data.turn.index",
    "data.0",
    "data.-1",
    "data. 1",
    "data.role",
    "data..a",
    "data." + "a." * 40 + "b",
    "data.💩",
    "data.a\0b",
    "data.99999999999999999999",
    "naem",
    "",
    "$where",
    "%s",
    "n.id; --",
]
_COMPARISONS = [
    *("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$like", "$ilike", "$exists", "$not"),
    *("$regex", "$and", "$or", "$"),  # none
]
_OPERANDS = [
    None,
    True,
    False,
    0,
    -1,
    2**53 + 1,
    2**63,
    2**64,
    10**40,
    0.1,
    1e308,
    -1e-308,
    "",
    "a",
    "%",
    "a_%",
    "\\",
    "\\%",
    "%" * 1001,
    "\0",
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59",
    "infinity",
    "00000000-0000-7000-8000-000000000001",
    [],
    [None],
    [1, "a", None, [1], {"a": 1}],
    {},
    {"a": {"$eq": 1}},
]


def _conditions(pool: Pool, old: str | None) -> Strategy:
    """Return condition trees: of fields that there are or not, operators at their places or not, and any operand."""
    operands = st.one_of(st.sampled_from(_OPERANDS), st.sampled_from([*pool.ids, *pool.words]), st.text(max_size=5))
    operators = st.sampled_from(_COMPARISONS)
    simple = st.dictionaries(operators, operands, min_size=1, max_size=3)
    compared = st.one_of(operands, simple, st.dictionaries(operators, simple, min_size=1, max_size=2))
    leaves = st.dictionaries(st.sampled_from(_FIELDS), compared, min_size=1, max_size=3)
    trees = _trees(leaves, _trees(leaves, leaves))
    deep = st.builds(_wrapped, leaves, st.integers(14, 18))
    wide = st.builds(lambda one, times: {"$or": [one] * times}, leaves, st.sampled_from([66, 200, 201]))
    made = _weighted((8, trees), (1, deep), (1, wide)).map(json.dumps)
    return _weighted((4, made), (1, _documents(pool, old)))


def _trees(leaves: Strategy, below: Strategy) -> Strategy:
    several = st.lists(below, max_size=3)
    joined = st.builds(lambda name, some: {name: some}, st.sampled_from(["$and", "$or"]), several)
    return st.one_of(leaves, joined, below.map(lambda one: {"$not": one}), st.builds(_merged, below, leaves))


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {**one, **other}


def _wrapped(tree: Any, times: int) -> Any:
    for _ in range(times):
        tree = {"$not": tree}
    return tree


_JSON_PATHS = [
    "$",
    "$.a",
    "$.turn.index > 0",
    "$.turn.index",
    '$.role == "user"',
    '$.tags[*] ? (@ == "new")',
    "$.** ? (@.a == 1)",
    "strict $.a.b",
    "lax $[0 to last]",
    '$.a like_regex "^(a+)+$"',
    '$.a like_regex "("',
    '$.a like_regex "a" flag "z"',
    '$.a.datetime() < "2026-01-01".datetime()',
    '$.a.datetime("HH24")',
    "$.a.double() / 0 > 1",
    "1 / 0 == 1",
    "$.a.bigint() > 9223372036854775808",
    "$x",
    "$.a ? (@ == $x)",
    "$.a == 1e400",
    "$[99999999999999999999]",
    "$.a.keyvalue().id > 0",
    "($.a > 1) is unknown",
    "exists($.a)",
    "!($.a > 1)",
    "true",
    "null",
    "'",
    "",
    "$.a; DROP TABLE node",
    "(" * 3000,
    "$" + ".a" * 2000,
    "$.a[" * 500,
    "- " * 500 + "1 == 1",
    '$.a.size() > 1 && $.a.type() == "array"',
]
_JSON_PATH_PARTS = [
    *("$", ".a", "[*]", "[last]", " ? (", "@", ")", " > ", " == "),
    *("1", '"x"', " && ", "!", ".**", ".size()", "$v"),
]


def _json_paths(pool: Pool, old: str | None) -> Strategy:
    parts = st.lists(st.sampled_from(_JSON_PATH_PARTS), max_size=8).map("".join)
    return st.one_of(st.sampled_from(_JSON_PATHS), parts, st.text(max_size=10))


_DATA_PATHS = [
    *("turn.index", "turn.index.0.x", "role", "0", "-1", "💩.é", "%s", "\\"),
    *("", "a..b", ".", "turn.", "a\0", "a" * 600),  # none
]


def _orders(pool: Pool, old: str | None) -> Strategy:
    """Return what rows, nodes or messages may be ordered by: a field, a path into the data, or an expression."""
    paths = [f"data.{path}" for path in _DATA_PATHS]
    return st.one_of(st.sampled_from([*_FIELDS, *paths, *_DATA_PATHS]), _expressions(pool, old))


def _expressions(pool: Pool, old: str | None) -> Strategy:
    parts = st.sampled_from([*_EXPRESSIONS, *_OPERATORS])
    return st.one_of(st.sampled_from(_EXPRESSIONS), st.lists(parts, max_size=6).map("".join))


def _tokens(pool: Pool, old: str | None) -> Strategy:
    """Return page tokens: real ones, and real ones whose key was made up. The binding is no secret: it is in front."""
    real = [token for token in (old, *pool.tokens) if token]
    if not real:
        return st.text(max_size=30)
    keys = st.one_of(
        st.none(),
        st.booleans(),
        st.sampled_from([0, -1, 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 0.5, 1e300]),
        st.sampled_from(["", "a", "\0", "2024-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999-23:59", "1e999999"]),
        st.sampled_from(["0001-01-01T00:00:00+23:59", "2024-01-01", "infinity", "NaN", "sNaN", "stored", "built-in"]),
        st.sampled_from(pool.words),
        st.lists(st.none(), max_size=2),
    )

    def rebuilt(token: str, key: list[Any], position: int, only_one: bool) -> str:
        data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        if only_one:
            theirs = orjson.loads(data[9:])
            theirs[position % len(theirs)] = key[0]
            key = theirs
        return base64.urlsafe_b64encode(data[:9] + orjson.dumps(key)).decode().rstrip("=")

    own = st.sampled_from([old] if old else real)
    forged = st.builds(
        rebuilt, own, st.lists(keys, min_size=1, max_size=4), st.integers(0, 3), st.sampled_from([True, True, False])
    )
    return st.one_of(forged, st.sampled_from(real), own.map(lambda token: token[:-1]))


def _sampled(values: Sequence[str]) -> Callable[[Pool, str | None], Strategy]:
    return lambda pool, old: st.sampled_from(values)


def _words(pool: Pool, old: str | None) -> Strategy:
    return st.sampled_from(pool.words)


def _ids(pool: Pool, old: str | None) -> Strategy:
    return st.sampled_from(pool.ids)


_EXPRESSION_FIELDS = r"^(filter|when|for_each|role|content|parts|metadata|role_field|content_field|order_field)$"

# The first pattern that a field's name matches says what it holds.
_BY_NAME: list[tuple[str, Callable[[Pool, str | None], Strategy]]] = [
    (r"^(condition|where)_json$", _conditions),
    (r"_json$", _documents),
    (r"^json_path$", _json_paths),
    (r"^order_by$", _orders),
    (r"page_token$", _tokens),
    (r"type_name|node_types|entity_types", _sampled(["Session", "Message", "user", "x" * 128])),
    (r"_key$|external_id|app_id|name", _words),
    (r"_ids?$|^id$", _ids),
    (r"sha256", _sampled(["0" * 64, "F" * 64, "0" * 63, "g" * 64, " " * 64, "00 " * 21 + "0"])),
    (_EXPRESSION_FIELDS, _expressions),
    (r"paths?$", _sampled(_DATA_PATHS)),
    (r"^(direction|order|ordering)$", _sampled(["out", "in", "both", "ascending", "timestamp_desc", "OUT"])),
    (r"edge_type", _sampled(["Contains", "InResponseTo", "Calls", "contains", "x" * 128, "x" * 129])),
    (r"memory_type", _sampled(["file", "data/json", "image/png", "x" * 100, "x" * 101])),
    (r"status", _sampled(["Running", "Created", "Completed", "running"])),
]

_MASKS = [
    "name",
    "content_json",
    "content_text",
    "metadata_json",
    "tags",
    "embedding",
    "expires_at",
    "entity_node_id",
    "memory_type",
    "working_memory_id",
    "embedding.values",
    "*",
    "",
]


def _masks(pool: Pool) -> Strategy:
    from google.protobuf.field_mask_pb2 import FieldMask

    return st.lists(st.one_of(st.sampled_from(_MASKS), st.text(max_size=5)), max_size=4).map(
        lambda paths: FieldMask(paths=paths)
    )


def _timestamps(pool: Pool) -> Strategy:
    from google.protobuf.timestamp_pb2 import Timestamp

    borders = [0, 1, -1, -62_135_596_800, -62_135_596_801, 253_402_300_799, 253_402_300_800, 2**63 - 1, -(2**63)]
    seconds = st.one_of(st.sampled_from(borders), st.integers(-(2**63), 2**63 - 1))
    nanos = st.sampled_from([0, 1, 999, 1000, 999_999_999, 1_000_000_000, -1, -(2**31), 2**31 - 1])
    return st.builds(Timestamp, seconds=seconds, nanos=nanos)


_WELL_KNOWN: dict[str, Callable[[Pool], Strategy]] = {
    "google.protobuf.FieldMask": _masks,
    "google.protobuf.Timestamp": _timestamps,
}


def _is_map(one: FieldDescriptor) -> bool:
    return one.message_type is not None and one.message_type.GetOptions().map_entry


def _repeated(one: FieldDescriptor) -> bool:
    return one.is_repeated


def _is_set(message: Message, one: FieldDescriptor) -> bool:
    return any(listed.name == one.name for listed, _ in message.ListFields())


def _set(message: Message, one: FieldDescriptor, value: Any) -> None:
    if _is_map(one):
        for key, item in value.items():
            if isinstance(item, Message):
                getattr(message, one.name)[key].CopyFrom(item)
            else:
                getattr(message, one.name)[key] = item
    elif _repeated(one):
        getattr(message, one.name).extend(value)
    else:
        setattr(message, one.name, value)
