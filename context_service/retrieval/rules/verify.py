"""Comparison of the index with its sources: differences are counted, and a rebuild corrects them.

A scope is read in pages of its sources. Each page is compared in one snapshot or, in a rebuild, in one transaction
that locks the scope for other writers; between two pages those writers have their turn. So writers never wait long,
however large a scope is, and their writes do not count as differences. Equal rows are not written, so a restarted
rebuild only reads them, and readers find correct rows all the time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

import orjson

from context_service.retrieval.model import PassageScope
from context_service.retrieval.pure.terms import length_of, masks
from context_service.retrieval.store.feeds import IndexedText, OwnedScope, PassageFeed
from context_service.retrieval.store.passages import AUTHORS_MAX, Passages
from context_service.retrieval.store.verify import (
    COUNT_OTHERS,
    COUNT_SESSIONS,
    COUNT_TOTALS,
    DELETE,
    DELETE_SESSIONS,
    INSERT,
    LISTED,
    MEND_SESSIONS,
    MEND_TOTALS,
    NOBODYS,
    PUT_SESSIONS,
    PUT_TERMS,
    REMOVE_OTHERS,
    ROWS,
    SESSIONS,
)
from contextkeep.errors import NotFound
from service_runtime.postgres import Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import Principal

_SCOPES = 500  # scopes that one statement lists
_KEPT = 1_000  # the report lists only the first differences one by one, and counts the others
_BEFORE = -(2**63)  # a number before the `seq` of any passage


# Run after `DELETE`, which may wait for another writer: that writer may have changed texts and so made their vectors
# wrong.
_DELETE_VECTORS = DELETE.replace("context.passage\n", "context.passage_vector\n")


_ANALYZED = frozenset({"terms", "length_before", "marks"})  # columns that the analyzer makes of the text


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A passage that differs between the index and its source."""

    kind: str  # "missing", "extra" or "different"
    tenant_id: str
    scope_kind: str
    scope_id: str
    seq: int
    ordinal: int


@dataclass(slots=True, kw_only=True)
class Verified:
    """The comparison so far, and the corrections of a rebuild."""

    to_do: int = 0  # scopes that have an owner, such as a context
    scopes: int = 0  # the number of these scopes that were compared
    passages: int = 0  # passages that the index should have
    missing: int = 0  # passages that the index lacks
    extra: int = 0  # passages that the index should not have
    different: int = 0  # passages that have other values than they should
    sessions_different: int = 0  # wrong rows of `passage_session`
    totals_different: int = 0  # wrong rows of `passage_scope`
    strays: int = 0  # scopes whose owner does not exist
    records: int = 0  # records whose own terms were compared
    records_different: int = 0  # records whose own terms differ from their texts
    differences: list[Difference] = field(default_factory=list)  # the first ones
    databases_away: tuple[str, ...] = ()  # databases that do not answer, so that their rows were not compared

    @property
    def is_equal(self) -> bool:
        """Whether the index is the same as a new one would be."""
        return not (
            self.missing
            or self.extra
            or self.different
            or self.sessions_different
            or self.totals_different
            or self.strays
            or self.records_different
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """The end of a session (passages that follow each other), after which its next passage is placed."""

    session: int
    audience: Mapping[str, object]  # who may read the passages, as columns of a row
    places: int = 0  # the number of its spoken passages
    last_length: int = 0  # the length of the last one, in terms

    def as_written(self) -> dict[str, object]:
        return {"session": self.session, "places": self.places, "last_length": self.last_length, **self.audience}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walked:
    """The progress of a walk through a scope."""

    compared_seq: int = _BEFORE  # the last seq that was compared
    saying: _Session | None = None  # the last session with a spoken passage; it may continue on the next page
    compared_session: int = _BEFORE  # the last session that was compared
    first_seq: int | None = None  # the first `seq` that has, or had, passages
    last_seq: int | None = None  # the last such `seq`
    authors: tuple[str, ...] = ()  # the authors of the passages so far


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """The result of comparing one page of a source with the index."""

    walked: _Walked
    is_last: bool
    passages: int
    differences: Sequence[Difference]
    sessions_different: int


class Verifying:
    """Compares the index of passages with the texts it is made of, and corrects it where it differs.

    Args:
        database: The database that holds the index.
        passages: The store of passages.
        sources: The feeds of all kinds of passages, which make each passage again from its text.
    """

    def __init__(self, database: Database, passages: Passages, sources: Sequence[PassageFeed]) -> None:
        self._database = database
        self._passages = passages
        self._by_kind: dict[str, list[PassageFeed]] = {}
        for source in sources:
            self._by_kind.setdefault(source.scope_kind, []).append(source)

    async def run(
        self,
        tenants: Sequence[Tenant],
        *,
        scope_id: UUID | None = None,
        mend: bool,
        on_progress: Callable[[Verified], None],
    ) -> Verified:
        """Check the whole index of some tenants, or one scope of theirs.

        Args:
            tenants: The tenants whose index is checked.
            scope_id: Check only the scope with this id, such as that of a context; None checks all.
            mend: Correct the differences.
            on_progress: Called after each scope, with the report so far.

        Raises:
            NotFound: no scope has this id.
            Unavailable: Postgres does not answer, or a row to correct stays locked for too long.
        """
        report = Verified()
        if scope_id is None:
            report.to_do = sum(
                [await sources[0].count(other_tenant) for other_tenant in tenants for sources in self._by_kind.values()]
            )
        on_progress(report)
        for tenant in tenants:
            async for owned, sources in self._owned_scopes(tenant, scope_id):
                report.to_do = max(report.to_do, report.scopes + 1)  # new scopes may begin during the comparison
                await self._scope(tenant, owned, sources, report, mend=mend)
                on_progress(report)
            if scope_id is None:
                report.strays += await self._strays(tenant, mend=mend)
        if scope_id is not None and not report.scopes:
            raise NotFound(f"nothing has the id {scope_id}", scope_id=scope_id)
        return report

    async def _owned_scopes(
        self, tenant: Tenant, scope_id: UUID | None
    ) -> AsyncIterator[tuple[OwnedScope, Sequence[PassageFeed]]]:
        """Yield the scopes of a tenant that have an owner, or the one with the given id, with the feeds of each."""
        for sources in self._by_kind.values():
            if scope_id is not None:
                if differences := await sources[0].scope(tenant, scope_id):
                    yield differences, sources
                continue
            after = UUID(int=0)
            while page := await sources[0].scopes(tenant, after=after, count=_SCOPES):
                for owned in page:
                    yield owned, sources
                after = page[-1].scope.id

    async def _scope(
        self, tenant: Tenant, owned: OwnedScope, sources: Sequence[PassageFeed], report: Verified, *, mend: bool
    ) -> None:
        """Compare one scope with its texts, and add the result to the report.

        If the owner of the scope is deleted meanwhile, the report does not change.

        Args:
            tenant: The tenant of the scope.
            owned: The scope and its owner.
            sources: The feeds that make the passages of the scope again.
            report: The report so far.
            mend: Correct the differences.
        """
        scope = owned.scope
        tenant_rows = self._database.of(
            Principal(tenant_id=tenant.tenant_id, subject="operator", user_id=owned.owner_user_id),
            context_id=scope.context_id,
        )
        named = {**_parameters(tenant.tenant_id, scope), "owner_user_id": owned.owner_user_id}
        (others,) = await tenant.query(REMOVE_OTHERS if mend else COUNT_OTHERS, named)
        run = tenant_rows.transaction if mend else tenant_rows.snapshot
        passages = sessions_different = 0
        differences: list[Difference] = []
        counts: dict[str, int] = {"missing": 0, "extra": 0, "different": 0}
        walked = _Walked()
        for source in sources:
            walked = replace(walked, compared_seq=_BEFORE)
            while True:
                page = await run(partial(self._compare_page, source, scope, walked, mend=mend))
                if page is None:
                    return
                walked = page.walked
                passages += page.passages
                sessions_different += page.sessions_different
                for difference in page.differences:
                    counts[difference.kind] += 1
                differences += page.differences[: _KEPT - len(differences)]
                if page.is_last:
                    break
        rest = await run(partial(self._compare_rest, sources, scope, walked, mend=mend))
        if rest is None:
            return
        nobodys, sessions, totals = rest
        report.scopes += 1
        report.passages += passages
        report.missing += counts["missing"]
        report.extra += counts["extra"] + nobodys + others.passages
        report.different += counts["different"]
        report.sessions_different += sessions_different + sessions + others.sessions
        report.totals_different += totals + others.totals
        report.differences += differences[: _KEPT - len(report.differences)]

    async def _compare_page(
        self, source: PassageFeed, scope: PassageScope, walked: _Walked, transaction: Transaction, *, mend: bool
    ) -> _Page | None:
        """Compare a page of a source with the index; with `mend`, correct the differences.

        Returns:
            The result, and where the next page begins; None if the owner of the scope does not exist any more.
        """
        if mend:
            await source.lock(transaction, scope)
        origins = await source.origins(transaction, scope, after=walked.compared_seq)
        if origins is None:
            return None
        named = _parameters(transaction.tenant_id, scope)
        expected, after, finished = _expected_passages(scope, origins, walked)
        upto = origins[-1].seq if origins else None
        parameters = {**named, "after": walked.compared_seq, "upto": upto, "kinds": sorted(source.kinds)}
        rows = await transaction.query(ROWS, parameters)
        written_rows = {(row.seq, row.ordinal): _as_written(row) for row in rows}
        differences = [
            Difference(
                kind="extra" if key not in expected else "missing" if key not in written_rows else "different",
                tenant_id=str(transaction.tenant_id),
                scope_kind=scope.kind,
                scope_id=str(scope.id),
                seq=key[0],
                ordinal=key[1],
            )
            for key in sorted(expected.keys() | written_rows.keys())
            if expected.get(key) != written_rows.get(key)
        ]
        reanalyzed = {key for key, values in written_rows.items() if _is_reanalyzed(values, expected.get(key))}
        if mend and reanalyzed:
            terms = [expected[key] for key in sorted(reanalyzed)]
            await transaction.query(PUT_TERMS, {**named, "passages": orjson.dumps(terms).decode()})
        keys = [key for difference in differences if (key := (difference.seq, difference.ordinal)) not in reanalyzed]
        if mend and keys:
            places = {"seqs": [seq for seq, _ in keys], "ordinals": [ordinal for _, ordinal in keys]}
            await transaction.query(DELETE, {**named, **places})
            await transaction.query(_DELETE_VECTORS, {**named, **places})
            rewritten = [expected[key] for key in keys if key in expected]
            await transaction.query(INSERT, {**named, "passages": orjson.dumps(rewritten).decode()})
        sessions_different = 0
        if source.says:
            if not origins and after.saying:
                finished[after.saying.session] = after.saying
            after = replace(after, compared_session=max(finished, default=walked.compared_session))
            upto_session = after.compared_session if origins else None
            sessions_different = await self._compare_sessions(
                transaction, named, finished, after=walked.compared_session, upto=upto_session, mend=mend
            )
        return _Page(
            walked=replace(after, compared_seq=upto if upto is not None else walked.compared_seq),
            is_last=not origins,
            passages=len(expected),
            differences=differences,
            sessions_different=sessions_different,
        )

    async def _compare_sessions(
        self,
        transaction: Transaction,
        named: Mapping[str, object],
        finished: Mapping[int, _Session],
        *,
        after: int,
        upto: int | None,
        mend: bool,
    ) -> int:
        """Compare the ends of sessions with the index; with `mend`, correct the wrong ones.

        Args:
            transaction: The transaction or snapshot of the page.
            named: The SQL parameters that name the scope.
            finished: The sessions as they should be.
            after: Compare only sessions after this one.
            upto: Compare only sessions up to this one; None compares all later ones.
            mend: Correct the wrong sessions.

        Returns:
            The number of wrong sessions.
        """
        rows = await transaction.query(SESSIONS, {**named, "after": after, "upto": upto})
        differences = {row.session: (row.places, row.last_length) for row in rows if row.places or row.last_length}
        wrong = [
            session
            for session in finished.keys() | differences.keys()
            if session not in finished
            or differences.get(session) != (finished[session].places, finished[session].last_length)
        ]
        if mend and wrong:
            await transaction.query(
                DELETE_SESSIONS,
                {**named, "sessions": [wrong_session for wrong_session in wrong if wrong_session in differences]},
            )
            rewritten = [finished[session].as_written() for session in sorted(wrong) if session in finished]
            await transaction.query(PUT_SESSIONS, {**named, "sessions": orjson.dumps(rewritten).decode()})
        return len(wrong)

    async def _compare_rest(
        self,
        sources: Sequence[PassageFeed],
        scope: PassageScope,
        walked: _Walked,
        transaction: Transaction,
        *,
        mend: bool,
    ) -> tuple[int, int, int] | None:
        """Compare the rows that no page of a source covers; with `mend`, correct them.

        Returns:
            The number of passages that no source has, of sessions with wrong counts, and of wrong totals of the scope;
            None if the owner of the scope does not exist any more.
        """
        if mend:
            await sources[0].lock(transaction, scope)
        # No row comes after the last place, so this only checks whether the owner exists.
        if await sources[0].origins(transaction, scope, after=2**63 - 1) is None:
            return None
        named = _parameters(transaction.tenant_id, scope)
        kinds = sorted(frozenset[str]().union(*(source.kinds for source in sources)))
        nobodys = await transaction.query(NOBODYS, {**named, "kinds": kinds})
        if mend and nobodys:
            keys = {"seqs": [row.seq for row in nobodys], "ordinals": [row.ordinal for row in nobodys]}
            await transaction.query(DELETE, {**named, **keys})
            await transaction.query(_DELETE_VECTORS, {**named, **keys})
        (sessions,) = await transaction.query(MEND_SESSIONS if mend else COUNT_SESSIONS, named)
        gone = {"first_seq": walked.first_seq, "last_seq": walked.last_seq, "authors": list(walked.authors)}
        counted = {**named, "authors_max": AUTHORS_MAX}
        (totals,) = await transaction.query(
            MEND_TOTALS if mend else COUNT_TOTALS, {**counted, **gone} if mend else counted
        )
        return len(nobodys), sessions.different, totals.different

    async def _strays(self, tenant: Tenant, *, mend: bool) -> int:
        """Count the scopes that have no owner; with `mend`, remove them."""
        strays: set[PassageScope] = set()
        for listed in LISTED:
            after = UUID(int=0)
            while rows := await tenant.query(listed, {"after": after, "count": _SCOPES}):
                after = rows[-1].scope_id
                for kind, sources in self._by_kind.items():
                    there = [row for row in rows if row.scope_kind == kind]
                    owned = await sources[0].owned(tenant, [row.scope_id for row in there])
                    strays |= {
                        PassageScope(kind=kind, id=row.scope_id, context_id=row.context_id)
                        for row in there
                        if row.scope_id not in owned
                    }
        if mend:
            for scope in strays:
                await self._passages.drop_scope(tenant.tenant_id, scope)
        return len(strays)


def _expected_passages(
    scope: PassageScope, origins: Sequence[IndexedText], walked: _Walked
) -> tuple[dict[tuple[int, int], dict[str, object]], _Walked, dict[int, _Session]]:
    """Return the passages as they should be, by `seq` and `ordinal`, the walk's progress, and the ended sessions."""
    expected: dict[tuple[int, int], dict[str, object]] = {}
    finished: dict[int, _Session] = {}
    saying = walked.saying
    authors = dict.fromkeys(walked.authors)
    first_seq, last_seq = walked.first_seq, walked.last_seq
    for origin in origins:
        audience = {
            "owner_user_id": origin.audience.owner_user_id,
            "graph_name": origin.audience.graph_name,
            "agent_bundle_id": origin.audience.agent_bundle_id,
            "app_id": origin.audience.app_id,
            "ancestors": [str(ancestor) for ancestor in origin.audience.ancestors],
        }
        if origin.passages:
            first_seq = origin.seq if first_seq is None else min(first_seq, origin.seq)
            last_seq = origin.seq if last_seq is None else max(last_seq, origin.seq)
        for passage in origin.passages:
            if passage.author and len(authors) < AUTHORS_MAX:
                authors.setdefault(passage.author)
            place, length_before = None, 0
            if passage.is_said:
                if saying is None or saying.session != passage.session:
                    if saying:
                        finished[saying.session] = saying
                    saying = _Session(session=passage.session, audience=audience)
                place, length_before = saying.places, saying.last_length
                saying = replace(saying, places=place + 1, last_length=length_of(passage.terms))
            if origin.is_gone:
                continue
            expected[passage.seq, passage.ordinal] = {
                "seq": passage.seq,
                "ordinal": passage.ordinal,
                "session": passage.session,
                "said_at": passage.said_at,
                "part": passage.part,
                "place": place,
                "length_before": length_before,
                "marks": passage.marks,
                "kind": passage.kind,
                "role": passage.role,
                "author": passage.author,
                "task_id": passage.task_id and str(passage.task_id),
                "source_id": passage.source_id and str(passage.source_id),
                "context_id": scope.context_id and str(scope.context_id),
                **audience,
                "terms": masks(scope.id, passage.terms),
                "text": passage.text,
            }
    after = replace(
        walked,
        saying=saying,
        first_seq=first_seq,
        last_seq=last_seq,
        authors=tuple(authors),
    )
    return expected, after, finished


def _is_reanalyzed(written: Mapping[str, object], expected: Mapping[str, object] | None) -> bool:
    """Say whether a passage differs only in values that the analyzer computes, as after a change of the analyzer.

    Its text is the same, so its vector stays right.
    """
    different = {name for name in written if expected is None or written[name] != expected[name]}
    return bool(different) and different <= _ANALYZED


def _as_written(row: Row) -> dict[str, object]:
    """Return the row of a passage in the form in which passages are written, to compare them."""
    written = row._asdict()
    for name in ("task_id", "source_id", "context_id"):
        written[name] = written[name] and str(written[name])
    written["ancestors"] = [str(ancestor) for ancestor in row.ancestors]
    return dict(written)


def _parameters(tenant_id: UUID, scope: PassageScope) -> dict[str, object]:
    return {"tenant_id": tenant_id, "scope_id": scope.id, "scope_kind": scope.kind, "context_id": scope.context_id}
