"""Bills of vendors for packs. They are stored with the window, and correct this service's counts of tokens."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from context_service.contexts.room import Log
from context_service.kernel.tokens import is_believed
from context_service.usage.model import Usage
from context_service.usage.store.usage import UsageRows
from context_service.windows.model import window_not_found
from contextkeep.errors import InvalidArgument
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_between

if TYPE_CHECKING:
    from context_service.windows.room import Telemetry, WindowRows

TOKENS_MAX = 100_000_000  # the most tokens of any kind on a bill


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The factors after a bill.

    Attributes:
        token_factor: The factor of the window's budget from now on.
        typical_factor: The ratio of billed to counted tokens that half of the calls do not exceed.
        is_clamped: The ratio of the bill was outside the believed range.
    """

    token_factor: float
    typical_factor: float
    is_clamped: bool


class Billing:
    """Stores the bills of vendors; each call acts for its principal.

    Args:
        rows: The store of windows.
        usage: The store of bills and of the calibration that they give.
        log: The contexts that the windows belong to.
        requests: The store of idempotency keys and their answers.
        telemetry: Counts the billed tokens, for metrics.
    """

    def __init__(
        self, rows: WindowRows, usage: UsageRows, *, log: Log, requests: Requests, telemetry: Telemetry
    ) -> None:
        self._telemetry = telemetry
        self._rows = rows
        self._usage = usage
        self._log = log
        self._requests = requests

    async def record(
        self, window_id: UUID, epoch: int | None, usage: Usage, *, principal: Principal, request: Request | None
    ) -> Learned:
        """Store the bill for a pack, and calibrate the counts with it.

        Args:
            window_id: The window whose pack was billed.
            epoch: The epoch of the pack, or None for the current one.
            usage: The bill for one call of the model.
            principal: The caller; it must be allowed to see the window.
            request: The idempotency key of the call; None if the caller gave none.

        Raises:
            WindowNotFound: the window does not exist.
            InvalidArgument: a field of the request is malformed or out of range.
            RequestIdReused: the request id was used before, for another request.
        """
        _check(usage)
        principal = principal.without_admin()
        context_id = await self._rows.context_of(window_id, principal=principal)

        async def work(transaction: Transaction) -> Learned:
            """Lock the window, add the bill to its epoch, and return the factors that follow from it."""
            window = await self._rows.lock(transaction, context_id, window_id)
            if window is None:
                raise window_not_found(window_id)
            of_epoch = window.epoch if epoch is None else epoch
            if not 0 <= of_epoch <= window.epoch:
                raise InvalidArgument(
                    f"epoch must be between 0 and {window.epoch}, the window's own (got {of_epoch})", field="epoch"
                )
            await self._usage.add(transaction, window, of_epoch, usage)
            counted_tokens = usage.pack_tokens
            calibration = await self._usage.learn(
                transaction,
                window,
                counted_tokens=counted_tokens,
                billed_tokens=usage.input_tokens,
                is_own=principal.context_id is not None,
            )
            return Learned(
                token_factor=calibration.factor,
                typical_factor=calibration.typical,
                is_clamped=bool(counted_tokens)
                and not is_believed(counted_tokens=counted_tokens, billed=usage.input_tokens),
            )

        write = self._requests.once(request, work, about_id=context_id, values=asdict)
        learned = await self._log.of(principal, context_id).transaction(write)
        self._telemetry.count_bill(usage)
        return learned


def _check(usage: Usage) -> None:
    """Check a bill.

    Raises:
        InvalidArgument: a number is out of range, or the cached tokens are more than all input tokens.
    """
    for name in ("pack_tokens", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens"):
        least = 1 if name == "input_tokens" else 0
        check_between(name, getattr(usage, name), least, TOKENS_MAX)
    if usage.cached_tokens + usage.cache_write_tokens > usage.input_tokens:
        raise InvalidArgument(
            f"input_tokens must be at least cached_tokens and cache_write_tokens together, "
            f"{usage.cached_tokens + usage.cache_write_tokens}: they are part of it (got {usage.input_tokens})",
            field="input_tokens",
        )
