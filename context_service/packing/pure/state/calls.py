"""Errors and their calls: an error is resolved if the same call succeeded later.

The same call is a call of the same tool with the same arguments. Its success says that the error is gone, but not what
helped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import orjson

from context_service.kernel.parts import ToolCall
from context_service.kernel.rendering.turns import Result
from context_service.packing.pure.state.error_lines import reports_failure
from context_service.packing.pure.state.task_state import SUCCESS, Entry
from context_service.packing.pure.steps.step import Step

_KEY_CHARS = 120  # the first characters of a longer call; a hash of the whole call follows
_END_CHARS = 1_000  # the end of an output that is searched for a failure: some tools do not mark a failed call


def with_calls(entries: Sequence[Entry], step: Step, seqs: frozenset[int]) -> Iterator[Entry]:
    """Yield the entries of a step: its errors with their calls, and an entry for each call that succeeded.

    Args:
        entries: The entries of the messages of the step.
        step: The step.
        seqs: The `seq` of each message whose entries these are.
    """
    calls = {step.result_refs[call.id]: call for call in step.turn.calls if call.result and call.id in step.result_refs}
    for entry in entries:
        call = calls.get(entry.ref) if entry.section == "error" else None
        yield replace(entry, key=_key_of(call.call)) if call else entry
    for ref, call in calls.items():
        seq = int(ref[1:].partition("/")[0])
        if seq in seqs and call.result and _is_success(call.result):
            yield Entry(section=SUCCESS, key=_key_of(call.call), text="", value="", ref=ref, seq=seq)


def _is_success(result: Result) -> bool:
    """Return whether a call succeeded: neither its tool nor the end of its output says that something failed."""
    return not result.is_error and not reports_failure(result.text[-_END_CHARS:])


def _key_of(call: ToolCall) -> str:
    """Return the same text for equal calls: the tool and its arguments, whatever the order of their names."""
    try:
        arguments = orjson.dumps(orjson.loads(call.arguments_json or "{}"), option=orjson.OPT_SORT_KEYS).decode()
    except orjson.JSONDecodeError:
        arguments = call.arguments_json
    key = f"{call.name} {arguments}"
    digest = hashlib.sha256(key.encode(errors="replace")).hexdigest()
    return key if len(key) <= _KEY_CHARS else f"{key[:_KEY_CHARS]}… {digest[:16]}"
