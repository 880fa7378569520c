"""Compile pages from the graph as the caller sees it, and only the pages that changed since the last compile.

A compiled page shows a node of the graph, by the rules of a definition that an administrator approved.

The Entity Service keeps a list of changes. A compile reads it in order, and stores its position after the changes
before that position are compiled. If a compile ends early, the next one continues there, and repeats at most one batch.
Before it reads the list, it compiles all nodes of each definition whose approved version was never compiled; the list
has the changes that happen meanwhile.
A compile of all nodes also looks for pages whose nodes it did not meet. It asks the Entity Service for those nodes, and
removes the pages of nodes that are gone. A node never changes its graph or its agent bundle, and a page has those of
its node. So a caller that sees a page would also see its node, if the node still existed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar
from uuid import UUID

from context_service.compiled_pages.model import (
    PROBLEMS_MAX,
    Audience,
    Compiled,
    CompiledNode,
    CompileProgress,
    CompileRequest,
    Counts,
    PageCounts,
    Problem,
    Unseen,
)
from context_service.compiled_pages.pure.definition import CompiledDefinition, Definition
from context_service.compiled_pages.rules.compile_node import EDGES_IN, EDGES_OUT, NODE, PageMaking
from context_service.compiled_pages.rules.definitions import Definitions, no_definition
from context_service.compiled_pages.store.definitions import DefinitionRows
from context_service.compiled_pages.store.pages import FIRST, CompiledRows
from context_service.compiled_pages.store.progress import CompileStates
from context_service.kernel.graph import EntityGraph
from context_service.kernel.graph_values import GraphChange, WholeNode
from contextkeep.errors import (
    ChangesExpired,
    ChangesNotStarted,
    ContextKeepError,
    InvalidArgument,
    InvalidPageToken,
    NodeNotFound,
)
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.values.ids import new_id

BATCH = 25  # pages that are made together, and written in a transaction, unless they are large
BATCH_BYTES = 4 * 1024 * 1024  # a transaction writes about this many bytes of pages at most
AT_ONCE = 4  # pages that are made at the same time
DROPPED = 200  # the most pages that one transaction removes
NODES_MAX = 1_000  # nodes that a caller may name

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """An approved definition, compiled."""

    definition: Definition
    rules: CompiledDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Pages that were made together, and will be written together."""

    read_at: float  # when the first of their nodes was read, by the monotonic clock
    nodes: int  # the number of nodes that were read
    compiled: Sequence[tuple[Compiled, CompiledNode]]


@dataclass(slots=True, kw_only=True)
class _Run:
    """A compile under way."""

    principal: Principal
    audience: Audience
    counts: Counts
    ready: Mapping[str, _Ready]
    names: Sequence[str]  # the approved definitions that the caller sees
    problems: list[Problem] = field(default_factory=list)

    def report(self) -> Counts:
        """Return the progress, with the problems since the last report."""
        progress = replace(self.counts, problems=tuple(self.problems))
        self.problems.clear()
        return progress


class Compiling:
    """Compiles pages; each call acts for its principal.

    Args:
        database: The database that holds the pages.
        approved: The stored definitions, of which only approved versions are used.
        definitions: Compiles the rules of definitions.
        rows: The SQL statements on compiled pages.
        states: Stores how far each compile has come.
        graph: The Entity Service, read as the caller.
        making: Makes the page of a node by compiled rules.
    """

    def __init__(
        self,
        database: Database,
        approved: DefinitionRows,
        definitions: Definitions,
        rows: CompiledRows,
        states: CompileStates,
        graph: EntityGraph,
        making: PageMaking,
    ) -> None:
        self._database = database
        self._approved = approved
        self._definitions = definitions
        self._rows = rows
        self._states = states
        self._graph = graph
        self._making = making

    async def run(self, compile_request: CompileRequest, *, principal: Principal) -> AsyncGenerator[Counts, None]:
        """Compile pages, and yield the progress. Everything that it counts is stored.

        Raises:
            InvalidArgument: the request has both a definition and nodes.
            DefinitionNotFound: there is no such definition that is approved.
            CompileUnderWay: another compile of this audience is running.
            Unavailable: the Entity Service does not answer. Everything that was yielded is stored.
        """
        if compile_request.definition_name and compile_request.node_ids:
            raise InvalidArgument("give definition_name or node_ids, not both", field="node_ids")
        approved = await self._approved.approved(principal)
        mine = [definition for definition in approved if _is_open(definition, principal)]
        if compile_request.definition_name:
            mine = [definition for definition in mine if definition.name == compile_request.definition_name]
            if not mine:
                raise no_definition(compile_request.definition_name)
        counts = Counts(compile_id=new_id())
        problems: list[Problem] = []
        ready = {}
        for definition in mine:
            try:
                rules = await self._definitions.compiled(definition.rules, principal=principal)
            except ContextKeepError as error:  # the rules were valid when they were stored, but a newer release differs
                problems.append(Problem(f"the definition {definition.name!r}", "", error.message))
            else:
                ready[definition.name] = _Ready(definition=definition, rules=rules)
        run = _Run(
            principal=principal,
            audience=Audience.of(principal),
            counts=counts,
            ready=ready,
            names=[definition.name for definition in approved],
            problems=problems[:PROBLEMS_MAX],
        )
        reached = await self._states.take(principal, run.audience, counts.compile_id)
        try:
            async with aclosing(self._steps(run, compile_request, reached)) as steps:
                async for _ in steps:
                    yield run.report()
        finally:
            # The caller may cancel the call. Release the state anyway, so that the next compile can begin.
            await asyncio.shield(self._states.release(principal, run.audience, counts.compile_id))
        counts.is_done = True
        yield run.report()

    async def _steps(
        self, run: _Run, compile_request: CompileRequest, reached: CompileProgress
    ) -> AsyncGenerator[None, None]:
        """Run the compile that the request asks for, and yield after each stored step."""
        if compile_request.node_ids:
            steps = self._nodes(run, compile_request.node_ids)
        elif compile_request.definition_name:
            steps = self._whole(run, run.ready[compile_request.definition_name]) if run.ready else _nothing()
        else:
            steps = self._compile_changed(run, reached)
        async with aclosing(steps):
            async for _ in steps:
                yield

    async def _nodes(self, run: _Run, node_ids: Sequence[str]) -> AsyncGenerator[None, None]:
        """Compile the pages of the nodes that the request names."""
        for some in _portions(dict.fromkeys(node_ids), BATCH):
            nodes = await self._graph.nodes(some)
            seen = {node.node_id for node in nodes}
            for node_id in some:
                if node_id not in seen:
                    _note(run, [Problem("", node_id, "no node that the caller sees has this id")])
            if gone := [node_id for node_id in some if node_id not in seen]:
                await self._remove(run, gone)
            pairs = [(ready, node) for node in nodes for ready in run.ready.values() if _is_of(ready, node)]
            await self._batch(run, pairs)
            yield

    async def _whole(self, run: _Run, ready: _Ready) -> AsyncGenerator[None, None]:
        """Compile the pages of all nodes of a definition."""
        run.counts.definition_name = ready.definition.name
        coming = asyncio.create_task(self._next(ready, ""))
        try:
            while True:  # while some pages are written, the next ones are made
                batch, token = await coming
                if token:
                    coming = asyncio.create_task(self._next(ready, token))
                await self._store(run, batch)
                yield
                if not token:
                    break
        finally:
            coming.cancel()
            await asyncio.wait({coming})
            if not coming.cancelled():
                coming.exception()  # reading the error keeps asyncio from logging that nothing has read it

        async with aclosing(self._unseen(run, ready)) as steps:
            async for _ in steps:
                yield
        run.counts.definition_name = ""

    async def _unseen(self, run: _Run, ready: _Ready) -> AsyncGenerator[None, None]:
        """Find the pages that a compile of all nodes did not meet, and remove those whose nodes are gone."""
        after = FIRST
        while pages := await self._rows.unseen(
            run.principal, ready.definition.name, run.audience, run.counts.compile_id, after=after, count=DROPPED
        ):
            after = pages[-1].page_id
            for some in _portions(pages, BATCH):
                await self._ask_for(run, ready, some)
                yield

    async def _ask_for(self, run: _Run, ready: _Ready, pages: Sequence[Unseen]) -> None:
        """Remove the pages of nodes that are gone, and this audience's pages of nodes that have another type now.

        The other pages are of nodes that were archived, or written meanwhile: they are compiled.
        """
        node_ids = list(dict.fromkeys(str(page.node_id) for page in pages))
        nodes = {node.node_id: node for node in await self._graph.nodes(node_ids)}
        if gone := [node_id for node_id in node_ids if node_id not in nodes]:
            await self._remove(run, gone)
        own = [
            (page.page_id, nodes[str(page.node_id)])
            for page in pages
            if page.audience_id == run.audience.id and str(page.node_id) in nodes
        ]
        if others := [page_id for page_id, node in own if not _is_of(ready, node)]:
            await self._drop(run, others)
        await self._batch(run, [(ready, node) for _, node in own if _is_of(ready, node)])

    async def _compile_changed(self, run: _Run, reached: CompileProgress) -> AsyncGenerator[None, None]:
        """Compile the pages that changed since the last compile, and all nodes of definitions that are new."""
        place, whole = await self._place(reached)
        await self._save(run, place, whole)
        async with aclosing(self._drop_others(run)) as steps:
            async for _ in steps:
                yield
        for name, definition in run.ready.items():
            if whole.get(name) == definition.definition.version:
                continue
            async with aclosing(self._whole(run, definition)) as steps:
                async for _ in steps:
                    yield
            whole[name] = definition.definition.version
            await self._save(run, place, whole)
        while place:
            changes = await self._graph.changes(place)
            run.counts.changes_read += len(changes.changes)
            async with aclosing(self._deal_with(run, changes.changes)) as steps:
                async for _ in steps:
                    yield
            place = changes.next_place
            await self._save(run, place, whole)
            if not changes.has_more:
                break

    async def _place(self, reached: CompileProgress) -> tuple[str, dict[str, int]]:
        """Return the position after which to read changes, and the definitions whose nodes must all be compiled first.

        If no position is known, because the graph keeps no changes, all nodes of all definitions must be compiled.
        """
        try:
            if reached.place:
                await self._graph.changes(reached.place)
                return reached.place, dict(reached.definitions)
        except (ChangesExpired, ChangesNotStarted, InvalidPageToken):
            pass  # the position is too old, or comes from another release or from before a restore of the graph
        try:
            return (await self._graph.changes("")).next_place, {}
        except ChangesNotStarted:
            return "", {}

    async def _save(self, run: _Run, place: str, whole: Mapping[str, int]) -> None:
        reached = CompileProgress(place=place, definitions=whole if place else {})
        await self._states.save(run.principal, run.audience, run.counts.compile_id, reached)

    async def _drop_others(self, run: _Run) -> AsyncGenerator[None, None]:
        """Remove the pages of definitions that are no longer approved."""

        async def work(transaction: Transaction) -> int:
            await self._states.keep(transaction, run.audience, run.counts.compile_id)
            others = await self._rows.not_approved(transaction, run.names, count=DROPPED)
            return await self._rows.drop(transaction, others)

        while count := await self._database.of(run.principal).transaction(work):
            run.counts.removed += count
            yield

    async def _deal_with(self, run: _Run, changes: Sequence[GraphChange]) -> AsyncGenerator[None, None]:
        """Compile the pages that depend on changed nodes, and remove the pages of nodes that are gone."""
        removed = {change.node_id for change in changes if change.node_id and change.is_removed}
        if removed:
            await self._remove(run, sorted(removed))
            yield
        depending = await self._rows.dependent(run.principal, run.audience, changes_by_node(changes))
        affected = {(name, node_id) for name, node_id in depending if name in run.ready}
        for change in changes:
            if change.node_id:
                affected |= {
                    (name, change.node_id)
                    for name, definition in run.ready.items()
                    if _is_of_change(definition, change)
                }
        of_node: dict[str, list[str]] = {}
        for name, node_id in sorted(affected):
            if node_id not in removed:
                of_node.setdefault(node_id, []).append(name)
        for some in _portions(of_node, BATCH):
            nodes = await self._graph.nodes(some)
            pairs = [(run.ready[name], node) for node in nodes for name in of_node[node.node_id]]
            for portion in _portions(pairs, BATCH):
                await self._batch(run, portion)
                yield

    async def _remove(self, run: _Run, node_ids: Sequence[str]) -> None:
        """Remove the pages of deleted nodes, for all audiences."""

        async def work(transaction: Transaction) -> int:
            await self._states.keep(transaction, run.audience, run.counts.compile_id)
            return await self._rows.drop(transaction, await self._rows.of_nodes(transaction, node_ids))

        run.counts.removed += await self._database.of(run.principal).transaction(work)

    async def _drop(self, run: _Run, page_ids: Sequence[UUID]) -> None:
        """Remove pages."""

        async def work(transaction: Transaction) -> int:
            await self._states.keep(transaction, run.audience, run.counts.compile_id)
            return await self._rows.drop(transaction, page_ids)

        run.counts.removed += await self._database.of(run.principal).transaction(work)

    async def _next(self, ready: _Ready, token: str) -> tuple[_Batch, str]:
        """Return the pages of the next nodes of a definition, and the token of the nodes after them."""
        rules = ready.definition.rules
        nodes, token = await self._graph.nodes_of_type(
            rules.node_type, graph_name=rules.graph_name, page_size=BATCH, page_token=token
        )
        return await self._read([(ready, node) for node in nodes]), token

    async def _batch(self, run: _Run, pairs: Sequence[tuple[_Ready, WholeNode]]) -> None:
        """Make the pages of some nodes, each by one definition, and write them."""
        await self._store(run, await self._read(pairs))

    async def _read(self, pairs: Sequence[tuple[_Ready, WholeNode]]) -> _Batch:
        """Make the pages of some nodes, each by one definition; nothing is written."""
        read_at = time.monotonic()
        compiled = [
            _result_of(definition, node, compiled_node)
            for (definition, node), compiled_node in zip(pairs, await self._compile_nodes(pairs), strict=True)
            if compiled_node is not None
        ]
        return _Batch(read_at=read_at, nodes=len({node.node_id for _, node in pairs}), compiled=compiled)

    async def _store(self, run: _Run, batch: _Batch) -> None:
        """Write a batch of pages, in as many transactions as its size needs, and add it to the report."""
        for _, compiled_node in batch.compiled:
            _note(run, compiled_node.problems)
        run.counts.nodes_read += batch.nodes
        for portion in _by_size([item for item, _ in batch.compiled]):
            await self._write(run, portion, batch.read_at)

    async def _write(self, run: _Run, results: Sequence[Compiled], read_at: float) -> None:
        """Write pages in one transaction that renews the compile's lease, and add the result to its counts."""
        counts = run.counts

        async def work(transaction: Transaction) -> PageCounts:
            await self._states.keep(transaction, run.audience, counts.compile_id)
            # The time of the read is stored as an age, because Postgres subtracts it from its own clock.
            ago_s = time.monotonic() - read_at
            return await self._rows.write(transaction, results, run.audience, counts.compile_id, read_ago_s=ago_s)

        tally = await self._database.of(run.principal).transaction(work)
        counts.written += tally.written
        counts.unchanged += tally.unchanged
        counts.removed += tally.removed
        counts.failed += tally.failed

    async def _compile_nodes(self, pairs: Sequence[tuple[_Ready, WholeNode]]) -> list[CompiledNode | None]:
        """Compile nodes. The result is None for a node that was deleted meanwhile; the list of changes reports it."""
        compiled_nodes: list[CompiledNode | None] = [None] * len(pairs)
        numbers = iter(range(len(pairs)))

        async def make() -> None:
            for number in numbers:
                definition, node = pairs[number]
                try:
                    compiled_nodes[number] = await self._making.page(definition.rules, node)
                except NodeNotFound:
                    continue

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(AT_ONCE, len(pairs))):
                    group.create_task(make())
        except* ContextKeepError as errors:
            raise errors.exceptions[0] from None
        return compiled_nodes


def _result_of(ready: _Ready, node: WholeNode, compiled_node: CompiledNode) -> tuple[Compiled, CompiledNode]:
    """Return the result for a node as it is stored, together with the page as it was made."""
    definition = ready.definition
    trouble = ""
    if compiled_node.failed:
        problem = compiled_node.problems[-1]
        trouble = f"it could not be compiled: {problem.rule}: {problem.error}"
    return (
        Compiled(
            definition_name=definition.name,
            definition_version=definition.version,
            app_id=definition.rules.app_id,
            node_id=node.node_id,
            page=compiled_node.page,
            trouble=trouble,
        ),
        compiled_node,
    )


def _by_size(results: Sequence[Compiled]) -> Iterator[list[Compiled]]:
    """Yield groups of at least one page that are written in one transaction."""
    some: list[Compiled] = []
    size_bytes = 0
    for node in results:
        more_bytes = node.page.size_bytes if node.page else 0
        if some and size_bytes + more_bytes > BATCH_BYTES:
            yield some
            some, size_bytes = [], 0
        some.append(node)
        size_bytes += more_bytes
    if some:
        yield some


def _note(run: _Run, problems: Sequence[Problem]) -> None:
    run.problems += problems[: PROBLEMS_MAX - len(run.problems)]


def changes_by_node(changes: Sequence[GraphChange]) -> dict[str, int]:
    """Return the changed nodes, each with the bits of what changed."""
    touched: dict[str, int] = {}
    for change in changes:
        for node_id, bits in ((change.node_id, NODE), (change.from_node_id, EDGES_OUT), (change.to_node_id, EDGES_IN)):
            if node_id:
                touched[node_id] = touched.get(node_id, 0) | bits
    return touched


def _is_open(definition: Definition, principal: Principal) -> bool:
    """Say whether a principal may see pages of a definition.

    If it may not, it does not compile them either, because it could not see the pages that it writes.
    """
    rules = definition.rules
    return (not principal.app_ids or rules.app_id in principal.app_ids) and (
        not principal.graph_names or rules.graph_name in principal.graph_names
    )


def _is_of(ready: _Ready, node: WholeNode) -> bool:
    """Say whether a definition makes a page of a node: the node is in its graph and has its type or general type."""
    rules = ready.definition.rules
    return node.graph_name == rules.graph_name and rules.node_type in (
        node.entity["type"],
        node.entity["general_type"],
    )


def _is_of_change(ready: _Ready, change: GraphChange) -> bool:
    """Say whether a definition makes a page of the node that a change is about."""
    rules = ready.definition.rules
    return change.graph_name == rules.graph_name and rules.node_type in change.types


def _portions(some: Sequence[_T] | Mapping[_T, object], count: int) -> Iterator[list[_T]]:
    left = iter(some)
    while portion := list(islice(left, count)):
        yield portion


async def _nothing() -> AsyncGenerator[None, None]:
    for _ in ():
        yield
