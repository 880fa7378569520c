"""The rules of definitions: they are written as drafts, can be tested, and are approved by administrators.

Only approved versions make pages. Definitions belong to the tenant, so a bound key cannot write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from context_service.compiled_pages.model import CompiledNode
from context_service.compiled_pages.pure.definition import (
    DEFINITIONS_MAX,
    NAME_CHARS_MAX,
    VERSION_MAX,
    CompiledDefinition,
    Definition,
    DefinitionRules,
    DefinitionState,
    check_name,
    check_rules,
    compile_definition,
)
from context_service.compiled_pages.rules.compile_node import PageMaking
from context_service.compiled_pages.store.definitions import DefinitionRows
from context_service.history.pure.limits import HistoryLimits
from context_service.history.room import CompilePool
from context_service.kernel.catalog import check_unbound
from context_service.kernel.graph import EntityGraph
from contextkeep.errors import (
    DefinitionNotFound,
    InvalidArgument,
    InvalidPageToken,
    NodeNotFound,
)
from service_runtime.inputs import pages
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, Requests
from service_runtime.values.checks import check_stored


class Definitions:
    """Reads and writes the definitions of tenants; each call acts for its principal.

    Args:
        database: The database that holds the definitions.
        rows: The SQL statements on definitions.
        graph: The Entity Service, which must keep changes as soon as a definition is approved.
        making: Makes pages by compiled rules, for tests of rules.
        limits: The limits on the size of expressions.
        requests: The stored answers by idempotency key, so that a retry gets the first answer.
    """

    def __init__(
        self,
        database: Database,
        rows: DefinitionRows,
        graph: EntityGraph,
        making: PageMaking,
        limits: HistoryLimits,
        *,
        requests: Requests,
    ) -> None:
        self._database = database
        self._rows = rows
        self._graph = graph
        self._making = making
        self._limits = limits
        self._requests = requests
        self._pool = CompilePool(limits)

    async def put(
        self, name: str, rules: DefinitionRules, *, principal: Principal, request: Request | None
    ) -> Definition:
        """Write a draft, unless the newest version has the same rules and is not retired.

        Raises:
            InvalidArgument: the name or the rules are malformed, or an expression does not compile.
            LimitExceeded: the rules are too large, or there are too many definitions.
            PermissionDenied: the key is bound, for example to an app or a graph.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "definitions")
        check_name(name)
        await self.compiled(rules, principal=principal)

        async def work(transaction: Transaction) -> Definition:
            """Write the rules as a new version, unless the newest version has the same rules and is not retired."""
            await self._rows.lock(transaction)
            newest = await self._rows.newest(transaction, name)
            if newest and newest.rules == rules and newest.state is not DefinitionState.RETIRED:
                stored_version = newest
            else:
                version = newest.version + 1 if newest else 1
                stored_version, count = await self._rows.put(
                    transaction, name, rules, version=version, by=principal.subject
                )
                check_stored("definitions", count, DEFINITIONS_MAX)
            return stored_version

        return await self._database.of(principal).transaction(self._requests.once(request, work))

    async def approve(self, name: str, version: int, *, principal: Principal, request: Request | None) -> Definition:
        """Approve a version, so that pages are made by it, and retire the version before.

        Raises:
            DefinitionNotFound: there is no such definition or version.
            InvalidArgument: no version is named.
            PermissionDenied: the key is bound, or may not make the Entity Service keep changes.
            Unavailable: the Entity Service does not answer.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "definitions")
        check_name(name)
        _check_version(version, required=True)
        await self.get(name, version, principal=principal)
        # Start the list of changes before the approval, so that no later change is missed.
        await self._graph.start_changes()

        async def work(transaction: Transaction) -> Definition:
            await self._rows.lock(transaction)
            approved = await self._rows.approve(transaction, name, version, by=principal.subject)
            if approved is None:
                raise no_definition(name)
            return approved

        return await self._database.of(principal).transaction(self._requests.once(request, work))

    async def retire(self, name: str, version: int, *, principal: Principal, request: Request | None) -> Definition:
        """Retire a version; 0 retires the approved one.

        Raises:
            DefinitionNotFound: there is no such definition or version.
            PermissionDenied: the key is bound, for example to an app or a graph.
            RequestIdReused: another request had the same request id.
        """
        check_unbound(principal, "definitions")
        check_name(name)
        _check_version(version)

        async def work(transaction: Transaction) -> Definition:
            await self._rows.lock(transaction)
            retired = await self._rows.retire(transaction, name, version)
            if retired is None:
                raise no_definition(name)
            return retired

        return await self._database.of(principal).transaction(self._requests.once(request, work))

    async def get(self, name: str, version: int, *, principal: Principal) -> Definition:
        """Return a version; 0 returns the approved one, or else the newest.

        Raises:
            DefinitionNotFound: the caller sees no such version.
            InvalidArgument: the name is blank, or the version is out of range.
            LimitExceeded: the name is too long.
        """
        check_name(name)
        _check_version(version)
        definition = await self._rows.read(principal, name, version)
        if definition is None:
            raise no_definition(name)
        return definition

    async def page(
        self, page: pages.PageRequest, states: Sequence[DefinitionState], *, principal: Principal
    ) -> tuple[list[Definition], str]:
        """Return a page of the versions that the caller sees, and the token of the next one.

        Raises:
            InvalidPageToken: the token is malformed or belongs to another list.
        """
        query = ("ListDefinitions", principal.tenant_id, sorted(state.value for state in states))
        key = pages.decode_token(query, page.token, parts=2)
        after = _place(key) if key else ("", 0)
        count = pages.page_size(page.size)
        rows = await self._rows.page(principal, states, after=after, count=count + 1)
        return pages.cut(query, rows, count, key=lambda listed: (listed.name, listed.version))

    async def tried(self, rules: DefinitionRules, node_id: UUID, *, principal: Principal) -> CompiledNode:
        """Return the page that rules make of a node, without storing it.

        Raises:
            InvalidArgument: a field of the rules is malformed, or an expression does not compile.
            LimitExceeded: the rules are too large.
            NodeNotFound: there is no such node.
            Unavailable: the Entity Service does not answer.
        """
        definition = await self.compiled(rules, principal=principal)
        nodes = await self._graph.nodes([str(node_id)])
        if not nodes:
            raise NodeNotFound("no node has this id", node_id=node_id)
        (node,) = nodes
        types = node.entity["type"], node.entity["general_type"]
        if rules.node_type not in types or node.graph_name != rules.graph_name:
            return CompiledNode()
        return await self._making.page(definition, node)

    async def compiled(self, rules: DefinitionRules, *, principal: Principal) -> CompiledDefinition:
        """Compile rules off the event loop.

        Raises:
            InvalidArgument: a field is malformed, or an expression does not compile.
            LimitExceeded: the rules are too large.
        """
        check_rules(rules, self._limits)
        async with self._pool.turn(principal):
            return await self._pool.run(partial(compile_definition, rules))


def no_definition(name: str) -> DefinitionNotFound:
    """Return the error for a definition that does not exist, that the caller may not see, or that is not approved."""
    return DefinitionNotFound(f"definition {name[:100]!r} does not exist, or not in this version", definition_name=name)


def _check_version(version: int, *, required: bool = False) -> None:
    if not 0 <= version <= VERSION_MAX or (required and not version):
        lowest = 1 if required else 0
        raise InvalidArgument(f"version must be between {lowest} and {VERSION_MAX} (got {version})", field="version")


def _place(key: Sequence[Any]) -> tuple[str, int]:
    """Return the name and the version that a page token holds.

    Raises:
        InvalidPageToken: the token holds something else.
    """
    name, version = key
    is_name = type(name) is str and len(name) <= NAME_CHARS_MAX and "\0" not in name
    if is_name and type(version) is int and 0 <= version <= VERSION_MAX:
        return name, version
    raise InvalidPageToken("page_token is malformed", field="page_token")
