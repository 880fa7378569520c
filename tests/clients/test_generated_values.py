"""Every generated value keeps every field of its message: message, value and message again are the same."""

from __future__ import annotations

import json
import pickle
import runpy
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from contextkeep import values

sys.path.append(str(Path(__file__).resolve().parents[2] / "proto/generator"))
import model
from python_table import BY_HAND, JSON_TYPES, UNKNOWN, Entry
from python_values import is_input, values_of

VALUES = values_of(model.load())
GENERATOR = Path(__file__).resolve().parents[2] / "proto/generator"

_SCALARS = {
    "str": lambda random: f"text {random.randrange(1000)}",
    "bytes": lambda random: random.randbytes(3),
    "bool": lambda random: random.random() < 0.5,
    "int": lambda random: random.randrange(1, 1 << 31),
    "float": lambda random: random.randrange(1000) / 8,
}


def message_class(name):
    for package in ("context", "entity"):
        try:
            found = descriptor_pool.Default().FindMessageTypeByName(f"contextkeep.{package}.v1.{name}")
        except KeyError:
            continue
        return message_factory.GetMessageClass(found)
    raise LookupError(name)


def is_map(field):
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def scalar(field, random):
    if field.enum_type is not None:
        return random.choice([value.number for value in field.enum_type.values if value.number])
    if field.name.endswith("_json") and field.type == field.TYPE_STRING:
        return json.dumps({"n": random.randrange(1000)})
    kinds = {field.TYPE_STRING: "str", field.TYPE_BYTES: "bytes", field.TYPE_BOOL: "bool"}
    return _SCALARS[kinds.get(field.type, "float" if field.cpp_type in (5, 6) else "int")](random)


def fill(message, random, always=(), depth=0):
    """Set some fields of a message, those of `always` and all within flattened ones for certain."""
    for field in message.DESCRIPTOR.fields:
        if field.name not in always and random.random() < 0.3:
            continue
        target = getattr(message, field.name)
        if is_map(field):
            of = field.message_type.fields_by_name["value"]
            if of.message_type is None:
                target["key"] = scalar(of, random)
            else:
                fill(target["key"], random)
        elif field.message_type is None:
            if field.is_repeated:
                target.extend(scalar(field, random) for _ in range(random.randrange(3)))
            else:
                setattr(message, field.name, scalar(field, random))
        elif isinstance(target, Timestamp):
            target.FromMicroseconds(random.randrange(1 << 52))
        elif depth < 5:
            # One row of a list: those that become a dict have one of each key.
            single = target.add() if field.is_repeated else target
            single.SetInParent()
            fill(single, random, required(field.message_type.name), depth + 1)
    return message


def required(name):
    """Return the fields that a message must have to be one of ours: the table's, and enums whose absence has a name."""
    entry = VALUES.get(name)
    fields = message_class(name).DESCRIPTOR.fields
    enums = {field.name for field in fields if field.enum_type is not None}
    if entry is None:
        return {field.name for field in fields}
    paths = {path.partition("{")[0].partition(".")[0] for path in entry.fields.values()}
    return {*entry.always, *paths, *enums}


def prune(message):
    """Clear the fields that the table leaves out of the value, at any depth."""
    entry = VALUES.get(message.DESCRIPTOR.name)
    if entry is None:
        return message
    for field in entry.without.split():
        message.ClearField(field)
    kept = {}
    for path in entry.fields.values():
        first, _, last = path.partition("{")[0].partition(".")
        kept.setdefault(first, set()).add(last)
    for field, value in message.ListFields():
        if kept.get(field.name, {""}) != {""}:
            keep(value, kept[field.name])
        elif field.message_type is not None and not is_map(field):
            for one in value if field.is_repeated else [value]:
                prune(one)
    return message


def keep(message, paths):
    """Clear the fields of a message that no path names."""
    below = {}
    for path in paths:
        first, _, last = path.partition(".")
        below.setdefault(first, set()).add(last)
    for field, value in message.ListFields():
        if field.name not in below:
            message.ClearField(field.name)
        elif below[field.name] != {""}:
            keep(value, below[field.name])


def attributes(message, entry):
    """Yield each attribute of a value with the path of its field."""
    flattened = {path.partition("{")[0].partition(".")[0] for path in entry.fields.values()}
    yield from entry.fields.items()
    for field in message.DESCRIPTOR.fields:
        if field.name not in flattened and field.name not in entry.without.split():
            yield field.name, field.name


def write(value, message, original):
    """Write a value into an empty message."""
    entry = VALUES[message.DESCRIPTOR.name]
    for name, place in attributes(message, entry):
        path, _, pair = place.rstrip("}").partition("{")
        *steps, last = path.split(".")
        owner, given = message, original
        if any(not is_there(original, steps[: depth + 1]) for depth in range(len(steps))):
            assert getattr(value, name) in (None, "", ())
            continue
        for step in steps:
            owner, given = getattr(owner, step), getattr(given, step)
            owner.SetInParent()
        put(owner, owner.DESCRIPTOR.fields_by_name[last], getattr(value, name), given, pair)
    return message


def is_there(message, steps):
    """Say whether a message has another one at a path."""
    for step in steps[:-1]:
        message = getattr(message, step)
    return message.HasField(steps[-1])


def put(owner, field, value, original, pair):
    of = field.message_type
    if value is None:
        return
    if of is not None and of.name in BY_HAND:  # what is written by hand has tests of its own
        taken = getattr(original, field.name)
        assert len(value) == len(taken) if field.is_repeated else original.HasField(field.name)
        target = getattr(owner, field.name)
        target.MergeFrom(taken) if field.is_repeated else target.CopyFrom(taken)
    elif pair:
        key, _, kept = pair.partition(": ")
        for row, (left, right) in zip(getattr(original, field.name), value.items(), strict=True):
            target = getattr(owner, field.name).add()
            target.CopyFrom(row)
            target.ClearField(kept)
            put(target, of.fields_by_name[key], left, row, "")
            put(target, of.fields_by_name[kept], right, row, "")
    elif is_map(field):
        for key, one in value.items():
            if of.fields_by_name["value"].message_type is None:
                getattr(owner, field.name)[key] = one
            else:
                write(one, getattr(owner, field.name)[key], getattr(original, field.name)[key])
    elif of is None:
        plain = [number(field, one) for one in (value if field.is_repeated else [value])]
        if field.is_repeated:
            getattr(owner, field.name).extend(plain)
        else:
            setattr(owner, field.name, plain[0])
    elif isinstance(value, datetime):
        assert value.tzinfo is UTC
        getattr(owner, field.name).FromDatetime(value)
    elif field.is_repeated:
        for one, taken in zip(value, getattr(original, field.name), strict=True):
            write(one, getattr(owner, field.name).add(), taken)
    else:
        getattr(owner, field.name).SetInParent()
        write(value, getattr(owner, field.name), getattr(original, field.name))


def number(field, value):
    if field.enum_type is None:
        return value
    numbers = [one.number for one in field.enum_type.values if one.name.lower().endswith(f"_{value}")]
    return min(numbers) if value and numbers else 0


@pytest.mark.parametrize("name", VALUES)
@settings(max_examples=8)
@given(random=st.randoms(use_true_random=False))
def test_a_value_has_every_field_of_its_message(name: str, random: Random):
    entry: Entry = VALUES[name]
    value_class = getattr(values, entry.name or name)
    message = fill(message_class(name)(), random, required(name))

    value = value_class.from_proto(message)

    prune(message)
    assert write(value, message_class(name)(), message) == message
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(value) == hash(value_class.from_proto(message))
    if is_input(name):
        assert value.to_proto() == message


def test_a_value_can_be_unpickled_by_a_process_that_has_imported_nothing():
    pickled = pickle.dumps(values.Context.from_proto(message_class("Context")()))
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).state)"
    assert (
        subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, check=True).stdout == b"open\n"
    )


@pytest.mark.parametrize("name", VALUES)
def test_an_enum_of_a_newer_service_has_the_name_of_an_unknown_one(name: str):
    entry = VALUES[name]
    message = message_class(name)()
    enums = [field for field in message.DESCRIPTOR.fields if field.enum_type is not None and not field.is_repeated]
    enums = [field for field in enums if field.name not in entry.fields.values()]
    for field in enums:
        setattr(message, field.name, 1000)

    value = getattr(values, entry.name or name).from_proto(message)

    for field in enums:
        assert getattr(value, field.name) == UNKNOWN.get(field.enum_type.name, "")


@pytest.mark.parametrize("name", VALUES)
def test_json_is_parsed_by_the_property_of_its_name(name: str):
    message = message_class(name)()
    texts = [field.name for field in message.DESCRIPTOR.fields if field.name.endswith("_json")]
    texts = [field for field in texts if isinstance(getattr(message, field), str)]
    for field in texts:
        setattr(message, field, '["a"]' if JSON_TYPES.get(field, "").startswith("list") else '{"a": 1}')

    value = getattr(values, VALUES[name].name or name).from_proto(message)

    for field in texts:
        if hasattr(value, field.removesuffix("_json")):
            assert getattr(value, field.removesuffix("_json")) == json.loads(getattr(message, field))


def test_a_generated_file_without_a_source_is_found():
    """`--check` compares the files that are generated: one of a proto that is gone would stay for good."""
    orphans = runpy.run_path(str(GENERATOR / "__main__.py"))["orphans"]
    gone, *others = sorted(orphans(set()))

    assert orphans(set(others)) == {gone}
