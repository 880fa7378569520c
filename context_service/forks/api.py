"""The proto service `Forks`: parse, one call, render."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from context_service.contexts.wire.requests import lifetime_of, principal_of
from context_service.forks.model import Fork
from context_service.forks.rules.fork import Forked, Forks, Inherits, Task
from context_service.forks.rules.merge import Merges
from context_service.kernel.wire import times
from context_service.windows.pure.refs import fork_ref, refs_between
from context_service.windows.wire import window_message
from contextkeep.context.v1 import context_windows_pb2 as pb
from contextkeep.context.v1 import context_windows_pb2_grpc
from contextkeep.errors import InvalidArgument
from service_runtime.auth.derived_keys import IssuedKey
from service_runtime.statements.requests import RESPONSE, request_of, unpacked
from service_runtime.values.copying import copied
from service_runtime.values.ids import parse_id

_INHERITS = {
    pb.FORK_INHERITANCE_UNSPECIFIED: Inherits.STATE,
    pb.FORK_INHERITANCE_NOTHING: Inherits.NOTHING,
    pb.FORK_INHERITANCE_PINS: Inherits.PINS,
    pb.FORK_INHERITANCE_STATE: Inherits.STATE,
}


class ForksServicer(context_windows_pb2_grpc.ForksServicer):
    """Answers the RPCs of `Forks`."""

    def __init__(
        self,
        forks: Forks,
        merges: Merges,
    ) -> None:
        self._forks = forks
        self._merges = merges

    async def ForkWindow(self, request: pb.ForkWindowRequest, context: object) -> pb.ForkWindowResponse:
        """Fork a window: give a task a window and a context of its own."""
        if request.inherits not in _INHERITS:
            raise InvalidArgument(f"inherits is {request.inherits}, which is not a known value", field="inherits")
        principal = principal_of(request.subject_user_id)
        lifetime = lifetime_of("key_ttl_s", request.key_ttl_s)

        def without_key(fork: Forked) -> pb.ForkWindowResponse:
            return pb.ForkWindowResponse(window=window_message(fork.window), ref=fork_ref(fork.number))

        async def replay(answer: dict[str, Any]) -> pb.ForkWindowResponse:
            """Return the fork with another key: the first key is not stored in readable form."""
            response = pb.ForkWindowResponse.FromString(unpacked(answer[RESPONSE]))
            key = await self._forks.key_again(UUID(response.window.context_id), principal, lifetime)
            return _with_key(response, key)

        fork = await self._forks.fork(
            parse_id("window_id", request.window_id),
            Task(
                text=request.task,
                inherits=_INHERITS[request.inherits],
                model=request.model,
                context_tokens=request.context_tokens,
                system_prompt=request.system_prompt if request.HasField("system_prompt") else None,
                tools_json=request.tools_json if request.HasField("tools_json") else None,
            ),
            lifetime=lifetime,
            principal=principal,
            request=request_of("ForkWindow", request, response=without_key, replay=replay),
        )
        return _with_key(without_key(fork), fork.key)

    async def MergeWindow(self, request: pb.MergeWindowRequest, context: object) -> pb.MergeWindowResponse:
        """Write the result of a fork to its parent."""

        def response(merged_fork: Fork) -> pb.MergeWindowResponse:
            return copied(
                pb.MergeWindowResponse,
                merged_fork,
                ref=refs_between(merged_fork.merged_seq, merged_fork.merged_seq),
                message_id=merged_fork.merged_id,
                tokens=merged_fork.merged_tokens,
                fork_ref=fork_ref(merged_fork.number),
            )

        merged_fork = await self._merges.merge(
            parse_id("window_id", request.window_id),
            tokens_max=request.tokens_max,
            tool_call_id=request.tool_call_id,
            principal=principal_of(request.subject_user_id),
            request=request_of("MergeWindow", request, response=response),
        )
        return response(merged_fork)


def _with_key(response: pb.ForkWindowResponse, key: IssuedKey | None) -> pb.ForkWindowResponse:
    """Return the response with the key of the fork, if one was issued. The key is shown only once."""
    if key:
        response.key = key.key
        response.key_expires_at.CopyFrom(times.timestamp(key.expires_at))
    return response
