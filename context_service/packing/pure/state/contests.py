"""Whether a later sentence may lift or change a rule.

A rule that may have changed must not stand in the state as if it held. Whether a sentence changes it is seldom certain:
people write "I take it back about the maiden name". So a sentence of a user that shares words with a rule contests the
rule: the state then lists both, the newer first, and the model that reads the state decides. A question, an exception
for one occasion, and a sentence that is itself a rule contest nothing.
"""

from __future__ import annotations

import re

from context_service.retrieval.pure.terms import terms_of

_RULE_SHARE_MIN, _RULE_TERMS_MIN = 0.3, 2  # the share and the number of a rule's words that a sentence must repeat
_CUED_SHARE_MIN = 0.3  # the share that is enough if the sentence also has words that allow or change something
_SAYS_NOTHING = frozenset(
    terms_of(
        "always never please use using make sure keep everything rule from now on future only ask don't do want run "
        "add write change show give send put take get go tell say call check open close start stop thing new work"
    )
)
_ONCE = re.compile(
    r"\b(?:just (?:this once|today|tonight|tomorrow|now|for)|only (?:today|tonight|tomorrow|there|this once)|"
    r"(?:this|that|a) once(?:-off)?|"
    r"once-off|one-off|for (?:the|this) (?:half |next )?(?:hour|day|hop|call)|(?:as|like|than) (?:usual|before)|"
    r"the usual|no others|"
    r"everyone else|not the others|same rule|an? (?:exception|playground)|following what|your preference|"
    r"understood|alone today|right now|"
    r"did I not|didn't I|I said|haven't the heart)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:no longer|any ?more|any longer|from (?:now|here|today) on|instead|fine|okay|ok|acceptable|allowed|"
    r"permitted|may|can|could|"
    r"never mind|take (?:it|that) back|taken back|forget|drop(?:ped)?|throw|scrap|goodbye|gone|over|done|finally|"
    r"free|any|whichever|whatever|"
    r"as you (?:like|please)|live with|only|unless|except|rather|need(?:s|ed)?|changed?|moved|new|lift(?:ed)?|"
    r"void|stop|end|too|"
    r"raised?|lower(?:ed)?|increased?|reduced?|now|up|made? it|"
    r"mehr|jetzt|erlaubt|d\u00fcrfen|darfst|nur|plus|maintenant|d\u00e9sormais|ya no|ahora|puedes|ora|adesso|"
    r"pi\u00f9|puoi|niet meer|mag|nu|"
    r"ju\u017c|mo\u017cesz|teraz|art\u0131k|agora|mais|pode)\b",
    re.IGNORECASE,
)


def rule_terms(rule: str) -> frozenset[str]:
    """Return the words that distinguish a rule from others, without words that many rules have."""
    return frozenset(terms_of(rule)) - _SAYS_NOTHING


def contests_rule(rule: frozenset[str], sentence: str, terms: frozenset[str]) -> bool:
    """Return whether a later sentence of a speaker who may set rules may lift or change a rule.

    Args:
        rule: The words of the rule, as `rule_terms` returns them.
        sentence: A later sentence.
        terms: The words of the sentence, also as `rule_terms` returns them.
    """
    shared = len(rule & terms)
    if not shared or sentence.rstrip("\"')").endswith("?") or _ONCE.search(sentence):
        return False
    if shared >= _RULE_TERMS_MIN and shared >= _RULE_SHARE_MIN * len(rule):
        return True
    return shared >= _CUED_SHARE_MIN * len(rule) and bool(_CHANGES.search(sentence))
