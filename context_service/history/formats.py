"""Histories as the requests of model vendors want them.

All vendors refuse a request in which a call of a tool is not followed by its result at once, or a result stands
without its call. Graphs know no such order: a user may speak while a tool runs, a result may be older than its call,
and of the newest N the call may be the one that is cut off. So first the results are paired with their calls
(`_Conversation`), then the turns are written (`_openai`, `_anthropic`, `_gemini`).
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from context_service.history.messages import ChatMessage
from context_service.parts import Part, ToolCall

NO_RESULT = "No result is recorded."

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_ID_DIGITS = 32
_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)
_GEMINI_MEDIA = re.compile(r"(?:image|audio|video)/.+|application/pdf")
_NAME_CHARS_MAX = 64


class Format(Enum):
    """Whose requests."""

    OPENAI = "openai"  # Chat Completions
    ANTHROPIC = "anthropic"  # Messages
    GEMINI = "gemini"  # generateContent


class Formatted(NamedTuple):
    """A history for the body of a request."""

    body_json: str  # an object: `messages`, for Anthropic `system`; for Gemini `contents` and `systemInstruction`
    results_left_out: int  # results that have no call in the history, or that a later one of the same call replaces
    calls_unanswered: int  # calls without a result, which got `NO_RESULT` instead


class _Result(NamedTuple):
    text: str
    is_error: bool


@dataclass(slots=True)
class _Call:
    call: ToolCall
    id: str  # one of its own, as vendors take it
    result: _Result | None = None


@dataclass(slots=True)
class _Turn:
    """What one role says in one go; of an assistant's, then the calls."""

    role: str
    name: str = ""
    parts: list[Part] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)


def formatted(messages: Iterable[ChatMessage], to: Format) -> Formatted:
    """Return a history as a vendor's request wants it.

    Calls and results keep together: an assistant's calls, then one result each, in their order. A tool's message
    without a `tool_result` part answers the first call without a result in the last turn that calls. Calls of the very
    last turn may stay without: their results are still to come.
    """
    conversation = _Conversation()
    for message in messages:
        conversation.add(message)
    results_left_out = conversation.pair()
    calls_unanswered = 0
    for turn in conversation.turns[:-1]:
        for call in turn.calls:
            if call.result is None:
                call.result = _Result(NO_RESULT, is_error=True)
                calls_unanswered += 1
    body = _WRITERS[to](conversation.turns)
    return Formatted(orjson.dumps(body).decode(), results_left_out, calls_unanswered)


class _Conversation:
    """Who says what, in order, and which result is which call's."""

    def __init__(self) -> None:
        self.turns: list[_Turn] = []
        self._joins = False  # a call that comes next belongs to the last turn
        self._calling: _Turn | None = None  # the last turn with calls
        self._ids: set[str] = set()
        # By the id that the history has. Apps use an id again: then the last turn that calls with it is meant.
        self._open: dict[str, tuple[_Turn, deque[_Call]]] = {}
        self._last: dict[str, _Call] = {}
        self._early: defaultdict[str, deque[_Result]] = defaultdict(deque)  # results that were there before a call
        self._unnamed: list[tuple[_Turn | None, _Result]] = []
        self._results_replaced = 0

    def add(self, message: ChatMessage) -> None:
        """Add a message of the history."""
        said = [Part(text=message.content)] if message.content else []
        said += [part for part in message.parts if not (part.tool_call or part.tool_result or part.text == "")]
        calls = [part.tool_call for part in message.parts if part.tool_call]
        results = [part.tool_result for part in message.parts if part.tool_result]
        if message.role != "tool" and said:
            self.turns.append(_Turn(message.role, message.name, said))
            self._joins = message.role == "assistant"
        for call in calls:
            self._add_call(call, message.name)
        beside = said if message.role == "tool" else []  # is of the result, or is the result
        for result in results:
            text = "\n\n".join(filter(None, [_text(beside), _result_text(result.content_json)]))
            self._add_result(result.tool_call_id, _Result(text, result.is_error))
            beside = []
        if beside:
            self._unnamed.append((self._calling, _Result(_text(beside), is_error=False)))
            self._joins = False

    def pair(self) -> int:
        """Give the calls that have none the results that were early or name no call; return how many belong to none."""
        left_out = self._results_replaced
        for call_id, results in self._early.items():
            for call in self._open[call_id][1] if call_id in self._open else ():
                if results:
                    call.result = results.popleft()
            left_out += len(results)
        for turn, result in self._unnamed:
            unanswered = [call for call in (turn.calls if turn else ()) if call.result is None]
            if unanswered:
                unanswered[0].result = result
            else:
                left_out += 1
        return left_out

    def _add_call(self, call: ToolCall, name: str) -> None:
        if not self._joins:
            self.turns.append(_Turn("assistant", name))
            self._joins = True
        turn = self._calling = self.turns[-1]
        added = _Call(call, self._own_id(call.id))
        turn.calls.append(added)
        self._last[call.id] = added
        of_turn, waiting = self._open.get(call.id, (turn, deque()))
        if of_turn is not turn:
            waiting = deque()
        waiting.append(added)
        self._open[call.id] = turn, waiting

    def _add_result(self, call_id: str, result: _Result) -> None:
        self._joins = False
        if call_id not in self._last:
            self._early[call_id].append(result)
            return
        waiting = self._open[call_id][1]
        if waiting:
            waiting.popleft().result = result
        else:
            self._last[call_id].result = result
            self._results_replaced += 1

    def _own_id(self, call_id: str) -> str:
        """Return an id that vendors take and no other call of the history has; the call's own if it is one."""
        found, attempt = call_id, 0
        while found in self._ids or not _ID.fullmatch(found):
            found = f"call_{sha256(f'{len(self._ids)} {attempt} {call_id}'.encode()).hexdigest()[:_ID_DIGITS]}"
            attempt += 1
        self._ids.add(found)
        return found


def _openai(turns: Sequence[_Turn]) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for turn in turns:
        message: dict[str, Any] = {"role": turn.role}
        if turn.name:
            message["name"] = _plain(turn.name, rest=r"[\s<|\\/>]")
        blocks = list(map(_openai_part, turn.parts))
        if turn.role == "user" and any(block["type"] != "text" for block in blocks):
            message["content"] = blocks
        else:
            message["content"] = _text(turn.parts) or None
        if turn.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": _plain(call.call.name),
                        "arguments": orjson.dumps(_arguments(call.call)).decode(),
                    },
                }
                for call in turn.calls
            ]
        messages.append(message)
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": call.result.text}
            for call in turn.calls
            if call.result is not None
        ]
    return {"messages": messages}


def _openai_part(part: Part) -> dict[str, Any]:
    if part.url is not None and part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": part.url}}
    return {"type": "text", "text": _part_text(part)}


def _anthropic(turns: Sequence[_Turn]) -> dict[str, Any]:
    system: list[dict[str, Any]] = []
    messages: list[dict[str, Any]] = []

    def add(role: str, blocks: list[dict[str, Any]]) -> None:
        if blocks and messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})

    for turn in turns:
        blocks = [block for part in turn.parts if (block := _anthropic_block(part, turn.role))]
        if turn.role == "system":
            system += blocks
            continue
        add(turn.role, blocks)
        add("assistant", [_tool_use(call) for call in turn.calls])
        add("user", [_tool_result(call, call.result) for call in turn.calls if call.result is not None])
    return {"system": system, "messages": messages} if system else {"messages": messages}


def _anthropic_block(part: Part, role: str) -> dict[str, Any] | None:
    """Return a block; None for blank text, which is refused."""
    kind = "image" if part.media_type.startswith("image/") else ""
    if part.media_type == "application/pdf":
        kind = "document"
    if role == "user" and part.url is not None and kind:
        if inline := _DATA_URL.fullmatch(part.url):
            source = {"type": "base64", "media_type": inline["type"], "data": inline["data"]}
        else:
            source = {"type": "url", "url": part.url}
        return {"type": kind, "source": source}
    text = _part_text(part)
    return {"type": "text", "text": text} if text.strip() else None


def _tool_use(call: _Call) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": _plain(call.call.name), "input": _arguments(call.call)}


def _tool_result(call: _Call, result: _Result) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
    if result.text.strip():
        block["content"] = result.text
    if result.is_error:
        block["is_error"] = True
    return block


def _gemini(turns: Sequence[_Turn]) -> dict[str, Any]:
    system: list[dict[str, Any]] = []
    contents: list[dict[str, Any]] = []
    joins = False  # the last content may take more parts of its role: one of results takes none

    def add(role: str, parts: list[dict[str, Any]]) -> None:
        nonlocal joins
        if parts and joins and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": role, "parts": parts})
            joins = True

    for turn in turns:
        parts = [part for said in turn.parts if (part := _gemini_part(said, turn.role))]
        if turn.role == "system":
            system += parts
            continue
        add("model" if turn.role == "assistant" else "user", parts)
        # Without ids, which not all of its APIs take: results are known by their names and their order.
        add("model", [{"functionCall": _function_call(call.call)} for call in turn.calls])
        results = [_function_response(call, call.result) for call in turn.calls if call.result is not None]
        if results:
            joins = False
            add("user", [{"functionResponse": result} for result in results])
            joins = False
    return {"systemInstruction": {"parts": system}, "contents": contents} if system else {"contents": contents}


def _gemini_part(part: Part, role: str) -> dict[str, Any] | None:
    """Return a part; None for blank text, which is refused."""
    if role == "user" and part.url is not None and _GEMINI_MEDIA.fullmatch(part.media_type):
        if inline := _DATA_URL.fullmatch(part.url):
            return {"inlineData": {"mimeType": inline["type"], "data": inline["data"]}}
        return {"fileData": {"mimeType": part.media_type, "fileUri": part.url}}
    text = _part_text(part)
    return {"text": text} if text.strip() else None


def _function_call(call: ToolCall) -> dict[str, Any]:
    return {"name": _gemini_name(call), "args": _arguments(call)}


def _function_response(call: _Call, result: _Result) -> dict[str, Any]:
    return {"name": _gemini_name(call.call), "response": {"error" if result.is_error else "output": result.text}}


def _gemini_name(call: ToolCall) -> str:
    """Return the name of a function, which begins with a letter or an underscore."""
    name = _plain(call.name)
    return name if name[0].isalpha() or name[0] == "_" else _plain(f"_{name}")


_WRITERS = {Format.OPENAI: _openai, Format.ANTHROPIC: _anthropic, Format.GEMINI: _gemini}


def _arguments(call: ToolCall) -> dict[str, Any]:
    """Return the arguments as an object: themselves, or the one that their text is the JSON of, or one with them."""
    value = orjson.loads(call.arguments_json or "{}")
    if isinstance(value, str):
        try:
            inner = orjson.loads(value)
        except orjson.JSONDecodeError:
            inner = None
        value = inner if isinstance(inner, dict) else value
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"arguments": value}


def _plain(name: str, *, rest: str = r"[^A-Za-z0-9_-]") -> str:
    """Return a name of the characters that vendors take, and of their number."""
    return re.sub(rest, "_", name)[:_NAME_CHARS_MAX] or "_"


def _text(parts: Sequence[Part]) -> str:
    return "\n\n".join(map(_part_text, parts))


def _part_text(part: Part) -> str:
    """Return a part as text; a reference as JSON."""
    if part.text is not None:
        return part.text
    if part.data_json is not None:
        return part.data_json
    if part.url is not None:
        return part.url
    reference = {
        "working_memory_id": part.working_memory_id,
        "file_name": part.file_name,
        "media_type": part.media_type,
    }
    return orjson.dumps({name: value for name, value in reference.items() if value}).decode()


def _result_text(content_json: str) -> str:
    """Return what a tool answered as text: a text as it is, null as none, anything else as JSON."""
    value = orjson.loads(content_json)
    if value is None:
        return ""
    return value if isinstance(value, str) else content_json
