"""Summaries of conversations: reads a log for `pure/context_summary.py`."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from context_service.contexts.room import SEQ_MAX, Log, not_found
from context_service.packing.pure.costs import size_of
from context_service.summaries.model import ContextSummary
from context_service.summaries.pure.context_summary import context_summary
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_between

TOKENS_DEFAULT, TOKENS_MAX = 1_000, 32_000
MESSAGES_MAX, MESSAGES_BYTES_MAX = 1_000, 1024 * 1024  # the newest messages that are read
_READING = 16  # times as long as parsing: rules read each sentence


class ContextSummaries:
    """Summarizes conversations; each call acts for its principal.

    Args:
        log: The contexts and their messages.
        count: Counts the tokens of a text.
    """

    def __init__(self, log: Log, *, count: Callable[[str], int]) -> None:
        self._log = log
        self._count = count

    async def read(self, context_id: UUID, *, tokens_max: int, principal: Principal) -> ContextSummary:
        """Return the summary of a conversation, within a number of tokens.

        Raises:
            InvalidArgument: `tokens_max` is not between 1 and 32,000.
            ContextNotFound: the caller sees no such context.
        """
        check_between("tokens_max", tokens_max, 1, TOKENS_MAX)
        header = await self._log.read(context_id, principal=principal)
        first = await self._log.page(
            context_id, principal=principal, seq_from=1, seq_to=SEQ_MAX, count=1, newest_first=False
        )
        newest = await self._log.page(
            context_id,
            principal=principal,
            seq_from=1,
            seq_to=SEQ_MAX,
            count=MESSAGES_MAX,
            newest_first=True,
            bytes_max=MESSAGES_BYTES_MAX,
        )
        if header is None or first is None or newest is None:
            raise not_found(context_id)
        messages = list({message.seq: message for message in (*first, *reversed(newest))}.values())
        size = _READING * size_of(messages)
        return await beside_the_loop(size, context_summary, header, messages, tokens_max=tokens_max, count=self._count)
