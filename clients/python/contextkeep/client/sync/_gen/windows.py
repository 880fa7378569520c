# Generated from aio/_gen/windows.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of windows that are one RPC each, made by `make proto`."""

from __future__ import annotations

import builtins
from collections.abc import Generator, Sequence
from typing import Any

from contextkeep.client import _context_messages as contexts
from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client._window_messages import tools_json, window_config
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import chat_history_pb2 as chat_history_pb
from contextkeep.context.v1 import context_windows_pb2 as context_windows_pb
from contextkeep.inputs import RecallFilter
from contextkeep.values import (
    Calibrated,
    Checkpoint,
    CostEstimate,
    ExplainedPack,
    FoldReceipt,
    Merged,
    MessageFormat,
    Original,
    Outcome,
    RolledBack,
    Window,
    WindowConfig,
    WindowHit,
    WindowStats,
)


class Windows(Noun):
    """The calls of `client.windows` that are one RPC each."""

    def open(
        self,
        context_id: Id,
        model: str,
        *,
        context_tokens: int = 0,
        message_format: MessageFormat | None = None,
        system_prompt: str = "",
        tools: Sequence[Any] | None = None,
        goal: str = "",
        token_budget: float = 0.0,
        output_reservation: int = 0,
        compression_profile: str = "",
        config: WindowConfig | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Window:
        """Opens a window on a context.

        Its format and its model stay.

        Args:
            model: Such as "gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro", up to 200 characters: of those that are
                known, so are tokens and tokenizer.
            context_tokens: What the model takes, with its answer, up to 10,000,000. 0: what is known of it.
            message_format: None: that of the model's vendor; of an unknown one OpenAI's Chat Completions.
            system_prompt: Up to 256 KiB. What stands in front of all.
            tools: A JSON list as the vendor wants it, up to 1 MiB.
            goal: Up to 16 KiB; told to the model behind the system prompt.
            token_budget: Share of `context_tokens` that a request may have, up to 1. 0: 0.8.
            output_reservation: Tokens that are kept for the answer. 0: 4,096.
            compression_profile: "general", "coding", "research", "operations", or one that was put: "mine", as it was
                put last, or "mine@3". Empty: "general".
            config: How the window folds, and what it may cost. None: the defaults.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
            ContextClosed: The context takes no more messages.
            InvalidArgument: an unknown model without `context_tokens`; a number that cannot be.
            BudgetTooSmall: system prompt, tools and goal do not fit.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = context_windows_pb.OpenWindowRequest(
            context_id=messages.to_id(context_id),
            model=model,
            context_tokens=context_tokens,
            format=messages.choice_of("format", message_format, chat_history_pb.MessageFormat),
            system_prompt=system_prompt,
            tools_json=None if tools is None else tools_json(tools),
            goal=goal,
            token_budget=token_budget,
            output_reservation=output_reservation,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
            compression_profile=compression_profile,
            config=window_config(config),
        )
        answer: context_windows_pb.OpenWindowResponse = self._call("OpenWindow", request, timeout_s=timeout_s)
        return Window.from_proto(answer.window)

    def list(
        self, context_id: Id, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[Window, None, None]:
        """Lists the windows of a context, the newest first.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            ContextNotFound: There is no context with this id that the caller may see.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = context_windows_pb.ListWindowsRequest(
            context_id=messages.to_id(context_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: context_windows_pb.ListWindowsResponse = self._call("ListWindows", request, timeout_s=timeout_s)
            for one in page.windows:
                yield Window.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def close(
        self, window_id: Id, *, subject_user_id: str = "", request_id: Id | None = None, timeout_s: float | None = None
    ) -> Window:
        """Closes a window: it packs no more.

        The data of its packs are removed, with its system prompt, tools and goal. Again is harmless.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = context_windows_pb.CloseWindowRequest(
            window_id=messages.to_id(window_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.CloseWindowResponse = self._call("CloseWindow", request, timeout_s=timeout_s)
        return Window.from_proto(answer.window)

    def update(
        self,
        window_id: Id,
        *,
        system_prompt: str | None = None,
        tools: Sequence[Any] | None = None,
        goal: str | None = None,
        config: WindowConfig | None = None,
        token_budget: float | None = None,
        output_reservation: int | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Window:
        """Changes what is set, to what it is; all of it, or nothing.

        Another prompt, other tools and another goal break the prefix, with a receipt ("updated"). After another goal
        the window folds at once, if there is something to fold (a receipt of its own: "goal"); the answer is the window
        before that fold. Another `config` and another budget hold from the next pack on, and break nothing: a pack that
        is over them folds. The same again changes nothing.

        Args:
            system_prompt: As of `windows.open`. None: as it is. Empty: none.
            tools: As of `windows.open`. None: as they are.
            goal: As of `windows.open`. None: as it is. Empty: none.
            config: What is set in it; the rest stays as it is, also of `tier_ratios` and other groups.
            token_budget: As of `windows.open`. None: as it is. 0: the default.
            output_reservation: As of `windows.open`. None: as it is. 0: the default.
            subject_user_id: The user for whom a key without a user calls.
            request_id: The same one again changes nothing, and answers the window as it was after the change.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            WindowClosed: The window packs no more: open another one on its context.
            BudgetTooSmall: `least`: what stands in front of all does not fit, with what is pinned and what must be
                there of the state.
            InvalidArgument: A field is malformed; `violations` name it.
            LimitExceeded: A value is over a limit: `limit` (its name), `limit_max` and `value` in the metadata.
            RequestIdReused: The request id was used before, with other content or for another RPC.
            Aborted: others write to it all the time; again.
        """
        request = context_windows_pb.UpdateWindowRequest(
            window_id=messages.to_id(window_id),
            system_prompt=system_prompt,
            tools_json=None if tools is None else tools_json(tools),
            goal=goal,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
            config=window_config(config),
            token_budget=token_budget,
            output_reservation=output_reservation,
        )
        answer: context_windows_pb.UpdateWindowResponse = self._call("UpdateWindow", request, timeout_s=timeout_s)
        return Window.from_proto(answer.window)

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
        """Pins a text right behind the system prompt of every pack, word for word: no fold cuts it.

        What is pinned of a ref goes when its message is retracted. It breaks the prefix, and has a receipt ("pinned").

        Args:
            text: Either a text, or what is pinned of the log: "m37", a message, or "m37/2", its second part ("m37/0"
                its content), as a model reads it.
            ref: Instead of a text: the part of the log that is pinned. The pin goes when its message is retracted.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            WindowClosed: The window packs no more: open another one on its context.
            RefNotFound: The context has nothing that this ref names: see ExpandRequest for their forms.
            Erased: What a ref names was retracted, or what a repeated write was about is erased: nobody can read it any
                more.
            BudgetTooSmall: A window's limit has no room for what a pack must have: `least` and `token_limit` in the
                metadata.
            InvalidArgument: A field is malformed; `violations` name it.
            LimitExceeded: `pins`: a window has up to 100; one is of up to 16 KiB.
            RequestIdReused: The request id was used before, with other content or for another RPC.
            Aborted: Somebody else was faster; read again and decide anew.
        """
        request = context_windows_pb.PinRequest(
            window_id=messages.to_id(window_id),
            text=text,
            ref=ref,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.PinResponse = self._call("Pin", request, timeout_s=timeout_s)
        return answer.pin_id

    def unpin(
        self,
        window_id: Id,
        pin_id: Id,
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> None:
        """Removes a pin, with a receipt ("unpinned").

        Args:
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            WindowClosed: The window packs no more: open another one on its context.
            PinNotFound: The window has no such pin: it was removed, or what it was of was retracted.
            RequestIdReused: The request id was used before, with other content or for another RPC.
            Aborted: Somebody else was faster; read again and decide anew.
        """
        request = context_windows_pb.UnpinRequest(
            window_id=messages.to_id(window_id),
            pin_id=messages.to_id(pin_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        self._call("Unpin", request, timeout_s=timeout_s)

    def fold(
        self, window_id: Id, *, dry_run: bool = False, subject_user_id: str = "", timeout_s: float | None = None
    ) -> FoldReceipt:
        """Folds now, as `windows.pack` does when it must, and answers the account of it.

        With `dry_run` it says what it would do.

        Args:
            dry_run: Say what a fold would do, and change nothing.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            WindowClosed: The window packs no more: open another one on its context.
            FoldNoProgress: there is nothing to fold.
            Aborted: Somebody else was faster; read again and decide anew.
            WindowBehind: A window has more of its log to read than the call had time for. What it read stays: call
                again.
        """
        request = context_windows_pb.FoldRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id, dry_run=dry_run
        )
        answer: context_windows_pb.FoldResponse = self._call("Fold", request, timeout_s=timeout_s)
        return FoldReceipt.from_proto(answer.receipt)

    def prepare_fold(
        self,
        window_id: Id,
        *,
        expected_epoch: int | None = None,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> FoldReceipt:
        """Works out a fold ahead of need, next to the calls of a model, and keeps it with the window.

        Packs stay as they are, byte for byte. It catches up with the log first. A later one takes its place. It holds
        as long as the epoch and the config: a fold, another prompt, tools, goal or budget, a pin and a message that was
        retracted make it void.

        Args:
            expected_epoch: Of the pack that it is for, as Pack answered it. None: any.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            WindowClosed: The window packs no more: open another one on its context.
            FoldNoProgress: there is nothing to fold.
            FoldStale: the window has another epoch than `expected_epoch`; metadata `epoch`.
            Aborted: Somebody else was faster; read again and decide anew.
            WindowBehind: A window has more of its log to read than the call had time for. What it read stays: call
                again.
        """
        request = context_windows_pb.PrepareFoldRequest(
            window_id=messages.to_id(window_id), expected_epoch=expected_epoch, subject_user_id=subject_user_id
        )
        answer: context_windows_pb.PrepareFoldResponse = self._call("PrepareFold", request, timeout_s=timeout_s)
        return FoldReceipt.from_proto(answer.receipt)

    def commit_fold(
        self,
        window_id: Id,
        *,
        expected_epoch: int | None = None,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> FoldReceipt:
        """Folds as was prepared, without choosing lines anew, and answers the account of it.

        Of what came since, all stays verbatim, and the state of the work is written as of now: what was said meanwhile
        is in it. If nothing came, it is what `windows.fold` would do. If too much did, the next pack folds again.

        Args:
            expected_epoch: As `windows.prepare_fold` answered it. None: that of the fold which was prepared last.
            subject_user_id: The user for whom a key without a user calls.
            request_id: The same one again changes nothing, and answers the same receipt.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            WindowClosed: The window packs no more: open another one on its context.
            FoldNotPrepared: none was, by this config.
            FoldStale: the window has another epoch than `expected_epoch`, or than the fold was prepared for, also
                because that was committed; metadata `epoch`.
            Aborted: Somebody else was faster; read again and decide anew.
            WindowBehind: A window has more of its log to read than the call had time for. What it read stays: call
                again.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = context_windows_pb.CommitFoldRequest(
            window_id=messages.to_id(window_id),
            expected_epoch=expected_epoch,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.CommitFoldResponse = self._call("CommitFold", request, timeout_s=timeout_s)
        return FoldReceipt.from_proto(answer.receipt)

    def create_checkpoint(
        self,
        window_id: Id,
        label: str = "",
        *,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Checkpoint:
        """Keeps what the window is when it has read its log: a way back.

        It takes one row, however long the log is; packs stay what they are. A step that waits for results is not in it.
        By itself a window makes one behind each 50 steps (`checkpoint_every_n_steps`) and before each fold. Of these it
        keeps the newest 20 each, of those of callers the newest 100. A message that is retracted takes all of them with
        it.

        Args:
            label: Up to 200 characters, for whoever lists them.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            WindowClosed: The window packs no more: open another one on its context.
            WindowBehind: A window has more of its log to read than the call had time for. What it read stays: call
                again.
            LimitExceeded: `label`: 200 characters.
            InvalidArgument: A field is malformed; `violations` name it.
            RequestIdReused: The request id was used before, with other content or for another RPC.
            Aborted: Somebody else was faster; read again and decide anew.
        """
        request = context_windows_pb.CreateCheckpointRequest(
            window_id=messages.to_id(window_id),
            label=label,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.CreateCheckpointResponse = self._call(
            "CreateCheckpoint", request, timeout_s=timeout_s
        )
        return Checkpoint.from_proto(answer.checkpoint)

    def list_checkpoints(
        self, window_id: Id, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[Checkpoint, None, None]:
        """Lists the checkpoints of a window, the newest first.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = context_windows_pb.ListCheckpointsRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: context_windows_pb.ListCheckpointsResponse = self._call(
                "ListCheckpoints", request, timeout_s=timeout_s
            )
            for one in page.checkpoints:
                yield Checkpoint.from_proto(one)
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
        """Takes a window back to a checkpoint.

        The next pack is the one of then, byte for byte, with the prompt, tools and goal of now. Folds, pins, and what
        callers said of the state behind it are undone; messages behind it are left out of the window from then on, and
        so of whatever it recalls: what comes later follows the checkpoint. The log has them still: Expand answers them,
        other windows see them, and what of them shall be known is sent again, as new messages. Checkpoints behind it
        are gone. All of it happens, or nothing; the prefix breaks, with a receipt ("rolled_back").

        Args:
            checkpoint: The number of the checkpoint.
            expected_last_seq: The newest message of the log that the caller knows, such as `last_seq` of the last pack,
                or what appending answered.
            subject_user_id: The user for whom a key without a user calls.
            request_id: The same one again does nothing more, and answers what was done.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            WindowClosed: The window packs no more: open another one on its context.
            CheckpointNotFound: `NotFound`: none of this number, or no longer.
            LogMoved: the log has messages behind `expected_last_seq`, which nobody should lose unseen; metadata
                `last_seq`.
            LimitExceeded: `rollbacks`: a window leaves out up to 1,000 separate rows of messages.
            InvalidArgument: A field is malformed; `violations` name it.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = context_windows_pb.RollbackRequest(
            window_id=messages.to_id(window_id),
            checkpoint=checkpoint,
            expected_last_seq=expected_last_seq,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.RollbackResponse = self._call("Rollback", request, timeout_s=timeout_s)
        return RolledBack.from_proto(answer)

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
        """Merges a fork: writes its result as one message to the log that it was forked from.

        The message is the result of a tool: what the fork's assistant said last, then what it decided, set, changed and
        found broken, by its state. Each has a ref, such as "f3:m57/0", that Expand of any window there answers with the
        original. It is cut to `tokens_max`. No statement of it holds by itself where it came back: what was said in a
        fork makes no rule there. The fork is closed with that, context and window, and its keys end. A fork is merged
        once: again is the same message.

        Args:
            window_id: Of the fork.
            tokens_max: Of the message that comes back, by the tokenizer of the window that it was forked from. 0:
                2,000. An eighth of that one's `token_limit` at most.
            tool_call_id: The call of a tool that asked for the fork, in the log that it was forked from: the message is
                its result. Empty: it is told for itself.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            InvalidArgument: the window is none that `windows.fork` opened.
            PermissionDenied: the key does not reach what it was forked from.
            WindowClosed: The window packs no more: open another one on its context.
            ContextClosed: of what it was forked from.
            RequestIdReused: The request id was used before, with other content or for another RPC.
            Aborted: Somebody else was faster; read again and decide anew.
            WindowBehind: A window has more of its log to read than the call had time for. What it read stays: call
                again.
        """
        request = context_windows_pb.MergeWindowRequest(
            window_id=messages.to_id(window_id),
            tokens_max=tokens_max,
            tool_call_id=tool_call_id,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.MergeWindowResponse = self._call("MergeWindow", request, timeout_s=timeout_s)
        return Merged.from_proto(answer)

    def expand(self, window_id: Id, ref: str, *, subject_user_id: str = "", timeout_s: float | None = None) -> Original:
        """Answers the original of a ref that a pack, a receipt or a recall printed.

        Args:
            ref: "m37": a message; "m37/2": its second part, "m37/0" its content; "m37..m58": messages; "m37.0": a
                passage, as recall names it. Of a fork with what names it in front: "f3:m37".
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            RefNotFound: `NotFound`: none of this context, whoever else has it.
            Erased: `NotFound`: it was retracted.
            InvalidArgument: A field is malformed; `violations` name it.
        """
        request = context_windows_pb.ExpandRequest(
            window_id=messages.to_id(window_id), ref=ref, subject_user_id=subject_user_id
        )
        answer: context_windows_pb.ExpandResponse = self._call("Expand", request, timeout_s=timeout_s)
        return Original.from_proto(answer)

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
        """Finds passages of the window's log, the best first.

        It says which step each is of, and whether the last pack shows it. Reasons as `contexts.search`, and
        `WindowNotFound`.

        Args:
            query: Words to find.
            limit: 0: 20. Up to 200.
            filter: Which passages may be found.
            step_from: Steps, both included; 0: any. Of those in summaries, all steps of the segment count.
            step_to: The last step that is searched. 0: any.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.
        """
        request = context_windows_pb.SearchWindowRequest(
            window_id=messages.to_id(window_id),
            query=query,
            limit=limit,
            filter=contexts.recall_filter(filter, field="filter"),
            step_from=step_from,
            step_to=step_to,
            subject_user_id=subject_user_id,
        )
        answer: context_windows_pb.SearchWindowResponse = self._call("SearchWindow", request, timeout_s=timeout_s)
        return [WindowHit.from_proto(one) for one in answer.hits]

    def explain_pack(
        self, window_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None
    ) -> ExplainedPack:
        """Says part by part what the window shows, as the last pack had it.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
        """
        request = context_windows_pb.ExplainPackRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id
        )
        answer: context_windows_pb.ExplainPackResponse = self._call("ExplainPack", request, timeout_s=timeout_s)
        return ExplainedPack.from_proto(answer)

    def get_lineage(
        self, window_id: Id, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[FoldReceipt, None, None]:
        """Lists every break of the prefix with its account, the newest first.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            InvalidPageToken: The page token is malformed, or belongs to another query.
        """
        request = context_windows_pb.GetLineageRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: context_windows_pb.GetLineageResponse = self._call("GetLineage", request, timeout_s=timeout_s)
            for one in page.receipts:
                yield FoldReceipt.from_proto(one)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def record_usage(
        self,
        window_id: Id,
        *,
        epoch: int | None = None,
        pack_tokens: int = 0,
        input_tokens: int,
        cached_tokens: int = 0,
        cache_write_tokens: int = 0,
        output_tokens: int = 0,
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Calibrated:
        """Says what the vendor billed for a call of the model with a pack.

        It is kept with the window, and teaches how counts meet bills: of the last 128 calls of the tenant with the same
        model and compression profile, the ratio of `input_tokens` to `pack_tokens` that 95 of 100 did not pass is the
        `token_factor` by which budgets are kept from then on; the bytes of an epoch stay as they are. A ratio counts as
        0.5 at least and as 2 at most. What a key of `contexts.issue_key` was billed teaches its window alone.

        Args:
            epoch: `epoch` and `tokens` of the pack that was sent, as Pack answered them. Without an epoch it is the one
                that the window has now; without `pack_tokens` nothing is learned of the call, and it is kept all the
                same.
            pack_tokens: `tokens` of the pack that was sent. 0: the bill is kept, and nothing is learned from it.
            input_tokens: What the vendor billed, up to 100,000,000 each. `input_tokens` is all of the prompt, at least
                1, with what was read from a cache of it and what was written to one (of Anthropic's answers the sum of
                all three).
            cached_tokens: Tokens of the prompt that were read from a cache.
            cache_write_tokens: Tokens of the prompt that were written to a cache.
            output_tokens: Tokens of the answer.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. None: a new one.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            InvalidArgument: a number that cannot be; an epoch that the window has not had.
            RequestIdReused: The request id was used before, with other content or for another RPC.
        """
        request = context_windows_pb.RecordUsageRequest(
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
        answer: context_windows_pb.RecordUsageResponse = self._call("RecordUsage", request, timeout_s=timeout_s)
        return Calibrated.from_proto(answer)

    def record_outcome(
        self,
        window_id: Id,
        *,
        step_from: int = 0,
        step_to: int = 0,
        success: bool,
        quality: float | None = None,
        lesson: str = "",
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Outcome:
        """Says how steps ended, which rules cannot see: they know of a step only whether a call failed.

        When a fold chooses lines, what ended well is worth more by `importance_weights.success` (0.05; say more, if
        outcomes are to weigh more). It catches up with the log first. What is said later of the same steps takes its
        place; a rollback, and a retraction that has the window read its log anew, forget it of the steps behind. A
        `lesson` is kept as a memory of kind "experience" of the user, with the window's goal: see Knowledge.

        Args:
            step_from: Steps, both included, from 1. `step_to` 0: the last one; `step_from` 0: as `step_to`.
            step_to: The last step. 0: the last that there is.
            success: Whether they did what they were for; and how well, 0 to 1. None: 1. What failed counts as 0.
            quality: How well the steps ended, 0 to 1. None: 1. What failed counts as 0.
            lesson: What was learned, for other windows of the user. Empty: nothing is remembered.
            subject_user_id: The user for whom a key without a user calls.
            request_id: The same one again changes nothing, and answers the same.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            WindowClosed: The window packs no more: open another one on its context.
            InvalidArgument: the window has no such steps; a quality that is none.
            LimitExceeded: `lesson`: 8,000 characters; `memories`.
            SubjectRequired: What the call is about belongs to users: `subject_user_id` must name one, unless the key
                has a user.
            PermissionDenied: a lesson of nobody, or by a key of `contexts.issue_key`.
            WindowBehind: A window has more of its log to read than the call had time for. What it read stays: call
                again.
            RequestIdReused: The request id was used before, with other content or for another RPC.
            Aborted: Somebody else was faster; read again and decide anew.
        """
        request = context_windows_pb.RecordOutcomeRequest(
            window_id=messages.to_id(window_id),
            step_from=step_from,
            step_to=step_to,
            success=success,
            quality=quality,
            lesson=lesson,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.RecordOutcomeResponse = self._call("RecordOutcome", request, timeout_s=timeout_s)
        return Outcome.from_proto(answer)

    def estimate_cost(
        self,
        window_id: Id,
        *,
        steps: int = 0,
        step_tokens: int = 0,
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> CostEstimate:
        """Estimates what the next packs cost, with their folds, as a vendor's cache bills them that stays warm.

        For comparison it says what a window would cost that leaves out the older half whenever it is full. Of answers
        nothing is counted.

        Args:
            steps: How many steps are ahead, up to 100,000, with a pack behind each.
            step_tokens: Of one, as they are counted, up to 10,000,000. 0: like the last ones.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
            InvalidArgument: A field is malformed; `violations` name it.
        """
        request = context_windows_pb.EstimateCostRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id, steps=steps, step_tokens=step_tokens
        )
        answer: context_windows_pb.EstimateCostResponse = self._call("EstimateCost", request, timeout_s=timeout_s)
        return CostEstimate.from_proto(answer)

    def stats(self, window_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None) -> WindowStats:
        """Answers the numbers of a window: how much of its log it shows, how often its prefix broke, and its bill.

        It says how much its packs had in common, too.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline; None: the client's.

        Raises:
            WindowNotFound: There is no window with this id that the caller may see, or its context is gone.
        """
        request = context_windows_pb.WindowStatsRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id
        )
        answer: context_windows_pb.WindowStatsResponse = self._call("WindowStats", request, timeout_s=timeout_s)
        return WindowStats.from_proto(answer)
