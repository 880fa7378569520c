"""The protocol of providers, and the table of those that a query may ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from context_service.query.model import BOTH, PROVIDERS_MAX, ProviderQuery, QueryScope
from contextkeep.errors import FailedPrecondition
from service_runtime.rpc.principal import Principal


class ProviderInvalid(FailedPrecondition):
    """An installed provider cannot be used. The service does not start without what its operator installed."""

    reason = "CONTEXT_PROVIDER_INVALID"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """The description of a provider."""

    id: str  # small letters, digits and hyphens
    family: str  # a kind of provider, in the same letters; several providers may share it
    display_name: str
    scopes: frozenset[QueryScope] = BOTH  # the scopes that its hits may have
    is_default: bool = True  # whether it is asked if a query selects no providers
    deadline_s: float | None = None  # for quick and deep queries; None means 2.5 s, or 8 s for a deep query
    # Whether it leaves out hits that lack `ProviderQuery.metadata` by itself. Otherwise the service compares the
    # metadata of its hits, and asks it for more of them.
    filters_metadata: bool = False


@runtime_checkable
class Provider(Protocol):
    """A searchable source of hits.

    `search` may be a coroutine function, which must never block, or a plain function, which is run in a thread. Both
    may be called several times at once. A late coroutine is cancelled, and should end then; a late thread goes on, and
    is not waited for. While eight searches of a provider are still running after their answers, it is not asked again.
    """

    @property
    def info(self) -> ProviderInfo:
        """The description of the provider. It must not change."""
        ...

    def search(self, request: ProviderQuery, principal: Principal) -> object:
        """Return an `Answered`, or an awaitable of one."""
        ...


@runtime_checkable
class Expanding(Protocol):
    """An optional method of a provider: the whole texts of its hits."""

    def expand(self, source_ids: Sequence[str], request: ProviderQuery, principal: Principal) -> object:
        """Return the whole texts of hits that still exist, as a list of `Expanded` or an awaitable of one.

        Leave out ids that the principal, or the agent of `request`, may not read, as if they did not exist. The ids
        come from outside: callers can make up any text of up to 256 characters. `expand` is called in the same way as
        `search`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEntry:
    """A row of the table of providers."""

    provider: Provider
    info: ProviderInfo
    is_installed: bool
    trust: int  # how far its hits are trusted, 1 to 5
    # Whether it spends most of its time waiting for other services. A call gives up its turn in the queue of expensive
    # calls while only such providers are still running.
    waits: bool = False


class Providers:
    """The table of providers, by id."""

    def __init__(self, entries: Iterable[ProviderEntry]) -> None:
        """Check the providers, and keep them by their ids.

        Raises:
            ProviderInvalid: two providers have the same id, or there are too many.
        """
        self._entries: dict[str, ProviderEntry] = {}
        for entry in sorted(entries, key=lambda entry: entry.info.id):
            if entry.info.id in self._entries:
                raise ProviderInvalid(f"two context providers have the id {entry.info.id!r}")
            self._entries[entry.info.id] = entry
        if len(self._entries) > PROVIDERS_MAX:
            raise ProviderInvalid(
                f"there are {len(self._entries)} context providers; the limit is {PROVIDERS_MAX}",
                limit_max=PROVIDERS_MAX,
                value=len(self._entries),
            )

    @property
    def all(self) -> Sequence[ProviderEntry]:
        """All providers, by id."""
        return list(self._entries.values())

    @property
    def families(self) -> frozenset[str]:
        """The families that at least one provider belongs to."""
        return frozenset(entry.info.family for entry in self._entries.values())

    def get(self, provider_id: str) -> ProviderEntry | None:
        """Return the provider with an id, or None."""
        return self._entries.get(provider_id)

    def with_own(self, own: Sequence[ProviderEntry]) -> Providers:
        """Return a table with a tenant's own providers added. Those whose id is taken are left out."""
        if not own:
            return self
        both = Providers(())
        both._entries = dict(sorted((self._of(own) | self._entries).items()))
        return both

    @staticmethod
    def _of(own: Sequence[ProviderEntry]) -> dict[str, ProviderEntry]:
        return {entry.info.id: entry for entry in own}


class OwnProviders(Protocol):
    """The providers of one family that tenants define themselves."""

    family: str

    @property
    def changes(self) -> int:
        """A counter that grows when this process changes one of these providers."""
        ...

    async def of(self, principal: Principal) -> Sequence[ProviderEntry]:
        """Return the own providers of a principal's tenant."""
        ...
