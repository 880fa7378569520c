"""Appending blocks to a window: steps that were read, recalled passages and notes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from context_service.checkpoints.model import BY_STEPS
from context_service.contexts.room import Log
from context_service.packing.model import BY_CALLER, NOTE, NewBlock
from context_service.packing.pure.body.caught_up_window import CaughtUpWindow
from context_service.packing.pure.body.window_body import WindowBody
from context_service.packing.pure.costs import MESSAGE_BYTES, RENDERING
from context_service.packing.pure.steps.catch_up import CaughtUp
from context_service.packing.pure.steps.new_blocks import new_blocks, text_block
from context_service.packing.rules.window_bodies import WindowBodies
from context_service.packing.store.views import ViewRows
from context_service.windows.model import Window
from context_service.windows.pure.patches import is_told_once, note_of_said
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged

if TYPE_CHECKING:
    from context_service.checkpoints.room import CheckpointRows


class Appending:
    """Appends blocks to windows; each call acts for its principal.

    Args:
        log: The contexts that the windows belong to.
        views: The store of the windows' parts and state.
        checkpoints: The checkpoints of windows: a window makes one after a number of steps.
        bodies: Reads and caches the bodies of windows.
    """

    def __init__(self, log: Log, views: ViewRows, *, checkpoints: CheckpointRows, bodies: WindowBodies) -> None:
        self._log = log
        self._views = views
        self._checkpoints = checkpoints
        self._bodies = bodies

    async def steps(
        self, window: Window, read_messages: CaughtUp, principal: Principal, *, packed_seq: int | None
    ) -> Window:
        """Append the steps that were read from the log, and return the window with them.

        Args:
            window: The window, before the steps.
            read_messages: The steps, prepared to be stored.
            principal: The caller; it must be allowed to see the window.
            packed_seq: The last message of the log if the window is packed for a model next, or None if it is not.

        Raises:
            RowsChanged: another call has written to the window.
        """
        statements = [entry for step in read_messages.steps for entry in step.entries]
        stored_entries = await self._views.entries_at(window, statements, principal=principal) if statements else []
        size = sum(MESSAGE_BYTES + sum(len(entry.text) for entry in step.entries) for step in read_messages.steps)
        blocks, update = await beside_the_loop(
            RENDERING * size, new_blocks, window, read_messages.steps, stored_entries
        )

        async def add(to: Tenant | Transaction) -> bool:
            return await self._views.add(
                to,
                window,
                blocks,
                entries=update.new,
                ended=update.ended,
                reached_seq=read_messages.reached_seq,
                packed_seq=packed_seq,
                speakers=read_messages.speakers,
            )

        async def add_with_checkpoint(transaction: Transaction) -> bool:
            checkpoint = await self._checkpoints.make(transaction, window, reason=BY_STEPS)
            return checkpoint is not None and await add(transaction)

        tenant = self._log.of(principal, window.context_id)
        # The checkpoint stores the window before these steps, as the last pack showed it, with its recalled passages.
        is_due = bool(blocks) and 0 < window.config.checkpoint_steps <= window.step_count - window.checkpoint_step
        if not await (tenant.transaction(add_with_checkpoint) if is_due else add(tenant)):
            raise RowsChanged
        self._bodies.extend_kept(window, blocks, principal)
        return replace(
            window,
            reached_seq=read_messages.reached_seq,
            speakers=read_messages.speakers,
            checkpoint_step=window.step_count if is_due else window.checkpoint_step,
            block_count=window.block_count + len(blocks),
            step_count=window.step_count + len(read_messages.steps),
            entry_count=window.entry_count + len(update.new),
        )

    async def block(self, caught_up: CaughtUpWindow, block: NewBlock, principal: Principal) -> WindowBody:
        """Append a block after the last step, and return the body with it.

        Raises:
            RowsChanged: another call has written to the window.
        """
        window = caught_up.window
        tenant = self._log.of(principal, window.context_id)
        if not await self._views.add(tenant, window, [block], entries=[], ended={}, reached_seq=window.reached_seq):
            raise RowsChanged
        return self._bodies.extend(caught_up.body, window, [block], principal)

    async def note_on_patches(self, window: Window, principal: Principal) -> None:
        """Append a note that tells the model which entries of the state callers changed.

        If another call has written to the window meanwhile, nothing is appended; the next attempt to pack does it.
        """
        untold = await self._views.untold(window, principal=principal)
        text = note_of_said([stored_entry.entry for stored_entry in untold])
        note = await beside_the_loop(RENDERING * len(text), text_block, NOTE, window.step_count, text, window)
        ended_by = {stored_entry.number: 0 for stored_entry in untold if is_told_once(stored_entry.entry)}

        async def work(transaction: Transaction) -> None:
            if await self._views.add(
                transaction,
                window,
                [note] if text else [],
                entries=[],
                ended=ended_by,
                reached_seq=window.reached_seq,
                source=BY_CALLER,
            ):
                await self._views.clear_tell_later(transaction, window)

        await self._log.of(principal, window.context_id).transaction(work)
