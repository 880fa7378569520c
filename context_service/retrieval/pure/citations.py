"""Checks of texts that a model writes from numbered sources, and cites as [1]. Pure.

The text of a source may mislead a model, and models invent. So each citation must be of a source, each number must be
in a cited source or in the question, and links are not allowed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

CITED = re.compile(r"\[(\d{1,4})\]")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NAME = re.compile(r"(?<=\s)[^\W\d_a-z][\w'-]*")  # the first word of a sentence has a capital, too, so it is no name
_LINK = re.compile(r"https?:|www\.|\]\(|<[a-z!/]", re.IGNORECASE)


class NotGrounded(Exception):
    """The text of a model cannot be used; the message says why."""


def cited_sources(text: str, query: str, sources: Sequence[str]) -> list[int]:
    """Return the numbers of the sources that a text cites, the first is 1, in the order of the text.

    Args:
        text: The text of the model.
        query: The question. The text may repeat its numbers.
        sources: The texts that the model was given.

    Raises:
        NotGrounded: the text cites nothing, or an unknown source; or has a link, or a number that no source has.
    """
    if _LINK.search(text):
        raise NotGrounded("the model wrote a link")
    cited = list(dict.fromkeys(int(number) for number in CITED.findall(text)))
    if not cited:
        raise NotGrounded("the model cited no source")
    if not all(1 <= number <= len(sources) for number in cited):
        raise NotGrounded("the model cited a source that does not exist")
    there = {number for place in cited for number in _NUMBER.findall(sources[place - 1])}
    there.update(_NUMBER.findall(query))
    if not there.issuperset(_NUMBER.findall(CITED.sub(" ", text))):
        raise NotGrounded("the model's text has a number that none of its sources has")
    return cited


def strange_names(text: str, source: str) -> list[str]:
    """Return the names in a text, but for its first word, that do not stand in its source."""
    known = source.casefold()
    return [name for name in _NAME.findall(text) if name.casefold() not in known]
