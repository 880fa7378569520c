"""Compression profiles: those that come with the service, and those that tenants register as data.

A window keeps the version of the profile with which it was opened, so that each replica reads its log in the same way.
A version never changes, so a process caches compiled versions in memory.

The patterns of a tenant's profile take time that is linear in the text, but they may still take seconds for a MiB. They
run on separate threads, one at a time for each tenant, so that they do not delay other tenants.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import ParamSpec, TypeVar
from uuid import UUID

from context_service.kernel.keyed_locks import KeyedLocks
from context_service.profiles.model import NAME_CHARS_MAX, PROFILE_BYTES_MAX, StoredProfile
from context_service.profiles.pure.lookups import applied
from context_service.profiles.pure.profiles import (
    DEFAULT,
    BadProfile,
    Profile,
    parse_profile,
    profile,
    profile_names,
    text_of,
)
from context_service.profiles.store.profiles import ProfileRows
from contextkeep.errors import InvalidArgument
from service_runtime.inputs import pages
from service_runtime.inputs.documents import beside_the_loop, in_stoppable_thread
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_long_text, check_stored, check_text

PROFILES_MAX = 100  # the most profiles of a tenant
VERSIONS_MAX = 100  # the most versions of a profile
TEXTS_AT_ONCE = 10  # the most profiles of a page with texts: so many fit one answer

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_KEPT_MAX = 32  # the most compiled profiles in the cache of a process
_PARSING = 64  # the cost of parsing YAML and compiling patterns, for each byte, in bytes of JSON parsing
_THREADS = 2
_TURN_S = 0.001  # the switch interval of the interpreter, as in `documents`: a busy thread yields this often

_P = ParamSpec("_P")
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class OwnProfiles:
    """The profiles that windows of a tenant may use: built-in, registered and learned ones.

    Args:
        database: The database that holds tenants' profiles.
        requests: The store of idempotency keys and their answers.
    """

    def __init__(self, database: Database, *, requests: Requests) -> None:
        self._database = database
        self._rows = ProfileRows(database)
        self._requests = requests
        self._writer_locks = KeyedLocks()
        self._threads = ThreadPoolExecutor(
            _THREADS, thread_name_prefix="profiles", initializer=sys.setswitchinterval, initargs=(_TURN_S,)
        )
        self._cached: OrderedDict[tuple[UUID, str], Profile] = OrderedDict()
        self._shipped: dict[str, Profile] = {}

    async def put(self, name: str, text: str, *, principal: Principal, request: Request | None) -> StoredProfile:
        """Register a profile, and return its version. From now on windows that name the profile get this version.

        If a version has the same content already, no new version is written.

        Raises:
            InvalidArgument: the name is malformed or that of a built-in profile, or the text is not a profile.
            LimitExceeded: the profile is too large, or there are too many.
            PermissionDenied: the caller's key has bounds, such as one context.
            RequestIdReused: the request id was used before, for another request.
        """
        check_name(name)
        if name in profile_names():
            raise InvalidArgument(f"the profile {name} comes with the service; use another name", field="name")
        check_long_text("text", text, size_bytes_max=PROFILE_BYTES_MAX, required=True)
        tenant = self._database.of(principal)
        try:
            await self._apart(principal.tenant_id, parse_profile, name, text, is_own=True)
        except BadProfile as error:
            raise InvalidArgument(str(error), field="text") from None

        async def work(transaction: Transaction) -> StoredProfile:
            put_version = await self._rows.put(transaction, name, text, created_by=principal.subject)
            for limit, most, value in (
                ("profiles", PROFILES_MAX, put_version.profiles),
                ("profile_versions", VERSIONS_MAX, put_version.versions),
            ):
                check_stored(limit, value, most)
            return await self._rows.get(transaction, name, put_version.version)

        return await tenant.transaction(self._requests.once(request, work))

    async def page(
        self, name: str, page: pages.PageRequest, *, principal: Principal, with_text: bool
    ) -> tuple[list[StoredProfile], str]:
        """Return a page of profiles, and the token of the next page.

        Without a name, these are all profiles by name, each in its current version. With a name, these are the versions
        of this profile, newest first, with learned versions for callers that may see their app.

        Raises:
            InvalidArgument: the page size or another field of the request is out of range.
            InvalidPageToken: the page token is malformed, or belongs to another query.
        """
        if name:
            check_name(name)
        query = ("ListProfiles", principal.tenant_id, name, with_text)
        count = pages.page_size(page.size)
        count = min(count, TEXTS_AT_ONCE) if with_text else count
        profiles: list[StoredProfile]
        if name:
            before = pages.decode_number(query, page.token) or 0
            profiles = await self._rows.versions(principal, name, before=before, count=count + 1, with_text=with_text)
            # The last row of a built-in profile's versions is the profile itself, which no table has.
            if name in profile_names() and len(profiles) <= count:
                profiles.append(_built_in(name, with_text=with_text))
        else:
            (after,) = pages.decode_texts(query, page.token, parts=1)
            profiles = await self._rows.names(principal, after=after, count=count + 1, with_text=with_text)
            profiles += [
                _built_in(profile_name, with_text=with_text) for profile_name in profile_names() if profile_name > after
            ]
            profiles.sort(key=lambda named_profile: named_profile.name)
        return pages.cut(query, profiles, count, key=lambda profile: (profile.version if name else profile.name,))

    async def stored_name(self, text: str, *, principal: Principal, field: str = "compression_profile") -> str:
        """Return the name that a window stores for a profile: of a built-in profile its name, else `name@version`.

        Raises:
            InvalidArgument: the profile does not exist.
        """
        if not text or text in profile_names():
            return text or DEFAULT
        name, at, number = text.partition("@")
        if _NAME.fullmatch(name) and len(name) <= NAME_CHARS_MAX:
            if not at and (version := await self._rows.current(principal.tenant_id, name)):
                return f"{name}@{version}"
            if re.fullmatch(r"[1-9][0-9]{0,8}", number):
                stored_profile = await self._rows.read(principal.tenant_id, name, int(number))
                if stored_profile and (
                    not stored_profile.app_id or not principal.app_ids or stored_profile.app_id in principal.app_ids
                ):
                    return text
        raise InvalidArgument(
            f"{field} must be one of {', '.join(profile_names())}, or a profile that was put", field=field
        )

    async def of(self, stored_name: str, *, principal: Principal) -> Profile:
        """Return the profile of a window, by the name that `stored_name` returned."""
        if stored_name in profile_names():
            if stored_name not in self._shipped:  # its patterns are compiled once, in 50 ms
                self._shipped[stored_name] = await in_stoppable_thread(self._threads, profile, stored_name)
            return self._shipped[stored_name]
        key = (principal.tenant_id, stored_name)
        if key in self._cached:
            self._cached.move_to_end(key)
            return self._cached[key]
        name, _, version = stored_name.partition("@")
        stored_profile = await self._rows.read(principal.tenant_id, name, int(version))
        assert stored_profile is not None, stored_name  # versions are never deleted
        try:
            if stored_profile.learned:
                base = await self.of(stored_profile.base, principal=principal)
                profile_in_use = replace(
                    applied(base, stored_profile.learned), name=stored_name, base=stored_profile.base
                )
            else:
                profile_in_use = await self._apart(
                    principal.tenant_id, parse_profile, stored_name, stored_profile.text, is_own=True
                )
        except BadProfile as error:  # an older release of the service accepted it
            _log.warning("profile is no longer valid", extra={"profile": stored_name, "why": str(error)})
            profile_in_use = profile(DEFAULT)
        self._cached[key] = profile_in_use
        while len(self._cached) > _KEPT_MAX:
            self._cached.popitem(last=False)
        return profile_in_use

    async def beside(
        self,
        profile: Profile,
        principal: Principal,
        size_bytes: int,
        work: Callable[_P, _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Run work that applies a profile off the event loop, and return its result.

        Work with a tenant's own profile runs on separate threads, so that it cannot delay other tenants.
        """
        if not profile.own_size:
            return await beside_the_loop(size_bytes, work, *args, **kwargs)
        return await self._apart(principal.tenant_id, work, *args, **kwargs)

    def end(self) -> None:
        """Stop the threads for tenants' profiles."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _apart(self, tenant_id: UUID, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run work on the threads for tenants' profiles, one call at a time for each tenant."""
        async with self._writer_locks.hold(tenant_id):
            return await in_stoppable_thread(self._threads, work, *args, **kwargs)


def check_name(name: str) -> None:
    """Check the name of a profile.

    Raises:
        InvalidArgument: the name is empty, too long, or has other characters.
    """
    check_text("name", name, chars_max=NAME_CHARS_MAX, required=True)
    if not _NAME.fullmatch(name):
        raise InvalidArgument(
            f"name must have only lowercase letters, digits, _ and -, and begin with a letter (got {name!r})",
            field="name",
        )


def _built_in(name: str, *, with_text: bool) -> StoredProfile:
    """Return a built-in profile in the form of a stored one."""
    return StoredProfile(name=name, version=0, text=text_of(name) if with_text else "")
