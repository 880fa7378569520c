"""Asking a scope: a question, and the rows that it is ranked by, with words that may be meant where it has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from context_service.retrieval.matching import Matching
from context_service.retrieval.passages import Passages, Scope
from context_service.retrieval.questions import Question
from context_service.retrieval.slips import relatives
from context_service.retrieval.terms import words_of
from service_runtime.auth import Principal
from service_runtime.documents import beside_the_loop

WORDS_MAX = 4  # of a question for which others are tried
VOCABULARY_MAX = 20_000  # words of a scope that are looked at
_COMPARING = 8  # times as long as parsing: words are found, and compared with each that is missing


async def asked(passages: Passages, principal: Principal, scope: Scope, text: str) -> tuple[Question, Matching]:
    """Return what a text asks for, and the rows of the scope that it is ranked by.

    A word that the scope does not have stands for those of it that are its beginning, begin with it, or differ from it
    by a slip or two (`slips`). It is another question then, whose terms are theirs.

    Args:
        passages: Where the scope is.
        principal: Who asks.
        scope: Where to look.
        text: Any message is a question.
    """
    question = Question.of(text)
    matching = await passages.matching(principal, scope, question.terms)
    # Names of those who speak are of the scope, whether anybody says them or not.
    names = {word for author in matching.totals.authors for word in words_of(author)}
    missing = [word for word in question.missing(matching) if word not in names][:WORDS_MAX]
    if not missing or not matching.totals.passages:
        return question, matching
    texts = await passages.texts_like(principal, scope, missing)
    meant = await beside_the_loop(_COMPARING * sum(map(len, texts)), _meant, missing, texts)
    if not meant:
        return question, matching
    question = question.meaning(meant)
    return question, await passages.matching(principal, scope, question.terms)


def _meant(missing: Sequence[str], texts: Sequence[str]) -> Mapping[str, Sequence[str]]:
    vocabulary: dict[str, None] = {}  # of the newest texts first
    for text in texts:
        vocabulary.update(dict.fromkeys(sorted(words_of(text))))
        if len(vocabulary) >= VOCABULARY_MAX:
            break
    meant = {word: relatives(word, vocabulary) for word in missing}
    return {word: others for word, others in meant.items() if others}
