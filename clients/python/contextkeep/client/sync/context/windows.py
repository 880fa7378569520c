# Generated from aio/context/windows.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Windows on contexts: the part of one that a model sees, within its budget."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, fields, replace
from typing import Concatenate, ParamSpec

from contextkeep.client import _messages as messages
from contextkeep.client._handles import Bound, Handle
from contextkeep.client._messages import Id
from contextkeep.client._window_messages import (
    EXPANDED_RANGE_BYTES,
    check_expanded_size,
    original_of,
    pack_id_of,
    prefix_of,
)
from contextkeep.client.sync._gen import windows as gen
from contextkeep.client.sync.body_files import contents_of
from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import Unavailable
from contextkeep.values import (
    Original,
    Pack,
    Recovered,
    Window,
    WindowEvent,
)
from contextkeep.values.windows import pack_of

_ENTRIES_AT_ONCE = 1_000  # of a page


_P = ParamSpec("_P")


def _opening(
    method: Callable[Concatenate[Windows, _P], Window],
) -> Callable[Concatenate[Windows, _P], OpenWindow]:
    """Return a method that adds the methods of a handle to the window that it opens."""

    @functools.wraps(method)
    def open_window(windows: Windows, /, *args: _P.args, **named: _P.kwargs) -> OpenWindow:
        window = method(windows, *args, **named)
        values = {field.name: getattr(window, field.name) for field in fields(window) if field.init}
        return OpenWindow(**values, _noun=windows, _user_id=str(named.get("subject_user_id", "")))

    return open_window


class Windows(gen.Windows):
    """Windows on contexts. A window that does not exist, or that the caller may not see, is `WindowNotFound`."""

    def handle(self, window_id: Id, *, subject_user_id: str = "") -> WindowHandle:
        """Return the methods that are about one window, for a user if one is given. Makes no call."""
        return WindowHandle(self, window_id, subject_user_id)

    open = _opening(gen.Windows.open)

    def pack(
        self,
        window_id: Id,
        *,
        since: Pack | None = None,
        without_recall: bool = False,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> Pack:
        """Return the pack: the messages that the model should see now. It extends the last pack until a compaction.

        A window with a thousand unread messages takes a second or two. The client reads the bytes of files once and
        caches up to 64 MiB of them.

        Args:
            window_id: The window.
            since: The previous pack. If the new one begins with it, the service sends only the new part.
            without_recall: Append no recalled passages.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: the window does not exist.
            WindowClosed: the window is closed.
            WindowBehind: the call had no time to read all new messages; the next call continues.
            BudgetTooSmall: the fixed parts do not fit: `least` in the metadata.
            TokensSpent: with this pack the window has more tokens than its `max_total_tokens`.
            AnswerTooLarge: the pack does not fit one answer, even without the bytes of files.
        """
        request = windows_pb.PackRequest(
            window_id=messages.to_id(window_id),
            without_recall=without_recall,
            subject_user_id=subject_user_id,
            files=history_pb.FILE_DELIVERY_REFERENCES,
            **prefix_of(since),
        )
        pack = pack_of(self._call("Pack", request, timeout_s=timeout_s), since)
        return self._with_files(pack, subject_user_id)

    def pack_body(
        self, window_id: Id, *, without_recall: bool = False, subject_user_id: str = ""
    ) -> Generator[bytes, None, None]:
        """Yield the body of a pack as JSON, with the bytes of its files, in chunks. `pack` suits most callers.

        Args:
            window_id: The window.
            without_recall: Append no recalled passages.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.

        Raises:
            ContextKeepError: the same errors as `pack`.
        """
        request = windows_pb.PackBodyRequest(
            window_id=messages.to_id(window_id), without_recall=without_recall, subject_user_id=subject_user_id
        )
        answers = self._stream("PackBody", request)
        with closing(answers):
            for answer in answers:
                if answer.chunk:
                    yield answer.chunk

    def _with_files(self, pack: Pack, subject_user_id: str) -> Pack:
        """Return a pack with the bytes of its files."""
        if not pack.files:
            return pack
        contents = contents_of(pack.files, self._file_cache, self._stream, subject_user_id=subject_user_id)
        return replace(pack, file_bytes=contents)

    def expand(self, window_id: Id, ref: str, *, subject_user_id: str = "", timeout_s: float | None = None) -> Original:
        """Return the original of a ref that a pack, a receipt or a recall has shown; a file of up to 10 MiB whole.

        Args:
            window_id: The window.
            ref: "m37" is a message; "m37/2" its second part, "m37/0" its content, "m37/2/1" the first file of the
                result in its second part; "m37..m58" a range of messages; "m37.0" a passage, as recall names it. For a
                fork, with the fork's ref before it: "f3:m37".
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.
            timeout_s: Deadline of each call in seconds. None means the client's. A file over 3.9 MiB takes several.

        Raises:
            WindowNotFound: the window does not exist.
            RefNotFound: this context has no such ref, even if another context has it.
            Erased: the message was retracted.
            AnswerTooLarge: the file has more than 10 MiB; `blobs.get` reads it.
            BlobCorrupted: stored bytes are missing or do not match their checksum.
        """
        request = windows_pb.ExpandRequest(
            window_id=messages.to_id(window_id),
            ref=ref,
            subject_user_id=subject_user_id,
            length_bytes=EXPANDED_RANGE_BYTES,
        )
        answer = self._call("Expand", request, timeout_s=timeout_s)
        size_bytes, ranges = answer.size_bytes, [answer.content]
        check_expanded_size(size_bytes)
        while (read_bytes := sum(map(len, ranges))) < size_bytes:
            request.offset_bytes = read_bytes
            ranges.append((self._call("Expand", request, timeout_s=timeout_s)).content)
        return original_of(answer, ranges)

    def report_response(
        self,
        window_id: Id,
        pack: Pack,
        *,
        invalid: bool,
        expected_last_seq: int | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Recovered | None:
        """Report whether the response to a pack was valid. If not, return the pack to retry with, otherwise None.

        An invalid response undoes the steps that led to it: the window returns to its last checkpoint before the pack,
        and recalls passages around the pack's last messages. `recovery_strategy` of its config chooses the steps to
        leave out.

        Args:
            window_id: The window.
            pack: The pack that was sent to the model.
            invalid: The response could not be used.
            expected_last_seq: The newest message of the log that you know, such as the response, if it was appended;
                None: the last of the pack.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.
            request_id: A UUID. A repeat with the same one changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: the window does not exist.
            WindowClosed: the window is closed.
            InvalidArgument: the window has had no such pack.
            LogMoved: the log has messages after the one that you know; nothing was done.
        """
        request = windows_pb.ReportResponseRequest(
            window_id=messages.to_id(window_id),
            pack_id=pack_id_of(pack),
            invalid=invalid,
            expected_last_seq=expected_last_seq,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: windows_pb.ReportResponseResponse = self._call("ReportResponse", request, timeout_s=timeout_s)
        if not response.HasField("pack"):
            return None
        recovered = Recovered.from_proto(response)
        return replace(recovered, pack=self._with_files(recovered.pack, subject_user_id))

    def watch(
        self,
        window_id: Id,
        *,
        epoch_after: int = 0,
        entry_from: int = 0,
        until_now: bool = False,
        subject_user_id: str = "",
    ) -> Generator[WindowEvent, None, None]:
        """Yield the changes of a window: breaks of its prefix, new entries of its state, and the changed window.

        If a replica stops, the stream continues on another one. It ends when the window is closed.

        Args:
            window_id: The window.
            epoch_after: Only breaks after this epoch, such as that of the last pack. 0 means all.
            entry_from: The first entry of the state; 0 means all in force. A `WindowEvent` has both values for the next
                call.
            until_now: Stop after the events that exist now.
            subject_user_id: The user to act for; the key must have no user of its own, and the scope `delegate`.

        Raises:
            WindowNotFound: the window does not exist, or was deleted meanwhile.
            Unauthenticated: the key was revoked, or has expired.
            TooManyCalls: too many watches are open.
            Unavailable: no replica answers.
        """
        request = windows_pb.WatchWindowRequest(
            window_id=messages.to_id(window_id),
            epoch_after=epoch_after,
            entry_from=entry_from,
            until_now=until_now,
            subject_user_id=subject_user_id,
        )
        while True:
            begun = False
            try:
                answers = self._stream("WatchWindow", request)
                with closing(answers):
                    for answer in answers:
                        begun = True
                        request.epoch_after, request.entry_from = answer.epoch_after, answer.entry_from
                        if answer.WhichOneof("event"):
                            yield WindowEvent.from_proto(answer)
                return
            except Unavailable:
                if not begun:
                    raise


class WindowMethods(Handle):
    """The methods of `windows` that are about one window, with its id bound."""

    __slots__ = ()
    _id_field = "window_id"

    get = Bound(Windows.get)
    update = Bound(Windows.update)
    pin = Bound(Windows.pin)
    unpin = Bound(Windows.unpin)
    patch_state = Bound(Windows.patch_state)
    pack = Bound(Windows.pack)
    pack_body = Bound(Windows.pack_body)
    fold = Bound(Windows.fold)
    prepare_fold = Bound(Windows.prepare_fold)
    commit_fold = Bound(Windows.commit_fold)
    create_checkpoint = Bound(Windows.create_checkpoint)
    list_checkpoints = Bound(Windows.list_checkpoints)
    rollback = Bound(Windows.rollback)
    report_response = Bound(Windows.report_response)
    fork = Bound(Windows.fork)
    merge = Bound(Windows.merge)
    expand = Bound(Windows.expand)
    search = Bound(Windows.search)
    explain_pack = Bound(Windows.explain_pack)
    get_lineage = Bound(Windows.get_lineage)
    trace_message = Bound(Windows.trace_message)
    get_state = Bound(Windows.get_state)
    watch = Bound(Windows.watch)
    record_usage = Bound(Windows.record_usage)
    record_outcome = Bound(Windows.record_outcome)
    estimate_cost = Bound(Windows.estimate_cost)
    stats = Bound(Windows.stats)
    close = Bound(Windows.close)


class WindowHandle(WindowMethods):
    """A window by its id."""

    __slots__ = ("_noun", "_user_id", "window_id")

    def __init__(self, windows: Windows, window_id: Id, subject_user_id: str = "") -> None:
        self._noun = windows
        self._user_id = subject_user_id
        self.window_id = messages.to_id(window_id)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OpenWindow(Window, WindowMethods):
    """A window as it was opened, with the methods that are about it: `window.pack()`. It equals the `Window`."""

    _noun: Windows
    _user_id: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Window):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in fields(Window) if field.compare)

    __hash__ = Window.__hash__
