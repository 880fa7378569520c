"""Search of a scope: the query and its rows, with similar words in place of words that the scope does not have."""

from __future__ import annotations

from context_service.retrieval.model import Scope
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.rows import Matching
from context_service.retrieval.pure.slips import meant
from context_service.retrieval.pure.terms import words_of
from context_service.retrieval.store.passages import Passages
from service_runtime.auth import Principal
from service_runtime.calls import in_slices

WORDS_MAX = 4  # of a question for which others are tried
# Of large scopes only the newest words are known; up to as many others are looked up in the index, 10 ms each. In a
# short word nearly each slip is another word; a long one has thousands of slips.
INDEX_CHARS_MIN, INDEX_CHARS_MAX, INDEX_WORDS_MAX = 6, 32, 2


async def query_and_rows(
    passages: Passages, principal: Principal, scope: Scope, text: str
) -> tuple[AnalyzedQuery, Matching]:
    """Return what a text asks for, and the rows of the scope that it is ranked by.

    A word that the scope does not have stands for those of it that are its beginning, begin with it, or differ from it
    by a slip or two (`slips`). It is another question then, whose terms are theirs.

    Args:
        passages: Where the scope is.
        principal: Who asks.
        scope: Where to look.
        text: Any message is a question.
    """
    question = AnalyzedQuery.of(text)
    matching = await passages.matching(principal, scope, question.terms)
    if not matching.totals.passages:
        return question, matching
    # Names of those who speak are of the scope, whether anybody says them or not.
    names = {word for author in matching.totals.authors for word in words_of(author)}
    missing = [word for word in question.missing(matching) if word not in names][:WORDS_MAX]
    if not missing:
        return question, matching
    vocabulary = await passages.vocabulary(principal, scope, matching.totals)
    similar = await in_slices(meant(missing, vocabulary))
    asked_of_index = range(INDEX_CHARS_MIN, INDEX_CHARS_MAX + 1)
    others = [word for word in missing if word not in similar and len(word) in asked_of_index][:INDEX_WORDS_MAX]
    if others and not matching.is_whole:
        similar |= await passages.words_like(principal, scope, others, matching.totals)
    if not similar:
        return question, matching
    question = question.meaning(similar)
    return question, await passages.matching(principal, scope, question.terms)
