"""Every error class survives a real server behind the real border and the real client."""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from contextkeep import AsyncEntityClient, EntityClient
from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphServicer
from contextkeep.errors import (
    ContextKeepError,
    FieldViolation,
    Internal,
    InvalidArgument,
    LimitExceeded,
    ResourceExhausted,
    Unauthenticated,
    Unimplemented,
    error_classes,
)
from contextkeep.status import DETAILS_KEY, details_of, error_of, message_of
from tests.clients.serving import serving

# The servers derive a few of their own, for their start: those are never sent.
CLASSES = [error_class for error_class in error_classes() if error_class.__module__ == "contextkeep.errors"]
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("context_service", "entity_service", "service_runtime", "clients/python/contextkeep")
VIOLATIONS = (FieldViolation("node.data_json", "is no JSON"), FieldViolation("node.name", "is too long"))


class Raising(EntityGraphServicer):
    """Raises what it is told to, from a unary call and from a stream."""

    def __init__(self) -> None:
        self.error: BaseException = Internal()

    async def GetNode(self, request, context):
        raise self.error

    async def Traverse(self, request, context):
        yield pb.TraverseResponse(indexed=True)
        raise self.error


def made(error_class: type[ContextKeepError]) -> ContextKeepError:
    """An error with everything that an error can carry; what classes fix in their constructors is left to them."""
    return error_class(
        "what is wrong, and what to do: ünïcode",
        violations=VIOLATIONS,
        retry_after_s=1.25,
        limit="name",
        limit_max=512,
        value=513,
    )


def parts(error: ContextKeepError) -> tuple:
    return type(error), error.code, error.message, error.reason, error.metadata, error.violations, error.retry_after_s


@pytest.mark.parametrize("error_class", CLASSES, ids=lambda error_class: error_class.__name__)
async def test_every_error_survives_the_wire(error_class):
    raising = Raising()
    raising.error = sent = made(error_class)
    async with serving(raising) as address, AsyncEntityClient(address, retries=0) as client:
        received = []
        with pytest.raises(ContextKeepError) as raised:
            await client.graph.get_node("x")
        received.append(raised.value)
        with pytest.raises(ContextKeepError) as raised:
            async for page in client.graph.traverse_pages("x"):
                assert page.indexed
        received.append(raised.value)

        def in_a_thread() -> None:
            with EntityClient(address, retries=0) as sync_client:
                with pytest.raises(ContextKeepError) as raised:
                    sync_client.graph.get_node("x")
                received.append(raised.value)
                with pytest.raises(ContextKeepError) as raised:
                    list(sync_client.graph.traverse_pages("x"))
                received.append(raised.value)

        await asyncio.to_thread(in_a_thread)

    assert [parts(error) for error in received] == [parts(sent)] * 4


def test_every_reason_is_of_one_class():
    """The table is read by reason on the way back."""
    reasons = [error_class.reason for error_class in CLASSES]
    assert len(reasons) == len(set(reasons))


def test_every_status_but_ok_has_a_class():
    codes = {error_class.code for error_class in CLASSES}
    assert codes == set(grpc.StatusCode) - {grpc.StatusCode.OK, grpc.StatusCode.UNKNOWN}


async def test_a_fault_of_the_server_says_nothing_of_its_cause(caplog):
    raising = Raising()
    raising.error = ZeroDivisionError("the secret cause")
    async with serving(raising) as address, AsyncEntityClient(address) as client:
        with pytest.raises(Internal) as raised:
            await client.graph.get_node("x")

    assert "secret" not in str(raised.value)
    assert raised.value.metadata["call_id"]


async def test_a_group_of_one_is_its_error():
    """A TaskGroup wraps even a single failure."""
    raising = Raising()
    raising.error = ExceptionGroup("of a task group", [LimitExceeded("too long", limit="name")])
    async with serving(raising) as address, AsyncEntityClient(address) as client:
        with pytest.raises(LimitExceeded):
            await client.graph.get_node("x")


async def test_of_a_group_the_first_error_is_told_and_a_fault_of_ours_before_all():
    """Two tasks of a call fail together when what both need goes away, or when both read a bad condition."""
    raising = Raising()
    several = [ExceptionGroup("inner", [LimitExceeded("too long", limit="name")]), InvalidArgument("bad", field="x")]
    async with serving(raising) as address, AsyncEntityClient(address) as client:
        raising.error = ExceptionGroup("of a task group", several)
        with pytest.raises(LimitExceeded):
            await client.graph.get_node("x")
        raising.error = ExceptionGroup("of a task group", [*several, ZeroDivisionError("the secret cause")])
        with pytest.raises(Internal):
            await client.graph.get_node("x")


@pytest.mark.parametrize("character", ["x", "ü", "語", "😀", "\ud800"])
async def test_long_errors_are_cut_and_arrive(character):
    """Metadata over 8 KiB would arrive as an error of the transport, which says nothing."""
    raising = Raising()
    raising.error = InvalidArgument(
        "x" * 1024,
        violations=[FieldViolation(character * 10_000, character * 10_000) for _ in range(100)],
        value=character * 100_000,
        **{f"value_{n}": character * 100_000 for n in range(100)},
    )
    async with serving(raising) as address, AsyncEntityClient(address) as client:
        with pytest.raises(InvalidArgument) as raised:
            await client.graph.get_node("x")

    assert raised.value.reason == "INVALID_ARGUMENT"
    assert raised.value.metadata["value"]


@pytest.mark.parametrize("character", ["x", "語"])
def test_a_long_message_is_cut_in_whole_characters(character):
    error = InvalidArgument(character * 10_000)
    assert message_of(error) == character * (1024 // len(character.encode()))
    assert len(details_of(error)) < 3072


async def test_an_rpc_that_nobody_serves_is_unimplemented():
    async with serving() as address, AsyncEntityClient(address) as client:
        with pytest.raises(Unimplemented):
            await client.graph.get_node("x")


async def test_a_message_past_four_mebibytes_is_resource_exhausted():
    async with serving(Raising()) as address, AsyncEntityClient(address) as client:
        with pytest.raises(ResourceExhausted):
            await client.graph.update_node_data("x", {"text": "x" * 5_000_000})


def test_a_status_of_another_server_is_the_class_of_its_code():
    """A proxy in between has no details of ours."""
    error = error_of(grpc.StatusCode.UNAUTHENTICATED, "who are you", None)
    assert (type(error), error.message) == (Unauthenticated, "who are you")
    assert type(error_of(grpc.StatusCode.UNKNOWN, "?", None)) is ContextKeepError


def test_malformed_details_are_left_out():
    error = error_of(grpc.StatusCode.NOT_FOUND, "gone", b"\xff\xff")
    assert (error.code, error.message, error.metadata) == (grpc.StatusCode.NOT_FOUND, "gone", {})


def test_a_reason_of_a_newer_server_is_kept():
    class FromTheFuture(ContextKeepError):
        code = grpc.StatusCode.NOT_FOUND
        reason = "FROM_THE_FUTURE"

    error = error_of(grpc.StatusCode.NOT_FOUND, "gone", details_of(FromTheFuture("gone")))
    assert (type(error).__name__, error.reason) == ("NotFound", "FROM_THE_FUTURE")


def test_an_error_reads_well():
    error = LimitExceeded("name is too long", limit_max=512, value=513)
    assert str(error) == "name is too long (LIMIT_EXCEEDED, limit_max=512, value=513)"
    assert DETAILS_KEY == "grpc-status-details-bin"
    assert dataclasses.astuple(VIOLATIONS[0]) == ("node.data_json", "is no JSON")


def metadata_set() -> Iterator[tuple[str, str, str]]:
    """Yield the class, the key and the place wherever code makes an error with metadata."""
    names = {error_class.__name__ for error_class in CLASSES}
    other_keywords = set(inspect.signature(ContextKeepError.__init__).parameters)
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "contextkeep.errors"
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names & imported:
                for keyword in node.keywords:
                    if keyword.arg is not None and keyword.arg not in other_keywords:
                        yield node.func.id, keyword.arg, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_docstrings_list_all_metadata():
    """docs/errors.md is generated from these docstrings, so a key that is missing there is undocumented."""
    documented = {
        error_class.__name__: set(re.findall(r"\w+", (error_class.__doc__ or "").partition("Metadata:")[2]))
        for error_class in CLASSES
    }
    used = list(metadata_set())
    assert len(used) > 100

    assert [one for one in used if one[1] not in documented[one[0]]] == []
