"""Histories as bodies of requests: records become files, whose bytes are inserted if the caller asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from context_service.history.model import ChatMessage
from context_service.history.pure.formats import formatted, record_ids, with_files
from context_service.kernel.rendering import Format, PlacedFile
from context_service.working_memory.room import FileContents, size_with_files
from contextkeep.errors import AnswerTooLarge
from service_runtime.rpc.principal import Principal

ANSWER_BYTES_MAX = 4 * 1024 * 1024 - 4096  # gRPC's default, less the headers


@dataclass(frozen=True, slots=True, kw_only=True)
class FormattedHistory:
    """A history as the body of a request.

    Attributes:
        body_json: The body.
        files: The files whose bytes the body lacks.
        results_left_out: Results without a call in the history, and results that a later result replaces.
        calls_unanswered: Calls without a result, for which the body has one that says so.
    """

    body_json: str
    files: Sequence[PlacedFile]
    results_left_out: int
    calls_unanswered: int


class Formatting:
    """Formats histories; each call acts for its principal.

    Args:
        contents: Reads the bytes of files.
    """

    def __init__(self, contents: FileContents) -> None:
        self._contents = contents

    async def format(
        self, messages: Sequence[ChatMessage], to: Format, *, principal: Principal, is_inline: bool
    ) -> FormattedHistory:
        """Return messages as the body of a request to a vendor.

        A record that the caller may not read, or that has no file of a kind that a vendor takes, is a line of text.

        Args:
            messages: The messages, oldest first.
            to: The vendor's format.
            principal: The caller, for whom records are read.
            is_inline: Insert the bytes of files.

        Raises:
            AnswerTooLarge: the body with the bytes of its files does not fit one answer.
        """
        stored = await self._contents.files_of(record_ids(messages), principal=principal)
        if stored:
            messages = with_files(messages, {record_id: stored_file.file for record_id, stored_file in stored.items()})
        # Off the event loop, because a long history would block other calls for too long.
        done = await asyncio.to_thread(formatted, messages, to)
        body, files = done.body.json, done.body.files
        if is_inline and files:
            size_bytes = size_with_files(len(body), files)
            if size_bytes > ANSWER_BYTES_MAX:
                raise AnswerTooLarge(
                    f"the history has {size_bytes:,} bytes with its files; an answer may have up to"
                    f" {ANSWER_BYTES_MAX:,}: ask for files=REFERENCES, or set max_messages or tokens_max",
                    use="files=REFERENCES",
                    size_bytes=size_bytes,
                    size_bytes_max=ANSWER_BYTES_MAX,
                )
            body, files = await self._contents.whole(body, files, stored), []
        return FormattedHistory(
            body_json=body.decode(),
            files=files,
            results_left_out=done.results_left_out,
            calls_unanswered=done.calls_unanswered,
        )
