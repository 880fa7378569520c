"""Errors of calls: the same call that succeeds later resolves its error, and no other call does."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest

from context_service.contexts.model import Message
from context_service.kernel.parts import Part, ToolCall, ToolResult
from context_service.kernel.rendering import Format
from context_service.packing.pure.state.task_state import Entry, after
from context_service.packing.pure.steps.catch_up import caught_up
from context_service.profiles.pure.profiles import profile
from tests.context_service.windows.messages import message

FAILED = "collected 40 items\nModuleNotFoundError: No module named 'tomli_w'"
RUN = ("run_tests", '{"path": "tests", "quick": true}', FAILED, True)


def log(*calls: tuple[str, str, str, bool]) -> Iterator[Message]:
    """Yield the messages of calls: tool, arguments, output, and whether the tool says that the call failed."""
    for number, (tool, arguments, output, is_error) in enumerate(calls):
        call = ToolCall(id=f"c{number}", name=tool, arguments_json=arguments)
        yield message("assistant", "", Part(tool_call=call), seq=2 * number + 1)
        content = orjson.dumps(output).decode()
        result = ToolResult(tool_call_id=call.id, content_json=content, is_error=is_error)
        yield message("tool", "", Part(tool_result=result), seq=2 * number + 2)


def errors(*calls: tuple[str, str, str, bool]) -> list[Entry]:
    messages = list(log(*calls))
    done = caught_up(
        messages, to=Format.OPENAI, profile=profile("general"), count=len, is_end=True, last_seq=len(messages)
    )
    state: list[Entry] = []
    for step in done.steps:
        state, _ = after(state, step.entries)
    return [entry for entry in state if entry.section == "error"]


@pytest.mark.parametrize("arguments", ['{"path": "tests", "quick": true}', '{"quick":true,"path":"tests"}'])
def test_an_error_is_resolved_if_the_same_call_succeeds(arguments: str):
    (error,) = errors(RUN, ("run_tests", arguments, "40 passed in 3 s", False))

    assert error.text == (
        "tool run_tests: «ModuleNotFoundError: No module named 'tomli_w'» (m2/1) -> the same call succeeded"
    )
    assert (error.value, error.ref) == ("the same call succeeded", "m4/1")


@pytest.mark.parametrize(
    "later",
    [
        ("run_tests", '{"path": "tests/test_a.py", "quick": true}', "1 passed", False),
        ("read_file", '{"path": "tests", "quick": true}', "import os", False),
        ("run_tests", '{"path": "tests", "quick": true}', FAILED, True),
        ("run_tests", '{"path": "tests", "quick": true}', FAILED, False),  # a tool that does not say that it failed
    ],
)
def test_another_call_and_one_that_fails_again_leave_an_error_open(later: tuple[str, str, str, bool]):
    assert [error.value for error in errors(RUN, later)] == [""]


@pytest.mark.parametrize(
    "output",
    [
        "==== 3 failed, 1897 passed in 47.86 s ====",
        "test_fines PASSED\n1 failed in 0.3 s",
        "Tests:       2 failed, 40 passed, 42 total",
        "Tests run: 12, Failures: 2, Errors: 0, Skipped: 1",
        "FAILED (failures=1)",
        "--- FAIL: TestRounding (0.00s)",
        "ok 1 - holds\nnot ok 2 - fines",
        "1..2\n# pass 1\n# fail 1",
        "make: done\nexit code 2",
        "7 examples, 1 failure",
        "5 tests failed",
        "Ran 8 tests\n12 of 40 tests failed",
        "1,204 errors",
    ],
)
def test_a_result_that_says_that_something_failed_resolves_no_error(output: str):
    again = (RUN[0], RUN[1], output, False)

    assert [error.value for error in errors(RUN, again)] == [""]


@pytest.mark.parametrize(
    "output",
    [
        "==== 1897 passed in 47.86 s ====",
        "0 failed, 40 passed",
        "40 passed, 3 xfailed",
        "Tests run: 12, Failures: 0, Errors: 0",
        "no errors\n12 passed",
        "# pass 2\n# fail 0",
        "exit code 0",
        "Build finished, 0 errors, 4 warnings",
    ],
)
def test_a_result_that_counts_no_failure_resolves_the_error(output: str):
    again = (RUN[0], RUN[1], output, False)

    assert [error.value for error in errors(RUN, again)] == ["the same call succeeded"]


def test_an_error_that_comes_back_after_a_success_is_open_again():
    passed = ("run_tests", '{"path": "tests", "quick": true}', "40 passed in 3 s", False)

    assert errors(RUN, passed, RUN)[-1].value == ""


def test_a_call_of_any_size_has_a_short_key():
    big = orjson.dumps({"text": "x" * 100_000}).decode()
    bigger = orjson.dumps({"text": "x" * 100_001}).decode()

    first, second = errors(
        ("write", big, "OSError: disk full", True), ("write", bigger, "OSError: no space left", True)
    )

    assert len(first.key) < 200
    assert first.key != second.key
