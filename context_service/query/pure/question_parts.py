"""The parts of a question that asks several things, such as "Who signs, and when is it due?". Pure.

Precise rules only: a question that no rule splits is one part, which is always a good question to search for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from context_service.kernel.sentences import sentences_of
from context_service.retrieval.pure.terms import analyzed

PARTS_MAX = 4
_CHARS_MAX = 2_000  # longer texts are pasted material rather than a list of questions
_NAMES_MAX = 6  # the most names of earlier parts that a part without a name of its own is searched with

# A conjunction, and the word that asks for something else after it, in the languages whose words we know.
_FURTHER = re.compile(
    r"[,;]?\s+(?:"
    r"(?:and|or|as well as|plus)\s+(?:also\s+)?"
    r"(?=(?:(?:at|by|for|from|in|on|since|to|until|with)\s+)?(?:who|whom|whose|what|when|where|which|why|how)\b)"
    r"|(?:und|sowie)\s+(?:auch\s+)?"
    r"(?=(?:(?:ab|bei|bis|für|mit|seit|von)\s+)?(?:wer|wen|wem|was|wann|wo|warum|wieso|wie|welche[rsmn]?)\b)"
    r"|et\s+(?=(?:qui|que|quand|où|pourquoi|comment|combien|quel(?:le)?s?)\b)"
    r"|[ye]\s+(?=(?:quién(?:es)?|qué|cuándo|dónde|cómo|cuál(?:es)?|cuánt[oa]s?)\b)"
    r"|e\s+(?=(?:chi|che cosa|quando|dove|perché|come|quale|quanto|quem|onde|por que|qual|quant[oa]s?)\b)"
    r"|en\s+(?=(?:wie|wat|wanneer|waar|waarom|hoe|welke?)\b)"
    r"|och\s+(?=(?:vem|vad|när|var|varför|hur|vilken|vilket)\b)"
    r"|og\s+(?=(?:hvem|hva|hvad|når|hvornår|hvor|hvorfor|hvordan|hvilken|hvilket)\b)"
    r")|;\s+(?=\w)",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?\uff1f\u061f]\s*$")  # also the full-width and the Arabic question mark
_WORD = re.compile(r"\w+(?:[-./]\w+)*")
# German writes all nouns with a capital letter, so there a capital letter is no sign of a name.
_GERMAN = re.compile(r"\b(?:der|die|das|den|dem|des|eine?[mnrs]?|wer|wen|wem|wann|wo|wie|ist|sind)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """One of several things that a question asks for.

    Attributes:
        text: The caller's words.
        search_text: The text to search for: the caller's words, with what they refer to.
    """

    text: str
    search_text: str


def parts_of(question: str) -> tuple[QuestionPart, ...]:
    """Return the parts of a question that asks at least two things, up to `PARTS_MAX`; else an empty tuple."""
    if len(question) > _CHARS_MAX:
        return ()
    sentences = [sentence.strip() for sentence in sentences_of(question)]
    asking = [sentence for sentence in sentences if _ASKS.search(sentence)] or sentences[-1:]
    statements = [sentence for sentence in sentences if sentence not in asking]
    texts = [text for sentence in asking for text in _things(sentence)]
    if not 2 <= len(texts) <= PARTS_MAX or not all(map(_says_enough, texts)):
        return ()
    parts: list[QuestionPart] = []
    names = _names(" ".join(statements))
    for text in texts:
        own = _names(text)
        is_named = any(not _GERMAN.search(text) or not name.isalpha() for name in own)
        referred = [] if is_named else [name for name in names if name not in own][:_NAMES_MAX]
        parts.append(QuestionPart(text=text, search_text=" ".join([text, *referred])))
        names = own if is_named or not names else names
    return tuple(parts)


def _things(sentence: str) -> list[str]:
    """Return the texts between the conjunctions of a sentence."""
    return [text.strip(" ,;") for text in _FURTHER.split(sentence)]


def _says_enough(text: str) -> bool:
    """Return whether a text can be searched for by itself; a bare "why" cannot."""
    return len(_WORD.findall(text)) > 2 or len(analyzed(text).terms) > 1


def _names(text: str) -> list[str]:
    """Return the words of a text that are written like names or identifiers; the first word counts if it has digits."""
    words = [match[0] for match in _WORD.finditer(text)]
    return list(
        dict.fromkeys(
            word
            for place, word in enumerate(words)
            if (place and word[0].isupper()) or any(char.isdigit() for char in word)
        )
    )
