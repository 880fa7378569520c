"""Whether a later sentence may lift or change a rule, or set a value again.

A rule or value that may have changed must not stand in the state as if it held. Whether a sentence changes it is seldom
certain: people write "I take it back about the maiden name", or "Ann wants the renewal limit at 3". So a sentence that
shares words with a rule, or names a value, contests it: the state then lists both, the newer first, and the model that
reads the state decides. A question and an exception for one occasion contest nothing.
"""

from __future__ import annotations

import re

from context_service.retrieval.pure.terms import terms_of

_RULE_SHARE_MIN, _RULE_TERMS_MIN = 0.3, 2  # the share and the number of a rule's words that a sentence must repeat
_CUED_SHARE_MIN = 0.3  # the share that is enough if the sentence also has words that allow or change something
_SAYS_NOTHING = frozenset(
    terms_of(
        "always never please use using make sure keep everything rule from now on future only ask don't do want run "
        "add write change show give send put take get go tell say call check open close start stop thing new work "
        "leave let touch need"
    )
)
_ONCE = re.compile(
    r"\b(?:just (?:this once|today|tonight|tomorrow|now|for)|only (?:today|tonight|tomorrow|there|this once)|"
    r"(?:this|that|a) once(?:-off)?|"
    r"once-off|one-off|for (?:the|this) (?:half |next )?(?:hour|day|hop|call)|(?:as|like|than) usual|"
    r"(?:same|just|like|than) (?:as )?before|"
    r"the usual|no others|"
    r"everyone else|not the others|same rule|an? (?:exception|playground)|following what|your preference|"
    r"understood|alone today|right now|"
    r"did I not|didn't I|I said|haven't the heart|(?:would|could|might)(?: not|n't)? have \w+)\b",
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
_LIFTS = re.compile(
    r"\b(?:no longer|(?:not|isn't|aren't|don't|never|no) .{0,60}any ?(?:more|longer)|no need|need(?:s|ed)? no\b|"
    r"(?:not|isn't|aren't|no more .{1,30}) needed|(?:is|are) over|after all|again|as before|take (?:it|that) back|"
    r"fine|okay|ok|acceptable|allowed|permitted|free|welcome|may|can|could|whichever|whatever|either way|"
    r"as you (?:like|please|see fit)|up to you|own judge?ment|suits you|yourself|lifted|void|gone|dropped|"
    r"put .{1,60} back|include|nicht mehr|wieder|erlaubt|d\u00fcrfen|darfst|kannst|k\u00f6nnen|ne .{1,40} plus|"
    r"peux|pouvez|permis|ya no|puedes|pueden|de nuevo|non .{1,40} pi\u00f9|puoi|di nuovo|niet meer|mag|mogen|"
    r"ju\u017c nie|mo\u017cesz|art\u0131k|n\u00e3o .{1,40} mais|pode)\b",
    re.IGNORECASE,
)
_LIFTED_SHARE_MIN = 0.15  # the share that is enough if the sentence has words that lift a rule

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_WHOLE_NAME = 3  # a name of up to this many words must stand whole in a sentence; of a longer one, one word may lack


def rule_terms(rule: str) -> frozenset[str]:
    """Return the words that distinguish a rule from others, without words that many rules have."""
    return frozenset(terms_of(rule)) - _SAYS_NOTHING


def contests_rule(rule: frozenset[str], sentence: str, terms: frozenset[str], *, is_rule: bool = False) -> bool:
    """Return whether a later sentence of a speaker who may set rules may lift or change a rule.

    Args:
        rule: The words of the rule, as `rule_terms` returns them.
        sentence: A later sentence.
        terms: The words of the sentence, also as `rule_terms` returns them.
        is_rule: The sentence is itself a rule, such as "Models need no approval any more". Most rules leave others in
            force, so it must have words that lift one.
    """
    shared = len(rule & terms)
    if not shared or sentence.rstrip("\"')").endswith("?") or _ONCE.search(sentence):
        return False
    if shared >= _LIFTED_SHARE_MIN * len(rule) and _LIFTS.search(sentence):
        return True
    if is_rule:
        return False
    if shared >= _RULE_TERMS_MIN and shared >= _RULE_SHARE_MIN * len(rule):
        return True
    return shared >= _CUED_SHARE_MIN * len(rule) and bool(_CHANGES.search(sentence))


def value_terms(name: str) -> frozenset[str]:
    """Return the words that distinguish the name of a value from others, without numbers."""
    return frozenset(term for term in terms_of(name) if not term.isdigit())


def names_value(name: frozenset[str], terms: frozenset[str]) -> bool:
    """Return whether a sentence names a value.

    Args:
        name: The words of the value's name, as `value_terms` returns them.
        terms: The words of the sentence.
    """
    lacking = len(name - terms)
    return bool(name) and (not lacking or (lacking == 1 and len(name) > _WHOLE_NAME))


def says_other_value(value: str, sentence: str) -> bool:
    """Return whether a sentence has another value than the one given.

    Of a number the sentence has another one if it has a number that the value has not. Any other value is another one
    if the sentence does not have it.
    """
    numbers = set(_NUMBER.findall(value))
    if numbers:
        return bool(set(_NUMBER.findall(sentence)) - numbers)
    return value.casefold() not in sentence.casefold()
