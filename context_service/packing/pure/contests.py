"""Whether a later sentence may lift or change a rule, or set a value again.

A rule or a value that may have changed must not stand in the state as if it held. Whether a sentence changes it is
seldom certain: people write "I take it back about the maiden name" or "make it 90". So a sentence that shares words
with an entry contests it: the state then lists both statements, the newest first, and its reader decides. A question,
and an exception for once, contest nothing.
"""

from __future__ import annotations

import re

from context_service.retrieval.pure.terms import terms_of

_RULE_SHARE_MIN, _RULE_TERMS_MIN = 0.3, 2  # of a rule's words that a sentence has
_CUED_SHARE_MIN = 0.25  # with words that allow or change something
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
# Kinds of values. A later value of the same kind may be of the same thing, whatever words its sentence has.
_KINDS = {
    "time of day": re.compile(
        r"\b\d{1,2}[:h.]\d{2}\b|\b\d{1,2} ?(?:a\.?m|p\.?m|o'clock|uhr)\b|\b(?:noon|midnight)\b|\bat \d{1,2}\b",
        re.IGNORECASE,
    ),
    "duration": re.compile(
        r"\b(?:\d[\d.,]*|a|an|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|"
        r"sixty|ninety)[ -]?"
        r"(?:ms|s|secs?|seconds?|min|mins|minutes?|h|hours?|days?|weeks?|months?|years?)\b",
        re.IGNORECASE,
    ),
    "share": re.compile(r"\d ?(?:%|per ?cent\b|prozent\b)", re.IGNORECASE),
    "money": re.compile(
        r"[$\u20ac\u00a3\u00a5] ?\d|\b\d[\d.,]* ?(?:euros?|dollars?|pounds?|francs?|cents?|bucks|eur|usd|gbp|chf|"
        r"grand|k)\b",
        re.IGNORECASE,
    ),
    "size": re.compile(r"\b\d[\d.,]* ?(?:[kmgt]i?b|bytes?|px|cm|mm|km|m|kg|g|l|degrees)\b", re.IGNORECASE),
    "switch": re.compile(r"\b(?:on|off|true|false|enabled|disabled|yes|no)\b", re.IGNORECASE),
    "name": re.compile(r"\b[A-Z]{2,}\b|\b\w+[/_.@-]\w+|(?<=[a-z,] )[A-Z]\w+"),
    "number": re.compile(
        r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|half)\b", re.IGNORECASE
    ),
}
_POINTS_BACK = re.compile(
    r"\b(?:make|made|making|change|raise|lower|set|put|push|move|bring|flip|turn|switch|extend|cut) (?:it|that|"
    r"this|them)\b"
    r"|\binstead\b|\b(?:that|this|it)(?:'s| is| should be| must be) (?:an? |the )?\S*\d",
    re.IGNORECASE,
)


def rule_terms(rule: str) -> frozenset[str]:
    """Return the words that tell a rule from others."""
    return frozenset(terms_of(rule)) - _SAYS_NOTHING


def contests_rule(rule: frozenset[str], sentence: str, terms: frozenset[str]) -> bool:
    """Return whether a later sentence of somebody who sets rules may lift or change a rule.

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


def contests_value(key: str, value: str, sentence: str, *, is_user: bool) -> bool:
    """Return whether a later sentence may set a value again: it has one of the same kind, or a value and the key.

    Args:
        key: The name of the thing, as `key_of` returns it.
        value: The value that is set.
        sentence: A later sentence.
        is_user: A user says it. Assistants report many plain numbers and names, which set nothing.
    """
    kinds = kinds_of(sentence)
    if sentence.rstrip("\"')").endswith("?") or not (kinds or _POINTS_BACK.search(sentence)):
        return False
    if set(terms_of(key)) & set(terms_of(sentence)):
        return value.casefold() not in sentence.casefold() or bool(_CHANGES.search(sentence))
    alike = kinds_of(value) & kinds
    return bool(alike if is_user else alike - {"number", "name"}) or bool(_POINTS_BACK.search(sentence))


def kinds_of(text: str) -> set[str]:
    """Return the kinds of the values in a text; `number` only if no other kind has digits."""
    kinds = {kind for kind, pattern in _KINDS.items() if pattern.search(text)}
    return kinds - {"number"} if kinds - {"number", "switch", "name"} else kinds
