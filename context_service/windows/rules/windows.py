"""Opens, reads, lists and closes windows; `packing` packs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from context_service.contexts.room import Log, not_found
from context_service.kernel.keyed_locks import KeyedLocks
from context_service.windows.model import Opening, Window, WindowInput, window_not_found
from context_service.windows.pure import config
from context_service.windows.pure.head import RENDERING, check_head, check_room, count_head
from context_service.windows.pure.models import model
from context_service.windows.rules.telemetry import Telemetry
from context_service.windows.store.windows import WindowRows
from contextkeep.errors import ContextClosed, InvalidArgument, LimitExceeded
from service_runtime.inputs import pages
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_between, check_text
from service_runtime.values.copying import copied
from service_runtime.values.ids import new_id

if TYPE_CHECKING:
    from context_service.profiles.room import Learning, OwnProfiles

CONTEXT_TOKENS_MAX = 10_000_000
MODEL_CHARS_MAX = 200
WINDOWS_MAX = 16  # the most open windows of a context


class Windows:
    """Opens, reads, lists and closes windows; each call acts for its principal.

    Args:
        rows: The store of windows.
        log: The contexts, with their messages.
        requests: The store of idempotency keys and their answers.
        writer_locks: Lets one writer of a window run at a time in this process.
        nesting_max: The deepest nesting that the JSON of a window's tools may have.
        profiles: The compression profiles, which say what a window may keep of its log.
        learning: Knows the versions of profiles that were learned.
        telemetry: Counts refused windows.
        models: The names of the configured models that write segments.
    """

    def __init__(
        self,
        rows: WindowRows,
        *,
        log: Log,
        requests: Requests,
        writer_locks: KeyedLocks,
        nesting_max: int,
        profiles: OwnProfiles,
        learning: Learning,
        telemetry: Telemetry,
        models: Sequence[str] = (),
    ) -> None:
        self._learning = learning
        self._telemetry = telemetry
        self._profiles = profiles
        self._rows = rows
        self._log = log
        self._requests = requests
        self._writer_locks = writer_locks
        self._nesting_max = nesting_max
        self._models = models

    def _input(self, opening: Opening) -> WindowInput:
        """Return the input of a new window, with the known values of its model."""
        check_text("model", opening.model, chars_max=MODEL_CHARS_MAX, required=True)
        model_limits = model(opening.model)
        context_tokens = opening.context_tokens or model_limits.context_tokens
        if not context_tokens:
            raise InvalidArgument(
                f"model {opening.model} is not known: give in context_tokens how many tokens it takes",
                field="context_tokens",
            )
        check_between("context_tokens", context_tokens, 1, CONTEXT_TOKENS_MAX)
        settings = config.updated(
            config.NOTHING, {**opening.config, **config.budget_of(opening.token_budget, opening.output_reservation)}
        )
        if model_limits.cache_ttl_s != config.CACHE_TTL_S:  # store the lifetime of this vendor's cache if it is unusual
            settings = {"cache_ttl_s": model_limits.cache_ttl_s, **settings}
        window_input = copied(
            WindowInput,
            opening,
            format=opening.format or model_limits.format,
            tokens_family=model_limits.family,
            context_tokens=context_tokens,
            token_limit=config.limit_of(context_tokens, config.config_of(settings)),
            head_tokens=0,
            profile=opening.compression_profile,
            config_json=config.config_json(settings),
        )
        config.check_model(window_input.config, self._models)
        check_head(window_input, nesting_max=self._nesting_max)
        return count_head(window_input)

    async def prepare(self, opening: Opening, *, principal: Principal) -> WindowInput:
        """Check the input for a new window, and return it with the counted tokens of its head.

        Raises:
            InvalidArgument: the input is malformed.
            LimitExceeded: the input is too large.
        """
        profile_name = await self._profiles.stored_name(opening.compression_profile, principal=principal)
        size = RENDERING * len(opening.system_prompt + opening.tools_json + opening.goal)
        return await beside_the_loop(size, self._input, replace(opening, compression_profile=profile_name))

    async def open(
        self, context_id: UUID, opening: Opening, *, principal: Principal, request: Request | None
    ) -> Window:
        """Open a window on a context.

        Raises:
            ContextNotFound: the context does not exist, or the caller may not see it.
            ContextClosed: the context is closed.
            BudgetTooSmall: the head of the window, before all steps, does not fit into its limit.
            InvalidArgument: a field of the request is malformed or out of range.
            LimitExceeded: a field of the request is too large, or a limit of stored objects is reached.
            RequestIdReused: the request id was used before, for another request.
        """
        window_input = await self.prepare(opening, principal=principal)
        if window_input.config.learning:
            learned = await self._learning.profile_of(window_input.profile, context_id, principal=principal)
            window_input = replace(window_input, profile=learned)

        async def work(transaction: Transaction) -> Window:
            """Lock the context, check that it is open and has room for a window, and write the window."""
            context = await self._log.lock(transaction, context_id)
            if context is None:
                raise not_found(context_id)
            if context.closed_at:
                raise ContextClosed("the context is closed", context_id=context_id)
            count = await self._rows.count_open(transaction, context_id)
            if count >= WINDOWS_MAX:
                raise LimitExceeded(
                    f"the context has {count} open windows; the limit is {WINDOWS_MAX}: close one",
                    limit="windows",
                    limit_max=WINDOWS_MAX,
                    value=count + 1,
                )
            window = await self._rows.open(
                transaction, context_id, new_id(), window_input, created_by=principal.subject
            )
            check_room(window)  # the stored window has the token factor that earlier bills for its model gave
            return window

        async with self._writer_locks.hold((principal.tenant_id, context_id)):
            with self._telemetry.refusals():
                write = self._requests.once(request, work, about_id=context_id)
                return await self._log.of(principal, context_id).transaction(write)

    async def read(self, window_id: UUID, *, principal: Principal) -> Window:
        """Return a window.

        Raises:
            WindowNotFound: the window does not exist.
        """
        return await self._rows.find(window_id, principal=principal)

    async def windows(
        self, context_id: UUID, page: pages.PageRequest, *, principal: Principal
    ) -> tuple[list[Window], str]:
        """Return a page of the windows of a context, the newest first, and the token of the next page.

        Raises:
            ContextNotFound: the context does not exist.
            InvalidArgument: the page size or another field of the request is out of range.
            InvalidPageToken: the page token is malformed, or belongs to another query.
        """
        if not await self._log.read(context_id, principal=principal):
            raise not_found(context_id)
        query = ("ListWindows", principal.tenant_id, context_id)
        before = pages.decode_id(query, page.token)
        count = pages.page_size(page.size)
        rows = await self._rows.page(context_id, principal=principal, before=before, count=count + 1)
        return pages.cut(query, rows, count, key=lambda window: (window.window_id,))

    async def close(self, window_id: UUID, *, principal: Principal, request: Request | None) -> Window:
        """Close a window, and delete the blocks that its packs were made of.

        Raises:
            WindowNotFound: the window does not exist.
            RequestIdReused: the request id was used before, for another request.
        """
        principal = principal.without_admin()
        context_id = await self._rows.context_of(window_id, principal=principal)

        async def work(transaction: Transaction) -> Window:
            if await self._rows.lock(transaction, context_id, window_id) is None:
                raise window_not_found(window_id)
            return await self._rows.close(transaction, window_id)

        write = self._requests.once(request, work, about_id=context_id)
        return await self._log.of(principal, context_id).transaction(write)
