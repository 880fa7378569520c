"""Search of a scope: the query and its rows, with similar words in place of words that the scope does not have."""

from __future__ import annotations

from context_service.retrieval.model import PassageScope
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.rows import Matching
from context_service.retrieval.pure.slips import similar_words
from context_service.retrieval.pure.terms import words_of
from context_service.retrieval.store.passages import Passages
from service_runtime.rpc.calls import in_slices
from service_runtime.rpc.principal import Principal

WORDS_MAX = 4  # the most unknown words of a query that are replaced by similar words
# In a large scope the vocabulary has only the words of the newest passages. If none of them is similar to an unknown
# word, the index is searched for words that are one typing error away, which takes 10 ms for each. Short words are
# left out, because nearly every typing error makes another word of them, and long ones, because they have thousands of
# possible errors.
INDEX_CHARS_MIN, INDEX_CHARS_MAX, INDEX_WORDS_MAX = 6, 32, 2


async def query_and_rows(
    passages: Passages, principal: Principal, scope: PassageScope, text: str
) -> tuple[AnalyzedQuery, Matching]:
    """Analyze a text as a query, and return it with the rows of the scope to rank.

    A word that no passage of the scope has is replaced by similar words of the scope, such as longer forms or words a
    typing error away (`slips`). The returned query then has the terms of these words.

    Args:
        passages: The store of passages.
        principal: The caller; only passages that it may see are read.
        scope: The scope to search.
        text: The text of the query; any chat message may be one.
    """
    question = AnalyzedQuery.of(text)
    matching = await passages.matching(principal, scope, question.terms, question.spellings)
    if not matching.totals.passages:
        return question, matching
    # The names of authors count as words of the scope, even if no passage contains them.
    names = {word for author in matching.totals.authors for word in words_of(author)}
    missing = [word for word in question.missing(matching) if word not in names][:WORDS_MAX]
    if not missing:
        return question, matching
    vocabulary = await passages.vocabulary(principal, scope, matching.totals)
    similar = await in_slices(similar_words(missing, vocabulary))
    asked_of_index = range(INDEX_CHARS_MIN, INDEX_CHARS_MAX + 1)
    others = [word for word in missing if word not in similar and len(word) in asked_of_index][:INDEX_WORDS_MAX]
    if others and not matching.is_whole:
        similar |= await passages.words_like(principal, scope, others, matching.totals)
    if not similar:
        return question, matching
    question = question.meaning(similar)
    return question, await passages.matching(principal, scope, question.terms, question.spellings)
