"""Reading one step of a window from its log again, to render it in a form that the window does not store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from context_service.contexts.model import Message
from context_service.contexts.room import Log
from context_service.packing.pure.costs import size_of
from context_service.packing.pure.steps.step import Step, cut
from context_service.windows.model import Window
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal

_MESSAGES_AT_ONCE = 256


class StepReading:
    """Reads steps from logs; each call acts for its principal.

    Args:
        log: The contexts that hold the messages.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def step(self, window: Window, seq_from: int, seq_to: int, principal: Principal) -> tuple[Step | None, int]:
        """Return a closed step of a window, and the size of its messages.

        The step is None if its messages no longer form the same step, because one of them was retracted.

        Args:
            window: The window. Messages that it leaves out after a rollback are not read.
            seq_from: The first message of the step.
            seq_to: The last message of the step. Messages of other steps may be between them.
            principal: The caller; it must be allowed to see the window.
        """
        messages: list[Message] = []
        at = seq_from
        while at <= seq_to:
            page = await self._log.page(
                window.context_id,
                principal=principal,
                seq_from=at,
                seq_to=seq_to,
                count=_MESSAGES_AT_ONCE,
                newest_first=False,
            )
            if not page:
                break
            messages += [message for message in page if message.seq not in window.left_out]
            at = page[-1].seq + 1
        size = size_of(messages)
        return await beside_the_loop(size, _step_at, messages, seq_from, seq_to), size

    async def newest_first(self, window: Window, principal: Principal) -> AsyncIterator[Sequence[Message]]:
        """Yield pages of the messages that a window has read and shows, the newest first.

        Args:
            window: The window.
            principal: The caller; it must be allowed to see the window.
        """
        seq_to = window.reached_seq
        while page := await self._log.page(
            window.context_id,
            principal=principal,
            seq_from=1,
            seq_to=seq_to,
            count=_MESSAGES_AT_ONCE,
            newest_first=True,
        ):
            yield [message for message in page if message.seq not in window.left_out]
            seq_to = page[-1].seq - 1


def _step_at(messages: list[Message], seq_from: int, seq_to: int) -> Step | None:
    """Return the step that has these first and last messages, or None if there is none."""
    steps = cut(messages, is_end=True).closed
    return next((step for step in steps if (step.seqs[0], step.seqs[-1]) == (seq_from, seq_to)), None)
