"""Recovery: after an unusable response of the model the window is rolled back, and the model gets another pack.

The window is rolled back to the newest checkpoint that is older than the pack. The answer is the pack for the next
attempt. It has recalled passages about the last messages, which the model may have lacked.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from context_service.checkpoints.rules.checkpoints import Checkpoints, RolledBack, Way
from context_service.checkpoints.store import CheckpointRows
from context_service.contexts.room import Log
from context_service.kernel.parts import texts_of
from context_service.packing.model import Pack, RecallRequest
from context_service.packing.pure.body.pack_id import PackId, parse_pack_id
from context_service.windows.model import Window, WindowSnapshot, window_not_found
from context_service.windows.pure.config import REREAD
from contextkeep.errors import InvalidArgument, WindowClosed
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests

if TYPE_CHECKING:
    from context_service.packing.room import Packing
    from context_service.windows.room import WindowRows

_AROUND = 8  # the number of last messages of the pack that are searched for the query of the recall
_RESULT_CHARS = 200  # the characters of each tool result that are part of the query


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """The answer to an invalid response.

    Attributes:
        pack: The next pack, or None if the call has not made it yet.
        done: The rollback, or None if an earlier report about the same pack has already rolled back the window.
    """

    pack: Pack | None
    done: RolledBack | None


class Recovery:
    """Rolls windows back after invalid responses of models; each call acts for its principal.

    Args:
        rows: The SQL statements on windows.
        rows_of_checkpoints: The SQL statements on checkpoints.
        log: The contexts of the windows, and their messages.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
        checkpoints: Does the rollbacks.
        packing: Makes the pack for the next attempt.
    """

    def __init__(
        self,
        rows: WindowRows,
        rows_of_checkpoints: CheckpointRows,
        *,
        log: Log,
        requests: Requests,
        checkpoints: Checkpoints,
        packing: Packing,
    ) -> None:
        self._rows = rows
        self._rows_of_checkpoints = rows_of_checkpoints
        self._log = log
        self._requests = requests
        self._checkpoints = checkpoints
        self._packing = packing

    async def report(
        self,
        window_id: UUID,
        pack_id: str,
        *,
        is_invalid: bool,
        expected_last_seq: int | None,
        principal: Principal,
        request: Request | None,
    ) -> Recovered | None:
        """Roll back a window after an invalid response, and return the rollback and the next pack.

        The result is None if the response was valid.

        Args:
            window_id: The id of the window.
            pack_id: The id of the pack that the model got.
            is_invalid: Whether the response is unusable. If it is usable, nothing happens.
            expected_last_seq: The `seq` of the newest message that the caller knows; None takes the last message of the
                pack.
            principal: The caller; its tenant and bounds limit the rows.
            request: The idempotency key of the call, and the hash of its request.

        Raises:
            WindowNotFound: the window does not exist, or the caller may not see it.
            WindowClosed: the window is closed.
            InvalidArgument: the window never had a pack with this id.
            LogMoved: the log has messages that the caller does not know.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
            Also the errors of `Packing.pack`.
        """
        principal = principal.without_admin()
        pack = parse_pack_id(pack_id)
        result = await self._checkpoints.earlier_rollback(window_id, principal=principal, request=request)
        snapshot = await self._rows.snapshot(window_id, principal=principal)
        if snapshot is None:
            raise window_not_found(window_id)
        check_had(snapshot, pack)
        if not is_invalid:
            await self._store_unchanged(snapshot.window, None, principal, request)
            return None
        around = await self._around(snapshot.window, pack, principal)
        expected = pack.last_seq if expected_last_seq is None else expected_last_seq
        if result is None and not _is_done(snapshot.window, pack):

            async def choose(window: Window) -> Way:
                if _is_done(window, pack):
                    raise _DoneBefore
                checkpoint = await self._rows_of_checkpoints.newest(
                    window, epoch=pack.epoch, seq=pack.last_seq, principal=principal
                )
                rereads = checkpoint is None or window.config.recovery_strategy == REREAD
                return Way(checkpoint.number if checkpoint else None, keep_to=pack.last_seq if rereads else 0)

            with suppress(_DoneBefore):
                result = await self._checkpoints.go_back(
                    window_id,
                    choose,
                    expected_last_seq=expected,
                    principal=principal,
                    request=_pending_request(request),
                    is_whole=False,
                )
        if result is None:  # a concurrent call with the same request may have done the rollback
            result = await self._checkpoints.earlier_rollback(window_id, principal=principal, request=request)
        if result is None:
            await self._store_unchanged(snapshot.window, Recovered(pack=None, done=None), principal, request)
        about = RecallRequest(around, result.receipt.account.block_count) if result and around else None
        recovered = Recovered(pack=await self._packing.pack(window_id, principal=principal, request=about), done=result)
        if request:
            await self._requests.complete(self._log.of(principal, snapshot.window.context_id), request, recovered)
        return recovered

    async def _store_unchanged(
        self, window: Window, answer: Recovered | None, principal: Principal, request: Request | None
    ) -> None:
        """Store the answer of a call that rolled nothing back.

        Args:
            window: The window of the call.
            answer: The answer so far, for a call that still has to make a pack; None for a call that is finished,
                since its response was valid.
            principal: The caller.
            request: The request id of the call, or None.

        Raises:
            RequestIdReused: the request id was used before, for another request.
        """

        async def work(_: Transaction) -> Recovered | None:
            return answer

        if request:
            write = self._requests.once(
                request,
                work,
                about_id=window.context_id,
                is_whole=answer is None,
                repeated=lambda _: None,  # the answer that a concurrent call with the same request stored is not needed
            )
            await self._log.of(principal, window.context_id).transaction(write)

    async def _around(self, window: Window, pack: PackId, principal: Principal) -> str:
        """Return the query for the recall: the last text of a pack, and the beginnings of the tool results after it."""
        messages = await self._log.page(
            window.context_id,
            principal=principal,
            seq_from=1,
            seq_to=pack.last_seq,
            count=_AROUND,
            newest_first=True,
        )
        texts = []
        for message in messages or []:
            text = " ".join(texts_of(message.content, message.parts)).strip()
            texts.append(text[:_RESULT_CHARS] if message.role == "tool" else text)
            if text and message.role != "tool":
                break
        return " ".join(texts).strip()


def _pending_request(request: Request | None) -> Request | None:
    """Return a request that stores the rollback as the answer of an unfinished call, before there is a pack."""
    if request is None or request.response is None:
        return request
    render = request.response
    return replace(request, response=lambda result: render(Recovered(pack=None, done=result)))


class _DoneBefore(Exception):
    """The window was rolled back since the pack."""


def _is_done(window: Window, pack: PackId) -> bool:
    """Return whether a window was rolled back since a pack: then a response to that pack no longer matters."""
    return window.rolled_back_epoch > pack.epoch


def check_had(snapshot: WindowSnapshot, pack: PackId) -> None:
    """Refuse the id of a pack that a window never had.

    Raises:
        WindowClosed: the window is closed.
        InvalidArgument: the epoch or the last message of the pack is later than that of the window.
    """
    window = snapshot.window
    if window.closed_at:
        raise WindowClosed("the window is closed; open another one", window_id=window.window_id)
    if pack.epoch > window.epoch or pack.last_seq > snapshot.last_seq:
        raise InvalidArgument(
            "pack_id must be the pack_id of a pack of the window; the window has not had this pack yet", field="pack_id"
        )
