# Generated from aio/context/windows.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Windows on contexts: the part of one that a model sees, within its budget."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import fields, replace
from typing import Any, Concatenate, ParamSpec, Self

from contextkeep.client import _context_messages as contexts
from contextkeep.client import _messages as messages
from contextkeep.client._handles import Bound, Handle
from contextkeep.client._messages import ForkInheritance, Id, MessageFormat
from contextkeep.client._window_messages import pack_id_of, prefix_of, tools_json, window_config
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.errors import Unavailable
from contextkeep.inputs import RecallFilter, StateEntryInput
from contextkeep.values import (
    Calibrated,
    Checkpoint,
    CostEstimate,
    ExplainedPack,
    FoldReceipt,
    Forked,
    Merged,
    Original,
    Outcome,
    Pack,
    Recovered,
    RolledBack,
    StateEntry,
    Window,
    WindowConfig,
    WindowEvent,
    WindowFork,
    WindowHit,
    WindowStats,
)
from contextkeep.values.windows import pack_of

_ENTRIES_AT_ONCE = 1_000  # of a page


_P = ParamSpec("_P")


def _opening(
    method: Callable[Concatenate[Windows, _P], Window],
) -> Callable[Concatenate[Windows, _P], OpenWindow]:
    """Return a method that gives the window which it opens the methods of a handle."""

    @functools.wraps(method)
    def opened(windows: Windows, /, *args: _P.args, **named: _P.kwargs) -> OpenWindow:
        return OpenWindow.of(windows, method(windows, *args, **named))

    return opened


class Windows(Noun):
    """Windows on contexts. One that is of another's context, or not there at all, is `WindowNotFound`."""

    def handle(self, window_id: Id) -> WindowHandle:
        """Return the methods that are about one window, without a call."""
        return WindowHandle(self, window_id)

    @_opening
    def open(
        self,
        context_id: Id,
        model: str,
        *,
        system_prompt: str = "",
        tools: Sequence[Any] | None = None,
        goal: str = "",
        message_format: MessageFormat | None = None,
        context_tokens: int = 0,
        token_budget: float = 0.0,
        output_reservation: int = 0,
        compression_profile: str = "",
        config: WindowConfig | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Window:
        """Open a window on a context, and return it.

        Args:
            context_id: What it reads.
            model: Such as "gpt-5": of those that are known, so are tokens, tokenizer and format.
            system_prompt: What stands in front of all, up to 256 KiB.
            tools: JSON values as the vendor wants them, up to 1 MiB.
            goal: Told to the model behind the system prompt, up to 16 KiB.
            message_format: Whose messages: "openai" (Chat Completions), "openai_responses", "anthropic" or "gemini".
                None: that of the model.
            context_tokens: What the model takes, with its answer. 0: what is known of it.
            token_budget: The share of it that a request may have. 0: 0.8.
            output_reservation: Tokens that are kept for the answer. 0: 4,096.
            compression_profile: What it keeps when it folds: "general", "coding", "research", "operations", or one that
                was put: "mine", as it was put last, or "mine@3".
            config: How it folds, and what it may cost. None: the defaults.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again answers the same window. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: there is no such context.
            ContextClosed: it is closed.
            BudgetTooSmall: what stands in front of all does not fit: `least` in the metadata.
            InvalidArgument: the model is not known, and `context_tokens` is 0; a number of `config` cannot be.
            LimitExceeded: the context has 16 open windows, or something is too large.
        """
        request = windows_pb.OpenWindowRequest(
            context_id=messages.to_id(context_id),
            model=model,
            context_tokens=context_tokens,
            format=messages.choice("message_format", message_format, messages.FORMATS) if message_format else None,
            system_prompt=system_prompt,
            tools_json="" if tools is None else tools_json(tools),
            goal=goal,
            token_budget=token_budget,
            output_reservation=output_reservation,
            compression_profile=compression_profile,
            config=window_config(config),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: windows_pb.OpenWindowResponse = self._call("OpenWindow", request, timeout_s=timeout_s)
        return Window.from_proto(response.window)

    def get(self, window_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None) -> Window:
        """Return a window, with what was forked from it.

        Raises:
            WindowNotFound: there is none.
        """
        request = windows_pb.GetWindowRequest(window_id=messages.to_id(window_id), subject_user_id=subject_user_id)
        response: windows_pb.GetWindowResponse = self._call("GetWindow", request, timeout_s=timeout_s)
        return replace(Window.from_proto(response.window), forks=tuple(map(WindowFork.from_proto, response.forks)))

    def list(
        self, context_id: Id, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[Window, None, None]:
        """Yield the windows of a context, the newest first, without prompts and tools, following the pages.

        Args:
            context_id: Whose.
            subject_user_id: For which user a key without one calls.
            page_size: Windows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            ContextNotFound: there is no such context.
        """
        request = windows_pb.ListWindowsRequest(
            context_id=messages.to_id(context_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: windows_pb.ListWindowsResponse = self._call("ListWindows", request, timeout_s=timeout_s)
            for window in page.windows:
                yield Window.from_proto(window)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def update(
        self,
        window_id: Id,
        *,
        system_prompt: str | None = None,
        tools: Sequence[Any] | None = None,
        goal: str | None = None,
        token_budget: float | None = None,
        output_reservation: int | None = None,
        config: WindowConfig | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Window:
        """Change what a window shows in front of all, or its config, and return it; the same again changes nothing.

        A change in front breaks the prefix of the window's packs. After another goal the window folds, if there is
        something to fold; the window that is returned is the one before that fold. Another budget or config breaks
        nothing, and holds from the next pack on.

        Args:
            window_id: Which.
            system_prompt: See `open`. None: as it is; empty: none.
            tools: Likewise.
            goal: Likewise.
            token_budget: See `open`. None: as it is; 0: 0.8.
            output_reservation: Likewise; 0: 4,096.
            config: What of it is other now; what is None in it stays as it is.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
            BudgetTooSmall: it does not fit, with what is pinned and what must be there of the state: `least` in the
                metadata.
            InvalidArgument: a number cannot be.
        """
        request = windows_pb.UpdateWindowRequest(
            window_id=messages.to_id(window_id),
            system_prompt=system_prompt,
            tools_json=None if tools is None else tools_json(tools),
            goal=goal,
            token_budget=token_budget,
            output_reservation=output_reservation,
            config=window_config(config),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: windows_pb.UpdateWindowResponse = self._call("UpdateWindow", request, timeout_s=timeout_s)
        return Window.from_proto(response.window)

    def pin(
        self,
        window_id: Id,
        text: str = "",
        *,
        ref: str = "",
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> str:
        """Pin a text right behind the system prompt of every pack, and return the id of the pin.

        It breaks the prefix of the window's packs; no fold cuts it. `get_state(window_id, ["pin"])` lists pins.

        Args:
            window_id: Which.
            text: Up to 16 KiB.
            ref: Instead of it, of what in the log: "m37" is a message, "m37/2" its second part ("m37/0" its content).
                The pin goes when the message is retracted.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again answers the same pin. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
            RefNotFound: the context has nothing of this ref.
            Erased: it was retracted.
            BudgetTooSmall: all that is pinned does not fit: `least` in the metadata.
            LimitExceeded: the window has 100 pins, or the text is too large.
        """
        request = windows_pb.PinRequest(
            window_id=messages.to_id(window_id),
            text=text,
            ref=ref,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: windows_pb.PinResponse = self._call("Pin", request, timeout_s=timeout_s)
        return response.pin_id

    def unpin(
        self,
        window_id: Id,
        pin_id: Id,
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Remove a pin; this breaks the prefix, too.

        Raises:
            WindowNotFound: there is no such window.
            WindowClosed: it is closed.
            PinNotFound: it has no such pin.
        """
        request = windows_pb.UnpinRequest(
            window_id=messages.to_id(window_id),
            pin_id=messages.to_id(pin_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        self._call("Unpin", request, timeout_s=timeout_s)

    def patch_state(
        self,
        window_id: Id,
        entries: Sequence[StateEntryInput] = (),
        *,
        remove: Sequence[StateEntryInput] = (),
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> int:
        """Say what holds in the state of the work, and what no longer does; return how many entries changed.

        The next pack that does not wait for results tells a model so behind the last step; the prefix stays. Each entry
        takes the place of what was said of the same before, by whomever, and gives way to what the log says later.

        Args:
            window_id: Which.
            entries: Up to 100, with those that are removed.
            remove: First; what is not there is passed over.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
            BudgetTooSmall: what must be in each pack does not fit: `least` in the metadata.
            InvalidArgument: an entry cannot be: the violation names its field.
            LimitExceeded: the window would hold more than 500 entries of callers, or one is too long.
        """
        request = windows_pb.PatchStateRequest(
            window_id=messages.to_id(window_id),
            set=[contexts.state_entry(one, field="entries") for one in entries],
            remove=[contexts.state_entry_name(one, field="remove") for one in remove],
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: windows_pb.PatchStateResponse = self._call("PatchState", request, timeout_s=timeout_s)
        return response.changed_count

    def pack(
        self,
        window_id: Id,
        *,
        since: Pack | None = None,
        without_recall: bool = False,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> Pack:
        """Return what the model shall see now: what it saw before with more behind it, until the window folds.

        A window that is far behind its context takes its time: a second or two for a thousand messages.

        Args:
            window_id: Which.
            since: The pack before: as long as this one begins with it, only what is new is sent.
            without_recall: Append nothing that is recalled.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it packs no more.
            WindowBehind: it has more to read than there was time for; the next call goes on.
            BudgetTooSmall: the last step does not fit, cut to what matters: `least` in the metadata.
            TokensSpent: with this pack the window has more tokens than its `max_total_tokens`.
            AnswerTooLarge: what fits the model fits no answer.
        """
        request = windows_pb.PackRequest(
            window_id=messages.to_id(window_id),
            without_recall=without_recall,
            subject_user_id=subject_user_id,
            **prefix_of(since),
        )
        return pack_of(self._call("Pack", request, timeout_s=timeout_s), since)

    def fold(
        self,
        window_id: Id,
        *,
        dry_run: bool = False,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> FoldReceipt:
        """Fold a window now, and return the account; `pack` does so by itself when it must.

        Args:
            window_id: Which.
            dry_run: Say what a fold would do, and change nothing.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
            FoldNoProgress: there is nothing to fold.
        """
        request = windows_pb.FoldRequest(
            window_id=messages.to_id(window_id), dry_run=dry_run, subject_user_id=subject_user_id
        )
        response: windows_pb.FoldResponse = self._call("Fold", request, timeout_s=timeout_s)
        return FoldReceipt.from_proto(response.receipt)

    def prepare_fold(
        self,
        window_id: Id,
        *,
        expected_epoch: int | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> FoldReceipt:
        """Work out a fold beside the calls of a model, and return what it does if nothing comes until it is committed.

        Packs stay what they are. It holds as long as the epoch; a later one takes its place.

        Args:
            window_id: Which.
            expected_epoch: Of the pack that it is for; None: any.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
            FoldStale: it has another epoch than was expected.
            FoldNoProgress: there is nothing to fold.
        """
        request = windows_pb.PrepareFoldRequest(
            window_id=messages.to_id(window_id),
            expected_epoch=expected_epoch,
            subject_user_id=subject_user_id,
        )
        response: windows_pb.PrepareFoldResponse = self._call("PrepareFold", request, timeout_s=timeout_s)
        return FoldReceipt.from_proto(response.receipt)

    def commit_fold(
        self,
        window_id: Id,
        *,
        expected_epoch: int | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> FoldReceipt:
        """Fold a window as was prepared, and return the account.

        What came since stays as it is, and the state of the work is written as of now.

        Args:
            window_id: Which.
            expected_epoch: Of the pack that it was prepared for; None: that of the last preparation.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
            FoldNotPrepared: no fold was prepared.
            FoldStale: it has another epoch than was expected, or than it had when the fold was prepared: prepare again.
        """
        request = windows_pb.CommitFoldRequest(
            window_id=messages.to_id(window_id),
            expected_epoch=expected_epoch,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: windows_pb.CommitFoldResponse = self._call("CommitFold", request, timeout_s=timeout_s)
        return FoldReceipt.from_proto(response.receipt)

    def create_checkpoint(
        self,
        window_id: Id,
        label: str = "",
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Checkpoint:
        """Keep what a window is, but for a step that waits for results, and return the way back.

        Packs stay what they are.

        Args:
            window_id: Which.
            label: Up to 200 characters, for whoever lists them.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
        """
        request = windows_pb.CreateCheckpointRequest(
            window_id=messages.to_id(window_id),
            label=label,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: windows_pb.CreateCheckpointResponse = self._call("CreateCheckpoint", request, timeout_s=timeout_s)
        return Checkpoint.from_proto(response.checkpoint)

    def list_checkpoints(
        self, window_id: Id, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[Checkpoint, None, None]:
        """Yield the checkpoints of a window, the newest first, following the pages.

        Raises:
            WindowNotFound: there is none.
        """
        request = windows_pb.ListCheckpointsRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: windows_pb.ListCheckpointsResponse = self._call("ListCheckpoints", request, timeout_s=timeout_s)
            for checkpoint in page.checkpoints:
                yield Checkpoint.from_proto(checkpoint)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def rollback(
        self,
        window_id: Id,
        checkpoint: int,
        *,
        expected_last_seq: int,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> RolledBack:
        """Make a window what it was at a checkpoint, and return what that did.

        Messages behind the checkpoint are left out of the window. They stay in the log: what of them shall be known is
        sent again, as new messages.

        Args:
            window_id: Which.
            checkpoint: Its number.
            expected_last_seq: The newest message of the log that you know, such as `last_seq` of the last pack.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
            CheckpointNotFound: it has no such checkpoint, or no longer.
            LogMoved: the log has messages behind that one; nothing was done.
        """
        request = windows_pb.RollbackRequest(
            window_id=messages.to_id(window_id),
            checkpoint=checkpoint,
            expected_last_seq=expected_last_seq,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: windows_pb.RollbackResponse = self._call("Rollback", request, timeout_s=timeout_s)
        return RolledBack.from_proto(response)

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
        """Say what came of a pack, and return what to try again with; None: its response was valid.

        An invalid one takes back what led to it: the window goes back to its last checkpoint before the pack, and what
        is out of sight around the pack's last messages is recalled. `recovery_strategy` of its config says what is left
        out.

        Args:
            window_id: Which.
            pack: That the model was asked with.
            invalid: Its response is of no use.
            expected_last_seq: The newest message of the log that you know, such as the response, if it was appended;
                None: the last of the pack.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again rolls back no more. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
            InvalidArgument: the window has had no such pack.
            LogMoved: the log has messages behind the one that you know; nothing was done.
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
        return Recovered.from_proto(response) if response.HasField("pack") else None

    def fork(
        self,
        window_id: Id,
        task: str,
        *,
        inherits: ForkInheritance = "state",
        model: str = "",
        context_tokens: int = 0,
        system_prompt: str | None = None,
        tools: Sequence[Any] | None = None,
        key_ttl_s: int = 0,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Forked:
        """Give a part of the work a context and a window of its own, for somebody else to work on meanwhile.

        The context begins with the task as the message of a user. Whoever sees the one that it is forked from sees it,
        and it goes with that; the key in the answer reaches nothing else.

        Args:
            window_id: From which.
            task: What is to be done, up to 16 KiB; the goal of its window, too.
            inherits: "state": what holds, and what is pinned; "pins"; or "nothing".
            model: As of `open`. Empty: that of the window.
            context_tokens: What another model takes. 0: what is known of it.
            system_prompt: None: that of the window.
            tools: None: those of the window.
            key_ttl_s: Of its key: seconds until it ends, at most a day. 0: an hour.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again answers the same fork, with another key. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
            ContextClosed: its context is.
            BudgetTooSmall: what stands in front of all does not fit.
            LimitExceeded: 64 forks of the context are not merged, or it is a fork of 8 others.
        """
        request = windows_pb.ForkWindowRequest(
            window_id=messages.to_id(window_id),
            task=task,
            inherits=messages.choice("inherits", inherits, messages.FORK_INHERITANCES),
            model=model,
            context_tokens=context_tokens,
            system_prompt=system_prompt,
            tools_json=None if tools is None else tools_json(tools),
            key_ttl_s=key_ttl_s,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        return Forked.from_proto(self._call("ForkWindow", request, timeout_s=timeout_s))

    def merge(
        self,
        window_id: Id,
        *,
        tokens_max: int = 0,
        tool_call_id: str = "",
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Merged:
        """Bring back what came of a fork as one message where it was forked, close it, and return the message's place.

        Its refs, such as "f3:m57", lead `expand` to the originals. A fork is merged once: again is the same message.

        Args:
            window_id: Of the fork.
            tokens_max: That the message may have. 0: 2,000. An eighth of the other window's limit at most.
            tool_call_id: The call of a tool that asked for the fork: the message is its result. Empty: it is told for
                itself.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            InvalidArgument: it was not forked.
            PermissionDenied: the key does not reach what it was forked from.
            WindowClosed, ContextClosed: what it was forked from is closed.
        """
        request = windows_pb.MergeWindowRequest(
            window_id=messages.to_id(window_id),
            tokens_max=tokens_max,
            tool_call_id=tool_call_id,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        return Merged.from_proto(self._call("MergeWindow", request, timeout_s=timeout_s))

    def expand(self, window_id: Id, ref: str, *, subject_user_id: str = "", timeout_s: float | None = None) -> Original:
        """Return the original of a ref that a pack, a receipt or a recall printed.

        Args:
            window_id: Of which window's context.
            ref: "m37" is a message, "m37/2" its second part ("m37/0" its content), "m37..m58" are messages, "m37.0" is
                a passage. "f3:m37" is a message of a fork.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            RefNotFound: the context has nothing of this ref.
            Erased: it was retracted, or the fork is erased.
            InvalidArgument: it is no ref.
        """
        request = windows_pb.ExpandRequest(
            window_id=messages.to_id(window_id), ref=ref, subject_user_id=subject_user_id
        )
        return Original.from_proto(self._call("Expand", request, timeout_s=timeout_s))

    def search(
        self,
        window_id: Id,
        query: str,
        *,
        limit: int = 0,
        filter: RecallFilter | None = None,
        step_from: int = 0,
        step_to: int = 0,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> builtins.list[WindowHit]:
        """Return the passages of a window's log that a query finds, the best first, with the steps that they are of.

        Args:
            window_id: Which.
            query: Words to find.
            limit: Passages at most, up to 200. 0: 20.
            filter: Which passages are meant.
            step_from: The first step that is meant. 0: any.
            step_to: The last one. 0: any.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            InvalidArgument: the query is empty.
        """
        request = windows_pb.SearchWindowRequest(
            window_id=messages.to_id(window_id),
            query=query,
            limit=limit,
            filter=contexts.recall_filter(filter),
            step_from=step_from,
            step_to=step_to,
            subject_user_id=subject_user_id,
        )
        response: windows_pb.SearchWindowResponse = self._call("SearchWindow", request, timeout_s=timeout_s)
        return [WindowHit.from_proto(hit) for hit in response.hits]

    def explain_pack(
        self, window_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None
    ) -> ExplainedPack:
        """Return part by part what a window shows, as its last pack had it.

        Raises:
            WindowNotFound: there is none.
        """
        request = windows_pb.ExplainPackRequest(window_id=messages.to_id(window_id), subject_user_id=subject_user_id)
        return ExplainedPack.from_proto(self._call("ExplainPack", request, timeout_s=timeout_s))

    def get_lineage(
        self, window_id: Id, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[FoldReceipt, None, None]:
        """Yield the account of every break of a window's prefix, the newest first, following the pages.

        Raises:
            WindowNotFound: there is none.
        """
        request = windows_pb.GetLineageRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: windows_pb.GetLineageResponse = self._call("GetLineage", request, timeout_s=timeout_s)
            for receipt in page.receipts:
                yield FoldReceipt.from_proto(receipt)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def get_state(
        self,
        window_id: Id,
        sections: Sequence[str] = (),
        *,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> builtins.list[StateEntry]:
        """Return the state of the work, as rules read it from the log and callers said it, in the order of that.

        Args:
            window_id: Which.
            sections: Such as "constraint", "value" or "pin". Empty: all.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            InvalidArgument: there is no such section.
        """
        request = windows_pb.GetStateRequest(
            window_id=messages.to_id(window_id),
            sections=sections,
            subject_user_id=subject_user_id,
            page_size=_ENTRIES_AT_ONCE,
        )
        entries: list[StateEntry] = []
        while True:
            page: windows_pb.GetStateResponse = self._call("GetState", request, timeout_s=timeout_s)
            entries += map(StateEntry.from_proto, page.entries)
            if not page.next_page_token:
                return entries
            request.page_token = page.next_page_token

    def watch(
        self,
        window_id: Id,
        *,
        epoch_after: int = 0,
        entry_from: int = 0,
        until_now: bool = False,
        subject_user_id: str = "",
    ) -> Generator[WindowEvent, None, None]:
        """Yield what changes of a window: breaks of its prefix, what came into the state, the window as it is then.

        It goes on from where it was when a replica stops, and ends when the window is closed.

        Args:
            window_id: Which.
            epoch_after: Breaks behind this epoch, such as that of the last pack. 0: all.
            entry_from: The first entry of the state. 0: all that hold. A `WindowEvent` has both for the next call.
            until_now: End when all is told that is there.
            subject_user_id: For which user a key without one calls.

        Raises:
            WindowNotFound: there is none, or none any more.
            Unauthenticated: the key is revoked, or over.
            TooManyCalls: there are as many watches as there may be.
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

    def record_usage(
        self,
        window_id: Id,
        *,
        input_tokens: int,
        cached_tokens: int = 0,
        cache_write_tokens: int = 0,
        output_tokens: int = 0,
        pack_tokens: int = 0,
        epoch: int | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Calibrated:
        """Say what the vendor billed for a call of the model, and return what that taught about the window's counts.

        Args:
            window_id: Of which window the pack was.
            input_tokens: Of all of the prompt. Of Anthropic's answers the sum of `input_tokens`,
                `cache_read_input_tokens` and `cache_creation_input_tokens`.
            cached_tokens: Of them, what was read from a cache of the prompt.
            cache_write_tokens: And what was written to one.
            output_tokens: Of the answer.
            pack_tokens: `tokens` of the pack that was sent. 0: the bill is kept, and nothing is learned of it.
            epoch: And its `epoch`. None: that which the window has now.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again counts once. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            InvalidArgument: a number cannot be, such as more tokens in the cache than in the prompt.
        """
        request = windows_pb.RecordUsageRequest(
            window_id=messages.to_id(window_id),
            epoch=epoch,
            pack_tokens=pack_tokens,
            input_tokens=input_tokens,
            cached_tokens=cached_tokens,
            cache_write_tokens=cache_write_tokens,
            output_tokens=output_tokens,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        return Calibrated.from_proto(self._call("RecordUsage", request, timeout_s=timeout_s))

    def record_outcome(
        self,
        window_id: Id,
        *,
        success: bool,
        quality: float | None = None,
        step_from: int = 0,
        step_to: int = 0,
        lesson: str = "",
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Outcome:
        """Say how steps of a window ended, and return which were meant: a fold keeps rather what ended well.

        Args:
            window_id: Which.
            success: They did what they were for.
            quality: How well, 0 to 1. None: 1. What failed counts as 0.
            step_from: The first one. 0: as `step_to`.
            step_to: The last one. 0: the last that there is.
            lesson: What was learned, kept as a memory of the user. Empty: nothing is.
            subject_user_id: For which user a key without one calls.
            request_id: A UUID. The same one again changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            WindowClosed: it is closed.
            InvalidArgument: it has no such steps, or the quality is none.
            SubjectRequired: the lesson is nobody's.
        """
        request = windows_pb.RecordOutcomeRequest(
            window_id=messages.to_id(window_id),
            step_from=step_from,
            step_to=step_to,
            success=success,
            quality=quality,
            lesson=lesson,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        return Outcome.from_proto(self._call("RecordOutcome", request, timeout_s=timeout_s))

    def estimate_cost(
        self,
        window_id: Id,
        *,
        steps: int = 0,
        step_tokens: int = 0,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> CostEstimate:
        """Return what a window's next packs cost, with folds as they come.

        Args:
            window_id: Which.
            steps: How many are ahead, up to 100,000, with a pack behind each.
            step_tokens: Of one. 0: like the last ones.
            subject_user_id: For which user a key without one calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: there is none.
            InvalidArgument: a number cannot be.
        """
        request = windows_pb.EstimateCostRequest(
            window_id=messages.to_id(window_id),
            subject_user_id=subject_user_id,
            steps=steps,
            step_tokens=step_tokens,
        )
        return CostEstimate.from_proto(self._call("EstimateCost", request, timeout_s=timeout_s))

    def stats(self, window_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None) -> WindowStats:
        """Return a window in numbers: what it shows of its log, how often its prefix broke, and what that cost.

        Raises:
            WindowNotFound: there is none.
        """
        request = windows_pb.WindowStatsRequest(window_id=messages.to_id(window_id), subject_user_id=subject_user_id)
        return WindowStats.from_proto(self._call("WindowStats", request, timeout_s=timeout_s))

    def close(
        self,
        window_id: Id,
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Window:
        """Close a window, and return it without prompt, tools and goal; again is harmless. The log stays.

        Raises:
            WindowNotFound: there is none.
        """
        request = windows_pb.CloseWindowRequest(
            window_id=messages.to_id(window_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        response: windows_pb.CloseWindowResponse = self._call("CloseWindow", request, timeout_s=timeout_s)
        return Window.from_proto(response.window)


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
    get_state = Bound(Windows.get_state)
    watch = Bound(Windows.watch)
    record_usage = Bound(Windows.record_usage)
    record_outcome = Bound(Windows.record_outcome)
    estimate_cost = Bound(Windows.estimate_cost)
    stats = Bound(Windows.stats)
    close = Bound(Windows.close)


class WindowHandle(WindowMethods):
    """A window by its id."""

    __slots__ = ("_noun", "window_id")

    def __init__(self, windows: Windows, window_id: Id) -> None:
        self._noun = windows
        self.window_id = messages.to_id(window_id)


class OpenWindow(Window, WindowMethods):
    """A window as it was opened, with the methods that are about it: `window.pack()`. It equals the `Window`."""

    __slots__ = ("_noun",)

    @classmethod
    def of(cls, windows: Windows, window: Window) -> Self:
        """Return a window with methods."""
        made = cls(**{each.name: getattr(window, each.name) for each in fields(window) if each.init})
        object.__setattr__(made, "_noun", windows)  # the value is frozen
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Window):
            return NotImplemented
        return all(getattr(self, each.name) == getattr(other, each.name) for each in fields(Window) if each.compare)

    __hash__ = Window.__hash__
