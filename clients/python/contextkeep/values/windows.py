"""Windows on contexts, and what they are packed to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.values.base import Value, parsed, parsed_object, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Window(Value):
    """What one model shall see of a context."""

    window_id: str
    context_id: str
    model: str
    message_format: str  # whose messages it packs: "openai", "openai_responses", "anthropic" or "gemini"
    tokens_family: str  # whose tokenizer counts: "o200k", "cl100k", "claude" or "gemini"
    context_tokens: int  # what the model takes, with its answer
    token_limit: int  # what a request may have
    system_prompt: str = ""  # a list of windows lacks it, and `tools_json`
    tools_json: str = ""
    goal: str = ""
    epoch: int = 0  # how often the prefix of its packs was broken
    reached_seq: int = 0  # all messages up to it are in it
    step_count: int = 0
    left_out_count: int = 0  # of them, steps that packs leave out
    owner_user_id: str = ""  # empty: nobody's in particular
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    is_closed: bool = False

    @property
    def tools(self) -> list[Any]:
        """Return the list of tools."""
        return parsed(self.tools_json) or []

    def __str__(self) -> str:
        closed = ", closed" if self.is_closed else ""
        return f"window of {self.model} on {self.context_id} ({self.token_limit} tokens{closed})"

    @classmethod
    def from_proto(cls, window: windows_pb.Window) -> Window:
        """Return the value of a message."""
        return cls(
            window_id=window.window_id,
            context_id=window.context_id,
            model=window.model,
            message_format=history_pb.MessageFormat.Name(window.format).removeprefix("MESSAGE_FORMAT_").lower(),
            tokens_family=window.tokens_family,
            context_tokens=window.context_tokens,
            token_limit=window.token_limit,
            system_prompt=window.system_prompt,
            tools_json=window.tools_json,
            goal=window.goal,
            epoch=window.epoch,
            reached_seq=window.reached_seq,
            step_count=window.step_count,
            left_out_count=window.left_out_count,
            owner_user_id=window.owner_user_id,
            created_by=window.created_by,
            created_at=time_of(window.created_at),
            updated_at=time_of(window.updated_at),
            is_closed=window.is_closed,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Pack(Value):
    """What a model shall see now, for the body of a request to it."""

    messages_json: str
    prefix_bytes: int = 0  # so many of them begin the next pack, too, until the epoch is another one
    prefix_sha: str = ""  # their SHA-256, in hexadecimal
    tokens: int = 0  # of the whole
    system_tokens: int = 0  # of them: system prompt, goal and tools
    note_tokens: int = 0  # and the note on what is left out
    verbatim_tokens: int = 0  # and steps as they were
    step_count: int = 0  # that are seen
    omitted_step_count: int = 0
    omitted_tokens: int = 0
    epoch: int = 0
    last_seq: int = 0  # the newest message that was read
    is_waiting: bool = False  # the last step waits for results: the model is to be asked when they are there

    @property
    def body(self) -> dict[str, Any]:
        """Return what goes into the request: `messages` (and `system`), Gemini's `contents`, or Responses' `input`.

        With `tools`, if the window has some.
        """
        return parsed_object(self.messages_json)

    def __str__(self) -> str:
        return self.messages_json

    @classmethod
    def from_proto(cls, pack: windows_pb.PackResponse) -> Pack:
        """Return the value of a message."""
        return cls(
            messages_json=pack.messages_json,
            prefix_bytes=pack.prefix_bytes,
            prefix_sha=pack.prefix_sha,
            tokens=pack.tokens,
            system_tokens=pack.tokens_by_zone.system,
            note_tokens=pack.tokens_by_zone.note,
            verbatim_tokens=pack.tokens_by_zone.verbatim,
            step_count=pack.step_count,
            omitted_step_count=pack.omitted.step_count,
            omitted_tokens=pack.omitted.tokens,
            epoch=pack.epoch,
            last_seq=pack.last_seq,
            is_waiting=pack.is_waiting,
        )
