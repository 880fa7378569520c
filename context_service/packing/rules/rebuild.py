"""Rebuilding a window: after messages were retracted, which no later pack may show, and after an import of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_service.contexts.room import Log
from context_service.packing.model import FoldAccount, Receipt
from context_service.packing.pure.costs import RENDERING
from context_service.packing.store.views import ViewRows
from context_service.windows.model import UNREAD, WindowSnapshot
from context_service.windows.pure.pins import render_pins
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal

if TYPE_CHECKING:
    from context_service.usage.room import EndingRows
    from context_service.windows.room import Telemetry, WindowRows


class Rebuilding:
    """Rebuilds windows whose logs had messages retracted; each call acts for its principal.

    Args:
        rows: The store of windows.
        views: The store of the windows' parts and state.
        log: The contexts that the windows belong to.
        endings: The store of the outcomes of steps.
        telemetry: Counts breaks of the prefix, for metrics.
    """

    def __init__(
        self, rows: WindowRows, views: ViewRows, *, log: Log, endings: EndingRows, telemetry: Telemetry
    ) -> None:
        self._rows = rows
        self._views = views
        self._log = log
        self._endings = endings
        self._telemetry = telemetry

    async def rebuild(self, snapshot: WindowSnapshot, principal: Principal) -> None:
        """Delete all that a window made of its log from the first retracted message on, so that it is read again.

        If a fold has merged that message into a summary, all is deleted. If another call has rebuilt the window
        already, nothing is done.
        """
        window = snapshot.window
        reason = "imported" if window.retracted_count == UNREAD else "retracted"

        async def work(transaction: Transaction) -> bool:
            """Lock the window, delete its blocks and outcomes from the retracted message on, and write a receipt.

            Returns:
                False if another call has rebuilt the window already.
            """
            locked = await self._rows.lock(transaction, window.context_id, window.window_id)
            if not locked or locked.retracted_count != window.retracted_count:
                return False
            pins = [stored_entry.entry for stored_entry in await self._views.kept_pins(transaction, locked)]
            size = sum(len(pin.text) for pin in pins)
            front = await beside_the_loop(RENDERING * size, render_pins, pins, locked)
            retracted_count, place = await self._views.retracted(transaction, locked)
            await self._views.restart(
                transaction,
                locked,
                place,
                retracted_count=retracted_count,
                pins=front.pieces,
                tokens=front.tokens,
            )
            await self._endings.forget(transaction, locked, step_to=place.step - 1 if place else 0)
            where = f"after step {place.step - 1}" if place else "from the start"
            why = reason if reason == "imported" else f"retracted messages: {retracted_count - locked.retracted_count}"
            receipt = Receipt(
                epoch=locked.epoch + 1,
                reason=reason,
                last_seq=snapshot.last_seq,
                step=locked.step_count,
                tokens_before=0,
                tokens_after=0,
                account=FoldAccount(rules=[f"read the log again {where} ({why})"]),
            )
            await self._views.account(transaction, locked, receipt)
            return True

        if await self._log.of(principal, window.context_id).transaction(work):
            self._telemetry.count_break(reason, profile=window.profile)
