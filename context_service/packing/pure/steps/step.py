"""Steps: the units of a window.

A step is an assistant's message with all results of its tool calls, or any other message. A request to a model must
have the result of a call right after the call. In a log this is not so: a user may speak while a tool runs, and results
come one by one. So a step is closed when all of its calls have a result, and messages that came meanwhile follow it.
A step is also closed without all results when nothing waits for them any more: if the assistant speaks again, if the
log ends with a later message, or if too many messages came. A result that comes after that is a step of its own.

A message with only reasoning forms one step with the assistant's next message: frameworks write items one by one, and
vendors refuse reasoning without the item that follows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import orjson

from context_service.contexts.model import Message
from context_service.kernel.parts import Part, ToolResult, texts_of
from context_service.kernel.rendering import Call, Result, Turn
from context_service.kernel.rendering.turns import NO_RESULT, in_order, is_only_reasoning, result_text, text_of
from context_service.packing.pure.texts.quotation import speaker_of
from context_service.windows.pure.refs import file_ref, is_fork, ref_of, refs_between

# How many messages, and how much text, a step may wait for its results. A call that continues a log reads it from the
# beginning of the waiting step on, so these limits also bound what such a call reads again.
WAITED_MESSAGES_MAX = 1_024  # a message has at most this many calls
WAITED_CHARS_MAX = 8 * 1024 * 1024


@dataclass(slots=True)
class Step:
    """One step, closed or not.

    Attributes:
        seqs: The `seq` of each message of the step, in order. Messages of other steps may be between them.
        turn: The texts of the speaker, and the calls of tools.
        said_refs: The ref of each part of the turn, in order.
        call_refs: The ref of each call, by the id of the call.
        result_refs: The ref of the result of each call, by the id of the call.
        speaker: The tool or the fork of a late result, or the author whom an imported message names. Both are shown as
            a user's turn, whose text is quoted when it is rendered. Empty for all other steps.
        note: A line above that quotation, or an empty text.
        is_imported: The message, or the calls, come from an import. Turns of the assistant stay as they are, since
            quotation marks in them would teach the model to write such marks; sources and summaries name the import.
    """

    seqs: list[int]
    turn: Turn
    said_refs: list[str] = field(default_factory=list)
    call_refs: dict[str, str] = field(default_factory=dict)
    result_refs: dict[str, str] = field(default_factory=dict)
    speaker: str = ""
    note: str = ""
    is_imported: bool = False

    @property
    def author(self) -> str:
        """Who spoke, from `speaker_of`."""
        return self.speaker or speaker_of(self.turn.role, self.turn.name, is_imported=self.is_imported)

    @property
    def is_open(self) -> bool:
        """Whether a call of the step has no result yet."""
        return any(call.result is None for call in self.turn.calls)


@dataclass(frozen=True, slots=True)
class StepSplit:
    """The steps that messages were cut into.

    Attributes:
        closed: Steps that stay as they are, in the order in which a model reads them.
        open: The last step, if it waits for results. Reasoning that waits for the assistant's next message is left out.
        next_seq: The first message that is not in `closed`, from which the next call reads; None if all are closed.
    """

    closed: list[Step]
    open: Step | None
    next_seq: int | None


def cut(messages: Iterable[Message], *, is_end: bool) -> StepSplit:
    """Cut messages into steps, each with its tool calls and their results.

    Args:
        messages: The messages in the order of the log, from the beginning of a step on.
        is_end: The log has no message after these. Then a waiting step is closed if another message came after it.
    """
    cutting = _Cutting()
    for message in messages:
        cutting.add(message)
    if is_end and cutting.behind:
        cutting.close()
    if cutting.open is None:
        return StepSplit(cutting.closed, None, None)
    return StepSplit(cutting.closed, None if cutting.thinks else cutting.open, cutting.open.seqs[0])


@dataclass(slots=True)
class _Cutting:
    """The steps that were cut so far, and the step that still waits for results."""

    closed: list[Step] = field(default_factory=list)
    open: Step | None = None
    behind: list[Step] = field(default_factory=list)  # the steps of messages that came while `open` waits
    _ids: list[str] = field(default_factory=list)  # the ids of the calls of `open`, as the log has them
    _waited_messages: int = 0
    _waited_chars: int = 0

    def add(self, message: Message) -> None:
        """Add the next message; close the open step if it has waited for too many messages or characters."""
        self._read(message)
        if self.open is None:
            self._waited_messages = self._waited_chars = 0
            return
        self._waited_messages += 1
        self._waited_chars += sum(map(len, texts_of(message.content, message.parts)))
        if self._waited_messages >= WAITED_MESSAGES_MAX or self._waited_chars >= WAITED_CHARS_MAX:
            self.close()

    @property
    def thinks(self) -> bool:
        """Whether the open step is only reasoning, which the assistant's next message completes."""
        return self.open is not None and not self.open.turn.calls and is_only_reasoning(self.open.turn.parts)

    def _read(self, message: Message) -> None:
        """Sort the parts of a message: give results to open calls, and begin a step with an assistant's text or calls.

        The text of a tool message that has no result part counts as a result. Reasoning waits for the assistant's next
        message, because no vendor accepts it alone.
        """
        numbered = [(part, ref_of(message.seq, number)) for number, part in in_order(message.content, message.parts)]
        part_refs = [(_with_ref(part, ref), ref) for part, ref in numbered]
        parts = [part for part, _ in part_refs if not (part.tool_call or part.tool_result)]
        said_refs = [ref for part, ref in part_refs if not (part.tool_call or part.tool_result)]
        calls = [(part.tool_call, ref) for part, ref in part_refs if part.tool_call]
        results = [(part.tool_result, ref) for part, ref in part_refs if part.tool_result]
        if message.role == "tool" and parts and not results:  # the text of the message is the result
            text = text_of([part for part in parts if not part.file])
            files = tuple(part.file for part in parts if part.file)
            result = ToolResult(tool_call_id="", content_json=orjson.dumps(text).decode(), files=files)
            results = [(result, said_refs[0] if len(parts) == 1 else refs_between(message.seq, message.seq))]
            parts = []
        if self.thinks and (results or (parts and message.role != "assistant")):
            self.close()  # the assistant has not continued after the reasoning, so the step ends without an answer
        for result, ref in results:
            self._answer(message, result, ref)
        if message.role == "assistant" and (parts or calls):
            seqs = [message.seq]
            if self.open is not None and self.thinks:
                seqs = [*self.open.seqs, message.seq]
                # New reasoning replaces the earlier reasoning, whose next item was never written.
                if not (parts and parts[0].reasoning):
                    parts, said_refs = [*self.open.turn.parts, *parts], [*self.open.said_refs, *said_refs]
                self.open = None
            else:
                self.close()
                self._waited_messages = self._waited_chars = 0
            turn = Turn("assistant", message.name, parts)
            turn.calls = [Call(call, id=f"call_{message.seq}_{number}") for number, (call, _) in enumerate(calls)]
            call_refs = {tool_call.id: ref for tool_call, (_, ref) in zip(turn.calls, calls, strict=True)}
            step = Step(seqs, turn, said_refs, call_refs, is_imported=message.is_imported)
            self.open, self._ids = step, [call.id for call, _ in calls]
            if not calls and not self.thinks:
                self.close()
        elif parts:
            self._put(_spoken(message, parts, said_refs))

    def close(self) -> None:
        """Close the open step, and put the messages that came in the meantime after it.

        Calls without a result get the result `NO_RESULT`, because vendors refuse a call without one.
        """
        if self.open:
            for call in self.open.turn.calls:
                call.result = call.result or Result(NO_RESULT, is_error=True)
            self.closed.append(self.open)
        self.closed += self.behind
        self.open, self.behind = None, []

    def _put(self, step: Step) -> None:
        """Append a step, after the open step if there is one."""
        (self.behind if self.open else self.closed).append(step)

    def _answer(self, message: Message, result: ToolResult, ref: str) -> None:
        """Give a call its result. A result that no open call waits for becomes a text."""
        text = result_text(result.content_json)
        waiting = (
            [
                call
                for call, call_id in zip(self.open.turn.calls, self._ids, strict=True)
                if call.result is None and result.tool_call_id in ("", call_id)
            ]
            if self.open
            else []
        )
        if not self.open or not waiting:
            speaker, note = _late_result(message, result)
            files = [Part(file=file) for file in result.files]
            late = Turn("user", parts=[Part(text=text), *files])
            refs = [ref] * len(late.parts)
            self._put(Step([message.seq], late, refs, speaker=speaker, note=note, is_imported=message.is_imported))
            return
        waiting[0].result = Result(text, result.is_error, result.files)
        self.open.result_refs[waiting[0].id] = ref
        if self.open.seqs[-1] != message.seq:
            self.open.seqs.append(message.seq)
        if not self.open.is_open:
            self.close()


def _with_ref(part: Part, ref: str) -> Part:
    """Return a part whose files have refs: a file that is not shown is a line with its ref."""
    if part.file:
        return replace(part, file=replace(part.file, ref=ref))
    if part.tool_result and part.tool_result.files:
        numbered = enumerate(part.tool_result.files, 1)
        files = tuple(replace(file, ref=file_ref(ref, number)) for number, file in numbered)
        return replace(part, tool_result=replace(part.tool_result, files=files))
    return part


def _spoken(message: Message, parts: list[Part], refs: list[str]) -> Step:
    """Return the step of a message that is not the assistant's; one of an import is a quotation in a user's turn."""
    if message.is_imported:
        speaker = speaker_of(message.role, message.name, is_imported=True)
        return Step([message.seq], Turn("user", "", parts), refs, speaker=speaker, is_imported=True)
    role = message.role if message.role == "system" else "user"
    return Step([message.seq], Turn(role, message.name, parts), refs)


def _late_result(message: Message, result: ToolResult) -> tuple[str, str]:
    """Return the speaker of a result that no call waits for, and a note on it.

    The note is empty for the result of a fork (a subtask with its own context), which always comes this way.
    """
    if is_fork(result.tool_call_id):
        return speaker_of("fork", result.tool_call_id), ""
    of = f" of the call {result.tool_call_id}" if result.tool_call_id else ""
    name = message.name if message.role == "tool" else ""
    speaker = speaker_of("tool", name, is_imported=message.is_imported)
    return speaker, f"[A result{of} that came late, or twice]"
