"""Passages of many contexts, searched together as if they were one scope.

The index has no term that several contexts share: a term's number is made of its context. So each context is searched
by its own numbers, and a search has a bound: the caller names the contexts, `CONTEXTS_MAX` at most. Rows of the ranking
get places of their own, in which the number of the context is the upper part: see `seq_of`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgvector import HalfVector

from context_service.retrieval.pure.rows import ASKED_TERMS_MAX, Matching, Row, Totals
from context_service.retrieval.pure.terms import masks
from context_service.retrieval.store.nearest import SQL as NEAREST_SQL
from context_service.retrieval.store.nearest import Near, Place, near_of
from context_service.retrieval.store.passages import SQL as PASSAGES_SQL
from service_runtime.postgres import Across, Database
from service_runtime.rpc.calls import in_slices
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

CONTEXTS_MAX = 2_000  # contexts of one search
COMPARED_MAX = 50_000  # vectors that one search compares, in whole contexts, the newest first
TERMS_MAX = 32  # only the first different terms of a query are searched
SMALL = 150  # a context with at most this many passages is read by its key, a larger one by the index of words
_LARGE_MAX = 1_000  # the most matching passages that are read of one large context
_EACH_MAX, _ROWS_MAX = 20, 300  # candidates by words: of one context, and together
_NEAR_EACH_MAX, _NEAR_MAX = 10, 50  # candidates by meaning alone

_SHIFT = 2**44  # the `seq` of a passage is below half of it, and an artifact has a negative one

SQL = SqlFile.of(__file__, asked_terms_max=ASKED_TERMS_MAX, passages=PASSAGES_SQL, nearest=NEAREST_SQL)
_WHY = "a search over the caller's findable contexts; row-level security holds its user and its bounds"


def _across(name: str) -> Across:
    return Across(sql=SQL[name], contexts=True, why=_WHY)


_MATCHING, _ROWS, _TEXTS, _NEAR = _across("matching"), _across("rows"), _across("texts"), _across("near")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedContexts:
    """The contexts of a search, newest first, and the numbers of the query's terms in each."""

    ids: Sequence[UUID]
    totals: Sequence[Totals]  # in the order of `ids`
    terms: Sequence[str]

    @property
    def together(self) -> Totals:
        """The totals of all contexts."""
        return Totals(
            passages=sum(totals.passages for totals in self.totals),
            sessions=sum(totals.sessions for totals in self.totals),
            length=sum(totals.length for totals in self.totals),
            length_before=sum(totals.length_before for totals in self.totals),
            length_after=sum(totals.length_after for totals in self.totals),
        )

    def seq_of(self, n: int, seq: int) -> int:
        """Return the `seq` of a row: unique among all contexts, and higher in newer contexts. `n` counts from 1."""
        return (len(self.ids) - n) * _SHIFT + seq

    def n_and_seq(self, seq: int) -> tuple[int, int]:
        """Return the number of the context of a row, from 1, and the `seq` of the passage in it."""
        back, rest = divmod(seq + _SHIFT // 2, _SHIFT)
        return len(self.ids) - back, rest - _SHIFT // 2

    def context_and_seq(self, seq: int) -> tuple[UUID, int]:
        """Return the context of a row, and the `seq` of the passage in it."""
        n, seq = self.n_and_seq(seq)
        return self.ids[n - 1], seq


class AcrossContexts:
    """Searches the passages of several contexts; each call sees what its principal may see.

    Args:
        database: The database that holds the passages.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def matching(self, searched: SearchedContexts, *, principal: Principal) -> Matching:
        """Return the rows that have the rarest terms of the query, at most `_ROWS_MAX`."""
        together = searched.together
        terms = searched.terms[:TERMS_MAX]
        if not terms or not together.passages:
            return Matching(totals=together, rows=(), is_whole=False, estimated={})
        parameters_of_scopes = await in_slices(_given(searched, terms))
        limits = {"small_max": SMALL, "large_max": _LARGE_MAX, "each_max": _EACH_MAX, "rows_max": _ROWS_MAX}
        parameters = {**parameters_of_scopes, **limits, "passages": together.passages}
        tenant = self._database.of(principal)
        found_rows = await tenant.query(_MATCHING, parameters, named=False, ad_hoc=True)
        places = [(n, seq, ordinal) for n, seq, ordinal, _ in found_rows]
        counts = {number: float(count) for number, count in found_rows[0][3]} if found_rows else {}
        rows = await self._rows(searched, parameters_of_scopes, places, principal)
        return Matching(totals=together, rows=rows, is_whole=False, estimated=counts)

    async def near(
        self,
        vector: Sequence[float],
        searched: SearchedContexts,
        matching: Matching,
        *,
        model: str,
        unrelated: float,
        principal: Principal,
    ) -> tuple[Near | None, Sequence[Row]]:
        """Compare passages with the vector of the query.

        Returns:
            The similarities, by the places of rows, and the rows of near passages that are not in `matching`. The
            similarities are None if no passage has a vector of the model.

        Args:
            vector: The vector of the query, of unit length.
            searched: The contexts of the search.
            matching: The rows that have terms of the query.
            model: The name of the model that made the vector.
            unrelated: The similarity of unrelated texts. A passage must have more to be found by its vector alone.
            principal: The caller.
        """
        parameters_of_scopes = await in_slices(_given(searched, searched.terms[:TERMS_MAX]))
        places = [(*searched.n_and_seq(row.seq), row.ordinal) for row in matching.rows]
        parameters = {
            **parameters_of_scopes,
            **_columns(places),
            "model": model,
            "dimension": len(vector),
            "vector": HalfVector(list(vector)).to_text(),
            "compared_contexts": _compared_contexts(searched.totals),
            "each_max": _NEAR_EACH_MAX,
            "count": _NEAR_MAX,
        }
        rows = await self._database.of(principal).query(_NEAR, parameters, named=False, ad_hoc=True)
        if not rows:
            return None, ()
        placed = [
            (
                searched.seq_of(n, seq),
                ordinal,
                None if previous_seq is None else searched.seq_of(n, previous_seq),
                previous_ordinal,
                between,
                cosine,
                is_asked,
            )
            for n, seq, ordinal, previous_seq, previous_ordinal, between, cosine, is_asked in rows
        ]
        near = near_of(placed, unrelated=unrelated)
        unread = near.nearest - {(row.seq, row.ordinal) for row in matching.rows}
        missing = [(*searched.n_and_seq(seq), ordinal) for seq, ordinal in sorted(unread)]
        return near, await self._rows(searched, parameters_of_scopes, missing, principal)

    async def texts(
        self, searched: SearchedContexts, places: Sequence[Place], *, principal: Principal
    ) -> dict[Place, str]:
        """Return the texts of passages by the places of their rows; those that are gone are left out."""
        if not places:
            return {}
        named = _columns([(*searched.n_and_seq(seq), ordinal) for seq, ordinal in places])
        parameters = {**_without_terms(searched), **named}
        rows = await self._database.of(principal).query(_TEXTS, parameters, ad_hoc=True)
        return {(searched.seq_of(row.n, row.seq), row.ordinal): row.text for row in rows}

    async def _rows(
        self,
        searched: SearchedContexts,
        parameters_of_scopes: Mapping[str, object],
        places: Sequence[tuple[int, int, int]],
        principal: Principal,
    ) -> list[Row]:
        """Return the rows of passages by the numbers of their contexts, `seq` and `ordinal`."""
        if not places:
            return []
        parameters = {**parameters_of_scopes, **_columns(places)}
        rows = await self._database.of(principal).query(_ROWS, parameters, named=False, ad_hoc=True)
        return await in_slices(_read(searched, rows))


def _given(searched: SearchedContexts, terms: Sequence[str]) -> Generator[None, None, dict[str, object]]:
    """Return the parameters of the SQL fragment `given`, in short steps."""
    numbers: list[int] = []
    for context_id in searched.ids:
        numbers += masks(context_id, terms)
        yield
    return {**_without_terms(searched), "numbers": numbers, "terms": len(terms)}


def _without_terms(searched: SearchedContexts) -> dict[str, object]:
    small = [totals.passages <= SMALL for totals in searched.totals]
    return {"scope_ids": list(searched.ids), "small": small, "numbers": [], "terms": 0}


def _columns(places: Sequence[tuple[int, int, int]]) -> dict[str, object]:
    return {
        "ns": [n for n, _, _ in places],
        "seqs": [seq for _, seq, _ in places],
        "ordinals": [ordinal for _, _, ordinal in places],
    }


def _compared_contexts(totals: Sequence[Totals]) -> int:
    """Return how many of the first contexts have at most `COMPARED_MAX` passages together, and at least one."""
    passages = 0
    for count, of_context in enumerate(totals):
        passages += of_context.passages
        if passages > COMPARED_MAX:
            return max(count, 1)
    return len(totals)


def _read(searched: SearchedContexts, rows: Sequence[Sequence[Any]]) -> Generator[None, None, list[Row]]:
    """Return rows as the ranking reads them, in short steps; each context has sessions of its own."""
    read = []
    for n, seq, ordinal, session, *others, packed_terms in rows:
        positions = [divmod(packed, ASKED_TERMS_MAX) for packed in packed_terms]
        place = searched.seq_of(n, seq)
        read.append(Row._make((place, ordinal, searched.seq_of(n, session), *others, positions)))
        yield
    return read
