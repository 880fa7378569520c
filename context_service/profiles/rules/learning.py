"""Learning: windows with `learning` count the lookups of lines that their folds removed.

Counts are added up by profile and app, over all contexts. They have no texts, refs or ids. With enough counts the
profile gets a new version (`lookups.learned`). Windows of the app that are opened later with the profile get this
version, and their lookups count, too. Open windows keep their version.

Each addition is one transaction after the lookup. The transaction with which a version becomes due also writes it, so
a killed process loses at most one count, and no version is written in part. Calls with a key that is bound to a context
count nothing, so that a prompt injection cannot change what others see. A window counts at most `LOOKS_MAX` lookups,
and a context counts once together with all its forks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from context_service.folding.pure.folds import Fold, View
from context_service.packing.pure.texts.units import SpokenText, kinds_in
from context_service.profiles.model import APP_CHARS_MAX, LEARNINGS_MAX, LearningState
from context_service.profiles.pure import lookups
from context_service.profiles.pure.lookups import Counts
from context_service.profiles.rules.profiles import OwnProfiles
from context_service.profiles.store.learning import LearningRows
from context_service.profiles.store.profiles import ProfileRows
from context_service.windows.model import Window
from contextkeep.errors import LimitExceeded
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_text

if TYPE_CHECKING:
    from context_service.windows.room import Telemetry

LOOKS_MAX = 50  # the most lookups of a window that are counted

_STEPS_PER_CHAR = 20  # the cost of searching a byte for important lines, in bytes of JSON parsing


class Learning:
    """Counts the lookups of windows that learn, and learns from them; each call acts for its principal.

    Args:
        database: The database that holds the counts.
        rows: The store of counts and places of messages.
        profiles: The profiles of tenants.
        requests: The store of idempotency keys and their answers.
        telemetry: Counts learned versions, for metrics.
    """

    def __init__(
        self, database: Database, rows: LearningRows, profiles: OwnProfiles, *, requests: Requests, telemetry: Telemetry
    ) -> None:
        self._database = database
        self._rows = rows
        self._profiles = profiles
        self._versions = ProfileRows(database)
        self._requests = requests
        self._telemetry = telemetry

    async def profile_of(self, stored_name: str, context_id: UUID, *, principal: Principal) -> str:
        """Return the version of a profile that was learned for a context's app, or the profile if there is none."""
        app_id = await self._rows.app_of(context_id, principal=principal)
        version = await self._rows.version(self._own(principal), stored_name, app_id)
        return f"{stored_name.partition('@')[0]}@{version}" if version else stored_name

    async def count_fold(self, window: Window, before: View, fold: Fold, *, principal: Principal) -> None:
        """Count the lines and results that a fold removed from view, if the window learns."""
        if not window.config.learning or principal.context_id:
            return
        profile = await self._profiles.of(window.profile, principal=principal)
        masked_numbers = sorted(fold.masked)
        tools = await self._rows.tools(window.context_id, window.window_id, masked_numbers, principal=principal)
        size = sum(len(name) for names in tools for name in names)
        counts = await self._profiles.beside(
            profile, principal, _STEPS_PER_CHAR * size, lookups.count_removed, before, fold, tools, profile
        )
        app_id = await self._rows.app_of(window.context_id, principal=principal)
        await self._add(profile.base or window.profile, app_id, counts, principal=principal)

    async def count_lookup(
        self, context_id: UUID, window_id: UUID, seq: int, texts: Collection[SpokenText], *, principal: Principal
    ) -> None:
        """Count that a caller looked up a message which its window no longer shows in full.

        From these counts a profile learns which texts to keep. Nothing is counted for a window that does not learn,
        for a key that is bound to a context, and after `LOOKS_MAX` lookups of a window.
        """
        if principal.context_id:
            return
        shown = await self._rows.place(context_id, window_id, seq, principal=principal)
        if shown is None:
            return
        profile = await self._profiles.of(shown.profile, principal=principal)

        def count_texts() -> Counts:
            return lookups.count_lookup(kinds_in(texts, profile), shown.tools, profile)

        size = sum(len(text.text) for text in texts)
        counts = await self._profiles.beside(profile, principal, _STEPS_PER_CHAR * size, count_texts)
        if not counts:
            return
        is_first = await self._rows.count_lookup(context_id, window_id, lookups_max=LOOKS_MAX, principal=principal)
        if is_first is not None:
            base = profile.base or shown.profile  # a learned version learns for the profile that it came from
            await self._add(base, shown.app_id, counts, contexts=int(is_first), principal=principal)

    async def change(
        self,
        text: str,
        app_id: str,
        *,
        is_frozen: bool | None,
        undoes: bool,
        principal: Principal,
        request: Request | None,
    ) -> LearningState:
        """Freeze, resume or undo the learning of a profile for an app, and return its state.

        Args:
            text: The profile's name, as the caller gives it.
            app_id: The app of the windows; empty for windows without an app.
            is_frozen: Stop counting and learning, or None to leave it as it is.
            undoes: Delete all counts, so that new windows get the profile as it was registered.
            principal: The caller, whose tenant learns.
            request: The idempotency key of the call; None if the caller gave none.

        Raises:
            InvalidArgument: the profile does not exist.
            LimitExceeded: the tenant learns for too many profiles and apps.
            PermissionDenied: the caller's key has bounds, such as one context.
            RequestIdReused: the request id was used before, for another request.
        """
        tenant = self._database.of(principal)
        check_text("app_id", app_id, chars_max=APP_CHARS_MAX)
        check_text("profile", text, chars_max=2 * APP_CHARS_MAX, required=True)
        profile_name = await self._profiles.stored_name(text, principal=principal, field="profile")
        base = (await self._profiles.of(profile_name, principal=principal)).base or profile_name

        async def work(transaction: Transaction) -> LearningState:
            learning = await self._rows.locked(transaction, base, app_id)
            if learning is None:
                raise LimitExceeded(
                    f"a tenant may learn for at most {LEARNINGS_MAX} pairs of profile and app",
                    limit="learnings",
                    limit_max=LEARNINGS_MAX,
                    value=LEARNINGS_MAX + 1,
                )
            now = LearningState(profile=base, app_id=app_id) if undoes else learning
            now = replace(now, is_frozen=learning.is_frozen if is_frozen is None else is_frozen)
            await self._rows.write(transaction, now)
            return now

        return await tenant.transaction(self._requests.once(request, work))

    async def _add(self, base: str, app_id: str, counts: Counts, *, contexts: int = 0, principal: Principal) -> None:
        """Add counts of lookups to those of a profile and an app, and learn from them if that is due.

        Args:
            base: The name of the profile.
            app_id: The app of the windows.
            counts: How often lines and results were shown, and looked up.
            contexts: The number of contexts that the counts are of.
            principal: The caller.
        """
        if not counts:
            return

        async def work(transaction: Transaction) -> bool:
            """Add the counts to the locked row; if enough contexts were counted, write a new learned version.

            Returns:
                Whether a new version was learned.
            """
            learning = await self._rows.locked(transaction, base, app_id)
            if learning is None or learning.is_frozen:
                return False
            updated = replace(
                learning, counts=learning.counts.plus(counts), context_count=learning.context_count + contexts
            )
            is_new = False
            if lookups.is_due(updated.context_count, updated.learned_count):
                factors = lookups.learned(updated.counts)
                version = None
                if factors:
                    version = await self._versions.learn(
                        transaction, base, app_id, factors, updated.counts, updated.context_count
                    )
                updated = replace(updated, version=version or updated.version, learned_count=updated.context_count)
                is_new = version is not None
            await self._rows.write(transaction, updated)
            return is_new

        if await self._own(principal).transaction(work):
            self._telemetry.learned(base)

    def _own(self, principal: Principal) -> Tenant:
        """Return the connection for the whole tenant, because a learned version is for the whole app."""
        return self._database.of(Principal(tenant_id=principal.tenant_id, subject="learning"))
