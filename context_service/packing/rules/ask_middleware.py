"""Asking the middleware of the operator about a pack: it can refuse the pack, annotate it, or append a note."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from context_service.packing.model import NOTE, STEP, Pack
from context_service.packing.pure.body.caught_up_window import CaughtUpWindow, limits_of
from context_service.packing.pure.costs import RENDERING
from context_service.packing.pure.steps.new_blocks import text_block
from context_service.packing.rules.append_blocks import Appending
from context_service.packing.rules.plugins import Middleware, Packed
from contextkeep.errors import PackVetoed
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged


async def ask_middleware(
    middleware: Middleware, appending: Appending, caught_up: CaughtUpWindow, pack: Pack, principal: Principal
) -> Pack:
    """Ask the installed middleware about a pack, and return the pack that it decides on.

    Raises:
        PackVetoed: the middleware refused the pack.
        RowsChanged: the middleware's note was appended to the window, or another call has written to it: pack again.
    """
    window, parts = pack.window, caught_up.body.parts
    whole = caught_up.body.body.json.decode()
    decided = await middleware.decided(
        Packed(window.model, window.goal, whole, pack.zones.all, pack.step_count, pack.last_seq)
    )
    if decided.veto:
        raise PackVetoed(decided.veto)
    after_step = takewhile(lambda part: part.kind != STEP, reversed(parts))
    if decided.note and parts and not any(part.kind == NOTE for part in after_step):
        size = RENDERING * len(decided.note)
        block = await beside_the_loop(size, text_block, NOTE, window.step_count, decided.note, window)
        if caught_up.tokens + block.tokens <= limits_of(window).high:
            await appending.block(caught_up, block, principal)
            raise RowsChanged
    return replace(pack, annotations=decided.annotations)
