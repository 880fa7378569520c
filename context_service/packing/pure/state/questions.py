"""Questions of users and assistants, and whether a reply answers one.

A sentence that ends with a question mark asks something, unless it only requests an action ("Could you close it?").
The first reply of the other side answers the question if it says yes or no, names one of the offered choices, or is
short. Thanks and "ok" answer only an offer ("Shall I close it?"). A later reply must also have words of the question. A
reply that promises to find out answers nothing. Any other reply may be about something else, so the question stays
open.
"""

from __future__ import annotations

import re

from context_service.packing.pure.texts.conversation import is_courtesy
from context_service.retrieval.pure.terms import terms_of

_ASKS = re.compile(r"[?\uff1f\u061f]+[\"')\u00bb\u201d]*$")
_UNKNOWN = re.compile(
    r"\b(?:unclear|unknown|open|to be decided|tbd|(?:don't|do not|couldn't|could not|can't|cannot) (?:know|tell|"
    r"find out|"
    r"determine|say|understand|see)|not (?:sure|clear|known|decided|documented)|(?:need|like|want)s? to (?:know|"
    r"understand|find out))"
    r"\b[^.?!]{0,40}\b(?:whether|why|if|who|how|what|which|when|where)\b|^open(?: question)?: ",
    re.IGNORECASE,
)
_REQUESTS = re.compile(
    r"^(?:(?:and|so|ok|okay|hi|hello|hey|please|then|also|but|well|thanks|great|good)[,:!]? )*(?:(?:can|could|"
    r"would|will|won't) (?:you|we|"
    r"someone|somebody)(?! (?:tell|explain|remember|see|say))(?: please| kindly| be)?\b"
    r"|why (?:don't|not)\b|(?:would|do) you mind\b|(?:kannst|k\u00f6nntest|k\u00f6nnen|k\u00f6nnten|w\u00fcrdest|"
    r"w\u00fcrden) (?:du|sie)\b|(?:peux|peut|pouvez|pourrais|pourriez)[- ]"
    r"(?:tu|vous)\b|(?:puedes|podr\u00edas|puede|podr\u00eda)\b|(?:pode|poderia|podes|podias)\b|(?:puoi|potresti|"
    r"pu\u00f2|potrebbe)\b|"
    r"(?:kun|kunt|zou) (?:je|jij|u)\b|(?:mo\u017cesz|m\u00f3g\u0142by\u015b|mog\u0142aby\u015b)\b)|"
    r"(?:\u3082\u3089\u3048\u307e\u3059\u304b|\u304f\u308c\u307e\u3059\u304b|\u304f\u3060\u3055\u3044)",
    re.IGNORECASE,
)
_RHETORICAL = re.compile(
    r"\b(?:who|what|how|why) (?:on earth|the hell|in the world|could possibly|doesn't|wouldn't|else would)\b"
    r"|\b(?:or what|right|you know|isn't it|okay|ok)\?+$|\bsuppose|\bimagine\b|^(?:he|she|they) (?:goes|says|asks)\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^\W*(?:yes|no|yep|yeah|nope|nah|sure|both|neither|none|never|always|true|correct|right|exactly|ja|nein|doch|"
    r"oui|non|si|s\u00ed|s\u00ec|"
    r"sim|n\u00e3o|nee|tak|nie|evet|hay\u0131r|\u306f\u3044|\u3044\u3044\u3048|\u662f|\u4e0d|\u0646\u0639\u0645|"
    r"\u0644\u0627)\b",
    re.IGNORECASE,
)
_DEFERS = re.compile(
    r"\b(?:(?:don't|do not|doesn't|didn't) (?:know|remember|ask)|no idea|not sure|no clue|i'll (?:check|ask|look|"
    r"get back|find out|see|"
    r"have)|let me (?:check|ask|see|look|think)|let's (?:look|see|park|discuss|talk)|ask \w+|get back to|later|"
    r"tomorrow|not yet|"
    r"isn't .{1,20} yet|depends|hang on|wait|good question|remind me|me neither|weiß nicht|keine ahnung|frag|"
    r"kl\u00e4re|"
    r"sais pas|aucune id\u00e9e|no s\u00e9|ni idea|espera|consulto|non (?:lo )?so|n\u00e3o sei|weet niet|nie wiem|"
    r"bilmiyorum)\b"
    r"|\u5206\u304b\u308a\u307e\u305b\u3093|\u308f\u304b\u308a\u307e\u305b\u3093|\u4e0d\u77e5\u9053|"
    r"\u4e0d\u6e05\u695a|\?\s*$",
    re.IGNORECASE,
)
_CHOICES = re.compile(r"([\w'-]+(?: [\w'-]+)?),? (?:or|oder|ou|o|of|czy|veya) ([\w'-]+(?: [\w'-]+)?)", re.IGNORECASE)
_REASONS = re.compile(r"\b(?:because|since|so that|due to|weil|damit|parce que|porque|perch\u00e9)\b", re.IGNORECASE)
_WHY = re.compile(r"\b(?:why|warum|wieso|pourquoi|por qu\u00e9|perch\u00e9|dlaczego)\b", re.IGNORECASE)
# A question that an "ok" answers: may the speaker do something?
_OFFERS = re.compile(
    r"\b(?:(?:shall|should|may|can|could|do) (?:I|we)|(?:soll|darf|kann|sollen|d\u00fcrfen) (?:ich|wir)|"
    r"(?:dois|puis|peux|devo|posso|debo|puedo)|mag ik|kan ik|zal ik|mam|mog\u0119)\b",
    re.IGNORECASE,
)
_TERMS_MIN = 2  # the meaningful words that a user's question must have; "How are you?" has none
_WORD = re.compile(r"\w+")
# A reply with at most this many words answers the question: the first number if `_FRAGMENT` matches, else the second.
_SHORT_WORDS, _FRAGMENT_WORDS = 12, 6
# The beginning of a reply that is only a part of a sentence, such as "since Monday": the question has the rest.
_FRAGMENT = re.compile(
    r"^\W*(?:\d|[a-z]|(?i:in|on|at|to|from|by|since|until|till|about|only|just|every|after|before|with|without|"
    r"the (?:one|first|second|last|older|"
    r"newer|left|right)|monday|tuesday|wednesday|thursday|friday|saturday|sunday|number|option|seit|bis|am|um|nur|"
    r"depuis|jusqu|desde|hasta|"
    r"od|do)\b)",
)
# The beginnings of questions to which a user wants an answer. Impatient users also write questions that want no
# answer, but seldom with these beginnings.
_ASKED_BY_USERS = re.compile(
    r"^(?:(?:and|so|ok|okay|hi|hello|hey|also|but|well|quick question|wait)[,:!]? )*(?:(?:is|are|was|were|does|"
    r"did|has|have|had|do we|should|shall|"
    r"which|when|where|what|why|how (?:many|much|long|often|old|far|come|do|does|did|is|are)|who (?:is|has|did|"
    r"does|told|owns|signed|"
    r"approved|changed|wrote|gets|can)|do (?:we|they|customers|people|the)|anyone|has anyone|did anyone)\b"
    r"|est-ce que|qu'est-ce|quel|combien|quand|\u00bf(?:cu|qu|d\u00f3|qui|c\u00f3)|wann|wie viel|warum|welche|wo |"
    r"quando|quanto|dove|qual|kto|czy|kiedy|ile)",
    re.IGNORECASE,
)


def is_question(sentence: str, role: str = "assistant") -> bool:
    """Return whether a sentence asks something that a reply can answer, rather than requesting an action.

    Args:
        sentence: A sentence of a user or an assistant.
        role: The role of its speaker. Users also use questions to complain, so only plain questions of users count.
    """
    if _REQUESTS.search(sentence) or _RHETORICAL.search(sentence):
        return False
    if role != "assistant":
        says_enough = len(set(terms_of(sentence))) >= _TERMS_MIN
        return says_enough and bool(_ASKS.search(sentence) and _ASKED_BY_USERS.search(sentence))
    return bool(_ASKS.search(sentence) or _UNKNOWN.search(sentence))


def is_answer(question: str, reply: str, *, is_first: bool = True) -> bool:
    """Return whether a reply of the other side surely answers a question.

    Args:
        question: The question.
        reply: The reply.
        is_first: No other reply came between. A later reply answers the question only if it has words of it.
    """
    if _DEFERS.search(reply):
        return False
    terms, asked_terms = set(terms_of(reply)), set(terms_of(question))
    for first, second in _CHOICES.findall(question):
        if bool(terms & set(terms_of(first))) != bool(terms & set(terms_of(second))):
            return True
    if not (is_first or terms & asked_terms):
        return False
    if is_courtesy(reply, ""):
        return bool(_OFFERS.search(question))
    if _YES_NO.search(reply) or (_WHY.search(question) and _REASONS.search(reply)):
        return True
    words = len(_WORD.findall(reply))
    return is_first and words <= (_SHORT_WORDS if _FRAGMENT.search(reply) else _FRAGMENT_WORDS)
