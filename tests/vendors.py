"""The order rules that model vendors enforce on the messages of a request.

The vendors' types say nothing about order: an API refuses a request of the right types with status 400 if it breaks
one of these rules. `broken` lists the rules that a body breaks. Sources, read in November 2026, are the vendor's pages
and the error messages that users quote (in parentheses).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from context_service.kernel.rendering import Format

RULES = {
    # Anthropic: platform.claude.com/docs, "Messages API", "Tool use" and "Extended thinking".
    "anthropic-first": "the first message is the user's ('first message must use the user role')",
    "anthropic-turns": "roles take turns: the API joins neighbours, and older gateways refuse them",
    "anthropic-empty": "content is not empty, and text is not blank ('text content blocks must be non-empty')",
    "anthropic-answers": "each tool_use has its result in the next message ('were found without tool_result blocks')",
    "anthropic-results": "each tool_result has its tool_use in the message before ('unexpected tool_use_id found')",
    "anthropic-results-first": "tool_result blocks stand before other blocks of their message",
    "anthropic-ids": "ids of tool_use blocks are unique ('tool_use ids must be unique')",
    "anthropic-thinking": "an assistant's message does not end with thinking ('the final block cannot be thinking')",
    # platform.claude.com/docs/en/build-with-claude/preserved-thinking, of Claude Fable 5.1 and later.
    "anthropic-bound": "nothing before thinking has changed ('the block is bound to a different conversation')",
    # OpenAI: platform.openai.com/docs, "Function calling".
    "openai-answers": "results follow the message with their calls, one each ('must be followed by tool messages')",
    "openai-results": "a tool message follows a message with its call ('must be a response to a preceding message')",
    "openai-empty": "a message has content or calls",
    # OpenAI Responses: platform.openai.com/docs, "Reasoning models", "Function calling".
    "responses-reasoning": "an item of the assistant follows reasoning ('without its required following item')",
    "responses-answers": "each function_call has its output ('no tool output found for function call')",
    "responses-results": "each output has its function_call before it ('no tool call found for function call output')",
    "responses-ids": "each call_id names one call",
    # Gemini: ai.google.dev/gemini-api/docs, "Function calling" and "Thought signatures".
    "gemini-first": "the first content is the user's",
    "gemini-calls": "calls come after a user's turn or a response ('function call turn comes immediately after')",
    "gemini-answers": "calls are followed by one response each ('number of function response parts is equal')",
    "gemini-results": "function responses stand alone in the content right after their calls, in order",
    "gemini-empty": "a content has parts, and no blank text ('must include at least one parts field')",
}


def broken(messages: list[dict[str, Any]], to: Format, *, is_waiting: bool = False) -> list[str]:
    """Return the names of the rules that the messages break, in the order of the messages.

    Args:
        messages: The list that a request has below `messages`, `input` or `contents`.
        to: The vendor's format.
        is_waiting: The last message with calls may lack results, which come with later messages.
    """
    check = {
        Format.ANTHROPIC: _anthropic,
        Format.OPENAI: _openai,
        Format.OPENAI_RESPONSES: _responses,
        Format.GEMINI: _gemini,
    }[to]
    return list(check(messages, is_waiting))


def _anthropic(messages: list[dict[str, Any]], is_waiting: bool) -> Iterator[str]:
    if messages and messages[0]["role"] != "user":
        yield "anthropic-first"
    ids: list[str] = []
    calls: list[str] = []  # of the message before
    for number, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if number and messages[number - 1]["role"] == message["role"]:
            yield "anthropic-turns"
        if not blocks or any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            yield "anthropic-empty"
        if blocks and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            yield "anthropic-thinking"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if not set(results) <= set(calls) or len(set(results)) < len(results):
            yield "anthropic-results"
        if not set(calls) <= set(results) and not (is_waiting and number == len(messages) - 1):
            yield "anthropic-answers"
        if [block["type"] for block in blocks[: len(results)]] != ["tool_result"] * len(results):
            yield "anthropic-results-first"
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        ids += calls
    if calls and not is_waiting:
        yield "anthropic-answers"
    if len(set(ids)) < len(ids):
        yield "anthropic-ids"


def unbound(body: dict[str, Any], requests: Mapping[str, dict[str, Any]]) -> list[str]:
    """Return the signatures of thinking blocks before which something has changed: newer models refuse them.

    Args:
        body: The body of a request.
        requests: The body of the request that each block answered, by the signature of the block.
    """
    found, before = [], []
    for block in _blocks(body):
        signature = block.get("signature")
        if signature in requests and before != _blocks(requests[signature]):
            found.append(signature)
        before.append(block)
    return found


def _blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the system prompts and the blocks of all messages, each with its role."""
    system = [{"role": "system", **block} for block in body.get("system", [])]
    return system + [{"role": one["role"], **block} for one in body["messages"] for block in one["content"]]


def _openai(messages: list[dict[str, Any]], is_waiting: bool) -> Iterator[str]:
    due: list[str] = []  # calls without their results
    for message in messages:
        if not message.get("content") and not message.get("tool_calls") and message["role"] != "tool":
            yield "openai-empty"
        if message["role"] == "tool":
            if message["tool_call_id"] in due:
                due.remove(message["tool_call_id"])
            else:
                yield "openai-results"
            continue
        if due:
            yield "openai-answers"
        due = [call["id"] for call in message.get("tool_calls") or []]
    if due and not is_waiting:
        yield "openai-answers"


def _responses(items: list[dict[str, Any]], is_waiting: bool) -> Iterator[str]:
    for item, following in zip(items, [*items[1:], {}], strict=False):
        of_assistant = following.get("role") == "assistant" or following.get("type") in ("function_call", "reasoning")
        if item.get("type") == "reasoning" and not of_assistant:
            yield "responses-reasoning"
    due: list[str] = []
    ids: list[str] = []
    for item in items:
        if item.get("type") == "function_call":
            due.append(item["call_id"])
            ids.append(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] in due:
                due.remove(item["call_id"])
            else:
                yield "responses-results"
        elif item.get("role") == "user" and due:
            yield "responses-answers"
    if due and not is_waiting:
        yield "responses-answers"
    if len(set(ids)) < len(ids):
        yield "responses-ids"


def _gemini(contents: list[dict[str, Any]], is_waiting: bool) -> Iterator[str]:
    if contents and contents[0]["role"] != "user":
        yield "gemini-first"
    for content in contents:
        if not content["parts"] or any("text" in part and not part["text"].strip() for part in content["parts"]):
            yield "gemini-empty"
    if contents and _named(contents[0], "functionResponse"):
        yield "gemini-results"
    for before, content in pairwise(contents):
        calls, results = _named(before, "functionCall"), _named(content, "functionResponse")
        if _named(content, "functionCall") and before["role"] == "model":
            yield "gemini-calls"
        may_wait = is_waiting and content is contents[-1]
        if len(results) > len(calls) or (len(results) < len(calls) and not may_wait):
            yield "gemini-answers"
        if results != calls[: len(results)] or (results and len(results) < len(content["parts"])):
            yield "gemini-results"
    if contents and _named(contents[-1], "functionCall") and not is_waiting:
        yield "gemini-answers"


def _named(content: dict[str, Any], kind: str) -> list[str]:
    """Return the names of the functions that the parts of this kind name: Gemini pairs them by order."""
    return [part[kind]["name"] for part in content["parts"] if kind in part]
