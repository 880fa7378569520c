"""Finds the statements of users about themselves: facts, preferences, events and commitments, in their own words.

The rules are in `statements.yaml`, one list for all languages. A rule knows the beginning of a clause ("I live in …"),
so words of another person, of a quotation or of a condition begin no such clause. Guards (`guards.yaml`) come first:
they pass over whole messages that play, translate or quote, and whole sentences that ask, suppose, report or quote. A
clause must say what it is about: one with "it" or "that" does not stand alone.

A statement of the assistant counts if it is about the user ("So you live in Porto?") and the user's reply only confirms
it; it is read as if the user had made it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import yaml

from context_service.learning.model import Statement, StatementKind, Utterance
from context_service.learning.pure.credentials import names_credential
from context_service.learning.pure.guards import guard, replacements, text_of
from context_service.packing.pure.state.task_state import sentences
from context_service.profiles.pure.profiles import Pattern
from service_runtime.inputs.documents import check_wanted

STATEMENTS_OF_MESSAGE_MAX = 10
CLAUSE_CHARS_MIN, CLAUSE_CHARS_MAX = 4, 300
_MESSAGE_CHARS_MAX = 2_000  # a longer message mostly quotes something
_CONFIRMATION_CHARS_MAX = 60
_ASSISTANT_SENTENCES = 3  # a confirmation is about the last sentences of the assistant

_PLAIN = str.maketrans("\u2019\u2018\u02bc\u201c\u201d\u201e\u00a0", "'''\"\"\" ")
_WORD_OF_RULE = re.compile(r"\{([a-z_]+)\}")
_LEADS_IN = re.compile(r":\s*$")
_ITEM = re.compile(r"^\s*(?:[-*\u2022]|\d{1,2}[.)])\s")
_LAST_PART = re.compile("(?:^|[,\u3001\uff0c])[^,\u3001\uff0c]*$")

_NOT_MEANT, _NOT_SAID, _QUOTED = guard("not_meant"), guard("not_said"), guard("quoted")
_QUESTION, _ASKING, _POINTS, _IDIOM = guard("question"), guard("asking"), guard("points"), guard("idiom")
_LINKS = guard("links")
_FILLER = re.compile(rf"^(?:(?:{text_of('fillers')})(?:[,!.:;\u2013-]+\s*|\s+)(?:that\s+)?)+", re.IGNORECASE)
_SPLIT = re.compile(
    rf"(?:[,;]|\s[-\u2013\u2014])\s+(?=\u00bf?(?:{text_of('begins')})\b)|(?<=[\u3001\uff0c\u3002\uff1b])|"
    rf"\s(?:{text_of('conjunctions')})\s(?=(?:{text_of('begins')})\b|{text_of('continues')})",
    re.IGNORECASE,
)
_YES = re.compile(
    rf"^\W*(?:{text_of('confirms')})(?=\W|$)(?:[\s,.!]+(?:{text_of('confirms')}|{text_of('confirms_further')}))*[\s.!]*$",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"^\W*(?:(?:please|pls|ok|no|oh|actually|hey|and|can you|could you)[, ]+)*(?:" + text_of("takes_back") + ")",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """A rule: the kind of a clause, the pattern of its beginning, and a pattern that it must not have."""

    kind: StatementKind
    clause: Pattern
    unless: Pattern | None


def statements_of(utterances: Sequence[Utterance]) -> list[Statement]:
    """Return the statements of users in utterances, in their order, without those that they take back at once.

    Args:
        utterances: Texts of users and assistants of one conversation, the oldest first.
    """
    statements: list[Statement] = []
    of_assistant, gone = "", taken_back(utterances)
    for utterance in utterances:
        check_wanted()
        if not utterance.is_user:
            of_assistant = utterance.text
            continue
        if utterance.seq not in gone and not takes_back(utterance.text):
            is_confirming = of_assistant and confirms(utterance.text)
            statements += _confirmed(of_assistant, utterance) if is_confirming else _stated(utterance.text, utterance)
        of_assistant = ""
    return statements


def taken_back(utterances: Iterable[Utterance]) -> frozenset[int]:
    """Return the places of users' messages that the next message of a user takes back."""
    by_users = [utterance for utterance in utterances if utterance.is_user]
    return frozenset(before.seq for before, after in pairwise(by_users) if takes_back(after.text))


def takes_back(text: str) -> bool:
    """Return whether a message asks to forget the earlier message of its user, or calls it a joke."""
    return len(text) <= _CONFIRMATION_CHARS_MAX * 2 and bool(_TAKES_BACK.search(text.translate(_PLAIN)))


def confirms(text: str) -> bool:
    """Return whether a message only confirms the message before it."""
    return len(text) <= _CONFIRMATION_CHARS_MAX and bool(_YES.search(plain(text)))


def plain(text: str) -> str:
    """Return a text with plain apostrophes, quotation marks and spaces."""
    return text.translate(_PLAIN)


def _confirmed(of_assistant: str, reply: Utterance) -> Iterator[Statement]:
    """Yield the statements of an assistant about the user that the user's reply confirms."""
    own = [sentence.text for sentence in sentences(of_assistant.translate(_PLAIN))][-_ASSISTANT_SENTENCES:]
    for sentence in own:
        about_user = _LINKS.sub("", sentence.rstrip("?!. "))
        text = about_user
        for pattern, first_person in replacements():
            text = pattern.sub(first_person, text)
        if text != about_user:  # else it says nothing about the user
            yield from _stated(f"{text}.", reply)


def _stated(text: str, utterance: Utterance) -> Iterator[Statement]:
    """Yield the statements in a text that a user has said or confirmed."""
    own = own_part(plain(text))
    if len(text) > _MESSAGE_CHARS_MAX or _NOT_MEANT.search(own) or own.lstrip()[:1] in ("{", "[", "<"):
        return
    count, seen = 0, set[str]()
    for sentence in sentences(own):
        for kind, clause in _of_sentence(sentence.text):
            if count < STATEMENTS_OF_MESSAGE_MAX and clause not in seen:
                seen.add(clause)
                count += 1
                yield Statement(kind=kind, text=clause, seq=utterance.seq, said_at=utterance.said_at)


def own_part(text: str, *, with_lists: bool = False) -> str:
    """Return a text up to a line that announces the lines after it, such as "The mail:", which may be a quotation.

    Args:
        text: The text of a user.
        with_lists: Whether a line may announce a list.
    """
    lines = text.split("\n")
    for at, (line, following) in enumerate(pairwise(lines)):
        if _LEADS_IN.search(line) and not (with_lists and _ITEM.search(following)):
            return "\n".join(lines[:at])
    return text


def _of_sentence(sentence: str) -> Iterator[tuple[StatementKind, str]]:
    """Yield the kind and the text of each clause of a sentence that states something about its speaker."""
    text = " ".join(sentence.split())
    if _QUOTED.search(text) or _NOT_SAID.search(text) or names_credential(text):
        return
    clauses = [clause.strip(" ,;\u3001\uff0c") for clause in _SPLIT.split(_FILLER.sub("", text))]
    if _QUESTION.search(text):
        asking = [at for at, clause in enumerate(clauses) if _ASKING.search(clause)]
        if not asking:  # the part after the last comma asks
            clauses = _SPLIT.split(_FILLER.sub("", _LAST_PART.sub("", text)))
        clauses = clauses[: asking[0]] if asking else clauses
    for clause in clauses:
        own = _FILLER.sub("", clause).rstrip(" .!,;\u3002\uff01\u061f?\u2013-")
        if not CLAUSE_CHARS_MIN <= len(own) <= CLAUSE_CHARS_MAX or _POINTS.search(own) or _IDIOM.search(own):
            continue
        if kind := _kind_of(own):
            yield kind, f"{own[0].upper()}{own[1:]}."


def _kind_of(clause: str) -> StatementKind | None:
    """Return the kind of statement that a clause is; None if no rule knows it."""
    data = clause.encode(errors="replace")
    for rule in _rules():
        if rule.clause.is_in(data) and not (rule.unless and rule.unless.is_in(data)):
            return rule.kind
    return None


@cache
def _rules() -> tuple[_Rule, ...]:
    """Return the rules of the file, compiled once."""
    document = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    words: dict[str, str] = {}

    def filled(text: str) -> str:
        return _WORD_OF_RULE.sub(lambda match: words[match[1]], text)

    for name, text in document["words"].items():
        words[name] = filled(text)
    return tuple(
        _Rule(
            kind=StatementKind(rule["kind"]),
            clause=Pattern("^(?:" + "|".join(f"(?:{filled(text)})" for text in rule["clause"]) + ")", any_case=True),
            unless=Pattern("|".join(f"(?:{filled(text)})" for text in rule["unless"]), any_case=True)
            if "unless" in rule
            else None,
        )
        for rule in document["rules"]
    )
