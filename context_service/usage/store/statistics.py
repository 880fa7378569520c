"""The SQL of a window's statistics: sums over its shown parts, its log and its breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from context_service.contexts.room import Log
from context_service.folding.pure.summaries import CONVERSATION, LAST_WORDS, SEGMENT
from context_service.usage.model import ZoneLevel
from context_service.usage.pure.costs import Break
from context_service.windows.model import Window
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import TextArray
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

BREAKS_MAX = 5_000  # only this many of the newest breaks count
_ROW_BYTES = 200


SQL = SqlFile.of(__file__, breaks_max=BREAKS_MAX, conversation=CONVERSATION, last_words=LAST_WORDS, segment=SEGMENT)
_LEVELS = SQL["levels"]
_LOG_TOKENS = SQL["log_tokens"]
_BREAKS = SQL["breaks"]


class StatisticsRows:
    """Reads sums of the windows' stored parts, for their statistics.

    Args:
        log: The contexts that the windows belong to.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    async def levels(self, window: Window, *, principal: Principal) -> dict[str, ZoneLevel]:
        """Return the steps and tokens of each zone of a window; zones that show nothing are left out."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_LEVELS, {"window_id": window.window_id})
        return {row.zone: copied(ZoneLevel, row) for row in rows}

    async def log_tokens(
        self, window: Window, levels: Mapping[str, ZoneLevel], *, principal: Principal
    ) -> tuple[int, dict[str, int]]:
        """Return the tokens of all messages that a window has read, and of those that each zone stands for."""
        tenant = self._log.of(principal, window.context_id)
        parameters = {
            "context_id": window.context_id,
            "left_out": window.left_out.multirange,
            "seqs": TextArray([f"{{[0,{window.reached_seq}]}}", *(level.seqs for level in levels.values())]),
        }
        all_of_it, *each = [row.tokens for row in await tenant.query(_LOG_TOKENS, parameters)]
        return all_of_it, dict(zip(levels, each, strict=True))

    async def breaks(self, window: Window, *, principal: Principal) -> Sequence[Break]:
        """Return the breaks of a window's prefix, oldest first."""
        tenant = self._log.of(principal, window.context_id)
        rows = await tenant.query(_BREAKS, (tenant.tenant_id, window.window_id))

        def compute() -> list[Break]:
            return [
                Break(
                    reason=row.reason,
                    step=row.step,
                    before=row.tokens_before,
                    after=row.tokens_after,
                    kept=row.tokens_kept,
                    left_out=row.steps_left_out,
                )
                for row in reversed(rows)
            ]

        return await beside_the_loop(_ROW_BYTES * len(rows), compute)
