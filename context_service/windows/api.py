"""The proto service `Windows`: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from context_service.contexts.room import ITEMS_DEFAULT, RecallQuery
from context_service.contexts.wire.messages import fill as fill_message
from context_service.contexts.wire.recall import by_meaning, recalled_item, which_of
from context_service.contexts.wire.requests import check_same_caller, principal_of
from context_service.forks.wire import fork_message
from context_service.history.wire import messages as message_wire
from context_service.packing.wire import (
    entry_message,
)
from context_service.windows.model import Opening, Window
from context_service.windows.pure.patches import StateStatement
from context_service.windows.rules.explain import Accounts
from context_service.windows.rules.originals import ByteRange, Originals, StepRange
from context_service.windows.rules.update_window import Change, Editing
from context_service.windows.rules.watch import WatchPosition, WindowWatching
from context_service.windows.rules.windows import Windows
from context_service.windows.wire import event_response, set_fields, tally_messages, window_message
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.context.v1 import context_windows_pb2_grpc
from service_runtime.inputs.pages import PageRequest
from service_runtime.rpc import calls
from service_runtime.rpc.principal import Authenticator
from service_runtime.statements.requests import request_of
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id

if TYPE_CHECKING:
    from context_service.forks.room import Forks


class WindowsServicer(context_windows_pb2_grpc.WindowsServicer):
    """Answers the RPCs of `Windows`."""

    def __init__(
        self,
        windows: Windows,
        editing: Editing,
        originals: Originals,
        accounts: Accounts,
        watching: WindowWatching,
        forks: Forks,
        callers: Authenticator,
    ) -> None:
        self._windows = windows
        self._editing = editing
        self._originals = originals
        self._accounts = accounts
        self._watching = watching
        self._forks = forks
        self._callers = callers

    async def OpenWindow(self, request: pb.OpenWindowRequest, context: object) -> pb.OpenWindowResponse:
        """Open a window on a context."""

        def response(window: Window) -> pb.OpenWindowResponse:
            return pb.OpenWindowResponse(window=window_message(window))

        window = await self._windows.open(
            parse_id("context_id", request.context_id),
            copied(
                Opening, request, format=message_wire.message_format(request.format), config=set_fields(request.config)
            ),
            principal=principal_of(request.subject_user_id),
            request=request_of("OpenWindow", request, response=response),
        )
        return response(window)

    async def GetWindow(self, request: pb.GetWindowRequest, context: object) -> pb.GetWindowResponse:
        """Read a window and its forks."""
        principal = principal_of(request.subject_user_id)
        window = await self._windows.read(parse_id("window_id", request.window_id), principal=principal)
        forks = await self._forks.of(window, principal=principal)
        return pb.GetWindowResponse(window=window_message(window), forks=map(fork_message, forks))

    async def ListWindows(self, request: pb.ListWindowsRequest, context: object) -> pb.ListWindowsResponse:
        """List the windows of a context."""
        windows, next_page_token = await self._windows.windows(
            parse_id("context_id", request.context_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
        )
        return pb.ListWindowsResponse(windows=map(window_message, windows), next_page_token=next_page_token)

    async def CloseWindow(self, request: pb.CloseWindowRequest, context: object) -> pb.CloseWindowResponse:
        """Close a window."""

        def response(window: Window) -> pb.CloseWindowResponse:
            return pb.CloseWindowResponse(window=window_message(window))

        window = await self._windows.close(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            request=request_of("CloseWindow", request, response=response),
        )
        return response(window)

    async def UpdateWindow(self, request: pb.UpdateWindowRequest, context: object) -> pb.UpdateWindowResponse:
        """Change the prompt, the tools, the goal or the config."""

        def response(window: Window) -> pb.UpdateWindowResponse:
            return pb.UpdateWindowResponse(window=window_message(window))

        window = await self._editing.update(
            parse_id("window_id", request.window_id),
            Change(
                system_prompt=request.system_prompt if request.HasField("system_prompt") else None,
                tools_json=request.tools_json if request.HasField("tools_json") else None,
                goal=request.goal if request.HasField("goal") else None,
                config=set_fields(request.config),
                token_budget=request.token_budget if request.HasField("token_budget") else None,
                output_reservation=request.output_reservation if request.HasField("output_reservation") else None,
            ),
            principal=principal_of(request.subject_user_id),
            request=request_of("UpdateWindow", request, response=response),
        )
        return response(window)

    async def Pin(self, request: pb.PinRequest, context: object) -> pb.PinResponse:
        """Pin a text, or the text that a ref names, so that every pack shows it."""
        pin_id, pins_tokens = await self._editing.pin(
            parse_id("window_id", request.window_id),
            request.text,
            request.ref,
            principal=principal_of(request.subject_user_id),
            request=request_of("Pin", request, replay=lambda answer: pb.PinResponse(**answer)),
        )
        return pb.PinResponse(pin_id=str(pin_id), pins_tokens=pins_tokens)

    async def Unpin(self, request: pb.UnpinRequest, context: object) -> pb.UnpinResponse:
        """Remove a pin."""
        pins_tokens = await self._editing.unpin(
            parse_id("window_id", request.window_id),
            parse_id("pin_id", request.pin_id),
            principal=principal_of(request.subject_user_id),
            request=request_of("Unpin", request, replay=lambda answer: pb.UnpinResponse(**answer)),
        )
        return pb.UnpinResponse(pins_tokens=pins_tokens)

    async def PatchState(self, request: pb.PatchStateRequest, context: object) -> pb.PatchStateResponse:
        """Set and remove entries of the state, as a caller wishes."""
        changed_count = await self._editing.patch_state(
            parse_id("window_id", request.window_id),
            [copied(StateStatement, entry) for entry in request.set],
            [StateStatement(section=entry.section, key=entry.key, text=entry.text) for entry in request.remove],
            principal=principal_of(request.subject_user_id),
            request=request_of("PatchState", request, replay=lambda answer: pb.PatchStateResponse(**answer)),
        )
        return pb.PatchStateResponse(changed_count=changed_count)

    async def GetState(self, request: pb.GetStateRequest, context: object) -> pb.GetStateResponse:
        """Answer the current entries of a window's state, page by page."""
        state = await self._accounts.state(
            parse_id("window_id", request.window_id),
            request.sections,
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
        )
        answer = pb.GetStateResponse(entries=map(entry_message, state.held), next_page_token=state.next_page_token)
        answer.entries.extend(tally_messages(state))
        return answer

    async def Expand(self, request: pb.ExpandRequest, context: object) -> pb.ExpandResponse:
        """Answer the original text or messages that a ref names."""
        original = await self._originals.expand(
            parse_id("window_id", request.window_id),
            request.ref,
            principal=principal_of(request.subject_user_id),
            byte_range=ByteRange(offset=request.offset_bytes, length=request.length_bytes),
        )
        answer = copied(pb.ExpandResponse, original, messages=None)
        for message in original.messages:
            fill_message(answer.messages.add(), message)
        return answer

    async def SearchWindow(self, request: pb.SearchWindowRequest, context: object) -> pb.SearchWindowResponse:
        """Find passages of a window's log."""
        query = RecallQuery(
            text=request.query,
            items_max=request.limit or ITEMS_DEFAULT,
            which=which_of(request.filter, "filter"),
            score_min=0.0,
        )
        hits, meaning = await self._originals.search(
            parse_id("window_id", request.window_id),
            query,
            StepRange(first=request.step_from, last=request.step_to),
            principal=principal_of(request.subject_user_id),
        )
        return pb.SearchWindowResponse(
            hits=[copied(pb.WindowHit, hit, item=recalled_item(hit.item)) for hit in hits],
            by_meaning=by_meaning(meaning),
        )

    async def WatchWindow(
        self, request: pb.WatchWindowRequest, context: object
    ) -> AsyncIterator[pb.WatchWindowResponse]:
        """Stream the changes of a window."""
        calls.leave_place()  # watches have places of their own
        happened = self._watching.watch(
            parse_id("window_id", request.window_id),
            WatchPosition(request.epoch_after, request.entry_from),
            until_now=request.until_now,
            principal=principal_of(request.subject_user_id),
            check=partial(check_same_caller, self._callers),
        )
        async with aclosing(happened):
            async for event in happened:
                yield event_response(event)
