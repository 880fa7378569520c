"""The vendors' order rules find what they are for, since the tests of packs and histories only see them pass."""

from __future__ import annotations

from typing import Any

import pytest

from context_service.kernel.rendering import Format
from tests import vendors

USER: dict[str, Any] = {"role": "user", "content": "go"}
HI = {"type": "text", "text": "hi"}
USE = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
TOOL_CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function"}]}
TOOL = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
FUNCTION_CALL = {"functionCall": {"name": "f", "args": {}}}
RESPONSE = {"functionResponse": {"name": "f", "response": {}}}
GO = {"role": "user", "parts": [{"text": "go"}]}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def contents(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


CASES: dict[str, list[dict[str, Any]]] = {
    "anthropic-first": [assistant(HI)],
    "anthropic-turns": [USER, USER],
    "anthropic-empty": [user({"type": "text", "text": " \n"})],
    "anthropic-answers": [USER, assistant(USE), user(HI)],
    "anthropic-results": [USER, assistant(HI), user(RESULT)],
    "anthropic-results-first": [USER, assistant(USE), user(HI, RESULT)],
    "anthropic-ids": [USER, assistant(USE), user(RESULT), assistant(USE), user(RESULT)],
    "anthropic-thinking": [USER, assistant(THINKING)],
    "openai-answers": [USER, TOOL_CALL, USER],
    "openai-results": [USER, TOOL],
    "openai-empty": [{"role": "assistant", "content": ""}],
    "responses-reasoning": [USER, REASONING, USER],
    "responses-answers": [USER, CALL],
    "responses-results": [USER, OUTPUT],
    "responses-ids": [USER, CALL, OUTPUT, CALL, OUTPUT],
    "gemini-first": [model({"text": "hi"})],
    "gemini-calls": [GO, model({"text": "hi"}), model(FUNCTION_CALL), contents(RESPONSE)],
    "gemini-answers": [GO, model(FUNCTION_CALL, FUNCTION_CALL), contents(RESPONSE)],
    "gemini-results": [GO, model(FUNCTION_CALL), contents(RESPONSE, {"text": "and"})],
    "gemini-empty": [contents()],
}
ACCEPTED = {
    Format.ANTHROPIC: [USER, assistant(THINKING, HI, USE), user(RESULT, HI), assistant(HI)],
    Format.OPENAI: [USER, TOOL_CALL, TOOL, USER],
    Format.OPENAI_RESPONSES: [USER, REASONING, CALL, OUTPUT, USER],
    Format.GEMINI: [GO, model(FUNCTION_CALL), contents(RESPONSE), model({"text": "hi"})],
}


def format_of(rule: str) -> Format:
    vendor = rule.partition("-")[0]
    return Format.OPENAI_RESPONSES if vendor == "responses" else Format(vendor)


def test_thinking_is_refused_after_a_change_before_it():
    """The rule compares requests, so `unbound` has it and not `broken`."""
    answered: dict[str, Any] = {"messages": [user(HI)]}
    rest = [assistant(THINKING, HI)]
    assert vendors.unbound({"messages": [user(HI), *rest]}, {"s": answered}) == []
    assert vendors.unbound({"messages": [user({"type": "text", "text": "ho"}), *rest]}, {"s": answered}) == ["s"]


@pytest.mark.parametrize("rule", sorted(vendors.RULES.keys() - {"anthropic-bound"}))
def test_each_rule_finds_the_order_that_breaks_it(rule: str):
    assert rule in vendors.broken(CASES[rule], format_of(rule))


@pytest.mark.parametrize("to", Format)
def test_no_rule_refuses_an_ordinary_conversation(to: Format):
    assert vendors.broken(ACCEPTED[to], to) == []


def test_the_last_calls_may_wait_for_their_results():
    for to, body in ACCEPTED.items():
        assert vendors.broken(body[:3] if to is Format.OPENAI_RESPONSES else body[:2], to, is_waiting=True) == []
