# Generated from aio/_gen/windows.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of windows that are one RPC each, made by `make proto`."""

from __future__ import annotations

import builtins
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from contextkeep.client import _context_messages as contexts
from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client._window_messages import tools_json, window_config
from contextkeep.client.sync.client import Noun
from contextkeep.context.v1 import chat_history_pb2 as chat_history_pb
from contextkeep.context.v1 import context_windows_pb2 as context_windows_pb
from contextkeep.inputs import RecallFilter, StateEntryInput
from contextkeep.values import (
    Calibrated,
    Checkpoint,
    CostEstimate,
    ExplainedPack,
    FoldReceipt,
    ForkInheritance,
    Merged,
    MessageFormat,
    MessageTrace,
    Outcome,
    RolledBack,
    StateEntry,
    Window,
    WindowConfig,
    WindowHit,
    WindowStats,
)
from contextkeep.values.windows import Forked, window_with_forks


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
        """Open a window on a context.

        Its format and its model cannot be changed later.

        Args:
            model: Name of the model, such as "gpt-5", "claude-sonnet-4-5" or "gemini-2.5-pro", up to 200 characters.
                The service knows the context size and the tokenizer of common models.
            context_tokens: Tokens that the model accepts, including its answer, up to 10,000,000. 0 means the known
                size of the model.
            message_format: None means the format of the model's vendor. For an unknown model, it means OpenAI's Chat
                Completions.
            system_prompt: The beginning of every pack. Up to 256 KiB.
            tools: A JSON list in the form of the vendor, up to 1 MiB.
            goal: Up to 16 KiB. The model reads it after the system prompt.
            token_budget: Share of `context_tokens` that a request may have, up to 1. 0 means 0.8.
            output_reservation: Tokens to reserve for the answer. 0 means 4,096.
            compression_profile: "general", "coding", "research", "operations", or a profile of the tenant: "mine" for
                its newest version, or "mine@3". Empty means "general".
            config: How the window folds, and how many tokens it may use. None means the defaults.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            ContextClosed: The context is closed or past its lifetime, and takes no more messages.
            InvalidArgument: an unknown model without `context_tokens`; a number out of range.
            BudgetTooSmall: system prompt, tools and goal do not fit.
            LimitExceeded: A value exceeds a limit.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
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

    def get(self, window_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None) -> Window:
        """Read a window and list its forks.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
        """
        request = context_windows_pb.GetWindowRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id
        )
        answer: context_windows_pb.GetWindowResponse = self._call("GetWindow", request, timeout_s=timeout_s)
        return window_with_forks(answer)

    def list(
        self, context_id: Id, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[Window, None, None]:
        """List the windows of a context, newest first.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = context_windows_pb.ListWindowsRequest(
            context_id=messages.to_id(context_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: context_windows_pb.ListWindowsResponse = self._call("ListWindows", request, timeout_s=timeout_s)
            for item in page.windows:
                yield Window.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def close(
        self, window_id: Id, *, subject_user_id: str = "", request_id: Id | None = None, timeout_s: float | None = None
    ) -> Window:
        """Close a window, so that it packs no more.

        The stored data of its packs are removed, with its system prompt, tools and goal. Closing a closed window
        changes nothing.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
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
        """Change the fields of a window that the request sets, all or none.

        A new system prompt, new tools or a new goal break the prefix, and have a receipt ("updated"). After a new goal
        the window folds at once if there is something to fold, with a second receipt ("goal"); the answer is the window
        before that fold. A new `config` or budget applies from the next pack on and breaks nothing; a pack that exceeds
        the new budget folds. Setting the same values again changes nothing.

        Args:
            system_prompt: As in `windows.open`. None means no change. Empty removes it.
            tools: As in `windows.open`. None means no change.
            goal: As in `windows.open`. None means no change. Empty removes it.
            config: Only fields that are set change. This holds for each field of `tier_ratios` and of the other groups
                too.
            token_budget: As in `windows.open`. None means no change. 0 means the default.
            output_reservation: As in `windows.open`. None means no change. 0 means the default.
            subject_user_id: The user for whom a key without a user calls.
            request_id: The same id again changes nothing and returns the window as it was after the change.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            BudgetTooSmall: the prompt, the tools and the goal do not fit together with the pins and the required part
                of the state; metadata `least`.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            LimitExceeded: A value exceeds a limit.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            Aborted: too many concurrent writes to the window; retry.
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
        """Pin a text after the system prompt of every pack.

        The text stays word for word, and no fold cuts it. The pin of a ref is removed when its message is retracted.
        Pinning breaks the prefix, and has a receipt ("pinned").

        Args:
            text: The text to pin. Set either this or `ref`.
            ref: The part of the log to pin, instead of a text: "m37" is a message, "m37/2" its second part and "m37/0"
                its content, as a model reads it. The pin is removed when its message is retracted.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            RefNotFound: The context has no object with this ref.
            Erased: The object was deleted, retracted or erased, so a ref or the answer of a repeated request cannot be
                read.
            BudgetTooSmall: The required parts of a pack do not fit into the token limit of the window.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            LimitExceeded: `pins`: a window has up to 100; a pin has up to 16 KiB.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            Aborted: Another call changed the same object first, several times in a row.
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
        """Remove a pin, with a receipt ("unpinned").

        Args:
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            PinNotFound: The window has no such pin: it was removed, or the message that it pins was retracted.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            Aborted: Another call changed the same object first, several times in a row.
        """
        request = context_windows_pb.UnpinRequest(
            window_id=messages.to_id(window_id),
            pin_id=messages.to_id(pin_id),
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        self._call("Unpin", request, timeout_s=timeout_s)

    def patch_state(
        self,
        window_id: Id,
        entries: Iterable[StateEntryInput] = (),
        *,
        remove: Iterable[StateEntryInput] = (),
        subject_user_id: str = "",
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> int:
        """Add, replace and remove entries of the state of the work, all or none.

        The state also has entries that rules read from the log. An entry of the request replaces the earlier entry with
        the same key, whatever its source, and a later entry from the log replaces it in turn.

        The next pack that does not wait for results tells the model about the changes, after its last step and without
        breaking the prefix. The next fold writes the whole state again. Setting the same entries again changes nothing.
        The entries stay when messages are retracted.

        Args:
            remove: Entries to remove, before `set` is applied. An entry that does not exist is ignored.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            BudgetTooSmall: the required part of a pack does not fit; metadata `least`.
            InvalidArgument: an unknown section; control characters; no key.
            LimitExceeded: 100 changes of a call, 500 entries of callers in a window, texts of up to 2,000 characters,
                keys of 200.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            Aborted: Another call changed the same object first, several times in a row.
        """
        request = context_windows_pb.PatchStateRequest(
            window_id=messages.to_id(window_id),
            set=[contexts.state_entry(item, field=f"set[{index}]") for index, item in enumerate(entries)],
            remove=[contexts.state_entry_name(item, field=f"remove[{index}]") for index, item in enumerate(remove)],
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.PatchStateResponse = self._call("PatchState", request, timeout_s=timeout_s)
        return answer.changed_count

    def get_state(
        self,
        window_id: Id,
        sections: Iterable[str] = (),
        *,
        subject_user_id: str = "",
        page_size: int = 1_000,
        timeout_s: float | None = None,
    ) -> builtins.list[StateEntry]:
        """List the state of the work, oldest entry first.

        Rules read the entries from the log, or callers set them. The last page also has the counts of tools and
        entities over all steps that the window has read. If a message was retracted, the counts are missing until the
        next pack.

        Args:
            sections: Empty means all sections.
            subject_user_id: The user for whom a key without a user calls.
            page_size: Maximum number of entries on a page. The counted entries come in addition, with the last page.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = context_windows_pb.GetStateRequest(
            window_id=messages.to_id(window_id),
            subject_user_id=subject_user_id,
            sections=messages.texts("sections", sections),
            page_size=page_size,
        )
        items: builtins.list[StateEntry] = []
        while True:
            page: context_windows_pb.GetStateResponse = self._call("GetState", request, timeout_s=timeout_s)
            for item in page.entries:
                items.append(StateEntry.from_proto(item))
            if not page.next_page_token:
                return items
            request.page_token = page.next_page_token

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
        """Find passages of the log of a window, best first.

        Each hit has its step, and whether the last pack shows it.

        Args:
            query: Words to find.
            limit: Maximum number of hits, up to 200. 0 means 20.
            filter: Which passages may be found.
            step_from: The first step to search. 0 means no bound. If a step is in a summary, all steps of its segment
                match.
            step_to: The last step to search, included. 0 means no bound.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            ContextNotFound: No context that the caller may see has this id, or it was deleted.
            TaskNotFound: of `reference_task_ids`.
            InvalidArgument: no text; an unknown `profile`.
            LimitExceeded: A value exceeds a limit.
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
        return [WindowHit.from_proto(item) for item in answer.hits]

    def explain_pack(
        self, window_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None
    ) -> ExplainedPack:
        """List the parts of a window, as in its last pack.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
        """
        request = context_windows_pb.ExplainPackRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id
        )
        answer: context_windows_pb.ExplainPackResponse = self._call("ExplainPack", request, timeout_s=timeout_s)
        return ExplainedPack.from_proto(answer)

    def get_lineage(
        self, window_id: Id, *, subject_user_id: str = "", page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[FoldReceipt, None, None]:
        """List every break of the prefix with its receipt, newest first.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = context_windows_pb.GetLineageRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: context_windows_pb.GetLineageResponse = self._call("GetLineage", request, timeout_s=timeout_s)
            for item in page.receipts:
                yield FoldReceipt.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def trace_message(
        self, window_id: Id, ref: str, *, text: str = "", subject_user_id: str = "", timeout_s: float | None = None
    ) -> MessageTrace:
        """Find where messages are in the packs of a window, and since when.

        Use it when a model seems to have forgotten something. A message is verbatim, cleared, in a summary, or left
        out; the answer names the fold and the rule, and the lines that packs still show. With a `text`, it also names
        the fold that removed the text from the packs. The answer is about the window as it is; the call does not read
        new messages.

        Args:
            ref: A message, a part of it, or a range of messages: "m37", "m37/2" or "m12..m400". See ExpandRequest.
            text: A sentence or a part of one. Then the answer has only the messages with this text, and when packs
                showed it last. Upper and lower case and the kind of white space do not matter.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            RefNotFound: this context has no such ref.
            Erased: all messages of the ref were retracted.
            InvalidArgument: `ref` is malformed, or names an artifact or a message of a fork.
        """
        request = context_windows_pb.TraceMessageRequest(
            window_id=messages.to_id(window_id), ref=ref, text=text, subject_user_id=subject_user_id
        )
        answer: context_windows_pb.TraceMessageResponse = self._call("TraceMessage", request, timeout_s=timeout_s)
        return MessageTrace.from_proto(answer)

    def fold(
        self,
        window_id: Id,
        *,
        dry_run: bool = False,
        instructions: str = "",
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> FoldReceipt:
        """Fold a window now, as `windows.pack` does when it must, and return the receipt.

        With `dry_run` it changes nothing and returns the receipt that a fold would have.

        With `instructions`, summaries show lines that concern them first. If a model writes the segments of the window,
        it gets the instructions too, and the call waits for its text. Packs continue meanwhile.

        Args:
            dry_run: Return the receipt that a fold would have, and change nothing.
            instructions: What this fold must keep, such as "keep everything about the invoices".
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            FoldNoProgress: there is nothing to fold.
            LimitExceeded: `instructions`.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            Aborted: Another call changed the same object first, several times in a row.
            WindowBehind: The window has more messages to read than the call had time for. The messages that it read
                stay read.
        """
        request = context_windows_pb.FoldRequest(
            window_id=messages.to_id(window_id),
            subject_user_id=subject_user_id,
            dry_run=dry_run,
            instructions=instructions,
        )
        answer: context_windows_pb.FoldResponse = self._call("Fold", request, timeout_s=timeout_s)
        return FoldReceipt.from_proto(answer.receipt)

    def prepare_fold(
        self,
        window_id: Id,
        *,
        expected_epoch: int | None = None,
        instructions: str = "",
        subject_user_id: str = "",
        timeout_s: float | None = None,
    ) -> FoldReceipt:
        """Prepare a fold before it is needed, in parallel with the calls of a model, and store it with the window.

        Packs stay the same, byte for byte. The call first catches up with the log. A prepared fold replaces an earlier
        one. It becomes invalid with any new epoch or config: after a fold, a new prompt, new tools, a new goal or
        budget, a pin, or a retracted message.

        Args:
            expected_epoch: Epoch of the pack, as `windows.pack` returned it, for which to prepare the fold. None means
                any epoch.
            instructions: What this fold must keep: see FoldRequest.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            FoldNoProgress: there is nothing to fold.
            FoldStale: the epoch of the window is not `expected_epoch`; metadata `epoch`.
            LimitExceeded: `instructions`.
            Aborted: Another call changed the same object first, several times in a row.
            WindowBehind: The window has more messages to read than the call had time for. The messages that it read
                stay read.
        """
        request = context_windows_pb.PrepareFoldRequest(
            window_id=messages.to_id(window_id),
            expected_epoch=expected_epoch,
            subject_user_id=subject_user_id,
            instructions=instructions,
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
        """Commit the prepared fold, without choosing lines again, and return the receipt.

        All messages that came after the preparation stay verbatim. The state of the work is written as it is now, with
        those messages. If no message came, the result is that of `windows.fold`. If too many came, the next pack folds
        again.

        Args:
            expected_epoch: The epoch that `windows.prepare_fold` returned. None means the epoch of the fold that was
                prepared last.
            subject_user_id: The user for whom a key without a user calls.
            request_id: The same id again changes nothing and returns the same receipt.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            FoldNotPrepared: no fold was prepared with this config.
            FoldStale: the epoch of the window is not `expected_epoch`, or not the epoch of the prepared fold, for
                example because that fold was committed; metadata `epoch`.
            Aborted: Another call changed the same object first, several times in a row.
            WindowBehind: The window has more messages to read than the call had time for. The messages that it read
                stay read.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
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
        """Store the current state of a window as a checkpoint, to which `windows.rollback` can return.

        The window first reads its log. A checkpoint takes one row, however long the log is, and does not change packs.
        A step that waits for results is not in it.

        A window also makes checkpoints by itself: after each 50 steps (`checkpoint_every_n_steps`) and before each
        fold. It keeps the newest 20 of each of these two kinds, and the newest 100 checkpoints of callers. Retracting a
        message removes all checkpoints of the window, because they may contain its words.

        Args:
            label: A label for people, up to 200 characters.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            WindowBehind: The window has more messages to read than the call had time for. The messages that it read
                stay read.
            LimitExceeded: `label`: 200 characters.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            Aborted: Another call changed the same object first, several times in a row.
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
        """List the checkpoints of a window, newest first.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            page_size: Items of one page. 0: 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = context_windows_pb.ListCheckpointsRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id, page_size=page_size
        )
        while True:
            page: context_windows_pb.ListCheckpointsResponse = self._call(
                "ListCheckpoints", request, timeout_s=timeout_s
            )
            for item in page.checkpoints:
                yield Checkpoint.from_proto(item)
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
        """Roll a window back to a checkpoint, completely or not at all.

        The next pack is the same as at the checkpoint, byte for byte, with the current prompt, tools and goal. Later
        folds, pins and state entries of callers are undone, and later checkpoints are deleted. The prefix breaks, with
        a receipt ("rolled_back").

        Messages after the checkpoint are left out of the window permanently, and out of its recall. The log keeps them:
        `windows.expand` returns them, and other windows show them. To keep some of them in this window, send them again
        as new messages.

        Args:
            checkpoint: The number of the checkpoint.
            expected_last_seq: `seq` of the newest message of the log that the caller knows, such as `last_seq` of the
                last pack, or the `seq` that appending returned.
            subject_user_id: The user for whom a key without a user calls.
            request_id: The same id again changes nothing and returns the same answer.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            CheckpointNotFound: the window has no checkpoint with this number, or no longer has it.
            LogMoved: the log has messages after `expected_last_seq`, which the caller would lose unseen; metadata
                `last_seq`.
            LimitExceeded: `rollbacks`: a window leaves out up to 1,000 separate ranges of messages.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
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
        """Fork a window: give a part of the work its own context and window, for example for another agent.

        A window can have several forks at once. The new context is a child of the window's context. It begins with the
        task, as the message of a user. Callers who see the parent context see it too, also with a key of
        `contexts.issue_key`, and it is closed and deleted with its parent.

        The new window has the model and the config of its parent, and the task as its goal. The prompt and the tools
        are those of the parent unless the request sets them. `inherits` says what else the fork gets: the current state
        after the parent has read its log, without refs, because they would lead to another log. After the fork, neither
        window sees later changes of the other.

        Args:
            task: Up to 16 KiB.
            model: As in `windows.open`. Empty means the model of the parent.
            system_prompt: None means those of the parent.
            key_ttl_s: Lifetime of the key in seconds, at most 86,400 (one day). 0 means 3,600 (one hour).
            subject_user_id: The user for whom a key without a user calls.
            request_id: The same id again creates no second fork: it returns the same fork with another key.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            ContextClosed: The context is closed or past its lifetime, and takes no more messages.
            BudgetTooSmall: prompt, tools, task and the inherited state do not fit.
            LimitExceeded: `forks`: 64 of a context that are not merged; `fork_depth`: 8.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            PermissionDenied: of `contexts.issue_key`.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            Aborted: Another call changed the same object first, several times in a row.
            WindowBehind: The window has more messages to read than the call had time for. The messages that it read
                stay read.
        """
        request = context_windows_pb.ForkWindowRequest(
            window_id=messages.to_id(window_id),
            task=task,
            inherits=messages.choice_of("inherits", inherits, context_windows_pb.ForkInheritance),
            model=model,
            context_tokens=context_tokens,
            system_prompt=system_prompt,
            tools_json=None if tools is None else tools_json(tools),
            key_ttl_s=key_ttl_s,
            subject_user_id=subject_user_id,
            request_id=messages.new_request_id(request_id),
        )
        answer: context_windows_pb.ForkWindowResponse = self._call("ForkWindow", request, timeout_s=timeout_s)
        return Forked.from_proto(answer)

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
        """Merge a fork: write its result as one message to the log of its parent.

        The message is the result of a tool. It has the last message of the fork's assistant, then the decisions,
        values, changes and errors in the state of the fork. Each of these has a ref, such as "f3:m57/0", with which
        `windows.expand` of any window of the parent returns the original. The message is cut to `tokens_max`. Its lines
        do not become rules in the parent.

        Merging closes the context and the window of the fork, and ends its keys. A fork is merged once: merging it
        again returns the same message.

        Args:
            window_id: The window of the fork.
            tokens_max: Maximum number of tokens of the result, by the tokenizer of the parent window. 0 means 2,000. At
                most an eighth of the parent's `token_limit`.
            tool_call_id: Id of the tool call in the log of the parent that asked for the fork: the message becomes its
                result. Empty means that the message stands alone.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            InvalidArgument: `windows.fork` did not open this window.
            PermissionDenied: the key does not reach the parent.
            WindowClosed: The window is closed and makes no more packs.
            ContextClosed: the parent's.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            Aborted: Another call changed the same object first, several times in a row.
            WindowBehind: The window has more messages to read than the call had time for. The messages that it read
                stay read.
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
        """Record what the vendor billed for a call of the model with a pack.

        The bill is stored with the window, and calibrates the counts of tokens. From the last 128 calls of the tenant
        with the same model and compression profile, the service takes the ratio of `input_tokens` to `pack_tokens` that
        95 of 100 calls did not exceed. This ratio is the `token_factor`, and budgets use it from then on. The bytes of
        the current epoch stay as they are. A ratio counts as at least 0.5 and at most 2. Bills that are recorded with a
        key of `contexts.issue_key` calibrate only their own window.

        Args:
            epoch: `epoch` of the pack that was sent. None means the current epoch of the window.
            pack_tokens: `tokens` of the pack that was sent. 0 means that the bill is stored and does not calibrate the
                counts.
            input_tokens: All tokens of the prompt that the vendor billed, 1 to 100,000,000, including tokens that were
                read from or written to a cache. For Anthropic, the sum of all three numbers in its answer.
            cached_tokens: Tokens of the prompt that were read from a cache, up to 100,000,000.
            cache_write_tokens: Tokens of the prompt that were written to a cache, up to 100,000,000.
            output_tokens: Tokens of the answer, up to 100,000,000.
            subject_user_id: The user for whom a key without a user calls.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            InvalidArgument: a number out of range; an epoch that the window has not had.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
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
        """Record whether steps succeeded.

        Rules cannot see this: they only see whether a call failed. When a fold chooses lines, lines of successful steps
        get the additional weight `importance_weights.success` (0.05; increase it if outcomes should count more). The
        call first catches up with the log. A later outcome of the same steps replaces the earlier one. A rollback
        deletes the outcomes of later steps; so does a retraction after which the window reads its log again. A `lesson`
        is stored as a memory of kind "experience" of the user, with the goal of the window: see `Memories`.

        Args:
            step_from: The first step, from 1. 0 means the same as `step_to`.
            step_to: The last step, included. 0 means the newest step.
            success: Whether the steps achieved their purpose.
            quality: How well the steps succeeded, 0 to 1. None means 1. Failed steps count as 0.
            lesson: A lesson for other windows of the user. Empty means that no memory is stored.
            subject_user_id: The user for whom a key without a user calls.
            request_id: The same id again changes nothing and returns the same answer.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            WindowClosed: The window is closed and makes no more packs.
            InvalidArgument: the window has no such steps; an invalid quality.
            LimitExceeded: `lesson`: 8,000 characters; `memories`.
            SubjectRequired: The data belongs to users, and neither the key nor `subject_user_id` names one.
            PermissionDenied: a lesson without a user, or with a key of `contexts.issue_key`.
            WindowBehind: The window has more messages to read than the call had time for. The messages that it read
                stay read.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            Aborted: Another call changed the same object first, several times in a row.
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
        """Estimate the cost of the next packs and their folds, with the vendor's prompt cache warm.

        For comparison, it also estimates a sliding window, which drops the older half whenever it is full. The costs of
        answers are not included.

        Args:
            steps: Number of steps ahead, up to 100,000, with a pack after each.
            step_tokens: Counted tokens of one step, up to 10,000,000. 0 means as long as the last steps.
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
        """
        request = context_windows_pb.EstimateCostRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id, steps=steps, step_tokens=step_tokens
        )
        answer: context_windows_pb.EstimateCostResponse = self._call("EstimateCost", request, timeout_s=timeout_s)
        return CostEstimate.from_proto(answer)

    def stats(self, window_id: Id, *, subject_user_id: str = "", timeout_s: float | None = None) -> WindowStats:
        """Return the statistics of a window: how much of its log it shows, how often its prefix broke, and its bill.

        It also shows how much consecutive packs had in common.

        Args:
            subject_user_id: The user for whom a key without a user calls.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            WindowNotFound: No window that the caller may see has this id, or its context was deleted.
        """
        request = context_windows_pb.WindowStatsRequest(
            window_id=messages.to_id(window_id), subject_user_id=subject_user_id
        )
        answer: context_windows_pb.WindowStatsResponse = self._call("WindowStats", request, timeout_s=timeout_s)
        return WindowStats.from_proto(answer)
