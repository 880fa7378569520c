"""The index of words: passages (chunks of text), and the rows by which a query is ranked.

A scope is a set of passages that are searched together. Passages are written in the transaction of their source, so
that acknowledged writes are found and rolled back ones are not. Each stores its terms in their order, as numbers
(`terms.mask`), and after them the further forms of its words, which do not count in its length. A search reads rows
with the positions of the query's terms, and never a text; texts are read only for the results.

In a small scope all rows are read. In a large one a search reads the rows that have one of the terms, those directly
after them, since an answer often has none of the words of its question, and those directly before them, if they have a
term. BM25 counts these rows and uses counters, which are written with the passages:

======== ================================== ==================== ===================================================
document how many                           mean length          in how many a term is
======== ================================== ==================== ===================================================
turn     `passages`                         `length`             the rows that have it
previous `passages`: each, with the one    and `length_before`  the rows that have it, or the one before them
         before it in its session
window   `passages`: each, with those      and `length_after`   the rows that have it, or a neighbour of them
         before and after it
session  `sessions`                         `length`             the sessions of the rows that have it
======== ================================== ==================== ===================================================

The counts are exact, except for neighbours of removed passages and for terms that were not searched, whose counts are
estimates. A row has the lengths of its documents, except for the window of a row that no term found: the passage after
it may not be among the rows.

In large scopes only the rarest terms are searched: a term of every third passage costs more to read than it tells. A
sample of the scope says how common a term is. If more passages match than are read, those with most of the rarest terms
are read; and if every term is so common that the newest passages have it often enough, only these are searched.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import UUID

from context_service.retrieval.model import CONTEXT, Audience, Passage, PassageScope
from context_service.retrieval.pure.marks import RULE
from context_service.retrieval.pure.rows import ASKED_TERMS_MAX, Matching, Row, Totals
from context_service.retrieval.pure.slips import WORDS_MAX, Vocabulary, one_slip_away, similar_words
from context_service.retrieval.pure.terms import FORMS_FOLLOW_NUMBER, masks, stems, words_of
from context_service.retrieval.store.vector_outbox import SQL as VECTOR_OUTBOX_SQL
from context_service.retrieval.store.vector_outbox import owing_topic
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.postgres import Across, Database, Tenant, TextArray, Transaction, json_rows
from service_runtime.rpc.calls import give_way, in_slices
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

READ_WHOLE = 600  # a scope with at most this many passages is read as a whole
WORDS_FOUND_MAX = 200  # passages that are read to find words which are similar to unknown words of a query
_FINDING_TOGETHER = 16  # terms in one array of `words_like`, whose hundreds of terms are looked up array by array
# A search uses terms that are, together, in about this many passages at most. The rarest term may be in more.
SEARCHED_MAX = 1_000
FOUND_MAX = 200  # the most of these passages that become rows, each with its neighbours
RULES_MAX = 20  # the most standing rules of a scope that become rows whatever the query is; the newest
COMMON_SHARE = 0.3  # a term in a larger share of a scope's passages is not searched if there are rarer ones
# The newest passages that are searched for a common term are this many times as many as the sample suggests. The sample
# may overestimate the share of the term, and one message may have many passages.
_AT_END_MARGIN = 2
AUTHORS_MAX = 100  # the most authors of a scope whose names are kept

ORDINALS = range(2**31)  # all passages of a source

SAMPLE = 600  # passages that a sample of a scope reads
SAMPLED_MIN = 3  # a term in fewer passages of the sample counts as rare
RARE_SHARE = 1 / SAMPLE  # the share of passages that a rare term is assumed to be in
SAMPLES_MAX = 256  # the most scopes whose samples are cached
SAMPLE_GROWTH = 1.25  # a scope is sampled again when its number of passages has grown or shrunk by this factor
LIKES_MAX = 1_000  # the most answers of `words_like` that are cached
# How long such an answer is cached, in seconds, while the totals of the scope stay the same. The time is short, because
# a correction of a passage may leave the totals unchanged.
LIKES_S = 10.0
VOCABULARIES_MAX = 32  # the most scopes whose words are cached; the words of one take up to 2 MB, and usually 300 kB
_COLLECTING = 8  # collecting the words of a text takes this many times as long as parsing it

DROP_STEP = 2_000  # passages that one transaction removes

# The most bytes of passages that one statement writes. libpq copies the parameters of a statement more than once and
# holds the interpreter lock meanwhile: 20 MiB held it for 50 ms.
_PORTION_BYTES = 1024 * 1024
_NUMBER_BYTES = 7  # the bytes of a term's number in JSON
_TERM_BYTES = 64  # computing the number of a term takes as long as parsing this many bytes


class _HasTerms(Protocol):
    @property
    def terms(self) -> Sequence[str]: ...


_CacheKey = tuple[UUID, str, str, PassageScope]  # tenant, user and so on of the reader, and the scope
_NONE: Mapping[str, str] = {}
_K = TypeVar("_K")
_T = TypeVar("_T")


SQL = SqlFile.of(
    __file__,
    asked_terms_max=ASKED_TERMS_MAX,
    finding_together=_FINDING_TOGETHER,
    forms_follow=FORMS_FOLLOW_NUMBER,
    rule=RULE,
    rules_max=RULES_MAX,
    vector_outbox=VECTOR_OUTBOX_SQL,
)
GIVEN = SQL["given"]
_PUTTING = SQL["putting"]
_OWED = SQL["owed"]
_REMOVE_VECTORS = SQL["remove_vectors"]
_REMOVE = SQL["remove"]
_FORGET_SESSIONS = SQL["forget_sessions"]
_FORGET_SCOPE = SQL["forget_scope"]
_TOTALS = SQL["totals"]
_SCOPES_WITH = SQL["scopes_with"]
_WHOLE = SQL["whole"]
_MATCHING = SQL["matching"]
_MATCHING_AT_END = SQL["matching_at_end"]
_MATCHING_SAID = SQL["matching_said"]
_MATCHING_SAID_AT_END = SQL["matching_said_at_end"]
_AT = SQL["at"]
_SAMPLE = SQL["sample"]
_TEXTS = SQL["texts"]
_NEWEST_TEXTS = SQL["newest_texts"]
_TEXTS_WITH = SQL["texts_with"]
_OF_SOURCES = SQL["of_sources"]
_DROP_OWED = SQL["drop_owed"]


# The statements delete rows by their physical place (ctid). A join with the rows of a step is slow if the table has no
# statistics yet: its plan reads the whole scope once for each row.
_WHY_DROPPED = "removes a scope whose owner is gone; its statements name the scope and return no content"
_DROP_TOTALS = Across(
    sql=SQL["drop_totals"],
    why=_WHY_DROPPED,
    contexts=True,
    subjects=True,
)


def _dropping(sql: str) -> Across:
    """Return the statement that deletes rows of the index, for all contexts and users."""
    return Across(
        sql=sql,
        why=_WHY_DROPPED,
        contexts=True,
        subjects=True,
    )


_DROP_PASSAGES = _dropping(SQL["drop_passages"])
_DROP_VECTORS = _dropping(SQL["drop_vectors"])
_DROP_SESSIONS = Across(
    sql=SQL["drop_sessions"],
    why=_WHY_DROPPED,
    contexts=True,
    subjects=True,
)
_FIRST = -(2**63)  # a number before the `seq` of any passage


class Dropped(NamedTuple):
    """The number of passages and vectors that were deleted of a scope, and whether that was all."""

    passages: int
    vectors: int
    is_all: bool = True  # nothing is left of the scope


class Passages:
    """The stored passages of all scopes, and the index of their words.

    Args:
        database: The database that holds the passages.
        embedded_kinds: The kinds of scopes whose passages are embedded. Writing to such a scope queues the work for the
            worker in `passage_vectors`.
    """

    def __init__(self, database: Database, *, embedded_kinds: Collection[str] = ()) -> None:
        self._database = database
        self._embedded_kinds = frozenset(embedded_kinds)
        self._samples: OrderedDict[_CacheKey, _Sample] = OrderedDict()
        self._vocabularies: OrderedDict[_CacheKey, _Words] = OrderedDict()
        self._likes: OrderedDict[tuple[object, ...], _Likes] = OrderedDict()

    async def put(
        self, transaction: Transaction, scope: PassageScope, audience: Audience, passages: Sequence[Passage]
    ) -> None:
        """Write passages, in the transaction that writes the text they are cut from.

        Writers of one scope wait for each other, from here to the end of their transactions. A transaction that writes
        to several scopes must do so in the order of their ids, to avoid deadlocks.

        Args:
            transaction: A transaction that may see the scope: its context, or its owner's data.
            scope: The scope to write to.
            audience: Who may read the passages; it is the same for all passages of a session.
            passages: The passages, by time. Those of one source may be written only once, unless they were removed.
        """
        seen_by = {
            "context_id": scope.context_id,
            "owner_user_id": audience.owner_user_id,
            "ancestors": list(audience.ancestors),
            "graph_name": audience.graph_name,
            "agent_bundle_id": audience.agent_bundle_id,
            "app_id": audience.app_id,
        }
        for portion in portions(passages):
            put = await beside_the_loop(putting_bytes(portion), putting, scope, portion)
            await transaction.query(
                SQL.filled("put", puts=self.puts(scope.kind)),
                {**put, **seen_by},
            )

    def puts(self, kind: str) -> str:
        """Return the part of a SQL statement that writes passages to scopes of a kind, to follow after `GIVEN`."""
        return f"{_PUTTING}{_OWED}" if kind in self._embedded_kinds else _PUTTING

    async def remove(
        self, transaction: Transaction, scope: PassageScope, seqs: Sequence[int], *, ordinals: range = ORDINALS
    ) -> int:
        """Remove passages of sources, all or some of each, with their vectors; return how many there were.

        The neighbours of removed passages keep their places, so that no two passages become neighbours.
        """
        which = {"seqs": list(seqs), "first": ordinals[0], "last": ordinals[-1]}
        named = {**_parameters(transaction.tenant_id, scope), **which}
        rows = await transaction.query(_REMOVE, named)
        if rows:
            await transaction.query(_REMOVE_VECTORS, named)
        return sum(int(row.passages) for row in rows)

    async def remove_documents(self, transaction: Transaction, scope: PassageScope, seqs: Sequence[int]) -> None:
        """Remove the passages of sources that are a session each, and reduce the counts of the scope."""
        await self.remove(transaction, scope, seqs)
        named = {**_parameters(transaction.tenant_id, scope), "seqs": list(seqs)}
        await transaction.query(_FORGET_SESSIONS, named)
        await transaction.query(_FORGET_SCOPE, _parameters(transaction.tenant_id, scope))

    async def scopes_with_passages(
        self, principal: Principal, kind: str, ids: Sequence[UUID], *, count: int
    ) -> list[UUID]:
        """Return the scopes that have passages which the caller may see, those with the most first, at most `count`."""
        tenant = self._database.of(principal)
        parameters = {"scope_kind": kind, "ids": list(ids), "count": count}
        return [row.scope_id for row in await tenant.query(_SCOPES_WITH, parameters)]

    async def matching(
        self, principal: Principal, scope: PassageScope, terms: Sequence[str], spellings: Mapping[str, str] = _NONE
    ) -> Matching:
        """Return the rows to rank for a query; none if the caller may not see the scope.

        Args:
            principal: The caller; only passages that it may see are read.
            scope: The scope to search.
            terms: The terms of the query, at most `ASKED_TERMS_MAX`. Rows refer to them by their indexes.
            spellings: The term of the exact spelling, by the term of a word. Rows count it as that term, once more.
        """
        totals = await self.totals(principal, scope)
        asked_query = _Asked.of(scope, terms, spellings)
        query_numbers = asked_query.numbers
        if not query_numbers or not totals.passages:
            return Matching(totals=totals, rows=(), is_whole=False, estimated={})
        if totals.passages <= READ_WHOLE:
            rows = await self._rows(principal, scope, _WHOLE, asked_query, {"rows_max": READ_WHOLE})
            return Matching(totals=totals, rows=rows, is_whole=True, estimated={})
        shares = await self._shares(principal, scope, totals)
        finding, left_out = _finding(query_numbers, shares, totals.passages)
        searched = {
            "weights": [-math.log(shares.get(term, RARE_SHARE)) for term in query_numbers],
            "rows_max": FOUND_MAX,
        }

        by_index, from_end = _MATCHING, _MATCHING_AT_END
        if scope.kind == CONTEXT:
            by_index, from_end = _MATCHING_SAID, _MATCHING_SAID_AT_END

        async def found() -> list[Row]:
            """Read the rows that have one of the terms in `finding`, and their neighbours.

            If the terms are common, only the newest passages are read, unless too few of them match.
            """
            named = {**searched, "finding": finding, "is_left_out": bool(left_out)}
            # Among passages with the same single term the newest are the best.
            count = SEARCHED_MAX if len(finding) > 1 or left_out else FOUND_MAX
            if at_end := _at_end(shares.get(finding[-1], 0.0), totals, count=count):
                rows = await self._rows(principal, scope, from_end, asked_query, {**named, **at_end})
                if _is_cut(rows, asked_query, finding):
                    return rows
            return await self._rows(
                principal, scope, by_index, asked_query, named
            )  # common terms may be missing in the newest passages

        rows = await found()
        if not rows and left_out:  # the rare terms are nowhere, so search the others
            finding = [left_out.pop(0)]
            rows = await found()
        if _is_cut(rows, asked_query, finding):
            left_out += finding
        return Matching(
            totals=totals,
            rows=rows,
            is_whole=False,
            estimated={
                number: shares.get(term, RARE_SHARE) * totals.passages
                for number, term in enumerate(query_numbers[: asked_query.terms])
                if term in left_out
            },
        )

    async def at(
        self,
        principal: Principal,
        scope: PassageScope,
        terms: Sequence[str],
        places: Collection[tuple[int, int]],
        spellings: Mapping[str, str] = _NONE,
    ) -> Sequence[Row]:
        """Return the rows of passages by `seq` and `ordinal`, newest first; terms and spellings as in `matching`."""
        asked_query = _Asked.of(scope, terms, spellings)
        parameters = {"seqs": [seq for seq, _ in places], "ordinals": [ordinal for _, ordinal in places]}
        return await self._rows(principal, scope, _AT, asked_query, parameters)

    async def totals(self, principal: Principal, scope: PassageScope) -> Totals:
        """Return the totals of a scope over the passages that the caller may see; zeros if there are none."""
        tenant = self._database.of(principal, context_id=scope.context_id)
        rows = [row for row in await tenant.query(_TOTALS, _parameters(principal.tenant_id, scope)) if row.passages]
        if not rows:
            return Totals()
        return Totals(
            passages=sum(row.passages for row in rows),
            sessions=sum(row.sessions for row in rows),
            length=sum(row.length for row in rows),
            length_before=sum(row.length_before for row in rows),
            length_after=sum(row.length_after for row in rows),
            first_seq=min(row.first_seq for row in rows),
            last_seq=max(row.last_seq for row in rows),
            authors=frozenset(author for row in rows for author in row.authors),
        )

    async def texts(
        self, principal: Principal, scope: PassageScope, rows: Sequence[tuple[int, int]]
    ) -> dict[tuple[int, int], str]:
        """Return the texts of passages by `seq` and `ordinal`; those that are gone are left out."""
        tenant = self._database.of(principal, context_id=scope.context_id)
        parameters = {
            **_parameters(principal.tenant_id, scope),
            "seqs": [seq for seq, _ in rows],
            "ordinals": [ordinal for _, ordinal in rows],
        }
        return {(row.seq, row.ordinal): row.text for row in await tenant.query(_TEXTS, parameters)}

    async def vocabulary(self, principal: Principal, scope: PassageScope, totals: Totals) -> Vocabulary:
        """Return the words of a scope's newest `READ_WHOLE` passages.

        They are cached, and newer passages are added; if the scope lost passages they are all read again.

        Args:
            principal: The caller; only passages that it may see are read.
            scope: The scope whose words are wanted.
            totals: The present totals of the scope, which show whether the cache is out of date.
        """
        key = _cache_key(principal, scope)
        known = self._vocabularies.get(key)
        if known is None or (known.passages, known.last_seq) != (totals.passages, totals.last_seq):
            texts = await self._newest_texts(principal, scope, after=known.last_seq) if known else []
            # If the known and the new passages are not all passages of the scope, some were removed: read all again.
            if known is None or known.passages + len(texts) != totals.passages:
                known, texts = _Words(0, 0, Vocabulary()), await self._newest_texts(principal, scope, after=_FIRST)
            known.vocabulary.add(await beside_the_loop(_COLLECTING * sum(map(len, texts)), _words_of_all, texts))
            known.passages, known.last_seq = totals.passages, totals.last_seq
        _keep(self._vocabularies, key, known, count_max=VOCABULARIES_MAX)
        return known.vocabulary

    async def _newest_texts(self, principal: Principal, scope: PassageScope, *, after: int) -> list[str]:
        tenant = self._database.of(principal, context_id=scope.context_id)
        newest = {**_parameters(principal.tenant_id, scope), "after": after, "rows_max": READ_WHOLE}
        return [row.text for row in await tenant.query(_NEWEST_TEXTS, newest)]

    async def words_like(
        self, principal: Principal, scope: PassageScope, words: Sequence[str], totals: Totals
    ) -> Mapping[str, Sequence[str]]:
        """Return similar words of a scope for words that it does not have (`slips.similar_words`).

        Candidates come from passages with a term that is one typing error or one ending away from a given word. These
        are hundreds of terms, which take the index 2 to 60 ms, so the answer is cached for `LIKES_S`.

        Args:
            principal: The caller.
            scope: The scope to search.
            words: A few words that no passage of the scope has.
            totals: The present totals of the scope; other totals make a cached answer outdated.
        """
        key = (*_cache_key(principal, scope), *words)
        known = self._likes.get(key)
        if known is None or known.totals != totals or time.monotonic() - known.at >= LIKES_S:
            tenant = self._database.of(principal, context_id=scope.context_id)
            terms: set[str] = set()
            for word in words:
                await give_way()
                terms.update(stems(one_slip_away(word)))
            finding = masks(scope.id, terms)
            with_them = {**_parameters(principal.tenant_id, scope), "finding": finding, "rows_max": WORDS_FOUND_MAX}
            at = time.monotonic()
            texts = [text for (text,) in await tenant.query(_TEXTS_WITH, with_them, named=False, ad_hoc=True)]
            matches = await beside_the_loop(_COLLECTING * sum(map(len, texts)), _words_of_all, texts)
            known = _Likes(totals, at, await in_slices(similar_words(words, Vocabulary(matches))))
        _keep(self._likes, key, known, count_max=LIKES_MAX)
        return known.meant

    async def of_sources(
        self, principal: Principal, scope: PassageScope, seqs: Sequence[int], *, count: int
    ) -> list[Row]:
        """Return the passages of sources by their `seq`, highest first, without a query."""
        tenant = self._database.of(principal, context_id=scope.context_id)
        parameters = {**_parameters(principal.tenant_id, scope), "seqs": list(seqs), "count": count}
        return [Row._make(row) for row in await tenant.query(_OF_SOURCES, parameters)]

    async def drop_scope(self, tenant_id: UUID, scope: PassageScope, *, until: float | None = None) -> Dropped:
        """Remove all passages of a scope that has no writers any more, and return how many there were.

        Nothing is found from the first step on, and no step holds locks for long. If `until` ends it early, call it
        again to continue.

        Args:
            tenant_id: The tenant that owns the scope.
            scope: The scope whose passages are removed.
            until: Stop after this time of the monotonic clock, but remove something before.
        """
        tenant = self._database.tenant(tenant_id)
        named = _parameters(tenant_id, scope)
        await tenant.query(_DROP_TOTALS, named)
        counts: dict[Across, int] = {}
        # Vectors are removed after the passages, because no vector is made for a passage that is gone.
        for statement in (_DROP_PASSAGES, _DROP_SESSIONS, _DROP_VECTORS):
            counts[statement], is_all = await _drop(tenant, statement, named, until)
            if not is_all:
                break
        else:
            await tenant.query(_DROP_OWED, (tenant_id, owing_topic(scope.kind), scope.id))
        return Dropped(counts[_DROP_PASSAGES], counts.get(_DROP_VECTORS, 0), is_all)

    async def _rows(
        self,
        principal: Principal,
        scope: PassageScope,
        statement: str,
        asked_query: _Asked,
        parameters: Mapping[str, object],
    ) -> list[Row]:
        """Run a statement that reads passages, and return them as rows of the ranking."""
        tenant = self._database.of(principal, context_id=scope.context_id)
        of_question = {"asked": asked_query.numbers, "different": list(dict.fromkeys(asked_query.numbers))}
        named = {**_parameters(principal.tenant_id, scope), **of_question}
        # The statement is planned for each set of values: a plan for unknown terms would read the whole scope.
        rows = await tenant.query(statement, {**named, **parameters}, named=False, ad_hoc=True)
        return await in_slices(_read(rows, asked_query.of_term))

    async def _shares(self, principal: Principal, scope: PassageScope, totals: Totals) -> Mapping[int, float]:
        """Return for each of the more common terms the share of a scope's passages that have it."""
        key = _cache_key(principal, scope)
        sample = self._samples.get(key)
        if sample is None or not sample.passages / SAMPLE_GROWTH <= totals.passages <= sample.passages * SAMPLE_GROWTH:
            tenant = self._database.of(principal, context_id=scope.context_id)
            parameters = {
                **_parameters(principal.tenant_id, scope),
                "first_seq": totals.first_seq,
                "last_seq": totals.last_seq,
                "sample": SAMPLE,
                "sampled_min": SAMPLED_MIN,
            }
            rows = await tenant.query(_SAMPLE, parameters, ad_hoc=True)
            sample = _Sample(totals.passages, {row.term: row.passages / SAMPLE for row in rows})
        _keep(self._samples, key, sample, count_max=SAMPLES_MAX)
        return sample.shares


@dataclass(frozen=True, slots=True)
class _Asked:
    """The numbers in the index that a query asks for: those of its terms, then those of exact spellings."""

    numbers: Sequence[int]
    terms: int  # the number of terms, without exact spellings
    of_term: Sequence[int]  # for each number the index of its term; empty if there is no exact spelling

    @classmethod
    def of(cls, scope: PassageScope, terms: Sequence[str], spellings: Mapping[str, str]) -> _Asked:
        """Return the numbers of terms in a scope, at most `ASKED_TERMS_MAX`."""
        asked_for = list(terms[:ASKED_TERMS_MAX])
        exact = [(number, spellings[term]) for number, term in enumerate(asked_for) if term in spellings]
        exact = exact[: ASKED_TERMS_MAX - len(asked_for)]
        numbers = masks(scope.id, [*asked_for, *(term for _, term in exact)])
        of_term = [*range(len(asked_for)), *(number for number, _ in exact)] if exact else []
        return cls(numbers, len(asked_for), of_term)

    def having(self, finding: Collection[int]) -> set[int]:
        """Return the indexes of the terms that have one of the numbers."""
        there = [place for place, number in enumerate(self.numbers) if number in finding]
        return {self.of_term[place] for place in there} if self.of_term else set(there)


@dataclass(slots=True)
class _Words:
    """The cached words of a scope."""

    passages: int  # how many passages the scope had when the words were read
    last_seq: int  # the last `seq` of the scope at that time
    vocabulary: Vocabulary


@dataclass(frozen=True, slots=True)
class _Likes:
    """A cached answer of `Passages.words_like`."""

    totals: Totals  # the totals of the scope when the words were searched for
    at: float  # the time of the monotonic clock
    meant: Mapping[str, Sequence[str]]  # by unknown word: the similar words of the scope


@dataclass(frozen=True, slots=True)
class _Sample:
    """A cached sample of a scope."""

    passages: int  # how many passages the scope had when the sample was taken
    shares: Mapping[int, float]  # by the number of a common term: the share of the passages that have it


def _read(rows: Sequence[Sequence[Any]], of_term: Sequence[int]) -> Generator[None, None, list[Row]]:
    """Return rows as the ranking reads them, in short steps.

    Args:
        rows: The rows as they are stored.
        of_term: The index of the term that each number of the query stands for; empty if it is the number's own.
    """
    read = []
    for row in rows:
        terms = [divmod(packed, ASKED_TERMS_MAX) for packed in row[-1]]
        if of_term:
            terms = [(place, of_term[number]) for place, number in terms]
        read.append(Row._make((*row[:-1], terms)))
        yield
    return read


def _cache_key(principal: Principal, scope: PassageScope) -> _CacheKey:
    """Return the cache key of a scope for a reader: readers with other rights have entries of their own."""
    return principal.tenant_id, principal.bounds, principal.user_id, scope


def _keep(kept: OrderedDict[_K, _T], key: _K, value: _T, *, count_max: int) -> None:
    """Put an entry into a cache as the last used one, and drop the least recently used ones above `count_max`."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > count_max:
        kept.popitem(last=False)


def _words_of_all(texts: Sequence[str]) -> Collection[str]:
    """Return the words of texts, about `WORDS_MAX` at most.

    The words of each text are sorted, so that the result is always the same.
    """
    words: dict[str, None] = {}
    for text in texts:
        words |= dict.fromkeys(sorted(words_of(text)))
        if len(words) >= WORDS_MAX:
            break
    return words


async def _drop(
    tenant: Tenant, statement: Across, named: Mapping[str, object], until: float | None
) -> tuple[int, bool]:
    """Delete rows step by step; return how many were deleted, and whether none is left."""
    count, after = 0, _FIRST
    while gone := await tenant.query(statement, {**named, "after": after, "step": DROP_STEP}):
        count += len(gone)
        after = max(row.after for row in gone)
        if until is not None and time.monotonic() >= until:
            return count, False
    return count, True


def _finding(query_numbers: Sequence[int], shares: Mapping[int, float], passages: int) -> tuple[list[int], list[int]]:
    """Return the terms to search by, at least the rarest one, and the other terms, rarer ones first.

    The terms to search by are in few enough passages to read all of them. A common term is used only if it is the
    rarest.
    """
    by_share = sorted(dict.fromkeys(query_numbers), key=lambda fromkey: shares.get(fromkey, 0.0))
    together = 0.0
    for count, term in enumerate(by_share):
        share = shares.get(term, RARE_SHARE)
        together += share * passages
        if count and (share > COMMON_SHARE or together > SEARCHED_MAX):
            return by_share[:count], by_share[count:]
    return by_share, []


def _at_end(share: float, totals: Totals, *, count: int) -> Mapping[str, object]:
    """Return from which `seq` on a common term is searched, and for how many passages; empty to search all.

    The index returns every passage that has the term, so only the newest are read, until enough have it.

    Args:
        share: The share of the passages that have the most common of the terms to search by.
        totals: The totals of the scope.
        count: The number of passages that are wanted.
    """
    if share * share * totals.passages <= count:
        return {}
    looked_at = _AT_END_MARGIN * count / share / totals.passages * (totals.last_seq - totals.first_seq + 1)
    return {"seq_from": totals.last_seq - math.ceil(looked_at), "searched_max": count}


def _is_cut(rows: Sequence[Row], asked_query: _Asked, finding: Sequence[int]) -> bool:
    """Say whether the number of rows reached its limit, so that there may be more."""
    if len(rows) < FOUND_MAX:
        return False
    finding_numbers = asked_query.having(finding)
    return sum(any(number in finding_numbers for _, number in row.found) for row in rows) >= FOUND_MAX


def _parameters(tenant_id: UUID, scope: PassageScope) -> dict[str, object]:
    return {"tenant_id": tenant_id, "scope_id": scope.id, "scope_kind": scope.kind}


def portions(passages: Sequence[Passage]) -> Iterator[Sequence[Passage]]:
    """Yield passages in portions that one statement can write: at most a mebibyte, or a single larger passage."""
    begin, size_bytes = 0, 0
    for place, passage in enumerate(passages):
        more_bytes = len(passage.text) + _NUMBER_BYTES * len(passage.terms)
        if size_bytes and size_bytes + more_bytes > _PORTION_BYTES:
            yield passages[begin:place]
            begin, size_bytes = place, 0
        size_bytes += more_bytes
    if passages:
        yield passages[begin:]


def putting_bytes(passages: Iterable[_HasTerms]) -> int:
    """Return the size in bytes that `putting` counts as, for `beside_the_loop`."""
    return _TERM_BYTES * sum(len(passage.terms) for passage in passages)


def putting(scope: PassageScope, passages: Sequence[Passage]) -> dict[str, object]:
    """Return the parameters of `GIVEN` and `Passages.puts`, without the tenant's."""
    return {
        "scope_id": scope.id,
        "scope_kind": scope.kind,
        "topic": owing_topic(scope.kind),
        "passages": json_rows(_row_values(scope, passage) for passage in passages),
        "authors": TextArray(
            islice(dict.fromkeys(passage.author for passage in passages if passage.author), AUTHORS_MAX)
        ),
        "authors_max": AUTHORS_MAX,
    }


def _row_values(scope: PassageScope, passage: Passage) -> dict[str, object]:
    """Return the values of a passage's row, as JSON. Terms are replaced by their numbers in the index."""
    return {
        "seq": passage.seq,
        "ordinal": passage.ordinal,
        "session": passage.session,
        "said_at": passage.said_at,
        "part": passage.part,
        "is_said": passage.is_said,
        "marks": passage.marks,
        "kind": passage.kind,
        "role": passage.role,
        "author": passage.author,
        "task_id": passage.task_id,
        "source_id": passage.source_id,
        "terms": masks(scope.id, passage.terms) if passage.numbers is None else passage.numbers,
        "text": passage.text,
    }
