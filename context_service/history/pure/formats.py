"""Chat histories in the request formats of model vendors.

All vendors refuse a request in which a tool result does not directly follow its call, or has no call. Graphs do not
have that order: a user may write while a tool runs, a result may be older than its call, and the call of a result may
be cut off because only the newest messages are read. So `_Conversation` pairs the results with their calls; the package
`rendering` then turns the conversation into a request.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

from context_service.history.model import ChatMessage
from context_service.kernel.parts import File, Part, ToolCall
from context_service.kernel.rendering import (
    Body,
    Call,
    Format,
    Result,
    Turn,
    beginning,
    body,
    in_place,
    roles_shared,
    with_speaker,
)
from context_service.kernel.rendering.turns import NO_RESULT, in_order, is_only_reasoning, result_text, text_of

_MEDIA = re.compile(r"(?:image|audio|video)/|application/pdf$")  # what some vendor takes as a file
_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_ID_DIGITS = 32
_NOTHING = Result("", is_error=False)


class Formatted(NamedTuple):
    """A history in the form that a vendor's request body needs."""

    body: Body  # see `rendering.body`
    results_left_out: int  # results without a call in the history, and results that a later result replaces
    calls_unanswered: int  # calls without a result, for which `NO_RESULT` is sent


def formatted(messages: Iterable[ChatMessage], to: Format) -> Formatted:
    """Return a history in a vendor's format.

    Calls and results stay together: the assistant's calls, then one result for each, in the same order. A tool message
    without a `tool_result` part answers the first call without a result in the last turn with calls. Calls of the very
    last turn may stay without results, which are still to come. If the history begins with the assistant, because only
    the newest messages were read, a user's note is put before it for vendors that require one.
    """
    conversation = _Conversation()
    for message in messages:
        conversation.add(message)
    results_left_out = conversation.pair()
    calls_unanswered = 0
    for turn in conversation.turns[:-1]:
        for call in turn.calls:
            if call.result is None:
                call.result = Result(NO_RESULT, is_error=True)
                calls_unanswered += 1
    turns = _as_sent(conversation.turns, to)
    turns = beginning(turns, to) + turns
    return Formatted(body(turns, to), results_left_out, calls_unanswered)


def record_ids(messages: Iterable[ChatMessage]) -> set[str]:
    """Return the ids of the records that parts of messages name: a record with a picture is shown as one."""
    return {part.working_memory_id for message in messages for part in message.parts if part.working_memory_id}


def with_files(messages: Iterable[ChatMessage], files: Mapping[str, File]) -> list[ChatMessage]:
    """Return messages in which files stand for the records that have them.

    Args:
        messages: The messages.
        files: The files by the ids of their records. A file that no vendor takes stays a reference.
    """
    shown = {record_id: file for record_id, file in files.items() if _MEDIA.match(file.media_type)}
    return [
        message._replace(parts=tuple(_with_file(part, shown) for part in message.parts)) if message.parts else message
        for message in messages
    ]


def _with_file(part: Part, files: Mapping[str, File]) -> Part:
    file = files.get(part.working_memory_id or "")
    return Part(file=replace(file, name=part.file_name or file.name)) if file else part


def _as_sent(turns: Sequence[Turn], to: Format) -> list[Turn]:
    """Return turns in the form that a vendor accepts.

    If several speakers share a role, their names are put into the text for vendors without a field for names. System
    messages after the beginning are put into other roles for vendors that accept them only at the beginning.
    """
    shared = roles_shared(turns)
    if shared:
        turns = [with_speaker(turn, to) if turn.role in shared else turn for turn in turns]
    first = next((index for index, turn in enumerate(turns) if turn.role != "system"), len(turns))
    return [*turns[:first], *(in_place(turn, to) if turn.role == "system" else turn for turn in turns[first:])]


def _result_of(parts: Sequence[Part]) -> Result:
    """Return the texts and files of a tool's message as a result."""
    files = tuple(part.file for part in parts if part.file)
    return Result(text_of([part for part in parts if not part.file]), is_error=False, files=files)


class _Conversation:
    """The turns of a history, with each tool result paired with its call."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._joining: Turn | None = None  # the assistant's last turn, to which its next message may belong
        self._joining_key = ""  # the `turn` of the messages in that turn; empty if they have none
        self._of_key: dict[str, Turn] = {}  # turns of the assistant by the `turn` of their messages
        self._calling: Turn | None = None  # the last turn with calls
        self._ids: set[str] = set()
        # Calls by their id in the history. If several turns use the same id, a result belongs to the last of them.
        self._open: dict[str, tuple[Turn, deque[Call]]] = {}
        self._last: dict[str, Call] = {}
        self._early: defaultdict[str, deque[Result]] = defaultdict(deque)  # results that came before their call
        self._unnamed: list[tuple[Turn | None, Result]] = []
        self._results_replaced = 0

    def add(self, message: ChatMessage) -> None:
        """Add a message of the history."""
        if message.content and not message.parts and message.role != "tool":  # a short way for most messages
            self._add_texts(message, [Part(text=message.content)])
            return
        texts = [
            part
            for _, part in in_order(message.content, message.parts)
            if not (part.tool_call or part.tool_result or part.text == "")
        ]
        calls = [part.tool_call for part in message.parts if part.tool_call]
        results = [part.tool_result for part in message.parts if part.tool_result]
        if message.role != "tool" and texts:
            self._add_texts(message, texts)
        for call in calls:
            self._add_call(call, message)
        # The texts and files of a tool's message belong to the first result, or are the result.
        of_tool = _result_of(texts) if message.role == "tool" else _NOTHING
        for result in results:
            text = "\n\n".join(filter(None, [of_tool.text, result_text(result.content_json)]))
            self._add_result(result.tool_call_id, Result(text, result.is_error, (*of_tool.files, *result.files)))
            of_tool = _NOTHING
        if of_tool != _NOTHING:
            self._unnamed.append((self._calling, of_tool))
            self._joining = None

    def pair(self) -> int:
        """Pair calls without results with early or unnamed results; return how many results belong to no call."""
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

    def _add_texts(self, message: ChatMessage, texts: list[Part]) -> None:
        """Add the texts of a message to the turn with the message's key, or else as a new turn."""
        if message.role != "assistant":
            self.turns.append(Turn(message.role, message.name, texts))
            self._joining = None
        elif turn := self._of_key.get(message.turn):
            turn.parts += texts
            self._go_on(turn, message)
        elif (turn := self._turn_before(message)) and not turn.calls and is_only_reasoning(turn.parts):
            # Reasoning goes with what follows it; other reasoning does not.
            turn.parts = texts if texts[0].reasoning else [*turn.parts, *texts]
            self._go_on(turn, message)
        else:
            self._begin(Turn("assistant", message.name, texts), message)

    def _add_call(self, call: ToolCall, message: ChatMessage) -> None:
        """Add a call to the turn of its message, or to a new one, and remember that it waits for its result."""
        turn = self._of_key.get(message.turn) or self._turn_before(message)
        if turn is None:
            turn = Turn("assistant", message.name)
            self._begin(turn, message)
        else:
            self._go_on(turn, message)
        self._calling = turn
        new_call = Call(call, self._own_id(call.id))
        turn.calls.append(new_call)
        self._last[call.id] = new_call
        of_turn, waiting = self._open.get(call.id, (turn, deque()))
        if of_turn is not turn:
            waiting = deque()
        waiting.append(new_call)
        self._open[call.id] = turn, waiting

    def _begin(self, turn: Turn, message: ChatMessage) -> None:
        """Begin a turn of the assistant."""
        self.turns.append(turn)
        self._go_on(turn, message)

    def _go_on(self, turn: Turn, message: ChatMessage) -> None:
        """Remember that a message belongs to a turn of the assistant, and that the next one may."""
        if self._joining is not turn:
            self._joining, self._joining_key = turn, ""
        turn.name = turn.name or message.name
        if message.turn:
            self._joining_key = message.turn
            self._of_key[message.turn] = turn

    def _turn_before(self, message: ChatMessage) -> Turn | None:
        """Return the turn right before a message if the message may belong to it: agents may work at the same time."""
        turn, key = self._joining, self._joining_key
        if turn is None:
            return None
        is_other = message.turn and key and message.turn != key
        return None if is_other or (message.name and turn.name not in ("", message.name)) else turn

    def _add_result(self, call_id: str, result: Result) -> None:
        """Give a result to its call: to the first one with this id that has none, else in place of the last result.

        A result without an earlier call is kept for a call that may come later.
        """
        self._joining = None
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
        """Return an id that vendors accept and that is unique in the history: the call's own id if it can be used."""
        candidate, attempt = call_id, 0
        while candidate in self._ids or not _ID.fullmatch(candidate):
            candidate = f"call_{sha256(f'{len(self._ids)} {attempt} {call_id}'.encode()).hexdigest()[:_ID_DIGITS]}"
            attempt += 1
        self._ids.add(candidate)
        return candidate
