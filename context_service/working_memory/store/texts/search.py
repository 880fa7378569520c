"""The statements of `rules.search`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from context_service.kernel.embedding import EMBEDDING_DIMENSION
from context_service.retrieval.pure.features import K1, B
from context_service.retrieval.pure.terms import FORMS_FOLLOW_NUMBER
from context_service.working_memory.pure.record_terms import DESCRIPTION_END, NAME_END, prefix_terms, record_numbers
from context_service.working_memory.pure.text_query import Clause, TextQuery
from context_service.working_memory.store.record_columns import READ, STORED
from context_service.working_memory.store.record_columns import SQL as RECORD_COLUMNS_SQL
from context_service.working_memory.store.record_filters import SQL as RECORD_FILTERS_SQL
from context_service.working_memory.store.texts.passages import NODE
from service_runtime.inputs.conditions import Bindings
from service_runtime.statements.sql_files import SqlFile

# A word of a name counts as often as this many in a content, and one of a description as this many.
_NAME_WEIGHT, _DESCRIPTION_WEIGHT = 4, 2

SQL = SqlFile.of(
    __file__,
    b=str(B),
    description_end=DESCRIPTION_END,
    description_weight=_DESCRIPTION_WEIGHT,
    embedding_dimension=EMBEDDING_DIMENSION,
    forms_follow=FORMS_FOLLOW_NUMBER,
    k1=str(K1),
    name_end=NAME_END,
    name_weight=_NAME_WEIGHT,
    node=NODE,
    read=READ,
    record_columns=RECORD_COLUMNS_SQL,
    record_filters=RECORD_FILTERS_SQL,
    stored=STORED,
)
HAS_INDEX = SQL["has_index"]
SET_INDEXED = SQL["set_indexed"]
RECORDS = SQL["records"]


def words_sql(query: TextQuery, tenant_id: UUID, bindings: Bindings) -> tuple[str, str]:
    """Return the SQL conditions on a row `r`: that it matches a query, and that its name has all words of the query.

    Args:
        query: The query.
        tenant_id: The tenant of the records.
        bindings: Collects the parameters.
    """

    def has(terms: Iterable[str], operator: str = "@>") -> str:
        numbers = sorted(set(record_numbers(tenant_id, terms)))
        return f"r.terms {operator} {bindings.add(numbers, 'integer[]')}"

    def clause_sql(clause: Clause) -> str:
        condition = " OR ".join(map(has, clause.alternatives))
        if clause.phrase:
            phrase = bindings.add(record_numbers(tenant_id, clause.phrase), "integer[]")
            condition = f"{condition} AND context.stand_together(r.terms, {phrase})"
        return f"NOT ({condition})" if clause.is_negated else f"({condition})"

    def all_of(clauses: Sequence[Clause]) -> str:
        plain = [clause for clause in clauses if _term_count(clause) == 1]
        rest = [clause for clause in clauses if _term_count(clause) != 1]
        together = [has(term for clause in plain for term in clause.alternatives[0])] if plain else []
        return " AND ".join([*together, *map(clause_sql, rest)])

    single = [term for clauses in query.any_of if len(clauses) == 1 for term in _only_term(clauses[0])]
    others = [clauses for clauses in query.any_of if len(clauses) != 1 or not _only_term(clauses[0])]
    conditions = [has(single, "&&")] if single else []
    conditions += [all_of(clauses) for clauses in others]
    names = has(prefix_terms(query.prefixes)) if query.prefixes else "false"
    if query.prefixes:
        conditions.append(names)
    return " OR ".join(conditions) or "false", names


def _only_term(clause: Clause) -> Sequence[str]:
    """Return the only term of a condition that has one; else nothing."""
    return list(clause.alternatives[0]) if _term_count(clause) == 1 else []


def _term_count(clause: Clause) -> int:
    """Return the number of terms that a record must have; 0 if it depends."""
    return len(clause.alternatives[0]) if len(clause.alternatives) == 1 and not clause.is_negated else 0
