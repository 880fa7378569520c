"""The registry of mappings: finds the mapping of a name, compiled and cached.

A name is looked up in the app, then in the tenant's shared scope, then among the built-ins; in a scope,
a registered mapping comes before one from a file. Results are cached until the revision of all mappings changes, which
each replica reads twice a second: a registration reaches them within one. (LISTEN would not pass PgBouncer.)
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from context_service.history.pure.limits import DEFAULTS, HistoryLimits
from context_service.history.pure.mapping_faults import check_evident
from context_service.history.pure.mapping_rules import Rules, rules_bytes
from context_service.history.pure.mappings import DEFAULT_NAME, Mapping, built_in, built_in_names, compile_mapping
from context_service.history.rules.compile_pool import CompilePool
from context_service.history.rules.mapping_files import FileMappings
from context_service.history.store import MappingStore, StoredMapping
from context_service.kernel.cel import CompileBudget
from contextkeep.errors import (
    ContextKeepError,
    InvalidArgument,
    InvalidPageToken,
    MappingBroken,
    MappingBuiltIn,
    MappingExists,
    MappingNotFound,
    PermissionDenied,
)
from service_runtime.inputs.pages import PAGE_BYTES_MAX, decode_token, encode_token, page_size
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_text
from service_runtime.values.copying import copied

POLL_S = 0.5
_KEPT_MAX = 10_000  # the most looked-up names in the cache
_KEPT_BYTES_MAX = 1024 * 1024  # limit for the cached rules as JSON; compiled, they take up to a hundred times as much

_log = logging.getLogger("mappings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A mapping with its name, scope and version, as lists show it."""

    app_id: str
    name: str
    rules: Rules
    rules_version: int = 0
    version: int = 0  # 0 if it is built in or from a file
    error: str = ""  # why it no longer compiles
    created_at: datetime | None = None
    updated_at: datetime | None = None
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoundMapping:
    listed: Listed
    mapping: Mapping | None  # None if it no longer compiles


class MappingRegistry:
    """Finds, lists, registers and removes mappings; one for each process."""

    def __init__(
        self, store: MappingStore, limits: HistoryLimits = DEFAULTS, *, files: FileMappings | None = None
    ) -> None:
        self._store = store
        self._limits = limits
        self._files = files or {}
        self._revision = -1
        # Results of look-ups by name, which are dropped as soon as any mapping changes.
        self._found: OrderedDict[tuple[UUID, tuple[str, ...], str], _FoundMapping | None] = OrderedDict()
        # Compiled mappings by tenant, app and name, valid for the same rules, as long as there is room.
        self._compiled: OrderedDict[tuple[UUID, str, str], _FoundMapping] = OrderedDict()
        self._compiled_bytes = 0
        self._pool = CompilePool(limits)

    async def find(self, principal: Principal, app_id: str, name: str) -> Mapping:
        """Return the mapping of that name that the caller sees.

        Args:
            principal: The caller; its tenant and bounds limit the rows.
            app_id: The app of the mapping; empty takes the key's app if it has exactly one, else the tenant's shared
                scope.
            name: The name of the mapping; empty takes `simple_chat`.

        Raises:
            InvalidArgument: `app_id` or `name` is malformed.
            LimitExceeded: `app_id` or `name` is too long.
            MappingNotFound: there is no such mapping; the error names the apps that have the name.
            MappingBroken: the stored mapping no longer compiles.
        """
        entry = await self._look_up(principal, app_id, name)
        if entry.mapping is None:
            raise MappingBroken(
                f"the mapping {name!r} no longer compiles; register it again: {entry.listed.error}", mapping_name=name
            )
        return entry.mapping

    async def get(self, principal: Principal, app_id: str, name: str) -> Listed:
        """Return the mapping that `find` would return, with its name, scope and version.

        Raises:
            InvalidArgument: `app_id` or `name` is malformed.
            LimitExceeded: `app_id` or `name` is too long.
            MappingNotFound: there is no such mapping.
        """
        return (await self._look_up(principal, app_id, name)).listed

    async def list(
        self, principal: Principal, app_id: str, *, requested_size: int, page_token: str
    ) -> tuple[list[Listed], str]:
        """Return a page of the mappings that the caller sees, and the next page's token.

        First come the stored ones, then those of files, with the built-in ones.

        Raises:
            InvalidArgument: `app_id` is malformed.
            LimitExceeded: `app_id` is too long.
            InvalidPageToken: the token is malformed or of another query.
        """
        check_text("app_id", app_id, chars_max=self._limits.name_chars_max)
        # The app "" has the mappings of the tenant, which all apps see. None: all apps.
        apps = sorted(principal.app_ids | {""}) if principal.app_ids else None
        if app_id:
            apps = [scope for scope in _scopes(principal, app_id) if scope == app_id]
        query = ("ListMappings", principal.tenant_id, apps)
        size = page_size(requested_size)
        from_files = self._from_files(apps, with_built_in=not app_id)
        mappings: list[Listed] = []
        more = False
        key = decode_token(query, page_token, parts=3)
        if key is not None and not all(isinstance(part, str) and "\0" not in part for part in key):
            raise InvalidPageToken("page_token is malformed", field="page_token")
        kind, *after = key or ("stored", "", "")  # after: the app and the name of the last page's last mapping
        if kind == "stored":
            rows, more = await self._store.list(
                principal, app_ids=apps, after=tuple(after), count_max=size, bytes_max=PAGE_BYTES_MAX
            )
            mappings = [(await self._compile(principal, row)).listed for row in rows]
        else:
            from_files = [mapping for mapping in from_files if [mapping.app_id, mapping.name] > after]
        if not more:
            left_on_page = size - len(mappings)
            mappings += from_files[:left_on_page]
            more = len(from_files) > left_on_page
        if not more:
            return mappings, ""
        last = mappings[-1]
        kind = "stored" if last.version else "of a file"
        return mappings, encode_token(query, (kind, last.app_id, last.name))

    async def register(
        self, principal: Principal, app_id: str, name: str, rules: Rules, *, rules_version: int, replace: bool
    ) -> tuple[Listed, bool]:
        """Compile rules and store them under a name; return the stored mapping, and whether the call changed it.

        Raises:
            InvalidArgument, LimitExceeded: the rules do not compile, exceed a limit, or are evidently wrong.
            MappingExists: the name has other rules, or is built in.
            PermissionDenied: the key is bound to other apps.
        """
        scope = self._own_scope(principal, app_id, name)
        if rules_version < 0:
            raise InvalidArgument(f"rules_version must be 0 or more (got {rules_version})", field="rules_version")
        if built_in(name) is not None:
            raise MappingExists(
                f"the mapping {name!r} is built in, and its rules cannot change; use another name",
                mapping_name=name,
                built_in="true",
            )
        mapping = await self._check_new(principal, scope, name, rules, rules_version)
        stored_mapping, is_changed = await self._store.register(
            principal, scope, name, rules, rules_version=rules_version, replace=replace
        )
        if is_changed:
            self._forget()
        if stored_mapping.rules == rules:
            return self._keep(principal, stored_mapping, mapping).listed, is_changed
        return (await self._compile(principal, stored_mapping)).listed, is_changed

    async def compile_rules(self, principal: Principal, rules: Rules) -> Mapping:
        """Compile rules that are not registered.

        Raises:
            InvalidArgument, LimitExceeded: they do not compile, exceed a limit, or are evidently wrong.
        """
        mapping, fault = await self._compile_new(principal, rules)
        if fault is not None:
            raise fault
        return mapping

    async def delete(self, principal: Principal, app_id: str, name: str) -> Listed:
        """Remove a mapping from the scope that `register` would write it to, and return it as it was.

        Raises:
            InvalidArgument: `app_id` or `name` is malformed.
            LimitExceeded: `app_id` or `name` is too long.
            MappingNotFound: this scope has no such mapping; the error names the apps that have the name.
            MappingBuiltIn: the mapping is built in, and cannot be removed.
            PermissionDenied: the key is bound to other apps.
        """
        scope = self._own_scope(principal, app_id, name)
        if built_in(name) is not None:
            raise MappingBuiltIn(f"the mapping {name!r} is built in and cannot be deleted", mapping_name=name)
        mapping = await self._store.delete(principal, scope, name)
        if mapping is None and (scope, name) in self._files:
            raise MappingBuiltIn(
                f"the mapping {name!r} is from a file and cannot be deleted; remove it from MAPPINGS_PATH",
                mapping_name=name,
            )
        if mapping is None:
            raise await self._not_found(principal, name)
        self._forget()
        return (await self._compile(principal, mapping)).listed

    async def keep_current(self) -> None:
        """Empty the cache whenever a mapping changes; run until cancelled."""
        for name in built_in_names():  # the first compilation of a process takes a tenth of a second: not a caller's
            await asyncio.to_thread(built_in, name)
        while True:
            try:
                revision = await self._store.revision()
                if revision != self._revision:
                    self._forget()
                    self._revision = revision
            except ContextKeepError as error:  # Postgres does not answer: keep the cache
                _log.debug("revision not read", extra={"error": str(error)})
            await asyncio.sleep(POLL_S)

    async def _look_up(self, principal: Principal, app_id: str, name: str) -> _FoundMapping:
        """Return the mapping of a name from the cache, or from the database and the files.

        Raises:
            MappingNotFound: no scope of the caller has the name.
        """
        check_text("app_id", app_id, chars_max=self._limits.name_chars_max)
        name = check_text("mapping_name", name, chars_max=self._limits.name_chars_max) or DEFAULT_NAME
        scopes = _scopes(principal, app_id)
        key = (principal.tenant_id, tuple(scopes), name)
        if key not in self._found:
            cache = self._found
            entry = await self._read(principal, scopes, name)
            if cache is self._found:  # else a mapping changed during the read, and the result may be old
                cache[key] = entry
                if len(cache) > _KEPT_MAX:
                    cache.popitem(last=False)
        else:
            self._found.move_to_end(key)
            entry = self._found[key]
        if entry is None:
            raise await self._not_found(principal, name)
        return entry

    async def _read(self, principal: Principal, scopes: Sequence[str], name: str) -> _FoundMapping | None:
        """Return the mapping of a name: a built-in one, or that of the first scope that has one; None if none has."""
        if built_in(name) is not None:  # this name cannot be registered
            return _built_in(name)
        rows = await self._store.find(principal, name, scopes)
        for scope in scopes:
            if scope in rows:
                return await self._compile(principal, rows[scope])
            if mapping := self._files.get((scope, name)):
                return _found_in_file(scope, name, mapping)
        return None

    def _from_files(self, apps: Sequence[str] | None, *, with_built_in: bool) -> Sequence[Listed]:
        """Return mappings from files for `apps` (None for all) and built-in ones, by app and name."""
        entry = [
            _found_in_file(app_id, name, mapping).listed
            for (app_id, name), mapping in self._files.items()
            if apps is None or app_id in apps
        ]
        if with_built_in:
            entry += [_built_in(name).listed for name in built_in_names()]
        return sorted(entry, key=lambda description: (description.app_id, description.name))

    async def _compile(self, principal: Principal, mapping: StoredMapping) -> _FoundMapping:
        """Return a stored mapping compiled, from the cache if another call has compiled it already."""
        compiled_mapping = self._cached(principal, mapping)
        if compiled_mapping is None:
            async with self._pool.turn(principal):
                compiled_mapping = self._cached(
                    principal, mapping
                )  # another call may have compiled it while this one waited
                if compiled_mapping is None:
                    return await self._compile_stored(principal, mapping)
        return self._keep(principal, mapping, compiled_mapping.mapping, compiled_mapping.listed.error)

    def _cached(self, principal: Principal, mapping: StoredMapping) -> _FoundMapping | None:
        """Return a compiled mapping, or None if the cache has none with the same rules."""
        compiled_mapping = self._compiled.get((principal.tenant_id, mapping.app_id, mapping.name))
        return (
            compiled_mapping
            if compiled_mapping is not None and compiled_mapping.listed.rules == mapping.rules
            else None
        )

    async def _compile_stored(self, principal: Principal, stored_mapping: StoredMapping) -> _FoundMapping:
        """Compile a stored mapping and cache it. If it does not compile, the error is cached in its place."""
        mapping, problem = None, ""
        try:
            mapping = await self._pool.run(partial(compile_mapping, stored_mapping.rules, self._limits))
        except ContextKeepError as error:  # it did compile when it was registered: an upgrade changed the rules
            problem = error.message
        return self._keep(principal, stored_mapping, mapping, problem)

    def _keep(
        self, principal: Principal, stored_mapping: StoredMapping, mapping: Mapping | None, problem: str = ""
    ) -> _FoundMapping:
        """Cache a compiled mapping as the newest; the oldest ones make room for it."""
        description = copied(Listed, stored_mapping, error=problem)
        entry = _FoundMapping(listed=description, mapping=mapping)
        key = (principal.tenant_id, stored_mapping.app_id, stored_mapping.name)
        if before := self._compiled.pop(key, None):
            self._compiled_bytes -= rules_bytes(before.listed.rules)
        self._compiled[key] = entry
        self._compiled_bytes += rules_bytes(entry.listed.rules)
        while self._compiled_bytes > _KEPT_BYTES_MAX:
            _, oldest = self._compiled.popitem(last=False)
            self._compiled_bytes -= rules_bytes(oldest.listed.rules)
        return entry

    async def _compile_new(self, principal: Principal, rules: Rules) -> tuple[Mapping, InvalidArgument | None]:
        """Compile rules, and return them with their visible faults."""

        def work(budget: CompileBudget) -> tuple[Mapping, InvalidArgument | None]:
            mapping = compile_mapping(rules, self._limits, budget)
            try:
                check_evident(mapping, budget)
            except InvalidArgument as fault:
                return mapping, fault
            return mapping, None

        async with self._pool.turn(principal):
            return await self._pool.run(work)

    async def _check_new(
        self, principal: Principal, scope: str, name: str, rules: Rules, rules_version: int
    ) -> Mapping:
        """Compile rules for registration, and refuse visible faults, unless the rules are registered already.

        An app registers its rules at every start. Rules that were accepted once must not keep it from starting because
        a newer version of the service detects more faults.
        """
        mapping, fault = await self._compile_new(principal, rules)
        if fault is not None:
            stored_mapping = (await self._store.find(principal, name, [scope])).get(scope)
            older = stored_mapping is not None and 0 < rules_version < stored_mapping.rules_version
            if stored_mapping is None or (stored_mapping.rules != rules and not older):
                raise fault
        return mapping

    async def _not_found(self, principal: Principal, name: str) -> MappingNotFound:
        """Return the error for an unknown mapping. It names the apps that have one and that the caller may see."""
        apps = {*await self._store.apps(principal, name), *(app for app, file_name in self._files if file_name == name)}
        visible = [app for app in sorted(apps) if not principal.app_ids or app in principal.app_ids or not app]
        where = f"; it exists in {', '.join(app or 'the shared scope' for app in visible)}" if visible else ""
        return MappingNotFound(f"there is no mapping {name!r} here{where}", mapping_name=name, apps=",".join(visible))

    def _own_scope(self, principal: Principal, app_id: str, name: str) -> str:
        """Return the scope to which a mapping of this name is written."""
        check_text("mapping_name", name, chars_max=self._limits.name_chars_max, required=True)
        check_text("app_id", app_id, chars_max=self._limits.name_chars_max)
        scope = _scopes(principal, app_id)[0]
        if app_id and scope != app_id:
            raise PermissionDenied("the key is bound to other apps; set app_id to one of them", app_id=app_id)
        if principal.app_ids and not scope:
            raise PermissionDenied("the key is bound to apps; set app_id to one of them")
        return scope

    def _forget(self) -> None:
        self._found = OrderedDict()


def _scopes(principal: Principal, app_id: str) -> list[str]:
    """Return the apps whose mappings a caller may use by name: the named app first, then "", which all apps share.

    A key that is bound to a single app names this app by default. For an app to which it is not bound it gets only "".
    """
    if not app_id and len(principal.app_ids) == 1:
        (app_id,) = principal.app_ids
    if principal.app_ids and app_id not in principal.app_ids:
        app_id = ""
    return [app_id, ""] if app_id else [""]


def _built_in(name: str) -> _FoundMapping:
    mapping = built_in(name)
    assert mapping is not None
    return _found_in_file("", name, mapping)


def _found_in_file(app_id: str, name: str, mapping: Mapping) -> _FoundMapping:
    """Return the look-up result for a mapping that is built in or from a file."""
    return _FoundMapping(listed=Listed(app_id=app_id, name=name, rules=mapping.rules), mapping=mapping)
