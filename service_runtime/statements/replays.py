"""Replays: a repeated write gets its stored answer again, even if its object has changed since.

The object may be closed, changed, deleted or expired, so that a check would refuse the repeat before its id is claimed.
So an error on its way to the caller is held until the stored answer is looked up: only a call that fails pays for that,
and checks need no order of their own. Authentication and scopes come before; an error that says that the caller may not
do this goes out as it is.

The answer is stored in the transaction of the write (`Requests.answer`). So a repeat gets it also if the process or
Postgres died right after the commit, before the first caller got an answer.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import grpc
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message

from contextkeep.errors import ContextKeepError, Erased, HeldBytesExceeded, RequestIdReused, TooManyCalls, Unavailable
from service_runtime.postgres import Database
from service_runtime.rpc.calls import Call, current_call
from service_runtime.statements.requests import RESPONSE, AnsweredBefore, Request, Requests, is_begun, unpacked

# Errors about state and the clock. Not those about the caller and its rights, a call that is over, or a fault of ours.
_CODES = frozenset(
    {
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.UNAVAILABLE,
    }
)
_FINAL = frozenset({grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND})


class Replays:
    """Answers writes that were answered before.

    Args:
        database: The database that has the stored answers.
        requests: The table that the answers are stored in.
    """

    def __init__(self, database: Database, requests: Requests) -> None:
        self._database = database
        self._requests = requests

    async def answer(
        self, behaviour: Callable[[Any, Any], Awaitable[Any]], request: object, context: object, *, service: str
    ) -> Any:
        """Let a servicer answer a unary request; if it fails, return the answer of an earlier call with the same id.

        Args:
            behaviour: The method of the servicer that answers.
            request: Its request, or the stream of them.
            context: The context that grpc made for the call.
            service: The proto service whose method it is, "contextkeep.context.v1.Contexts".

        Raises:
            RequestIdReused: the id was used with other content.
            Erased: it was answered, and its answer was erased since.
            The errors of the servicer.
        """
        call = current_call.get()
        assert call is not None and call.principal is not None, "no authenticated call is under way"
        call.acting = None  # the servicer names the acting principal of a tool's call again
        try:
            return await behaviour(request, context)
        except Exception as raised:
            response = await self._replay(call, service, raised)
            if response is None:
                raise
            return response
        finally:
            call.idempotent = None  # that of a tool is not the tool's

    async def _replay(self, call: Call, service: str, raised: Exception) -> Message | None:
        """Return the response of the earlier call, or None if there was no such call.

        Raises:
            RequestIdReused, Erased: see `answer`.
        """
        request = call.idempotent
        if request is None:
            return None
        for error in leaves(raised):
            if isinstance(error, AnsweredBefore):
                return await _response(service, request, error.answer)
        if not all(map(_may_have_stored_answer, leaves(raised))):
            return None
        try:
            stored = await self._requests.stored(self._tenant(call), request)
        except (RequestIdReused, Erased) as error:
            raise error from raised
        except ContextKeepError:
            return None  # the servicer's error is the one to tell
        if is_begun(stored) and not all(map(_is_final, leaves(raised))):
            return None  # a repeat can go on
        return await _response(service, request, stored)

    def _tenant(self, call: Call) -> Any:
        principal = call.acting or call.principal
        assert principal is not None, "it is authenticated"
        return self._database.of(principal)


async def answered(service: str, behaviour: Callable[[Any, Any], Awaitable[Any]], request: object) -> Any:
    """Let a servicer answer another request for the call under way, as if the caller had sent that request.

    Args:
        service: The proto service whose method it is.
        behaviour: The method of the servicer that answers.
        request: Its request, or the stream of them.

    Raises:
        See `Replays.answer`.
    """
    call = current_call.get()
    if call is None or call.replays is None:
        return await behaviour(request, None)
    return await call.replays.answer(behaviour, request, None, service=service)


def leaves(raised: BaseException) -> list[BaseException]:
    """Return the errors inside a TaskGroup's, at any depth: it wraps even a single failure."""
    if isinstance(raised, BaseExceptionGroup):
        return [leaf for part in raised.exceptions for leaf in leaves(part)]
    return [raised]


def _may_have_stored_answer(error: BaseException) -> bool:
    """Return whether an earlier call with the request id of this failed call may have stored an answer."""
    if not isinstance(error, ContextKeepError) or error.code not in _CODES:
        return False
    if isinstance(error, Unavailable) and error.metadata.get("dependency") == "postgres":
        return False  # the stored answer cannot be read either
    return not isinstance(error, RequestIdReused | Erased | HeldBytesExceeded | TooManyCalls)


def _is_final(error: BaseException) -> bool:
    """Say whether a repeat of the call would get the same error, because its object is gone or closed."""
    return isinstance(error, ContextKeepError) and error.code in _FINAL


async def _response(service: str, request: Request, stored: Any) -> Message | None:
    """Return the response that a stored answer makes, or None if the answer does not make one."""
    if stored is None:
        return None
    if request.replay is not None:
        rendered = request.replay(stored)
        replayed: Message = await rendered if inspect.isawaitable(rendered) else rendered
        return replayed
    if isinstance(stored, dict) and RESPONSE in stored:
        response: Message = _answers(service, request.rpc).FromString(unpacked(stored[RESPONSE]))
        return response
    return None


@cache
def _answers(service: str, rpc: str) -> type[Any]:
    """Return the type of an RPC's responses."""
    method = descriptor_pool.Default().FindServiceByName(service).methods_by_name[rpc]
    return message_factory.GetMessageClass(method.output_type)
