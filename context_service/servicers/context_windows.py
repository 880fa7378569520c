"""The proto service `ContextWindows`: parse, one call, render."""

from __future__ import annotations

from context_service.rendering import Format
from context_service.servicers import messages as message_wire
from context_service.servicers import wire
from context_service.servicers.said import principal_of
from context_service.windows.window_rows import Window
from context_service.windows.windows import Opening, Windows
from contextkeep.context.v1 import chat_history_pb2, context_windows_pb2_grpc
from contextkeep.context.v1 import context_windows_pb2 as pb
from service_runtime.ids import parse_id
from service_runtime.pages import PageRequest
from service_runtime.requests import request_of

_FORMATS = {
    Format.OPENAI: chat_history_pb2.MESSAGE_FORMAT_OPENAI,
    Format.OPENAI_RESPONSES: chat_history_pb2.MESSAGE_FORMAT_OPENAI_RESPONSES,
    Format.ANTHROPIC: chat_history_pb2.MESSAGE_FORMAT_ANTHROPIC,
    Format.GEMINI: chat_history_pb2.MESSAGE_FORMAT_GEMINI,
}


class ContextWindowsServicer(context_windows_pb2_grpc.ContextWindowsServicer):
    """Answers the RPCs of `ContextWindows`."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows

    async def OpenWindow(self, request: pb.OpenWindowRequest, context: object) -> pb.OpenWindowResponse:
        """Open a window on a context."""
        window = await self._windows.open(
            parse_id("context_id", request.context_id),
            Opening(
                model=request.model,
                context_tokens=request.context_tokens,
                format=message_wire.message_format(request.format),
                system_prompt=request.system_prompt,
                tools_json=request.tools_json,
                goal=request.goal,
                token_budget=request.token_budget,
                output_reservation=request.output_reservation,
            ),
            principal=principal_of(request.subject_user_id),
            request=request_of("OpenWindow", request),
        )
        return pb.OpenWindowResponse(window=_window(window))

    async def GetWindow(self, request: pb.GetWindowRequest, context: object) -> pb.GetWindowResponse:
        """Read a window."""
        window = await self._windows.read(
            parse_id("window_id", request.window_id), principal=principal_of(request.subject_user_id)
        )
        return pb.GetWindowResponse(window=_window(window))

    async def ListWindows(self, request: pb.ListWindowsRequest, context: object) -> pb.ListWindowsResponse:
        """List the windows of a context."""
        found, next_page_token = await self._windows.windows(
            parse_id("context_id", request.context_id),
            PageRequest(size=request.page_size, token=request.page_token),
            principal=principal_of(request.subject_user_id),
        )
        return pb.ListWindowsResponse(windows=map(_window, found), next_page_token=next_page_token)

    async def CloseWindow(self, request: pb.CloseWindowRequest, context: object) -> pb.CloseWindowResponse:
        """Close a window."""
        window = await self._windows.close(
            parse_id("window_id", request.window_id),
            principal=principal_of(request.subject_user_id),
            request=request_of("CloseWindow", request),
        )
        return pb.CloseWindowResponse(window=_window(window))

    async def Pack(self, request: pb.PackRequest, context: object) -> pb.PackResponse:
        """Pack what a model shall see now."""
        pack = await self._windows.pack(
            parse_id("window_id", request.window_id), principal=principal_of(request.subject_user_id)
        )
        window = pack.window
        return pb.PackResponse(
            messages_json=pack.messages_json.decode(),
            prefix_bytes=pack.prefix_bytes,
            prefix_sha=pack.prefix_sha,
            tokens=window.head_tokens + pack.note_tokens + pack.step_tokens,
            tokens_by_zone=pb.PackZones(system=window.head_tokens, note=pack.note_tokens, verbatim=pack.step_tokens),
            step_count=pack.step_count,
            omitted=pb.PackOmissions(step_count=window.first_number, tokens=window.left_out_tokens),
            epoch=window.epoch,
            last_seq=pack.last_seq,
            is_waiting=pack.is_waiting,
        )


def _window(window: Window) -> pb.Window:
    return pb.Window(
        window_id=str(window.window_id),
        context_id=str(window.context_id),
        model=window.model,
        format=_FORMATS[window.format],
        tokens_family=window.tokens_family,
        context_tokens=window.context_tokens,
        token_limit=window.token_limit,
        system_prompt=window.system_prompt,
        tools_json=window.tools_json,
        goal=window.goal,
        epoch=window.epoch,
        reached_seq=window.reached_seq,
        step_count=window.block_count,
        left_out_count=window.first_number,
        owner_user_id=window.owner_user_id,
        created_by=window.created_by,
        created_at=wire.timestamp(window.created_at),
        updated_at=wire.timestamp(window.updated_at),
        is_closed=window.closed_at is not None,
    )
