"""The protocol of a provider: one searchable thing. An operator adds one by a package with an entry point.

The package names, in the group `contextkeep.context_providers`, something that is called without arguments and returns
a `Provider`; if that is an asynchronous context manager, too, it is entered when the service starts, and left when it
stops. Native providers are held by the caller's principal and the walls of the database. An installed one runs with the
service's own rights, so the operator trusts its code; what it answers is trusted no further than any text from outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol, runtime_checkable

from context_service.query.model import BOTH, Answered, Expanded, Hit, ProviderQuery, Scope, State
from contextkeep.errors import FailedPrecondition
from service_runtime.auth import Principal

# What a package of a provider imports.
__all__ = [
    "BOTH",
    "Answered",
    "Expanded",
    "Expanding",
    "Hit",
    "Provider",
    "ProviderInfo",
    "ProviderQuery",
    "Scope",
    "State",
]

GROUP = "contextkeep.context_providers"
PROVIDERS_MAX = 32
DEADLINE_QUICK_S, DEADLINE_DEEP_S = 2.5, 8.0
DEADLINE_S_MAX = 60.0  # of a provider's own

_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
_DISPLAY_CHARS_MAX = 100


class ProviderInvalid(FailedPrecondition):
    """An installed provider cannot be used. The service does not start without what its operator installed."""

    reason = "CONTEXT_PROVIDER_INVALID"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """What a provider is."""

    id: str  # small letters, digits and hyphens
    family: str  # likewise; a kind of provider, of which there may be several
    display_name: str
    scopes: frozenset[Scope] = BOTH  # of what it may answer
    is_default: bool = True  # asked where a question selects none
    deadline_s: float | None = None  # its own, at either depth; None: 2.5 s, or 8 s of a deep question


@runtime_checkable
class Provider(Protocol):
    """One searchable thing.

    `search` may be a coroutine function, which must never block, or a plain function, which is run in a thread. Both
    may be asked several questions at once. A late coroutine is cancelled, and should end then; of a late thread nobody
    waits for the end. So long as eight of either kind go on behind their answers, the provider is not asked again.
    """

    @property
    def info(self) -> ProviderInfo:
        """What it is; always the same."""
        ...

    def search(self, asked: ProviderQuery, principal: Principal) -> object:
        """Return an `Answered`, or an awaitable of one."""
        ...


@runtime_checkable
class Expanding(Protocol):
    """What a provider may have, too: the whole of what its hits are from."""

    def expand(self, source_ids: Sequence[str], asked: ProviderQuery, principal: Principal) -> object:
        """Return a list of `Expanded`, or an awaitable of one: of ids of its hits, those that there still are.

        An id that the principal may not read is left out, as one that never was, and one that the agent of `asked` may
        not. It is called as `search` is. Anybody can make ids up: they are text from outside, of 256 characters at
        most.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row of the table of providers."""

    provider: Provider
    info: ProviderInfo
    is_installed: bool
    trust: int  # of its hits, 1 to 5
    waits: bool = False  # for others, most of its time: it keeps no turn of expensive work


class Providers:
    """The table of providers, by id."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        """Take the providers.

        Raises:
            ProviderInvalid: two have one id, or there are too many.
        """
        self._entries: dict[str, Entry] = {}
        for entry in sorted(entries, key=lambda one: one.info.id):
            if entry.info.id in self._entries:
                raise ProviderInvalid(f"there are two context providers {entry.info.id!r}")
            self._entries[entry.info.id] = entry
        if len(self._entries) > PROVIDERS_MAX:
            raise ProviderInvalid(
                f"there are {len(self._entries)} context providers; the limit is {PROVIDERS_MAX}",
                limit_max=PROVIDERS_MAX,
                value=len(self._entries),
            )

    @property
    def all(self) -> Sequence[Entry]:
        """All of them, by id."""
        return list(self._entries.values())

    @property
    def families(self) -> frozenset[str]:
        """Those that a provider is of."""
        return frozenset(entry.info.family for entry in self._entries.values())

    def get(self, provider_id: str) -> Entry | None:
        """Return one; None: there is none of this id."""
        return self._entries.get(provider_id)

    def beside(self, own: Sequence[Entry]) -> Providers:
        """Return these and a tenant's own. One that has the id of another one here is not there."""
        if not own:
            return self
        both = Providers(())
        both._entries = dict(sorted((self._of(own) | self._entries).items()))
        return both

    @staticmethod
    def _of(own: Sequence[Entry]) -> dict[str, Entry]:
        return {entry.info.id: entry for entry in own}


class OwnProviders(Protocol):
    """Providers that are not the service's but a tenant's, of one family."""

    family: str

    @property
    def changes(self) -> int:
        """Counts what this process changed of them."""
        ...

    async def of(self, principal: Principal) -> Sequence[Entry]:
        """Return those of the tenant of a principal."""
        ...


def native(provider: Provider, *, trust: int, waits: bool = False) -> Entry:
    """Return the row of a provider of ours."""
    return Entry(provider=provider, info=provider.info, is_installed=False, trust=trust, waits=waits)


def installed() -> list[Entry]:
    """Return the rows of the providers that are installed.

    Raises:
        ProviderInvalid: one cannot be made, or does not say what it is.
    """
    return [_installed(one) for one in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value))]


def _installed(entry_point: EntryPoint) -> Entry:
    name = f"the context provider {entry_point.name!r} ({entry_point.value})"
    try:
        factory: Callable[[], object] = entry_point.load()
        provider = factory()
        # Asked once: what it is shall not change while questions are under way.
        info: object = getattr(provider, "info", None)
    except Exception as error:
        raise ProviderInvalid(f"{name} cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(provider, Provider) or type(info) is not ProviderInfo:
        raise ProviderInvalid(f"{name} is none: it needs `info`, a ProviderInfo, and `search`")
    _check(name, info)
    return Entry(provider=provider, info=info, is_installed=True, trust=1, waits=True)


def _check(name: str, info: ProviderInfo) -> None:
    for what, text in (("id", info.id), ("family", info.family)):
        if type(text) is not str or not _NAME.fullmatch(text):
            raise ProviderInvalid(f"{name}: its {what} is not of small letters, digits and hyphens, 63 at most")
    if type(info.display_name) is not str or not 0 < len(info.display_name.strip()) <= _DISPLAY_CHARS_MAX:
        raise ProviderInvalid(f"{name}: its display_name has not 1 to {_DISPLAY_CHARS_MAX} characters")
    if not isinstance(info.scopes, frozenset) or not info.scopes or not info.scopes <= BOTH:
        raise ProviderInvalid(f"{name}: its scopes are no frozenset of Scope with one at least")
    if info.deadline_s is not None and not 0 < info.deadline_s <= DEADLINE_S_MAX:
        raise ProviderInvalid(f"{name}: its deadline_s is not more than 0 and {DEADLINE_S_MAX:g} at most")
